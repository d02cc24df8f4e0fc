"""The wire between pool and worker: frames come out as they went in, however the stream is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.digest import frames


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
