"""The crawl-log line of a visit."""

from __future__ import annotations

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
    job: Job | None = None,
    digest: Digest | None = None,
    admitted: int = 0,
    refused: dict[str, int] | None = None,
) -> FetchEvent:
    """Everything that is known of one visit when it is committed."""
    links_refused = dict(digest.refused) if digest is not None else {}
    for reason, count in (refused or {}).items():
        links_refused[reason] = links_refused.get(reason, 0) + count
    return FetchEvent(
        time=now,
        url=turn.url,
        key=turn.key,
        host=host.host,
        site=host.site,
        kind=turn.kind,
        started=outcome.started or turn.started,
        status=outcome.status,
        failure=outcome.failure or "",
        failure_detail=outcome.failure_detail,
        reason=row.reason,
        detail=row.detail,
        verdict=verdict,
        http_version=outcome.http_version,
        media_type=digest.media_type if digest is not None else "",
        charset=digest.charset if digest is not None else "",
        language=digest.language if digest is not None else "",
        title=digest.title if digest is not None else "",
        wire_bytes=outcome.wire_bytes,
        payload_bytes=len(outcome.payload),
        truncated=outcome.truncated,
        connect_ms=outcome.connect_s * 1000,
        first_byte_ms=outcome.first_byte_s * 1000,
        elapsed_ms=outcome.elapsed_s * 1000,
        digest_ms=digest.cpu_s * 1000 if digest is not None else 0.0,
        gap_s=gap_s,
        delay_s=host.delay_s,
        next_allowed=host.next_allowed,
        depth=row.depth,
        redirects=row.redirects,
        level=row.level,
        refresh=turn.place is not None and turn.place.refresh,
        attempt=max(1, row.attempts),
        retry=retry,
        via=row.via,
        address=outcome.address or turn.address,
        lane=turn.lane,
        reused=outcome.reused,
        tls_version=outcome.tls_version,
        tls_cipher=outcome.tls_cipher,
        tls_error=outcome.tls_error,
        payload_digest=job.payload_digest if job is not None else "",
        duplicate_of=row.duplicate_of,
        duplicate_kind=row.duplicate_kind,
        redirect_to=row.redirect_to,
        canonical=row.canonical,
        pointer=digest.pointer if digest is not None else None,
        links_found=digest.links_found if digest is not None else 0,
        links_admitted=admitted,
        refused=links_refused,
        next_due=row.due,
        error="; ".join(filter(None, (digest.error, *digest.hook_errors))) if digest is not None else "",
    )
