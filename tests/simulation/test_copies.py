"""Copies: exact ones become revisits, near ones point to their original, and both follow what changes."""

from __future__ import annotations

import random

from gossamer.core.admission import GONE_IGNORED_S
from gossamer.model.page import Job
from gossamer.model.record import Cf, UrlRow
from gossamer.policy.duplicates import TABLES
from gossamer.policy.priority import link_level
from gossamer.policy.revisits import revisit_of
from gossamer.sim.check import everything, recount, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb

A, B = "a.example", "b.example"
SKETCH = b"".join(n.to_bytes(4, "big") for n in range(1, 129))
HASH = 0x1234_5678_9ABC_DEF0


def near(simhash: int = HASH, chars: int = 5_000, **fields: object) -> Answer:
    return Answer(simhash=simhash, sketch=SKETCH, text_chars=chars, title="Manual", content_hash=simhash, **fields)  # type: ignore[arg-type]


class Watched(Run):
    """Keeps the jobs that were handed out."""

    def __init__(self, *args: object, **settings: object) -> None:
        self.jobs: list[Job] = []
        super().__init__(*args, **settings)  # type: ignore[arg-type]

    def _digest_seconds(self, job: Job) -> float:
        self.jobs.append(job)
        return super()._digest_seconds(job)


def crawl(pages: dict[str, dict[str, Answer]], digest_s: float = 0.0, seeds: list[str] | None = None) -> Watched:
    web = SimWeb(
        {
            name: SimHost(address=f"20.0.{n}.1", page=lambda target, own=own: own.get(target, Answer(status=404)))  # type: ignore[misc]
            for n, (name, own) in enumerate(pages.items())
        }
    )
    run = Watched(web, config(refresh={"policy": "uniform", "interval_s": 7_200.0, "min_interval_s": 7_200.0}),
                  seeds or [f"http://{name}/" for name in pages], digest_s=digest_s)  # fmt: skip
    assert run.go()
    assert recount(run.store) == []
    return run


def row(run: Run, url: str) -> UrlRow:
    return next(row for row in url_rows(run.store).values() if row.url == url)


def again(run: Run) -> None:
    """Visit everything once more."""
    run.wait(7_200.0 * 4 + 100)
    run.enqueue_due()
    assert run.go()
    assert recount(run.store) == []


def filed(run: Run) -> int:
    return sum(1 for _ in everything(run.store, Cf.FINGERPRINT))


def test_the_second_of_two_equal_payloads_in_flight_waits_and_becomes_a_revisit() -> None:
    same = Answer(body=b"the same body")
    run = crawl({A: {"/": same}, B: {"/": same}}, digest_s=5.0)
    jobs = [job for job in run.jobs if job.kind == "page"]
    assert [job.revisit for job in jobs] == ["", "identical"]
    original = jobs[1].original
    assert original is not None
    assert (original.url, original.date, original.digest) == (jobs[0].url, jobs[0].date, jobs[0].payload_digest)
    assert original.pointer == row(run, jobs[0].url).pointer
    copy = row(run, jobs[1].url)
    assert (copy.duplicate_of, copy.duplicate_kind) == (jobs[0].key, "exact")
    assert run.context.counters.totals.exact == 1


def test_many_that_wait_for_one_payload_all_go_when_it_is_there() -> None:
    same = Answer(body=b"the same body")
    run = crawl({f"h{n}.example": {"/": same} for n in range(30)}, digest_s=5.0)
    jobs = [job for job in run.jobs if job.kind == "page"]
    assert [job.revisit for job in jobs] == [""] + ["identical"] * 29
    took = max(event.time for event in run.events if event.kind == "page") - min(s.end for s in run.pages())
    assert took < 11.0  # two digests, not thirty


def test_empty_answers_wait_for_nobody_and_are_never_revisits() -> None:
    empty = Answer(status=302, headers=(("location", "http://c.example/"),), body=b"")
    hosts = {f"h{n}.example": {"/": empty} for n in range(20)} | {"c.example": {"/": Answer(body=b"")}}
    run = crawl(hosts, digest_s=5.0)
    assert {job.revisit for job in run.jobs} == {""}
    assert max(event.time for event in run.events) - min(s.end for s in run.pages()) < 25.0
    assert not [r for r in url_rows(run.store).values() if r.duplicate_of]


