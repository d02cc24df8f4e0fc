"""Politeness as the servers feel it, judged request by request, over restarts too. Keeps its own accounts: nothing here
asks the ledger or `policy.politeness` what they think.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from gossamer.model.config import Politeness

SLACK_S: Final = 1e-6
TROUBLE_S: Final = 10.0  # the least pause after a failure, a 429 or a 5xx
A_DAY_S: Final = 86_400.0
NEWEST_SHARE: Final = 0.2  # of a response time in the average of its host's


class _Account(msgspec.Struct):
    """A host or a lane: what it is asked now, and from when it may be asked again."""

    now: str = ""  # the request in flight
    ended: float = 0.0  # the last one; 0: none
    free_at: float = 0.0
    response_s: float = 0.0  # a host's average


class Manners:
    """Who is being asked, and who may be asked again when."""

    def __init__(self, politeness: Politeness, crawl_delay_s: Callable[[str], float]) -> None:
        """`crawl_delay_s(host)`: what its rules ask for as far as they are known, 0 for nothing."""
        self._politeness = politeness
        self._crawl_delay_s = crawl_delay_s
        self._hosts: dict[str, _Account] = {}
        self._lanes: dict[str, _Account] = {}
        self.requests = 0

    def begun(self, host: str, lane: str, target: str, now: float) -> list[str]:
        """A request goes out: what is wrong with that."""
        self.requests += 1
        faults = []
        for kind, accounts, name in (("host", self._hosts, host), ("lane", self._lanes, lane)):
            account = accounts.get(name)
            if account is None:
                account = accounts[name] = _Account()
            if account.now:
                faults.append(f"{kind} {name} is asked for {target} while it is asked for {account.now}")
            free_at = account.free_at
            if kind == "host" and account.ended:
                free_at = max(free_at, account.ended + self._delay_s(host))
            if now < free_at - SLACK_S:
                faults.append(f"{kind} {name} is asked for {target} {free_at - now:.3f} s too soon, at {now:.3f}")
            account.now = target
        return faults

    def ended(
        self, host: str, lane: str, now: float, *, elapsed_s: float, troubled: bool, wait: str, ours: bool
    ) -> list[str]:
        """A request is over. `wait` is its Retry-After, `ours` a fault of our own, of which nothing is learned."""
        account, way = self._hosts[host], self._lanes[lane]
        faults = [] if account.now and way.now else [f"host {host} ends a request in lane {lane} that it did not begin"]
        if not ours:
            before = account.response_s
            account.response_s = before + NEWEST_SHARE * (elapsed_s - before) if before else elapsed_s
        gap_s = self._gap_s(account)
        account.free_at, way.free_at = now + gap_s, max(way.free_at, now + gap_s)
        if troubled:
            account.free_at = max(account.free_at, now + TROUBLE_S)
            if wait.isascii() and wait.isdigit():
                account.free_at = max(account.free_at, now + min(float(wait), A_DAY_S))
        account.now = way.now = ""
        account.ended = way.ended = now
        return faults

    def killed(self, now: float) -> None:
        """The process was killed: what was in flight ends for the servers, and counts like any other request."""
        for accounts in (self._hosts, self._lanes):
            for account in accounts.values():
                if account.now:
                    account.now, account.ended = "", now
                    account.free_at = max(account.free_at, now + self._politeness.min_delay_s)

    def _gap_s(self, account: _Account) -> float:
        politeness = self._politeness
        measured_s = min(politeness.response_factor * account.response_s, politeness.max_delay_s)
        return max(politeness.min_delay_s, measured_s)

    def _delay_s(self, host: str) -> float:
        asked_s = self._crawl_delay_s(host)
        return max(self._politeness.min_delay_s, min(asked_s, self._politeness.crawl_delay_max_s))
