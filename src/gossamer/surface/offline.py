"""The state of a crawl told from its directory: the counters as last committed, and what the last run left behind."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.warc import files
from gossamer.core.changes import decode_url
from gossamer.core.counters import Totals
from gossamer.core.keys import due_bound
from gossamer.model.config import Config
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, State, UrlRow
from gossamer.model.url import Url, parse
from gossamer.model.view import Bound, Budget, Snapshot
from gossamer.policy.scope import ScopeRules, judge, why
from gossamer.policy.traps import static_trap
from gossamer.ports.store import Store
from gossamer.surface.counted import counted
from gossamer.surface.explainview import moment
from gossamer.surface.machine import disk_free_bytes
from gossamer.surface.seedstate import no_page
from gossamer.surface.statusfile import read_status
from gossamer.surface.storescan import decoded, host_row, pairs

RUNNING_WITHIN_S: Final = 30.0  # a running crawl rewrites its status file every two seconds
DUE_COUNTED_MAX: Final = 100_000
SEED_FAILURES_MAX: Final = 1_000
SEEDS_AT_ONCE: Final = 1_000
_AT_WORK: Final = frozenset({"starting", "crawling", "paused", "stopping"})


def running_snapshot(log: Path) -> Snapshot | None:
    """What the running crawl says of itself; None when none is running."""
    found = read_status(log)
    if found is None or found[1] > RUNNING_WITHIN_S or found[0].state not in _AT_WORK:
        return None
    return found[0]


def stored_snapshot(store: Store, totals: Totals, config: Config, scope: ScopeRules, now: float) -> Snapshot:
    """The state of a crawl that is not running. What only a process knows (slots, rates) is the last run's or 0."""
    directory = Path(config.directory)
    last = read_status(directory / "log")
    before = last[0] if last is not None else Snapshot()
    state, detail = _ending(before, totals)
    segments = files.segments(directory / "archive")
    return msgspec.structs.replace(
        counted(totals, config),
        time=now,
        state=state,
        state_detail=detail,
        run_s=before.run_s,
        rate_average=before.rate_average,
        due_now=sum(1 for _ in islice(pairs(store, Cf.DUE, b"", due_bound(now)), DUE_COUNTED_MAX)),
        bound=Bound(),
        budgets=_budgets(config, totals, before),
        segments=len(segments),
        archive_bytes=sum(path.stat().st_size for path in segments if path.exists()),
        disk_free_bytes=disk_free_bytes(directory),
        warnings=before.warnings,
        notices=before.notices,
        recent=before.recent,
        seed_failures=seed_failures(store, config, scope),
    )


def _ending(before: Snapshot, totals: Totals) -> tuple[str, str]:
    """How the last run ended, as far as it could say so."""
    if before.state and before.state not in _AT_WORK:
        return before.state, before.state_detail
    if totals.queued or before.state in _AT_WORK - {"starting"}:
        return "interrupted", "the last run ended without a word; the same command goes on where it stopped"
    return "finished", ""


def _budgets(config: Config, totals: Totals, before: Snapshot) -> tuple[Budget, ...]:
    limits = config.limits
    found = []
    if limits.pages is not None:
        found.append(Budget("pages", totals.pages, limits.pages))
    if limits.duration_s is not None:
        found.append(Budget("duration", before.run_s, limits.duration_s))
    if limits.bytes is not None:
        found.append(Budget("bytes", totals.bytes, limits.bytes))
    return tuple(found)


def seed_failures(store: Store, config: Config, scope: ScopeRules) -> dict[str, str]:
    """Seeds of which no page came although it was tried or refused, and why; at most SEED_FAILURES_MAX."""
    failures: dict[str, str] = {}
    seeds = iter(config.seeds)
    while part := list(islice(seeds, SEEDS_AT_ONCE)):
        urls = [(text, url) for text, url in ((text, parse(text)) for text in part) if isinstance(url, Url)]
        found = store.get_many(Cf.URL, [url.key.encode() for _, url in urls])
        for (text, url), raw in zip(urls, found, strict=True):
            row = None if raw is None else decoded(decode_url, Cf.URL, url.key.encode(), raw)
            why_not = _refused_seed(config, scope, url) if row is None else _failed_seed(store, row)
            if why_not:
                failures[text] = why_not
                if len(failures) >= SEED_FAILURES_MAX:
                    return failures
    return failures


def _refused_seed(config: Config, scope: ScopeRules, url: Url) -> str:
    """Why a seed never entered the frontier; "" when it has only not been admitted yet."""
    reason = judge(scope, url)
    if reason is not None:
        return f"{reason}: {why(scope, url)}"
    trap = static_trap(url, 0, config.limits.depth, seed=True, via=None, year_now=1970)
    return "" if trap is None else str(trap)


def _failed_seed(store: Store, row: UrlRow) -> str:
    if row.visits or row.state is State.FETCHED:
        return no_page(row)
    if row.state in (State.REFUSED, State.FAILED):
        return f"{row.reason}: {row.detail}" if row.detail else row.reason
    host = host_row(store, row.host)
    return "" if host is None else _host_trouble(host, row)


def _host_trouble(host: HostRow, row: UrlRow) -> str:
    """What keeps a queued seed from being fetched, when something does."""
    if host.parked:
        return f"{host.parked} (until {moment(host.parked_until)})"
    for state in host.robots.values():
        if state.verdict == "disallow" and state.failures:
            return f"{Reason.ROBOTS_UNREACHABLE}: {state.why}, next try at {moment(state.expires)}"
    if row.attempts or (host.errors and not host.reached):
        return f"{host.errors} failures in a row of {host.host}, next try at {moment(host.next_allowed)}"
    return ""
