"""Metrics by OTLP over HTTP: what /metrics shows is posted to a collector, again and again.

One export is under way at a time, whole within a deadline, and nothing is kept for later: figures are cumulative, so
the next export says what a lost one would have said. The server goes on whatever the collector does, and the crawls are
other processes. What becomes of exports is counted (`gossamer_otlp_exports_total`) and said once in the log.
"""

from __future__ import annotations

import asyncio
import gzip
import ipaddress
import logging
import re
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from gossamer.adapters.post import Answer, post
from gossamer.model.errors import UsageError
from gossamer.serve import otlpform
from gossamer.serve.exposition import Exposition
from gossamer.surface.terminal import escape
from gossamer.surface.units import parse_duration
from gossamer.version import VERSION

EVERY_S: Final = 60.0
EVERY_MIN_S: Final = 1.0
EVERY_MAX_S: Final = 3_600.0
TIMEOUT_S: Final = 10.0  # of one export, from the first byte sent to the last one received
RETRY_AFTER_MAX_S: Final = 3_600.0  # a collector that asks for more time gets this much
HEADERS_MAX: Final = 16
HEADERS_MAX_BYTES: Final = 16 * 1024
PATH: Final = "/v1/metrics"  # of a collector that is named without a path
BUSY: Final = frozenset({429, 502, 503, 504})  # "try again" in OTLP; everything else that is not 2xx is a refusal
MEDIA_TYPE: Final = "application/x-protobuf"
TAKEN: Final = "taken"
_OURS: Final = frozenset("host content-length content-type content-encoding connection transfer-encoding".split())
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_WHY_MAX_CHARS: Final = 200
_log: Final = logging.getLogger("gossamer.otlp")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A collector."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()
    every_s: float = EVERY_S


def parse_target(url: str, headers: Path | None, every: str) -> Target:
    """What the options of `gossamer serve` name. Raises UsageError."""
    return Target(url=_url(url), headers=_headers(headers) if headers else (), every_s=_every(every))


def _url(text: str) -> str:
    parts = _split(text)
    if parts is None:
        allowed = 'the http or https URL of an OTLP/HTTP collector, as in "http://127.0.0.1:4318"'
        raise UsageError(f"--otlp {escape(text)} is not allowed; it must be {allowed}")
    if parts.username is not None or parts.password is not None:
        raise UsageError("--otlp: a URL with a password is not allowed; put an Authorization line into --otlp-headers")
    return text if parts.path not in ("", "/") else parts._replace(path=PATH).geturl()


