"""Steps of an explanation that concern the host: its robots.txt, its gap, the lane of its server, the queue."""

from __future__ import annotations

from typing import Final

from gossamer.core.addresses import to_try
from gossamer.core.changes import decode_robots
from gossamer.core.keys import queue_key, robots_key, waiting_key
from gossamer.core.waiting import place_of
from gossamer.model.limits import LEVELS
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, HostRow, RobotsState, State
from gossamer.model.url import wire_parts
from gossamer.model.view import Step
from gossamer.policy.networks import lane_id
from gossamer.policy.robots import parse
from gossamer.surface.evidence import Evidence
from gossamer.surface.explainview import moment
from gossamer.surface.hostview import gap_reason, importance_words, speed_words
from gossamer.surface.storescan import decoded
from gossamer.surface.units import plural, show_duration

BEFORE_MAX: Final = 10_000  # entries counted before a place; "at least" beyond


def robots(evidence: Evidence) -> Step:
    """What robots.txt says of it: the rule and its line, or why that is not known."""
    name = "robots.txt"
    scheme, _, _, target = wire_parts(evidence.wire)
    if target == "/robots.txt" or (evidence.row is not None and evidence.row.kind is Kind.ROBOTS):
        return Step(name, "ok", "robots.txt itself may always be fetched (RFC 9309)")
    state = evidence.host.robots.get(scheme) if evidence.host is not None else None
    if evidence.host is None or state is None:
        return Step(
            name, "wait", f"not known yet: it is fetched before anything else of {scheme}://{evidence.url.host}"
        )
    facts = [("fetched", moment(state.fetched)), ("read again", moment(state.expires))]
    if state.changes:
        facts.append(("changed", plural(state.changes, "time")))
    if state.verdict == "allow":
        return Step(name, "ok", f"allows everything: {_served(state)}", tuple(facts))
    if state.verdict == "disallow":
        if not state.failures:
            words = f"{Reason.ROBOTS}: nothing is allowed: {_served(state)} (robots.unparseable)"
            return Step(name, "no", words, tuple(facts))
        tries = f"{plural(state.failures, 'attempt')} failed, the next is at {moment(state.expires)}"
        words = f"{Reason.ROBOTS_UNREACHABLE}: {state.why}; nothing is allowed until it is read; {tries}"
        return Step(name, "wait", words, tuple(facts))
    return _rules(evidence, evidence.host, scheme, target, facts)


def _rules(evidence: Evidence, host: HostRow, scheme: str, target: str, facts: list[tuple[str, str]]) -> Step:
    """The verdict of the stored body, by the same parser and matcher that decide when its turn comes."""
    slot = robots_key(host.host, scheme)
    raw = evidence.crawl.store.get(Cf.HOST, slot)
    if raw is None:
        return Step("robots.txt", "note", "its rules are missing from the state; gossamer verify tells more")
    rules = parse(decoded(decode_robots, Cf.HOST, slot, raw).body, evidence.crawl.config.identity.product)
    verdict = rules.decide(target)
    group = verdict.agent or "none for us"
    facts = [("group", group), *facts]
    if rules.crawl_delay_s is not None:
        facts.append(("Crawl-delay", f"{rules.crawl_delay_s:g} s"))
    line = f"line {verdict.line}: {verdict.rule}"
    if verdict.allowed:
        words = f"allowed by {line}" if verdict.line else f"allowed: no rule matches (group {group})"
        return Step("robots.txt", "ok", words, tuple(facts))
    return Step("robots.txt", "no", f"{Reason.ROBOTS}: {line}", tuple(facts))


def _served(state: RobotsState) -> str:
    if state.why.isdigit():
        return f"robots.txt answered {state.why}"
    return f"robots.txt: {state.why}"


def host(evidence: Evidence) -> Step:
    """Whether its host may be asked now, and what the gap is made of."""
    row = evidence.host
    if row is None:
        return Step("host", "note", f"{evidence.url.host} was never met")
    now = evidence.crawl.now
    facts = [
        ("gap", f"{show_duration(row.delay_s)}: {gap_reason(row, evidence.crawl.config.politeness)}"),
        ("response time", speed_words(row)),
        ("visits", f"{row.fetched:,} answered, {row.failed:,} failed{_last(row)}"),
    ]
    if row.votes or row.rank is not None:
        facts.append(("importance", importance_words(row)))
    if row.soft404s:
        facts.append(("not found", f"{plural(row.soft404s, 'page')} answered with 200 that say so (soft-404)"))
    if row.errors:
        facts.append(("in a row", f"{plural(row.errors, 'failure')}, back-off {show_duration(row.backoff_s)}"))
    if row.tls_error:
        facts.append(("TLS", f"{row.tls_error} (fetch.verify_tls is off)"))
    if row.parked:
        until = f"until {moment(row.parked_until)}" if row.parked_until > now else "until its next turn, which is due"
        return Step("host", "wait", f"parked {until}: {row.parked}", tuple(facts))
    if row.next_allowed > now:
        wait = show_duration(row.next_allowed - now)
        return Step("host", "wait", f"may be asked again at {moment(row.next_allowed)}, in {wait}", tuple(facts))
    return Step("host", "ok", "may be asked now", tuple(facts))


