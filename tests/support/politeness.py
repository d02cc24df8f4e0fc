"""Judges a crawl from the server's own log: what was asked when, which requests overlapped, which gaps were short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROUNDING_S = 0.0021  # both columns of the log are rounded to a millisecond


@dataclass(frozen=True)
class Hit:
    """One request as the server saw it. Times in unix seconds."""

    start: float
    end: float
    address: str
    port: int
    host: str
    remote_port: int
    connection: int
    connection_requests: int
    status: int
    method: str
    target: str
    agent: str

    @property
    def is_robots(self) -> bool:
        """A request for the rules, not for a page."""
        return self.target == "/robots.txt"

    @property
    def url(self) -> str:
        """Name, port and target, without a scheme."""
        return f"{self.host}:{self.port}{self.target}"


def read_log(path: Path) -> list[Hit]:
    """All requests in the order in which they began."""
    hits = []
    for line in path.read_text("utf-8", "replace").splitlines():
        ended, took, address, port, host, remote, conn, nth, status, method, target, agent = line.split("\t")
        end = float(ended)
        hits.append(
            Hit(
                end - float(took),
                end,
                address,
                int(port),
                host,
                int(remote),
                int(conn),
                int(nth),
                int(status),
                method,
                target,
                agent,
            )
        )
    # A request without a method is a connection that was opened and closed without a word.
    return sorted((hit for hit in hits if hit.method), key=lambda hit: (hit.start, hit.end))


def group(hits: Iterable[Hit], key: Callable[[Hit], str]) -> dict[str, list[Hit]]:
    """Hits by key, each list in order of start."""
    groups: dict[str, list[Hit]] = defaultdict(list)
    for hit in hits:
        groups[key(hit)].append(hit)
    return dict(groups)


def short_gaps(hits: Iterable[Hit], gap_s: float, key: Callable[[Hit], str]) -> list[str]:
    """Every pair of neighbours of one key whose gap, from end to next start, is below `gap_s`; overlaps are negative
    gaps. One line for each, empty when the crawl was polite.
    """
    found = []
    for name, ours in group(hits, key).items():
        latest = ours[0]
        for following in ours[1:]:
            gap = following.start - latest.end
            if gap < gap_s - ROUNDING_S:
                found.append(
                    f"{name}: {latest.target} ended, {following.target} began {gap:+.3f} s later (< {gap_s} s)"
                )
            latest = max(latest, following, key=lambda hit: hit.end)
    return found


def by_address(hit: Hit) -> str:
    """A lane: one server."""
    return hit.address


def by_host(hit: Hit) -> str:
    """A host as the ledger knows it: ports 80 and 443 are one."""
    return hit.host if hit.port in {80, 443} else f"{hit.host}:{hit.port}"
