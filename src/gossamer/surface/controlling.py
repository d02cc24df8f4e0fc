"""Reaching the crawl of a directory from another process, whether it runs or not."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Final

from gossamer.adapters.control import ControlClient
from gossamer.model.control import (
    AnyAnswer,
    AnyCommand,
    LiftTakedown,
    ListTakedowns,
    Refused,
    TakeDown,
    Takedowns,
)
from gossamer.surface.takedownlist import AnyTakedownCommand, TakedownList

CONFIRM_EVERY_S: Final = 0.05


class Crawl:
    """The crawl in a directory. Fulfils `ports.control.Control`.

    What has been taken down must not wait for a process: takedowns are written to the exclusion list from here, and a
    crawl that runs is told to look. All else is for the running crawl to answer.
    """

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's; nothing is opened."""
        self._list = TakedownList(directory)
        self._socket = ControlClient(directory)

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        """Do what is asked. Nothing is raised."""
        if isinstance(command, TakeDown | LiftTakedown | ListTakedowns):
            return await self._about_takedowns(command)
        return await self._socket.ask(command)

    async def confirmed(self, id_: str, within_s: float) -> AnyAnswer:
        """A takedown when all its steps are done, or as it is when the time is over or no crawl runs."""
        until = time.monotonic() + within_s
        while True:
            answer = await self.ask(ListTakedowns(id=id_))
            done = not isinstance(answer, Takedowns) or not answer.running or answer.takedowns[0].confirmed
            if done or time.monotonic() >= until:
                return answer
            await asyncio.sleep(CONFIRM_EVERY_S)

    async def _about_takedowns(self, command: AnyTakedownCommand) -> AnyAnswer:
        recorded: AnyAnswer | None = None
        if not isinstance(command, ListTakedowns):
            recorded = await asyncio.to_thread(self._list.do, command, time.time(), running=False)
            if not isinstance(recorded, Takedowns):
                return recorded
            command = ListTakedowns(id=recorded.takedowns[0].id)
        said = await self._socket.ask(command)
        if isinstance(said, Refused) and said.code in ("not-running", "failed"):
            if recorded is not None:
                return recorded
            return await asyncio.to_thread(self._list.do, command, time.time(), running=False)
        return said
