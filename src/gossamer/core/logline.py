"""The crawl-log line of a visit."""

from __future__ import annotations

import msgspec

from gossamer.core.turn import Turn
from gossamer.model.event import FetchEvent
from gossamer.model.page import Digest, Job, Outcome
from gossamer.model.record import HostRow, UrlRow


def log_line(
    turn: Turn,
    outcome: Outcome,
    host: HostRow,
    row: UrlRow,
    now: float,
    *,
    verdict: str,
    retry: bool,
    gap_s: float | None,
) -> FetchEvent:
    """What is known of a visit without its digest: the exchange, the ledger and the row as they are committed."""
    return _with_exchange(
        FetchEvent(
            time=now,
            url=turn.url,
            key=turn.key,
            host=host.host,
            site=host.site,
            kind=turn.kind,
            reason=row.reason,
            detail=row.detail,
            verdict=verdict,
            gap_s=gap_s,
            delay_s=host.delay_s,
            next_allowed=host.next_allowed,
            depth=row.depth,
            redirects=row.redirects,
            level=row.level,
            refresh=turn.place is not None and turn.place.refresh,
            attempt=max(1, row.attempts),
            retry=retry,
            robots=turn.robots,
            robots_at=turn.robots_at,
            via=row.via,
            lane=turn.lane,
            duplicate_of=row.duplicate_of,
            duplicate_kind=row.duplicate_kind,
            redirect_to=row.redirect_to,
            canonical=row.canonical,
            next_due=row.due,
        ),
        turn,
        outcome,
    )


def with_digest(event: FetchEvent, job: Job, digest: Digest, admitted: int, refused: dict[str, int]) -> FetchEvent:
    """A line with what the digest brought, and what became of the page's links."""
    confirmed = job.revisit == "not-modified"  # the line names the payload that a 304 stands for, as its record does
    links_refused = dict(digest.refused)
    for reason, count in refused.items():
        links_refused[reason] = links_refused.get(reason, 0) + count
    return msgspec.structs.replace(
        event,
        media_type=digest.media_type,
        charset=digest.charset,
        language=digest.language,
        title=digest.title,
        digest_ms=digest.cpu_s * 1000,
        payload_digest=job.original.digest if confirmed and job.original is not None else job.payload_digest,
        pointer=digest.pointer,
        links_found=digest.links_found,
        links_admitted=admitted,
        refused=links_refused,
        error="; ".join(filter(None, (digest.error, *digest.hook_errors))),
    )


def _with_exchange(event: FetchEvent, turn: Turn, outcome: Outcome) -> FetchEvent:
    return msgspec.structs.replace(
        event,
        started=outcome.started or turn.started,
        status=outcome.status,
        failure=outcome.failure or "",
        failure_detail=outcome.failure_detail,
        http_version=outcome.http_version,
        wire_bytes=outcome.wire_bytes,
        payload_bytes=len(outcome.payload),
        truncated=outcome.truncated,
        connect_ms=outcome.connect_s * 1000,
        first_byte_ms=outcome.first_byte_s * 1000,
        elapsed_ms=outcome.elapsed_s * 1000,
        address=outcome.address or turn.address,
        reused=outcome.reused,
        tls_version=outcome.tls_version,
        tls_cipher=outcome.tls_cipher,
        tls_error=outcome.tls_error,
    )
