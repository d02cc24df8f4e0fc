"""The evaluation of refresh policies: its web does what it says, its figures are right, its command tells them."""

from __future__ import annotations

import io
import json
import math
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from gossamer.model.config import Refresh
from gossamer.policy.refresh_value import age, freshness
from gossamer.sim.refreshmix import MIXES, Mix, make_pages
from gossamer.sim.refreshtrial import KNOWN, POLICIES, Result, Trial, evaluate, interval
from gossamer.sim.refreshverdict import judge, two_pages
from gossamer.surface.cli import app
from gossamer.surface.refreshtext import RefreshView, chart

SMALL = Trial(seeds=4, pages=250, days=120.0, learning_days=60.0)
TRIED = tuple(mix for mix in MIXES if mix.name in ("even", "heavy-tailed", "archive"))


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return evaluate(SMALL, TRIED)


def one(results: list[Result], mix: str, policy: str) -> Result:
    return next(found for found in results if (found.mix, found.policy) == (mix, policy))


@pytest.mark.parametrize("law", ["poisson", "regular", "bursts", "daytime"])
def test_pages_change_as_often_as_they_should(law: str) -> None:
    mix = Mix(name="", about="", median_days=4, spread=0.5, laws=(law,), never=0.2)  # type: ignore[arg-type]
    pages = make_pages(mix, seeds=2, pages=500, days=200)
    owner, day = np.divmod(pages.changes, 201)
    assert (np.diff(pages.changes) >= 0).all()
    assert (day <= 200).all()
    count = np.bincount(owner.astype(int), minlength=1_000)
    assert (count[pages.rate == 0] == 0).all()
    assert count.sum() == pytest.approx((pages.rate * 200).sum(), rel=0.05)
    for page in (int(np.argmax(count)), 700, 999):
        times = day[owner == page]
        for at in (0.0, 50.3, 199.99):
            later = times[times > at]
            found = pages.next_change(np.array([page]), np.array([at]))[0]
            assert found == (pytest.approx(later[0], abs=1e-6) if len(later) else math.inf)


def test_a_uniform_policy_on_equal_pages_gives_what_the_formulas_say() -> None:
    mix = Mix(name="even", about="", median_days=10, spread=0.0, budget=1 / 20)
    found = evaluate(Trial(seeds=4, pages=1_000, days=140.0, learning_days=40.0), [mix], policies=["uniform"])[0]
    assert found.policy == "uniform"
    assert found.freshness[0] == pytest.approx(freshness(2.0), abs=0.01)
    assert found.age_days[0] == pytest.approx(20 * age(2.0), rel=0.03)
    assert found.wasted[0] == pytest.approx(math.exp(-2.0), abs=0.01)
    assert found.visits_per_day[0] == pytest.approx(1 / 20, rel=0.02)


def test_no_policy_makes_more_visits_than_the_budget_allows(results: list[Result]) -> None:
    assert len(MIXES) == 7
    assert len(results) == len(TRIED) * (len(POLICIES) + 1) == 15
    budgets = {mix.name: mix.budget for mix in MIXES}
    for found in results:
        assert 0.85 * budgets[found.mix] < found.visits_per_day[0] <= 1.01 * budgets[found.mix], found


def test_the_default_policy_wins(results: list[Result]) -> None:
    default = Refresh().policy
    for mix in TRIED:
        gain, width = one(results, mix.name, default).against_uniform
        assert gain > -max(width, 0.01), mix.name
    assert one(results, "heavy-tailed", default).against_uniform[0] > 0.10
    for policy in POLICIES:
        assert sum(one(results, mix.name, policy).freshness[0] for mix in TRIED) <= sum(
            one(results, mix.name, default).freshness[0] for mix in TRIED
        )
    assert one(results, "heavy-tailed", default).freshness[0] > one(results, "heavy-tailed", KNOWN).freshness[0] - 0.04


