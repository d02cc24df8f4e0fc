"""Name resolution over c-ares: addresses of a name, cached, one query in flight for each name, every query bounded.

A name that does not resolve is the host's affair; a resolver that does not answer is ours, and the two must not be
confused: when a query times out, is refused or fails, the root is asked, past all caches of our own. A nameserver that
answers that is alive, so the fault lies with the name, as far as one can tell: a nameserver nearby may know the root
from before while the network behind it is gone, which `core.connectivity` sees.
c-ares keeps a cache of its own, for the TTL and at most an hour; the one here holds clamped times.
Reading hosts files is in `adapters.hosts`; whether an address may be fetched is `policy.guard`.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import OrderedDict
from typing import Final

import aiodns
import msgspec
import pycares
from aiodns import error as ares

from gossamer.adapters.hosts import read_hosts
from gossamer.model.config import Dns
from gossamer.model.errors import ConfigError
from gossamer.model.limits import (
    DNS_ADDRESSES_MAX,
    DNS_CACHE_MAX,
    DNS_DOUBTFUL_S,
    DNS_IN_FLIGHT_MAX,
    DNS_PROBE_S,
    DNS_TRIES,
)
from gossamer.model.page import Resolution
from gossamer.ports.clock import Clock

_NAME_MAX_CHARS: Final = 253  # RFC 1035 section 2.3.4, without the root's dot
_LABEL_MAX_CHARS: Final = 63
_WORDS: Final = {
    ares.ARES_ENOTFOUND: "nxdomain",
    ares.ARES_ENODATA: "no address",
    ares.ARES_ESERVFAIL: "servfail",
    ares.ARES_ETIMEOUT: "timeout",
    ares.ARES_EREFUSED: "refused",
    ares.ARES_ECONNREFUSED: "nameserver unreachable",
    ares.ARES_EBADNAME: "not a host name",
    ares.ARES_EBADRESP: "malformed answer",
    ares.ARES_EFORMERR: "format error",
    ares.ARES_ENOTINITIALIZED: "resolver cannot start",
}
_OURS: Final = frozenset({ares.ARES_ECONNREFUSED, ares.ARES_ENOMEM, ares.ARES_EFILE, ares.ARES_ENOTINITIALIZED})
_DOUBTFUL: Final = frozenset({ares.ARES_ETIMEOUT, ares.ARES_EREFUSED, ares.ARES_ESERVFAIL})


class _Answer:
    """What one query brought: addresses and the least TTL of the chain, or the code of an error."""

    __slots__ = ("addresses", "code", "ttl_s")

    def __init__(self, addresses: tuple[str, ...], ttl_s: float, code: int) -> None:
        self.addresses = addresses
        self.ttl_s = ttl_s
        self.code = code


class DnsResolver:
    """Resolves names; implements `ports.web.Resolver`.

    Args: `config` the table [dns]; `clock` gives unix seconds. A hosts file wins over DNS, IP literals resolve to
    themselves, `localhost` to the loopback address (RFC 6761). AAAA is asked only when there is no A.
    Raises ConfigError for a bad nameserver or hosts file. Use it within one running event loop.
    """

    def __init__(self, config: Dns, clock: Clock) -> None:
        self._config = config
        self._clock = clock
        self._servers = [server_address(text) for text in config.nameservers]
        self._hosts = read_hosts(config.hosts_file) if config.hosts_file else {}
        self._channel: aiodns.DNSResolver | None = None
        self._cache: OrderedDict[str, Resolution] = OrderedDict()
        self._in_flight: dict[str, asyncio.Task[Resolution]] = {}
        self._room = asyncio.Semaphore(DNS_IN_FLIGHT_MAX)
        self._probe: asyncio.Task[bool] | None = None
        self._closed = False

    async def resolve(self, name: str) -> Resolution:
        """Addresses of a name, from the cache while it is fresh. Never raises for what a name or a nameserver is."""
        now = self._clock.now()
        key = name.lower().removesuffix(".")
        known = self._cache.get(key)
        if known is not None:
            if known.expires > now:
                self._cache.move_to_end(key)
                return known
            del self._cache[key]
        fixed = self._fixed(key)
        if fixed:
            return Resolution(name=key, addresses=fixed, expires=now + self._config.ttl_max_s)
        if not _is_name(key):
            return Resolution(name=key, error="not a host name", expires=now + self._config.ttl_max_s)
        if self._closed:
            return _given_up(key, now)
        task = self._in_flight.get(key)
        if task is None:
            task = self._in_flight[key] = asyncio.create_task(self._look_up(key))
            task.add_done_callback(lambda _: self._in_flight.pop(key, None))
        await asyncio.wait({task})  # one waiter that gives up does not end the query of the others
        return _given_up(key, now) if task.cancelled() else task.result()

    async def close(self) -> None:
        """Give up queries in flight: they, and those that come later, end with `ours`."""
        self._closed = True
        tasks = [*self._in_flight.values(), *([self._probe] if self._probe else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._channel is not None:
            await self._channel.close()
            self._channel = None

    def _fixed(self, key: str) -> tuple[str, ...]:
        """Addresses that need no query, or none."""
        found = self._hosts.get(key)
        if found:
            return found
        if key == "localhost" or key.endswith(".localhost"):
            return ("127.0.0.1",)
        if key[-1:].isdigit() or ":" in key:
            try:
                return (str(ipaddress.ip_address(key.strip("[]"))),)
            except ValueError:
                return ()
        return ()

    async def _look_up(self, key: str) -> Resolution:
        """Ask for A, then AAAA, and remember what was said."""
        async with self._room:
            answer = await self._query(key, "A")
            if answer.code == ares.ARES_ENODATA or (not answer.code and not answer.addresses):
                answer = await self._query(key, "AAAA")
            ours = answer.code in _OURS or (answer.code in _DOUBTFUL and not await self._alive())
        now = self._clock.now()
        config = self._config
        if answer.addresses:
            ttl_s = min(max(answer.ttl_s, config.ttl_min_s), config.ttl_max_s)
            found = Resolution(name=key, addresses=answer.addresses, expires=now + ttl_s)
        else:
            code = answer.code or ares.ARES_ENODATA
            word = _WORDS.get(code) or str(pycares.errno.strerror(code)).lower()
            kept_s = min(config.negative_ttl_s, DNS_DOUBTFUL_S) if code in _DOUBTFUL else config.negative_ttl_s
            found = Resolution(name=key, error=word, ours=ours, expires=now + (0 if ours else kept_s))
        if not ours:  # what is our own fault is asked again at once
            self._cache[key] = found
            if len(self._cache) > DNS_CACHE_MAX:
                self._cache.popitem(last=False)
        return msgspec.structs.replace(found, asked=bool(answer.addresses))

    async def _query(self, key: str, kind: str) -> _Answer:
        try:
            channel = self._open()
        except pycares.AresError:  # not of this name: c-ares itself cannot begin
            return _Answer((), 0.0, ares.ARES_ENOTINITIALIZED)
        try:
            async with asyncio.timeout(self._config.timeout_s):
                result = await channel.query_dns(key, kind)
        except TimeoutError:
            return _Answer((), 0.0, ares.ARES_ETIMEOUT)
        except ares.DNSError as error:
            return _Answer((), 0.0, int(error.args[0]))
        except ValueError:  # UnicodeError is one
            return _Answer((), 0.0, ares.ARES_EBADNAME)
        addresses: dict[str, None] = {}
        ttl_s = float("inf")
        for record in result.answer:
            ttl_s = min(ttl_s, record.ttl)
            if isinstance(record.data, (pycares.ARecordData, pycares.AAAARecordData)):
                addresses[record.data.addr] = None
        return _Answer(tuple(addresses)[:DNS_ADDRESSES_MAX], ttl_s, 0)

    async def _alive(self) -> bool:
        """Whether the nameservers answer at all. One probe serves all who ask at the time."""
        if self._probe is None:
            self._probe = asyncio.create_task(self._ask_root())
            self._probe.add_done_callback(self._forget_probe)
        return await asyncio.shield(self._probe)

    def _forget_probe(self, _: asyncio.Task[bool]) -> None:
        self._probe = None

    async def _ask_root(self) -> bool:
        try:  # on a channel of its own: what the other has asked before, c-ares would answer from its cache
            channel = self._new_channel()
        except pycares.AresError:
            return False
        try:
            async with asyncio.timeout(min(DNS_PROBE_S, self._config.timeout_s)):
                await channel.query_dns(".", "NS")
        except TimeoutError:
            return False
        except ares.DNSError as error:
            return error.args[0] not in (_OURS | _DOUBTFUL)
        finally:
            await channel.close()
        return True

    def _open(self) -> aiodns.DNSResolver:
        if self._channel is None:
            self._channel = self._new_channel()
        return self._channel

    def _new_channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(
            nameservers=self._servers or None,
            loop=asyncio.get_running_loop(),
            timeout=self._config.timeout_s / (2**DNS_TRIES - 1),  # c-ares doubles it from try to try
            tries=DNS_TRIES,
        )


def _given_up(key: str, now: float) -> Resolution:
    return Resolution(name=key, error="the resolver is closed", ours=True, expires=now)


def _is_name(key: str) -> bool:
    """Whether text can be asked for at all: labels of 1 to 63 characters. Which characters is not ours to judge."""
    if not key.isascii() or not 0 < len(key) <= _NAME_MAX_CHARS or "\0" in key or "\\" in key:
        return False
    return all(0 < len(label) <= _LABEL_MAX_CHARS for label in key.split("."))


def server_address(text: str) -> str:
    """A nameserver as c-ares reads it, from "ip", "ip:port", "[ipv6]:port" or "ipv6". Raises ConfigError."""
    address, port = text, "53"
    if text.startswith("["):
        address, _, port = text[1:].partition("]")
        port = port.removeprefix(":") or "53"
    elif text.count(":") == 1:
        address, _, port = text.partition(":")
    try:
        ip = ipaddress.ip_address(address)
        number = int(port) if port.isascii() and port.isdigit() and len(port) <= 5 else 0
    except ValueError:
        number, ip = 0, None
    if ip is None or not 0 < number < 65536:
        raise ConfigError(f"dns.nameservers: {text!r}: allowed are an IP address, with :port if it is not 53")
    return f"[{ip}]:{number}" if ip.version == 6 else f"{ip}:{number}"
