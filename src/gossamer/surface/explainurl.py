"""Steps of an explanation that concern the URL itself: form, scope, type, traps, budgets, and where it came from."""

from __future__ import annotations

from typing import Final

from gossamer.core.changes import decode_shape, decode_site
from gossamer.core.dispatch import SITE_WINDOW_S
from gossamer.core.harvest import year_of
from gossamer.core.keys import shape_key
from gossamer.core.pings import VIA as PINGED
from gossamer.core.robotsdesk import synthetic_disallow
from gossamer.model.limits import PENDING_PER_HOST_MAX, SITE_HOSTS_MAX, SITEMAPS_PER_HOST_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, SiteRow
from gossamer.model.takedown import Takedown
from gossamer.model.view import Step
from gossamer.policy.scope import judge, why
from gossamer.policy.traps import judge_duplicates, judge_hosts, judge_shape, shapes_of, static_trap
from gossamer.policy.twins import are_merged, twin_keys
from gossamer.policy.types import unwanted_type_of, wanted_url
from gossamer.surface.evidence import Evidence
from gossamer.surface.explainview import moment
from gossamer.surface.storescan import decoded, url_row
from gossamer.surface.units import plural

CHAIN_MAX: Final = 20  # pages named on the way back to the seed

_TRAP_WORDS: Final = {
    Reason.TRAP_DEPTH: "more links from its seed than limits.depth allows",
    Reason.URL_TOO_LONG: "the URL is too long",
    Reason.TRAP_REPEATED_SEGMENTS: "its path repeats itself, as links read against a wrong base do",
    Reason.TRAP_GROWING_QUERY: "its query grows from page to page",
    Reason.TRAP_CALENDAR: "it walks a calendar far from the present",
    Reason.TRAP_SESSION: "it carries a session id",
    Reason.TRAP_FACETS: "its query combines many filters",
}
_FORM_WORDS: Final = {
    Reason.URL_SCHEME: "its scheme is neither http nor https",
    Reason.URL_TOO_LONG: "it is too long to be read as a URL",
    Reason.URL_INVALID: "it is not a URL",
}


def no_url(reason: Reason) -> Step:
    """The only step of a text that is no URL we could fetch."""
    return Step("canonical form", "no", f"{reason}: {_FORM_WORDS.get(reason, 'it is not a URL')}")


def form(evidence: Evidence) -> Step:
    """The forms a URL has, and what it belongs to."""
    url = evidence.url
    facts = [("on the wire", evidence.wire), ("URL key", url.key), ("host", url.host), ("site", url.site)]
    return Step("canonical form", "ok", url.canonical, tuple(facts))


def takedown(found: Takedown | None) -> Step | None:
    """By whose order nothing is asked for or given out; None when nobody has ordered that."""
    if found is None:
        return None
    facts = [("target", f"{found.target.kind} {found.target.value}"), ("since", moment(found.asked))]
    facts += [(name, text) for name, text in (("ticket", found.ticket), ("by", found.by)) if text]
    words = f"{Reason.TAKEDOWN}: {found.reason} ({found.id})"
    return Step("takedown", "no", words, tuple(facts))


def synthetic_robots(found: Takedown) -> Step:
    """What is taken down is treated as if robots.txt forbade it, whatever that says."""
    return Step("robots.txt", "no", synthetic_disallow(found.id))


def scope(evidence: Evidence) -> Step:
    """Whether it belongs to the crawl."""
    rules = evidence.crawl.scope
    reason = judge(rules, evidence.url)
    words = why(rules, evidence.url)
    return Step("scope", "ok", words) if reason is None else Step("scope", "no", f"{reason}: {words}")


