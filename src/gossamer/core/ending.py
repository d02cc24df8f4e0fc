"""How a visit ends: the row of its URL, its place in the queue, its copies, its links. One commit for each page."""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from typing import Final, Literal

from gossamer.core import clusters, copies, harvest, hints, moves, softfour
from gossamer.core.admission import Candidate
from gossamer.core.calendar import plan
from gossamer.core.changes import Changes, decode_shape, decode_site, encode
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.dispatch import SITE_WINDOW_S
from gossamer.core.keys import shape_key
from gossamer.core.lifting import lift
from gossamer.core.turn import Turn
from gossamer.core.twinpairs import note_pair
from gossamer.model.page import Digest, Job, Kind, Original, Outcome
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, SiteRow, State, UrlRow
from gossamer.model.via import referrer
from gossamer.policy.duplicates import is_unchanged
from gossamer.policy.traps import judge_shape, shapes_of

OK: Final = 200
CONTENT: Final = frozenset((OK, 203))  # statuses whose body is the page; 203: as some proxy has changed it
NOT_MODIFIED: Final = 304
NOT_FOUND: Final = 404
GONE: Final = 410
TOO_MANY: Final = 429
SERVER_ERROR: Final = 500
HISTORY_MAX: Final = 100  # earlier captures named in a row; older ones are found through the CDXJ index
TIRED_SHAPES_MAX: Final = 200  # of one host
FIRST_VISITS: Final = 2  # robots.txt and one page
Before = tuple[str, int | None, int, int]  # payload digest, simhash, content hash and visits of a row before a visit
HEADER_KEPT_MAX: Final = 500  # characters of ETag and Last-Modified


def make_job(context: Context, changes: Changes, turn: Turn, outcome: Outcome, payload_digest: str) -> Job:
    """The digest job of a response: a revisit when the payload is held already, or when the server said 304."""
    original: Original | None = None
    revisit: Literal["", "identical", "not-modified"] = ""
    row = turn.row or changes.url(turn.key)
    if outcome.status == NOT_MODIFIED and row is not None and (turn.etag or turn.last_modified):
        original = copies.response_of(changes, row, context.takedowns.refusal)
        revisit = "not-modified" if original is not None else ""
    elif outcome.payload and not outcome.truncated:
        copy = copies.find_copy(changes, payload_digest)
        if copy is not None and context.takedowns.refusal(copy.url):  # a record that is not given out is nobody's
            copies.forget_copy(changes, payload_digest)
        elif copy is not None:
            original = copies.original_of(copy, payload_digest)
            revisit = "identical"
    return Job(
        id=turn.id,
        kind=turn.kind,
        url=turn.url,
        key=turn.key,
        depth=row.depth if row is not None else 0,
        date=outcome.started,
        status=outcome.status,
        headers=outcome.headers,
        request_bytes=outcome.request_bytes,
        head_bytes=outcome.head_bytes,
        payload=outcome.payload,
        framed=outcome.framed,
        content_encoding=outcome.content_encoding,
        truncated=outcome.truncated,
        address=outcome.address,
        http_version=outcome.http_version,
        tls_version=outcome.tls_version,
        tls_cipher=outcome.tls_cipher,
        payload_digest=payload_digest,
        original=original,
        revisit=revisit,
        via=referrer(row.via) if row is not None else "",
        parse=outcome.status in CONTENT and not outcome.cut_by_type,
        elapsed_s=outcome.elapsed_s,
        tell_all=row is not None and row.promoted,
    )


def wants_retry(context: Context, outcome: Outcome, row: UrlRow) -> bool:
    """Whether a visit that brought nothing is made again later. 429 is the host's business, not the URL's fault."""
    if outcome.failure is None and outcome.status != TOO_MANY and outcome.status < SERVER_ERROR:
        return False
    return row.attempts <= context.config.fetch.retries


def requeue(context: Context, changes: Changes, host: HostRow, turn: Turn, row: UrlRow) -> None:
    """Put a URL back at the end of its level, in the commit that takes its old entry away."""
    row.sequence = context.counters.sequence()
    context.admission.queue(changes, host, turn.key, row.level, row.sequence, refresh=row.refresh)


