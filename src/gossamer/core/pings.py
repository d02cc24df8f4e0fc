"""Pings: pages that somebody says have changed are due at once, when their host shows the key that was named.

The key is asked for as every request outside the queues is: robots.txt is held to, the gap is waited for. Until it is
there the ping is kept in the store. What was verified holds for a day, what was refuted for an hour, so that a host is
asked seldom, whoever pings.
"""

from __future__ import annotations

from typing import Final

import msgspec

from gossamer.core.admission import Candidate
from gossamer.core.calendar import bring_forward
from gossamer.core.changes import Changes, encode
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.harvest import pure_refusal
from gossamer.core.turn import Errand
from gossamer.model.limits import PING_HOSTS_MAX, PING_URLS_MAX, PINGS_PER_HOST_DAY_MAX
from gossamer.model.page import Kind
from gossamer.model.ping import Ping
from gossamer.model.record import Cf, HostRow, PingRecord
from gossamer.model.url import Url, parse
from gossamer.policy.priority import FEED_LEVEL
from gossamer.ports.store import Store

PREFIX: Final = b"ping\x00"
VIA: Final = "ping"
VERIFIED_S: Final = 86_400.0  # how long a key that was found is believed
REFUTED_S: Final = 3_600.0  # how long a host is not asked again after one was not found
WAIT_MAX_S: Final = 86_400.0  # a host that cannot be asked within this has its pings refused
WINDOW_S: Final = 86_400.0
OK: Final = 200
LOOKED_AT_MAX: Final = 100

# what becomes of a URL that is pinged; the names under which it is counted
FOLLOWED: Final = "ping-followed"
INVALID: Final = "ping-url-invalid"
OUTSIDE: Final = "ping-outside-scope"
TAKEN_DOWN: Final = "ping-taken-down"
UNKNOWN: Final = "ping-host-unknown"
RATE: Final = "ping-rate"
NO_KEY: Final = "ping-key-not-found"
UNREACHABLE: Final = "ping-host-unreachable"
BUSY: Final = "ping-busy"


class Wish(msgspec.Struct, array_like=True, kw_only=True):
    """URLs of one host that wait for its key."""

    key: str
    scheme: str
    since: float
    urls: tuple[tuple[str, str], ...]  # (wire form, URL key)


_decode: Final = msgspec.msgpack.Decoder(Wish).decode


def receive(context: Context, ping: Ping, now: float) -> dict[str, str]:
    """Take a ping. Returns the URLs that are refused at once, each with the reason it is counted under.

    The others are brought forward now, or when the key is found. One commit for each host.
    """
    refused: dict[str, str] = {}
    by_host: dict[str, list[Url]] = {}
    for text in ping.urls[:PING_URLS_MAX]:
        url = parse(text)
        if not isinstance(url, Url):
            refused[text] = INVALID
        elif context.takedowns.refusal(url.wire):
            refused[text] = TAKEN_DOWN
        elif pure_refusal(context, url, 1, None, now) is not None:
            refused[text] = OUTSIDE
        else:
            by_host.setdefault(url.host, []).append(url)
    for name, urls in by_host.items():
        changes = Changes(context.store)
        host = context.ledger.find(name)
        if host is None:
            refused |= {url.wire: UNKNOWN for url in urls}
            continue
        taken, why = _take(context, changes, host, ping.key, urls, now)
        refused |= {url.wire: why for url in urls[taken:]}
        if host.pings is not None and taken < len(urls):
            bump(host.pings.refused, why, len(urls) - taken)
        context.ledger.put(changes, host)
        context.apply(changes)
    for why in refused.values():
        bump(context.counters.totals.hints, why)
    return refused