def test_a_price_on_visits_in_vain_lowers_their_share() -> None:
    mix = [mix for mix in MIXES if mix.name == "archive"]
    dear, free = (
        evaluate(
            Trial(seeds=3, pages=250, days=140.0, learning_days=80.0, refresh=Refresh(vain_max=share)),
            mix,
            policies=["uniform", "optimal"],
        )
        for share in (0.45, 1.0)
    )
    assert one(dear, "archive", "optimal").wasted[0] < one(free, "archive", "optimal").wasted[0] - 0.04
    assert one(dear, "archive", "optimal").freshness[0] > one(free, "archive", "optimal").freshness[0] - 0.02


def test_one_seed_has_one_result() -> None:
    def run(first_seed: int) -> list[Result]:
        trial = Trial(seeds=2, pages=60, days=40.0, learning_days=20.0, first_seed=first_seed)
        return evaluate(trial, MIXES[2:3], policies=["uniform", "optimal"])

    assert run(1) == run(1) != run(9)


def test_confidence_intervals() -> None:
    mean, width = interval(np.array([1.0, 2.0, 3.0]))
    assert (mean, width) == (2.0, pytest.approx(4.303 / math.sqrt(3)))
    assert interval(np.array([5.0])) == (5.0, 0.0)


def test_the_reference_figures() -> None:
    assert two_pages("proportional") == pytest.approx(0.198, abs=5e-4)
    assert two_pages("uniform") == pytest.approx(0.956, abs=5e-4)
    assert two_pages("optimal") == pytest.approx(0.962, abs=5e-4)


def test_a_claim_fails_when_the_figures_say_so(results: list[Result]) -> None:
    def failed(change: Callable[[Result], Result]) -> set[str]:
        return {claim.key for claim in judge([change(found) for found in results]) if not claim.holds}

    from msgspec.structs import replace

    assert "default" not in failed(lambda found: found)
    worse = failed(lambda f: replace(f, against_uniform=(-0.5, 0.1)) if f.policy == "optimal" else f)
    assert {"uniform-even", "heavy", "default"} <= worse
    assert "vain-archive" in failed(lambda f: replace(f, wasted=(0.6, 0.0)) if f.policy == "optimal" else f)


def test_the_chart_is_svg_with_every_result(results: list[Result]) -> None:
    root = ET.fromstring(chart(results))
    titles = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(results)
    assert "heavy-tailed, optimal" in " ".join(titles)
    circles = [float(element.attrib["cx"]) for element in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert all(0 <= x <= 820 for x in circles)


def test_the_command(tmp_path: Path) -> None:
    target = tmp_path / "chart.svg"
    small = ["simulate", "refresh", "--seeds", "2", "--pages", "60", "--days", "30", "--quiet"]
    told = CliRunner().invoke(app, [*small, "--json", "--chart", str(target)])
    data = json.loads(told.stdout)
    assert told.exit_code == (0 if all(claim["holds"] for claim in data["claims"]) else 1)
    assert {found["policy"] for found in data["results"]} == {*POLICIES, KNOWN}
    assert ET.parse(target).getroot().tag.endswith("svg")


def test_the_tables(results: list[Result]) -> None:
    text = io.StringIO()
    Console(file=text, width=100).print(RefreshView(SMALL, MIXES, results, judge(results)))
    for words in ("heavy-tailed", "proportional", "two pages, one visit a day, uniform", "known rates"):
        assert words in text.getvalue()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--seeds", "0"], "--seeds 0"), (["--days", "3"], "--days 3"), (["--pages", "x"], "--pages x")],
)
def test_what_is_not_allowed(arguments: list[str], said: str) -> None:
    from gossamer.model.errors import UsageError

    told = CliRunner().invoke(app, ["simulate", "refresh", *arguments])
    assert isinstance(told.exception, UsageError) or told.exit_code == 2
    assert said in str(told.exception) + told.output
