"""Endpoints that change a running crawl, and those that ask about what was changed: all of them go by its control."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from gossamer.model.control import (
    AddSeeds,
    AddUrls,
    AnyCommand,
    Change,
    Changed,
    Complete,
    Completed,
    Done,
    Host,
    Lease,
    LeasedUrl,
    Leases,
    LiftTakedown,
    ListTakedowns,
    PatchHost,
    Pause,
    Refused,
    Resume,
    Stop,
    TakeDown,
    Takedowns,
    Taken,
    Tell,
)
from gossamer.model.takedown import StepName, Takedown, Target
from gossamer.serve.crawls import Served
from gossamer.serve.endpoint import LARGE_BODY_MAX_BYTES, Call, Endpoint, Reply
from gossamer.serve.faults import ApiError
from gossamer.serve.reads import checked_host
from gossamer.serve.shapes import (
    LEVELS_OF,
    Body,
    ChangedAnswer,
    CompleteBody,
    DoneAnswer,
    HostBody,
    HostPolicyAnswer,
    Leased,
    LeaseQuery,
    LimitsBody,
    PingBody,
    ReasonBody,
    SeedsBody,
    StopBody,
    TakedownAnswer,
    TakedownBody,
    TakedownList,
    TakenAnswer,
    UrlsBody,
)
from gossamer.serve.tokens import Role
from gossamer.surface.explainview import moment
from gossamer.surface.units import plural

STATUS_OF: Final = {
    "bad-value": 422,
    "not-found": 404,
    "conflict": 409,
    "gone": 410,
    "busy": 503,
    "not-running": 409,  # its state does not allow it: nothing is broken, and to try again soon does not help
    "failed": 500,
}
# Where in a request a value stood that a command has by another name; what is not here stood in the body, by its own.
_PLACES: Final[dict[type[AnyCommand], dict[str, str]]] = {
    TakeDown: {"target": "body.value"},
    ListTakedowns: {"id": "path.id"},
    LiftTakedown: {"id": "path.id"},
    PatchHost: {"host": "path.host"},
    Lease: {"worker": "query.worker_id", "count": "query.n", "wait_s": "query.wait_s"},
    Complete: {"worker": "body.worker_id"},
    Tell: {"urls": "body.urlList"},
}
Handler = Callable[[Call], Awaitable[Reply]]
A = TypeVar("A")
B = TypeVar("B", bound=Body)


async def ask(served: Served, command: AnyCommand, wanted: type[A]) -> A:
    """What the crawl answers. Raises ApiError for what it refuses."""
    answer = await served.control.ask(command)
    if isinstance(answer, wanted):
        return answer
    if isinstance(answer, Refused):
        wait = (("Retry-After", str(math.ceil(answer.retry_after_s))),) if answer.retry_after_s else ()
        raise ApiError(
            STATUS_OF[answer.code],
            answer.message,
            field=_PLACES.get(type(command), {}).get(answer.field, f"body.{answer.field}") if answer.field else "",
            value=answer.value,
            allowed=answer.allowed.removeprefix("allowed: "),
            headers=wait,
        )
    raise ApiError(500, f"the crawl answered {type(answer).__name__} to {type(command).__name__}")


def _body(call: Call, shape: type[B]) -> B:
    assert isinstance(call.body, shape)
    return call.body


# -- takedowns ---------------------------------------------------------------------------------------------------------


async def take_down(call: Call) -> Reply:
    """Stop everything about a target."""
    body, served = _body(call, TakedownBody), call.crawl()
    target = Target(body.scope, body.value)
    command = TakeDown(target=target, reason=body.reason, ticket=body.ticket, by=call.principal.name)
    answer = await ask(served, command, Takedowns)
    made = takedown_answer(answer.takedowns[0], running=answer.running)
    where = f"/v1/takedown/{made.takedown.id}"
    return Reply(value=made, status=202, headers=(("Location", where),), result=f"{made.takedown.id}: {made.status}")


async def takedowns(call: Call) -> Reply:
    """Every takedown."""
    return Reply(value=await listed(call.crawl()))


async def listed(served: Served) -> TakedownList:
    """Every takedown of a crawl, the newest first."""
    answer = await ask(served, ListTakedowns(), Takedowns)
    told = tuple(takedown_answer(one, running=answer.running) for one in answer.takedowns)
    return TakedownList(takedowns=told, running=answer.running)


async def takedown(call: Call) -> Reply:
    """One takedown, each step with its time."""
    answer = await ask(call.crawl(), ListTakedowns(id=call.path["id"]), Takedowns)
    return Reply(value=takedown_answer(answer.takedowns[0], running=answer.running))


async def lift(call: Call) -> Reply:
    """Let a takedown hold no longer."""
    body = _body(call, ReasonBody)
    command = LiftTakedown(id=call.path["id"], reason=body.reason, by=call.principal.name)
    answer = await ask(call.crawl(), command, Takedowns)
    made = takedown_answer(answer.takedowns[0], running=answer.running)
    return Reply(value=made, status=202, result=made.status)


def takedown_answer(one: Takedown, *, running: bool) -> TakedownAnswer:
    """A takedown with where it stands in words."""
    last = one.steps[-1] if one.steps else None
    if one.confirmed:
        done = one.step(StepName.CONFIRMED if one.in_force else StepName.RESTORED)
        word = "confirmed" if one.in_force else "lifted"
        text = f"{word} at {moment(done.at)}" if done is not None else word
    elif not running:
        text = "recorded; the rest is done when the crawl starts"
    else:
        text = f"under way: {last.name.value}" if last is not None else "asked for"
    return TakedownAnswer(takedown=one, confirmed=one.confirmed, status=text, running=running)


# -- the crawl ---------------------------------------------------------------------------------------------------------


async def pause(call: Call) -> Reply:
    """Make no new requests."""
    return await _done(call, Pause(reason=_body(call, ReasonBody).reason, by=call.principal.name))


async def resume(call: Call) -> Reply:
    """End a pause."""
    _body(call, ReasonBody)
    return await _done(call, Resume(by=call.principal.name))


async def stop(call: Call) -> Reply:
    """End the crawl."""
    body = _body(call, StopBody)
    return await _done(call, Stop(reason=body.reason, at_once=body.at_once, by=call.principal.name))


async def _done(call: Call, command: AnyCommand) -> Reply:
    answer = await ask(call.crawl(), command, Done)
    return Reply(value=DoneAnswer(message=answer.message), result=answer.message or "done")


async def change_limits(call: Call) -> Reply:
    """Change limits and scope of the running crawl."""
    body = _body(call, LimitsBody)
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    answer = await ask(call.crawl(), Change(by=call.principal.name, **given), Changed)
    return Reply(value=ChangedAnswer(changes=answer.changes), result="; ".join(answer.changes) or "nothing changed")


# -- URLs in -----------------------------------------------------------------------------------------------------------


async def seeds(call: Call) -> Reply:
    """Add seeds."""
    body = _body(call, SeedsBody)
    if not body.urls and not body.sitemaps:
        raise ApiError(422, "nothing is named", field="body.urls", allowed="at least one URL, here or in sitemaps")
    command = AddSeeds(urls=body.urls, sitemaps=body.sitemaps, level=LEVELS_OF[body.priority], by=call.principal.name)
    return _taken(await ask(call.crawl(), command, Taken))


async def add_urls(call: Call) -> Reply:
    """Offer URLs to the frontier."""
    levels: dict[int, list[str]] = {}
    for one in _body(call, UrlsBody).urls:
        levels.setdefault(one.priority, []).append(one.url)
    total = Taken(taken=0)
    for level, urls in sorted(levels.items()):
        answer = await ask(call.crawl(), AddUrls(urls=tuple(urls), level=level, by=call.principal.name), Taken)
        total = Taken(
            taken=total.taken + answer.taken,
            known=total.known + answer.known,
            refused={**total.refused, **answer.refused},
        )
    return _taken(total)


async def index_now(call: Call) -> Reply:
    """Say that pages have changed; their hosts are asked for the key."""
    body = _body(call, PingBody)
    return _taken(await ask(call.crawl(), Tell(key=body.key, urls=body.urlList), Taken))


def _taken(answer: Taken) -> Reply:
    value = TakenAnswer(taken=answer.taken, known=answer.known, refused=answer.refused)
    result = f"{answer.taken} taken, {answer.known} known, {len(answer.refused)} refused"
    return Reply(value=value, status=202, result=result)


# -- hosts -------------------------------------------------------------------------------------------------------------


async def patch_host(call: Call) -> Reply:
    """Change what a host is treated by."""
    body = _body(call, HostBody)
    command = PatchHost(
        host=checked_host(call.path["host"]),
        delay_s=body.delay_s,
        budget=body.budget,
        park_s=body.park_s,
        park_reason=body.park_reason,
        reset=body.reset,
        by=call.principal.name,
    )
    answer = await ask(call.crawl(), command, Host)
    told = f"gap {answer.policy.delay_s:g} s ({answer.policy.delay_source})"
    parked = f", parked: {answer.policy.parked}" if answer.policy.parked else ""
    return Reply(value=HostPolicyAnswer(view=answer.view, policy=answer.policy), result=told + parked)


# -- external fetchers -------------------------------------------------------------------------------------------------


async def lease(call: Call) -> Reply:
    """Take URLs to fetch elsewhere."""
    query = call.query
    assert isinstance(query, LeaseQuery)
    answer = await ask(call.crawl(), Lease(worker=query.worker_id, count=query.n, wait_s=query.wait_s), Leases)
    if not answer.leases:
        wait = max(1, math.ceil(answer.retry_after_s))
        return Reply(status=204, headers=(("Retry-After", str(wait)),))
    return Reply(value=tuple(map(_leased, answer.leases)))


def _leased(one: LeasedUrl) -> Leased:
    return Leased(
        lease=one.lease,
        url=one.url,
        host=one.host,
        ip=one.address,
        lease_expires_at=one.deadline,
        headers=one.headers,
        timeout_s=one.timeout_s,
        body_max_bytes=one.body_max_bytes,
        depth=one.depth,
        refresh=one.refresh,
    )


async def complete(call: Call) -> Reply:
    """Say how leases ended."""
    body = _body(call, CompleteBody)
    answer = await ask(call.crawl(), Complete(worker=body.worker_id, results=body.results), Completed)
    return Reply(value=answer, result=f"{plural(len(answer.taken), 'lease')} taken, {len(answer.refused)} refused")


def _change(
    path: str,
    summary: str,
    handler: Handler,
    body: type,
    status: int,
    answer: object,
    **more: Any,  # noqa: ANN401 - fields of an Endpoint
) -> Endpoint:
    given = {"method": "POST", "role": Role.OPERATE, **more}
    return Endpoint(path=path, summary=summary, answers={status: answer}, body=body, handler=handler, **given)


def _look(path: str, summary: str, handler: Handler, answers: dict[int, object], **more: Any) -> Endpoint:  # noqa: ANN401 - fields of an Endpoint
    given = {"role": Role.READ, **more}
    return Endpoint(method="GET", path=path, summary=summary, answers=answers, handler=handler, **given)


_ID: Final = {"id": "as POST /v1/takedown answered it"}
_HOST: Final = {"host": "a host name or address, with its port when that is not usual"}

ENDPOINTS: Final = (
    _change("/v1/seeds", "Add seeds; the scope grows with them.", seeds, SeedsBody, 202, TakenAnswer, group="urls"),
    _change(
        "/v1/takedown",
        "Stop everything about a host, site, prefix or pattern, now; stored copies are given out no more.",
        take_down,
        TakedownBody,
        202,
        TakedownAnswer,
        group="takedown",
    ),
    _look("/v1/takedown", "Every takedown, the newest first.", takedowns, {200: TakedownList}, group="takedown"),
    _look(
        "/v1/takedown/{id}",
        "One takedown: each step with its time.",
        takedown,
        {200: TakedownAnswer},
        path_notes=_ID,
        group="takedown",
    ),
    _change(
        "/v1/takedown/{id}",
        "Let a takedown hold no longer.",
        lift,
        ReasonBody,
        202,
        TakedownAnswer,
        method="DELETE",
        path_notes=_ID,
        group="takedown",
    ),
    _change("/v1/frontier/urls", "Offer URLs to the frontier.", add_urls, UrlsBody, 202, TakenAnswer, group="frontier"),
    _look(
        "/v1/frontier/lease",
        "Take URLs to fetch elsewhere: one request each, before the lease expires. 204: nothing may be asked now.",
        lease,
        {200: tuple[Leased, ...], 204: None},
        query=LeaseQuery,
        role=Role.OPERATE,
        group="frontier",
    ),
    _change(
        "/v1/frontier/complete",
        "Say how leases ended.",
        complete,
        CompleteBody,
        200,
        Completed,
        group="frontier",
        is_traffic=True,
        body_max_bytes=LARGE_BODY_MAX_BYTES,
    ),
    _change(
        "/v1/hosts/{host}",
        "Change what a host is treated by: gap, budget, parking, reset.",
        patch_host,
        HostBody,
        200,
        HostPolicyAnswer,
        method="PATCH",
        path_notes=_HOST,
        group="hosts",
    ),
    _change(
        "/v1/indexnow", "Pages have changed, as IndexNow says it.", index_now, PingBody, 202, TakenAnswer, group="urls"
    ),
    _change("/v1/pause", "Make no new requests; kept over restarts.", pause, ReasonBody, 200, DoneAnswer),
    _change("/v1/resume", "End a pause.", resume, ReasonBody, 200, DoneAnswer),
    _change("/v1/stop", "End the crawl in good order, or at once.", stop, StopBody, 200, DoneAnswer, role=Role.ADMIN),
    _change(
        "/v1/limits",
        "Change limits and scope of the running crawl.",
        change_limits,
        LimitsBody,
        200,
        ChangedAnswer,
        method="PATCH",
        role=Role.ADMIN,
    ),
)
