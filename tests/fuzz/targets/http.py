"""HTTP/1.1 heads and body framing, against themselves and against what readers of our archive will see."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gossamer.adapters.http import chunked
from gossamer.adapters.http.body import CloseBody, LengthBody
from gossamer.adapters.http.chunked import ChunkedBody
from gossamer.adapters.http.head import Head, HeadError, head_end, parse_head
from gossamer.adapters.http.response import Response
from gossamer.adapters.warc import parse as warc_parse
from gossamer.model.limits import HEADER_COUNT_MAX
from gossamer.model.page import Request
from tests.fuzz.harness import CASES, Target, pieces, seed

FRONTS = (
    b"",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: ",
    b"HTTP/1.1 200 OK\r\nno colon\r\nTransfer-Encoding: chunked\r\n\r\n",
)


BOUNDS = (
    (chunked, "CHUNK_LINE_MAX_BYTES"),
    (chunked, "CHUNK_OVERHEAD_MAX_BYTES"),
    (chunked, "TRAILER_MAX_BYTES"),
    (warc_parse, "CHUNK_LINE_MAX_BYTES"),
)
SMALL_BYTES = 24


def check_head(control: bytes, content: bytes) -> None:
    """A head ends where a naive search says; it parses to clean lines or HeadError; written out again it parses to the
    same; a reader of the archive sees the same status and fields; arrival in pieces changes nothing.
    """
    _end_is_naive(content)
    whole = _response(content, 0)
    split = _response(content, control[0] or 1)
    assert (whole.head, whole.failure) == (split.head, split.failure)
    end = head_end(content, 0)
    try:
        head = parse_head(content[:end] if end >= 0 else content)
    except HeadError:
        return
    assert 100 <= head.status <= 999
    assert head.version.isascii()
    assert len(head.headers) <= HEADER_COUNT_MAX + 3
    for name, value in head.headers:
        assert name
        assert name == name.lower() == name.strip(" \t")
        assert ":" not in name
        assert not {"\n", "\r", "\0"} & set(name + value)
        assert value == value.strip(" \t")
    again = parse_head(_written(head))
    assert again == Head(head.version, head.status, head.reason, head.headers, ())
    _archive_sees(content[:end] if end >= 0 else content, head)


def _end_is_naive(content: bytes) -> None:
    ends = [at + len(mark) for mark in (b"\n\n", b"\n\r\n") if (at := content.find(mark)) >= 0]
    assert head_end(content, 0) == min(ends, default=-1)


def _written(head: Head) -> bytes:
    lines = [f"{head.version} {head.status:03d} {head.reason}", *(f"{name}: {value}" for name, value in head.headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _archive_sees(raw: bytes, head: Head) -> None:
    """The same status and the same framing headers: on them depends where a reader looks for the entity."""
    status, _, fields = warc_parse.http_head(raw)
    assert status == head.status
    for name in ("transfer-encoding", "content-length", "content-encoding", "location"):
        ours = [" ".join(value.split()) for value in head.values(name)]
        theirs = [" ".join(value.split()) for key, value in fields if key == name]
        assert ours == theirs, name


def check_body(control: bytes, content: bytes) -> None:
    """As `_check_body`; for some inputs with bounds so small that they are met."""
    if not control[1] & 0x40:
        _check_body(control, content)
        return
    kept = [(module, name, getattr(module, name)) for module, name in BOUNDS]
    try:
        for module, name in BOUNDS:
            setattr(module, name, SMALL_BYTES)
        _check_body(control, content)
    finally:
        for module, name, value in kept:
            setattr(module, name, value)


def _check_body(control: bytes, content: bytes) -> None:
    """A body is the same however it arrives; never more than its limit; a beginning of what was sent; what a chunked
    one holds is what a reader of the archive makes of its framing; `clean` only when nothing is left over.
    """
    front = FRONTS[(control[1] & 0x3F) % len(FRONTS)]
    limit = int.from_bytes(control[2:4]) % 1024 if control[2:4] != b"\0\0" else 1 << 20
    data = front + content
    whole = _response(data, 0, limit)
    for how in {control[0], 1, 2}:
        split = _response(data, how, limit)
        assert (whole.failure, whole.head) == (split.failure, split.head)
        if whole.body is not None:
            assert split.body is not None
            assert whole.body.payload() == split.body.payload()
            assert whole.body.framed == split.body.framed
            assert split.body.done
            if not (isinstance(whole.body, LengthBody) and "body longer than declared" in whole.body.faults):
                assert whole.body.truncated == split.body.truncated
    body = whole.body
    if whole.head is None or body is None:
        assert whole.failure is not None
        return
    assert whole.failure is None
    rest = data.lstrip(b"\r\n")[len(whole.head_bytes) :] if not whole.interim else None
    payload = body.payload()
    assert len(payload) <= limit
    if isinstance(body, ChunkedBody):
        assert payload == warc_parse.dechunk(body.framed)
        assert rest is None or rest.startswith(body.framed)
        assert not body.clean or rest is None or body.framed == rest
    else:
        assert rest is None or rest.startswith(payload)
        assert isinstance(body, LengthBody | CloseBody)
        assert not body.clean or rest is None or rest == payload
    assert not (body.clean and body.truncated)


class _Watched(Response):
    """A response that tells whether interim heads came before its own."""

    @property
    def interim(self) -> int:
        return self._interim


def _response(data: bytes, how: int, limit: int = 1 << 20) -> _Watched:
    response = _Watched(
        Request(
            url="http://a.example/", scheme="http", name="a.example", port=80, target="/", address="192.0.2.1",
            body_max_bytes=limit, raw_max_bytes=limit,
        )
    )  # fmt: skip
    for piece in pieces(data, how):
        response.feed(piece)
    response.eof("")
    assert response.done
    return response


def _seeds() -> Iterator[bytes]:
    for line in (CASES / "http" / "raw_cases.jsonl").read_text(encoding="utf-8").splitlines():
        yield (CASES / "http" / json.loads(line)["file"]).read_bytes()


def head_seeds() -> Iterator[bytes]:
    """The heads of all servers' answers."""
    for data in _seeds():
        end = head_end(data, 0)
        yield from seed(data[: end if end >= 0 else 2000])


def body_seeds() -> Iterator[bytes]:
    """The answers whole, and the bodies of chunked ones after a head of ours."""
    for data in _seeds():
        yield from seed(data, bytes((3, 0)))
        end = head_end(data, 0)
        if end >= 0 and b"chunked" in data[:end].lower():
            yield from seed(data[end:], bytes((3, 1)))
            yield from seed(data[end:], bytes((3, 0x41)))


HEAD = Target("http_head", check_head, head_seeds, 130, input_max_bytes=512)
BODY = Target("http_body", check_body, body_seeds, 150, input_max_bytes=512)
