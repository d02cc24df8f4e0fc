"""Names of addresses and addresses of names, asked of DNS as somebody does who wants to know who a crawler is."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Final

import aiodns
import pycares

from gossamer.adapters.dns import server_address
from gossamer.model.config import Dns

NAMES_MAX: Final = 16  # of one address


class ReverseDns:
    """Asks nameservers. Hosts files play no part: others do not have ours. Use it within one running event loop."""

    def __init__(self, config: Dns) -> None:
        """`config` says which nameservers are asked, and for how long. Raises ConfigError."""
        self._timeout_s = config.timeout_s
        servers = [server_address(text) for text in config.nameservers]
        self._channel = aiodns.DNSResolver(
            nameservers=servers or None, loop=asyncio.get_running_loop(), timeout=config.timeout_s, tries=2
        )

    async def names(self, address: str) -> tuple[str, ...]:
        """Names that an address points to (PTR), without a last dot; none when there is none, or no answer."""
        answers = await self._ask(ipaddress.ip_address(address).reverse_pointer, "PTR")
        pointers = [data.dname for data in answers if isinstance(data, pycares.PTRRecordData)]
        return tuple(name.lower().removesuffix(".") for name in pointers[:NAMES_MAX])

    async def addresses(self, name: str, version: int) -> tuple[str, ...]:
        """Addresses of a name, of IP version 4 or 6; none when there is none, or no answer."""
        answers = await self._ask(name, "A" if version == 4 else "AAAA")
        found = [data.addr for data in answers if isinstance(data, pycares.ARecordData | pycares.AAAARecordData)]
        return tuple(str(ipaddress.ip_address(text)) for text in found)

    async def _ask(self, name: str, kind: str) -> list[object]:
        try:
            async with asyncio.timeout(2 * self._timeout_s):
                result = await self._channel.query_dns(name, kind)
        except (TimeoutError, aiodns.error.DNSError, ValueError):
            return []
        return [record.data for record in result.answer]

    async def close(self) -> None:
        """Give up what is asked."""
        await self._channel.close()
