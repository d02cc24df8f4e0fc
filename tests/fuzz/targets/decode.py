"""Content codings: decoding under caps, against the libraries' own decoders."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator

import brotli
import zstandard

from gossamer.adapters.decode import applied_codings, decode_body
from gossamer.model.limits import CONTENT_CODINGS_MAX, DECODE_RATIO_GRACE_BYTES, DECODE_RATIO_MAX
from tests.fuzz.harness import CASES, Target, seed

CODINGS = ("gzip", "deflate", "br", "zstd")
STACKS = tuple((one,) for one in CODINGS) + tuple((one, other) for one in CODINGS for other in CODINGS)
ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, 6, mtime=0),
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=1),
    "zstd": lambda data: zstandard.ZstdCompressor(level=1).compress(data),
}
FULL_BYTES = 1 << 22


def check(control: bytes, content: bytes) -> None:
    """Nothing raises; never more than the cap and the ratio allow; a smaller cap gives a beginning of what a larger one
    gives; what libraries decode comes out the same; what was encoded comes back, whole or cut to a beginning.
    """
    stack = STACKS[control[0] % len(STACKS)]
    if control[1] & 1:
        _round_trip(stack, content, int.from_bytes(control[2:4]))
    else:
        _hostile(stack, content, int.from_bytes(control[2:4]))


def _hostile(stack: tuple[str, ...], content: bytes, cap: int) -> None:
    full = decode_body(content, stack, FULL_BYTES)
    assert len(full.body) <= max(DECODE_RATIO_GRACE_BYTES, len(content) * DECODE_RATIO_MAX)
    some = decode_body(content, stack, cap)
    assert len(some.body) <= cap
    if full.error:  # what a decoder made of its last step before the damage may be missing
        assert full.body.startswith(some.body) or some.body.startswith(full.body)
    else:
        assert full.body.startswith(some.body)
        assert some.truncated or some.body == full.body
    named = ", ".join(stack)
    applied, faults = applied_codings([named], content)
    assert len(applied) <= CONTENT_CODINGS_MAX
    assert set(applied) <= set(stack)
    assert bool(content) <= (len(applied) + len(faults) >= len(stack))
    if len(stack) == 1:
        _as_libraries(stack[0], content, full.body, error=full.error)


def _as_libraries(coding: str, content: bytes, body: bytes, *, error: str) -> None:
    """Where a plain decoder takes all of the input, so do we, and it comes to the same."""
    expected: bytes | None = None
    try:
        if coding == "br":
            expected = brotli.decompress(content) if len(content) < 1000 else None
        elif coding == "deflate":
            decoder = zlib.decompressobj()
            expected = decoder.decompress(content, FULL_BYTES)
            expected = expected if decoder.eof else None
        elif coding == "gzip":
            decoder = zlib.decompressobj(31)
            expected = decoder.decompress(content, FULL_BYTES)
            expected = expected if decoder.eof and not decoder.unused_data else None
    except (zlib.error, brotli.error):
        return
    if expected is not None and len(expected) < DECODE_RATIO_GRACE_BYTES:
        assert error == ""
        assert body == expected


def _round_trip(stack: tuple[str, ...], content: bytes, cut: int) -> None:
    packed = content
    for coding in stack:
        packed = ENCODERS[coding](packed)
    found = decode_body(packed, stack, FULL_BYTES)
    limit = max(DECODE_RATIO_GRACE_BYTES, len(packed) * DECODE_RATIO_MAX)
    assert found == (content[:limit], len(content) > limit, "")
    assert applied_codings([", ".join(stack)], packed) == (stack, ())
    if len(packed) > 1 and len(content) < DECODE_RATIO_GRACE_BYTES:
        part = decode_body(packed[: 1 + cut % (len(packed) - 1)], stack, FULL_BYTES)
        assert content.startswith(part.body)
        assert part.error or part.body == content


def seeds() -> Iterator[bytes]:
    """Bodies of servers that compress; small texts to encode."""
    for line in (CASES / "http" / "raw_cases.jsonl").read_text(encoding="utf-8").splitlines():
        data = (CASES / "http" / json.loads(line)["file"]).read_bytes()
        head, _, body = data.partition(b"\r\n\r\n")
        if b"content-encoding" in head.lower():
            for number in range(len(CODINGS)):
                yield from seed(body, bytes((number, 0, 255, 255)))
    texts = (b"", b"a", b"hello " * 50, bytes(range(256)) * 3, b"<p>" * 2000)
    for number, stack in enumerate(STACKS):
        for text in texts:
            yield from seed(text, bytes((number, 1, 0, 9)))
            packed = text
            for coding in stack:
                packed = ENCODERS[coding](packed)
            yield from seed(packed, bytes((number, 0, 1, 0)))


DECODE = Target("decode", check, seeds, 200)
