"""WARC: segments damaged in any way, records of strangers, recovery after a crash."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from unittest.mock import patch

from gossamer.adapters.warc import files, members, parse, recover
from gossamer.adapters.warc.cdxj import SUFFIX as CDXJ
from gossamer.adapters.warc.check import iterate_segment
from gossamer.adapters.warc.foreign import open_any
from gossamer.adapters.warc.reader import Reader, capture_of
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Pointer
from tests.fuzz.harness import CASES, Target, seed
from tests.fuzz.scratch import emptied
from tests.support.warc import make_job, make_writer

RECORD_MAX_BYTES = 1 << 20


def check(control: bytes, content: bytes) -> None:
    """Records and archives of strangers are read or refused with ArchiveError; a damaged segment of ours loses no
    record in front of the damage; recovery leaves a beginning of what was there, whole records, an index, and changes
    nothing when it runs again.
    """
    (_record, _foreign, _segment, _recovered)[control[0] % 4](control, content)


def _record(control: bytes, content: bytes) -> None:
    """One record: what is read are slices of what is there."""
    for front in (b"", b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"):
        data = front + content
        try:
            record = parse.record(data)
            capture = capture_of(record)
        except ArchiveError:
            continue
        assert record.block in data
        assert math.isfinite(capture.date)
        assert 0 <= capture.status <= 999
        assert len(capture.payload) <= len(data)
        assert members.unpack(members.pack(data)) == data
    parse.dechunk(content)


def _foreign(control: bytes, content: bytes) -> None:
    """A file of others: records or ArchiveError, never more than was in it."""
    path = emptied("warc") / "foreign.warc"
    path.write_bytes(content)
    total = 0
    try:
        for record in open_any(path, RECORD_MAX_BYTES):
            total += len(record.block)
    except ArchiveError:
        pass
    assert content[:2] == b"\x1f\x8b" or total <= len(content)


@cache
def _good() -> tuple[bytes, tuple[members.Member, ...]]:
    """A segment of ours, and its members."""
    directory = emptied("warc")
    with patch("os.urandom", bytes):  # record ids: the same segment each time
        writer = make_writer(directory)
        for number in range(3):
            writer.write(make_job(url=f"http://a.example/{number}", payload=b"page %d" % number * 9), metadata={})
        writer.close()
    path = directory / writer.closed[0]
    data = path.read_bytes()
    with path.open("rb") as file:
        return data, tuple(members.walk(file.fileno()))


def _damage(content: bytes) -> tuple[bytes, int]:
    """The segment after edits of four bytes each (offset, what, byte), and the first byte that differs."""
    good, _ = _good()
    data = bytearray(good)
    for at in range(0, min(len(content), 40) - 3, 4):
        place = int.from_bytes(content[at : at + 2]) % (len(data) + 1)
        what, byte = content[at + 2] % 4, content[at + 3]
        if what == 0 and place < len(data):
            data[place] ^= byte
        elif what == 1:
            del data[place:]
        elif what == 2:
            data[place:place] = bytes([byte]) * (1 + byte % 7)
        else:
            del data[place : place + 1 + byte]
    same = next((at for at, (one, other) in enumerate(zip(good, data, strict=False)) if one != other), None)
    return bytes(data), min(len(good), len(data)) if same is None else same


def _segment(control: bytes, content: bytes) -> None:
    """Everything in front of the damage is read, and what is behind it is not made up."""
    _, whole = _good()
    data, damaged_at = _damage(content)
    directory = emptied("warc")
    path = directory / "x-00000.warc.gz"
    path.write_bytes(data)
    found = list(iterate_segment(path))
    intact = [member for member in whole if member.offset + member.length <= damaged_at]
    for item, member in zip(found, intact, strict=False):
        assert (item.pointer.offset, item.pointer.length, item.error) == (member.offset, member.length, "")
    assert len(found) >= len(intact)
    assert all(item.digest_ok is not True or not item.error for item in found)
    assert all(not item.pointer.length for item in found if item is not found[-1]) is False or len(found) <= 1
    reader = Reader(directory)
    for member in whole:
        try:
            capture = reader.read(Pointer(path.name, member.offset, member.length))
        except ArchiveError:
            assert member not in intact
            continue
        if capture.digest_ok is True and member in intact:
            assert capture_of(parse.record(member.data)) == capture


def _recovered(control: bytes, content: bytes) -> None:
    """Recovery keeps a beginning, ends at whole records, and is done when it is done."""
    _, whole = _good()
    data, damaged_at = _damage(content)
    committed = int.from_bytes(control[1:3]) % (len(data) + 64)
    is_open = bool(control[3] & 2)
    directory = emptied("warc")
    path = directory / ("x-00000.warc.gz" + (files.OPEN if is_open else ""))
    path.write_bytes(data)
    report = recover.recover_directory(directory, {"x-00000.warc.gz": committed})
    final = directory / "x-00000.warc.gz"
    left = final.read_bytes() if final.exists() else None
    if (left is None and not report.removed) or left == b"":
        assert report.damaged  # committed, and not one whole record is left
        return
    if left is not None:
        assert data.startswith(left)
        assert len(left) <= committed
        assert len(left) == committed or report.damaged
        index = final.with_name(final.name + CDXJ)
        assert index.exists()
        intact = sum(member.offset + member.length <= min(damaged_at, len(left)) for member in whole)
        responses = max(0, -(-(intact - 1) // 3))  # a warcinfo, then response, request and metadata of each page
        assert len(index.read_bytes().splitlines()) >= responses
        again = recover.recover_directory(directory, {"x-00000.warc.gz": len(left)})
        assert (again.cut, again.finished, again.removed) == ({}, (), ())
        assert final.read_bytes() == left
    else:
        assert not any(
            0 < member.offset < member.offset + member.length <= min(damaged_at, committed) for member in whole
        )
    assert not [name for name in directory.iterdir() if name.name.endswith(files.OPEN)]


def seeds() -> Iterator[bytes]:
    """Files of other projects; a record of each kind; damage of each kind."""
    for line in (CASES / "warc" / "files.jsonl").read_text(encoding="utf-8").splitlines():
        path = CASES / "warc" / "files" / json.loads(line)["file"].removeprefix("files/")
        if path.is_file():
            yield from seed(path.read_bytes(), b"\1")
    _, whole = _good()
    for member in whole:
        yield from seed(member.data, b"\0")
    for number, member in enumerate(whole):
        for what in range(4):
            edit = (member.offset + number * 7 % member.length).to_bytes(2) + bytes((what, 5 + number))
            yield from seed(edit, b"\2")
            yield from seed(edit, b"\3" + (member.offset + member.length).to_bytes(2) + bytes((number & 2,)))


WARC = Target("warc", check, seeds, 100, amplified_bytes=32 * 1024)
