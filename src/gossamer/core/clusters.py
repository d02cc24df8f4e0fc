"""Clusters: pages that show the same, one of which is the original. Who is a copy of whom, and what follows when the
original goes or changes: its copies are judged anew at once, the earliest first, so that it takes the place.

The copies of a page stand in an index under its key (`core.keys.member_key`). A commit judges a bounded number of them;
the others follow a few at a time (`carry_on`).
"""

from __future__ import annotations

from typing import Final

from gossamer.core import canonicals, copies, mirrors
from gossamer.core.calendar import hasten
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.keys import DISBAND_PREFIX, disband_key, member_bounds, member_key, member_of
from gossamer.core.turn import Turn
from gossamer.model.page import Digest, Job, Kind
from gossamer.model.record import Cf, HostRow, UrlRow

MEMBERS_PER_COMMIT_MAX: Final = 16  # copies judged anew in the commit of their original's visit
MEMBERS_AT_ONCE_MAX: Final = 200  # ... and of those that are left, each time the calendar is looked into


def judge(
    context: Context,
    changes: Changes,
    host: HostRow,
    turn: Turn,
    job: Job,
    digest: Digest,
    row: UrlRow,
    now: float,
    *,
    changed: bool,
) -> None:
    """Which page, if any, the page just seen is a copy of; what that means for its own copies. The caller puts both."""
    if turn.kind is not Kind.PAGE:
        return
    key = turn.key
    original: str | None = None
    if job.revisit == "identical":
        original = copies.holder(changes, key, job.payload_digest)
    elif digest.pointer is not None and job.payload and not job.truncated and not digest.noarchive:
        copies.remember_copy(changes, job.payload_digest, key, turn.url, job.date, digest.pointer)
    probe = copies.Probe(changes, row.simhash) if not original and not row.filed and row.simhash is not None else None
    if probe is not None:
        original = copies.confirmed(changes, probe.near(key), row)
    named = canonicals.judge(changes, host, key, row)
    if named:  # the page named may leave the tables: what was read of them is old then
        original, probe = _named(context, changes, key, named, now), None
    yielding = original if original and not named and _yields(context, changes, original, key) else None
    _settle(context, changes, key, row, host, None if yielding else original, now, probe)
    totals = context.counters.totals
    totals.exact += row.duplicate_kind == "exact"
    totals.near += row.duplicate_kind == "near"
    if yielding:
        other = changes.url(yielding)
        ledger = context.ledger.find(other.host, changes) if other is not None else None
        if other is not None and ledger is not None:
            _settle(context, changes, yielding, other, ledger, key, now)
            _write(context, changes, yielding, other, ledger)
            _disband(context, changes, yielding, now)
    if row.copied and (changed or row.duplicate_of):
        _disband(context, changes, key, now)


def gone(context: Context, changes: Changes, host: HostRow, key: str, row: UrlRow, now: float) -> None:
    """What a page said is no longer there: it is no copy any more, and nothing is a copy of it from now on.

    The caller puts row and ledger.
    """
    _assign(context, changes, key, row, host, None, now)
    _unfile(changes, key, row)
    canonicals.note(host, row, "")
    host.shown -= bool(row.content_digest)
    row.content_digest = ""
    if row.copied:
        _disband(context, changes, key, now)


def carry_on(context: Context, now: float) -> int:
    """Judge more of the copies whose original went. Returns how many pages were queued for a visit."""
    found = context.store.scan(Cf.META, DISBAND_PREFIX, DISBAND_PREFIX[:-1] + b"\x01", 1)
    if not found:
        return 0
    changes = Changes(context.store)
    before = context.counters.totals.promoted
    slot, start = found[0]
    _disband(context, changes, slot[len(DISBAND_PREFIX) :].decode(), now, start, MEMBERS_AT_ONCE_MAX)
    context.apply(changes)
    return context.counters.totals.promoted - before


def _near(changes: Changes, key: str, row: UrlRow) -> str | None:
    """The original that a page's text is near to."""
    if row.simhash is None:
        return None
    return copies.confirmed(changes, copies.Probe(changes, row.simhash).near(key), row)


def _named(context: Context, changes: Changes, key: str, named: str, now: float) -> str:
    """The original of a page whose rel=canonical is believed: the page named, or what that is a copy of.

    The page named may have counted as a copy of this one so far: it takes its place.
    """
    other = changes.url(named)
    if other is None or not other.duplicate_of:
        return named
    if other.duplicate_of != key:
        return other.duplicate_of
    ledger = context.ledger.find(other.host, changes)
    if ledger is not None:
        _settle(context, changes, named, other, ledger, None, now)
        _write(context, changes, named, other, ledger)
    return named