def wanted_type(evidence: Evidence) -> Step:
    """Whether its extension promises a type that is requested."""
    kind = unwanted_type_of(evidence.url)
    if kind is None:
        return Step("type", "ok", "its extension promises nothing unwanted")
    if wanted_url(evidence.url, evidence.crawl.config.fetch.types):
        return Step("type", "ok", f"its extension promises {kind}, which fetch.types asks for")
    if evidence.is_seed or (evidence.row is not None and evidence.row.kind is not Kind.PAGE):
        return Step("type", "note", f"its extension promises {kind}; it was asked for by name, so that does not count")
    return Step("type", "no", f"{Reason.TYPE_NOT_WANTED}: its extension promises {kind} (fetch.types)")


def traps(evidence: Evidence) -> Step:
    """The guards that judge by the URL alone."""
    limit = evidence.crawl.config.limits.depth
    depth = evidence.depth
    named = evidence.is_seed or (evidence.row is not None and evidence.row.kind is not Kind.PAGE)  # as in core.harvest
    reason = static_trap(
        evidence.url,
        0 if named else depth,
        limit,
        seed=named,
        via=evidence.via.url if evidence.via is not None else None,
        year_now=year_of(evidence.crawl.now),
    )
    assumed = "" if evidence.row is not None or evidence.is_seed else ", if a seed links to it"
    where = f"depth {depth} of {limit}{assumed}"
    if reason is None:
        return Step("traps", "ok", f"no guard minds it; {where}")
    return Step("traps", "no", f"{reason}: {_TRAP_WORDS.get(reason, 'a guard refuses it')}; {where}")


def growth(evidence: Evidence) -> Step:
    """The guards that judge by what pages of the same shape and host have brought."""
    host = evidence.host
    shapes = shapes_of(evidence.wire)
    if host is None or not host.fetched:
        return Step("growth", "ok", "nothing of its host was fetched yet", (("shape", shapes[0]),))
    facts: list[tuple[str, str]] = []
    reason = None
    for shape in shapes:
        slot = shape_key(host.host, shape)
        raw = evidence.crawl.store.get(Cf.HOST, slot)
        fetched, new = decoded(decode_shape, Cf.HOST, slot, raw) if raw is not None else (0, 0)
        reason = reason or judge_shape(fetched, new)
        facts += [
            ("shape", shape),
            ("pages of this shape", f"{fetched:,} fetched, {new:,} of them brought something new"),
        ]
    facts.append(("pages of this host", f"{host.fetched:,} fetched, {host.duplicates:,} of them copies"))
    reason = judge_duplicates(host.fetched, host.duplicates) or reason
    if reason is None:
        return Step("growth", "ok", "pages like it bring new content", tuple(facts))
    if evidence.depth == 0:
        return Step("growth", "note", f"{reason}, which does not count for seeds", tuple(facts))
    what = "nearly all pages of its host are copies" if reason is Reason.TRAP_DUPLICATES else "its shape is exhausted"
    return Step("growth", "no", f"{reason}: {what}", tuple(facts))


def _twin_of(evidence: Evidence, site: SiteRow) -> str:
    """In words, the known page that a URL is merged with; "" when there is none."""
    for pair, twin in twin_keys(evidence.url.key, evidence.url.site):
        if are_merged(*site.twins.get(pair, (0, 0))) and url_row(evidence.crawl.store, twin) is not None:
            return f"{Reason.TWIN}: its site serves both alike ({pair}), and {twin} is known"
    return ""


