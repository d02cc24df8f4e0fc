"""Why nothing was fetched of a seed."""

from __future__ import annotations

from collections.abc import Sequence

from gossamer.core.changes import decode_host, decode_url
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow
from gossamer.model.url import Url, parse
from gossamer.ports.store import Store


def seed_failures(store: Store, seeds: Sequence[str], refused: dict[str, Reason]) -> dict[str, str]:
    """Seed -> why no response of it is stored, for the seeds of which that holds."""
    failures: dict[str, str] = {}
    for seed in seeds:
        url = parse(seed)
        if not isinstance(url, Url):
            failures[seed] = str(url)
        elif url.wire in refused:
            failures[seed] = str(refused[url.wire])
        else:
            why = _why(store, url)
            if why:
                failures[seed] = why
    return failures


def _why(store: Store, url: Url) -> str:
    raw = store.get(Cf.URL, url.key.encode())
    if raw is None:
        return "never queued"
    row = decode_url(raw)
    if row.visits:
        return ""
    if row.reason:
        return f"{row.reason}: {row.detail}" if row.detail else row.reason
    raw_host = store.get(Cf.HOST, url.host.encode())
    return _host_why(decode_host(raw_host), url.scheme) if raw_host is not None else "never tried"


def _host_why(host: HostRow, scheme: str) -> str:
    if host.parked:
        return host.parked
    robots = host.robots.get(scheme)
    if robots is not None and robots.verdict == "disallow":
        return f"robots.txt: {robots.why}"
    return "not fetched yet"
