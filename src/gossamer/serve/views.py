"""What each page of the dashboard shows: values for its template. How it is sent is `serve.pages`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, get_args

import msgspec
from markupsafe import Markup

from gossamer.model.control import Host, ReadHost
from gossamer.model.takedown import TargetKind
from gossamer.model.view import HostView, Snapshot
from gossamer.serve.changes import listed
from gossamer.serve.crawls import Served
from gossamer.serve.faults import ApiError
from gossamer.serve.reads import checked_host, explained, page_of_hosts, unknown_host
from gossamer.serve.shapes import HostsQuery, TakedownAnswer
from gossamer.surface.charts import Bar, Column, bars, columns
from gossamer.surface.explainview import moment
from gossamer.surface.forecast import DiskForecast, disk_forecast
from gossamer.surface.hoststory import HostStory
from gossamer.surface.reporthtml import Panel, Tile, counted_bars, status_bars
from gossamer.surface.units import plural, show_count, show_duration, show_rate, show_size

RATE_COLUMNS_MAX: Final = 120
GAP_COLUMNS_MAX: Final = 120
HOSTS_ON_PAGE: Final = 100
VISITS_ON_PAGE: Final = 200
DAY_S: Final = 86_400.0
DAYS_TOLD_MAX: Final = 365.0
_STATES: Final = ("", "ready", "resting", "waiting", "parked", "idle")
_KINDS: Final = (
    ("host", "host: one name"),
    ("site", "site: a name and every name under it"),
    ("prefix", "prefix: every address that begins so"),
    ("pattern", "pattern: a glob for whole URLs"),
)
_MARKS: Final = {"ok": "ok", "no": "no", "wait": "wait", "note": "·"}
Params = Mapping[str, str]
Values = dict[str, Any]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One page."""

    path: str
    title: str
    template: str
    values: Callable[[Served, Params], Awaitable[Values]]
    live: tuple[str, ...] = ()  # blocks of the template that are sent anew
    every_s: float = 2.0
    fields: tuple[str, ...] = ()  # of the query, beside `crawl`
    in_menu: bool = True


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
        "panels": [panel for panel in _panels(shot, disk) if panel.chart],
    }


