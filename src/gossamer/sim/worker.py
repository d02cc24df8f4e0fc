"""What a digest worker makes of a simulated answer: links read and judged, the fingerprint that the answer has."""

from __future__ import annotations

from typing import Final

from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.harvest import pure_refusal
from gossamer.model.limits import LINK_HOSTS_PER_PAGE_MAX
from gossamer.model.page import Digest, Job, Kind, Links, Pointer, SitemapEntry
from gossamer.model.reason import Reason
from gossamer.model.url import Url, parse
from gossamer.policy.scope import judge
from gossamer.sim.web import Answer

OK: Final = 200


def make_digest(context: Context, job: Job, answer: Answer, pointer: Pointer, now: float) -> Digest:
    """The digest of a job, whose record stands at `pointer`; of an answer that is lost, that no worker survived it."""
    if answer.lost:
        return Digest(id=job.id, pointer=None, error="digest-crash")
    refused: dict[str, int] = {}
    page, sitemap = (job.status == OK and job.kind is kind for kind in (Kind.PAGE, Kind.SITEMAP))
    if page and answer.feed and not job.depth:  # a feed that is a seed
        page, sitemap = False, True
    links = _links(context, job, answer, refused, now) if page else ()
    return Digest(
        id=job.id,
        pointer=pointer,
        committed_end=pointer.offset + pointer.length,
        media_type="text/html",
        title=answer.title,
        content_hash=answer.content_hash,
        simhash=answer.simhash,
        sketch=answer.sketch,
        text_chars=answer.text_chars,
        nofollow=answer.nofollow,
        canonical=_canonical(job, answer),
        links=links,
        votes=_votes(job, links),
        refused=refused,
        entries=_entries(context, job, answer) if sitemap else (),
        feed=answer.feed and sitemap,
        feeds=_feeds(answer) if page else (),
        links_found=len(answer.links) + sum(len(group.links) for group in answer.groups),
    )


def _links(context: Context, job: Job, answer: Answer, refused: dict[str, int], now: float) -> tuple[Links, ...]:
    depth = job.depth + 1
    ready = answer.groups
    if ready and depth > context.config.limits.depth:
        bump(refused, Reason.TRAP_DEPTH, sum(len(group.links) for group in ready))
        ready = ()
    found: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for wire in answer.links:
        url = parse(wire, job.url)
        if not isinstance(url, Url):
            bump(refused, url)
            continue
        refusal = pure_refusal(context, url, depth, job.url, now)
        if refusal is not None:
            bump(refused, refusal[0])
            continue
        found.setdefault((url.host, url.site), []).append((url.wire, url.key))
    return (*ready, *(Links(host, site, tuple(links)) for (host, site), links in found.items()))


def _canonical(job: Job, answer: Answer) -> tuple[str, str] | None:
    url = parse(answer.canonical, job.url) if answer.canonical else None
    return (url.wire, url.key) if isinstance(url, Url) else None


def _votes(job: Job, links: tuple[Links, ...]) -> tuple[str, ...]:
    """The hosts of other sites that the page leads to; those of settled links too, since here none are left out."""
    hosts = {group.host: group.site for group in links}
    if not hosts:
        return ()
    own = parse(job.url)
    site = own.site if isinstance(own, Url) else ""
    return tuple(host for host, of_site in hosts.items() if of_site != site)[:LINK_HOSTS_PER_PAGE_MAX]


def _feeds(answer: Answer) -> tuple[tuple[str, str], ...]:
    urls = map(parse, answer.feeds)
    return tuple((url.wire, url.key) for url in urls if isinstance(url, Url))


def _entries(context: Context, job: Job, answer: Answer) -> tuple[SitemapEntry, ...]:
    urls = [parse(wire, job.url) for wire in answer.links]
    read = [url for url in urls if isinstance(url, Url) and judge(context.scope, url) is None]
    return (*answer.entries, *(SitemapEntry(url.wire, url.key, url.host, url.site) for url in read))
