"""CDXJ: index lines made of strangers' values, made from stored records, and read back from damaged files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from gossamer.adapters.warc import cdxj, parse, records
from gossamer.adapters.warc.reader import Reader
from gossamer.adapters.warc.surt import surt
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Job, Kind, Pointer
from gossamer.model.url import Url
from gossamer.model.url import parse as parse_url
from gossamer.sim.memstore import MemoryStore
from gossamer.surface.captures import Captures, index_lines
from tests.fuzz.harness import CASES, Target, seed, text_of
from tests.fuzz.scratch import emptied

NAME = "x-00000.warc.gz"
URL = "https://a.example/page"
CASES_OF_URLS = CASES / "url" / "whatwg.jsonl"


def check(control: bytes, content: bytes) -> None:
    """A line is one line with the values that went in, whether made of them or of the record they were stored in; a
    damaged file of lines is searched as by reading all of it, and gives pointers or nothing.
    """
    (_written, _stored, _damaged)[control[0] % 3](content)


def _fields(content: bytes) -> list[bytes]:
    """URL, type and the rest: one a line."""
    return [*content.split(b"\n", 2), b"", b""][:3]


def _written(content: bytes) -> None:
    """Values of any kind come back from their line."""
    where, kind, digest = map(text_of, _fields(content))
    url = parse_url(where)
    if not isinstance(url, Url):
        return
    digest = digest.encode("utf-8", "replace").decode()  # records hold no lone surrogates
    line = cdxj.line(
        Pointer(NAME, len(where), len(kind) + 1),
        uri=records.uri(url.wire),
        warc_date="2026-11-30T01:02:03.456789Z",
        mime=cdxj.media_type(kind),
        status=len(content) % 1000,
        digest=digest,
    )
    key, timestamp, values = _read(line)
    assert (key, timestamp) == (surt(url.wire), "20261130010203")
    assert (values["offset"], values["length"], values["filename"]) == (str(len(where)), str(len(kind) + 1), NAME)
    assert values["url"] == url.wire
    assert values["digest"] == (digest.removeprefix("sha1:") or "-")
    assert values["status"] == (str(len(content) % 1000) if len(content) % 1000 else "-")
    assert values["mime"] == values["mime"].lower()
    assert 0 < len(values["mime"]) <= 127
    assert " " not in values["mime"]


def _stored(content: bytes) -> None:
    """What a record says of a response is what its line says."""
    where, kind, head = _fields(content)
    url = parse_url(text_of(where))
    if not isinstance(url, Url):
        return
    head = b"HTTP/1.1 203 x\r\nContent-Type: " + kind.replace(b"\r", b"") + b"\r\n" + head.partition(b"\n\n")[0]
    job = Job(
        id=1, kind=Kind.PAGE, url=url.wire, key=url.key, depth=0, date=1_790_000_000.25, status=203, headers=(),
        request_bytes=b"GET / HTTP/1.1\r\n\r\n", head_bytes=head, payload=b"p", framed=None, content_encoding=(),
        truncated="", address="", http_version="HTTP/1.1", tls_version="", tls_cipher="", payload_digest="",
        via=text_of(kind),
    )  # fmt: skip
    built = records.page(job, {"x": text_of(head)})
    for part in built:
        record = parse.record(part.data)
        line = cdxj.record_line(record, Pointer(NAME, 0, 1))
        assert (line is None) == (part.kind != "response")
        if line is not None:
            key, timestamp, values = _read(line)
            assert (key, timestamp) == (surt(url.wire), "20260921141320")
            assert (values["url"], values["status"]) == (url.wire, "203")
            assert values["digest"] == parse.sha1(b"p").removeprefix("sha1:")


def _read(line: bytes) -> tuple[str, str, dict[str, str]]:
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    key, timestamp, text = line[:-1].decode("ascii" if line.isascii() else "utf-8").split(" ", 2)
    values = json.loads(text)
    assert all(isinstance(value, str) for value in values.values())
    return key, timestamp, values


def _damaged(content: bytes) -> None:
    """Sorted lines are found by bisection as by reading all; of any bytes come pointers or nothing."""
    directory = emptied("cdxj")
    index = directory / (NAME + cdxj.SUFFIX)
    (directory / NAME).touch()
    url = parse_url(URL)
    assert isinstance(url, Url)
    prefix = surt(URL).encode() + b" "
    index.write_bytes(content)
    for pointer in Captures(MemoryStore(), directory)._indexed(url.key, URL):
        _usable(directory, pointer)
    lines = sorted(line for line in content.split(b"\n") if line)
    index.write_bytes(b"".join(line + b"\n" for line in lines))
    expected = [line for line in lines if line.startswith(prefix)]
    assert list(index_lines(index, prefix)) == expected
    assert all(one <= other for one, other in pairwise(expected))


def _usable(directory: Path, pointer: Pointer) -> None:
    """A pointer from a damaged line leads to a record or to an ArchiveError."""
    try:
        Reader(directory).read(pointer)
    except ArchiveError:
        return


def seeds() -> Iterator[bytes]:
    """URLs of the standard's tests with a type and a digest; good lines and what damage makes of them."""
    for number, text in enumerate(CASES_OF_URLS.read_text(encoding="utf-8").splitlines()):
        url = json.loads(text).get("input")
        if isinstance(url, str) and "\n" not in url and number % 8 == 0:
            where = url.encode("utf-8", "surrogatepass")
            yield from seed(where + b"\nText/HTML; charset=utf-8\nsha1:ABCDEF", b"\0")
            yield from seed(where + b"\ntext/html\nX-A: b\r\n c\r\n\r\n", b"\1")
    values = b'{"url":"https://a.example/page","offset":"0","length":"9","filename":"x-00000.warc.gz"}'
    line = b"example,a)/page 20260101000000 " + values + b"\n"
    for damaged in (
        line, line * 3, line[:40] + b"\n" + line, line.replace(b'"0"', b'"-1"'), line.replace(b'"0"', b'"9e9"'),
        line.replace(b"x-0", b"../x-0"), line.replace(b'"9"', b'"\\u0661"'), line.replace(b"{", b"[{"),
        b"\0" * 30 + line,
        line.replace(b"https", b"http") + line, b"example,a)/page 1 {}\n" + line,
        line.replace(b'"9"', b'"' + b"9" * 5000 + b'"'),
        line.replace(b"x-00000", b"x\\u0000-00000"), line.replace(b"x-00000", b"x\\ud800-00000"),
    ):  # fmt: skip
        yield from seed(damaged, b"\2")


CDXJ = Target("cdxj", check, seeds, 150)
