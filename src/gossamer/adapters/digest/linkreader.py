"""From links as written to links that may be queued: resolved, without repeats, judged.

Pages of a host share most of their links. What a link's text means, and what scope, type and traps say of it, depends
on nothing but the text, the folder it is read in, and the year; so it is remembered: a link seen before costs a look.
A link that the core has a row for is not even told again, for an hour: `settle` says which those are.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterable
from typing import Final

from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.html import Link
from gossamer.adapters.digest.links import Judged, LinkRules, trim
from gossamer.model.limits import LINKS_PER_PAGE_MAX
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url
from gossamer.policy.scope import judge
from gossamer.policy.traps import static_trap
from gossamer.policy.types import wanted_url

REMEMBERED_MAX: Final = 100_000  # links; beyond it the shelves that pages have not asked for longest are emptied
TEXT_MAX_CHARS: Final = 2_000  # a longer link is read anew each time
UNSETTLED_MAX: Final = 256  # pages whose links were told and of which the core has said nothing yet
SETTLED_S: Final = 3_600.0  # how long a link that the core knows is not told again
_ABSOLUTE: Final = ("http://", "https://")


class Known:
    """What is remembered of a link's text."""

    __slots__ = ("ask", "host", "key", "scope", "settled_until", "trap", "url", "welcome")

    def __init__(
        self, url: Url | Reason, scope: Reason | None = None, trap: Reason | None = None, *, ask: bool = False
    ) -> None:
        """`url`: its URL, or why it has none; `scope`: whether scope lets it in; `trap`: what type and traps say of it;
        `ask`: whether the trap must be asked anew because it compares the query with that of the page.
        """
        self.url = url
        self.scope = scope
        self.trap = trap
        self.ask = ask
        self.key, self.host = (url.key, url.host) if isinstance(url, Url) else ("", "")
        # Its URL if nothing at all speaks against it.
        self.welcome = url if isinstance(url, Url) and scope is trap is None and not ask else None
        self.settled_until = 0.0  # the core has a row for it: unix seconds until when that need not be said again


_Shelf = dict[str, Known]  # by the link's text

_NOWHERE: Final[_Shelf] = {}  # stays empty: for links that mean something else on every page


def _unsettled(
    links: Iterable[Link],
    shelves: tuple[_Shelf, _Shelf, _Shelf],
    now: float,
    followed: set[str],
    targets: dict[str, Known],
) -> list[Link]:
    """The links that must be looked at: on most pages few. The texts of the others go into `followed`, their hosts into
    `targets`.
    """
    everywhere, host, folder = shelves
    rest: list[Link] = []
    for link in links:
        href = link[0]
        known = host.get(href) or folder.get(href) or everywhere.get(href)
        if known is not None and known.settled_until > now and not link[1]:
            followed.add(href)
            targets[known.host] = known
        else:
            rest.append(link)
    return rest


def _shelf_for(text: str, shelves: tuple[_Shelf, _Shelf, _Shelf]) -> _Shelf:
    """Where the meaning of a link is remembered; nowhere when it depends on the page."""
    everywhere, host, folder = shelves
    first = text[0]
    if first == "/":  # the same on all pages of a host, whatever follows the slash
        return host
    if first in "hH" and ":" in text:  # "http:?x" is a relative link
        return everywhere if text.startswith(_ABSOLUTE) else _NOWHERE
    return folder if first != "?" else _NOWHERE


