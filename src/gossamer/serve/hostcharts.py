"""Charts of one host: its requests over time, and the pauses before them."""

from __future__ import annotations

from collections import Counter
from typing import Final

from markupsafe import Markup

from gossamer.surface.charts import Column, columns
from gossamer.surface.explainview import moment
from gossamer.surface.hoststory import GAP_SLACK_S, HostStory, VisitTold
from gossamer.surface.units import plural, show_duration

GAP_COLUMNS_MAX: Final = 120
TIME_COLUMNS: Final = 60  # aimed at
TIME_COLUMNS_MAX: Final = 120
FAILED_FROM: Final = 400  # statuses
_MINUTE_S, _HOUR_S, _DAY_S = 60, 3_600, 86_400
_STEPS_S: Final = (1, 5, 15, _MINUTE_S, 300, 900, _HOUR_S, 6 * _HOUR_S, _DAY_S, 7 * _DAY_S)


def is_failed(visit: VisitTold) -> bool:
    """Whether a request was made and did not bring what was asked for."""
    return visit.sent and not (visit.outcome.isdigit() and int(visit.outcome) < FAILED_FROM)


def timeline(story: HostStory) -> Markup:
    """Requests over time, oldest first; those that failed are drawn in the colour of failures."""
    times = [one.time for one in story.visits if one.sent]
    if not times:
        return Markup()
    span_s = max(times) - min(times)
    step_s = next((step for step in _STEPS_S if span_s / step <= TIME_COLUMNS), _STEPS_S[-1])
    made = Counter(int(one.time // step_s) for one in story.visits if one.sent)
    failed = Counter(int(one.time // step_s) for one in story.visits if is_failed(one))
    first, last = max(min(made), max(made) - TIME_COLUMNS_MAX + 1), max(made)
    points = [
        Column(
            _label(place * step_s, step_s, span_s),
            made[place],
            failed[place],
            f"{moment(place * step_s)}: {plural(made[place], 'request')} in {show_duration(step_s)}, "
            f"{failed[place]} failed",
        )
        for place in range(first, last + 1)
    ]
    return columns(points, wide=True)


def _label(time: float, step_s: float, span_s: float) -> str:
    """The time of a column, as short as its neighbours allow."""
    text = moment(time)
    if step_s >= _DAY_S:
        return text[:10]
    if span_s >= _DAY_S:
        return text[5:16]
    return text[11:19] if step_s < _MINUTE_S else text[11:16]


def gap_chart(story: HostStory) -> Markup:
    """Pauses before requests, oldest first; those that were too short are drawn in the colour of failures."""
    points = []
    made = [one for one in story.visits if one.sent]
    for one in reversed(made[:GAP_COLUMNS_MAX]):
        if one.gap_s is None:
            continue
        pause_ms, short = round(one.gap_s * 1000), one.gap_s < one.wanted_gap_s - GAP_SLACK_S
        wanted = show_duration(one.wanted_gap_s)
        title = f"{moment(one.time)}: {show_duration(one.gap_s)} after the one before; {wanted} wanted"
        points.append(Column(moment(one.time)[11:19], 0 if short else pause_ms, pause_ms if short else 0, title))
    longest = max((max(point.value, point.below) for point in points), default=0)
    return columns(points, wide=True, top_label=show_duration(longest / 1000))
