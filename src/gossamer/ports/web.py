"""The web: one exchange at a time per connection."""

from __future__ import annotations

from typing import Protocol

from gossamer.model.page import Outcome, Request, Resolution


class Web(Protocol):
    """Performs single HTTP exchanges. Never raises for what a server does."""

    async def fetch(self, request: Request) -> Outcome:
        """Send one GET and return what came back within the request's deadlines."""
        ...

    def forget(self, name: str) -> None:
        """Close idle connections of a host name that has no more turns soon."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class Resolver(Protocol):
    """Resolves names. Never raises for what a nameserver does."""

    async def resolve(self, name: str) -> Resolution:
        """Addresses of a name (an IP literal resolves to itself), from the cache when it is fresh."""
        ...

    async def close(self) -> None:
        """Give up queries in flight."""
        ...
