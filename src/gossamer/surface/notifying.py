"""Notifications: what happens to a crawl is posted to a URL of the operator's, signed.

The body is one JSON object: id, time, crawl, event, and what belongs to the event. `X-Gossamer-Signature` is
"t=SECONDS,v1=HEX", where HEX is HMAC-SHA256 with the shared secret over "SECONDS.BODY" (RFC 2104): who receives it
compares, and refuses what is old. A delivery that is not answered with 2xx is tried again, later each time, and given
up in the end; several may arrive out of order, and one twice: `id` tells. Nothing of this holds the crawl up.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.config import Notify
from gossamer.model.errors import ConfigError
from gossamer.model.jsonbytes import encode
from gossamer.model.limits import NOTIFICATIONS_MAX
from gossamer.surface.allowance import Allowance
from gossamer.version import VERSION

WAITS_S: Final = (1.0, 5.0, 30.0, 120.0, 600.0)  # before each further attempt
CLOSE_S: Final = 5.0  # for what is left when the crawl ends
STATES_BURST: Final = 20  # changes of state that are told at once
STATES_EVERY_S: Final = 30.0  # then one each so many seconds
SECRET_MIN_BYTES: Final = 16
SECRET_MAX_BYTES: Final = 4_096
SIGNATURE: Final = "X-Gossamer-Signature"

Post = Callable[[str, bytes, dict[str, str]], int]


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One message."""

    id: str
    time: float  # unix seconds
    crawl: str  # name of its directory
    event: str  # "state" | "alarm" | "takedown" | "test"
    data: dict[str, object]


def read_secret(config: Notify) -> bytes:
    """The shared secret. Raises ConfigError when it is not there, or too short to be one."""
    if not config.secret_file:
        raise ConfigError("notify.secret_file is needed with notify.url: messages are signed with what it holds")
    try:
        with Path(config.secret_file).open("rb") as file:
            secret = file.read(SECRET_MAX_BYTES + 1).strip()
    except OSError as error:
        raise ConfigError(f"notify.secret_file: {config.secret_file} cannot be read: {error.strerror}") from error
    if not SECRET_MIN_BYTES <= len(secret) <= SECRET_MAX_BYTES:
        allowed = f"{SECRET_MIN_BYTES} to {SECRET_MAX_BYTES:,} bytes"
        raise ConfigError(f"notify.secret_file: {config.secret_file} holds {len(secret)} bytes; allowed: {allowed}")
    return secret


def signature(secret: bytes, body: bytes, now: float) -> str:
    """What stands in the header; `now` in unix seconds."""
    seconds = str(int(now))
    mac = hmac.new(secret, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={mac}"


class Notifier:
    """Posts what happens, in the background."""

    def __init__(
        self,
        config: Notify,
        crawl: str,
        now: Callable[[], float],
        lost: Callable[[str], None],
        *,
        send: Post | None = None,
        waits_s: tuple[float, ...] = WAITS_S,
    ) -> None:
        """`crawl` names it; `lost` counts messages that were given up. Without a URL nothing is sent. `send` posts: the
        status, 0 when none came.
        """
        from gossamer.adapters.webhook import post  # only a node needs it

        self._url = config.url
        self._secret = read_secret(config) if config.url else b""
        self._crawl = crawl
        self._now = now
        self._lost = lost
        self._send = send or post
        self._waits_s = waits_s
        self._state = ""
        self._under_way: set[asyncio.Task[None]] = set()
        self._lanes: dict[str, asyncio.Task[None]] = {}  # the last message of each lane that is on its way
        self._states = Allowance(STATES_BURST, STATES_EVERY_S)
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="notify")

    @property
    def wanted(self) -> bool:
        """Whether anybody is to be told."""
        return bool(self._url)

    def tell(self, event: str, lane: str = "", **data: object) -> None:
        """Send a message; at once, if the receiver answers. One of a lane goes out when the one before it has arrived,
        or was given up.
        """
        if not self._url:
            return
        if len(self._under_way) >= NOTIFICATIONS_MAX:
            self._lost("notify-full")
            return
        made = Notification(id=secrets.token_hex(8), time=self._now(), crawl=self._crawl, event=event, data=data)
        work = self._deliver(encode(made), made.id, self._lanes.get(lane) if lane else None)
        task = asyncio.get_running_loop().create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        if lane:
            self._lanes[lane] = task
            task.add_done_callback(lambda done: self._leave(lane, done))

    def _leave(self, lane: str, done: asyncio.Task[None]) -> None:
        if self._lanes.get(lane) is done:
            del self._lanes[lane]

    def state(self, state: str, why: str, *, last: bool = False) -> None:
        """The crawl is in this state now; to be called often. Each is said once. When states change too often, those
        between are left out, never the `last`.
        """
        now = f"{state}: {why}" if why else state
        if now != self._state and (last or self._states.take(self._now())):
            before, self._state = self._state, now
            self.tell("state", state=state, why=why, before=before)

    async def _deliver(self, body: bytes, name: str, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        loop = asyncio.get_running_loop()
        for wait_s in (*self._waits_s, None):
            headers = {
                "Content-Type": "application/json",
                "User-Agent": f"Gossamer/{VERSION}",
                "X-Gossamer-Delivery": name,
                SIGNATURE: signature(self._secret, body, self._now()),
            }
            status = await loop.run_in_executor(self._threads, self._send, self._url, body, headers)
            if 200 <= status <= 299:
                return
            if wait_s is None:
                self._lost("notify-lost")
                return
            await asyncio.sleep(wait_s)

    async def close(self) -> None:
        """Give what is under way a last moment."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=CLOSE_S)
            for task in late:
                task.cancel()
                self._lost("notify-lost")
        self._threads.shutdown(wait=False, cancel_futures=True)
