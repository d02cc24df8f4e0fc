"""What every fuzz target has: a check of arbitrary bytes, seeds, and the bound on time that holds for all of them.

A check raises when its oracle is broken; what an oracle is stands in the docstring of each target. Not here: running
targets (`test_corpora` replays what is kept, `fuzz` searches with coverage as its guide).
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CORPORA = Path(__file__).parent / "corpora"
CASES = Path(__file__).parent.parent / "cases"
SUFFIX = ".bin"

CONTROL_BYTES = 4  # of each input: what the harness does with the rest
INPUT_MAX_BYTES = 1024  # of content that the search makes: small inputs are tried often
SINGLE_MAX_BYTES = 160  # of an input that is cut into single bytes
SEED_MAX_BYTES = 16 * 1024
TIME_FIXED_S = 1.0
TIME_PER_BYTE_S = 10e-6  # several times what the slowest parser needs under a coverage-counting interpreter
AMPLIFIED_BYTES = 64 * 1024  # at which a quadratic parser takes minutes
AMPLIFIED_SHARE = 512  # one in so many inputs is amplified during the search


class SlowError(AssertionError):
    """A check took more time than its input's length allows."""


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that is fuzzed."""

    name: str
    check: Callable[[bytes, bytes], None]  # control bytes, content; raises AssertionError when the oracle is broken
    seeds: Callable[[], Iterable[bytes]]  # whole inputs, from the fact files
    seeds_min: int  # that they must give: a lost case file is noticed
    amplified_bytes: int = AMPLIFIED_BYTES
    input_max_bytes: int = INPUT_MAX_BYTES

    def run(self, data: bytes, *, amplify: bool | None = None) -> None:
        """Check one input, and that it took no more than linear time.

        Args: the input; whether to check it once more with its content repeated to AMPLIFIED_BYTES, by default for one
        in AMPLIFIED_SHARE. Raises AssertionError, and whatever else the code under test wrongly raises.
        """
        control, content = data[:CONTROL_BYTES].ljust(CONTROL_BYTES, b"\0"), data[CONTROL_BYTES:]
        self._timed(control, content)
        if amplify is None:
            amplify = zlib.crc32(data) % AMPLIFIED_SHARE == 0
        if amplify and content:
            self._timed(control, amplified(control, content, self.amplified_bytes))

    def corpus(self) -> list[Path]:
        """The kept inputs."""
        return sorted((CORPORA / self.name).glob("*" + SUFFIX))

    def _timed(self, control: bytes, content: bytes) -> None:
        begun = time.thread_time()
        self.check(control, content)
        taken_s = time.thread_time() - begun
        allowed_s = TIME_FIXED_S + len(content) * TIME_PER_BYTE_S
        if taken_s > allowed_s:
            raise SlowError(f"{self.name}: {taken_s:.1f} s for {len(content)} bytes, {allowed_s:.1f} s are allowed")


def amplified(control: bytes, content: bytes, size: int) -> bytes:
    """The content with all of it, its beginning or its end repeated up to a size: what is quadratic shows."""
    at = zlib.crc32(control) % len(content) if control[-1] & 1 else 0
    head, tail = content[:at], content[at:]
    return head + tail * max(1, (size - at) // len(tail))


def pieces(data: bytes, how: int) -> Iterator[bytes]:
    """Data as a socket might deliver it: whole (0), byte by byte (1), in halves (2), else in a pattern of its own."""
    if how == 1 and len(data) > SINGLE_MAX_BYTES:
        how = 0x43  # byte by byte would mostly measure the loop that does it
    if how < 2:
        step = 1 if how else max(1, len(data))
        yield from (data[at : at + step] for at in range(0, len(data), step))
        return
    if how == 2:
        half = len(data) // 2
        yield from (piece for piece in (data[:half], data[half:]) if piece)
        return
    at, state = 0, how
    while at < len(data):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        size = 1 + (state >> 8) % (1 + (how & 0x3F))
        yield data[at : at + size]
        at += size


def seed(content: bytes, control: bytes = b"") -> Iterator[bytes]:
    """A seed, unless it is too long to be one."""
    if len(content) <= SEED_MAX_BYTES:
        yield control.ljust(CONTROL_BYTES, b"\0") + content


def text_of(data: bytes) -> str:
    """Any text at all: UTF-8 where it is, with lone surrogates where it says so."""
    return data.decode("utf-8", "surrogatepass" if _has_surrogates_only(data) else "replace")


def _has_surrogates_only(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True
