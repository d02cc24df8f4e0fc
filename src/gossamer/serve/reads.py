"""Endpoints that only look: they read the crawl's directory, and what the running crawl says of itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any, Final

from gossamer.model.control import Freshness, Host, ReadFreshness, ReadHost
from gossamer.model.errors import GossamerError
from gossamer.model.record import HostRow
from gossamer.model.view import Explanation, HostView, Snapshot
from gossamer.serve.crawls import Served
from gossamer.serve.endpoint import Call, Endpoint, NoQuery, Reply
from gossamer.serve.faults import ApiError
from gossamer.serve.shapes import (
    CrawlList,
    CrawlSummary,
    FreshnessAnswer,
    Health,
    HostAnswer,
    HostPage,
    HostQuery,
    HostsQuery,
    PolicyAnswer,
    UrlQuery,
    VisitsQuery,
)
from gossamer.serve.tokens import Role
from gossamer.surface.checks import is_host
from gossamer.surface.doctor import Diagnosis
from gossamer.surface.hostview import robots_words
from gossamer.surface.reader import Reader
from gossamer.surface.seeds import complete
from gossamer.version import VERSION

HOSTS_LOOKED_AT: Final = 20_000  # for one page of hosts in a state
_HOST_NOTE: Final = "a host name or address, with its port when that is not usual"


async def health(call: Call) -> Reply:  # noqa: ARG001 - has the form of all handlers
    """That the server answers."""
    return Reply(value=Health(version=VERSION))


async def list_crawls(call: Call) -> Reply:
    """Every crawl that is served."""
    return Reply(value=CrawlList(crawls=tuple([await _summary(served) for served in call.crawls.all.values()])))


async def _summary(served: Served) -> CrawlSummary:
    running = await asyncio.to_thread(served.running)
    shot = running or await served.snapshot()
    return CrawlSummary(
        name=served.name,
        directory=str(served.directory),
        running=running is not None,
        state=shot.state,
        pages=shot.pages,
        rate_now=shot.rate_now,
        bound=shot.bound.name.value if running is not None else "",
    )


async def status(call: Call) -> Reply:
    """Where the crawl stands."""
    return Reply(value=await call.crawl().snapshot())


async def doctor(call: Call) -> Reply:
    """What binds it."""
    return Reply(value=await call.crawl().diagnosis())


async def hosts(call: Call) -> Reply:
    """Some hosts, in the order of their names."""
    query = call.query
    assert isinstance(query, HostsQuery)
    return Reply(value=await call.crawl().read(lambda reader: page_of_hosts(reader, query)))


def page_of_hosts(reader: Reader, query: HostsQuery) -> HostPage:
    """A page of hosts, HOSTS_LOOKED_AT looked at for it at most."""
    found: list[HostView] = []
    last = ""
    for seen, view in enumerate(islice(reader.hosts(query.after), HOSTS_LOOKED_AT), 1):
        last = view.host
        if query.state in ("", view.state):
            found.append(view)
        if len(found) == query.limit or seen == HOSTS_LOOKED_AT:
            return HostPage(hosts=tuple(found), next=last)
    return HostPage(hosts=tuple(found))


async def host(call: Call) -> Reply:
    """One host's whole story."""
    query = call.query
    assert isinstance(query, VisitsQuery)
    name, served = checked_host(call.path["host"]), call.crawl()
    story = await served.read(lambda reader: reader.story(name, query.visits))
    if story is None:
        raise unknown_host(name)
    answer = await served.control.ask(ReadHost(host=name))
    return Reply(value=HostAnswer(story=story, policy=answer.policy if isinstance(answer, Host) else None))


async def policy(call: Call) -> Reply:
    """What a fetcher must know of a host."""
    name, served = checked_host(call.path["host"]), call.crawl()
    row = await served.read(lambda reader: reader.host_row(name))
    if row is None:
        raise unknown_host(name)
    answer = await served.control.ask(ReadHost(host=name))
    return Reply(value=_policy(row, answer if isinstance(answer, Host) else None))


