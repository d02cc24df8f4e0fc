"""What the core hands out: a turn is the right to make one request; an errand is a request outside the queue."""

from __future__ import annotations

import msgspec

from gossamer.core.hostqueue import Place
from gossamer.model.page import Kind
from gossamer.model.record import UrlRow


class Errand(msgspec.Struct, kw_only=True):
    """A request that no queue entry stands for: robots.txt (with its redirect hops) or a not-found probe."""

    kind: Kind
    url: str  # wire form
    key: str
    for_host: str  # whose rules or not-found page this is
    scheme: str  # of the rules
    hops: int = 0
    seen: tuple[str, ...] = ()
    about: str = ""  # URL key of the page that made us probe


class Turn(msgspec.Struct, kw_only=True):
    """One request of one host through one lane. Reserved when it is made; ended by `Partition.fetched`."""

    id: int
    host: str
    lane: str
    kind: Kind
    url: str  # wire form
    key: str
    scheme: str
    name: str
    port: int
    target: str
    address: str
    started: float
    place: Place | None = None  # None for errands
    row: UrlRow | None = None  # None for errands on URLs not known before
    errand: Errand | None = None
    etag: str = ""  # conditional request, when an earlier copy is known
    last_modified: str = ""
    fresh: bool = False  # on a new connection: the kept one that it was tried on was over
    slow: bool = False  # its host is among the slow ones, which share a part of the fetches in flight
    robots: str = ""  # the rule of robots.txt that lets it be made, in words
    robots_at: float = 0.0  # when that robots.txt was fetched, unix seconds
