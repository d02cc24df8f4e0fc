"""Fingerprints of texts: what they ignore, what they don't, what is too short, and that they take linear time."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.adapters.digest import fingerprint as module
from gossamer.adapters.digest.fingerprint import SHINGLES_MIN, fingerprint
from gossamer.policy.duplicates import hamming, is_unchanged, similarity


def text(count: int, seed: int = 1) -> list[str]:
    dice = random.Random(seed)
    return [f"word{dice.randrange(4_000)}" for _ in range(count)]


def test_case_spacing_and_punctuation_are_ignored() -> None:
    plain = text(300)
    dressed = "  ".join(f"{word.capitalize()}," for word in plain) + "\n\n"
    assert fingerprint(" ".join(plain)) == fingerprint(dressed)


def test_an_edit_changes_the_content_hash() -> None:
    words = text(5_000)
    before = fingerprint(" ".join(words))
    words[2_500] = "otherwise"
    after = fingerprint(" ".join(words))
    assert before.content_hash != after.content_hash
    assert before.simhash is not None
    assert after.simhash is not None
    assert hamming(before.simhash, after.simhash) <= 3
    assert similarity(before.sketch, after.sketch) > 0.9


def test_different_texts_are_far_apart() -> None:
    a, b = fingerprint(" ".join(text(800, 1))), fingerprint(" ".join(text(800, 2)))
    assert a.simhash is not None
    assert b.simhash is not None
    assert hamming(a.simhash, b.simhash) > 12
    assert similarity(a.sketch, b.sketch) == 0.0
    assert not is_unchanged(a.simhash, b.simhash)


def test_short_texts_are_not_judged() -> None:
    words = [f"n{number}" for number in range(SHINGLES_MIN + 3)]
    assert fingerprint(" ".join(words)).simhash is not None
    short = fingerprint(" ".join(words[:-1]))
    assert short.simhash is None
    assert short.sketch == b""
    assert short.content_hash
    assert short.text_chars == len(" ".join(words[:-1]))


def test_repeating_four_words_is_a_short_text() -> None:
    assert fingerprint("to be or not " * 500).simhash is None


@pytest.mark.parametrize("nothing", ["", "   ", "… — !", "!?.,;:"])
def test_texts_of_next_to_no_words(nothing: str) -> None:
    found = fingerprint(nothing)
    assert found.simhash is None
    assert (found.content_hash == 0) == (found.text_chars == 0)


def test_a_script_without_spaces_is_taken_by_characters() -> None:
    dice = random.Random(3)
    characters = "".join(chr(0x4E00 + dice.randrange(3_000)) for _ in range(2_000))
    whole = fingerprint(characters)
    edited = fingerprint(characters[:1_000] + "字" + characters[1_001:])
    assert whole.simhash is not None
    assert edited.simhash is not None
    assert hamming(whole.simhash, edited.simhash) <= 4
    assert similarity(whole.sketch, edited.sketch) > 0.85


def test_counting_in_chunks_gives_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    words = " ".join(text(3_000))
    whole = fingerprint(words)
    monkeypatch.setattr(module, "CHUNK", 100)
    assert fingerprint(words) == whole


def test_fingerprints_are_the_same_in_every_process() -> None:
    """They are stored: a change here makes every stored fingerprint worthless."""
    found = fingerprint(" ".join(f"word{number}" for number in range(200)))
    assert (found.content_hash, found.simhash) == (STORED_HASH, STORED_SIMHASH)


STORED_HASH = 9_647_023_978_912_155_911
STORED_SIMHASH = 8_369_591_469_765_304_127


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=2_000))
def test_any_text_has_one(anything: str) -> None:
    found = fingerprint(anything)
    assert 0 <= found.content_hash < 2**64
    assert found.simhash is None or 0 <= found.simhash < 2**64


def test_texts_longer_than_a_block_are_cut_between_words() -> None:
    """The hash of a word does not depend on where the word stands."""
    words = " ".join(text(60_000))
    whole, length = module._word_hashes(words.encode())
    shifted, _ = module._word_hashes(b"a  few more words before  it " + words.encode())
    assert len(whole) == 60_000
    assert length == len(words)
    assert (shifted[6:] == whole).all()


@pytest.mark.parametrize("spaces", [" ", "\n\n  ", " . ", "\u2003 "])
def test_a_word_of_many_blocks_is_hashed(spaces: str) -> None:
    data = f"{spaces}{'x' * 200_000}{spaces}y{spaces}".encode().translate(module._SEPARATE)
    assert len(module._word_hashes(data)[0]) >= 2


def test_hostile_texts_take_linear_time() -> None:
    for unit in ("a ", "字", "x", "\ud800 ", "ก", "é"):
        fingerprint(unit * (1_000_000 // len(unit)))
