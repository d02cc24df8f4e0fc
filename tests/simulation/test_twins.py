"""http and https, www and apex: merged once a site was seen to serve both alike, and only then."""

from __future__ import annotations

import pytest

from gossamer.core.changes import decode_site
from gossamer.core.turn import Turn
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, SiteRow
from gossamer.policy.twins import EQUAL_PAIRS_MIN, Pair, are_merged
from gossamer.sim.check import recount, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import NO_ROBOTS, Answer, SimHost, SimWeb

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


def changing(*, differ_later: bool) -> Run:
    """A merged site all of whose pages change, in both forms alike or in one only."""
    state = {"http://example.com": "1", "https://example.com": "1"}

    def page(target: str, scheme: str) -> Answer:
        number = int(target[2:]) if target.startswith("/p") else 0
        links = tuple(f"{form}/p{number + 1}" for form in state) if number < PAGES else ()
        body = f"{target} {state[f'{scheme}://example.com']}".encode()
        return Answer(body=body, links=links, content_hash=hash(body) & 0xFFFF_FFFF)

    class Web(SimWeb):
        def answer(self, turn: Turn) -> Answer:
            return NO_ROBOTS if turn.target == "/robots.txt" else page(turn.target, turn.scheme)

    web = Web({"example.com": SimHost(address="20.0.1.1")})
    made = config(limits={"depth": 100}, refresh={"policy": "uniform", "interval_s": 7_200.0})
    run = Run(web, made, [f"{form}/" for form in state])
    assert run.go()
    assert are_merged(*site(run).twins[Pair.SCHEME])
    state["https://example.com"] = "2"
    if not differ_later:
        state["http://example.com"] = "2"
    for _ in range(6):
        run.wait(7_200.0)
        run.enqueue_due()
        assert run.go()
        assert recount(run.store) == []
    return run


def test_a_merge_outlives_a_change_of_both_forms() -> None:
    run = changing(differ_later=False)
    assert are_merged(*site(run).twins[Pair.SCHEME])


def test_a_merge_ends_when_the_forms_part_later() -> None:
    run = changing(differ_later=True)
    assert site(run).twins[Pair.SCHEME][1] > 0
    assert not are_merged(*site(run).twins[Pair.SCHEME])
    for _ in range(6):
        run.wait(7_200.0)
        run.enqueue_due()
        assert run.go()
    keys = {row.url for row in url_rows(run.store).values() if "/p" in row.url}
    assert len(keys) > 1.5 * PAGES, "links of both forms are admitted again"
