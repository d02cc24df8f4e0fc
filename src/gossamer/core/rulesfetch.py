"""Turns that fetch robots.txt: hops, verdicts, and what new rules mean for a host."""

from __future__ import annotations

import msgspec

from gossamer.core import harvest
from gossamer.core.active import ActiveHost
from gossamer.core.changes import Changes
from gossamer.core.context import Context
from gossamer.core.counters import bump
from gossamer.core.dispatch import park
from gossamer.core.robotsdesk import UNREACHABLE
from gossamer.core.turn import Errand, Turn
from gossamer.model.limits import ROBOTS_REDIRECTS_MAX
from gossamer.model.page import Outcome
from gossamer.model.reason import Reason
from gossamer.model.record import HostRow
from gossamer.model.url import Url, parse
from gossamer.policy.politeness import crawl_delay_refused, host_gap_s
from gossamer.policy.redirect import redirect_target
from gossamer.policy.robots import judge_response
from gossamer.policy.robots import parse as parse_rules


class RulesFetch:
    """Ends robots.txt turns. The rules are those of the host that was asked first, wherever a redirect led."""

    def __init__(self, context: Context) -> None:
        """Deliver to the ledgers of `context`."""
        self._c = context
        self._freed: list[str] = []

    def take_freed(self) -> list[str]:
        """Hosts that may go on with what was delivered, once that is written."""
        freed, self._freed = self._freed, []
        return freed

    def ended(self, changes: Changes, host: ActiveHost, turn: Turn, outcome: Outcome, body: bytes, now: float) -> None:
        """Take the outcome of one robots.txt request; `body` is the payload decoded."""
        errand = turn.errand
        if errand is None:
            msg = f"turn {turn.id} fetches robots.txt without an errand"
            raise AssertionError(msg)
        if outcome.failure is not None and outcome.failure.means_nothing:
            host.errands.appendleft(errand)
            return
        if outcome.status in harvest.REDIRECT_STATUSES and self._hop(changes, host, errand, turn, outcome, now):
            return
        content_type = outcome.header("content-type") or ""
        unparseable, missing = self._c.config.robots.unparseable, outcome.incomplete
        verdict, why = judge_response(outcome.status, content_type, body, unparseable, missing)
        if verdict == "disallow" and not 200 <= outcome.status <= 299:
            why = f"{UNREACHABLE}: {outcome.failure or f'status {outcome.status}'}"
        elif 200 <= outcome.status <= 299 and verdict != "rules":
            bump(self._c.counters.totals.errors, "robots-incomplete" if missing else "robots-unparseable")
        self.deliver(changes, errand, verdict, why, body if verdict == "rules" else b"", now)

    def fail_foreign(self, changes: Changes, host: ActiveHost, why: str, now: float) -> None:
        """A host will not be asked for long: those that wait for a file it serves get none."""
        for errand in [errand for errand in host.errands if errand.for_host != host.name]:
            host.errands.remove(errand)
            self.deliver(changes, errand, "disallow", f"{UNREACHABLE}: {why}", b"", now)

    def forgo(self, changes: Changes, host: ActiveHost, errand: Errand, now: float) -> None:
        """What serves the rules of a host has been taken down. Its own rules are not asked for any more."""
        if errand.for_host != host.name:
            self.deliver(changes, errand, "disallow", f"{UNREACHABLE}: {host.name} is taken down", b"", now)

    def _hop(
        self, changes: Changes, host: ActiveHost, errand: Errand, turn: Turn, outcome: Outcome, now: float
    ) -> bool:
        """Follow a redirect as a turn of the host it leads to. False: it cannot be followed."""
        url = parse(redirect_target(outcome) or "", turn.url)
        if not isinstance(url, Url) or url.wire in errand.seen or errand.hops >= ROBOTS_REDIRECTS_MAX:
            return False
        if self._c.takedowns.refusal(url.wire):
            self.deliver(changes, errand, "disallow", f"{UNREACHABLE}: {url.host} is taken down", b"", now)
            return True
        following = msgspec.structs.replace(
            errand, url=url.wire, key=url.key, hops=errand.hops + 1, seen=(*errand.seen, url.wire)
        )
        if url.host == host.name:
            host.errands.appendleft(following)
            return True
        row, made = self._c.ledger.load(url.host, url.site)
        if made:
            self._c.counters.totals.hosts += 1
        self._c.ledger.put(changes, row)
        waiting = self._c.frontier.active.get(errand.for_host)
        if waiting is not None:
            waiting.robots_elsewhere.add(errand.scheme)
        if not self._c.frontier.run_errand(row, following, now, self._c.errand_wait_max_s):
            self.deliver(changes, following, "disallow", f"{UNREACHABLE}: {url.host} cannot be asked now", b"", now)
        return True

    def deliver(self, changes: Changes, errand: Errand, verdict: str, why: str, body: bytes, now: float) -> None:
        """Give a host its rules, and let it go on."""
        row = self._c.ledger.find(errand.for_host)
        if row is None:
            msg = f"{errand.for_host} asked for rules and has no ledger"
            raise AssertionError(msg)
        state = self._c.desk.deliver(changes, row, errand.scheme, verdict, why, body, now)
        if verdict == "rules":
            rules = parse_rules(body, self._c.config.identity.product)
            state.crawl_delay_s = rules.crawl_delay_s
            via = f"robots:{errand.key}"
            found = harvest.sitemaps(self._c, changes, rules.sitemaps, via, row, 1, now, errand.url)
            harvest.refuse(self._c, row, Reason.SITEMAPS_FULL, rules.sitemaps_beyond)
            self._c.admission.admit(changes, found, now)
        self._delays(row, now)
        politeness = self._c.config.politeness
        if state.failures >= politeness.park_after:
            park(self._c, row, f"{Reason.ROBOTS_UNREACHABLE}: {state.why}", now + politeness.park_s)
        self._c.ledger.put(changes, row)
        host = self._c.frontier.active.get(errand.for_host)
        if host is not None:
            host.robots_elsewhere.discard(errand.scheme)
            self._freed.append(host.name)

    def _delays(self, row: HostRow, now: float) -> None:
        politeness = self._c.config.politeness
        delays = [state.crawl_delay_s for state in row.robots.values() if state.crawl_delay_s is not None]
        row.crawl_delay_s = max(delays, default=None)
        if crawl_delay_refused(politeness, row.crawl_delay_s):
            park(
                self._c,
                row,
                f"{Reason.HOST_PARKED}: Crawl-delay of {row.crawl_delay_s:g} s is more than we wait",
                now + self._c.config.robots.ttl_s,
            )
            return
        row.delay_s = host_gap_s(politeness, row)
        if row.last_fetch:
            row.next_allowed = max(row.next_allowed, row.last_fetch + row.delay_s)
