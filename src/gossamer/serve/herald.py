"""The herald: tells a crawl's operator what the crawl cannot tell, by the webhook that its configuration names.

That it was killed, that it breaks rules it believes it keeps (`serve.witness`), that nobody can read it. All else a
crawl says for itself (`surface.alarming`). The server forgets what it raised when it ends, so it takes it back then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from gossamer.model.config import Notify
from gossamer.model.errors import ConfigError
from gossamer.serve.crawls import Crawls, Served
from gossamer.serve.faults import ApiError
from gossamer.surface.alarmbook import AlarmBook
from gossamer.surface.alarming import tell
from gossamer.surface.alarms import LOOK_S, VIOLATION_RINGS_S, Alarm
from gossamer.surface.notifying import Notifier

_log: Final = logging.getLogger("gossamer.serve")


class Post:
    """One crawl's operator, and what was told."""

    def __init__(self, config: Notify, crawl: str, lost: Callable[[str], None]) -> None:
        """Raises ConfigError when the secret cannot be read."""
        self.config = config
        self.notifier = Notifier(config, crawl, time.time, lost)
        self.book = AlarmBook()
        self.violations = 0
        self.violated_at = float("-inf")

    async def close(self, why: str) -> None:
        """Take back what is raised."""
        for change in self.book.end(why):
            tell(self.notifier, change)
        await self.notifier.close()


class Herald:
    """Looks at every crawl that is served."""

    def __init__(self, crawls: Crawls) -> None:
        """Of these crawls."""
        self._crawls = crawls
        self._posts: dict[str, Post] = {}
        self._silent: dict[str, str] = {}  # crawl -> why nobody can be told, as it was said in the log

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            for served in self._crawls.all.values():
                try:
                    await self.look(served, time.time())
                except Exception:  # noqa: BLE001 - whatever it is, the server goes on
                    _log.exception("%s: the herald failed; it looks again", served.name)

    async def look(self, served: Served, now: float) -> None:
        """Judge one crawl and tell what has changed; `now` in unix seconds."""
        post = await self._post(served)
        if post is None:
            return
        for change in post.book.judge(await holding(served, post, now), now):
            tell(post.notifier, change)

    async def close(self) -> None:
        """Take back what is raised, and end."""
        for post in self._posts.values():
            await post.close("the server does not run any more")
        self._posts.clear()

    async def _post(self, served: Served) -> Post | None:
        """Who is to be told of a crawl, as it is configured now."""
        name, post = served.name, self._posts.get(served.name)
        try:
            config = served.config().notify
        except ApiError:
            return post
        if post is not None and post.config == config:
            return post
        if post is not None:
            del self._posts[name]
            await post.close("somebody else is told from now on")
        if not config.url:
            return None
        try:
            made = Post(config, name, lambda _name: self._crawls.lost.update((name,)))
        except ConfigError as error:
            if self._silent.get(name) != str(error):
                self._silent[name] = str(error)
                _log.warning("%s: its operator cannot be told: %s", name, error)
            return None
        self._silent.pop(name, None)
        self._posts[name] = made
        return made


async def holding(served: Served, post: Post, now: float) -> dict[str, Alarm]:
    """What would ring now, by name."""
    found: list[Alarm] = []
    seen = served.witness.robots_violations
    if seen > post.violations:
        post.violations, post.violated_at = seen, now
    if now - post.violated_at < VIOLATION_RINGS_S:
        text = "a page was requested against robots.txt"
        advice = "pause the crawl; the doctor's page names the request and the rule"
        found.append(Alarm(name="robots-violated", severity="page", text=text, advice=advice))
    try:
        shot = await served.snapshot()
    except ApiError as error:
        text = f"its state cannot be read: {error}"
        found.append(Alarm(name="unreadable", severity="warn", text=text, advice="gossamer status tells more"))
    else:
        if shot.state == "interrupted":
            text = "the crawl does not run, and did not end in good order"
            advice = "the same command goes on where it stopped; gossamer status tells what is known"
            found.append(Alarm(name="crawl-interrupted", severity="page", text=text, advice=advice))
    return {alarm.name: alarm for alarm in found}