def test_a_lost_first_copy_does_not_take_the_others_with_it() -> None:
    lost, same = Answer(body=b"the same body", lost=True), Answer(body=b"the same body")
    run = crawl({A: {"/": lost}, B: {"/": same}}, digest_s=5.0)
    jobs = [job for job in run.jobs if job.kind == "page"]
    assert [job.revisit for job in jobs] == ["", ""]
    assert row(run, f"http://{A}/").state.name == "FAILED"
    assert row(run, f"http://{A}/").detail == "archive: digest-crash"
    assert row(run, f"http://{B}/").duplicate_of == ""
    assert run.partition.uncommitted() == 0


def test_a_near_copy_points_to_its_original_and_its_links_come_later() -> None:
    run = crawl({A: {"/": near(links=(f"http://{A}/x",)), "/x": Answer()},
                 B: {"/": near(HASH ^ 0b101, links=(f"http://{B}/y",)), "/y": Answer()}},
                seeds=[f"http://{A}/"])  # fmt: skip
    original = next(key for key, page in url_rows(run.store).items() if page.url == f"http://{A}/")
    more = Run(run.web, run.context.config, [f"http://{B}/"], store=run.store, clock=run.clock)
    assert more.go()
    copy = row(more, f"http://{B}/")
    assert (copy.duplicate_of, copy.duplicate_kind) == (original, "near")
    assert row(more, f"http://{A}/x").level == link_level(1)
    assert row(more, f"http://{B}/y").level == link_level(1, parent_duplicate=True) > link_level(1)
    assert more.context.counters.totals.near == 1
    assert recount(more.store) == []


def test_distance_length_and_sketch_must_all_agree() -> None:
    other = b"".join(n.to_bytes(4, "big") for n in range(1_001, 1_129))
    run = crawl({
        A: {"/": near()},
        "far.example": {"/": near(HASH ^ 0b1111)},
        "long.example": {"/": near(HASH ^ 1, chars=50_000)},
        "other.example": {"/": Answer(simhash=HASH ^ 2, sketch=other, text_chars=5_000, title="Manual")},
        "short.example": {"/": Answer(body=b"x")},
    })  # fmt: skip
    assert not [r for r in url_rows(run.store).values() if r.duplicate_of]


def test_the_index_is_complete_within_distance_three() -> None:
    chance = random.Random(7)
    pages = {A: {"/": near()}}
    for number in range(60):
        bits = chance.sample(range(64), 3)
        flipped = HASH
        for bit in bits:
            flipped ^= 1 << bit
        pages[f"h{number}.example"] = {"/": near(flipped)}
    run = crawl(pages)
    copies = [r for r in url_rows(run.store).values() if r.duplicate_of]
    assert len(copies) == 60


def test_a_page_that_changes_leaves_the_index_and_enters_it_anew() -> None:
    own = {"/": near()}
    run = crawl({A: own})
    assert filed(run) == TABLES
    own["/"] = near(HASH ^ (1 << 63) ^ 0xFF00_FF00, body=b"rewritten")
    again(run)
    assert filed(run) == TABLES
    assert row(run, f"http://{A}/").changes == 1
    own["/"] = Answer(body=b"too short to judge")
    again(run)
    assert filed(run) == 0
    assert row(run, f"http://{A}/").filed is False
    own["/"] = near(body=b"back")
    again(run)
    assert filed(run) == TABLES


def test_an_original_that_disappears_makes_way_for_its_copy() -> None:
    first, second = {"/": near(body=b"1")}, {"/": near(HASH ^ 1, body=b"2")}
    exact = {"/": Answer(body=b"exactly so")}, {"/": Answer(body=b"exactly so")}
    run = crawl({A: first, B: second, "c.example": exact[0], "d.example": exact[1]}, digest_s=0.1)
    assert sum(bool(row(run, f"http://{name}/").duplicate_of) for name in (A, B)) == 1
    original = A if not row(run, f"http://{A}/").duplicate_of else B
    copy = B if original == A else A
    exact_original = "c.example" if not row(run, "http://c.example/").duplicate_of else "d.example"
    exact_copy = "d.example" if exact_original == "c.example" else "c.example"
    {A: first, B: second}[original]["/"] = Answer(status=410)
    {"c.example": exact[0], "d.example": exact[1]}[exact_original]["/"] = Answer(status=404)
    again(run)
    again(run)
    assert row(run, f"http://{copy}/").duplicate_of == ""
    assert row(run, f"http://{exact_copy}/").duplicate_of == ""
    assert filed(run) == TABLES  # the copy is the original now
    {A: first, B: second}[original]["/"] = near(body=b"back again")
    {"c.example": exact[0], "d.example": exact[1]}[exact_original]["/"] = Answer(body=b"exactly so")
    again(run)
    again(run)
    assert row(run, f"http://{original}/").duplicate_of.startswith("example," + copy[0])
    assert row(run, f"http://{exact_original}/").duplicate_of.startswith("example," + exact_copy[0])


