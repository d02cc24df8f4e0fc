"""What explain, history and report tell of pages that moved, of clusters, mirrors and canonical links."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from gossamer.model.view import Explanation
from gossamer.policy.canonicals import ABUSED_MIN
from gossamer.policy.mirrors import PAIRS_MIN
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect
from gossamer.surface.reader import Reader
from tests.reader.making import START, Made, plain_config

DAY_S = 86_400.0
OLD, NEW = "http://a.example/old", "http://a.example/new"


def facts(found: Explanation) -> dict[str, str]:
    step = next((one for one in found.steps if one.name == "relations"), None)
    return dict(step.facts) if step is not None else {}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    count = PAIRS_MIN + 5
    own: dict[str, Answer] = {f"/p{n:02}": Answer(body=b"%d" % n) for n in range(count)}
    liar = {f"/l{n:02}": Answer(canonical="http://a.example/p01") for n in range(ABUSED_MIN)}
    pages: dict[str, dict[str, Answer]] = {
        "a.example": {"/old": Answer(body=b"content"), **own},
        "m.example": dict(own),
        "l.example": {**liar, "/copy?x": Answer(body=b"content", canonical=NEW)},
    }
    web = SimWeb(
        {
            name: SimHost(address=f"20.0.{n}.1", page=lambda target, of=of: of.get(target, Answer(status=404)))  # type: ignore[misc]
            for n, (name, of) in enumerate(pages.items())
        }
    )
    seeds = tuple(f"http://{name}{path}" for name, of in pages.items() for path in of)
    plain = plain_config(seeds)
    config = msgspec.structs.replace(
        plain, refresh=msgspec.structs.replace(plain.refresh, policy="uniform", interval_s=3 * DAY_S)
    )
    made = Made(tmp_path_factory.mktemp("told") / "crawl", config, web)
    made.run()
    pages["a.example"] |= {"/old": redirect("/new", 301), "/new": Answer(body=b"content, moved")}
    del pages["a.example"]["/p00"]
    for days in (4, 2, 4, 14, 14, 30, 60):
        made.clock.jump(made.clock.now() + days * DAY_S)
        made.run(due=True)
    return made.reader(at=made.clock.now())


def test_a_page_that_moved_says_where_and_the_target_whose_place_it_has(reader: Reader) -> None:
    old, new = reader.explain(OLD), reader.explain(NEW)
    assert facts(old)["its place has"] == f"{NEW} (status 200)"
    assert facts(new)["instead of"] == f"{OLD} (status 301)"


def test_the_captures_of_the_old_address_are_told_with_the_new_one(reader: Reader) -> None:
    captures = reader.captures(NEW)
    named = {visit.url for visit in captures}
    assert named == {"", OLD}
    assert captures[-1].url == OLD
    assert [visit.time for visit in captures] == sorted((visit.time for visit in captures), reverse=True)
    assert {visit.url for visit in reader.captures(OLD)} == {""}


def test_a_page_that_is_gone_says_when_a_link_may_bring_it_back(reader: Reader) -> None:
    found = reader.explain("http://a.example/p00")
    assert found.verdict.startswith("gone: status 404")
    planned = next(step for step in found.steps if step.name == "next visit")
    assert "brings it back" in planned.text
    promoted = reader.explain("http://m.example/p00")
    assert "original" not in facts(promoted)


def test_mirrors_and_hosts_that_are_not_believed_are_told_and_listed(reader: Reader) -> None:
    told = {view.host: view.copies for view in reader.report().mirrors}
    liar = told.pop("l.example")
    assert (
        liar == f"its rel=canonical is not believed: on {ABUSED_MIN + 1} pages it is false"
    )  # /copy too, whose target differs
    ((mirror, words),) = told.items()  # which of the two it is depends on who was asked first
    other = {"a.example": "m.example", "m.example": "a.example"}[mirror]
    assert words == f"it shows the pages of {other}"
    assert words in facts(reader.explain(f"http://{mirror}/p01"))["mirror"]
    assert "ignored" in facts(reader.explain("http://l.example/l00"))["rel=canonical"]


def test_a_report_without_any_has_no_such_section(tmp_path: Path) -> None:
    web = SimWeb({"a.example": SimHost(address="20.0.0.1")})
    made = Made(tmp_path / "crawl", plain_config(("http://a.example/",)), web)
    made.run()
    assert made.reader(at=START + 60).report().mirrors == ()
