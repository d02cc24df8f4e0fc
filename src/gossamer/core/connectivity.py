"""Whether the network is gone although its routes stand: told from servers that fall silent one after the other.

A dead gateway or provider looks like many dead servers. What tells them apart is who is silent, and when: servers that
answered when they were last asked, several of them, in a row, while nobody answers. From then on silence is our
own fault, until somebody answers; after an hour of it, it counts again: then it may be servers that have really died.

Who was in trouble before, or never answered, is no witness. What a nameserver says is no sign of life: one nearby may
know it from before. Times are arguments.
"""

from __future__ import annotations

import math
from typing import Final

import msgspec

from gossamer.core.account import DEFINITE
from gossamer.model.page import Failure, Outcome, Resolution
from gossamer.model.record import HostRow

SILENT_HOSTS_MIN: Final = 10  # different servers, all of which answered when they were last asked
SILENT_S: Final = 10.0  # for so long nobody has answered
SILENT_MAX_S: Final = 3_600.0  # how long silence is taken for our own fault
MISSES: Final = frozenset(
    (Failure.TIMEOUT, Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.CONNECT, Failure.DISCONNECTED)
)
CUT_OFF: Final = frozenset(("time", "disconnect"))  # how a response ends that the network may have ended
NO_NETWORK: Final = f"no network: the last {SILENT_HOSTS_MIN} servers, all of which had answered before, are silent"


class Connectivity:
    """Told how each visit and each look-up ended, says which of them count as ours. A restart begins anew."""

    def __init__(self) -> None:
        self._answered = -math.inf  # when somebody answered last
        self._silent: set[str] = set()  # servers since then, SILENT_HOSTS_MIN at most
        self._since = 0.0  # when the first of them was asked, or when somebody answered last if that was later
        self._noted = 0.0  # when it was known of the first of them
        self._gone_at = math.inf
        self.gone = False  # taken to be gone
        self.given_up = False  # it was, for too long: misses count again until somebody answers

    def visited(self, outcome: Outcome, lane: str, begun: float, now: float, *, steady: bool) -> Outcome:
        """An outcome as it counts.

        Args:
            outcome: of a request that we made ourselves.
            lane: the server.
            begun: when the request was made.
            now: when it ended; both unix seconds.
            steady: whether the host answered when it was last asked.
        """
        if outcome.failure is None:
            if outcome.truncated not in CUT_OFF or not self._silent or begun > self._noted:
                self._heard(now)
                return outcome
            missed = self._silence(now)  # its beginning may have come before the network went
        else:
            missed = outcome.failure in MISSES and self._missed(lane, begun, now, steady=steady)
        return msgspec.structs.replace(outcome, failure=Failure.OURS, failure_detail=NO_NETWORK) if missed else outcome

    def looked_up(self, resolution: Resolution, lane: str, begun: float, now: float, *, steady: bool) -> Resolution:
        """A resolution as it counts; `lane` is where the name led before."""
        if not resolution.error or resolution.ours or resolution.error in DEFINITE:
            return resolution
        missed = self._missed(lane, begun, now, steady=steady)
        return msgspec.structs.replace(resolution, error=NO_NETWORK, ours=True) if missed else resolution

    def _heard(self, now: float) -> None:
        self._answered, self._gone_at = now, math.inf
        self._silent.clear()
        self.gone = self.given_up = False

    def _missed(self, lane: str, begun: float, now: float, *, steady: bool) -> bool:
        if steady and len(self._silent) < SILENT_HOSTS_MIN:
            if not self._silent:
                self._since, self._noted = max(begun, self._answered), now
            self._silent.add(lane)
        return self._silence(now)

    def _silence(self, now: float) -> bool:
        """Whether silence at this moment is ours."""
        if len(self._silent) >= SILENT_HOSTS_MIN and now - self._since >= SILENT_S:
            self._gone_at = min(self._gone_at, now)
        silent_s = now - self._gone_at  # -inf as long as the network is there
        self.gone, self.given_up = 0 <= silent_s < SILENT_MAX_S, silent_s >= SILENT_MAX_S
        return self.gone


def is_steady(row: HostRow | None) -> bool:
    """Whether a host answered when it was last asked: that it is silent now is news."""
    return row is not None and row.reached and not row.errors
