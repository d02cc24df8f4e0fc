"""Posting a message to a URL of the operator's, with the standard library: it happens seldom, on a thread."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from typing import Final

TIMEOUT_S: Final = 10.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A signed message goes to the URL that is configured and nowhere else."""

    def redirect_request(self, *_arguments: object) -> None:
        """Follow none."""


def post(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Send one message; the status of the answer, 0 when there is none. Raises nothing. Blocks."""
    request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 - checked: http(s)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_S) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, http.client.HTTPException, ValueError):
        return 0
