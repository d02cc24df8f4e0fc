"""Archives of others: what independent validators agree on is accepted, the rest is refused in clear words."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.adapters.warc.foreign import open_any
from gossamer.model.errors import ArchiveError

CASES = Path(__file__).parent.parent / "cases" / "warc"
FILES: list[dict[str, Any]] = [json.loads(line) for line in (CASES / "files.jsonl").read_text().splitlines()]

# Only warcio knows ARC, and it lets these pass: lengths of -1 and "abc"; a last record 12 bytes shorter than it says.
ARC_NOT_WHOLE = {"bad.arc": "neither a WARC nor an ARC record", "example-space-in-url.arc": "cut off: 1579 of 1591"}
REASONS = {
    "block-sized-records.warc.lz4": "lz4 compression is not supported",
    "warcfile.warc.lz4": "lz4 compression is not supported",
    "clipped.warc.gz": "gzip member is cut off",
    "clueweb-quirk.warc.gz": "payload digest does not match",
    "example-digest.warc": "payload digest does not match",
    "good.warc.gz.open": "does not end where its length says",  # many records in one gzip member
    "example-trunc.warc": "does not end where its length says",
    "example-wrong-chunks.warc.gz": "cut off: 343 of 1613",
}


def name_of(case: dict[str, Any]) -> str:
    return str(case["file"]).removeprefix("files/")


def is_accepted(case: dict[str, Any]) -> bool:
    name = Path(case["file"]).name
    if ".arc" in name:
        return bool(case["warcio_check"]["rc"] == 0) and name not in ARC_NOT_WHOLE
    return sum(case[key]["rc"] == 0 for key in ("warcio_check", "fastwarc_check", "jwarc_validate")) >= 2


ACCEPTED = [case for case in FILES if is_accepted(case)]
REFUSED = [case for case in FILES if not is_accepted(case)]


def test_no_case_is_lost() -> None:
    assert (len(FILES), len(ACCEPTED), len(REFUSED)) == (76, 55, 21)
    assert {Path(case["file"]).name for case in REFUSED} >= ARC_NOT_WHOLE.keys() | REASONS.keys()


@pytest.mark.parametrize("case", ACCEPTED, ids=name_of)
def test_accepted_with_the_same_records(case: dict[str, Any]) -> None:
    records = list(open_any(CASES / case["file"]))
    kinds = Counter(record.get("warc-type") for record in records)
    assert kinds == case["records"]
    assert all(len(record.block) == int(record.get("content-length")) for record in records)


@pytest.mark.parametrize("case", REFUSED, ids=name_of)
def test_refused_with_a_reason(case: dict[str, Any]) -> None:
    name = Path(case["file"]).name
    with pytest.raises(ArchiveError, match=(ARC_NOT_WHOLE | REASONS).get(name, "record at or after byte")) as caught:
        list(open_any(CASES / case["file"]))
    assert str(caught.value).startswith(f"{name}: ")
    assert "\n" not in str(caught.value)


RECORD = b"WARC/1.1\r\nWARC-Type: metadata\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (RECORD.replace(b"2", b"-2"), "bad Content-Length"),
        (RECORD.replace(b"2", b"99999999999999999999"), "bad Content-Length"),
        (RECORD.replace(b": 2", b": 999999999"), "at most"),
        (RECORD.replace(b"Content-Length: 2\r\n", b""), "bad Content-Length"),
        (RECORD + b"\r\n" + RECORD, "not a WARC record"),
        (RECORD[:-4] + RECORD, "does not end"),
        (RECORD + bytes(10), "not a WARC record"),
        (RECORD + b"\r\n" * 100, "blank lines"),
        (b"WARC/1.1\r\nWARC-Type metadata\r\n\r\n", "without a name"),
        (b"WARC/1.1\r\nX: " + b"y" * 100_000, "no end"),
        (b"<html>", "not a WARC record"),
        (b"filedesc://x 1.2.3.4 20200101000000 text/plain 3\nabcX", "does not end"),
        (gzip.compress(RECORD + RECORD, mtime=0), "does not end"),
        (gzip.compress(b"\r\n" + RECORD, mtime=0), "neither"),
        (gzip.compress(RECORD, mtime=0) + bytes(20), "damaged"),
        (gzip.compress(b"x" * 30_000_000, mtime=0), "more than"),
        (b"\x28\xb5\x2f\xfd....", "zstd compression is not supported"),
    ],
)
def test_hostile_files_are_refused(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "x.warc"
    path.write_bytes(data)
    with pytest.raises(ArchiveError, match=message):
        list(open_any(path, record_max_bytes=20_000_000))


def test_a_missing_file_is_an_archive_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"none\.warc: cannot be opened"):
        list(open_any(tmp_path / "none.warc"))
