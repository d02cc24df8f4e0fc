"""Gossamer: a web crawler that is light on every host it touches.

import gossamer

async with gossamer.Crawl(gossamer.Config(seeds=("https://example.com/",))) as crawl:
async for page in crawl:
print(page.status, page.url)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gossamer.version import VERSION as __version__  # noqa: N811 - the name that packages have for it

if TYPE_CHECKING:
    from gossamer.api import Crawl, Page
    from gossamer.model.config import Config

__all__ = ["Config", "Crawl", "Page", "__version__"]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever the name stands for
    """Load the engine only when it is asked for: `gossamer --help` needs none of it."""
    if name in {"Crawl", "Page"}:
        from gossamer import api  # noqa: PLC0415 - see above

        return getattr(api, name)
    if name == "Config":
        from gossamer.model.config import Config  # noqa: PLC0415 - see above

        return Config
    msg = f"module 'gossamer' has no attribute {name!r}"
    raise AttributeError(msg)
