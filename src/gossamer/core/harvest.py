"""What a digest brings into the frontier: links, redirects, sitemap entries. Builds candidates; `admission` decides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import Final

from gossamer.core.admission import Candidate
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.turn import Turn
from gossamer.core.votes import importance
from gossamer.model.limits import FEEDS_PER_HOST_MAX, REDIRECTS_MAX, SITEMAP_INDEX_DEPTH_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Digest, Kind, Outcome
from gossamer.model.reason import Reason
from gossamer.model.record import HostRow, State, UrlRow
from gossamer.model.url import Url, parse
from gossamer.policy.hints import CHANGEFREQ_S
from gossamer.policy.priority import FEED_LEVEL, link_level, redirect_level, sitemap_level
from gossamer.policy.redirect import redirect_target
from gossamer.policy.scope import judge, why
from gossamer.policy.traps import static_trap
from gossamer.policy.types import wanted_url

REDIRECT_STATUSES: Final = frozenset((301, 302, 303, 307, 308))
SITEMAP_VIA: Final = "sitemap:"
_SITEMAP_NAMES: Final = (".xml", ".gz")


def pure_refusal(
    context: Context, url: Url, depth: int, via: str | None, now: float, *, kind: Kind = Kind.PAGE
) -> tuple[Reason, str] | None:
    """The first of the pure checks that refuses a URL, with its words; None when all let it pass.

    A sitemap is a means, not a page: its type and what its path looks like do not matter, and of a host there are few.
    """
    takedown = context.takedowns.refusal(url.wire)
    if takedown:
        return Reason.TAKEDOWN, f"takedown {takedown}"
    reason = judge(context.scope, url)
    if reason is not None:
        return reason, why(context.scope, url)
    named = kind is not Kind.PAGE
    if not named and not wanted_url(url, context.config.fetch.types):
        return Reason.TYPE_NOT_WANTED, "its extension is of a type that is not requested (fetch.types)"
    reason = static_trap(url, depth, context.config.limits.depth, seed=named, via=via, year_now=year_of(now))
    return None if reason is None else (reason, "")


def year_of(now: float) -> int:
    """Calendar year of a time in unix seconds; exact but for the hours around New Year, which no trap turns on."""
    return 1970 + int(now / 31_556_952)


def links(
    digest: Digest,
    turn: Turn,
    depth: int,
    known: tuple[AbstractSet[str], AbstractSet[str]],
    find: Callable[[str], HostRow | None],
    *,
    duplicate: bool,
) -> list[Candidate]:
    """Candidates for the links of a page that are not surely known already. `find`: the ledger of a host."""
    found: list[Candidate] = []
    for group in digest.links:
        wires = {key: wire for wire, key in group.links}
        fresh = wires.keys() - known[0] - known[1]  # in C: nearly all links of nearly all pages are known
        if fresh:
            ledger = find(group.host)
            weight, lower = importance(ledger), duplicate or (ledger is not None and bool(ledger.mirror_of))
            found += [
                Candidate(
                    url=wire,
                    key=key,
                    host=group.host,
                    site=group.site,
                    level=link_level(depth + 1, has_query="?" in key, parent_duplicate=lower, importance=weight),
                    depth=depth + 1,
                    via=turn.key,
                )
                for key, wire in wires.items()
                if key in fresh
            ]
    return found


def sitemap_entries(
    context: Context, changes: Changes, digest: Digest, turn: Turn, depth: int, row: HostRow, now: float
) -> list[Candidate]:
    """Candidates for what a sitemap lists: pages, and the sitemaps below an index. The caller puts the ledger."""
    found = [
        Candidate(
            url=entry.url,
            key=entry.key,
            host=entry.host,
            site=entry.site,
            level=sitemap_level(
                entry.priority, mirror=bool(row.mirror_of) and entry.host == row.host, feed=digest.feed
            ),
            depth=1,
            via=SITEMAP_VIA + turn.key,
            claimed_s=CHANGEFREQ_S.get(entry.changefreq, 0.0),
        )
        for entry in digest.entries
    ]
    if depth < SITEMAP_INDEX_DEPTH_MAX:
        wires = [wire for wire, _ in digest.sitemaps]
        found += sitemaps(context, changes, wires, turn.key, row, depth + 1, now)
    else:
        unknown = sum(changes.url(key) is None for _, key in digest.sitemaps)
        refuse(context, row, Reason.SITEMAP_DEPTH, unknown)
    return found


def feeds(changes: Changes, digest: Digest, turn: Turn, row: HostRow) -> list[Candidate]:
    """Candidates for the feeds that a page links to, of its own host. The caller puts the ledger."""
    found: list[Candidate] = []
    for wire, key in digest.feeds:
        url = parse(wire)
        if row.feeds >= FEEDS_PER_HOST_MAX:
            break
        if not isinstance(url, Url) or url.host != row.host or changes.url(key) is not None:
            continue
        row.feeds += 1
        found.append(
            Candidate(
                url=wire,
                key=key,
                host=url.host,
                site=url.site,
                level=FEED_LEVEL,
                depth=SITEMAP_INDEX_DEPTH_MAX,  # what it lists are pages: no sitemaps are taken from it
                via=turn.key,
                kind=Kind.SITEMAP,
            )
        )
    return found


def sitemaps(
    context: Context,
    changes: Changes,
    urls: Iterable[str],
    via: str,
    row: HostRow,
    depth: int,
    now: float,
    base: str | None = None,
) -> list[Candidate]:
    """Candidates for sitemaps that are not known yet; each that is none is counted. The caller puts the ledger.

    `row` is the host that names them, in its robots.txt, whose URL is `base`, or in an index. Those of other sites are
    let in where the scope has them: what they list is judged like links. But they may be any page there, which must
    stay one: they are asked for as pages, unless their name says otherwise, and not before the seeds.
    """
    found: list[Candidate] = []
    seen: set[str] = set()
    for text in urls:
        url = parse(text, base)
        if not isinstance(url, Url):
            refuse(context, row, url)
            continue
        if url.key in seen or changes.url(url.key) is not None:
            continue
        seen.add(url.key)
        own = url.site == row.site
        kind = Kind.SITEMAP if own or _has_sitemap_name(url) else Kind.PAGE
        reason = _sitemap_refusal(context, url, row, kind, now)
        if reason is not None:
            refuse(context, row, reason)
            continue
        row.sitemaps += 1
        found.append(
            Candidate(
                url=url.wire,
                key=url.key,
                host=url.host,
                site=url.site,
                level=0 if own else link_level(depth),
                depth=depth,
                via=via,
                kind=kind,
            )
        )
    return found


def _sitemap_refusal(context: Context, url: Url, row: HostRow, kind: Kind, now: float) -> Reason | None:
    """Why a sitemap that a host names is not asked for; None when it is."""
    if url.wire.endswith("/robots.txt"):
        return Reason.NO_SITEMAP
    refusal = pure_refusal(context, url, 1, None, now, kind=kind)
    if refusal is not None:
        return refusal[0]
    return Reason.SITEMAPS_FULL if row.sitemaps >= SITEMAPS_PER_HOST_MAX else None


def _has_sitemap_name(url: Url) -> bool:
    """Whether a URL ends as hardly any page does."""
    return url.canonical.partition("?")[0].lower().endswith(_SITEMAP_NAMES)


def refuse(context: Context, row: HostRow, reason: Reason, count: int = 1) -> None:
    """Count what a host names and is not asked for."""
    if count:
        context.counters.refuse(reason, count)
        bump(row.refused, reason, count)


def redirect(
    context: Context, changes: Changes, turn: Turn, outcome: Outcome, row: UrlRow, now: float
) -> tuple[list[Candidate], bool]:
    """Candidate for a redirect's target; notes the target, or why it is not followed, in the row.

    The flag asks for one more visit: a redirect of a URL to itself is tried once again (it may only
    have set a cookie) and is a loop after that.
    """
    location = redirect_target(outcome)
    url = parse(location, turn.url) if location else Reason.REDIRECT_INVALID
    if not isinstance(url, Url):
        row.reason, row.detail = Reason.REDIRECT_INVALID, f"Location: {(location or '')[:200]}"
        context.counters.refuse(Reason.REDIRECT_INVALID)
        return [], False
    row.redirect_to = url.key
    if url.key == turn.key:
        if row.self_redirects == 0 and url.wire == turn.url:
            row.self_redirects = 1
            return [], True
        if url.wire == turn.url:
            row.reason, row.detail = Reason.REDIRECT_LOOP, "it redirects to itself"
            context.counters.refuse(Reason.REDIRECT_LOOP)
            return [], False
        return _respelled(context, row, url)
    if row.redirects >= REDIRECTS_MAX:
        row.reason, row.detail = Reason.REDIRECT_LIMIT, f"hop {row.redirects + 1} of a chain, to {url.wire}"
        context.counters.refuse(Reason.REDIRECT_LIMIT)
        return [], False
    known = changes.url(url.key)
    if known is not None and known.state is not State.GONE:
        if _leads_back(changes, url.key, turn.key):
            row.reason, row.detail = Reason.REDIRECT_LOOP, f"its redirect to {url.wire} leads back to it"
            context.counters.refuse(Reason.REDIRECT_LOOP)
        return [], False
    depth = row.depth if turn.kind is Kind.PAGE else 0  # that of a sitemap counts indexes, not links
    refusal = pure_refusal(context, url, depth, None, now, kind=turn.kind)
    if refusal is not None:
        row.reason, row.detail = refusal[0], f"redirect to {url.wire}: {refusal[1]}"
        context.counters.refuse(refusal[0])
        return [], False
    candidate = Candidate(
        url=url.wire,
        key=url.key,
        host=url.host,
        site=url.site,
        level=redirect_level(row.level),
        depth=row.depth,
        via=turn.key,
        redirects=row.redirects + 1,
        kind=turn.kind,
    )
    return [candidate], False


def _leads_back(changes: Changes, start: str, key: str) -> bool:
    """Whether the redirects that are known from `start` on end at `key`."""
    for _ in range(REDIRECTS_MAX):
        hop = changes.url(start)
        if hop is None or hop.status not in REDIRECT_STATUSES or not hop.redirect_to:
            return False
        start = hop.redirect_to
        if start == key:
            return True
    return False


def _respelled(context: Context, row: UrlRow, url: Url) -> tuple[list[Candidate], bool]:
    """A redirect to another spelling of the same canonical URL (a session id, say): take it, within limits."""
    row.redirects += 1
    if row.redirects > REDIRECTS_MAX or row.self_redirects > 0:
        row.reason, row.detail = Reason.REDIRECT_LOOP, f"spellings of one URL redirect to one another, to {url.wire}"
        context.counters.refuse(Reason.REDIRECT_LOOP)
        return [], False
    row.self_redirects = 1
    row.url = url.wire
    return [], True
