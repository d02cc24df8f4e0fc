"""When a page is visited again."""

from __future__ import annotations

import math
from typing import Final

from gossamer.model.config import Refresh

DUPLICATE_FACTOR: Final = 4.0  # a copy is visited this much less often than its original
PRIOR_CHANGES: Final = 0.5  # a page with no history counts as half a change ...
PRIOR_S: Final = 30 * 86400.0  # ... in 30 days


def change_rate(changes: int, unchanged: int, observed_s: float) -> float:
    """Changes a second, estimated from visits.

    Cho and Garcia-Molina, "Estimating Frequency of Change" (2003): with n visits of which X saw a change at regular
    intervals I, -ln((n - X + 0.5) / (n + 0.5)) / I is nearly unbiased. Without history the prior stands.
    """
    visits = changes + unchanged
    if visits == 0 or observed_s < 1.0:
        return PRIOR_CHANGES / PRIOR_S
    interval_s = observed_s / visits
    return -math.log((visits - changes + 0.5) / (visits + 0.5)) / interval_s


def interval_s(refresh: Refresh, *, changes: int, unchanged: int, observed_s: float, duplicate: bool) -> float:
    """Seconds until the next visit of a page with this history, within the configured limits."""
    if refresh.policy == "uniform":
        wanted = refresh.interval_s
    else:
        rate = change_rate(changes, unchanged, observed_s)
        wanted = 1.0 / rate if rate > 0 else refresh.max_interval_s
    if duplicate:
        wanted *= DUPLICATE_FACTOR
    return max(refresh.min_interval_s, min(refresh.max_interval_s, wanted))
