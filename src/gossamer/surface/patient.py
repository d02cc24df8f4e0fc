"""What the doctor is told of a crawl: values that `surface.doctorlook` gathers and `surface.doctor` judges."""

from __future__ import annotations

import msgspec

from gossamer.model.config import Config
from gossamer.model.view import Snapshot
from gossamer.surface.forecast import DiskForecast


class HostSample(msgspec.Struct, frozen=True, kw_only=True):
    """How the queue is spread over hosts."""

    with_work: int = 0
    queued: int = 0
    largest: tuple[tuple[str, int, float], ...] = ()  # (host, URLs queued, seconds between its requests), most first
    whole: bool = True  # every host was looked at


class LogSample(msgspec.Struct, frozen=True, kw_only=True):
    """What the newest visits were like."""

    visits: int = 0
    span_s: float = 0.0
    secure: int = 0  # over TLS
    handshakes: int = 0  # of them on new connections
    connect_s: float = 0.0  # summed, of new connections, TLS included
    elapsed_s: float = 0.0  # summed
    digest_s: float = 0.0  # CPU of workers, summed
    digested: int = 0
    refusals: int = 0  # answered 403 or 429
    dns_failures: int = 0
    timeouts: int = 0
    too_short: int = 0  # requests sent before their gap was over


class Patient(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is looked at."""

    shot: Snapshot
    config: Config
    hosts: HostSample = HostSample()
    log: LogSample = LogSample()
    disk: DiskForecast | None = None
    cores: int = 1
    running: bool = True
    disk_full: str = ""  # which part of the crawl has no room left, in one sentence
