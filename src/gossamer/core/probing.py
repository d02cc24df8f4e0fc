"""Asking hosts for their own not-found page. The wish is written with the page that gave rise to it and stays until it
is answered or given up, so that a kill in between loses neither the answer nor the second look at the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gossamer.core import softfour
from gossamer.core.active import ActiveHost
from gossamer.core.changes import Changes
from gossamer.core.context import ASKED, Context
from gossamer.core.keys import PROBE_PREFIX, probe_key
from gossamer.core.turn import Errand
from gossamer.model.page import Kind
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.ports.store import Store

READ_AT_ONCE: Final = 1_000
OK: Final = 200


def wish(context: Context, changes: Changes, host: ActiveHost, key: str, row: UrlRow) -> Errand | None:
    """The probe that a page gives reason for, entered in the commit of the page; the caller puts the ledger row."""
    if row.kind is not Kind.PAGE or row.status != OK or not host.row.addresses:
        return None
    if not softfour.suspicious(host.row, row):
        return None
    errand = softfour.probe(context, host.name, key, row.url)
    host.row.not_found_state = softfour.HONEST if errand is None else ASKED
    if errand is not None:
        changes.put(Cf.META, probe_key(host.name), key.encode())
    return errand


def end(changes: Changes, row: HostRow, state: str) -> None:
    """The wish of a host, if it has one, is fulfilled or given up; the caller puts the ledger row.

    `state`: what is known of its not-found page now; "" lets a later page ask again.
    """
    if row.not_found_state == ASKED:
        row.not_found_state = state
        changes.delete(Cf.META, probe_key(row.host))


def resume(context: Context, now: float) -> None:
    """At a start: take up the wishes that the run before left open."""
    changes = Changes(context.store)
    for name, about in list(_open(context.store)):
        host, page = context.ledger.find(name), changes.url(about)
        if host is None or page is None:
            changes.delete(Cf.META, probe_key(name))
            continue
        errand = softfour.probe(context, name, about, page.url)
        if errand is None or not context.frontier.run_errand(host, errand, now, context.errand_wait_max_s):
            end(changes, host, "")
            context.ledger.put(changes, host)
    if changes.ops():
        context.apply(changes)


def _open(store: Store) -> Iterator[tuple[str, str]]:
    start, stop = PROBE_PREFIX, PROBE_PREFIX[:-1] + b"\x01"
    while rows := store.scan(Cf.META, start, stop, READ_AT_ONCE):
        yield from ((slot[len(PROBE_PREFIX) :].decode(), about.decode()) for slot, about in rows)
        start = rows[-1][0] + b"\x00"