def test_a_refresh_of_an_unchanged_page_is_no_copy_of_itself() -> None:
    run = crawl({A: {"/": near(body=b"stays")}})
    again(run)
    page = row(run, f"http://{A}/")
    assert (page.duplicate_of, page.changes, page.unchanged, page.visits) == ("", 0, 1, 2)
    assert run.jobs[-1].revisit == "identical"


def test_a_304_is_an_observation_of_no_change_and_a_revisit() -> None:
    own = {"/": Answer(headers=(("etag", '"v1"'), ("last-modified", "Tue, 14 Nov 2023 22:13:20 GMT")))}
    run = crawl({A: own})
    own["/"] = Answer(status=304, body=b"")
    again(run)
    page = row(run, f"http://{A}/")
    assert (page.status, page.changes, page.unchanged, page.visits) == (200, 0, 1, 2)
    job = run.jobs[-1]
    assert (job.revisit, job.original is not None) == ("not-modified", True)
    assert (run.events[-1].status, run.events[-1].payload_digest) == (304, page.payload_digest)
    assert page.due > run.clock.now()
    assert run.context.counters.totals.not_modified == 1


def test_pages_that_fail_or_are_forbidden_at_a_refresh_stay_in_the_calendar() -> None:
    own = {"/": Answer(links=(f"http://{A}/x",)), "/x": Answer()}
    run = crawl({A: own})
    own["/x"] = Answer(lost=True, body=b"changed")
    again(run)
    assert row(run, f"http://{A}/x").due > run.clock.now()
    run.web.hosts[A].robots = Answer(body=b"User-agent: *\nDisallow: /x")
    run.wait(90_000.0)
    run.enqueue_due()
    assert run.go()
    assert recount(run.store) == []
    forbidden = row(run, f"http://{A}/x")
    assert (forbidden.state.name, forbidden.reason) == ("FETCHED", "robots-disallowed")
    assert forbidden.due > run.clock.now()


def test_a_missing_page_is_looked_for_at_growing_intervals_then_gone() -> None:
    own = {"/": Answer(links=(f"http://{A}/x",)), "/x": Answer()}
    run = crawl({A: own})
    del own["/x"]
    waits = []
    for _ in range(5):
        planned = row(run, f"http://{A}/x").due
        waits.append(planned - run.clock.now())
        run.wait(planned - run.clock.now() + 1)
        run.enqueue_due()
        assert run.go()
        assert recount(run.store) == []
        if row(run, f"http://{A}/x").state.name == "GONE":
            break
    assert len(waits) == 4
    assert waits[3] > 1.9 * waits[2] > 3.6 * waits[1]
    page = row(run, f"http://{A}/x")
    assert (page.state.name, page.reason, page.due) == ("GONE", "gone", 0.0)
    visits = len(run.targets(A))
    run.wait(GONE_IGNORED_S - 86_400.0)
    assert run.enqueue_due() == 1  # the root alone
    assert run.go()
    assert run.targets(A)[visits:].count("/x") == 0, "links to it are ignored for long"
    assert recount(run.store) == []
    run.wait(2 * 86_400.0)
    run.enqueue_due()
    assert run.go()
    assert run.targets(A)[visits:].count("/x") == 1, "then a link buys one more look"
    page = row(run, f"http://{A}/x")
    assert (page.state.name, page.reason, page.due) == ("GONE", "gone", 0.0)
    own["/x"] = Answer()
    run.wait(GONE_IGNORED_S + 86_400.0)
    run.enqueue_due()
    assert run.go()
    page = row(run, f"http://{A}/x")
    assert (page.state.name, page.reason, page.missing) == ("FETCHED", "", 0)
    assert page.due > 0
    assert run.context.counters.totals.revived == 2
    assert recount(run.store) == []


