"""What anybody may read: which addresses and keys the crawler has, and a page that tells site owners what it is."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from gossamer.adapters.signing import MEDIA_TYPE, KeyDirectory, Signer
from gossamer.model.config import Config
from gossamer.model.errors import ConfigError
from gossamer.model.jsonbytes import encode
from gossamer.serve.crawls import Crawls
from gossamer.serve.endpoint import Call, Endpoint, NoQuery, Reply
from gossamer.serve.faults import ApiError
from gossamer.stage.fetch import user_agent
from gossamer.surface.identifying import WELL_KNOWN
from gossamer.surface.identity import Published, published
from gossamer.surface.signing import DIRECTORY_PATH, agent_of, signer_of
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


async def keys(call: Call) -> Reply:
    """The public keys that requests are signed with.

    Signed itself where it is asked for at the authority that our requests name. At any other it is not: whoever points
    a name of his at us must not get our word that the keys are his.
    """
    signers = [signer for config in await configs(call.crawls) if (signer := await asyncio.to_thread(_signer, config))]
    found = {key.jwk.kid: key for signer in signers for key in signer.keys}
    if not found:
        raise ApiError(404, "requests of these crawls are not signed", allowed="a crawl with identity.signing_key")
    body = encode(KeyDirectory(keys=tuple(key.jwk for key in found.values())))
    own = [signer for signer in signers if signer.authority == call.authority]
    signed = Signer(tuple(found.values()), own[0].agent).directory(body, time.time()) if own else ()
    return Reply(raw=body, media_type=MEDIA_TYPE, headers=(*KEPT, *signed))


def _signer(config: Config) -> Signer | None:
    try:
        return signer_of(config)
    except ConfigError as error:
        raise ApiError(503, "a signing key cannot be read; gossamer identity check says more") from error


async def about(crawls: Crawls) -> dict[str, Any]:
    """What the page for site owners shows. Raises ApiError."""
    return {
        "title": "About this crawler",
        "crawlers": await configs(crawls),
        "agent": user_agent,
        "spell": _spelled,
        "keys": lambda one: agent_of(one.identity) if one.identity.signing_key else "",
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
    Endpoint(
        method="GET",
        path=DIRECTORY_PATH,
        summary="The keys that requests are signed with, themselves signed (Web Bot Auth).",
        role=None,
        query=NoQuery,
        answers={200: KeyDirectory},
        handler=keys,
        media_type=MEDIA_TYPE,
        group="public",
    ),
)
