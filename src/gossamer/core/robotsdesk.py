"""Whose robots.txt is known, whose must be fetched, and what each says. No matching here (`policy.robots`), no I/O."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec

from gossamer.core.active import ActiveHost
from gossamer.core.changes import Changes, decode_robots, encode
from gossamer.core.keys import robots_key
from gossamer.core.takedowns import TakedownDesk
from gossamer.core.turn import Errand
from gossamer.model.config import Config
from gossamer.model.limits import ROBOTS_MAX_BYTES
from gossamer.model.page import Kind
from gossamer.model.record import Cf, HostRow, RobotsState
from gossamer.model.url import Url, parse
from gossamer.policy.robots import RobotsVerdict, Rules
from gossamer.policy.robots import parse as parse_rules
from gossamer.ports.store import Store

RECHECK_AFTER_S: Final = 600.0  # a host that starts refusing us has its rules read again, at most this often
TTL_MIN_S: Final = 3600.0  # however often a robots.txt changes
UNREACHABLE: Final = "unreachable"  # RobotsState.why starts so when a later try may bring rules
RULE_TOLD_MAX_CHARS: Final = 200


class Standing(StrEnum):
    """What is known of the rules of a host and scheme at this moment."""

    KNOWN = "known"
    MISSING = "must be fetched first"
    COMING = "is being fetched"
    CLOSED = "could not be fetched: nothing is allowed until the next try"


class RobotsDesk:
    """Rules by host and scheme, as of now."""

    def __init__(self, config: Config, store: Store, takedowns: TakedownDesk) -> None:
        """Rules for the configured product token. What is taken down whole has rules that forbid everything."""
        self._config = config.robots
        self._product = config.identity.product
        self._store = store
        self._takedowns = takedowns
        self._last: tuple[Rules, str, RobotsVerdict] | None = None

    def standing(self, host: ActiveHost, scheme: str, now: float) -> Standing:
        """Whether the rules can be asked."""
        if self._takedowns.closed(host.name, scheme):
            return Standing.KNOWN
        if scheme in host.robots_elsewhere:
            return Standing.COMING
        state = host.row.robots.get(scheme)
        if state is None or state.expires <= now:
            return Standing.MISSING
        if state.verdict == "disallow" and state.why.startswith(UNREACHABLE):
            return Standing.CLOSED
        return Standing.KNOWN

    def refusal(self, host: ActiveHost, scheme: str, target: str) -> str | None:
        """Why a path may not be fetched: the rule and its line; None when it may. Only when KNOWN."""
        takedown = self._takedowns.closed(host.name, scheme)
        if takedown:
            return synthetic_disallow(takedown)
        state = host.row.robots[scheme]
        if state.verdict == "allow":
            return None
        if state.verdict == "disallow":
            return f"robots.txt: {state.why}"
        verdict = self._verdict(host, scheme, target)
        if verdict.allowed:
            return None
        return f"robots.txt {_told(verdict)}"

    def allowance(self, host: ActiveHost, scheme: str, target: str) -> tuple[str, float]:
        """Which rule lets a path be fetched, in words, and when the robots.txt that has it was fetched: for the log."""
        state = host.row.robots.get(scheme)
        if state is None or state.verdict == "disallow":
            return "", 0.0
        if state.verdict == "allow":
            return f"no rules: {state.why}", state.fetched
        verdict = self._verdict(host, scheme, target)
        return (_told(verdict) if verdict.line else "no rule against it"), state.fetched

    def _verdict(self, host: ActiveHost, scheme: str, target: str) -> RobotsVerdict:
        """What the rules say of a path. A turn asks twice, whether and by which rule: the last answer is kept."""
        rules = self.rules(host, scheme)
        if self._last is None or self._last[0] is not rules or self._last[1] != target:
            self._last = rules, target, rules.decide(target)
        return self._last[2]

    def rules(self, host: ActiveHost, scheme: str) -> Rules:
        """The parsed rules, kept in memory while the host is active."""
        state = host.row.robots[scheme]
        cached = host.rules.get(scheme)
        if cached is not None and cached[0] == state.fetched:
            return cached[1]
        raw = self._store.get(Cf.HOST, robots_key(host.name, scheme))
        rules = parse_rules(decode_robots(raw).body if raw is not None else b"", self._product)
        host.rules[scheme] = (state.fetched, rules)
        return rules

    def errand(self, host: HostRow, scheme: str) -> Errand:
        """The request that brings the rules."""
        url = parse(f"{scheme}://{host.host}/robots.txt")
        if not isinstance(url, Url):
            msg = f"no robots.txt address for host {host.host}"
            raise AssertionError(msg)  # noqa: TRY004 - a broken invariant, not a caller's type error
        return Errand(kind=Kind.ROBOTS, url=url.wire, key=url.key, for_host=host.host, scheme=scheme, seen=(url.wire,))

    def deliver(
        self, changes: Changes, row: HostRow, scheme: str, verdict: str, why: str, body: bytes, now: float
    ) -> RobotsState:
        """Keep what a robots.txt said; the caller puts the ledger row. Returns the new state.

        An unreachable one is tried again in minutes; while its host does not answer at all, with the host's back-off.
        """
        before = row.robots.get(scheme)
        body = body[:ROBOTS_MAX_BYTES]
        slot = robots_key(row.host, scheme)
        changed = False
        if before is not None and before.verdict == "rules" and verdict == "rules":
            raw = self._store.get(Cf.HOST, slot)
            changed = raw is not None and decode_robots(raw).body != body
        changes_seen = (before.changes if before else 0) + changed
        failures = (before.failures if before else 0) + 1 if why.startswith(UNREACHABLE) else 0
        if failures:
            waits_s = row.backoff_s if row.backoff_s and not row.reached else self._config.retry_s
            expires = now + min(self._config.retry_s, waits_s)
        else:
            expires = now + max(min(TTL_MIN_S, self._config.ttl_s), self._config.ttl_s / (1 + changes_seen))
        state = RobotsState(
            verdict=verdict, why=why, fetched=now, expires=expires, changes=changes_seen, failures=failures
        )
        row.robots[scheme] = state
        if verdict == "rules":
            changes.put(Cf.HOST, slot, encode(msgspec.structs.replace(state, body=body)))
        else:
            changes.delete(Cf.HOST, slot)
        return state

    def recheck_early(self, row: HostRow, scheme: str, status: int, now: float) -> None:
        """A host that answers 401, 403 or 5xx may have changed its rules: let them expire."""
        state = row.robots.get(scheme)
        refusing = status in (401, 403) or status >= 500
        if refusing and state is not None and state.verdict != "disallow" and now - state.fetched > RECHECK_AFTER_S:
            state.expires = now


def _told(verdict: RobotsVerdict) -> str:
    """A rule with its line, cut: a stranger wrote it, and it is kept with every URL that it decides on."""
    return f"line {verdict.line}: {verdict.rule[:RULE_TOLD_MAX_CHARS]}"


def synthetic_disallow(takedown: str) -> str:
    """The verdict on everything of a host that is taken down: no robots.txt is asked, none could allow it."""
    return f"robots.txt: Disallow: / by takedown {takedown}"
