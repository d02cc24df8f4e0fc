"""What each page of the dashboard shows: values for its template. How it is sent is `serve.pages`."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Final, Literal, get_args
from urllib.parse import urlencode

from markupsafe import Markup

from gossamer.model.takedown import TargetKind
from gossamer.model.url import Url, parse
from gossamer.model.view import Snapshot
from gossamer.serve.changes import listed
from gossamer.serve.crawls import Served
from gossamer.serve.faults import ApiError
from gossamer.serve.hostviews import host, hosts
from gossamer.serve.reads import completed, explained
from gossamer.serve.shapes import TakedownAnswer
from gossamer.serve.view import Params, Values, View
from gossamer.surface.charts import Bar, Column, bars, columns
from gossamer.surface.forecast import DiskForecast, disk_forecast
from gossamer.surface.reporthtml import Panel, Tile, counted_bars, status_bars
from gossamer.surface.units import plural, show_count, show_duration, show_rate, show_size

RATE_COLUMNS_MAX: Final = 120
TAKEDOWNS_ON_PAGE: Final = 100
DAY_S: Final = 86_400.0
DAYS_TOLD_MAX: Final = 365.0
_KINDS: Final = (
    ("host", "host: one name"),
    ("site", "site: a name and every name under it"),
    ("prefix", "prefix: every address that begins so"),
    ("pattern", "pattern: a glob for whole URLs"),
)
_MARKS: Final = {"ok": "ok", "no": "no", "wait": "wait", "note": "·"}
_NOTHING: Final = Markup("<p>None.</p>")


# -- overview ----------------------------------------------------------------------------------------------------------


async def overview(served: Served, _params: Params) -> Values:
    """Rate and what bounds it, hosts, frontier, refusals, freshness, duplicates, disk."""
    running = await asyncio.to_thread(served.running)
    shot = running or await served.snapshot()
    diagnosis = await served.diagnosis()
    disk = disk_forecast(shot, served.witness.disk)
    return {
        "shot": shot,
        "running": running is not None,
        "diagnosis": diagnosis,
        "tiles": _tiles(shot, disk),
        "alarms": [note for note in diagnosis.notes if note.severity != "note"],
        "panels": [panel for panel in _panels(shot, disk, served.name) if panel.chart],
    }


def _tiles(shot: Snapshot, disk: DiskForecast | None) -> list[Tile]:
    free = shot.disk_free_bytes
    return [
        Tile("pages", show_count(shot.pages), f"{show_rate(shot.rate_average)}/s in this run"),
        Tile("rate now", f"{show_rate(shot.rate_now)}/s", f"{show_size(shot.bytes_rate_now)}/s"),
        Tile("received", show_size(shot.bytes), f"{show_size(shot.archive_bytes)} in the archive"),
        Tile("queued", show_count(shot.queued), f"of {show_count(shot.urls_known)} known URLs"),
        Tile("hosts", show_count(shot.hosts_known), f"{show_count(shot.hosts_parked)} parked"),
        Tile("in flight", show_count(shot.in_flight), f"{shot.digest_pending} pages wait for commit"),
        Tile("failed visits", show_count(sum(shot.failures.values())), plural(shot.errors, "error")),
        Tile("disk left", "–" if free is None else show_size(free), _disk_words(disk)),
    ]


def _disk_words(disk: DiskForecast | None) -> str:
    if disk is None:
        return "not known yet"
    if disk.days_left is None:
        return "does not fill now"
    if disk.days_left > DAYS_TOLD_MAX:
        return "not full within a year"
    return f"full in about {show_duration(disk.days_left * DAY_S)}"


class LivePanel(Panel, frozen=True):
    """A chart with a line beneath."""

    note: str = ""


def _panels(shot: Snapshot, disk: DiskForecast | None, crawl: str) -> list[LivePanel]:
    hosts = {
        "ready": (shot.hosts_ready, "ready"),
        "in their gap": (shot.hosts_resting, "resting"),
        "active, else": (max(0, shot.hosts_active - shot.hosts_ready - shot.hosts_resting), ""),
        "waiting for a slot": (shot.hosts_waiting, "waiting"),
        "parked": (shot.hosts_parked, "parked"),
    }
    states = [
        Bar(name, count, href=f"/hosts?{urlencode({'state': state, 'crawl': crawl})}" if state else "")
        for name, (count, state) in hosts.items()
    ]
    copies = shot.duplicates_exact + shot.duplicates_near
    kinds = {"exact copies": shot.duplicates_exact, "near copies": shot.duplicates_near, "unchanged": shot.not_modified}
    share = f"{copies / shot.pages:.1%} of all pages are copies" if shot.pages else ""
    levels = [Column(str(level), size) for level, size in enumerate(shot.queue_by_level)]
    late = [Column(str(level), count) for level, count in enumerate(shot.slipped_by_level)]
    return [
        LivePanel("Pages a second, the last two minutes", rate_chart(shot), wide=True),
        LivePanel("Hosts by state", bars(states) or _NOTHING),
        LivePanel("Frontier: URLs queued by level", columns(levels) or _NOTHING, note="Level 0 is fetched first."),
        LivePanel("Refused, by reason", bars(counted_bars(shot.refusals)) or _NOTHING),
        LivePanel("Statuses and failures", bars(status_bars(shot.statuses, shot.failures))),
        LivePanel("Freshness", _freshness(shot), note=_freshness_words(shot)),
        LivePanel("Copies", bars([Bar(name, count) for name, count in kinds.items()]) or _NOTHING, note=share),
        LivePanel("Disk", _disk_chart(shot), note=_disk_note(disk)),
        LivePanel("Refreshes made over an hour late, by level", columns(late)),
    ]


def rate_chart(shot: Snapshot) -> Markup:
    """Pages a second, oldest first; tenths are drawn."""
    rates = shot.rate_history[-RATE_COLUMNS_MAX:]
    return columns(
        [
            Column("now" if index == len(rates) - 1 else f"-{len(rates) - 1 - index} s", round(rate * 10), 0,
                   f"{show_rate(rate)} pages/s")
            for index, rate in enumerate(rates)
        ],
        wide=True,
        top_label=f"{show_rate(max(rates, default=0.0))}/s",
    )  # fmt: skip


def _freshness(shot: Snapshot) -> Markup:
    waiting = {"due, queued": shot.refresh_queued, "due, put off": shot.refresh_late, "due, in calendar": shot.due_now}
    return bars([Bar(name, count) for name, count in waiting.items()]) or Markup("<p>Nothing is due.</p>")


def _freshness_words(shot: Snapshot) -> str:
    if not shot.refreshes:
        return "No planned visit has been made yet."
    half, most = show_duration(shot.lateness_p50_s), show_duration(shot.lateness_p99_s)
    return (
        f"{plural(shot.refreshes, 'planned visit')} of late: half within {half} of their time, 99 of 100 within {most}."
    )


def _disk_chart(shot: Snapshot) -> Markup:
    if shot.disk_free_bytes is None:
        return Markup()
    parts = [("archive", shot.archive_bytes, "accent"), ("free", shot.disk_free_bytes, "c2")]
    return bars([Bar(name, size, colour, show_size(size)) for name, size, colour in parts])


def _disk_note(disk: DiskForecast | None) -> str:
    if disk is None:
        return "How fast it fills is not known yet."
    return f"{show_size(disk.bytes_per_day)} a day, told from {disk.basis}: {_disk_words(disk)}."


# -- the rest ----------------------------------------------------------------------------------------------------------


async def url(served: Served, params: Params) -> Values:
    """Why a URL was fetched or not; with * at its end, the known URLs that begin so."""
    asked = params.get("url", "").strip()
    given: Values = {"asked": asked, "marks": _MARKS, "told": None, "listed": None, "host": "", "beginning": ""}
    if not asked:
        return given
    beginning = completed(asked.removesuffix("*"))
    parsed = parse(beginning)
    given["host"] = parsed.host if isinstance(parsed, Url) else ""
    given["beginning"] = beginning
    if not asked.endswith("*"):
        return given | {"told": await explained(served, asked)}
    listed = await served.read(lambda reader: reader.urls(beginning, params.get("after", "")))
    if listed is None:
        allowed = "a URL up to its host or further, and * at the end"
        raise ApiError(422, "no URL begins so", field="query.url", value=asked, allowed=allowed)
    return given | {"listed": listed}


async def takedowns(served: Served, params: Params) -> Values:
    """Every takedown with its steps, and a form for another."""
    found: tuple[TakedownAnswer, ...] = ()
    fault = ""
    try:
        found = (await listed(served)).takedowns
    except ApiError as error:
        fault = str(error)
    assert {kind for kind, _ in _KINDS} == set(get_args(TargetKind))
    scope = params.get("scope", "")
    return {"takedowns": found[:TAKEDOWNS_ON_PAGE], "more": max(0, len(found) - TAKEDOWNS_ON_PAGE), "fault": fault,
            "kinds": _KINDS, "asked": params.get("value", ""), "asked_scope": scope, "precise": precise}  # fmt: skip


async def doctor(served: Served, _params: Params) -> Values:
    """What binds the crawl, and what the witness has seen."""
    running = await asyncio.to_thread(served.running)
    return {"found": await served.diagnosis(), "running": running is not None, "seen": served.witness}


def precise(time: float) -> str:
    """Unix seconds as UTC text with milliseconds."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M:%S.%f}"[:-3] + "Z"


Form = Literal["takedown", "lift", "pause", "resume", "stop", "host"]
VIEWS: Final = (
    View(path="/", title="Overview", template="overview.html", values=overview,
         live=("spoken", "state", "tiles", "actions", "charts", "recent")),
    View(path="/hosts", title="Hosts", template="hosts.html", values=hosts, live=("list",), every_s=5.0,
         fields=("state", "sort", "after")),
    View(path="/host", title="Host", template="host.html", values=host, fields=("host",), in_menu=False,
         live=("spoken", "standing", "charts", "ledger", "visits"), every_s=5.0),
    View(path="/url", title="URL", template="url.html", values=url, fields=("url", "after"),
         live=("answer",), every_s=5.0),
    View(path="/takedowns", title="Takedowns", template="takedowns.html", values=takedowns, fields=("value", "scope"),
         live=("spoken", "list")),
    View(path="/doctor", title="Doctor", template="doctor.html", values=doctor, every_s=5.0,
         live=("spoken", "diagnosis")),
)  # fmt: skip
