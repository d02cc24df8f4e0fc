"""Why a page could not be archived: as a worker tells it, and as the pool raises it; what a dead worker leaves behind.

A page of which no record can be made fails by itself. When it is the archive that fails, no page is to blame, and every
other would fail the same way.
"""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import Final

from gossamer.adapters.warc.files import OPEN, SUFFIX, passes
from gossamer.model.errors import DiskFullError, GossamerError, StoreError
from gossamer.model.page import Digest, Unwritten

# Between the tries of a page while workers lack descriptors or memory; after the last the crawl ends, so that nobody
# who stops it waits for longer than these together.
LACK_PAUSES_S: Final = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)


def why(error: GossamerError) -> Unwritten:
    """What an error of the segment writer says of the archive; "" when it is the page that cannot be recorded."""
    if isinstance(error, DiskFullError):
        return "full"
    if isinstance(error, StoreError):
        return "lacking" if passes(error) else "broken"
    return ""


def error_of(digest: Digest) -> GossamerError:
    """What the caller is told of a page that the archive did not take."""
    if digest.unwritten == "full":
        return DiskFullError(digest.error.removeprefix("archive: ") or "the archive has no room")
    return StoreError(f"{digest.error or 'archive: cannot be written'}; once that is mended, the same command goes on")


def left_behind(directory: Path, prefix: str, closed: Container[str]) -> list[str]:
    """Segments of a dead worker that may hold pages it has not answered for: all but those it told closed.

    It may have finished one, and died before it could answer for the last pages in there.
    """
    names = (path.name.removesuffix(OPEN) for path in sorted(directory.glob(f"{prefix}-*{SUFFIX}*")))
    return [name for name in names if name.endswith(SUFFIX) and name not in closed]