def _split(text: str) -> SplitResult | None:
    """The parts of a URL that something can be posted to; None when it is none."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and parts.port != 0 and not parts.fragment
    except ValueError:
        return None
    return parts if good and _is_plain(text) and _is_host(parts.hostname or "") else None


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _is_host(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return re.fullmatch(r"[0-9A-Za-z_.-]{1,253}", name) is not None
    return True


def _headers(path: Path) -> tuple[tuple[str, str], ...]:
    where = f"--otlp-headers {escape(str(path))}"
    try:
        with path.open("rb") as file:
            data = file.read(HEADERS_MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{where}: cannot be read: {error.strerror}") from error
    found: dict[str, str] = {}
    if len(data) > HEADERS_MAX_BYTES:
        raise UsageError(f"{where}: longer than {HEADERS_MAX_BYTES:,} bytes")
    for number, line in enumerate(data.decode("latin-1").splitlines(), 1):
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        value = value.strip()
        if not colon or not _NAME.fullmatch(name) or not value or not _is_plain(value.replace(" ", "")):
            allowed = 'a header, as in "Authorization: Bearer x"'
            raise UsageError(f"{where}: line {number} is not allowed; it must be {allowed}")
        if name.lower() in _OURS:
            raise UsageError(f"{where}: line {number}: {name} is not allowed; the exporter sets it")
        found[name] = value
    if not 0 < len(found) <= HEADERS_MAX:
        raise UsageError(f"{where}: holds {len(found)} headers; 1 to {HEADERS_MAX} are allowed")
    return tuple(found.items())


def _every(text: str) -> float:
    try:
        seconds = parse_duration(text) if text else EVERY_S
    except ValueError:
        seconds = 0.0
    if not EVERY_MIN_S <= seconds <= EVERY_MAX_S:
        raise UsageError(f'--otlp-every {escape(text)} is not allowed; it must be a time from "1s" to "1h"')
    return seconds


class Exporter:
    """Posts to one collector."""

    def __init__(self, target: Target, gather: Callable[[], Awaitable[Exposition]], exports: Counter[str]) -> None:
        """`gather` measures; `exports` counts what becomes of exports, by outcome."""
        self._target = target
        self._gather = gather
        self._exports = exports
        self._resource = {"service.name": "gossamer", "service.version": VERSION, "host.name": socket.gethostname()}
        self._outcome = TAKEN
        self._missed = 0
        self._wait_s = target.every_s

    async def run(self) -> None:
        """Export until cancelled."""
        while True:
            await asyncio.sleep(self._wait_s)
            await self.export()

    async def export(self) -> None:
        """Export once. Raises nothing."""
        self._wait_s = self._target.every_s
        try:
            outcome, why = await self._send()
        except TimeoutError:
            outcome, why = "late", f"no answer within {TIMEOUT_S:g} s"
        except OSError as error:
            outcome, why = "unreachable", str(error) or type(error).__name__
        except Exception as error:  # noqa: BLE001 - whatever it is, the server goes on
            _log.exception("an export failed; the next one is made in time")
            outcome, why = "failed", type(error).__name__
        self._note(outcome, why)

    async def _send(self) -> tuple[str, str]:
        measured = await self._gather()
        body = await asyncio.to_thread(self._packed, measured, time.time())
        headers = {
            "Content-Type": MEDIA_TYPE,
            "Content-Encoding": "gzip",
            "User-Agent": f"Gossamer/{VERSION}",
            **dict(self._target.headers),
        }
        return self._judged(await post(self._target.url, body, headers, timeout_s=TIMEOUT_S))

    def _packed(self, measured: Exposition, now: float) -> bytes:
        return gzip.compress(otlpform.encode(measured.families, now, self._resource), 1, mtime=0)

    def _judged(self, answer: Answer) -> tuple[str, str]:
        """What became of an export, and why it was not taken."""
        if answer.status in BUSY:
            self._wait_s = max(self._wait_s, _retry_after_s(answer))
            return "busy", f"it answers {answer.status}"
        if not 200 <= answer.status <= 299:
            return "refused", f"it answers {answer.status} {answer.body.decode('utf-8', 'replace')}".strip()
        if answer.headers.get("content-type", "").partition(";")[0].strip() != MEDIA_TYPE:
            return TAKEN, ""  # it says that it took everything, and nothing more
        try:
            points, why = otlpform.rejected(answer.body)
        except ValueError as error:
            return "refused", str(error)
        return ("rejected", f"{points} points: {why}") if points else (TAKEN, "")

    def _note(self, outcome: str, why: str) -> None:
        """Count it, and say it when it is another than before."""
        self._exports[outcome] += 1
        before, self._outcome = self._outcome, outcome
        if outcome == TAKEN:
            if before != TAKEN:
                _log.warning("the OTLP collector takes metrics again; %d exports were not taken", self._missed)
            self._missed = 0
            return
        self._missed += 1
        if outcome != before:
            shown = escape(why[:_WHY_MAX_CHARS])
            place = self._target.url.partition("?")[0]  # what stands behind it may be a secret
            _log.warning("metrics do not reach the OTLP collector %s (%s): %s", place, outcome, shown)


def _retry_after_s(answer: Answer) -> float:
    """Seconds that a collector asks to wait; 0 when it does not say, or says a date."""
    text = answer.headers.get("retry-after", "")
    return min(float(text), RETRY_AFTER_MAX_S) if text.isascii() and text.isdigit() else 0.0
