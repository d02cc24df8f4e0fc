"""What anybody may read: which addresses the crawler has, and a page that tells site owners what it is."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from gossamer.model.config import Config
from gossamer.serve.crawls import Crawls
from gossamer.serve.endpoint import Call, Endpoint, NoQuery, Reply
from gossamer.stage.fetch import user_agent
from gossamer.surface.identifying import WELL_KNOWN
from gossamer.surface.identity import Published, published
from gossamer.surface.units import show_duration

ABOUT: Final = "/bot"
KEPT: Final = (("Cache-Control", "public, max-age=3600"),)


async def configs(crawls: Crawls) -> list[Config]:
    """The configurations of all crawls, one for each identity. Raises ApiError."""
    found = [await asyncio.to_thread(served.config) for served in crawls.all.values()]
    return list({config.identity: config for config in reversed(found)}.values())[::-1]


async def ranges(call: Call) -> Reply:
    """Which addresses the crawler has."""
    return Reply(value=published(await configs(call.crawls), ABOUT), headers=KEPT)


async def about(crawls: Crawls) -> dict[str, Any]:
    """What the page for site owners shows. Raises ApiError."""
    return {
        "title": "About this crawler",
        "crawlers": await configs(crawls),
        "agent": user_agent,
        "spell": _spelled,
        "contact": lambda one: one.identity.contact.removeprefix("mailto:"),
    }


def _spelled(seconds: float) -> str:
    """A configured time for people: "24 h", not "24 h 00 m"."""
    return show_duration(seconds).removesuffix(" 00 m").removesuffix(" 00 s")


ENDPOINTS: Final = (
    Endpoint(
        method="GET",
        path=WELL_KNOWN,
        summary="Which addresses and user agents the crawler has.",
        role=None,
        query=NoQuery,
        answers={200: Published},
        handler=ranges,
        group="public",
    ),
)