def _yields(context: Context, changes: Changes, original: str, key: str) -> bool:
    """Whether the original of a page names this page by its own rel=canonical, and is believed; written down."""
    other = changes.url(original)
    if other is None or other.canonical != key:
        return False
    ledger = context.ledger.find(other.host, changes)
    if ledger is None:
        return False
    named = canonicals.judge(changes, ledger, original, other)
    _write(context, changes, original, other, ledger)
    return named == key


def _settle(
    context: Context,
    changes: Changes,
    key: str,
    row: UrlRow,
    host: HostRow,
    original: str | None,
    now: float,
    probe: copies.Probe | None = None,
) -> None:
    """Make a page a copy of `original`, or an original that others are compared with.

    `probe`: the tables for the row's simhash, where they were read in this commit and are as they were.
    """
    _assign(context, changes, key, row, host, original, now)
    if original:
        _unfile(changes, key, row)
    elif not row.filed and row.simhash is not None:
        (probe or copies.Probe(changes, row.simhash)).file(key)
        row.filed = True


def _assign(
    context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow, original: str | None, now: float
) -> None:
    """The only place where a page becomes a copy of another, or ceases to be one."""
    first = changes.url(original) if original else None
    if row.duplicate_of != (original or "") or (original and not row.copied_at):
        if row.duplicate_of and row.copied_at:
            changes.delete(Cf.META, member_key(row.duplicate_of, row.copied_at, key))
            mirrors.count(context, changes, host, key, row.duplicate_of, -1)
        host.duplicates = max(0, host.duplicates + bool(original) - bool(row.duplicate_of))
        row.duplicate_of = original or ""
        row.copied_at = (row.copied_at or now) if original else 0.0
        if original:
            changes.put(Cf.META, member_key(original, row.copied_at, key), b"")
            mirrors.count(context, changes, host, key, original, 1)
    if first is None:
        row.duplicate_kind = ""
        return
    row.duplicate_kind = "exact" if copies.shown(row) == copies.shown(first) else "near"
    row.promoted = False
    if original and not first.copied:
        first.copied = True
        changes.put_url(original, first)


def _disband(
    context: Context,
    changes: Changes,
    key: str,
    now: float,
    start: bytes = b"",
    limit: int = MEMBERS_PER_COMMIT_MAX,
) -> None:
    """Judge the copies of a page anew, from `start` on, at most `limit` now. The others stay noted."""
    begin, end = member_bounds(key)
    found = context.store.scan(Cf.META, start or begin, end, limit + 1)
    left = 0
    for slot, _ in found[:limit]:
        if changes.get(Cf.META, slot) is not None:
            _judge_member(context, changes, key, slot, now)
            left += changes.get(Cf.META, slot) is not None
    if len(found) > limit:
        changes.put(Cf.META, disband_key(key), found[limit][0])
        return
    if start:
        changes.delete(Cf.META, disband_key(key))
    row = changes.url(key)
    if row is not None and not start and not left:
        row.copied = False
        changes.put_url(key, row)


def _judge_member(context: Context, changes: Changes, original: str, slot: bytes, now: float) -> None:
    """A copy whose original is not what it was: whose copy is it now? Of none: it is visited soon, as an original."""
    key = member_of(slot, original)
    row = changes.url(key)
    host = context.ledger.find(row.host, changes) if row is not None else None
    if row is None or host is None or row.duplicate_of != original:
        changes.delete(Cf.META, slot)
        return
    digest = copies.shown(row)
    found = copies.holder(changes, key, digest) if digest else None
    found = found or _near(changes, key, row)
    _settle(context, changes, key, row, host, found, now)
    if not found:
        row.promoted = True
        context.counters.totals.promoted += 1
        hasten(context, changes, key, row, host, now)
    _write(context, changes, key, row, host)


def _unfile(changes: Changes, key: str, row: UrlRow) -> None:
    if row.filed and row.simhash is not None:
        copies.unfile_fingerprint(changes, key, row.simhash)
    row.filed = False


def _write(context: Context, changes: Changes, key: str, row: UrlRow, host: HostRow) -> None:
    changes.put_url(key, row)
    context.ledger.put(changes, host)
