"""A running crawl, as those see it who operate it."""

from __future__ import annotations

from typing import Protocol

from gossamer.model.control import AnyAnswer, AnyCommand


class Control(Protocol):
    """Takes commands one at a time. `surface.controlling.Crawl` reaches the crawl of a directory in this way."""

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        """Do what is asked, and say what came of it.

        What was answered is durable. A command that cannot be done is answered by `Refused`; nothing is raised for
        what a command says, or for a crawl that does not run or ends meanwhile ("not-running").
        """
        ...
