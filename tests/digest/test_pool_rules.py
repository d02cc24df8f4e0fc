"""The rules that workers judge links by change while they work: no page is lost, none is judged by old ones."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gossamer.adapters.digest.pool import DigestPool
from gossamer.model.config import Scope, Workers
from gossamer.model.page import Digest
from gossamer.policy.scope import compile_scope
from tests.digest.conftest import Run
from tests.digest.helpers import job, links, targets


def page(number: int) -> bytes:
    return f"<a href=http://example.org/a{number}>a</a><a href=http://example.org/b{number}>b</a><p>{number}".encode()


async def digested(pool: DigestPool, first: int, count: int) -> list[Digest]:
    jobs = [job(page(number), url=f"http://example.org/{number}", id=number) for number in range(first, first + count)]
    return await asyncio.gather(*(pool.digest(one) for one in jobs))


def test_pages_after_the_change_are_judged_by_the_new_rules_and_none_is_lost(run: Run, tmp_path: Path) -> None:
    narrow = compile_scope(Scope(mode="any", exclude=("*/b*",)), ())

    async def body(pool: DigestPool) -> tuple[list[Digest], list[Digest], list[Digest]]:
        before = await digested(pool, 0, 20)
        under_way = asyncio.create_task(digested(pool, 100, 60))
        await asyncio.sleep(0)
        await pool.change_rules(narrow, 16)
        after = await digested(pool, 200, 20)
        return before, await under_way, after

    before, under_way, after = run(body, workers=Workers(count=2))
    assert all(len(links(found)) == 2 for found in before)
    assert all(len(links(found)) == 1 for found in after)
    assert len(under_way) == 60
    assert not [found.error for found in (*before, *under_way, *after) if found.error]
    expected = [*range(20), *range(100, 160), *range(200, 220)]
    assert sorted(targets(tmp_path / "archive")) == sorted(f"http://example.org/{number}" for number in expected)
    assert not list((tmp_path / "archive").glob("*.open"))


def test_workers_that_make_room_are_no_restarts_and_all_of_them_end(run: Run) -> None:
    async def body(pool: DigestPool) -> tuple[int, int]:
        for depth in (3, 4, 5):
            await pool.change_rules(compile_scope(Scope(mode="any"), ()), depth)
        await digested(pool, 0, 10)
        for _ in range(200):
            if len(pool._workers) == 2:
                break
            await asyncio.sleep(0.05)
        return pool.restarts, len(pool._workers)

    assert run(body, workers=Workers(count=2)) == (0, 2)
