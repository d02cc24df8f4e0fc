"""The web: one exchange at a time per connection."""

from __future__ import annotations

from typing import Protocol

from gossamer.model.page import Outcome, Request, Resolution


class Web(Protocol):
    """Performs single HTTP exchanges. Never raises for what a server does."""

    async def fetch(self, request: Request) -> Outcome:
        """Send one GET and return what came back within the request's deadlines and caps.

        Redirects are not followed. When it is cancelled its connection is closed.
        """
        ...

    def forget(self, name: str) -> None:
        """Close idle connections of a host name that has no more turns soon; there may be none."""
        ...

    async def close(self) -> None:
        """Close every connection. Fetches under way, and those that come later, end with `Failure.OURS`.

        Closing again does nothing.
        """
        ...


class Resolver(Protocol):
    """Resolves names. Never raises for what a nameserver does."""

    async def resolve(self, name: str) -> Resolution:
        """Addresses of a name (an IP literal resolves to itself), from the cache when it is fresh.

        A name in any case, with or without a last dot, is one name. `expires` tells until when the answer, or that
        there is none, is kept; what is our own fault (`ours`) is not kept. Addresses that a nameserver has just given
        are marked so (`asked`).
        """
        ...

    async def close(self) -> None:
        """Give up queries in flight: they, and those that come later, end with `ours`. Closing again does nothing."""
        ...