def budgets(evidence: Evidence) -> Step:
    """Budgets of the crawl, the site and the host that still let it in, or do not."""
    crawl = evidence.crawl
    limits, totals = crawl.config.limits, crawl.totals
    pending = evidence.host.pending if evidence.host is not None else 0
    facts = [("URLs of its host queued", f"{pending:,} of {PENDING_PER_HOST_MAX:,}")]
    if evidence.host is not None and evidence.host.sitemaps:
        facts.append(("sitemaps that its host has named", _sitemap_words(evidence.host.sitemaps)))
    problem = ""
    if pending >= PENDING_PER_HOST_MAX and evidence.row is None:
        problem = f"{Reason.HOST_PENDING_FULL}: only URLs of higher priority are let in"
    if limits.pages is not None:
        facts.append(("pages", f"{totals.pages:,} of {limits.pages:,} (limits.pages)"))
        if totals.pages >= limits.pages:
            problem = f"{Reason.PAGE_BUDGET}: the crawl has fetched the {limits.pages:,} pages it may"
    if limits.bytes is not None:
        facts.append(("bytes", f"{totals.bytes:,} of {limits.bytes:,} (limits.bytes)"))
    slot = evidence.url.site.encode()
    raw = crawl.store.get(Cf.SITE, slot)
    site = decoded(decode_site, Cf.SITE, slot, raw) if raw is not None else SiteRow()
    if evidence.host is None:
        facts.append(("hosts of its site", f"{site.hosts:,} of {SITE_HOSTS_MAX:,}"))
        if site.hosts >= SITE_HOSTS_MAX:
            problem = f"{Reason.SITE_HOSTS}: its host is new, and its site has shown as many as are let in"
        elif judge_hosts(site.fronts, site.copied_fronts) is not None:
            problem = f"{Reason.TRAP_HOSTS}: its host is new, and the hosts of its site show one another's pages"
    if evidence.row is None:
        problem = _twin_of(evidence, site) or problem
    if crawl.config.scope.mode == "any":
        current = crawl.now - site.window_start < SITE_WINDOW_S
        used = site.fetched if current else 0
        facts.append(("pages of its site in 30 days", f"{used:,} of {limits.site_pages:,} (limits.site_pages)"))
        if used >= limits.site_pages:
            problem = f"{Reason.SITE_BUDGET}: used up until {moment(site.window_start + SITE_WINDOW_S)}"
    if not problem:
        return Step("budgets", "ok", "no budget is used up", tuple(facts))
    done = evidence.row is not None and evidence.row.visits > 0
    return Step("budgets", "note" if done else "no", problem, tuple(facts))


def _sitemap_words(count: int) -> str:
    full = f"; more are refused ({Reason.SITEMAPS_FULL})" if count >= SITEMAPS_PER_HOST_MAX else ""
    return f"{count:,} of {SITEMAPS_PER_HOST_MAX:,}{full}"


def origin(evidence: Evidence) -> Step:
    """When it was discovered, and by what chain of pages."""
    row = evidence.row
    if row is None:
        other = evidence.other_scheme
        facts = (("known instead", other.url),) if other is not None else ()
        words = "never let in: no page that was fetched has a link to it that is followed, or a step above refused it"
        return Step("discovered", "note", words, facts)
    chain = _chain(evidence)
    hops = f", {plural(row.redirects, 'redirect')} after a page" if row.redirects else ""
    return Step("discovered", "ok", f"{moment(row.discovered)} at depth {row.depth}{hops}", tuple(chain))


def _chain(evidence: Evidence) -> list[tuple[str, str]]:
    """The referrers back to the seed, each once, at most CHAIN_MAX."""
    steps: list[tuple[str, str]] = []
    seen: set[str] = {evidence.url.key}
    via = evidence.row.via if evidence.row is not None else ""
    while via and via not in seen:
        if len(steps) >= CHAIN_MAX:
            steps.append(("and before that", "more pages"))
            break
        seen.add(via)
        if via == PINGED:
            steps.append(("named by", "a ping"))
            break
        kind, key = _referrer(via)
        row = url_row(evidence.crawl.store, key) if key else None
        steps.append((kind, row.url if row is not None else key))
        via = row.via if row is not None else ""
        if not key:
            break
    return [(label, value) if value else (label, "named when the crawl was started") for label, value in steps]


def _referrer(via: str) -> tuple[str, str]:
    """What a `via` names: how to call it, and the URL key behind it ("" for a seed)."""
    if via == "seed":
        return "seed", ""
    for prefix, label in (
        ("sitemap:", "listed in sitemap"),
        ("robots:", "named in"),
        ("host:", "asked for by us, of host"),
    ):
        if via.startswith(prefix):
            return label, via.removeprefix(prefix)
    return "found on", via