def _tiles(shot: Snapshot, disk: DiskForecast | None) -> list[Tile]:
    return [
        Tile("pages", show_count(shot.pages), f"{show_rate(shot.rate_average)}/s in this run"),
        Tile("rate now", f"{show_rate(shot.rate_now)}/s", f"{show_size(shot.bytes_rate_now)}/s"),
        Tile("received", show_size(shot.bytes), f"{show_size(shot.archive_bytes)} in the archive"),
        Tile("queued", show_count(shot.queued), f"of {show_count(shot.urls_known)} known URLs"),
        Tile("hosts", show_count(shot.hosts_known), f"{show_count(shot.hosts_parked)} parked"),
        Tile("in flight", show_count(shot.in_flight), f"{shot.digest_pending} pages wait for commit"),
        Tile("failed visits", show_count(sum(shot.failures.values())), plural(shot.errors, "error")),
        Tile("disk left", "–" if disk is None else show_size(disk.free_bytes), _disk_words(disk)),
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


def _panels(shot: Snapshot, disk: DiskForecast | None) -> list[LivePanel]:
    hosts = {
        "ready": shot.hosts_ready,
        "in their gap": shot.hosts_resting,
        "active, else": max(0, shot.hosts_active - shot.hosts_ready - shot.hosts_resting),
        "waiting for a slot": shot.hosts_waiting,
        "parked": shot.hosts_parked,
    }
    copies = shot.duplicates_exact + shot.duplicates_near
    kinds = {"exact copies": shot.duplicates_exact, "near copies": shot.duplicates_near, "unchanged": shot.not_modified}
    share = f"{copies / shot.pages:.1%} of all pages are copies" if shot.pages else ""
    levels = [Column(str(level), size) for level, size in enumerate(shot.queue_by_level)]
    late = [Column(str(level), count) for level, count in enumerate(shot.slipped_by_level)]
    return [
        LivePanel("Pages a second, the last two minutes", rate_chart(shot), wide=True),
        LivePanel("Hosts by state", bars([Bar(name, count) for name, count in hosts.items()])),
        LivePanel("Frontier: URLs queued by level", columns(levels), note="Level 0 is fetched first."),
        LivePanel("Refused, by reason", bars(counted_bars(shot.refusals))),
        LivePanel("Statuses and failures", bars(status_bars(shot.statuses, shot.failures))),
        LivePanel("Freshness", _freshness(shot), note=_freshness_words(shot)),
        LivePanel("Copies", bars([Bar(name, count) for name, count in kinds.items()]), note=share),
        LivePanel("Disk", _disk_chart(shot, disk), note=_disk_note(disk)),
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


def _disk_chart(shot: Snapshot, disk: DiskForecast | None) -> Markup:
    if disk is None:
        return Markup()
    parts = [("archive", shot.archive_bytes, "accent"), ("free", disk.free_bytes, "c2")]
    return bars([Bar(name, size, colour, show_size(size)) for name, size, colour in parts])


def _disk_note(disk: DiskForecast | None) -> str:
    if disk is None:
        return ""
    return f"{show_size(disk.bytes_per_day)} a day, told from {disk.basis}: {_disk_words(disk)}."


# -- hosts -------------------------------------------------------------------------------------------------------------


async def hosts(served: Served, params: Params) -> Values:
    """Hosts in the order of their names."""
    state = params.get("state", "")
    if state not in _STATES:
        raise ApiError(422, "there is no such state", field="query.state", value=state, allowed=", ".join(_STATES[1:]))
    given = {"after": params.get("after", "")[:300], "limit": HOSTS_ON_PAGE, "state": state}
    query = msgspec.convert(given, HostsQuery)
    return {
        "page": await served.read(lambda reader: page_of_hosts(reader, query)),
        "states": _STATES,
        "state": state,
    }


async def host(served: Served, params: Params) -> Values:
    """One host's whole story."""
    name = checked_host(params.get("host", ""), "query.host")
    story = await served.read(lambda reader: reader.story(name, VISITS_ON_PAGE))
    if story is None:
        raise unknown_host(name, "query.host")
    answer = await served.control.ask(ReadHost(host=name))
    policy = answer.policy if isinstance(answer, Host) else None
    return {
        "story": story,
        "view": story.view,
        "policy": policy,
        "gaps": story.gaps,
        "tiles": _host_tiles(story.view),
        "facts": [*_facts(story), *(_policy_facts(answer) if isinstance(answer, Host) else ())],
        "outcomes": bars(status_bars(story.outcomes)),
        "statuses": bars(status_bars(story.view.statuses)),
        "gaps_chart": gap_chart(story),
    }


def _host_tiles(view: HostView) -> list[Tile]:
    return [
        Tile("fetched", show_count(view.fetched), f"{show_size(view.bytes)} received"),
        Tile("failed", show_count(view.failed), f"{show_count(view.duplicates)} copies"),
        Tile(
            "queued",
            show_count(view.pending),
            f"{show_duration(view.pending * (view.delay_s + view.response_s))} of work",
        ),
        Tile("gap", show_duration(view.delay_s), f"answers in {show_duration(view.response_s)}"),
    ]


def _facts(story: HostStory) -> list[tuple[str, str]]:
    view = story.view
    facts = [
        ("site", view.site),
        ("gap because of", story.gap_because),
        ("speed", story.speed),
        ("next request from", moment(view.next_allowed)),
        ("last request", moment(view.last_fetch)),
        ("failures in a row", f"{story.errors_in_a_row}, backing off {show_duration(story.backoff_s)}"),
        ("parked", f"{view.parked}, until {moment(story.parked_until)}" if view.parked else "no"),
        ("addresses", ", ".join(story.addresses) or "not known"),
        ("certificate", story.tls_error or "no complaint"),
        ("importance", story.importance),
        ("refreshes put off", show_count(story.late_refreshes)),
        ("refused", ", ".join(f"{name} {count}" for name, count in sorted(view.refused.items())) or "nothing"),
        ("copies", view.copies),
        ("hints", view.hints),
    ]
    return [(name, text) for name, text in facts if text]


def _policy_facts(answer: Host) -> list[tuple[str, str]]:
    policy = answer.policy
    facts = [("gap now", f"{show_duration(policy.delay_s)} ({policy.delay_source})")]
    if policy.budget_left is not None:
        facts.append(("budget left", plural(policy.budget_left, "page")))
    if policy.parked_by_operator:
        facts.append(("set aside by", "an operator"))
    return facts


def gap_chart(story: HostStory) -> Markup:
    """Pauses before requests, oldest first; those that were too short are drawn in the colour of failures."""
    points = []
    for one in reversed(story.visits[:GAP_COLUMNS_MAX]):
        if one.gap_s is None:
            continue
        pause_ms, short = round(one.gap_s * 1000), one.gap_s < one.wanted_gap_s - 0.002
        wanted = show_duration(one.wanted_gap_s)
        title = f"{moment(one.time)}: {show_duration(one.gap_s)} after the one before; {wanted} wanted"
        points.append(Column(moment(one.time)[11:19], 0 if short else pause_ms, pause_ms if short else 0, title))
    longest = max((max(point.value, point.below) for point in points), default=0)
    return columns(points, wide=True, top_label=show_duration(longest / 1000))


# -- the rest ----------------------------------------------------------------------------------------------------------


async def url(served: Served, params: Params) -> Values:
    """Why a URL was fetched or not."""
    asked = params.get("url", "")
    return {"asked": asked, "told": await explained(served, asked) if asked else None, "marks": _MARKS}


async def takedowns(served: Served, params: Params) -> Values:
    """Every takedown with its steps, and a form for another."""
    found: tuple[TakedownAnswer, ...] = ()
    fault = ""
    try:
        found = (await listed(served)).takedowns
    except ApiError as error:
        fault = str(error)
    assert {kind for kind, _ in _KINDS} == set(get_args(TargetKind))
    return {"takedowns": found, "fault": fault, "kinds": _KINDS, "asked": params.get("value", ""), "precise": precise}


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
         live=("state", "tiles", "actions", "charts", "recent")),
    View(path="/hosts", title="Hosts", template="hosts.html", values=hosts, fields=("state", "after")),
    View(path="/host", title="Host", template="host.html", values=host, fields=("host",), in_menu=False,
         live=("standing",), every_s=5.0),
    View(path="/url", title="URL", template="url.html", values=url, fields=("url",)),
    View(path="/takedowns", title="Takedowns", template="takedowns.html", values=takedowns, fields=("value",),
         live=("list",)),
    View(path="/doctor", title="Doctor", template="doctor.html", values=doctor, live=("diagnosis",), every_s=5.0),
)  # fmt: skip
