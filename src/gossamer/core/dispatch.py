"""Making turns: the next host that may go, the next of its URLs, all checks that belong to the moment of fetching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gossamer.core import halting, overdue, pings, probing, softfour
from gossamer.core.active import ActiveHost, Phase
from gossamer.core.buckets import Buckets
from gossamer.core.calendar import plan
from gossamer.core.changes import Changes, decode_site
from gossamer.core.context import Context
from gossamer.core.copies import response_of
from gossamer.core.hostqueue import Place, dequeue
from gossamer.core.robotsdesk import Standing
from gossamer.core.turn import Errand, Turn
from gossamer.model.event import FetchEvent
from gossamer.model.limits import SITEMAPS_UNDER_WAY_MAX, SLOW_SLOTS_SHARE
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, SiteRow, State, UrlRow
from gossamer.model.url import Url, parse, wire_parts
from gossamer.policy.politeness import is_slow
from gossamer.policy.scope import judge, why
from gossamer.policy.traps import judge_hosts, shapes_of

REFUSALS_PER_TURN_MAX: Final = 64  # URLs refused of one host before others get a chance
TRIES_MAX: Final = 16  # hosts looked at in one call that turn out to have nothing for now; bounds its time
SITE_WINDOW_S: Final = 30 * 86400.0
SLOW_RETRY_S: Final = 1.0
SITEMAP_RETRY_S: Final = 2.0  # until a host is looked at again whose turn was a sitemap's, while many are under way
FAR: Final = 253_402_300_799.0  # the last second of the year 9999: until somebody decides otherwise


class Dispatch:
    """Hands out turns. Nothing that it hands out can be handed out twice."""

    def __init__(self, context: Context, buckets: Buckets, under_way: Mapping[Kind, int]) -> None:
        """Take turns from the frontier of `context` as the `buckets` allow.

        `under_way`: turns handed out and not yet committed, by kind; the owner counts them.
        """
        self._c = context
        self._buckets = buckets
        self._under_way = under_way
        self._slow_max = max(1, int(context.config.fetch.concurrency * SLOW_SLOTS_SHARE))
        self.slow_in_flight = 0
        self.events: list[FetchEvent] = []  # refusals made on the way, for the crawl log

    def next_turn(self, now: float) -> Turn | None:
        """The next request that may be made now, or None. Reserves host and lane."""
        self._c.frontier.refill(now)
        for _ in range(TRIES_MAX):
            host = self._c.frontier.take(now)
            if host is None:
                return None
            turn = self._make(host, now)
            if turn is not None:
                turn.slow = is_slow(host.row.response_p99_s)
                self.slow_in_flight += turn.slow
                return turn
        return None

    def _make(self, host: ActiveHost, now: float) -> Turn | None:
        address = _address(host)
        row = host.row
        if is_slow(row.response_p99_s) and self.slow_in_flight >= self._slow_max:
            row.next_allowed = max(row.next_allowed, now + SLOW_RETRY_S)
        at = self._buckets.ready_at(address, now)
        # Its ledger may have changed since it queued in its lane: new rules, say, with a Crawl-delay.
        if at > now or row.next_allowed > now or (row.parked and row.parked_until > now):
            self._c.frontier.end_turn(host, at, now)
            return None
        changes = Changes(self._c.store)
        errand = self._next_errand(host, changes, now) if host.errands else None
        if errand is not None:
            turn: Turn | None = self._errand_turn(host, errand, address, now)
        else:
            turn = self._queue_turn(host, address, changes, now)
        if changes.ops():
            self._c.ledger.put(changes, host.row)
            self._c.apply(changes)
        if turn is None:
            self._c.frontier.end_turn(host, now, now)
        return turn

    def _next_errand(self, host: ActiveHost, changes: Changes, now: float) -> Errand | None:
        """The next request of a host outside its queue. Probes and keys are held against the rules of now."""
        while host.errands:
            errand = host.errands.popleft()
            if errand.kind is not Kind.PROBE and errand.kind is not Kind.KEY:
                return errand
            standing = self._c.desk.standing(host, errand.scheme, now)
            if standing is Standing.MISSING:
                host.errands.appendleft(errand)
                return self._c.desk.errand(host.row, errand.scheme)
            if self._c.takedowns.refusal(errand.url):
                self._give_up(changes, host, errand, softfour.HONEST, now)
            elif standing is not Standing.KNOWN:
                self._give_up(changes, host, errand, "", now)
            elif self._c.desk.refusal(host, errand.scheme, wire_parts(errand.url)[3]) is not None:
                self._give_up(changes, host, errand, softfour.HONEST, now)
            else:
                return errand
        return None

    def _give_up(self, changes: Changes, host: ActiveHost, errand: Errand, known: str, now: float) -> None:
        """A request outside the queue may not be made; `known`: what a probe's host is taken to be from now on."""
        if errand.kind is Kind.PROBE:
            probing.end(changes, host.row, known)
        elif known:
            pings.ended(self._c, changes, host.row, 0, b"", now)
        else:
            pings.dropped(self._c, host.name)

    def _queue_turn(self, host: ActiveHost, address: str, changes: Changes, now: float) -> Turn | None:
        for _ in range(REFUSALS_PER_TURN_MAX):
            place = host.queue.take(self._c.chance, self._c.config.frontier.discovery_share)
            if place is None:
                return None
            row = changes.url(place.key)
            if row is None:
                msg = f"{place.key} is queued but has no row"
                raise AssertionError(msg)
            if row.state is not State.QUEUED and not place.refresh:  # fetched meanwhile as an errand: /robots.txt
                drop_place(self._c, changes, host.row, place)
                host.queue.done(place.level, place.sequence)
                continue
            takedown = self._c.takedowns.refusal(row.url)
            if takedown:
                self._halt(changes, host, place, row, takedown, now)
                continue
            if row.depth and not host.row.fetched and self._hosts_are_copies(changes, host.row.site):
                said = "the hosts of its site show one another's pages"
                self._refuse(changes, host, place, row, Reason.TRAP_HOSTS, said, now)
                continue
            tired = _tired_shape(host.row, row, place)
            if tired:
                self._refuse(changes, host, place, row, Reason.TRAP_SHAPE, tired, now)
                continue
            excluded = self._excluded(row.url)
            if excluded:
                self._refuse(changes, host, place, row, Reason.SCOPE_EXCLUDED, excluded, now)
                continue
            scheme, _, _, target = wire_parts(row.url)
            standing = self._c.desk.standing(host, scheme, now)
            if standing is Standing.MISSING:
                host.queue.give_back(place)
                return self._errand_turn(host, self._c.desk.errand(host.row, scheme), address, now)
            if standing is not Standing.KNOWN:
                host.queue.give_back(place)
                if standing is Standing.CLOSED:
                    host.row.next_allowed = max(host.row.next_allowed, host.row.robots[scheme].expires)
                    self._c.ledger.put(changes, host.row)
                return None
            rule = self._c.desk.refusal(host, scheme, target)
            if rule is not None:
                self._refuse(changes, host, place, row, Reason.ROBOTS, rule, now)
                continue
            spent = self._host_exhausted(host.row) or self._site_exhausted(changes, host.row, now)
            if spent or self._sitemap_waits(host.row, row.kind, now):
                host.queue.give_back(place)
                return None
            return self._queue_entry_turn(host, address, changes, now, place, row)
        return None

    def _queue_entry_turn(
        self, host: ActiveHost, address: str, changes: Changes, now: float, place: Place, row: UrlRow
    ) -> Turn:
        turn = self._turn(host, address, now, row.kind, row.url, place.key)
        turn.place, turn.row = place, row
        if (row.etag or row.last_modified) and row.status == 200:
            held = response_of(changes, row, self._c.takedowns.refusal)
            if held is not None:  # else a 304 would say nothing
                turn.etag, turn.last_modified = row.etag, row.last_modified
        return turn

    def _errand_turn(self, host: ActiveHost, errand: Errand, address: str, now: float) -> Turn:
        turn = self._turn(host, address, now, errand.kind, errand.url, errand.key)
        turn.errand = errand
        return turn

    def _turn(self, host: ActiveHost, address: str, now: float, kind: Kind, url: str, key: str) -> Turn:
        """Count the request in its networks' buckets and make the turn."""
        self._buckets.take(address, now)
        fresh = key in host.stale
        host.stale.discard(key)
        scheme, name, port, target = wire_parts(url)
        allowed, rules_at = self._c.desk.allowance(host, scheme, target) if kind is not Kind.ROBOTS else ("", 0.0)
        return Turn(
            id=self._next_id(),
            host=host.name,
            lane=_lane_id(host),
            kind=kind,
            url=url,
            key=key,
            scheme=scheme,
            name=name,
            port=port,
            target=target,
            address=address,
            started=now,
            fresh=fresh,
            robots=allowed,
            robots_at=rules_at,
        )

    def _next_id(self) -> int:
        self._c.counters.totals.turns += 1
        return self._c.counters.totals.turns

    def _refuse(
        self, changes: Changes, host: ActiveHost, place: Place, row: UrlRow, reason: Reason, said: str, now: float
    ) -> None:
        drop_place(self._c, changes, host.row, place)
        host.queue.done(place.level, place.sequence)
        row.reason, row.detail, row.refresh = reason, said, False
        if row.state is State.QUEUED:
            row.state = State.REFUSED
        else:
            plan(self._c, changes, place.key, row, now, duplicate=True)
        changes.put_url(place.key, row)
        self._c.counters.refuse(reason)
        host.row.refused[reason] = host.row.refused.get(reason, 0) + 1
        event = FetchEvent(
            time=now,
            url=row.url,
            key=place.key,
            host=host.name,
            site=host.row.site,
            kind=row.kind,
            reason=reason,
            detail=said,
            verdict="refused",
            depth=row.depth,
            level=row.level,
            via=row.via,
        )
        self.events.append(event)
        self._c.logbook.put(changes, event)

    def _halt(self, changes: Changes, host: ActiveHost, place: Place, row: UrlRow, takedown: str, now: float) -> None:
        drop_place(self._c, changes, host.row, place)
        host.queue.done(place.level, place.sequence)
        halting.rest(self._c, changes, place.key, row, host.row, takedown, now)
        self.events.append(halting.line(self._c, changes, place.key, row, host.row, now))
        changes.put_url(place.key, row)

    def _excluded(self, wire: str) -> str:
        """Which exclude pattern keeps a URL out, in words. One may be new since the URL was let in."""
        scope = self._c.scope
        url = parse(wire) if scope.exclude else None
        return why(scope, url) if isinstance(url, Url) and judge(scope, url) is Reason.SCOPE_EXCLUDED else ""

    def _hosts_are_copies(self, changes: Changes, site: str) -> bool:
        raw = changes.get(Cf.SITE, site.encode())
        if raw is None:
            return False
        found = decode_site(raw)
        return judge_hosts(found.fronts, found.copied_fronts) is not None

    def _host_exhausted(self, row: HostRow) -> bool:
        """Park a host that has had the page visits which the operator gave it."""
        if row.orders is None or row.orders.budget_left != 0:
            return False
        park(self._c, row, f"{Reason.HOST_BUDGET}: the operator's budget for it is used up", FAR)
        return True

    def _sitemap_waits(self, row: HostRow, kind: Kind, now: float) -> bool:
        """Whether a turn is a sitemap's and as many of those are under way as memory is meant for. The host waits."""
        if kind is not Kind.SITEMAP or self._under_way[kind] < SITEMAPS_UNDER_WAY_MAX:
            return False
        row.next_allowed = max(row.next_allowed, now + SITEMAP_RETRY_S)
        return True

    def _site_exhausted(self, changes: Changes, row: HostRow, now: float) -> bool:
        """In a broad crawl: park a host whose site has had its fetches of the current 30 days."""
        limits = self._c.config.limits
        if self._c.config.scope.mode != "any":
            return False
        raw = changes.get(Cf.SITE, row.site.encode())
        site = decode_site(raw) if raw is not None else SiteRow()
        if site.fetched < limits.site_pages or now - site.window_start >= SITE_WINDOW_S:
            return False
        park(self._c, row, Reason.SITE_BUDGET, site.window_start + SITE_WINDOW_S)
        self._c.ledger.put(changes, row)
        return True


