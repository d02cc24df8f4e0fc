"""Why no page came of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gossamer.core.changes import decode_host, decode_url
from gossamer.core.harvest import REDIRECT_STATUSES
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.model.url import Url, parse
from gossamer.ports.store import Store

ERROR_STATUS: Final = 400


def seed_failures(store: Store, seeds: Sequence[str], refused: dict[str, Reason], *, waiting: bool) -> dict[str, str]:
    """Seed -> why no page came of it, for those of which none did. `waiting`: also for those that had no turn yet."""
    failures: dict[str, str] = {}
    for seed in seeds:
        url = parse(seed)
        if not isinstance(url, Url):
            failures[seed] = str(url)
        elif url.wire in refused:
            failures[seed] = str(refused[url.wire])
        else:
            why = _why(store, url, waiting=waiting)
            if why:
                failures[seed] = why
    return failures


def no_page(row: UrlRow) -> str:
    """What was answered instead of a page: an error, or a redirect that is not followed. "" for everything else."""
    if row.status >= ERROR_STATUS:
        return f"it answered with status {row.status}"
    if row.status in REDIRECT_STATUSES and row.reason:
        return _reason(row)
    return ""


def _why(store: Store, url: Url, *, waiting: bool) -> str:
    raw = store.get(Cf.URL, url.key.encode())
    if raw is None:
        return "never queued" if waiting else ""
    row = decode_url(raw)
    if row.visits:
        return no_page(row)
    if row.reason:
        return _reason(row)
    raw_host = store.get(Cf.HOST, url.host.encode())
    found = _host_why(decode_host(raw_host), url.scheme) if raw_host is not None else ""
    return found or ("not fetched yet" if waiting else "")


def _reason(row: UrlRow) -> str:
    return f"{row.reason}: {row.detail}" if row.detail else row.reason


def _host_why(host: HostRow, scheme: str) -> str:
    if host.parked:
        return host.parked
    robots = host.robots.get(scheme)
    return f"robots.txt: {robots.why}" if robots is not None and robots.verdict == "disallow" else ""
