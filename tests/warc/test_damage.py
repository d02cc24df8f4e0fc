"""Segments damaged in any number of places, and writers that died anywhere: what is read, what is recovered.

The oracles are those of the fuzz target; here Hypothesis picks the damage, and shrinks what breaks them.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets.warc import WARC

EDITS = st.lists(
    st.tuples(st.integers(0, 4_000), st.integers(0, 3), st.integers(0, 255)).map(
        lambda edit: edit[0].to_bytes(2) + bytes(edit[1:])
    ),
    max_size=8,
).map(b"".join)


@given(EDITS)
@settings(max_examples=300)
def test_everything_in_front_of_the_damage_is_read(edits: bytes) -> None:
    WARC.check(b"\2\0\0\0", edits)


@given(EDITS, st.integers(0, 65_535), st.booleans())
@settings(max_examples=300)
def test_recovery_leaves_whole_records_and_is_done_when_it_is_done(edits: bytes, committed: int, is_open: bool) -> None:
    WARC.check(b"\3" + committed.to_bytes(2) + bytes((2 * is_open,)), edits)