def settle_failure(
    context: Context, changes: Changes, host: HostRow, turn: Turn, outcome: Outcome, row: UrlRow, now: float
) -> bool:
    """A visit without a response: again later, or given up with its reason. Returns whether it goes back."""
    row.attempts += 1
    if wants_retry(context, outcome, row):
        requeue(context, changes, host, turn, row)
        return True
    row.detail = f"{outcome.failure}: {outcome.failure_detail} ({row.attempts} attempts)"
    row.reason = Reason.ADDRESS_FORBIDDEN if outcome.failure == "address-forbidden" else Reason.FETCH_FAILED
    context.counters.refuse(row.reason)
    if row.state is State.QUEUED:
        row.state = State.FAILED
    else:
        plan(context, changes, turn.key, row, now, duplicate=True)
    row.refresh = False
    return False


def settle_unarchived(context: Context, changes: Changes, turn: Turn, row: UrlRow, digest: Digest, now: float) -> None:
    """No worker could even archive the response: it is given up with that reason, and not tried blindly again."""
    row.reason, row.detail = Reason.FETCH_FAILED, f"archive: {digest.error}"
    row.digest_error = digest.error
    context.counters.refuse(Reason.FETCH_FAILED)
    if turn.place is None:
        if row.state is State.QUEUED and not row.sequence:  # no page of this address is queued
            row.state = State.FAILED
        return
    row.refresh = False
    if row.state is State.QUEUED:
        row.state = State.FAILED
    else:
        plan(context, changes, turn.key, row, now, duplicate=True)


def settle_response(
    context: Context,
    changes: Changes,
    host: HostRow,
    turn: Turn,
    outcome: Outcome,
    job: Job,
    digest: Digest,
    row: UrlRow,
    now: float,
) -> tuple[list[Candidate], bool, str]:
    """Write what a response says into the row. Returns candidates, whether it is fetched again, and the verdict."""
    totals = context.counters.totals
    before = (row.content_digest or row.payload_digest, row.simhash, row.content_hash, row.visits)
    _note_capture(row, outcome, job, digest)
    if turn.kind is not Kind.PAGE or outcome.status not in CONTENT:
        copies.remember_other(changes, job, digest)
    if turn.place is None:
        if turn.kind is Kind.ROBOTS and outcome.incomplete:
            row.reason, row.detail = Reason.ROBOTS_UNREACHABLE, outcome.incomplete
        if not row.sequence:  # a page of this address that is queued stays so
            row.state = State.FETCHED
        return [], False, str(turn.kind)
    if turn.kind is Kind.PAGE:
        totals.pages += 1
        totals.depths[row.depth] = totals.depths.get(row.depth, 0) + 1
        _count_site(changes, host.site, now)
    context.counters.media_type(digest.media_type, len(job.payload))
    if digest.language:
        bump(totals.languages, digest.language)
    if outcome.status in harvest.REDIRECT_STATUSES:
        candidates, again = harvest.redirect(context, changes, turn, outcome, row, now)
        if again:
            return candidates, True, "redirect"
        within_s = moves.note(context, changes, host, turn.key, row, now)
        clusters.gone(context, changes, host, turn.key, row, now)
        _ended(context, changes, row, turn, now, duplicate=True, within_s=within_s)
        return candidates, False, "redirect"
    if outcome.status == NOT_MODIFIED and job.revisit:
        totals.not_modified += 1
        row.unchanged += 1
        context.refreshing.observe(changes, row, host, changed=False)
        hints.visited(context, row, host, changed=False)
        _ended(context, changes, row, turn, now, duplicate=bool(row.duplicate_of))
        return [], False, "not-modified"
    if outcome.status not in CONTENT:
        row.attempts += 1
        again = wants_retry(context, outcome, row)
        if not again:
            if outcome.status in (NOT_FOUND, GONE):
                _missing(context, changes, host, turn.key, row, now)
            _ended(context, changes, row, turn, now, duplicate=True)
        return [], again, "error"
    row.attempts = 0
    verdict = _settle_content(context, changes, host, turn, outcome, job, digest, row, before, now)
    _ended(context, changes, row, turn, now, duplicate=bool(row.duplicate_of))
    return _candidates(context, changes, turn, digest, row, host, now), False, verdict