def _policy(row: HostRow, live: Host | None) -> PolicyAnswer:
    expires = [state.expires for state in row.robots.values()]
    return PolicyAnswer(
        host=row.host,
        crawl_delay_s=row.crawl_delay_s,
        robots_expires_at=min(expires) if expires else 0.0,
        delay_s=live.policy.delay_s if live is not None else row.delay_s,
        next_allowed=live.policy.next_allowed if live is not None else row.next_allowed,
        robots=robots_words(row),
        parked=live.policy.parked if live is not None else row.parked,
        taken_down=live.policy.taken_down if live is not None else "",
    )


async def freshness(call: Call) -> Reply:
    """How current the copies of a host's pages are."""
    query = call.query
    assert isinstance(query, HostQuery)
    name, served = checked_host(query.host, "query.host"), call.crawl()
    copies = await served.read(lambda reader: reader.freshness(name))
    if copies is None:
        raise unknown_host(name, "query.host")
    expected = await served.control.ask(ReadFreshness(host=name))
    return Reply(
        value=FreshnessAnswer(
            host=copies.host,
            last_fetched_at=copies.last_fetched_at,
            known_urls=copies.known_urls,
            fetched_this_month=copies.fetched_this_month,
            copies=copies,
            expected=expected if isinstance(expected, Freshness) else None,
        )
    )


async def explain(call: Call) -> Reply:
    """Why a URL was fetched or not."""
    query = call.query
    assert isinstance(query, UrlQuery)
    return Reply(value=await explained(call.crawl(), query.url))


async def explained(served: Served, url: str) -> Explanation:
    """Every step of a URL's road."""
    asked = completed(url)
    return await served.read(lambda reader: reader.explain(asked))


def completed(url: str) -> str:
    """A URL that may lack its scheme."""
    try:
        return complete(url)
    except GossamerError:
        return url


def checked_host(text: str, field: str = "path.host") -> str:
    """A host name as the ledger has it. Raises ApiError."""
    name = text.strip().lower()
    if not is_host(name) or not name.isprintable():
        raise ApiError(422, "it is no host", field=field, value=text, allowed=_HOST_NOTE)
    return name.encode("utf-8", "replace").decode()


def unknown_host(name: str, field: str = "path.host") -> ApiError:
    """A host that was never seen."""
    return ApiError(
        404, "the crawl has never seen this host", field=field, value=name, allowed="a host of GET /v1/hosts"
    )


def _look(
    path: str,
    summary: str,
    handler: Callable[[Call], Awaitable[Reply]],
    answer: object,
    **more: Any,  # noqa: ANN401 - fields of an Endpoint
) -> Endpoint:
    return Endpoint(
        method="GET", path=path, summary=summary, role=Role.READ, answers={200: answer}, handler=handler, **more
    )


ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path="/healthz",
        summary="Whether the server answers.",
        role=None,
        query=NoQuery,
        answers={200: Health},
        handler=health,
        group="server",
    ),
    _look("/v1/crawls", "Every crawl that is served.", list_crawls, CrawlList, query=NoQuery),
    _look("/v1/status", "Where the crawl stands: the state, all counters, what bounds the rate.", status, Snapshot),
    _look("/v1/doctor", "Which resource binds the crawl now, the evidence, and what to change.", doctor, Diagnosis),
    _look("/v1/hosts", "Hosts in the order of their names.", hosts, HostPage, query=HostsQuery, group="hosts"),
    _look(
        "/v1/hosts/{host}",
        "One host's whole story: ledger, robots.txt, latest visits and the gaps between them.",
        host,
        HostAnswer,
        query=VisitsQuery,
        path_notes={"host": _HOST_NOTE},
        group="hosts",
    ),
    _look(
        "/v1/hosts/{host}/policy",
        "What a fetcher must know of a host: its delay and until when its rules hold.",
        policy,
        PolicyAnswer,
        path_notes={"host": _HOST_NOTE},
        group="hosts",
    ),
    _look(
        "/v1/freshness",
        "How current the stored copies of a host are.",
        freshness,
        FreshnessAnswer,
        query=HostQuery,
        group="hosts",
    ),
    _look(
        "/v1/urls",
        "Why a URL was fetched or not: each step of its road.",
        explain,
        Explanation,
        query=UrlQuery,
        group="urls",
    ),
)