def _take(context: Context, changes: Changes, host: HostRow, key: str, urls: list[Url], now: float) -> tuple[int, str]:
    """Take what may be taken of the URLs of a host: how many, and why not the rest."""
    record = host.pings = host.pings or PingRecord()
    if not 0 <= now - record.window_start < WINDOW_S:
        record.window_start, record.urls = now, 0
    room = max(0, PINGS_PER_HOST_DAY_MAX - record.urls)
    pairs = tuple((url.wire, url.key) for url in urls[:room])
    if not pairs:
        return 0, RATE
    if record.key == key and 0 <= now - record.verified < VERIFIED_S:
        _follow(context, changes, host, pairs, now)
    elif 0 <= now - record.refuted < REFUTED_S:
        return 0, NO_KEY
    else:
        slot = PREFIX + host.host.encode()
        raw = changes.get(Cf.META, slot)
        if (
            raw is None
            and len(context.store.scan(Cf.META, PREFIX, PREFIX[:-1] + b"\x01", PING_HOSTS_MAX)) >= PING_HOSTS_MAX
        ):
            return 0, BUSY
        wish = _decode(raw) if raw is not None else Wish(key=key, scheme=_scheme(urls[0]), since=now, urls=())
        if wish.key != key or len(wish.urls) + len(pairs) > PING_URLS_MAX:
            return 0, BUSY
        wish.urls += pairs
        changes.put(Cf.META, slot, encode(wish))
    record.urls += len(pairs)
    return len(pairs), RATE


def waiting_for(store: Store, host: str) -> Wish | None:
    """What is pinged of a host and waits for its key; None when nothing does."""
    raw = store.get(Cf.META, PREFIX + host.encode())
    return None if raw is None else _decode(raw)


def _scheme(url: Url) -> str:
    return url.wire.partition(":")[0]


def _follow(context: Context, changes: Changes, host: HostRow, urls: tuple[tuple[str, str], ...], now: float) -> None:
    """Known pages are due as soon as they may be visited again, others are let in. The caller puts the ledger."""
    fresh = []
    for wire, key in urls:
        row = changes.url(key)
        if row is None:
            fresh.append(
                Candidate(url=wire, key=key, host=host.host, site=host.site, level=FEED_LEVEL, depth=1, via=VIA)
            )
        elif bring_forward(context, changes, key, row, now):
            row.called = (now, VIA)
            changes.put_url(key, row)
    bump(context.counters.totals.hints, FOLLOWED, len(urls))
    context.admission.admit(changes, fresh, now)


def look(context: Context, now: float) -> None:
    """Ask for the keys that pings wait for, as far as their hosts may be asked. To be called now and then."""
    for slot, raw in context.store.scan(Cf.META, PREFIX, PREFIX[:-1] + b"\x01", LOOKED_AT_MAX):
        name, wish = slot[len(PREFIX) :].decode(), _decode(raw)
        host = context.ledger.find(name)
        if host is None or name in context.key_asked:
            continue
        url = parse(f"{wish.scheme}://{name}/{wish.key}.txt")
        if not isinstance(url, Url) or not 0 <= now - wish.since < WAIT_MAX_S:
            changes = Changes(context.store)
            _refuse(context, changes, host, wish, UNREACHABLE)
            context.apply(changes)
            continue
        errand = Errand(kind=Kind.KEY, url=url.wire, key=url.key, for_host=name, scheme=wish.scheme)
        if context.frontier.run_errand(host, errand, now, context.errand_wait_max_s):
            context.key_asked.add(name)


def ended(context: Context, changes: Changes, host: HostRow, status: int, body: bytes, now: float) -> None:
    """A host has answered for its key, or robots.txt forbids to ask. The caller puts the ledger."""
    context.key_asked.discard(host.host)
    raw = changes.get(Cf.META, PREFIX + host.host.encode())
    if raw is None:
        return
    wish = _decode(raw)
    record = host.pings = host.pings or PingRecord()
    if status == OK and body.strip() == wish.key.encode():
        record.key, record.verified = wish.key, now
        changes.delete(Cf.META, PREFIX + host.host.encode())
        _follow(context, changes, host, wish.urls, now)
    else:
        record.refuted = now
        _refuse(context, changes, host, wish, NO_KEY)


def dropped(context: Context, host: str) -> None:
    """The request for a key was given up or brought nothing: it is made again later."""
    context.key_asked.discard(host)


def _refuse(context: Context, changes: Changes, host: HostRow, wish: Wish, why: str) -> None:
    changes.delete(Cf.META, PREFIX + host.host.encode())
    record = host.pings = host.pings or PingRecord()
    bump(record.refused, why, len(wish.urls))
    bump(context.counters.totals.hints, why, len(wish.urls))
    context.ledger.put(changes, host)
