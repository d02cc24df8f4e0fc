"""What a page says of other hosts: a line of the link log, and votes of its site that the core has not heard lately.

The core is told here, not by the links of the digest: those leave out what it has a row for, whoever links to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.digest.linkreader import Known
from gossamer.adapters.linklog import LinkLog
from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX, LINK_TOLD_MAX
from gossamer.model.page import Digest, Job
from gossamer.model.url import Url, parse

TOLD_S: Final = 3_600.0  # how long a vote that was told is surely not told again; twice that at most


class Neighbours:
    """Hosts and the hosts their pages lead to, page after page."""

    def __init__(self, directory: Path, *, tell_refused: bool) -> None:
        """`directory`: of the segments; `tell_refused`: also of hosts that scope keeps out, since a hook may let in."""
        self._log = LinkLog(directory)
        self._tell_refused = tell_refused
        self._young: set[tuple[str, str]] = set()  # (site that votes, host), and those of the generation before
        self._old: set[tuple[str, str]] = set()
        self._turned = 0.0

    def note(self, job: Job, digest: Digest, targets: Mapping[str, Known]) -> Digest:
        """The digest of an archived page, with the votes to be told; what it leads to goes into the link log.

        A copy of something archived before says nothing new: it is not logged.
        """
        if digest.pointer is None or job.revisit or not targets:
            return digest
        own = parse(job.url)
        if not isinstance(own, Url):
            return digest
        hosts = [host for host in targets if host and host != own.host]
        self._log.note(digest.pointer.segment, own.host, hosts, job.date)
        votes = self._untold(own.site, hosts, targets, job.date) if hosts else ()
        return msgspec.structs.replace(digest, votes=votes) if votes else digest

    def _untold(self, site: str, hosts: list[str], targets: Mapping[str, Known], now: float) -> tuple[str, ...]:
        if len(self._young) >= LINK_TOLD_MAX or not 0 <= now - self._turned < TOLD_S:
            self._old, self._young, self._turned = self._young, set(), now
        found = []
        for host in hosts[:LINK_HOSTS_PER_PAGE_MAX]:
            known = targets[host]
            if not isinstance(known.url, Url) or known.url.site == site:
                continue
            if known.scope is not None and not self._tell_refused:
                continue
            vote = (site, host)
            if vote not in self._young and vote not in self._old:
                found.append(host)
                self._young.add(vote)
        return tuple(found)

    def flush(self) -> None:
        """Write what was gathered of the log."""
        self._log.flush()
