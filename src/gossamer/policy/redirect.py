"""Where a response sends its visitor. Joining the answer to a URL is `model.url.parse`; following it is a new turn."""

from __future__ import annotations

from typing import Final

from gossamer.model.page import Outcome

_REDIRECTS: Final = frozenset({300, 301, 302, 303, 305, 307, 308})  # RFC 9110 section 15.4


def redirect_target(outcome: Outcome) -> str | None:
    """Text of the Location header of a redirect, to be joined to the URL that was fetched; None when there is none.

    Of several, the first that is not blank counts. Header values are latin-1 text; when their bytes are UTF-8, as those
    of most non-ASCII Locations are, that is what they mean (RFC 3986 wants neither).
    """
    if outcome.failure is not None or outcome.status not in _REDIRECTS:
        return None
    for name, value in outcome.headers:
        if name == "location" and value.strip():
            text = value.strip()
            if text.isascii():
                return text
            try:
                return text.encode("latin-1").decode("utf-8")
            except UnicodeError:
                return text
    return None
