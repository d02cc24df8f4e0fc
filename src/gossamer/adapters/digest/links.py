"""What links are judged by, and what became of them: the pure checks, the links kept by host, the others by reason.

The checks are the pure ones (scope, types, static traps) and the scope and link hooks; what needs the store (seen,
budgets, robots) comes after the commit. Every link that is dropped is counted under its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from gossamer.adapters.digest.hooks import Hooks
from gossamer.model.page import Links
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url
from gossamer.policy.scope import ScopeRules, judge
from gossamer.policy.traps import static_trap
from gossamer.policy.types import wanted_url

# Besides what WHATWG trims: signs that have no ink and no place at the ends of an address.
_INKLESS: Final = "".join(map(chr, (*range(0x21), 0xA0, 0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0x3000, 0xFEFF)))


class LinkRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker must know to judge links. Sent to it when it starts."""

    scope: ScopeRules
    types: tuple[str, ...] = ()  # fetch.types
    depth_max: int = 16
    product: str = "Gossamer"  # robots meta elements may name it
    body_max_bytes: int = 10 * 1024 * 1024  # decoded
    tell_all: bool = False  # somebody reads the links of each page: none is left out because the core knows it


@dataclass(slots=True)
class Judged:
    """Links that survived, and why the others did not."""

    kept: list[Url] = field(default_factory=list)
    refused: dict[str, int] = field(default_factory=dict)
    found: int = 0  # distinct links, whatever became of them

    def refuse(self, reason: Reason, count: int = 1) -> None:
        """Count links that are dropped."""
        if count:
            self.refused[reason.value] = self.refused.get(reason.value, 0) + count

    def take(self, url: Url, reason: Reason | None) -> None:
        """Keep a link, or count it under the reason for which it is dropped."""
        if reason is None:
            self.kept.append(url)
        else:
            self.refuse(reason)

    def groups(self) -> tuple[Links, ...]:
        """The kept links by host, hosts and links in page order."""
        hosts: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for url in self.kept:
            hosts[url.host, url.site].append((url.wire, url.key))
        return tuple(Links(host, site, tuple(links)) for (host, site), links in hosts.items())


def trim(href: str) -> str:
    """A link's text without its fragment and without white space, controls and zero-width signs at its ends."""
    if "#" in href:
        href = href[: href.index("#")]
    # Nearly all are ASCII with ink at both ends.
    if href and (href[0] <= " " or href[-1] <= " " or not href.isascii()):
        href = href.strip(_INKLESS)
    return href


def resolve_base(href: str | None, document: str, encoding: str) -> Base:
    """The base that links are read against (HTML standard, "document base URL").

    Args: `href` of the first base element; the document's final URL; its encoding's name.
    """
    if href is not None:
        fallback = Base(document, encoding)
        made = fallback.parse(trim(href))
        if isinstance(made, Url):
            return Base(made.wire, encoding)
        return fallback
    return Base(document, encoding)


def judge_links(
    urls: Iterable[Url], rules: LinkRules, hooks: Hooks, *, depth: int, via: str, year: int, judged: Judged
) -> None:
    """Judge URLs that a page of this depth leads to.

    Args: the URLs; the rules; the hooks; depth of the page; its wire form; the current year, against which calendar
    walks are measured; where the result goes.
    """
    scope, types, depth_max = rules.scope, rules.types, rules.depth_max
    asks = bool(hooks.scope)
    for url in urls:
        reason = judge(scope, url)
        if asks and reason is not Reason.SCOPE_EXCLUDED:
            opinion = hooks.in_scope(url.canonical, via, depth + 1)
            if opinion is not None:
                reason = None if opinion else Reason.SCOPE_HOOK
        if reason is None and not wanted_url(url, types):
            reason = Reason.TYPE_NOT_WANTED
        if reason is None:
            reason = static_trap(url, depth + 1, depth_max, seed=False, via=via, year_now=year)
        judged.take(url, reason)
