"""From the link logs of an archive to the graph of its hosts, or to the neighbours of one, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gossamer.adapters import linklog
from gossamer.adapters.linkgraph import Graph, build
from gossamer.adapters.warc import files
from gossamer.model.limits import RANK_EDGES_MAX, RANK_HOSTS_MAX
from gossamer.model.url import name_of, site_of

MERGE_AT: Final = 2_000_000  # pairs read and not yet added up
NEIGHBOURS_MAX: Final = 1_000_000  # of one host, each way; ~150 bytes each
_NONE: Final = np.zeros(0, np.int64)


class Links(NamedTuple):
    """The links of an archive."""

    hosts: dict[str, int]  # name -> number in the graph
    graph: Graph
    pages: int  # that were read
    left_out: int  # pairs for which there was no room, links cut at their page, pages whose batch was lost
    logs: int  # files


class _Pairs:
    """(source, target) -> pages, added up from time to time."""

    def __init__(self) -> None:
        self._keys: list[NDArray[np.int64]] = [_NONE]  # added up and sorted, then those that are fresh
        self._pages: list[NDArray[np.int64]] = [_NONE]
        self._fresh = 0

    def add(self, sources: NDArray[np.int64], targets: NDArray[np.int64], pages: NDArray[np.int64]) -> int:
        """Add pairs; how many are known now, as far as they are added up."""
        self._keys.append(sources << 32 | targets)
        self._pages.append(pages)
        self._fresh += len(pages)
        if self._fresh >= max(MERGE_AT, len(self._keys[0]) // 2):
            self.merged()
        return len(self._keys[0])

    def merged(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(keys, pages), each pair once."""
        fresh = np.concatenate(self._keys[1:] or [_NONE])
        order = np.argsort(fresh)
        keys = np.concatenate([self._keys[0], fresh[order]])
        pages = np.concatenate([self._pages[0], np.concatenate(self._pages[1:] or [_NONE])[order]])
        order = np.argsort(keys, kind="stable")  # of two sorted runs: it only lays them into one another
        keys = keys[order]
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        keys, pages = keys[first], np.add.reduceat(pages[order], first) if len(first) else _NONE
        self._keys, self._pages, self._fresh = [keys], [pages], 0
        return keys, pages


def read_links(archive: Path, told: Callable[[int, int], None] | None = None) -> Links:
    """Read the link logs of the segments in `archive`, newest first, so that what there is no room for is old.

    `told` is given (logs read, logs in all) after each. Raises nothing: a log that is damaged ends there.
    """
    segments = sorted(files.segments(archive), key=files.segment_name, reverse=True)
    hosts: dict[str, int] = {}
    pairs = _Pairs()
    pages = left_out = logs = known = 0
    for number, segment in enumerate(segments, 1):
        path = linklog.log_path(segment)
        logs += path.exists()
        for batch in linklog.read(path):
            pages += batch.noted
            left_out += batch.cut + batch.lost
            if known >= RANK_EDGES_MAX or len(hosts) + len(batch.hosts) > RANK_HOSTS_MAX:
                left_out += len(batch.pages)
                continue
            numbers = np.array([hosts.setdefault(host, len(hosts)) for host in batch.hosts], np.int64)
            sources, targets, weights = (
                np.array(side, np.int64) for side in (batch.sources, batch.targets, batch.pages)
            )
            known = pairs.add(numbers[sources], numbers[targets], weights)
        if told is not None:
            told(number, len(segments))
    keys, counts = pairs.merged()
    graph = build(number_sites(list(hosts)), keys >> 32, keys & 0xFFFFFFFF, counts)
    return Links(hosts, graph, pages, left_out, logs)


class Neighbours(NamedTuple):
    """The hosts that one host has links with."""

    leading: dict[str, int]  # host -> its pages that lead to the one asked about
    led: dict[str, int]  # host -> pages of the one asked about that lead to it
    left_out: int  # pairs beyond NEIGHBOURS_MAX, and as in Links
    logs: int


def read_neighbours(archive: Path, host: str) -> Neighbours:
    """Go through the link logs of the segments in `archive` for one host. Raises nothing, as `read_links`."""
    leading: dict[str, int] = {}
    led: dict[str, int] = {}
    left_out = logs = 0
    for segment in files.segments(archive):
        path = linklog.log_path(segment)
        logs += path.exists()
        for batch in linklog.read(path):
            left_out += batch.cut + batch.lost
            if host not in batch.hosts:
                continue
            own = batch.hosts.index(host)
            for source, target, pages in zip(batch.sources, batch.targets, batch.pages, strict=True):
                if own not in (source, target):
                    continue
                found, other = (leading, source) if target == own else (led, target)
                name = batch.hosts[other]
                if name in found or len(found) < NEIGHBOURS_MAX:
                    found[name] = found.get(name, 0) + pages
                else:
                    left_out += 1
    return Neighbours(leading, led, left_out, logs)


def number_sites(hosts: list[str]) -> NDArray[np.int32]:
    """The number of each host's site."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(site_of(name_of(host)), len(numbers)) for host in hosts], np.int32)
