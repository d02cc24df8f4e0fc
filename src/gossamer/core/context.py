"""The collaborators of one partition, made once and shared by its parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gossamer.core.admission import Admission
from gossamer.core.chance import Chance
from gossamer.core.changes import Changes
from gossamer.core.counters import Counters
from gossamer.core.frontier import Frontier
from gossamer.core.keys import probe_key
from gossamer.core.ledger import Ledger
from gossamer.core.logbook import Logbook
from gossamer.core.refreshing import Refreshing
from gossamer.core.robotsdesk import RobotsDesk
from gossamer.core.takedowns import TakedownDesk
from gossamer.core.waiting import Waiting
from gossamer.model.config import Config
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow
from gossamer.policy.politeness import gap_s, resumed_next_allowed
from gossamer.policy.scope import ScopeRules
from gossamer.ports.store import Store

ASKED: Final = "asked"  # HostRow.not_found_state while a probe is under way
LANES_READ_AT_ONCE: Final = 1_000
FORBIDDEN_PARK_S: Final = 86_400.0


class Context:
    """Store, ledger, counters, queues and rules of one partition."""

    def __init__(
        self,
        config: Config,
        scope: ScopeRules,
        store: Store,
        chance: Chance,
        *,
        started: float,
        lane_of: Callable[[str, str], str],
        net_of: Callable[[str], str],
        as_of: Callable[[str], int | None],
        exempt: Callable[[str], bool],
    ) -> None:
        """`started` is the time of this start; `lane_of`, `net_of`, `as_of` name lanes and networks of addresses;
        `exempt` says whether an address is a CDN's, whose networks have no rate limit.
        """
        self.config = config
        self.scope = scope
        self.store = store
        self.chance = chance
        self.started = started
        self.net_of = net_of
        self.as_of = as_of
        self.exempt = exempt
        # An errand waits for its host as long as the longest ordinary gap, not through a back-off.
        self.errand_wait_max_s = max(config.politeness.max_delay_s, config.politeness.crawl_delay_max_s)
        self.counters = Counters(store)
        self.logbook = Logbook(store)
        # Nothing in the calendar is due before: what was taken out of it leaves traces in the store, over which a
        # look from the start would have to climb each time.
        self.due_from = 0.0
        self.early_from = 0.0  # the same for looks at what is due next, which go on where the last one ended
        self.refreshing = Refreshing(config, store, self.counters.totals, started)
        self.key_asked: set[str] = set()  # hosts that are being asked for the key of a ping
        self.resumed = self.counters.totals.runs > 0
        self.ledger = Ledger(store, config.politeness.min_delay_s, self.counters.totals)
        self.waiting = Waiting(store)
        self.takedowns = TakedownDesk(store)
        self.desk = RobotsDesk(config, store, self.takedowns)
        self.admission = Admission(self.ledger, self.counters, self.waiting, self.takedowns)
        self.lane_times = load_lane_times(
            store, started, max(config.politeness.max_delay_s, config.politeness.min_delay_s)
        )
        self.frontier = Frontier(
            store,
            self.ledger,
            self.waiting,
            slots=config.frontier.slots,
            lane_of=lane_of,
            lane_floor=self._lane_floor,
            yield_slot=self._yield_slot,
            on_admit=self._on_admit,
            on_activate=self._on_activate,
            chance=chance,
            discovery_share=config.frontier.discovery_share,
        )

    def apply(self, changes: Changes) -> None:
        """Write a commit, counters included."""
        self.counters.put(changes)
        self.logbook.sweep(changes)
        self.store.write(changes.ops())

    def lane_gap_s(self, row: HostRow) -> float:
        """Gap a request to this host puts on its server: a host's Crawl-delay binds the host alone.

        A shorter one that the operator has set binds the server as well, or it would have no effect.
        """
        usual_s = gap_s(self.config.politeness, None, row.response_s)
        ordered_s = None if row.orders is None else row.orders.delay_s
        return usual_s if ordered_s is None else min(usual_s, ordered_s)

    def _lane_floor(self, lane_id: str, row: HostRow) -> float:
        """From when a lane new to memory may be used.

        What it owed before is kept in the store. After a restart a request of the run before may have ended at the
        moment of the start, unseen: its gap is waited for as well.
        """
        floor = self.lane_times.get(lane_id, 0.0)
        if self.resumed:
            floor = max(floor, self.started + self.lane_gap_s(row))
        return floor

    def _on_admit(self, row: HostRow, now: float) -> None:
        """A host has work. What a run before parked for its address or its name alone is looked up again.

        `net.allow`, the resolver or the hosts file may be others now, and a look-up asks nothing of the host.
        """
        if row.last_fetch > now:
            set_back(row, row.last_fetch - now)
        if not self.resumed or not row.parked.startswith((Reason.ADDRESS_FORBIDDEN, Reason.DNS_FAILED)):
            return
        forbidden = row.parked.startswith(Reason.ADDRESS_FORBIDDEN)
        parked_s = FORBIDDEN_PARK_S if forbidden else self.config.politeness.park_s
        if row.parked_until < self.started + parked_s:
            row.parked_until = min(row.parked_until, self.started)
            if not row.last_fetch:  # its back-off was for the name alone
                row.next_allowed = min(row.next_allowed, self.started)

    def _on_activate(self, row: HostRow) -> None:
        """A host gets a slot. After a restart its first visit waits a gap from the start, and is spread by jitter.

        Once: a host without an address gives its slot back while it waits, and would be put off each time it returns.
        """
        if row.not_found_state == ASKED and self.store.get(Cf.META, probe_key(row.host)) is None:
            row.not_found_state = ""  # asked by an earlier version, in memory only
        if self.resumed and row.last_fetch <= self.started and row.next_allowed <= self.started + row.delay_s:
            politeness = self.config.politeness
            row.next_allowed = resumed_next_allowed(
                row.next_allowed, row.delay_s, self.started, politeness.start_jitter_s, self.chance
            )

    def _yield_slot(self, row: HostRow) -> None:
        changes = Changes(self.store)
        self.waiting.wait(changes, row, self.counters.sequence)
        self.ledger.put(changes, row)
        self.apply(changes)


def set_back(row: HostRow, by_s: float) -> None:
    """The clock was set back between two runs, and a host's last fetch lies ahead: what it owes counts from now."""
    row.last_fetch -= by_s
    row.next_allowed -= by_s
    row.parked_until -= by_s
    row.addresses_expire -= by_s
    for state in row.robots.values():
        state.expires -= by_s


def load_lane_times(store: Store, now: float, wait_max_s: float) -> dict[str, float]:
    """Next allowed times of lanes as they were last committed; those that have passed are removed from the store.

    No lane owes more than `wait_max_s`: what lies further ahead was written before the clock was set back.
    """
    times: dict[str, float] = {}
    start = b""
    while True:
        rows = store.scan(Cf.LANE, start, None, LANES_READ_AT_ONCE)
        if not rows:
            return times
        passed = [key for key, value in rows if float(value) <= now]
        store.write([(Cf.LANE, key, None) for key in passed])
        times.update((key.decode(), min(float(value), now + wait_max_s)) for key, value in rows if float(value) > now)
        start = rows[-1][0] + b"\x00"
