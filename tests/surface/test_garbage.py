"""The garbage collector beside a crawl: what lives long is set apart, and nothing that is dropped stays for good."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import closing

import pytest

from gossamer.surface import garbage
from gossamer.surface.garbage import Garbage, look_again


class Knot:
    """Refers to itself: reference counts alone never free it."""

    def __init__(self) -> None:
        self.itself = self


def test_what_outlives_the_young_is_passed_over_and_a_knot_among_it_is_freed_when_looked_at_again() -> None:
    async def crawl() -> None:
        with closing(Garbage()):
            knot = Knot()
            seen = weakref.ref(knot)
            before = gc.get_freeze_count()
            gc.collect(1)
            assert gc.get_freeze_count() > before
            del knot
            gc.collect()
            assert seen() is not None  # set apart: an ordinary run, however full, does not visit it
            look_again()
            assert seen() is None
            assert gc.get_freeze_count() > before - 1_000  # and what lives on is set apart again

    asyncio.run(crawl())
    assert gc.get_freeze_count() == 0


def test_it_looks_again_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def crawl() -> None:
        with closing(Garbage()) as collector:
            knot = Knot()
            seen = weakref.ref(knot)
            gc.collect(1)
            del knot
            monkeypatch.setattr(garbage, "LOOK_AGAIN_S", 0.0)
            collector._again()
            assert seen() is None
            gc.collect(1)
            later = Knot()
            seen = weakref.ref(later)
            gc.collect(1)
            del later
            while seen() is not None:  # noqa: ASYNC110 - a timer of the loop is waited for, nothing sets an event
                await asyncio.sleep(0)

    asyncio.run(crawl())


def test_after_a_crawl_the_collector_is_as_it_was() -> None:
    before = list(gc.callbacks)

    async def crawl() -> None:
        with closing(Garbage()):
            assert len(gc.callbacks) == len(before) + 1

    asyncio.run(crawl())
    assert gc.callbacks == before
