"""A nameserver on the loopback address: answers A, AAAA, NS and PTR over UDP from a table that a test writes."""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

NOERROR, FORMERR, SERVFAIL, NXDOMAIN, REFUSED = 0, 1, 2, 3, 5
SILENT = -1
_TYPES = {1: "A", 2: "NS", 5: "CNAME", 12: "PTR", 28: "AAAA"}
Records = list[tuple[str, int, str]]  # (address, or name of a CNAME's target; TTL in seconds; type)


class NameServer(asyncio.DatagramProtocol):
    """`table`: name -> records of any type, or a response code. Names that are missing get `default`."""

    def __init__(self, table: dict[str, Records | int]) -> None:
        self.table = table
        self.default: int = NXDOMAIN
        self.root: int = NOERROR
        self.asked: Counter[tuple[str, str]] = Counter()
        self.delay_s = 0.0
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.DatagramTransport) or hasattr(transport, "sendto")
        self._transport = transport  # type: ignore[assignment] # uvloop's is not a subclass

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, end = _read_name(data, 12)
        kind = _TYPES.get(int.from_bytes(data[end : end + 2], "big"), "?")
        self.asked[name, kind] += 1
        found = self.table.get(name, self.root if name == "" else self.default)
        code = found if isinstance(found, int) else NOERROR
        if code == SILENT:
            return
        answers = [] if isinstance(found, int) else _chain(self.table, name, found, kind)
        header = data[:2] + (0x8180 | code).to_bytes(2, "big") + b"\0\1" + len(answers).to_bytes(2, "big") + b"\0" * 4
        reply = header + data[12 : end + 4] + b"".join(_record(*answer) for answer in answers)
        assert self._transport is not None
        if self.delay_s:
            asyncio.get_running_loop().call_later(self.delay_s, self._transport.sendto, reply, addr)
        else:
            self._transport.sendto(reply, addr)


def _chain(table: dict[str, Records | int], name: str, records: Records, kind: str) -> list[tuple[str, str, int, str]]:
    """Records of a name in the answer, CNAMEs followed."""
    out: list[tuple[str, str, int, str]] = []
    for data, ttl_s, has in records:
        if has == "CNAME":
            out.append((name, data, ttl_s, has))
            following = table.get(data, [])
            if not isinstance(following, int):
                out.extend(_chain(table, data, following, kind))
        elif has == kind:
            out.append((name, data, ttl_s, has))
    return out


def _record(name: str, data: str, ttl_s: int, kind: str) -> bytes:
    code = {word: number for number, word in _TYPES.items()}[kind]
    body = _write_name(data) if kind in ("CNAME", "NS", "PTR") else ipaddress.ip_address(data).packed
    head = _write_name(name) + code.to_bytes(2, "big") + b"\0\1" + ttl_s.to_bytes(4, "big")
    return head + len(body).to_bytes(2, "big") + body


def _read_name(data: bytes, position: int) -> tuple[str, int]:
    labels = []
    while data[position]:
        length = data[position]
        labels.append(data[position + 1 : position + 1 + length].decode("latin-1").lower())
        position += 1 + length
    return ".".join(labels), position + 1


def _write_name(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".") if label) + b"\0"


@asynccontextmanager
async def name_server(table: dict[str, Records | int]) -> AsyncIterator[tuple[NameServer, str]]:
    """A running nameserver and its "ip:port"."""
    loop = asyncio.get_running_loop()
    transport, server = await loop.create_datagram_endpoint(lambda: NameServer(table), local_addr=("127.0.0.1", 0))
    try:
        yield server, f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"
    finally:
        transport.close()
