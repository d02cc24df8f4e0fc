"""Pages that are kept as of now: what has changed of one is sent, as server-sent events, as long as it is open.

What a page shows is found out once for all who look at it, and the more seldom the longer it takes: however many look
at a page, reading for it takes a twentieth of the time at most.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec

from gossamer.serve.crawls import Served
from gossamer.serve.faults import ApiError
from gossamer.serve.view import Params, Values, View

STREAMS_MAX: Final = 64
STREAMS_PER_VISITOR_MAX: Final = 24  # nobody keeps the others from looking
STREAM_MAX_S: Final = 3_600.0  # then the browser connects anew, and its session is looked at again
REST_FACTOR: Final = 20.0
ENDING_LOOK_S: Final = 0.25
KEPT_MAX: Final = 2 * STREAMS_MAX


class Visitor(msgspec.Struct, frozen=True):
    """Whose page it is."""

    who: str
    may_look: Callable[[], bool]
    is_over: Callable[[], bool]  # the server ends


class _Look:
    """What a page shows, while it counts as new."""

    def __init__(self, work: asyncio.Task[Values]) -> None:
        self.work = work
        self.until = float("inf")  # monotonic seconds; set when the work is done


class Streams:
    """Open pages."""

    def __init__(self) -> None:
        """None is open."""
        self._open: Counter[str] = Counter()
        self._looks: OrderedDict[tuple[str, ...], _Look] = OrderedDict()

    def check(self, who: str) -> None:
        """Whether one more page may be kept as of now. Raises ApiError."""
        if self._open.total() >= STREAMS_MAX:
            raise ApiError(503, f"{STREAMS_MAX} pages are open already", headers=(("Retry-After", "60"),))
        if self._open[who] >= STREAMS_PER_VISITOR_MAX:
            text = f"{STREAMS_PER_VISITOR_MAX} pages are open with this token already"
            raise ApiError(503, text, headers=(("Retry-After", "60"),))

    async def run(
        self,
        visitor: Visitor,
        view: View,
        render: Callable[[Values], dict[str, str]],
        served: Served,
        params: Params,
    ) -> AsyncIterator[bytes]:
        """Events: what has changed of the parts of a page.

        Args:
            visitor: whose page it is.
            view: the page.
            render: what makes the parts of it, by their names, of what it shows.
            served: the crawl.
            params: the query.
        """
        sent: dict[str, str] = {}
        is_lost = False
        self._open[visitor.who] += 1
        try:
            async with asyncio.timeout(STREAM_MAX_S):
                while not visitor.is_over() and visitor.may_look():
                    try:
                        fresh = render(await self.values(view, served, params))
                    except ApiError as error:
                        yield b"event: trouble\ndata: " + msgspec.json.encode(str(error)) + b"\n\n"
                        is_lost = True
                    else:
                        changed = {name: html for name, html in fresh.items() if sent.get(name) != html}
                        sent |= changed
                        news = bool(changed) or is_lost
                        yield b"data: " + msgspec.json.encode(changed) + b"\n\n" if news else b": nothing new\n\n"
                        is_lost = False
                    await _rest(view.every_s, visitor.is_over)
        except (TimeoutError, ApiError):
            return
        finally:
            self._open[visitor.who] -= 1
            if not self._open[visitor.who]:
                del self._open[visitor.who]

    async def values(self, view: View, served: Served, params: Params) -> Values:
        """What a page shows, as somebody found it out a moment ago, or now. Raises ApiError."""
        key = (served.name, view.path, *(params.get(name, "") for name in view.fields))
        look = self._looks.get(key)
        if look is None or time.monotonic() >= look.until:
            look = self._looks[key] = _Look(asyncio.create_task(view.values(served, params)))
            look.work.add_done_callback(_settled(look, view.every_s, time.monotonic()))
            while len(self._looks) > KEPT_MAX:
                self._looks.popitem(last=False)
        return await asyncio.shield(look.work)

    def forget(self) -> None:
        """Something was changed: what was found out before does not count."""
        self._looks.clear()


def _settled(look: _Look, every_s: float, begun: float) -> Callable[[asyncio.Task[Values]], None]:
    def settle(work: asyncio.Task[Values]) -> None:
        now = time.monotonic()
        look.until = now + max(every_s / 2, (now - begun) * REST_FACTOR)
        if not work.cancelled():
            work.exception()  # whoever waits is told; when nobody does any more, that is no fault

    return settle


async def _rest(seconds: float, is_over: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not is_over():  # noqa: ASYNC110 - the server has no event to wait for
        await asyncio.sleep(ENDING_LOOK_S)
