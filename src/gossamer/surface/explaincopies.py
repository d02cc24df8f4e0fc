"""The step of an explanation that tells of other pages: what it copies, where it moved, what its rel=canonical says."""

from __future__ import annotations

from gossamer.core.moves import TAKEN_MAX
from gossamer.model.record import UrlRow
from gossamer.model.view import Step
from gossamer.policy.canonicals import Said
from gossamer.surface.copywords import host_words
from gossamer.surface.evidence import Evidence
from gossamer.surface.explainend import copy_words
from gossamer.surface.storescan import url_row
from gossamer.surface.units import plural

_SAID = {
    Said.HONOURED: "believed: that page shows the same",
    Said.UNSEEN: "ignored: the page it names was not fetched, or shows no page now",
    Said.DIFFERS: "ignored: the page it names shows something else",
    Said.CHAIN: "ignored: the page it names has a rel=canonical of its own that leads on, or back",
    Said.DISTRUSTED: "ignored: most of those on its host are false",
}


def relations(evidence: Evidence) -> Step | None:
    """What it is a copy of, where it leads to, whose place it has taken; None when nothing of all that."""
    row = evidence.row
    if row is None:
        return None
    facts: list[tuple[str, str]] = []
    words: list[str] = []
    if row.duplicate_of:
        words.append(copy_words(row))
        facts.append(("original", target(evidence, row.duplicate_of)))
    if row.redirect_to:
        words.append("moved for good" if row.moved_to else "a redirect")
        facts.append(("leads to", target(evidence, row.redirect_to)))
    if row.moved_to:
        facts.append(("its place has", target(evidence, row.moved_to)))
    elif row.moving:
        facts.append(("moves", _moves(evidence, row)))
    if row.moved_from:
        words.append(f"it has taken the place of {plural(len(row.moved_from), 'page')}")
        facts += [("instead of", target(evidence, key)) for key in row.moved_from]
    if row.canonical_said:
        words.append("its rel=canonical names another page")
        facts.append(("rel=canonical", f"{target(evidence, row.canonical)}; {_SAID[Said(row.canonical_said)]}"))
    if evidence.host is not None and evidence.host.mirror_of:
        words.append("its host is a mirror")
        facts.append(("mirror", f"{host_words(evidence.host)}: its links wait longer, and it is visited less often"))
    return Step("relations", "note", " and ".join(words), tuple(facts)) if words else None


def _moves(evidence: Evidence, row: UrlRow) -> str:
    """Why a permanent redirect has not moved it yet."""
    page = url_row(evidence.crawl.store, row.moving)
    if page is not None and len(page.moved_from) >= TAKEN_MAX:
        return f"not: its target has taken the place of {plural(TAKEN_MAX, 'page')} already, as login pages do"
    return "not yet: when the next visit is sent to the same place again, and that shows a page"


def target(evidence: Evidence, key: str) -> str:
    """Another URL and what became of it, in a few words."""
    row = url_row(evidence.crawl.store, key)
    if row is None:
        return f"{key} (never admitted)"
    if row.visits:
        return f"{row.url} (status {row.status})"
    return f"{row.url} ({row.state.name.lower()}{': ' + row.reason if row.reason else ''})"
