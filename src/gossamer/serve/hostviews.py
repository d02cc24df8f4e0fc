"""What the pages about hosts show: lists of them, and one host's whole story."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec

from gossamer.model.control import Freshness, Host, HostPolicy, ReadFreshness, ReadHost
from gossamer.model.view import HostView
from gossamer.serve.crawls import Served
from gossamer.serve.faults import ApiError
from gossamer.serve.hostcharts import FAILED_FROM, gap_chart, is_failed, timeline
from gossamer.serve.reads import checked_host, page_of_hosts, unknown_host
from gossamer.serve.shapes import HostPage, HostsQuery
from gossamer.serve.view import Params, Values
from gossamer.surface.charts import bars
from gossamer.surface.explainview import moment
from gossamer.surface.hostfreshness import HostFreshness
from gossamer.surface.hoststory import HostStory
from gossamer.surface.reader import Reader
from gossamer.surface.reporthtml import Tile, status_bars
from gossamer.surface.units import plural, show_count, show_duration, show_size

HOSTS_ON_PAGE: Final = 100
HOSTS_RANKED_MAX: Final = 100_000  # looked at for a list that is not in the order of names
VISITS_READ: Final = 2_000  # for the charts of a host
VISITS_ON_PAGE: Final = 50
TROUBLES_ON_PAGE: Final = 10
ROBOTS_LINES_ON_PAGE: Final = 500
STATES: Final = ("", "ready", "resting", "waiting", "parked", "idle")
_AMOUNTS: Final[dict[str, Callable[[HostView], float]]] = {
    "queued": lambda view: view.pending,
    "fetched": lambda view: view.fetched,
    "failed": lambda view: view.failed,
    "response": lambda view: view.response_s,
    "gap": lambda view: view.delay_s,
}
SORTS: Final = ("name", *_AMOUNTS)


async def hosts(served: Served, params: Params) -> Values:
    """Some hosts: in the order of their names, or those that have most of something."""
    state, sort = params.get("state", ""), params.get("sort", "") or "name"
    for field, value, allowed in (("state", state, STATES), ("sort", sort, SORTS)):
        if value not in allowed:
            names = ", ".join(filter(None, allowed))
            raise ApiError(422, f"there is no such {field}", field=f"query.{field}", value=value, allowed=names)
    given = {"after": params.get("after", "")[:300], "limit": HOSTS_ON_PAGE, "state": state}
    query = msgspec.convert(given, HostsQuery)
    whole = True
    if sort == "name":
        page = await served.read(lambda reader: page_of_hosts(reader, query))
    else:
        page, whole = await served.read(lambda reader: top_hosts(reader, state, sort))
    return {"page": page, "states": STATES, "state": state, "sorts": SORTS, "sort": sort, "whole": whole,
            "ranked_max": HOSTS_RANKED_MAX}  # fmt: skip


def top_hosts(reader: Reader, state: str, sort: str) -> tuple[HostPage, bool]:
    """The hosts with most of what is asked for, and whether all hosts were looked at."""
    seen = 0

    def looked_at() -> Iterator[HostView]:
        nonlocal seen
        for view in islice(reader.hosts(), HOSTS_RANKED_MAX):
            seen += 1
            if state in ("", view.state):
                yield view

    found = heapq.nlargest(HOSTS_ON_PAGE, looked_at(), key=_AMOUNTS[sort])
    return HostPage(hosts=tuple(found)), seen < HOSTS_RANKED_MAX


def found_host(reader: Reader, name: str) -> str:
    """The host that is meant by a name, which may lack its port; "" when the crawl has never seen one."""
    if reader.host_row(name) is not None:
        return name
    following = next(iter(reader.hosts(after=f"{name}:")), None)
    return following.host if following is not None and following.host.startswith(f"{name}:") else ""


async def host(served: Served, params: Params) -> Values:
    """One host's whole story."""
    name = checked_host(params.get("host", ""), "query.host")
    story = await served.read(lambda reader: reader.story(name, VISITS_READ))
    if story is None:
        raise unknown_host(name, "query.host")
    copies = await served.read(lambda reader: reader.freshness(name))
    answer = await served.control.ask(ReadHost(host=name))
    expected = await served.control.ask(ReadFreshness(host=name))
    policy = answer.policy if isinstance(answer, Host) else None
    return {
        "story": story,
        "view": story.view,
        "policy": policy,
        "gaps": story.gaps,
        "tiles": _host_tiles(story.view),
        "facts": [*_facts(story), *(_policy_facts(policy) if policy is not None else ())],
        "fresh": _fresh_facts(copies, expected if isinstance(expected, Freshness) else None),
        "undo": _undo(policy),
        "outcomes": bars(status_bars(story.outcomes)),
        "statuses": bars(status_bars(story.view.statuses)),
        "timeline": timeline(story),
        "gaps_chart": gap_chart(story),
        "troubles": [one for one in story.visits if is_failed(one)][:TROUBLES_ON_PAGE],
        "refused": [one for one in story.visits if not one.sent][:TROUBLES_ON_PAGE],
        "visits": [one for one in story.visits if one.sent][:VISITS_ON_PAGE],
        "failed_from": FAILED_FROM,
        "robots_lines": ROBOTS_LINES_ON_PAGE,
    }


