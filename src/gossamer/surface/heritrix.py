"""The 12 fields of Heritrix's crawl.log, which archivists' tools read.

Fields: log time, status, size, URI, discovery path, via, media type, thread, start+duration, digest, source tag,
annotations. Status codes below zero are those of Heritrix 3 ("Status codes" in its user guide).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from gossamer.model.event import FetchEvent
from gossamer.model.page import Failure, Kind
from gossamer.model.reason import Reason
from gossamer.model.via import referrer

PATH_MAX: Final = 50  # Heritrix cuts longer discovery paths in the same way

_FAILURES: Final[dict[str, int]] = {
    Failure.DNS: -1,
    Failure.ADDRESS: -5001,
    Failure.CONNECT: -2,
    Failure.CONNECT_TIMEOUT: -2,
    Failure.TLS: -2,
    Failure.PROXY: -2,
    Failure.DISCONNECTED: -3,
    Failure.STALE: -3,
    Failure.PROTOCOL: -3,
    Failure.HEAD_TOO_LARGE: -3,
    Failure.FIRST_BYTE_TIMEOUT: -4,
    Failure.TIMEOUT: -4,
    Failure.OURS: -5,
    Failure.CUT_OFF: -5001,  # blocked by the operator
}
_REASONS: Final[dict[str, int]] = {
    Reason.ROBOTS: -9998,
    Reason.ROBOTS_UNREACHABLE: -61,
    Reason.URL_INVALID: -7,
    Reason.URL_SCHEME: -7,
    Reason.URL_TOO_LONG: -7,
    Reason.REDIRECT_INVALID: -7,
    Reason.SCOPE_OUTSIDE: -5000,
    Reason.SCOPE_EXCLUDED: -5000,
    Reason.TAKEDOWN: -5001,
    Reason.SCOPE_HOOK: -5002,
    Reason.TYPE_NOT_WANTED: -5000,
    Reason.NOFOLLOW: -5000,
    Reason.TRAP_DEPTH: -4001,
    Reason.REDIRECT_LIMIT: -4001,
    Reason.REDIRECT_LOOP: -4001,
    Reason.HOST_PENDING_FULL: -5003,
    Reason.PAGE_LINKS: -5003,
    Reason.SITE_BUDGET: -5003,
    Reason.HOST_BUDGET: -5003,
    Reason.TWIN: -5003,
    Reason.SITE_HOSTS: -5003,
    Reason.PAGE_BUDGET: -5003,
    Reason.SITEMAPS_FULL: -5003,
    Reason.SITEMAP_DEPTH: -5003,
    Reason.NO_SITEMAP: -5000,
    Reason.ADDRESS_FORBIDDEN: -5001,
    Reason.DNS_FAILED: -6,
    Reason.HOST_PARKED: -8,
    Reason.FETCH_FAILED: -8,
}
_TRAP: Final = -4000  # "chaff" detection of traps
_OTHER: Final = -5  # unexpected


def status_code(event: FetchEvent) -> int:
    """The HTTP status, or Heritrix's negative code of what happened instead."""
    if event.status:
        return event.status
    if event.failure:
        return _FAILURES.get(event.failure, _OTHER)
    return _REASONS.get(event.reason, _TRAP if event.reason.startswith("trap-") else _OTHER)


def format_heritrix(event: FetchEvent) -> str:
    """One line of crawl.log, without its line end."""
    digest = event.payload_digest or "-"
    return " ".join(
        (
            _iso(event.time),
            f"{status_code(event):5d}",
            f"{event.payload_bytes if event.status else '-':>10}",
            _field(event.url),
            _path(event),
            _via(event.via),
            _field(event.media_type) if event.media_type else "no-type",
            "#000",  # there are no threads; readers expect the field
            _start(event),
            _field(digest),
            _field(event.url) if event.via == "seed" else "-",
            _annotations(event),
        )
    )


def _via(via: str) -> str:
    """The URL of the page a URL was found on; "-" for seeds and for what the crawl asks of its own accord."""
    return _field(referrer(via)) or "-"


def _iso(time: float) -> str:
    return datetime.fromtimestamp(round(time, 3), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _start(event: FetchEvent) -> str:
    if not event.started:
        return "-"
    moment = datetime.fromtimestamp(round(event.started, 3), UTC)
    return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}+{round(event.elapsed_ms)}"


def _path(event: FetchEvent) -> str:
    """L for each link, R for each redirect hop, then P for robots.txt and probes, M for sitemaps; "-" for a seed."""
    last = {Kind.ROBOTS: "P", Kind.PROBE: "P", Kind.KEY: "P", Kind.SITEMAP: "M"}.get(event.kind, "")
    path = "L" * event.depth + "R" * event.redirects + last
    if len(path) > PATH_MAX:
        return f"{len(path) - PATH_MAX}+{path[-PATH_MAX:]}"
    return path or "-"


def _annotations(event: FetchEvent) -> str:
    notes: list[str] = []
    if event.attempt > 1:
        notes.append(f"{event.attempt}t")
    if event.truncated:
        notes.append({"length": "lenTrunc", "time": "timeTrunc"}.get(event.truncated, "trunc:" + event.truncated))
    if event.verdict == "not-modified":
        notes.append("warcRevisit:notModified")
    elif event.duplicate_kind == "exact":
        notes.append("warcRevisit:digest")
    elif event.duplicate_kind:
        notes.append("duplicate:" + event.duplicate_kind)
    notes += [text for text in (event.reason, event.failure) if text]
    if event.links_found:
        notes.append(f"links:{event.links_found}")
    if event.error:
        notes.append("le:" + event.error)
    return ",".join(_field(note).replace(",", "%2C") for note in notes) or "-"


def _field(text: str) -> str:
    """Text without spaces and controls: they are percent-encoded as UTF-8, as in a URL."""
    if text.isascii() and text.isprintable() and " " not in text:
        return text
    return "".join(
        char
        if char.isprintable() and char != " "
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in text
    )
