"""Everything that is kept for the fuzzer, replayed without it; and a short search that is the same each time."""

from __future__ import annotations

import random
import zlib
from pathlib import Path

import pytest

from tests.fuzz.harness import CONTROL_BYTES, CORPORA, INPUT_MAX_BYTES, SEED_MAX_BYTES, SUFFIX, Target
from tests.fuzz.targets.all import TARGETS

CORPORA_MAX_BYTES = 2_000_000
CORPUS_MIN_FILES = 20
CORPUS_MAX_FILES = 150
AMPLIFIED_SHARE = 4  # one in so many inputs is repeated to a large one
MUTANTS = 200  # of each target
TOKENS = (
    b"\0", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"%", b"%2f", b"*", b"$", b":", b";", b"<", b">", b'"', b"'", b"&",
    b"&#0;", b"=", b"\xff", b"\xc3\xa9", b"\xed\xa0\x80", b"0", b"-1", b"99999999999999999999", b"\xef\xbb\xbf",
    b"\x1f\x8b\x08", b"<!--", b"]]>",
    b"//", b"..", b"?", b"#", b"@", b"[", b"\x85", b"\xa0",
)  # fmt: skip

FILES = [(target, path) for target in TARGETS.values() for path in target.corpus()]


@pytest.mark.parametrize(("target", "path"), FILES, ids=lambda value: value.name)
def test_kept_input(target: Target, path: Path) -> None:
    data = path.read_bytes()
    target.run(data, amplify=zlib.crc32(data) % AMPLIFIED_SHARE == 0)


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_corpus_is_small_and_there(target: Target) -> None:
    sizes = [path.stat().st_size for path in target.corpus()]
    assert CORPUS_MIN_FILES <= len(sizes) <= CORPUS_MAX_FILES
    assert max(sizes) <= CONTROL_BYTES + SEED_MAX_BYTES


def test_corpora_are_all_of_known_targets() -> None:
    files = [path for path in CORPORA.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(TARGETS)
    assert {path.suffix for path in files} == {SUFFIX}
    assert sum(path.stat().st_size for path in files) <= CORPORA_MAX_BYTES


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_seeds(target: Target) -> None:
    count = 0
    for count, data in enumerate(target.seeds(), 1):  # noqa: B007 - counted
        target.run(data, amplify=False)
    assert count >= target.seeds_min


@pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)
def test_mutants_of_what_is_kept(target: Target) -> None:
    chance = random.Random(target.name)
    stock = [data for data in (*target.seeds(), *(path.read_bytes() for path in target.corpus())) if len(data) < 2000]
    for _ in range(MUTANTS):
        target.run(mutant(chance, chance.choice(stock), chance.choice(stock)), amplify=False)


def mutant(chance: random.Random, data: bytes, other: bytes) -> bytes:
    """An input with one to four changes; sometimes its end is that of another."""
    out = bytearray(data)
    if not chance.randrange(4):
        out[chance.randrange(len(out) + 1) :] = other[chance.randrange(len(other) + 1) :]
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(out) + 1)
        how = chance.randrange(4)
        if how == 0:
            out[at:at] = chance.choice(TOKENS)
        elif how == 1:
            del out[at : at + chance.randint(1, 8)]
        elif how == 2 and at < len(out):
            out[at] ^= 1 << chance.randrange(8)
        else:
            out[at:at] = out[at : at + chance.randint(1, 30)] * chance.randint(1, 5)
    return bytes(out[:INPUT_MAX_BYTES])
