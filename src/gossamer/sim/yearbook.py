"""What a crawl of the living web knows and how current it is: kept from its log, compared with the web as it is.

Freshness and age as Cho and Garcia-Molina define them ("Synchronizing a Database to Improve Freshness", 2000), weighted
by an importance that the web has of its own. Copies and mirrors are no texts of their own: a text is current when one
of its addresses was seen to show it so. Beside it stands what visiting every page equally often would give, on the same
pages for the whole budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from operator import add, sub
from typing import Final

import msgspec

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.sim.coverage import out
from gossamer.sim.worldhost import Host, path_of
from gossamer.sim.worldpage import Page, depth_of, page_of, wanted
from gossamer.sim.worldtrap import is_trap
from gossamer.sim.yearpage import Life
from gossamer.sim.yearworld import LIVING, YearWorld

SHOWN: Final = (200, 304)
HOST_OCTAVES: Final = 2.0  # doublings of importance between the hosts that are linked to least and most
GOLDEN: Final = (math.sqrt(5) - 1) / 2  # multiples of it are spread evenly over a circle
VOTE_SHARE: Final = 0.3  # of all pages link to some other host (`worldpage.linked_hosts`)


class Text:
    """One text of the web, and the newest version that the crawl has seen of it."""

    __slots__ = ("dies", "first", "gone", "host", "life", "version", "weight")

    def __init__(self, life: Life, weight: float, host: Host, host_dies: float) -> None:
        """`weight`: importance; `host_dies`: day on which its host goes."""
        self.life = life
        self.weight = weight
        self.host = host.name
        self.dies = host_dies if life.end == "moved" else min(life.ends, host_dies)  # a page that moves stays
        self.first = math.inf  # day on which the crawl first had it
        self.version = -1
        self.gone = False  # ... and the crawl has seen that


class Address:
    """One URL at which a text was seen."""

    __slots__ = ("ends", "gone", "host", "text", "version")

    def __init__(self, text: Text, ends: float, host: str) -> None:
        """`ends`: day from which the text is not there any more."""
        self.text = text
        self.ends = ends
        self.host = host
        self.version = -1
        self.gone = False  # as far as the crawl has seen


class Visits(msgspec.Struct):
    """Requests, by what they were for and what they found."""

    requests: int = 0
    pages: int = 0
    refreshes: int = 0
    vain: int = 0  # refreshes that found the same text
    rechecks: int = 0  # refreshes that found again that there is none, or the same redirect

    def since(self, before: Visits) -> Visits:
        """What was done after another state of the same count."""
        return Visits(*map(sub, msgspec.structs.astuple(self), msgspec.structs.astuple(before)))

    def and_then(self, other: Visits) -> Visits:
        """Both together."""
        return Visits(*map(add, msgspec.structs.astuple(self), msgspec.structs.astuple(other)))


class Currency(msgspec.Struct, frozen=True):
    """The state of the collection at one time."""

    live: int  # texts that are there and that an obedient crawl can have
    held: int  # of those: the crawl has seen them, in some version
    born: int  # texts that have appeared since the start and are there
    born_held: int
    fresh: float  # share of the importance of all held texts whose newest version was seen; what is gone is not fresh
    fresh_plain: float  # the same, every text counting alike
    equal: float  # `fresh` of a visit of every page equally often
    age_days: float  # mean over stale texts: days since they first differed
    unnoticed: int  # addresses whose page is gone, which the crawl takes for live
    unnoticed_days: float  # the longest of these times


class Book:
    """Texts, addresses and visits."""

    def __init__(self, world: YearWorld) -> None:
        """Make the lives of all pages that can be had."""
        self._world = world
        self.visits = Visits()
        self._votes = VOTE_SHARE * sum(host.size for host in world.all)
        self._addresses: dict[str, Address] = {}
        self._texts: dict[int, Text] = {}  # by the id of the life, which the world keeps
        self._wanted = [self._text(host, page) for host in world.all for page in _texts_of(host)]

    def _text(self, host: Host, page: Page) -> Text:
        life = self._world.life(host, page)
        text = self._texts.get(id(life))
        if text is None:
            weight = 2.0 ** (HOST_OCTAVES * self._popularity(host) - depth_of(page.number) / 2)
            text = self._texts[id(life)] = Text(life, weight, host, self._world.dies(host))
        return text

    def _popularity(self, host: Host) -> float:
        """From 0 to 1, by the logarithm of the links from elsewhere that a host may expect."""
        hosts = len(self._world.all)
        share = math.sqrt((host.number + 1) / hosts) - math.sqrt(host.number / hosts)
        return math.log1p(share * self._votes) / math.log1p(self._votes / math.sqrt(hosts))

    def changes(self) -> int:
        """Changes of all texts that can be had, over the whole time."""
        return sum(len(text.life.changes) for text in self._wanted)

    # -- what the log says ---------------------------------------------------------------------------------------------

    def note(self, event: FetchEvent) -> None:
        """A visit that is committed."""
        if not event.started:
            return
        self.visits.requests += 1
        if event.kind is not Kind.PAGE:
            return
        self.visits.pages += 1
        self.visits.refreshes += event.refresh
        day = self._world.days_at(event.started)
        address = self._addresses.get(event.key)
        if event.status in SHOWN:
            self._seen(event, address, day)
        elif (event.status and event.status < 500 and event.status != 429) or (
            address is not None and not event.retry and day >= address.ends
        ):
            self._missed(event, address, day)

    def _seen(self, event: FetchEvent, address: Address | None, day: float) -> None:
        address = address or self._address(event)
        if address is None or day >= address.ends:  # a not-found page that says 200, a trap
            self._missed(event, address, day)
            return
        text = address.text
        version = text.life.version(day)
        self.visits.vain += event.refresh and version == address.version and not address.gone
        address.version, address.gone = version, False
        text.version, text.first = max(text.version, version), min(text.first, day)

    def _missed(self, event: FetchEvent, address: Address | None, day: float) -> None:
        if event.refresh and (address is None or address.gone):
            self.visits.vain += event.status in SHOWN
            self.visits.rechecks += event.status not in SHOWN
        if address is not None:
            address.gone = True
            address.text.gone = address.text.gone or day >= address.text.dies

    def _address(self, event: FetchEvent) -> Address | None:
        host, path = self._world.find(event.host), path_of(event.key)
        if host is None or (host.trap and is_trap(host, event.host, path)):
            return None
        place = self._world.place(host, path)
        if place is None:
            return None
        page, life = place
        dies = self._world.dies(host)
        ends = dies if path != page.path else min(life.ends, dies)
        address = self._addresses[event.key] = Address(self._text(*self._world.text(host, page)), ends, host.name)
        return address

    # -- compared with the web -----------------------------------------------------------------------------------------

    def measure(self, day: float, equal_days: float, parked: Callable[[str], bool]) -> Currency:
        """The collection as it is.

        Args:
            day: now.
            equal_days: between two visits of a page, if all were visited equally often.
            parked: whether the crawl says of a host that it is out of order.
        """
        out_of_order = {host.name for host in self._world.all if parked(host.name)}
        late = [
            day - address.ends
            for address in self._addresses.values()
            if address.ends <= day and not address.gone and address.host not in out_of_order
        ]
        live = [text for text in self._wanted if text.life.born <= day < text.dies]
        born = [text for text in live if text.life.born > 0]
        held = [text for text in self._wanted if text.first <= day]
        judged = [text for text in held if not (text.dies <= day and (text.gone or text.host in out_of_order))]
        fresh = [text for text in judged if _is_current(text, text.version, day)]
        ages = [_age(text, day) for text in judged if not _is_current(text, text.version, day)]
        return Currency(
            live=len(live),
            held=sum(text.first <= day for text in live),
            born=len(born),
            born_held=sum(text.first <= day for text in born),
            fresh=_weight(fresh) / max(_weight(judged), 1e-9),
            fresh_plain=len(fresh) / max(1, len(judged)),
            equal=_equal(held, day, equal_days),
            age_days=sum(ages) / max(1, len(ages)),
            unnoticed=len(late),
            unnoticed_days=max(late, default=0.0),
        )


def _texts_of(host: Host) -> Iterator[Page]:
    """Pages of a host that an obedient crawl can have and that are texts of their own."""
    if host.trap or out(host, frozenset()):
        return
    for number in range(host.size):
        page = page_of(host, number)
        if page.kind in LIVING and page.kind not in ("copy", "near") and wanted(host, page):
            yield page


def _is_current(text: Text, version: int, day: float) -> bool:
    return day < text.dies and text.life.version(day) == version


def _age(text: Text, day: float) -> float:
    """Days for which a stale text has been so."""
    changes = text.life.changes
    changed = changes[text.version] if text.version < len(changes) else math.inf
    return day - min(changed, text.dies)


def _weight(texts: list[Text]) -> float:
    return math.fsum(text.weight for text in texts)


def _equal(held: list[Text], day: float, interval_days: float) -> float:
    """Weighted freshness if every page were visited equally often, evenly spread, once the crawl has it."""
    fresh = judged = 0.0
    for number, text in enumerate(held):
        begun = text.first - interval_days * (1.0 - number * GOLDEN % 1.0)
        visited = max(text.first, begun + (day - begun) // interval_days * interval_days)
        if visited >= text.dies:
            continue
        judged += text.weight
        if _is_current(text, text.life.version(visited), day):
            fresh += text.weight
    return fresh / max(judged, 1e-9)