def test_server_errors_for_months_never_mean_gone() -> None:
    own = {"/": Answer(), "/x": Answer()}
    run = crawl({A: own}, seeds=[f"http://{A}/", f"http://{A}/x"])
    first = row(run, f"http://{A}/x")
    own["/x"] = Answer(status=503)
    for _ in range(40):
        run.wait(5 * 86_400.0)
        run.enqueue_due()
        assert run.go()
    page = row(run, f"http://{A}/x")
    assert page.status == 503
    assert (page.state.name, page.missing, page.content_digest) == ("FETCHED", 0, first.payload_digest)
    assert page.due > 0
    own["/x"] = Answer()
    again(run)
    page = row(run, f"http://{A}/x")
    assert (page.status, page.changes) == (200, 0), "what it shows is compared with the last page, not with the errors"


def test_a_soft_404_is_looked_for_as_a_404_is() -> None:
    lost = Answer(title="Page not found", content_hash=404, body=b"sorry")
    own = {"/": Answer(links=(f"http://{A}/x",)), "/x": Answer(content_hash=1)}
    web = SimWeb({A: SimHost(address="20.0.0.1", page=lambda target: own.get(target, lost))})
    run = Watched(
        web, config(refresh={"policy": "uniform", "interval_s": 7_200.0, "min_interval_s": 7_200.0}), [f"http://{A}/"]
    )
    assert run.go()
    del own["/x"]
    waits = []
    while row(run, f"http://{A}/x").state.name != "GONE":
        waits.append(row(run, f"http://{A}/x").due - run.clock.now())
        run.wait(waits[-1] + 1)
        run.enqueue_due()
        assert run.go()
        assert recount(run.store) == []
    assert len(waits) == 4
    assert waits[3] > 1.9 * waits[2] > 3.6 * waits[1]
    assert "not-found page" in row(run, f"http://{A}/x").detail


def test_a_missing_page_that_comes_back_starts_anew() -> None:
    own = {"/": Answer(links=(f"http://{A}/x",)), "/x": Answer(status=404)}
    run = crawl({A: own})
    again(run)
    assert row(run, f"http://{A}/x").missing == 2
    own["/x"] = Answer()
    run.wait(10 * 7_200.0)
    again(run)
    assert (row(run, f"http://{A}/x").missing, row(run, f"http://{A}/x").status) == (0, 200)


def test_what_is_no_page_costs_its_bytes_once_too() -> None:
    rules = Answer(headers=(("content-type", "text/plain"),), body=b"User-agent: *\nDisallow: /private/\n".ljust(400))
    absent = Answer(status=404, body=b"no such page".ljust(400))
    listed = Answer(headers=(("content-type", "application/xml"),), body=b"a sitemap".ljust(400))
    short = Answer(status=410, body=b"gone")
    pages = {"/": Answer(links=("/x", "/y", "/z")), "/x": absent, "/y": absent, "/z": short, "/sitemap.xml": listed}
    host = SimHost(address="20.0.0.1", robots=rules, page=lambda target: pages[target])
    run = Watched(SimWeb({A: host}), config(refresh={"policy": "uniform", "interval_s": 86_400.0}), [f"http://{A}/"])
    assert run.go()
    for _ in range(3):
        run.wait(2 * 86_400.0)
        run.enqueue_due()
        assert run.go()
    by_status = {status: [job for job in run.jobs if job.status == status] for status in (404, 410)}
    robots = [job for job in run.jobs if job.url.endswith("/robots.txt")]
    assert len(robots) >= 3
    for jobs in (robots, by_status[404]):
        assert [bool(revisit_of(job)) for job in jobs] == [False] + [True] * (len(jobs) - 1)
    assert {job.url for job in by_status[404]} == {f"http://{A}/x", f"http://{A}/y"}
    assert len(by_status[410]) > 1
    assert not any(revisit_of(job) for job in by_status[410])  # a record that refers to it would be no shorter
    assert recount(run.store) == []


def test_a_page_is_no_copy_of_a_robots_txt_or_an_error_of_the_same_bytes() -> None:
    same = b"<!doctype html><title>Hello</title>".ljust(400)
    pages = {"/": Answer(links=("/x", "/z")), "/x": Answer(status=404, body=same), "/z": Answer(body=same)}
    plain = Answer(headers=(("content-type", "text/plain"),), body=same)
    host = SimHost(address="20.0.0.1", robots=plain, page=lambda target: pages[target])
    run = Watched(SimWeb({A: host}), config(robots={"unparseable": "allow"}), [f"http://{A}/"])
    assert run.go()
    assert row(run, f"http://{A}/z").duplicate_of == ""
    assert [bool(revisit_of(job)) for job in run.jobs if job.payload == same] == [False, True, True]
    assert recount(run.store) == []
