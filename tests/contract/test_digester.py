"""The suite of `ports.digester.Digester`: worker processes and the simulated ones keep the same promises."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gossamer.model.errors import DiskFullError, GossamerError, StoreError
from gossamer.model.page import Digest, Job
from tests.contract.digesters import ACCIDENTS, ERRORS, HOOK, WORLDS, Body, Place, World
from tests.digest.conftest import Install
from tests.digest.helpers import page


class Bench:
    """A world and a place for its archive."""

    def __init__(self, world: World, directory: Path) -> None:
        self._world = world
        self._directory = directory

    def run(self, body: Body) -> Any:
        return self._world.run(self._directory, body)


@pytest.fixture(params=WORLDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path, install: Install) -> Bench:
    install(ACCIDENTS, HOOK)
    return Bench(WORLDS[request.param], tmp_path / "archive")


def job(number: int | str) -> Job:
    """A page of its own, with an id that says which."""
    return msgspec.structs.replace(page(number), id=number if isinstance(number, int) else 1_000)


async def _awaited(work: Awaitable[Digest]) -> Digest:
    return await work


def begin(place: Place, *numbers: int | str) -> list[asyncio.Task[Digest]]:
    return [asyncio.create_task(_awaited(place.digester.digest(job(number)))) for number in numbers]


def test_each_job_has_exactly_one_digest_and_a_record_of_its_own(bench: Bench) -> None:
    async def body(place: Place) -> None:
        tasks = begin(place, *range(60))
        found = await asyncio.gather(*tasks)
        assert [digest.id for digest in found] == list(range(60))
        assert {digest.error for digest in found} == {""}
        places = [digest.pointer for digest in found if digest.pointer is not None]
        assert len({(pointer.segment, pointer.offset) for pointer in places}) == 60
        # The record is durable when the digest is there: it can be read while the segment is still being written.
        assert [place.stored(pointer) for pointer in places] == [job(number).url for number in range(60)]
        for digest in found:
            assert digest.pointer is not None
            assert digest.committed_end >= digest.pointer.offset + digest.pointer.length

    bench.run(body)


def test_the_same_id_twice_is_two_jobs(bench: Bench) -> None:
    async def body(place: Place) -> list[Digest]:
        jobs = [msgspec.structs.replace(job(number), id=7) for number in range(4)]
        found = await asyncio.gather(*(place.digester.digest(each) for each in jobs))
        assert [place.stored(digest.pointer) for digest in found if digest.pointer] == [each.url for each in jobs]
        return found

    assert [digest.id for digest in bench.run(body)] == [7] * 4


def test_load_counts_what_is_accepted_and_not_answered(bench: Bench) -> None:
    async def body(place: Place) -> None:
        digester = place.digester
        assert digester.load() == 0
        tasks = begin(place, *range(10))
        await asyncio.sleep(0)
        assert digester.load() == 10
        loads = []
        for task in asyncio.as_completed(tasks):
            await task
            loads.append(digester.load())
        assert loads == sorted(loads, reverse=True)
        assert digester.load() == 0

    bench.run(body)


def test_a_caller_that_gives_up_harms_nobody(bench: Bench) -> None:
    async def body(place: Place) -> None:
        tasks = begin(place, *range(20))
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in found[::2]} == {asyncio.CancelledError}
        assert [each.id for each in found[1::2] if isinstance(each, Digest)] == list(range(1, 20, 2))
        assert place.digester.load() == 0
        assert (await place.digester.digest(job(99))).id == 99

    bench.run(body)


@pytest.mark.parametrize("accident", ERRORS)
def test_a_worker_that_dies_or_hangs_costs_one_page_its_parsing(bench: Bench, accident: str) -> None:
    async def body(place: Place) -> None:
        numbers: list[int | str] = [*range(8), f"{accident}-page", *range(8, 16)]
        found = await asyncio.gather(*begin(place, *numbers))
        for number, digest in zip(numbers, found, strict=True):
            assert digest.error == (ERRORS[accident] if isinstance(number, str) else "")
            assert bool(digest.title) == isinstance(number, int)
            assert digest.pointer is not None
            assert place.stored(digest.pointer) == job(number).url
        assert place.digester.load() == 0

    bench.run(body)


def test_a_full_disk_is_an_error_of_every_call_that_meets_it(bench: Bench) -> None:
    async def body(place: Place) -> None:
        before = await place.digester.digest(job(0))
        place.fill_disk()
        found = await asyncio.gather(*begin(place, *range(1, 6)), return_exceptions=True)
        assert {type(each) for each in found} == {DiskFullError}
        assert all("\n" not in str(each) for each in found)
        assert place.digester.load() == 0
        assert before.pointer is not None
        assert place.stored(before.pointer) == job(0).url
        place.free_disk()

    bench.run(body)


def test_an_archive_that_fails_is_an_error_of_the_call_and_no_pages_fault(bench: Bench) -> None:
    async def body(place: Place) -> None:
        for number in ("unwritable-1", "unwritable-2"):
            with pytest.raises(StoreError, match="Input/output error") as caught:
                await place.digester.digest(job(number))
            assert "\n" not in str(caught.value)
        assert place.digester.load() == 0
        found = await place.digester.digest(job(3))
        assert found.pointer is not None
        assert place.stored(found.pointer) == job(3).url

    bench.run(body)


def test_close_finishes_what_was_accepted(bench: Bench) -> None:
    async def body(place: Place) -> None:
        tasks = begin(place, *range(30))
        await asyncio.sleep(0)
        await place.digester.close()
        assert place.digester.load() == 0
        found = await asyncio.gather(*tasks)
        assert [digest.id for digest in found] == list(range(30))
        assert [place.stored(digest.pointer) for digest in found if digest.pointer] == [job(n).url for n in range(30)]

    bench.run(body)


def test_closed_is_closed(bench: Bench) -> None:
    async def body(place: Place) -> None:
        await place.digester.digest(job(1))
        for _ in range(3):
            await place.digester.close()
        with pytest.raises(GossamerError, match="closed"):
            await place.digester.digest(job(2))
        assert place.digester.load() == 0

    bench.run(body)
