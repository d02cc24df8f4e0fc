"""The end of an explanation: what visits came to, copies, the next visit, and the one sentence that answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from gossamer.core.admission import GONE_IGNORED_S
from gossamer.core.keys import due_key
from gossamer.core.pings import VIA as PINGED
from gossamer.core.pings import waiting_for
from gossamer.model.limits import MISSING_MAX, SITEMAP_INDEX_DEPTH_MAX
from gossamer.model.page import Kind
from gossamer.model.reason import Reason
from gossamer.model.record import Cf, State, UrlRow
from gossamer.model.view import Mark, Step
from gossamer.surface.evidence import Evidence
from gossamer.surface.explainview import moment
from gossamer.surface.storescan import url_row
from gossamer.surface.units import plural, show_duration, show_size

# Steps that keep a URL out, or let it wait, in the order in which they are met.
_BARRIERS: Final = ("takedown", "scope", "type", "traps", "growth", "budgets", "robots.txt")
_KINDS: Final = {
    Kind.ROBOTS: "a robots.txt",
    Kind.SITEMAP: "a sitemap",
    Kind.PROBE: "a made-up page, to learn its 404",
    Kind.KEY: "the key of a ping",
}


def outcome(evidence: Evidence) -> Step:
    """What became of it so far."""
    row = evidence.row
    if row is None:
        return Step("outcome", "note", "never fetched")
    facts = _content_facts(row)
    if row.state in (State.REFUSED, State.FAILED):
        word = "refused" if row.state is State.REFUSED else "given up"
        return Step("outcome", "no", f"{word}: {_reason(row)}", tuple(facts))
    if not row.visits:
        failed = f" ({plural(row.attempts, 'visit')} failed)" if row.attempts else ""
        return Step("outcome", "wait", f"not fetched yet{failed}", tuple(facts))
    kind = f"{_KINDS[row.kind]}; " if row.kind in _KINDS else ""
    words = f"{kind}{plural(row.visits, 'visit')}, the last at {moment(row.visited)} with status {row.status}"
    if row.state is State.GONE:
        return Step("outcome", "no", f"gone: {words}", tuple(facts))
    return Step("outcome", "ok" if row.status < 400 and not row.reason else "note", words, tuple(facts))


def _content_facts(row: UrlRow) -> list[tuple[str, str]]:
    facts: list[tuple[str, str]] = []
    if row.visits:
        facts.append(("type", f"{row.media_type or 'none'}, {show_size(row.payload_bytes)}"))
    named = (
        ("title", row.title), ("language", row.language), ("charset", row.charset), ("truncated", row.truncated),
        ("digest error", row.digest_error), ("rel=canonical", row.canonical),
    )  # fmt: skip
    facts += [(name, value) for name, value in named if value]
    if row.kind is Kind.SITEMAP and row.depth >= SITEMAP_INDEX_DEPTH_MAX and not row.feed:
        facts.append(("sitemaps below it", f"none is asked for ({Reason.SITEMAP_DEPTH})"))
    flags = [name for name, on in (("noindex", row.noindex), ("noarchive", row.noarchive)) if on]
    if flags:
        facts.append(("directives", ", ".join(flags)))
    if row.reason and row.state not in (State.REFUSED, State.FAILED):
        facts.append(("note", _reason(row)))
    if row.changes or row.unchanged:
        changed = f", last at {moment(row.changed_at)}" if row.changed_at else ""
        facts.append(("revisits", f"{row.changes:,} brought a change{changed}; {row.unchanged:,} did not"))
    if row.called is not None and row.called[0] <= row.visited:
        facts.append(("hint", f"the visit was brought forward at {_call_words(row.called)}"))
    if row.pointer is not None:
        facts.append(("record", f"{row.pointer.segment} at {row.pointer.offset:,}, {row.pointer.length:,} bytes"))
    return facts


def _call_words(called: tuple[float, str]) -> str:
    """When a visit was brought forward, and by what."""
    time, what = called
    return f"{moment(time)} by {'a ping' if what == PINGED else f'a date in {what}'}"


def _reason(row: UrlRow) -> str:
    return f"{row.reason}: {row.detail}" if row.detail else row.reason


def copy_words(row: UrlRow) -> str:
    """What kind of copy it is."""
    return "a near copy" if row.duplicate_kind == "near" else "an exact copy"


def _named(evidence: Evidence, key: str) -> str:
    row = url_row(evidence.crawl.store, key)
    return key if row is None else row.url


def _since(wanted: float) -> str:
    return f"; due since {moment(wanted)}" if wanted else ""


def next_visit(evidence: Evidence) -> Step:
    """When it is visited again, and who has brought that forward."""
    step, row = _next_visit(evidence), evidence.row
    facts = []
    if row is not None and row.called is not None and row.called[0] > row.visited:
        facts.append(("brought forward", _call_words(row.called)))
        if row.hinted:
            facts.append(("it changed", f"at {moment(row.hinted)}, as its site says"))
    if row is not None and row.missing and row.state is State.FETCHED:
        visits = plural(row.missing, "visit")
        facts.append(
            ("missing", f"at {visits} in a row; after {MISSING_MAX + 1} it is gone, each is later than the last")
        )
    ping = _ping_words(evidence)
    if ping:
        facts.append(("ping", ping))
    return msgspec.structs.replace(step, facts=tuple(facts)) if facts else step


def _ping_words(evidence: Evidence) -> str:
    """A ping for it that waits for the key of its host."""
    wish = waiting_for(evidence.crawl.store, evidence.url.host)
    if wish is None or evidence.url.key not in {key for _, key in wish.urls}:
        return ""
    return f"it waits since {moment(wish.since)} until its host shows the key at /{wish.key}.txt"


def _next_visit(evidence: Evidence) -> Step:
    name, row, now = "next visit", evidence.row, evidence.crawl.now
    if row is None:
        return Step(name, "note", "none is planned")
    if row.refresh:
        return Step(name, "wait", f"it is queued for a refresh{_since(row.wanted)}")
    if row.late:
        return Step(name, "wait", f"put off until its host's queue has room: others are worth more{_since(row.wanted)}")
    if row.state is State.QUEUED:
        return Step(name, "wait", "when its turn comes")
    if row.state is State.GONE:
        until = moment(row.visited + GONE_IGNORED_S)
        return Step(name, "note", f"none is planned; a link to it that is found after {until} brings it back")
    if not row.due:
        return Step(name, "note", "none is planned")
    if evidence.crawl.store.get(Cf.DUE, due_key(row.due, evidence.url.key)) is None:
        return Step(name, "no", f"due at {moment(row.due)}, but it is not in the calendar")
    if row.due <= now:
        return Step(name, "wait", f"due since {moment(row.due)}; it is queued when the crawl runs")
    return Step(name, "ok", f"due at {moment(row.due)}, in {show_duration(row.due - now)}")


def verdict(evidence: Evidence, steps: Sequence[Step]) -> tuple[str, Mark]:
    """The answer in one sentence."""
    row = evidence.row
    by_name = {step.name: step for step in steps}
    if row is None:
        return _never_seen(evidence, by_name)
    if row.state is State.REFUSED:
        return f"never fetched, refused: {_reason(row)}", "no"
    if row.state is State.FAILED:
        return f"given up: {_reason(row)}", "no"
    if row.state is State.GONE:
        return f"gone: status {row.status} at {moment(row.visited)}, and before", "no"
    if row.state is State.FETCHED:
        return _fetched(evidence, row)
    return _queued(evidence, by_name)


def _never_seen(evidence: Evidence, steps: dict[str, Step]) -> tuple[str, Mark]:
    for name in _BARRIERS:
        step = steps.get(name)
        if step is not None and step.mark == "no":
            return f"never fetched; it would be refused at {name}: {step.text}", "no"
    if evidence.other_scheme is not None:
        return f"never seen under this scheme, but as {evidence.other_scheme.url}", "note"
    if evidence.is_seed:
        return "a seed that was not admitted yet: it is when the crawl runs", "wait"
    return (
        "never seen: no page that was fetched had a link to it that was followed then; nothing would keep it out now "
        "(links that another depth or scope refused count when their page is read again)"
    ), "note"


def _fetched(evidence: Evidence, row: UrlRow) -> tuple[str, Mark]:
    words = f"fetched with status {row.status} at {moment(row.visited)}"
    if row.duplicate_of:
        words += f", {copy_words(row)} of {_named(evidence, row.duplicate_of)}"
    if row.redirect_to:
        words += f", a redirect to {_named(evidence, row.redirect_to)}"
    if row.reason:
        words += f"; {_reason(row)}"
    if row.noarchive:
        words += "; noarchive: only that it was visited is kept"
    if row.refresh:
        words += "; queued for a refresh"
    return words, "ok" if row.status < 400 and not row.reason else "note"


def _queued(evidence: Evidence, steps: dict[str, Step]) -> tuple[str, Mark]:
    place = steps["queue"].text if "queue" in steps else ""
    if "queue" in steps and steps["queue"].mark == "no":
        return f"lost: {place}", "no"
    if steps["scope"].text.startswith(Reason.SCOPE_EXCLUDED):
        return f"queued, and refused when its turn comes: {steps['scope'].text}", "no"
    if steps["robots.txt"].mark == "no":
        return f"queued, and refused when its turn comes: {steps['robots.txt'].text}", "no"
    unread = steps["robots.txt"].text.startswith(Reason.ROBOTS_UNREACHABLE)
    parked = evidence.host is not None and bool(evidence.host.parked)
    for name in ("host", "robots.txt", "budgets") if parked or not unread else ("robots.txt", "host", "budgets"):
        step = steps[name]
        # A robots.txt that is simply still to be fetched keeps nothing waiting.
        if step.mark in {"no", "wait"} and (name != "robots.txt" or unread):
            return f"queued, but waits ({name}): {step.text}", "wait"
    running = "" if evidence.crawl.running else "; the crawl is not running"
    return f"queued: {place}{running}", "wait"
