"""The audit of long runs sees what it is there for: each of these breaks one thing in a run that is sound otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from gossamer.core.admission import Admission
from gossamer.core.changes import decode_entry, decode_host, decode_url, encode
from gossamer.core.counters import COUNTERS_KEY, load_totals
from gossamer.core.keys import due_key, member_key, queue_key, queue_place, waiting_key
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, Entry, HostRow, State, UrlRow
from gossamer.ports.store import Op, Store
from gossamer.sim import audit as audit_module
from gossamer.sim import month, verdicts, year, yearverdict
from gossamer.sim.audit import Audit, Auditor, Records
from gossamer.sim.check import everything
from gossamer.sim.make import config, farm, listing, names, roots
from gossamer.sim.run import Run

NOBODY = "example,none)/"
ELSEWHERE = Pointer("another.warc.gz", 0, 100)
STEPS_EACH = 3  # of a request: it goes out, it is answered, its page is committed


@pytest.fixture(autouse=True)
def watches(monkeypatch: pytest.MonkeyPatch) -> None:
    """No watch beside these runs, which are wrong on purpose; they are short, so memory is looked at more often."""
    monkeypatch.setattr(audit_module, "LOOK_EVERY", 2)


def crawl(links: int = 6, seconds: float = 4.0) -> tuple[Run, Auditor]:
    """Part of a crawl: some pages are fetched, some are queued."""
    hosts = names(4)
    run = Run(farm(hosts, lambda name: listing(name, links)), config(), roots(hosts))
    auditor = Auditor(run.partition, run.store, run.clock.now())
    run.go(seconds)
    return run, auditor


def failed(audit: Audit) -> set[str]:
    """Keys of the claims that do not hold."""
    return {claim.key for claim in verdicts.audited(audit) if not claim.holds}


def test_a_sound_run_has_no_faults_and_tells_what_was_looked_at() -> None:
    run, auditor = crawl(seconds=60.0)
    audit, totals = auditor.audit, run.context.counters.totals
    assert failed(audit) == {"state", "records"}, "nothing was counted yet"
    auditor.whole()
    assert failed(audit) == set()
    assert audit.faults == []
    assert audit.steps == STEPS_EACH * len(run.served) == STEPS_EACH * 4 * 8
    assert audit.looks == audit.steps // 2
    assert (audit.recounts, audit.rows, audit.records) == (1, totals.urls, totals.records)
    assert audit.fetched == sum(decode_url(value).state is State.FETCHED for _, value in everything(run.store, Cf.URL))
    assert audit.fetched >= 4 * 7


def test_it_is_counted_anew_when_it_is_time() -> None:
    _, auditor = crawl()
    begun = auditor._due - audit_module.RECOUNT_EVERY_S
    for days, counted in ((6.9, 0), (7.0, 1), (7.1, 1), (13.9, 1), (14.0, 2), (30.0, 3), (36.0, 3), (37.0, 4)):
        auditor.passed(begun + days * 86_400.0)
        assert auditor.audit.recounts == counted, days


# -- what is wrong in a store ------------------------------------------------------------------------------------------


def fetched(store: Store) -> tuple[str, UrlRow]:
    """A page that was fetched."""
    rows = ((key.decode(), decode_url(value)) for key, value in everything(store, Cf.URL))
    return next((key, row) for key, row in rows if row.state is State.FETCHED and row.kind == "page" and row.due)


def other(store: Store, **fields: Any) -> Iterator[Op]:
    """Its row says something else."""
    key, row = fetched(store)
    yield Cf.URL, key.encode(), encode(msgspec.structs.replace(row, **fields))


def slot(store: Store) -> tuple[bytes, Entry]:
    """Something that is queued."""
    return next((key, decode_entry(value)) for key, value in everything(store, Cf.QUEUE))


def ledger(store: Store, name: str, change: Callable[[HostRow], None]) -> Iterator[Op]:
    """A ledger says something else."""
    row = decode_host(store.get(Cf.HOST, name.encode()) or b"")
    change(row)
    yield Cf.HOST, name.encode(), encode(row)


def miscounted(store: Store) -> Iterator[Op]:
    totals = load_totals(store)
    totals.urls += 1
    yield Cf.META, COUNTERS_KEY, encode(totals)


def entry_lost(store: Store) -> Iterator[Op]:
    yield Cf.QUEUE, slot(store)[0], None


def entry_twice(store: Store) -> Iterator[Op]:
    key, entry = slot(store)
    yield Cf.QUEUE, queue_key(key[:-10].decode(), 9, 10**9), encode(entry)


def entry_of_nothing(store: Store) -> Iterator[Op]:
    yield Cf.QUEUE, queue_key("h0.example", 9, 10**9), encode(Entry(key=NOBODY))


def entry_elsewhere(store: Store) -> Iterator[Op]:
    key, entry = slot(store)
    level, sequence = queue_place(key)
    yield from entry_lost(store)
    yield Cf.QUEUE, queue_key(key[:-10].decode(), level, sequence + 10**9), encode(entry)


def entry_at_nobody(store: Store) -> Iterator[Op]:
    yield Cf.QUEUE, queue_key("none.example", 9, 10**9), encode(Entry(key=NOBODY))


def cursor_too_far(store: Store) -> Iterator[Op]:
    key, _ = slot(store)
    level, sequence = queue_place(key)

    def further(row: HostRow) -> None:
        row.cursor[level] = sequence + 1

    yield from ledger(store, key[:-10].decode(), further)


def waits_twice(store: Store) -> Iterator[Op]:
    yield Cf.WAITING, waiting_key(3, 10**9), b"h0.example"


def undated(store: Store) -> Iterator[Op]:
    key, row = fetched(store)
    yield Cf.DUE, due_key(row.due, key), None


def dated_twice(store: Store) -> Iterator[Op]:
    yield Cf.DUE, due_key(1.0, fetched(store)[0]), b"h0.example"


def dated_for_nothing(store: Store) -> Iterator[Op]:
    yield Cf.DUE, due_key(1.0, NOBODY), b"h0.example"


def never_again(store: Store) -> Iterator[Op]:
    yield from undated(store)
    yield from other(store, due=0.0)


def member_of_nothing(store: Store) -> Iterator[Op]:
    yield Cf.META, member_key(NOBODY, 1.0, NOBODY), b""


def copy_of_nothing(store: Store) -> Iterator[Op]:
    yield from other(store, duplicate_of=NOBODY)


def copies_miscounted(store: Store) -> Iterator[Op]:
    def more(row: HostRow) -> None:
        row.duplicates += 1

    yield from ledger(store, "h0.example", more)


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (miscounted, "counter urls says"),
        (entry_lost, "has 0 queue entries"),
        (entry_twice, "has 2 queue entries"),
        (entry_of_nothing, f"{NOBODY} is queued and has no row"),
        (entry_elsewhere, "stands elsewhere in the queue than its row says"),
        (entry_at_nobody, "which has no ledger"),
        (cursor_too_far, "stands before the cursor of its host"),
        (waits_twice, "h0.example waits at"),
        (undated, "the calendar does not say so"),
        (dated_twice, "the calendar says"),
        (dated_for_nothing, f"{NOBODY} is in the calendar and has no row"),
        (never_again, "is fetched and will never be visited again"),
        (member_of_nothing, "names a copy that is none"),
        (copy_of_nothing, "which knows of no copies"),
        (copies_miscounted, "h0.example says 1 copies, there are 0"),
    ],
)
def test_a_state_that_is_wrong_is_seen(broken: Callable[[Store], Iterator[Op]], said: str) -> None:
    run, auditor = crawl()
    run.store.write(list(broken(run.store)))
    auditor.whole()
    assert failed(auditor.audit) == {"state"}
    assert any(said in fault for fault in auditor.audit.faults), auditor.audit.faults


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"pointer": None}, "is fetched and has no record"),
        ({"pointer": ELSEWHERE}, "was never written"),
        ({"history": ((1.0, 200, ELSEWHERE),)}, "was never written"),
    ],
)
def test_a_row_without_its_record_is_seen(fields: dict[str, Any], said: str) -> None:
    run, auditor = crawl()
    run.store.write(list(other(run.store, **fields)))
    auditor.whole()
    assert failed(auditor.audit) == {"records"}
    assert auditor.audit.unrecorded == 1
    assert said in auditor.audit.faults[0]


def test_records_are_known_by_segment_place_and_length() -> None:
    records = Records()
    assert records.add(Pointer("a", 0, 100))
    assert records.add(Pointer("a", 100, 50))
    assert records.add(Pointer("b", 0, 100))
    assert not records.add(Pointer("b", 0, 100))
    assert len(records) == 3
    assert records.has(Pointer("a", 100, 50))
    for strange in (Pointer("a", 100, 51), Pointer("a", 50, 50), Pointer("b", 100, 50), Pointer("c", 0, 100)):
        assert not records.has(strange)


# -- what is wrong in memory -------------------------------------------------------------------------------------------


def test_a_bound_that_is_passed_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_module, "LOOK_EVERY", 1)
    monkeypatch.setattr("gossamer.core.hostqueue.READ_AHEAD", 1_000)
    _, auditor = crawl(links=400)
    auditor.whole()
    assert failed(auditor.audit) == {"memory"}
    assert "queue read ahead" in auditor.audit.faults[0]


def test_a_request_that_is_not_counted_is_seen() -> None:
    run, auditor = crawl()
    auditor.look("h0.example")
    assert auditor.audit.past_bounds == 0
    run.partition.in_flight += 1
    auditor.look("h0.example")
    assert auditor.audit.past_bounds == 1
    assert "requests are in flight, counted are" in auditor.audit.faults[0]


# -- in the month and in the year --------------------------------------------------------------------------------------


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawler that forgets to count what it admits."""
    enter = Admission._enter

    def entered(self: Admission, *arguments: Any) -> None:
        enter(self, *arguments)
        self._counters.totals.urls -= 1

    monkeypatch.setattr(Admission, "_enter", entered)


@pytest.mark.usefixtures("uncounted")
def test_a_month_whose_state_is_wrong_fails_its_claim() -> None:
    found = month.simulate(month.Plan(hosts=20, urls=200, days=0.2))
    claims = {claim.key: claim.holds for claim in verdicts.judge(found)}
    assert (claims["state"], claims["memory"], claims["records"]) == (False, True, True)
    assert any("counter urls says" in fault for fault in found.faults)


@pytest.mark.usefixtures("uncounted")
@pytest.mark.timeout(600)
def test_a_year_whose_state_is_wrong_fails_its_claim() -> None:
    found = year.simulate(year.Plan(hosts=12, urls=300, days=14.0, budget_per_day=10))
    claims = {claim.key: claim.holds for claim in yearverdict.judge(found)}
    assert (claims["state"], claims["memory"], claims["records"]) == (False, True, True)
    assert any("counter urls says" in fault for fault in found.faults)
