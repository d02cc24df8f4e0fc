"""The wire between pool and worker: frames come out as they went in, however the stream is cut."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.pool import DigestPool
from gossamer.adapters.digest.process import TOO_LONG
from gossamer.adapters.http.chunked import ChunkedBody
from gossamer.adapters.http.response import Response
from gossamer.model.config import Workers
from gossamer.model.limits import HEAD_MAX_BYTES, SITEMAP_MAX_BYTES
from gossamer.model.page import Digest, Request
from tests.digest.conftest import Run
from tests.digest.helpers import job, page


@given(st.lists(st.binary(max_size=40), max_size=12), st.data())
def test_frames_come_out_whole_and_stay_wherever_the_stream_is_cut(words: list[bytes], data: st.DataObject) -> None:
    stream = b"".join(len(word).to_bytes(frames.HEADER_BYTES, "big") + word for word in words)
    splitter = frames.Splitter()
    found: list[memoryview] = []
    position = 0
    while position < len(stream):
        size = data.draw(st.integers(1, len(stream) - position))
        splitter.feed(stream[position : position + size])
        position += size
        while (frame := splitter.next()) is not None:
            found.append(frame)
    assert [bytes(frame) for frame in found] == words
    assert splitter.next() is None


def test_a_message_is_read_from_its_frame() -> None:
    splitter = frames.Splitter()
    splitter.feed(bytes(frames.encode(frames.Finished(("a", "b"), "why")) + frames.encode(frames.Ready("no"))))
    first, second = splitter.next(), splitter.next()
    assert first is not None
    assert second is not None
    assert frames.from_worker.decode(first) == frames.Finished(("a", "b"), "why")
    assert frames.from_worker.decode(second) == frames.Ready("no")


def test_a_frame_that_claims_too_much_is_refused() -> None:
    splitter = frames.Splitter()
    splitter.feed((frames.FRAME_MAX_BYTES + 1).to_bytes(frames.HEADER_BYTES, "big"))
    with pytest.raises(ValueError, match="at most"):
        splitter.next()


def test_a_frame_has_room_for_the_longest_sitemap_in_the_smallest_chunks() -> None:
    response = Response(Request(url="", scheme="http", name="", port=80, target="/", address="",
                                body_max_bytes=SITEMAP_MAX_BYTES, raw_max_bytes=SITEMAP_MAX_BYTES))  # fmt: skip
    response.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert isinstance(response.body, ChunkedBody)
    assert SITEMAP_MAX_BYTES + response.body._wire_limit + 2 * HEAD_MAX_BYTES < frames.FRAME_MAX_BYTES


def test_a_page_that_no_frame_has_room_for_is_given_up_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "FRAME_MAX_BYTES", 100_000)  # of this process; a worker has its own

    async def body(pool: DigestPool) -> list[Digest]:
        jobs = [page(1), job(b"x" * 100_000, "http://example.org/long"), page(2)]
        return await asyncio.gather(*(pool.digest(one) for one in jobs))

    first, long, second = run(body, workers=Workers(count=1))
    assert (long.pointer, long.error, long.id) == (None, TOO_LONG, 7)
    assert (first.title, second.title) == ("Page 1", "Page 2")
