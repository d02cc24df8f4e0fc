"""`explain`: every step of a URL's road in order, each with its evidence. The steps are in modules of their own."""

from __future__ import annotations

from gossamer.model.reason import Reason
from gossamer.model.url import parse
from gossamer.model.view import Explanation
from gossamer.surface import explaincopies, explainend, explainhost, explainurl
from gossamer.surface.captures import Captures, withheld
from gossamer.surface.evidence import Crawled, gather


def explain(crawl: Crawled, captures: Captures, asked: str) -> Explanation:
    """Why a URL is where it is; `asked` is any text, known to the crawl or not. Raises StoreError for damaged rows."""
    url = parse(asked)
    if isinstance(url, Reason):
        step = explainurl.no_url(url)
        return Explanation(url=asked, verdict=f"never fetched: {step.text}", mark="no", steps=(step,))
    evidence = gather(crawl, asked, url)
    row = evidence.row
    taken_down = captures.gate.refusal(evidence.wire)
    found = (
        explainurl.form(evidence),
        explainurl.takedown(taken_down),
        explainurl.scope(evidence),
        explainurl.wanted_type(evidence),
        explainurl.traps(evidence),
        explainurl.growth(evidence),
        explainurl.budgets(evidence),
        explainurl.origin(evidence),
        explainhost.robots(evidence) if taken_down is None else explainurl.synthetic_robots(taken_down),
        explainhost.host(evidence),
        explainhost.lane(evidence),
        explainhost.queue(evidence),
        explainend.outcome(evidence),
        explaincopies.relations(evidence),
        explainend.next_visit(evidence),
    )
    steps = tuple(step for step in found if step is not None)
    sentence, mark = explainend.verdict(evidence, steps)
    if taken_down is not None and row is not None and row.visits:
        sentence, mark = f"{sentence}; {withheld(taken_down)}", "no"
    return Explanation(
        url=asked,
        key=url.key,
        verdict=sentence,
        mark=mark,
        known=row is not None,
        steps=steps,
        visits=tuple(captures.of_row(url.key, row)) if row is not None else (),
    )