def park(context: Context, row: HostRow, reason: str, until: float) -> None:
    """Set a host aside until a time, unless the operator has for longer; the caller puts the ledger row."""
    if row.orders is not None and row.orders.parked_until > until:
        return
    if not row.parked:
        context.counters.totals.parked += 1
    row.parked, row.parked_until = reason, until


def unpark(context: Context, row: HostRow) -> None:
    """A parked host has answered; the caller puts the ledger row. What the operator set aside stays so."""
    if row.parked and (row.orders is None or row.orders.parked_until <= row.last_fetch):
        context.counters.totals.parked -= 1
        row.parked, row.parked_until = "", 0.0


def drop_place(context: Context, changes: Changes, row: HostRow, place: Place) -> None:
    """Take an entry out of its queue in a commit, and its host out of the waiting ones with the last."""
    dequeue(changes, row, place.level, place.sequence)
    totals = context.counters.totals
    totals.queued -= 1
    totals.queued_by_level[place.level] -= 1
    if row.pending == 0:
        totals.hosts_with_work -= 1
    if row.late:
        overdue.follow(context, changes, row)
    context.waiting.settle(changes, row, context.counters.sequence)


def _tired_shape(host: HostRow, row: UrlRow, place: Place) -> str:
    """In words, the shape of a URL that has stopped bringing new content since the URL was queued; else nothing."""
    if not host.tired_shapes or not row.depth or row.kind is not Kind.PAGE or place.refresh:
        return ""
    tired = next((shape for shape in shapes_of(row.url) if shape in host.tired_shapes), "")
    return f"pages like {tired} have stopped bringing new content" if tired else ""


def _address(host: ActiveHost) -> str:
    lane_id = _lane_id(host)
    return lane_id.rpartition("|")[2]


def _lane_id(host: ActiveHost) -> str:
    if host.lane is None or host.phase is not Phase.IN_FLIGHT:
        msg = f"{host.name} has no turn"
        raise AssertionError(msg)
    return host.lane.id
