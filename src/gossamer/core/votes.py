"""Votes of sites for hosts of other sites, counted in the ledgers of these; how important a host is thereby."""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.model.record import HostRow
from gossamer.policy.importance import add_vote, of_host, site_hash


def importance(row: HostRow | None) -> float:
    """Importance of a host, from 0 to 1; of one that is not known, 0."""
    return 0.0 if row is None else of_host(row.rank, row.votes)


def note_votes(context: Context, changes: Changes, site: str, hosts: Iterable[str]) -> None:
    """A page of `site` leads to these hosts. Those that are not known, and the site's own, are passed over.

    To be called after the links of the page were admitted: a host that they brought in has a ledger then.
    """
    hashed = site_hash(site, repr(context.counters.totals.started).encode())  # a time that no stranger knows so exactly
    for host in hosts:
        row = context.ledger.find(host, changes)
        if row is None or row.site == site:
            continue
        if row.moved_to:
            row = context.ledger.find(row.moved_to, changes) or row
        grown = add_vote(row.votes, hashed)
        if grown != row.votes:
            row.votes = grown
            context.ledger.put(changes, row)