def _host_tiles(view: HostView) -> list[Tile]:
    work_s = view.pending * (view.delay_s + view.response_s)
    return [
        Tile("fetched", show_count(view.fetched), f"{show_size(view.bytes)} received"),
        Tile("failed", show_count(view.failed), f"{show_count(view.duplicates)} copies"),
        Tile("queued", show_count(view.pending), f"{show_duration(work_s)} of work"),
        Tile("gap", show_duration(view.delay_s), f"answers in {show_duration(view.response_s)}"),
    ]


def _facts(story: HostStory) -> list[tuple[str, str]]:
    view = story.view
    failures = f"{story.errors_in_a_row}, backing off {show_duration(story.backoff_s)}"
    facts = [
        ("site", view.site),
        ("gap because of", story.gap_because),
        ("speed", story.speed),
        ("next request from", moment(max(view.next_allowed, story.parked_until if view.parked else 0.0))),
        ("last request", moment(view.last_fetch)),
        ("failures in a row", failures if story.errors_in_a_row else "none"),
        ("parked", f"{view.parked}, until {moment(story.parked_until)}" if view.parked else "no"),
        ("addresses", ", ".join(story.addresses) or "not known"),
        ("certificate", story.tls_error or "no complaint"),
        ("importance", story.importance),
        ("refused", ", ".join(f"{name} {count}" for name, count in sorted(view.refused.items())) or "nothing"),
        ("copies", view.copies),
        ("hints", view.hints),
    ]
    return [(name, text) for name, text in facts if text]


def _policy_facts(policy: HostPolicy) -> list[tuple[str, str]]:
    facts = [("gap now", f"{show_duration(policy.delay_s)} ({policy.delay_source})")]
    if policy.budget_left is not None:
        facts.append(("budget left", plural(policy.budget_left, "page")))
    if policy.parked_by_operator:
        facts.append(("set aside by", "an operator"))
    return facts


def _undo(policy: HostPolicy | None) -> list[tuple[str, str]]:
    """What an operator has set that can be taken back: (field, what the button says)."""
    if policy is None:
        return []
    found = []
    if policy.operator_delay_s is not None:
        found.append(("delay_s", f"Take back the gap of {show_duration(policy.operator_delay_s)}"))
    if policy.parked_by_operator:
        found.append(("park_s", "Let it go on"))
    if policy.budget_left is not None:
        found.append(("budget", "Lift the budget"))
    return found


def _fresh_facts(copies: HostFreshness | None, expected: Freshness | None) -> list[tuple[str, str]]:
    if copies is None:
        return []
    age = f"{show_duration(copies.age_p50_s)} (median), the oldest {show_duration(copies.oldest_s)}"
    facts = [
        ("known URLs", show_count(copies.known_urls) + ("" if copies.counted_all else " and more")),
        ("pages kept", show_count(copies.pages)),
        ("visited this month", show_count(copies.fetched_this_month)),
        ("seen to have changed", f"{show_count(copies.changed_this_month)} this month"),
        ("age of a copy", age if copies.pages else ""),
        ("due now", show_count(copies.due)),
    ]
    if expected is not None and expected.expected_fresh is not None:
        facts.append(("expected to be fresh", f"{expected.expected_fresh:.0%} of {plural(expected.planned, 'page')}"))
    return [(name, text) for name, text in facts if text]
