"""Turns → external fetchers → outcomes. A lease is a turn like any other, whose request somebody else makes.

Host and lane are reserved for it as for our own requests, until it is completed or its deadline has passed. What comes
later is refused: by then the turn is over, its URL back in its queue, and the host's gap counted from the deadline. So
is what was taken down meanwhile. robots.txt, keys and probes are asked for by this process alone.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.control import (
    AnyAnswer,
    Complete,
    Completed,
    Fetched,
    Lease,
    LeasedUrl,
    Leases,
    Refused,
    bad_value,
)
from gossamer.model.limits import (
    LEASE_GRACE_S,
    LEASE_WAIT_MAX_S,
    LEASED_AT_ONCE_MAX,
    LEASED_BODY_MAX_BYTES,
    LEASES_MAX,
)
from gossamer.model.page import Failure, Kind, Outcome, Request
from gossamer.policy.external import fault_of, outcome_of
from gossamer.ports.clock import Clock

WORKER_MAX_CHARS: Final = 200
RETRY_MIN_S: Final = 1.0
RETRY_MAX_S: Final = 30.0

Codings = Callable[[tuple[str, ...], bytes], tuple[str, ...]]
Result = tuple[Outcome, str, bytes]


class _Held(msgspec.Struct):
    """A lease that somebody holds."""

    turn: Turn
    request: Request
    worker: str
    done: asyncio.Future[Result]


class _Waiter(msgspec.Struct):
    """A fetcher that waits for leases."""

    worker: str
    left: int
    leases: list[LeasedUrl]
    done: asyncio.Future[None]


class LeaseStage:
    """Hands turns to those who ask for them, and takes what came of them."""

    def __init__(
        self,
        clock: Clock,
        *,
        request: Callable[[Turn], Request],
        digest: Callable[[bytes], str],
        codings: Codings,
        wake: Callable[[], None],
        next_time: Callable[[], float | None],
    ) -> None:
        """`request` says what a turn asks for, `digest` names a payload, `codings` says which of the codings that a
        response names its body really has; `wake` is called when somebody waits, `next_time` tells when to ask again.
        """
        self._clock = clock
        self._request = request
        self._digest = digest
        self._codings = codings
        self._wake = wake
        self._next_time = next_time
        self._held: dict[str, _Held] = {}
        self._waiting: deque[_Waiter] = deque()

    def held(self) -> int:
        """Leases that are out."""
        return len(self._held)

    def hungry(self) -> bool:
        """Whether somebody waits for a lease."""
        return bool(self._waiting)

    # -- the dispatch's ------------------------------------------------------------------------------------------------

    def offer(self, turn: Turn) -> asyncio.Future[Result] | None:
        """Lease a turn to the first who waits: what it will bring. Cancelled, it is revoked. None: nobody takes it."""
        if not self._waiting or turn.kind not in (Kind.PAGE, Kind.SITEMAP) or len(self._held) >= LEASES_MAX:
            return None
        waiter = self._waiting[0]
        request = self._request(turn)
        most = min(request.body_max_bytes, LEASED_BODY_MAX_BYTES)
        request = msgspec.structs.replace(request, body_max_bytes=most)
        name = secrets.token_urlsafe(18)
        loop = asyncio.get_running_loop()
        deadline = turn.started + request.total_timeout_s + LEASE_GRACE_S
        held = _Held(turn, request, waiter.worker, loop.create_future())
        self._held[name] = held
        timer = loop.call_later(deadline - self._clock.now(), self._expire, held)
        held.done.add_done_callback(lambda _done: self._over(name, timer))
        waiter.leases.append(
            LeasedUrl(
                lease=name,
                url=turn.url,
                key=turn.key,
                host=turn.host,
                address=turn.address,
                headers=request.headers,
                deadline=deadline,
                timeout_s=request.total_timeout_s,
                body_max_bytes=request.body_max_bytes,
                depth=turn.row.depth if turn.row is not None else 0,
                refresh=turn.place is not None and turn.place.refresh,
            )
        )
        waiter.left -= 1
        if not waiter.left:
            self._waiting.popleft()
        if len(waiter.leases) == 1:  # what else can go in this moment goes with it
            loop.call_soon(_set, waiter.done)
        return held.done

    def _expire(self, held: _Held) -> None:
        said = f"the lease of {held.worker} ran out"
        self._end(held, Outcome(failure=Failure.CUT_OFF, failure_detail=said, started=held.turn.started))

    def _end(self, held: _Held, outcome: Outcome) -> None:
        if not held.done.done():
            held.done.set_result((outcome, self._digest(outcome.payload), b""))

    def _over(self, name: str, timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._held.pop(name, None)

    # -- the fetchers' -------------------------------------------------------------------------------------------------

    async def ask(self, command: Lease | Complete) -> AnyAnswer:
        """Lease URLs, or take what came of them."""
        if not 0 < len(command.worker) <= WORKER_MAX_CHARS:
            allowed = f"1 to {WORKER_MAX_CHARS} characters"
            return bad_value("worker", command.worker, "a fetcher has a name", allowed)
        return await self._lease(command) if isinstance(command, Lease) else self._complete(command)

    async def _lease(self, command: Lease) -> AnyAnswer:
        for field, value, most in (
            ("count", command.count, LEASED_AT_ONCE_MAX),
            ("wait_s", command.wait_s, LEASE_WAIT_MAX_S),
        ):
            least = 1 if field == "count" else 0
            if not least <= value <= most:
                return bad_value(field, value, f"{field} is out of range", f"{least} to {most:g}")
        if len(self._held) >= LEASES_MAX or len(self._waiting) >= LEASES_MAX:
            said = f"{LEASES_MAX:,} leases are out"
            return Refused(code="busy", message=said, retry_after_s=RETRY_MAX_S)
        waiter = _Waiter(command.worker, command.count, [], asyncio.get_running_loop().create_future())
        self._waiting.append(waiter)
        self._wake()
        try:
            await asyncio.wait_for(waiter.done, max(command.wait_s, 0.05))
        except TimeoutError:
            pass
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
        retry_s = 0.0 if waiter.leases else self._retry_s()
        return Leases(leases=tuple(waiter.leases), retry_after_s=retry_s)

    def _retry_s(self) -> float:
        at = self._next_time()
        wait_s = RETRY_MAX_S if at is None else at - self._clock.now()
        return min(RETRY_MAX_S, max(RETRY_MIN_S, wait_s))

    def _complete(self, command: Complete) -> AnyAnswer:
        taken: list[str] = []
        refused: dict[str, str] = {}
        for fetched in command.results:
            why = self._take(command.worker, fetched)
            if why:
                refused[fetched.lease] = why
            else:
                taken.append(fetched.lease)
        return Completed(taken=tuple(taken), refused=refused)

    def _take(self, worker: str, fetched: Fetched) -> str:
        """Take one result; why not, or "". A lease that is not held any more, whatever the reason, takes nothing."""
        held = self._held.get(fetched.lease)
        if held is None or held.done.done():
            return "gone: this lease is over: completed before, past its deadline, or revoked"
        if held.worker != worker:
            return "gone: this lease is another fetcher's"
        fault = fault_of(fetched, held.request)
        if fault:
            return f"bad-value: {fault}"
        codings = self._codings(
            tuple(value for name, value in fetched.headers if name.lower() == "content-encoding"), fetched.body
        )
        self._end(held, outcome_of(fetched, held.request, held.turn.started, self._clock.now(), codings))
        return ""


def _set(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