class LinkReader:
    """Reads and judges the links of pages, one page after another."""

    def __init__(self, rules: LinkRules, hooks: Hooks) -> None:
        """Judge by `rules`, and by the scope hooks among `hooks`."""
        self._rules = rules
        self._hooks = hooks
        self._tells_all = rules.tell_all or bool(hooks.links) or bool(hooks.scope)
        self._told: OrderedDict[int, list[Known]] = OrderedDict()  # by job
        self._shelves: OrderedDict[str, _Shelf] = OrderedDict()  # the one used last is last
        self._remembered = 0  # links on all shelves, and the shelves themselves
        # Hosts that the page read last leads to, its own among them, and a link to each; "" for what is no URL. Whether
        # a link is settled, in scope or wanted makes no difference here; nofollow does.
        self.targets: dict[str, Known] = {}
        self._year = 0

    def read(
        self,
        links: Iterable[Link],
        base: Base,
        *,
        job: int,
        own_key: str,
        depth: int,
        via: str,
        now: float,
        nofollow: bool,
        tell_all: bool = False,
    ) -> Judged:
        """The distinct links of a page in page order, at most LINKS_PER_PAGE_MAX, each kept or refused with its reason.

        Args: the links; their base; number of the job, by which `settle` names it; the page's own key, to which links
        lead nowhere; its depth and wire form; when it was fetched, in unix seconds: calendar walks are measured against
        that year; whether the page says nofollow. Settled links are left out, unless `tell_all`.
        """
        self._make_room(time.gmtime(now).tm_year)
        shelves = self._shelves_of(base)
        judged = Judged()
        plain = not self._hooks.scope and depth < self._rules.depth_max
        followed, shunned = set[str](), set[str]()  # two: it may stand elsewhere on the page without nofollow
        keys, room, told = {own_key}, LINKS_PER_PAGE_MAX, list[Known]()
        targets = self.targets = {}
        brief = plain and not tell_all
        if brief and not nofollow:
            links = _unsettled(links, shelves, now, followed, targets)
        for href, link_nofollow in links:
            text = trim(href)
            seen = shunned if link_nofollow or nofollow else followed
            if not text or text in seen:
                continue
            if not room:
                judged.refuse(Reason.PAGE_LINKS)
                continue
            room -= 1
            seen.add(text)
            if seen is shunned:
                judged.refuse(Reason.NOFOLLOW)
                continue
            shelf = _shelf_for(text, shelves)
            known = shelf.get(text) or self._learn(shelf, text, base)
            targets[known.host] = known
            if known.settled_until > now and brief:
                continue  # it was written with something to trim
            url = known.url
            if isinstance(url, Reason):
                judged.refuse(url)
            elif known.key not in keys:
                keys.add(known.key)
                if plain and known.welcome is not None:
                    judged.kept.append(known.welcome)
                    told.append(known)
                else:
                    judged.take(url, self._judge(url, known, depth + 1, via))
        judged.found = len(followed | shunned)
        self._remember_told(job, told)
        return judged

    def _remember_told(self, job: int, told: list[Known]) -> None:
        if told and not self._tells_all:
            self._told[job] = told
            if len(self._told) > UNSETTLED_MAX:
                self._told.popitem(last=False)

    def settle(self, job: int, refused: Collection[str], now: float) -> None:
        """The core has a row for every link that was told of a job, except for these keys."""
        for known in self._told.pop(job, ()):
            if known.key not in refused:
                known.settled_until = now + SETTLED_S

    def _make_room(self, year: int) -> None:
        """Forget what a new year makes doubtful, and what is too much."""
        if year != self._year:
            self._shelves.clear()
            self._remembered, self._year = 0, year
        while self._remembered > REMEMBERED_MAX:
            self._remembered -= 1 + len(self._shelves.popitem(last=False)[1])

    def _shelves_of(self, base: Base) -> tuple[_Shelf, _Shelf, _Shelf]:
        """Where the meanings of links are that hold everywhere, on the base's host, and in its folder."""
        if not base.front:
            return _NOWHERE, _NOWHERE, _NOWHERE
        return self._shelf(""), self._shelf(base.front), self._shelf(base.folder)

    def _shelf(self, name: str) -> _Shelf:
        shelf = self._shelves.get(name)
        if shelf is None:
            shelf = self._shelves[name] = {}
            self._remembered += 1
        else:
            self._shelves.move_to_end(name)
        return shelf

    def _learn(self, shelf: _Shelf, text: str, base: Base) -> Known:
        known = self._know(base.parse(text))
        if shelf is not _NOWHERE and len(text) <= TEXT_MAX_CHARS:
            shelf[text] = known
            self._remembered += 1
        return known

    def _know(self, url: Url | Reason) -> Known:
        if isinstance(url, Reason):
            return Known(url)
        scope = judge(self._rules.scope, url)
        if not wanted_url(url, self._rules.types):
            return Known(url, scope, Reason.TYPE_NOT_WANTED)
        if "?" in url.canonical:
            return Known(url, scope, ask=True)
        return Known(url, scope, static_trap(url, 0, 0, seed=False, via=None, year_now=self._year))

    def _judge(self, url: Url, known: Known, depth: int, via: str) -> Reason | None:
        reason = known.scope
        if self._hooks.scope and reason is not Reason.SCOPE_EXCLUDED:
            opinion = self._hooks.in_scope(url.canonical, via, depth)
            if opinion is not None:
                reason = None if opinion else Reason.SCOPE_HOOK
        if reason is not None:
            return reason
        if known.trap is Reason.TYPE_NOT_WANTED:
            return known.trap
        if depth > self._rules.depth_max:
            return Reason.TRAP_DEPTH
        if known.ask:
            return static_trap(url, 0, 0, seed=False, via=via, year_now=self._year)
        return known.trap