def _settle_content(
    context: Context,
    changes: Changes,
    host: HostRow,
    turn: Turn,
    outcome: Outcome,
    job: Job,
    digest: Digest,
    row: UrlRow,
    before: Before,
    now: float,
) -> str:
    """Take the content of a 200 into the row: has it changed, is it a copy, is it a not-found page? The verdict."""
    _note_content(row, outcome, digest)
    moves.forget(context, row, host)
    host.shown += not row.content_digest
    row.content_digest = row.payload_digest
    changed = _changed(before, row)
    if changed is not None:
        row.changes, row.unchanged = row.changes + changed, row.unchanged + (not changed)
        if changed:
            row.changed_at = now
    context.refreshing.observe(changes, row, host, changed=changed)
    hints.visited(context, row, host, changed=changed)
    if row.filed and before[1] is not None and before[1] != row.simhash:
        copies.unfile_fingerprint(changes, turn.key, before[1])
        row.filed = False
    if outcome.cut_by_type:
        row.reason = Reason.TYPE_NOT_WANTED
        row.detail = f"only its head is kept: {digest.media_type} is not asked for (fetch.types)"
        context.counters.refuse(Reason.TYPE_NOT_WANTED)
    if turn.kind is Kind.PAGE and softfour.is_soft_404(host, row):
        _mark_soft_404(context, changes, turn.key, host, row, now)
    else:
        row.missing = 0
        clusters.judge(context, changes, host, turn, job, digest, row, now, changed=bool(changed))
        if host.fetched <= FIRST_VISITS and turn.kind is Kind.PAGE:
            _count_front(changes, host, copied=bool(row.duplicate_of))
    if turn.kind is Kind.PAGE:
        note_pair(context, changes, turn.key, host, row, now, changed=bool(changed))
        _count_shape(changes, host, row)
    return "duplicate" if row.duplicate_of else "new" if changed is None else "changed" if changed else "unchanged"


def follows_links(turn: Turn, digest: Digest, row: UrlRow) -> bool:
    """Whether what a page leads to may be fetched on its account."""
    return turn.kind is Kind.PAGE and not digest.nofollow and row.reason != Reason.SOFT_404


def _candidates(
    context: Context, changes: Changes, turn: Turn, digest: Digest, row: UrlRow, host: HostRow, now: float
) -> list[Candidate]:
    for reason, count in digest.refused.items():
        context.counters.refuse(reason, count)
        bump(host.refused, reason, count)
    if turn.kind is Kind.SITEMAP:
        hints.take(context, changes, digest, row, host)
        return harvest.sitemap_entries(context, changes, digest, turn, row.depth, host, now)
    if not follows_links(turn, digest, row):
        return []
    if digest.entries or digest.sitemaps:  # a sitemap that was known as a page first: robots.txt cannot let it in again
        hints.take(context, changes, digest, row, host)
        return harvest.sitemap_entries(context, changes, digest, turn, 0, host, now)
    known: tuple[AbstractSet[str], AbstractSet[str]] = context.admission.known.generations()
    promoted, row.promoted = row.promoted, False
    if promoted:
        known = frozenset(), frozenset()
    find = context.ledger.find
    found = harvest.links(digest, turn, row.depth, known, find, duplicate=bool(row.duplicate_of))
    if promoted:
        lift(context, changes, found)
    return [*harvest.feeds(changes, digest, turn, host), *found]


def _note_capture(row: UrlRow, outcome: Outcome, job: Job, digest: Digest) -> None:
    if digest.pointer is not None:
        if row.pointer is not None:
            row.history = (*row.history, (row.visited, row.status, row.pointer))[-HISTORY_MAX:]
        row.pointer = digest.pointer
    row.visits += 1
    row.visited = outcome.started
    row.truncated = outcome.truncated
    row.digest_error = digest.error
    row.reason, row.detail = "", ""
    if outcome.status != NOT_MODIFIED or not job.revisit:
        row.status = outcome.status
        row.payload_digest = job.payload_digest
        row.payload_bytes = len(job.payload)
        row.media_type = digest.media_type
        row.original_url = job.original.url if job.original is not None else ""
        in_full = job.original is None and not digest.noarchive and job.url == row.url
        row.response_date = job.date if in_full else 0.0


