"""What follows once a site was seen to serve the same under http and https, or with and without www (`twinpairs`)."""

from __future__ import annotations

from typing import Final

from gossamer.core.changes import Changes
from gossamer.model.record import SiteRow, State
from gossamer.policy.twins import are_merged, twin_keys

OK: Final = 200


def known_twin(changes: Changes, site: SiteRow, key: str, site_name: str) -> str | None:
    """The key of a known page that a URL is merged with, or None."""
    for pair, twin in twin_keys(key, site_name):
        if are_merged(*site.twins.get(pair, (0, 0))):
            row = changes.url(twin)
            if row is not None and (row.state is State.QUEUED or (row.state is State.FETCHED and row.status == OK)):
                return twin
    return None
