"""http and https, www and apex: merged once a site was seen to serve both alike, and only then."""

from __future__ import annotations

import pytest

from gossamer.core.changes import decode_site
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, SiteRow
from gossamer.policy.twins import EQUAL_PAIRS_MIN, Pair
from gossamer.sim.check import recount
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb

PAGES = 40


def crawl(forms: tuple[str, str], *, differ: bool) -> Run:
    """Two forms of one site; each page links to the next in both forms."""

    def page(own: str):  # noqa: ANN202 - a page function as SimHost takes it
        def answer(target: str) -> Answer:
            number = int(target[2:]) if target.startswith("/p") else 0
            links = tuple(f"{form}/p{number + 1}" for form in forms) if number < PAGES else ()
            body = f"{target} {own if differ else ''}".encode()
            return Answer(body=body, links=links, content_hash=hash(body) & 0xFFFF_FFFF)

        return answer

    names = {form.partition("://")[2] for form in forms}
    web = SimWeb({name: SimHost(address=f"20.0.{n}.1", page=page(name)) for n, name in enumerate(sorted(names))})
    run = Run(web, config(limits={"depth": 100}), [f"{form}/" for form in forms])
    assert run.go()
    assert recount(run.store) == []
    return run


def site(run: Run) -> SiteRow:
    raw = run.store.get(Cf.SITE, b"example.com")
    assert raw is not None
    return decode_site(raw)


@pytest.mark.parametrize(
    ("forms", "pair"),
    [
        (("http://example.com", "https://example.com"), Pair.SCHEME),
        (("http://example.com", "http://www.example.com"), Pair.WWW),
    ],
)
def test_a_site_that_serves_both_alike_is_fetched_once(forms: tuple[str, str], pair: Pair) -> None:
    run = crawl(forms, differ=False)
    pages = [served for served in run.served if served.target.startswith("/p")]
    assert {served.target for served in pages} == {f"/p{n}" for n in range(1, PAGES + 1)}
    assert len(pages) <= PAGES + EQUAL_PAIRS_MIN + 2, "but for the pairs that were the evidence"
    equal, unequal = site(run).twins[pair]
    assert equal >= EQUAL_PAIRS_MIN
    assert unequal == 0
    assert run.partition.context.counters.totals.refused[Reason.TWIN] >= PAGES - EQUAL_PAIRS_MIN - 2


def test_a_site_whose_forms_differ_is_fetched_in_both() -> None:
    run = crawl(("http://example.com", "http://www.example.com"), differ=True)
    pages = {(served.host, served.target) for served in run.served if served.target.startswith("/p")}
    assert len(pages) == 2 * PAGES
    assert Reason.TWIN not in run.partition.context.counters.totals.refused
