"""From links as written to links that may be queued: resolved, without repeats, judged.

Pages of a host share most of their links. What a link's text means, and what scope, type and traps say of it, depends
on nothing but the text, the folder it is read in, and the year; so it is remembered: a link seen before costs a look.
"""

from __future__ import annotations

from collections.abc import Iterable
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

REMEMBERED_MAX: Final = 50_000  # links in each of two generations; the older one is dropped whole

# A link's URL, or why it has none; whether scope lets it in; what type and traps say of it; whether the trap must be
# asked anew because it compares the query with that of the page.
Known = tuple[Url | Reason, Reason | None, Reason | None, bool]


class LinkReader:
    """Reads and judges the links of pages, one page after another."""

    def __init__(self, rules: LinkRules, hooks: Hooks) -> None:
        """Judge by `rules`, and by the scope hooks among `hooks`."""
        self._rules = rules
        self._hooks = hooks
        self._young: dict[str, Known] = {}
        self._old: dict[str, Known] = {}
        self._year = 0

    def read(
        self, links: Iterable[Link], base: Base, *, own_key: str, depth: int, via: str, year: int, nofollow: bool
    ) -> Judged:
        """The distinct links of a page in page order, at most LINKS_PER_PAGE_MAX, each kept or refused with its reason.

        Args: the links; their base; the page's own key, to which links lead nowhere; its depth and wire form; the
        current year, against which calendar walks are measured; whether the page says nofollow.
        """
        if year != self._year:
            self._young, self._old, self._year = {}, {}, year
        judged = Judged()
        followed: set[str] = set()
        shunned: set[str] = set()  # not the same set: an address may stand elsewhere on the page without nofollow
        keys = {own_key}
        for href, link_nofollow in links:
            text = trim(href)
            seen = shunned if link_nofollow or nofollow else followed
            if not text or text in seen:
                continue
            if len(followed) + len(shunned) >= LINKS_PER_PAGE_MAX:
                judged.refuse(Reason.PAGE_LINKS)
                continue
            seen.add(text)
            if seen is shunned:
                judged.refuse(Reason.NOFOLLOW)
                continue
            known = self._look(text, base)
            url = known[0]
            if isinstance(url, Reason):
                judged.refuse(url)
            elif url.key not in keys:
                keys.add(url.key)
                reason = self._judge(url, known, depth + 1, via)
                if reason is None:
                    judged.kept.append(url)
                else:
                    judged.refuse(reason)
        judged.found = len(followed | shunned)
        return judged

    def _look(self, text: str, base: Base) -> Known:
        where = base.place_of(text)
        if where is None:
            return self._know(base.parse(text))
        known = self._young.get(where)
        if known is not None:
            return known
        known = self._old.get(where) or self._know(base.parse(text))
        if len(self._young) >= REMEMBERED_MAX:
            self._old, self._young = self._young, {}
        self._young[where] = known
        return known

    def _know(self, url: Url | Reason) -> Known:
        if isinstance(url, Reason):
            return url, None, None, False
        scope = judge(self._rules.scope, url)
        if not wanted_url(url, self._rules.types):
            return url, scope, Reason.TYPE_NOT_WANTED, False
        if "?" in url.canonical:
            return url, scope, None, True
        return url, scope, static_trap(url, 0, 0, seed=False, via=None, year_now=self._year), False

    def _judge(self, url: Url, known: Known, depth: int, via: str) -> Reason | None:
        _, reason, verdict, ask = known
        if self._hooks.scope and reason is not Reason.SCOPE_EXCLUDED:
            opinion = self._hooks.in_scope(url.canonical, via, depth)
            if opinion is not None:
                reason = None if opinion else Reason.SCOPE_HOOK
        if reason is not None:
            return reason
        if verdict is Reason.TYPE_NOT_WANTED:
            return verdict
        if depth > self._rules.depth_max:
            return Reason.TRAP_DEPTH
        if ask:
            return static_trap(url, 0, 0, seed=False, via=via, year_now=self._year)
        return verdict
