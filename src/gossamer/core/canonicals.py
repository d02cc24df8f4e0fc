"""rel=canonical: which page of a cluster it makes the original, and what each host's is worth."""

from __future__ import annotations

from gossamer.core.changes import Changes
from gossamer.core.copies import is_same, shown
from gossamer.core.counters import bump
from gossamer.model.record import HostRow, UrlRow
from gossamer.policy.canonicals import Said, is_distrusted


def judge(changes: Changes, host: HostRow, key: str, row: UrlRow) -> str:
    """Whether the rel=canonical of a page is believed. Returns the key of the page that it names then, else "".

    The caller puts row and ledger.
    """
    named = row.canonical
    other = changes.url(named) if named and named != key else None
    note(host, row, _said(host, row, other) if named and named != key else "")
    return named if row.canonical_said == Said.HONOURED else ""


def _said(host: HostRow, row: UrlRow, other: UrlRow | None) -> Said:
    if other is None or not shown(other):
        return Said.UNSEEN
    if other.canonical not in ("", row.canonical):
        return Said.CHAIN
    if not is_same(row, other):
        return Said.DIFFERS
    return Said.DISTRUSTED if is_distrusted(host.canonicals) else Said.HONOURED


def note(host: HostRow, row: UrlRow, said: str) -> None:
    """Count what became of a page's rel=canonical, instead of what became of it before. The caller puts both."""
    if said == row.canonical_said:
        return
    if row.canonical_said:
        bump(host.canonicals, row.canonical_said, -1)
        if host.canonicals[row.canonical_said] <= 0:
            del host.canonicals[row.canonical_said]
    if said:
        bump(host.canonicals, said)
    row.canonical_said = said
