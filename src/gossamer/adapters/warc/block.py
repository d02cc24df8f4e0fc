"""The block of a response record: the bytes as received, and the little that is mended so that replay finds the body.

The rule: bytes stay as received. Three things are mended, each of which would make replay tools refuse the record
or take the body for a part of the head, and each is named in the metadata record (`head-repair`):

- `blank-lines`: lines of nothing but white space, before the status line or inside the head, are dropped;
- `status-line`: a head without a status line gets one in front; one that claims another version than 1.0 or 1.1
  gets that version (HTTP/2 and 3 have no textual head at all, so such a line was never the wire's);
- `empty-line`: a head without its closing empty line gets it.

Line endings of LF alone stay: readers go line by line.
"""

from __future__ import annotations

from typing import NamedTuple

from gossamer.adapters.warc import parse
from gossamer.model.page import Job

_KNOWN = (b"HTTP/1.0", b"HTTP/1.1")


class Head(NamedTuple):
    """A head as it is stored, and what was mended in it."""

    stored: bytes
    repairs: tuple[str, ...]


def replayable(head: bytes, status: int) -> Head:
    """`head` as received, mended where replay tools could not read it. `status` is what the fetch understood."""
    repairs: list[str] = []
    stored = head.lstrip(b"\r\n")
    if len(stored) != len(head):
        repairs.append("blank-lines")
    if not stored.startswith(_KNOWN):
        repairs.append("status-line")
        if stored[:5].upper() == b"HTTP/":
            version = len(stored[:40].split(None, 1)[0])
            stored = b"HTTP/1.1" + stored[version:]
        else:
            stored = b"HTTP/1.1 %03d \r\n" % max(0, min(status, 999)) + stored
    if not stored.endswith((b"\n\r\n", b"\n\n")):
        repairs.append("empty-line")
        stored += b"\r\n" if stored.endswith(b"\n") else b"\r\n\r\n"
    if parse.body_offset(stored) != len(stored):
        lines = (line + b"\n" for line in stored.split(b"\n"))
        stored = b"".join(line for line in lines if not parse.is_blank(line)) + b"\r\n"
        if "blank-lines" not in repairs:
            repairs.append("blank-lines")
    return Head(stored, tuple(repairs))


def is_plain(job: Job, stored_head: bytes) -> bool:
    """Whether every reader, whatever it thinks of transfer codings, takes the same bytes of the block for the entity.

    Only then does the record carry WARC-Payload-Digest: common checkers digest a chunked body with its framing,
    the standard without, so that no value could satisfy both (docs/decisions/warc-writer.md).
    """
    return job.framed is None and b"transfer-encoding" not in stored_head.lower()