def _note_content(row: UrlRow, outcome: Outcome, digest: Digest) -> None:
    row.feed = digest.feed
    row.etag = (outcome.header("etag") or "")[:HEADER_KEPT_MAX]
    row.last_modified = (outcome.header("last-modified") or "")[:HEADER_KEPT_MAX]
    row.redirect_to = ""
    row.title, row.language, row.charset = digest.title, digest.language, digest.charset
    row.content_hash, row.text_chars = digest.content_hash, digest.text_chars
    row.simhash, row.sketch = digest.simhash, digest.sketch
    row.noindex, row.noarchive = digest.noindex, digest.noarchive
    row.canonical = digest.canonical[1] if digest.canonical is not None else ""


def _changed(before: Before, row: UrlRow) -> bool | None:
    """Whether the main content differs from the visit before; None when there is nothing to compare with."""
    digest, simhash, content_hash, visits = before
    if visits == 0 or not digest:
        return None
    if digest == row.payload_digest or (content_hash and content_hash == row.content_hash):
        return False
    return not is_unchanged(simhash, row.simhash)


def judge_again(context: Context, changes: Changes, key: str, host: HostRow, now: float) -> None:
    """The site's not-found page has been learned: is the page that made us ask one itself?"""
    row = changes.url(key)
    if row is None or row.status != OK or row.reason or not softfour.is_soft_404(host, row):
        return
    _mark_soft_404(context, changes, key, host, row, now)
    changes.put_url(key, row)


def _missing(context: Context, changes: Changes, host: HostRow, key: str, row: UrlRow, now: float) -> None:
    """A visit found no page: it is looked for a few times more, its copies and what moved to it see to themselves."""
    row.missing += 1
    moves.forget(context, row, host)
    moves.lost(context, changes, row, now)
    clusters.gone(context, changes, host, key, row, now)


def _mark_soft_404(context: Context, changes: Changes, key: str, host: HostRow, row: UrlRow, now: float) -> None:
    row.reason, row.detail = Reason.SOFT_404, "its text is that of the site's own not-found page"
    host.soft404s += 1
    _missing(context, changes, host, key, row, now)
    context.counters.refuse(Reason.SOFT_404)


def _count_shape(changes: Changes, host: HostRow, row: UrlRow) -> None:
    """Growth of the URL's shapes: how many were fetched, how many brought something new. A shape that has stopped
    bringing any is named in the ledger, where admission and dispatch look.
    """
    for shape in shapes_of(row.url):
        slot = shape_key(host.host, shape)
        raw = changes.get(Cf.HOST, slot)
        fetched, new = decode_shape(raw) if raw is not None else (0, 0)
        fetched, new = fetched + 1, new + (not row.duplicate_of and row.reason != Reason.SOFT_404)
        changes.put(Cf.HOST, slot, encode((fetched, new)))
        if judge_shape(fetched, new) is None:
            if shape in host.tired_shapes:
                host.tired_shapes.remove(shape)
        elif shape not in host.tired_shapes and len(host.tired_shapes) < TIRED_SHAPES_MAX:
            host.tired_shapes.append(shape)


def _count_site(changes: Changes, site: str, now: float) -> None:
    slot = site.encode()
    raw = changes.get(Cf.SITE, slot)
    row = decode_site(raw) if raw is not None else SiteRow(window_start=now)
    if now - row.window_start >= SITE_WINDOW_S:
        row.window_start, row.fetched = now, 0
    row.fetched += 1
    changes.put(Cf.SITE, slot, encode(row))


def _count_front(changes: Changes, host: HostRow, *, copied: bool) -> None:
    """The first page of a host tells whether more hosts of its site are worth asking."""
    slot = host.site.encode()
    raw = changes.get(Cf.SITE, slot)
    site = decode_site(raw) if raw is not None else SiteRow()
    site.fronts += 1
    site.copied_fronts += copied
    changes.put(Cf.SITE, slot, encode(site))


def _ended(
    context: Context,
    changes: Changes,
    row: UrlRow,
    turn: Turn,
    now: float,
    *,
    duplicate: bool,
    within_s: float = math.inf,
) -> None:
    """The visit is over: the row is FETCHED and its next visit stands in the calendar."""
    row.state = State.FETCHED
    row.refresh = False
    row.redirects = 0 if row.status in CONTENT else row.redirects
    if row.status not in (NOT_FOUND, GONE) and row.status < SERVER_ERROR and row.reason != Reason.SOFT_404:
        row.missing = 0
    plan(context, changes, turn.key, row, now, duplicate=duplicate, within_s=within_s)
