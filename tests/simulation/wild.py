"""A small web with everything in it that has gone wrong for somebody; used by several tests."""

from __future__ import annotations

import random

import msgspec

from gossamer.model.page import Failure
from gossamer.sim.make import address
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect, refused, robots

PAGES = 8


def wild_web(seed: int = 1, hosts: int = 12) -> SimWeb:
    """Hosts with links among each other; some share addresses, fail, redirect, forbid, or answer late.

    Every answer depends on the target alone, so that a restart sees the same web.
    """
    names = [f"w{number}.example" for number in range(hosts)]

    def page(host: int, target: str) -> Answer:
        chance = random.Random(f"{seed}|{host}|{target}")
        if target.startswith("/gossamer-"):
            return Answer(status=404)
        kind = chance.random()
        seconds = chance.choice((0.05, 0.2, 1.5))
        links = tuple(
            f"{chance.choice(('http', 'http', 'https'))}://{chance.choice(names)}/p{chance.randrange(PAGES)}"
            for _ in range(6)
        )
        if target == "/":
            return Answer(links=(*links, f"http://{names[(host + 1) % hosts]}/"), seconds=seconds)
        if kind < 0.1:
            return redirect(chance.choice(links))
        if kind < 0.15:
            return redirect(target)
        if kind < 0.2:
            return Answer(status=404, seconds=seconds)
        if kind < 0.25:
            return Answer(status=503, headers=(("retry-after", "7"),), seconds=seconds)
        if kind < 0.3:
            return refused(Failure.TIMEOUT, 5.0)
        if kind < 0.4:
            return Answer(body=b"the same everywhere", links=links, seconds=seconds)
        if kind < 0.45:
            return Answer(lost=True)
        return Answer(links=links, seconds=seconds, content_hash=chance.randrange(1, 2**63))

    def rules(host: int) -> Answer:
        if host % 6 == 1:
            return robots("User-agent: *\nDisallow: /p1\nCrawl-delay: 3\n")
        if host % 6 == 2:
            return redirect(f"http://{names[(host + 1) % hosts]}/robots.txt", 301)
        if host % 6 == 3:
            return robots("User-agent: *\nDisallow: /p2\nSitemap: /map.xml\nSitemap: /robots.txt\n")
        if host % 6 == 4:
            if host == 16:
                return msgspec.structs.replace(robots("User-agent: *\n"), breaks_off=True)
            return Answer(status=503, body=b"") if host == 4 else Answer(status=404, body=b"")
        return Answer(status=404, body=b"")

    return SimWeb(
        {
            name: SimHost(
                address=address(number // 2),
                robots=rules(number),
                page=lambda target, number=number: page(number, target),  # type: ignore[misc]
            )
            for number, name in enumerate(names)
        }
    )