def _last(row: HostRow) -> str:
    if not row.last_fetch:
        return ""
    return f"; last {moment(row.last_fetch)}, " + (f"status {row.last_status}" if row.last_status else "no answer")


def lane(evidence: Evidence) -> Step:
    """The server's address, and when a request to it may be made again, whichever host asks."""
    row = evidence.host
    if row is None or not row.addresses:
        return Step("lane", "note", "its address was not looked up yet")
    now = evidence.crawl.now
    facts: list[tuple[str, str]] = []
    free_at = float("inf")
    tried = to_try(row)
    for address in row.addresses:
        name = lane_id(row.host, address, evidence.crawl.cdn)
        raw = evidence.crawl.store.get(Cf.LANE, name.encode())
        at = float(raw) if raw is not None else 0.0
        kind = "of this host alone (a CDN's address)" if name != address else "shared by all hosts of the address"
        state = f"free at {moment(at)}" if at > now else "free"
        if address in tried:
            free_at = min(free_at, at)
        else:
            state += "; it could not be connected to, others are tried first"
        facts.append((address, f"lane {kind}, {state}"))
    known = "1 address" if len(row.addresses) == 1 else f"{len(row.addresses)} addresses"
    words = f"{known}, one request at a time to each"
    if free_at > now:
        return Step("lane", "wait", f"{words}; the first is free at {moment(free_at)}", tuple(facts))
    return Step("lane", "ok", words, tuple(facts))


def queue(evidence: Evidence) -> Step | None:
    """Its place in its host's queue and its host's place among the others; None when it is not queued."""
    row, ledger = evidence.row, evidence.host
    if row is None or not (row.state is State.QUEUED or row.refresh):
        return None
    place = row.level + LEVELS if row.refresh else row.level
    store = evidence.crawl.store
    own = queue_key(row.host, place, row.sequence)
    if ledger is None or store.get(Cf.QUEUE, own) is None:
        return Step("queue", "no", "it should be queued and is not; gossamer verify tells more")
    first = ledger.cursor[place] if place < len(ledger.cursor) else 0
    before = len(store.scan(Cf.QUEUE, queue_key(row.host, place, first), own, BEFORE_MAX + 1))
    queued = plural(ledger.pending, "URL")
    kind = "refresh " if row.refresh else ""
    facts = [
        (f"queue of {row.host}", f"{queued} ({_levels(ledger)})"),
        ("host", _front(evidence, ledger, refresh=row.refresh)),
    ]
    if row.attempts:
        retries = evidence.crawl.config.fetch.retries
        failed = plural(row.attempts, "visit")
        facts.append(("tried", f"{failed} failed; it is given up after {retries + 1} (fetch.retries = {retries})"))
    ahead = _count(before, "URL")
    return Step("queue", "wait", f"{kind}level {row.level}, {ahead} before it in this level", tuple(facts))


def _front(evidence: Evidence, ledger: HostRow, *, refresh: bool) -> str:
    """The place of a host in its front queue."""
    kinds = (place_of(ledger, refresh=refresh), place_of(ledger, refresh=not refresh))
    places = [place for place in kinds if place[0] >= 0]
    if not places:
        return "in no front queue, although it has work; gossamer verify tells more"
    level, sequence = places[0]
    scan = evidence.crawl.store.scan
    before = len(scan(Cf.WAITING, waiting_key(level, 0), waiting_key(level, sequence), BEFORE_MAX + 1))
    with_work = f"{plural(evidence.crawl.totals.hosts_with_work, 'host')} with work"
    slots = f"{evidence.crawl.config.frontier.slots:,} slots"
    name = f"front queue {level % LEVELS}{' of refreshes' if level >= LEVELS else ''}"
    return f"{name}, {_count(before, 'host')} before it; {with_work} for {slots}"


def _count(found: int, noun: str) -> str:
    return f"at least {BEFORE_MAX:,} {noun}s" if found > BEFORE_MAX else plural(found, noun)


def _levels(ledger: HostRow) -> str:
    names = [f"level {place % LEVELS}{' refresh' if place >= LEVELS else ''}" for place in range(2 * LEVELS)]
    parts = zip(names, ledger.pending_by_level, strict=False)
    return ", ".join(f"{name}: {count:,}" for name, count in parts if count) or "none"
