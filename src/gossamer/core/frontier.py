"""Which hosts hold a slot, what each of them waits for, and who may go next. Owns no policy about URLs."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable
from typing import Final

from gossamer.core.active import ActiveHost, Phase
from gossamer.core.addresses import to_try
from gossamer.core.chance import Chance
from gossamer.core.lanes import Lane, Lanes
from gossamer.core.ledger import Ledger
from gossamer.core.turn import Errand
from gossamer.core.waiting import Shares, Waiting, place_of
from gossamer.model.limits import HOST_QUANTUM, LEVELS, UNCOMMITTED_PER_HOST_MAX
from gossamer.model.record import HostRow
from gossamer.ports.store import Store

SLOT_HOLD_MAX_S: Final = 30.0  # a host that may not be asked for longer than this gives its slot up
REFILL_MAX: Final = 256  # hosts looked at in one refill, so that one call stays short
SLEEPERS_MAX: Final = 200_000  # hosts asleep in memory, about 200 bytes each; beyond, they are found on disk again
OVERFLOW_MAX: Final = 100_000  # hosts outside one full lane in memory; beyond, as above
PASSED_BY_MIN_S: Final = 300.0  # between two looks at the front queues for hosts that were passed by


class Frontier:
    """Slots, sleepers and lanes. Every host is in exactly one place: waiting on disk, asleep, outside a full lane,
    returning from there, or active; and an active one in exactly one phase.
    """

    def __init__(
        self,
        store: Store,
        ledger: Ledger,
        waiting: Waiting,
        *,
        slots: int,
        lane_of: Callable[[str, str], str],
        lane_floor: Callable[[str, HostRow], float],
        yield_slot: Callable[[HostRow], None],
        on_admit: Callable[[HostRow, float], None],
        on_activate: Callable[[HostRow], None],
        chance: Chance,
        discovery_share: float = 0.5,
    ) -> None:
        """`lane_of(host, address)` names a lane, `lane_floor` says from when a lane new to memory may be used,
        `yield_slot` commits a host to the end of its front queue, `on_admit` sees every row that a slot is looked for,
        `on_activate` every row that gets one.
        """
        self._store = store
        self._ledger = ledger
        self._waiting = waiting
        self._slots = slots
        self._lane_of = lane_of
        self._lane_floor = lane_floor
        self._yield_slot = yield_slot
        self._on_admit = on_admit
        self._on_activate = on_activate
        self._chance = chance
        self._shares = Shares(discovery_share)
        self.lanes = Lanes()
        self.active: dict[str, ActiveHost] = {}
        self._asleep: dict[str, float] = {}
        self._sleepers: list[tuple[float, str]] = []
        self._outside: dict[str, str] = {}  # host -> full lane it waits for
        self._returning: deque[str] = deque()
        self._returning_next = False  # returning and waiting hosts get slots in turn
        self._promised: dict[str, Lane] = {}  # returning host -> lane that has let it in
        self._passed_by = math.inf  # when hosts that memory had no room for may be looked for in the front queues
        self._more_since: float | None = None  # the last refill stopped before all free slots were given
        self._to_resolve: dict[str, None] = {}  # in the order of asking

    # -- slots ---------------------------------------------------------------------------------------------------

    def refill(self, now: float) -> None:
        """Wake sleepers whose time has come and give free slots to returning and waiting hosts."""
        while self._sleepers and self._sleepers[0][0] <= now:
            at, sleeper = heapq.heappop(self._sleepers)
            if self._asleep.get(sleeper) == at:
                del self._asleep[sleeper]
                self._returning.append(sleeper)
        if self._passed_by <= now and not self._waiting.anything():
            self._passed_by = math.inf
            self._waiting.rewind()
        self._more_since = None
        for _ in range(REFILL_MAX):
            if len(self.active) >= self._slots:
                return
            host = self._next_host()
            if host is None:
                return
            row = self._ledger.find(host)
            if row is not None and row.pending > 0 and not self._placed(host):
                self._admit(row, now)
            else:
                self._keep_promise(host, None)
        self._more_since = now

    def _placed(self, host: str) -> bool:
        return host in self.active or host in self._asleep or host in self._outside

    def _next_host(self) -> str | None:
        """Hosts that come back and hosts that wait, in turn, so that neither starves the other."""
        if not self.can_refill():
            return None  # and whose turn it is stays, however often somebody looks
        self._returning_next = not self._returning_next
        if self._returning and self._returning_next:
            return self._returning.popleft()
        host = self._next_waiting()
        if host is None and self._returning:
            return self._returning.popleft()
        return host

    def _next_waiting(self) -> str | None:
        while True:
            taken = self._waiting.take(self._chance, discovery=self._shares.discovery_next())
            if taken is None:
                return None
            host, level, sequence = taken
            if self._placed(host):
                continue
            row = self._ledger.find(host)
            if row is not None and place_of(row, refresh=level >= LEVELS) == (level, sequence):
                if self._waiting.both():
                    self._shares.given(row)
                return host

    def _admit(self, row: HostRow, now: float) -> None:
        self._on_admit(row, now)
        until = max(row.next_allowed, row.parked_until if row.parked else 0.0)
        if until - now > SLOT_HOLD_MAX_S:
            self._keep_promise(row.host, None)
            self._sleep(row.host, until, now)
            return
        self._activate(row)
        self.settle(row.host, now)

    def _activate(self, row: HostRow) -> ActiveHost:
        self._ledger.pin(row)
        self._on_activate(row)
        host = ActiveHost(self._store, row)
        self.active[row.host] = host
        return host

    def run_errand(self, row: HostRow, errand: Errand, now: float, wait_max_s: float) -> bool:
        """Let a host make a request outside its queue, with a slot of its own if need be.

        False: it may not be asked within `wait_max_s`, or cannot be now.
        """
        host = self.active.get(row.host)
        until = max(row.next_allowed, row.parked_until if row.parked else 0.0)
        if until - now > wait_max_s or row.host in self._outside:
            return False
        if not row.addresses and until > now:
            return False  # its name was looked up in vain a moment ago
        if host is None:
            self._asleep.pop(row.host, None)
            host = self._activate(row)
            host.errands.append(errand)
            self.settle(row.host, now)
            return True
        host.errands.append(errand)
        self.resettle(row.host, now)
        return True

    def wake(self, name: str) -> None:
        """A host may be asked sooner than it was to be: look at it again."""
        if self._asleep.pop(name, None) is not None:
            self._returning.append(name)

    def resettle(self, name: str, now: float) -> None:
        """Something an active host may have waited for has happened."""
        host = self.active.get(name)
        if host is not None and host.phase in (Phase.DIGEST, Phase.ROBOTS):
            self.settle(name, now)

    # -- what a host does next -----------------------------------------------------------------------------------

    def settle(self, name: str, now: float) -> None:
        """Put an active host that has no turn and no place in a lane where it belongs now."""
        host = self.active[name]
        if host.phase in (Phase.LANE, Phase.IN_FLIGHT):
            msg = f"{name} settled while it {host.phase.value}"
            raise AssertionError(msg)
        row = host.row
        work = host.queue.available() > 0 and not host.robots_elsewhere
        if host.uncommitted >= UNCOMMITTED_PER_HOST_MAX or (host.uncommitted and not work and not host.errands):
            host.phase = Phase.DIGEST
            return
        if not work and not host.errands:
            if host.robots_elsewhere:
                host.phase = Phase.ROBOTS
            else:
                self._drop(host)
            return
        until = max(row.next_allowed, row.parked_until if row.parked else 0.0)
        leave = until - now > SLOT_HOLD_MAX_S
        tired = host.turns >= HOST_QUANTUM and len(self.active) >= self._slots and self.can_refill()
        tired = tired or len(self.active) > self._slots  # it came in on an errand, or another did
        if (leave or tired) and not host.errands:
            if host.uncommitted or host.robots_elsewhere:
                host.phase = Phase.DIGEST
            elif leave:
                self._drop(host)
                self._sleep(name, until, now)
            else:
                self._drop(host)
                self._yield_slot(row)
            return
        if not row.addresses and until > now and not host.errands:
            if host.uncommitted:
                host.phase = Phase.DIGEST
            else:
                self._drop(host)
                self._sleep(name, until, now)
            return
        if not row.addresses or row.addresses_expire <= now:
            host.phase = Phase.RESOLVING
            self._to_resolve[name] = None
            return
        self._join(host, until, now)

    def _join(self, host: ActiveHost, until: float, now: float) -> None:
        lane = self._pick_lane(host)
        if host.lane is not None and host.lane is not lane:
            self._leave(host)
        if lane.full and host.name not in lane.residents and not host.errands and not host.uncommitted:
            self._drop(host)
            if len(lane.overflow) < OVERFLOW_MAX:
                lane.overflow.append(host.name)
                self._outside[host.name] = lane.id
            else:
                self._pass_by(now, now)
            return
        host.lane = lane
        host.phase = Phase.LANE
        self.lanes.join(lane, host.name, until)
        self._keep_promise(host.name, lane)

    def _pick_lane(self, host: ActiveHost) -> Lane:
        """Stay in the lane while its address is one to be tried; else the least crowded of those."""
        best: Lane | None = None
        for address in to_try(host.row):
            lane_id = self._lane_of(host.name, address)
            lane = self.lanes.get(lane_id) or self.lanes.open(lane_id, self._lane_floor(lane_id, host.row))
            if lane is host.lane:
                return lane
            if best is None or len(lane.residents) < len(best.residents):
                best = lane
        if best is None:
            msg = f"{host.name} has no address"
            raise AssertionError(msg)
        return best

    def _leave(self, host: ActiveHost) -> None:
        if host.lane is not None:
            lane, host.lane = host.lane, None
            lane.residents.discard(host.name)
            self._invite(lane)

    def _invite(self, lane: Lane) -> None:
        """Let the first of those outside a lane in, when there is room."""
        if lane.overflow and not lane.full:
            host = lane.overflow.popleft()
            del self._outside[host]
            self._promised[host] = lane
            self._returning.append(host)

    def _keep_promise(self, name: str, joined: Lane | None) -> None:
        """A host has found its place: if that is not the lane that had let it in, another is let in instead."""
        lane = self._promised.pop(name, None)
        if lane is not None and lane is not joined:
            self._invite(lane)

    def _drop(self, host: ActiveHost) -> None:
        self._leave(host)
        self._keep_promise(host.name, None)
        del self.active[host.name]
        self._ledger.unpin(host.name)

    def _sleep(self, name: str, until: float, now: float) -> None:
        if len(self._asleep) >= SLEEPERS_MAX:
            self._pass_by(until, now)
            return
        self._asleep[name] = until
        heapq.heappush(self._sleepers, (until, name))

    def _pass_by(self, until: float, now: float) -> None:
        """Leave a host to its entry on disk: it is looked for there when its time has come."""
        self._passed_by = min(self._passed_by, max(until, now + PASSED_BY_MIN_S))

    # -- DNS -----------------------------------------------------------------------------------------------------

    def take_resolves(self, limit: int) -> list[str]:
        """Hosts whose names are to be resolved now, at most `limit`."""
        taken = [name for name, _ in zip(self._to_resolve, range(limit), strict=False)]
        for name in taken:
            del self._to_resolve[name]
        return [name for name in taken if name in self.active]

    # -- turns ---------------------------------------------------------------------------------------------------

    def take(self, now: float) -> ActiveHost | None:
        """Reserve the next host that may go, and its lane with it, in one step."""
        popped = self.lanes.pop(now)
        if popped is None:
            return None
        host = self.active[popped[1]]
        host.phase = Phase.IN_FLIGHT
        return host

    def end_turn(self, host: ActiveHost, lane_next_at: float, now: float) -> None:
        """Free the lane of a host that was taken, usable again from `lane_next_at`, and settle the host."""
        if host.lane is None:
            msg = f"{host.name} ends a turn without a lane"
            raise AssertionError(msg)
        self.lanes.release(host.lane, lane_next_at)
        host.phase = Phase.DIGEST
        self.settle(host.name, now)

    def next_time(self) -> float | None:
        """When something can happen without an event from outside, or None."""
        if self._more_since is not None:
            return self._more_since
        times = [self.lanes.next_time(), self._sleepers[0][0] if self._sleepers else None]
        if self._passed_by < math.inf:
            times.append(self._passed_by)
        return min((at for at in times if at is not None), default=None)

    def ripe(self, before: float) -> bool:
        """Whether something can be done before a time: look a name up, fill a free slot, take a turn."""
        if self._to_resolve or (len(self.active) < self._slots and self.can_refill()):
            return True
        at = self.next_time()
        return at is not None and at < before

    def can_refill(self) -> bool:
        """Whether a host may be waiting for a slot."""
        return bool(self._returning) or self._waiting.anything()

    def asleep(self) -> dict[str, float]:
        """Sleeping hosts and when each wakes."""
        return self._asleep

    def passed_by(self) -> float:
        """When hosts that memory had no room for are looked for; infinite when there are none."""
        return self._passed_by
