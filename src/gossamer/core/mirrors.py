"""Hosts that are mirrors of others: pairs of pages are counted in the ledgers as copies come and go."""

from __future__ import annotations

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.model.record import HostRow
from gossamer.policy.mirrors import MIRRORS_TRACKED_MAX, is_mirror, same_path


def count(context: Context, changes: Changes, host: HostRow, key: str, original: str, by: int) -> None:
    """A page of `host` has become a copy of another (by 1), or is one no more (by -1). The caller puts the ledger.

    What it says about the two hosts is judged at once.
    """
    page = changes.url(original)
    if page is None or page.host == host.host or not same_path(key, original):
        return
    other = context.ledger.find(page.host, changes)
    if other is None:
        return
    _add(host.mirrors, other.host, by)
    before = other.mirror_of
    _judge(context, host, other)
    if other.mirror_of != before:
        context.ledger.put(changes, other)


def _add(counts: dict[str, int], name: str, by: int) -> None:
    """Count; where there is no room the smallest count goes, and the new one starts from nothing."""
    counts[name] = counts.get(name, 0) + by
    if counts[name] <= 0:
        del counts[name]
    elif len(counts) > MIRRORS_TRACKED_MAX:
        del counts[min((one for one in counts if one != name), key=lambda one: counts[one])]


def _judge(context: Context, host: HostRow, other: HostRow) -> None:
    """Which of two hosts is a mirror of the other, if one is. One that is stays it while both could be."""
    ours, theirs = host.mirrors.get(other.host, 0), other.mirrors.get(host.host, 0)
    was_host, was_other = host.mirror_of == other.host, other.mirror_of == host.host
    is_host = is_mirror(ours, theirs, host.shown, now=was_host)
    is_other = is_mirror(theirs, ours, other.shown, now=was_other)
    if is_host and is_other:
        is_host = was_host or (not was_other and (ours, host.host) > (theirs, other.host))
        is_other = not is_host
    for row, mirrored, before, after in (
        (host, other.host, was_host, is_host),
        (other, host.host, was_other, is_other),
    ):
        if after and not row.mirror_of:
            row.mirror_of = mirrored
            context.counters.totals.mirrors += 1
        elif before and not after:
            row.mirror_of = ""
            context.counters.totals.mirrors -= 1
