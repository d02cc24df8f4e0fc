"""Real worker processes: what they do in order, and what a crash, a hang, a blow-up or a full disk costs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from gossamer.adapters.digest import frames
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.pool import DigestPool
from gossamer.adapters.digest.process import Process
from gossamer.adapters.segments import Segments
from gossamer.model.config import Config, Scope, Workers
from gossamer.model.errors import ConfigError, DiskFullError, GossamerError
from gossamer.model.limits import DIGEST_PENDING_MAX
from gossamer.model.page import Digest
from gossamer.policy.scope import compile_scope
from tests.digest.conftest import Install, Run
from tests.digest.helpers import job, page, targets

MIB = 1 << 20


def at(directory: Path, digest: Digest) -> str:
    """The URL of the record that a digest points to."""
    assert digest.pointer is not None
    path = directory / digest.pointer.segment
    with (path if path.exists() else path.with_name(path.name + ".open")).open("rb") as stream:
        stream.seek(digest.pointer.offset)
        return str(next(iter(ArchiveIterator(stream))).headers["WARC-Target-URI"])


def test_pages_are_parsed_archived_and_answered(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> list[Digest]:
        return await asyncio.gather(*(pool.digest(page(number)) for number in range(50)))

    digests = run(body)
    assert [found.id for found in digests] == [page(number).id for number in range(50)]
    assert [found.title for found in digests] == [f"Page {number}" for number in range(50)]
    assert all(found.links and found.simhash is not None and found.cpu_s > 0 and not found.error for found in digests)
    archive = tmp_path / "archive"
    assert [at(archive, found) for found in digests] == [f"http://example.org/{number}" for number in range(50)]
    assert sorted(targets(archive)) == sorted(f"http://example.org/{number}" for number in range(50))
    assert not list(archive.glob("*.open"))


def test_an_answer_means_that_the_records_are_in_the_file(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> None:
        for number in range(5):
            found = await pool.digest(page(number))
            assert found.pointer is not None
            path = tmp_path / "archive" / (found.pointer.segment + ".open")
            assert path.stat().st_size >= found.committed_end > found.pointer.offset + found.pointer.length

    run(body)


def test_segments_are_rotated_and_named(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> tuple[list[Digest], list[str]]:
        found = [await pool.digest(page(number)) for number in range(12)]
        return found, list(pool.closed)

    digests, closed = run(body, workers=Workers(count=1), segment_bytes=4_000)
    used = {found.pointer.segment for found in digests}
    assert len(used) > 3
    assert set(closed) < used
    assert len(set(closed)) == len(closed) == len(used) - 1
    assert [name for found in digests for name in found.closed] == closed
    assert [at(tmp_path / "archive", found) for found in digests] == [f"http://example.org/{n}" for n in range(12)]


def test_what_is_in_hand_is_bounded(run: Run) -> None:
    async def body(pool: DigestPool) -> None:
        tasks = [asyncio.ensure_future(pool.digest(page(number))) for number in range(3 * DIGEST_PENDING_MAX)]
        most = 0
        while not all(task.done() for task in tasks):
            most = max(most, pool.load())
            await asyncio.sleep(0)
        assert most == DIGEST_PENDING_MAX
        assert pool.load() == 0

    run(body)


def test_a_cancelled_caller_harms_nobody(run: Run) -> None:
    async def body(pool: DigestPool) -> None:
        tasks = [asyncio.ensure_future(pool.digest(page(number))) for number in range(40)]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [digest.title for digest in found[1::2]] == [f"Page {number}" for number in range(1, 40, 2)]
        assert pool.load() == 0

    run(body)


def test_close_finishes_what_was_accepted(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> list[Digest]:
        tasks = [asyncio.ensure_future(pool.digest(page(number))) for number in range(30)]
        await asyncio.sleep(0)
        await pool.close()
        found = await asyncio.gather(*tasks)
        with pytest.raises(GossamerError, match="closed"):
            await pool.digest(page("late"))
        return found

    assert len(run(body, close=False)) == 30
    assert len(targets(tmp_path / "archive")) == 30


# What a bad page costs

ACCIDENTS = """
import os, signal, time

def accident(page):
    if "crash" in page.url:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "exit" in page.url:
        os._exit(5)
    if "hang" in page.url:
        time.sleep(1000)
    if "slow" in page.url:
        time.sleep(0.3)
    if "spin" in page.url:
        while True: pass
    if "memory" in page.url:
        return {"x": str(len(b"x" * (1 << 31)))}
    return {"seen": page.title}
"""


@pytest.mark.parametrize(
    ("accident", "error"),
    [
        ("crash", "digest-crash"),
        ("exit", "digest-crash"),
        ("hang", "digest-timeout"),
        ("spin", "digest-timeout"),
        ("memory", "digest-memory"),
    ],
)
def test_an_accident_costs_one_page(accident: str, error: str, install: Install, run: Run, tmp_path: Path) -> None:
    install(ACCIDENTS, {"gossamer.digest": "accidents = MODULE:accident"})
    numbers: list[int | str] = [*range(10), f"{accident}-page", *range(10, 20)]

    async def body(pool: DigestPool) -> tuple[list[Digest], dict[str, int]]:
        found = await asyncio.gather(*(pool.digest(page(number)) for number in numbers))
        return found, dict(pool.abandoned)

    digests, abandoned = run(body, workers=Workers(count=1, timeout_s=0.6, memory_max_bytes=300 * MIB))
    by_url = dict(zip(numbers, digests, strict=True))
    bad = by_url.pop(f"{accident}-page")
    assert bad.error == error
    assert (bad.title, bad.links) == ("", ())
    archive = tmp_path / "archive"
    assert at(archive, bad) == f"http://example.org/{accident}-page"
    for number, found in by_url.items():
        assert (found.error, found.title, found.extra) == ("", f"Page {number}", {"seen": f"Page {number}"})
        assert at(archive, found) == f"http://example.org/{number}"
    if error == "digest-memory":
        assert abandoned == {}  # the worker survived it
        return
    [(name, end)] = abandoned.items()
    acked = [found.committed_end for found in digests if found.pointer and found.pointer.segment == name]
    assert end == max(acked, default=0)
    assert (archive / (name + ".open")).stat().st_size >= end


def test_a_parser_out_of_memory_costs_one_page(run: Run) -> None:
    """The real thing: markup that unfolds into far more tree than the limit allows."""
    big = job(b"<p>" * 3_000_000, "http://example.org/big", id=1)

    async def body(pool: DigestPool) -> list[Digest]:
        return await asyncio.gather(pool.digest(big), *(pool.digest(page(number)) for number in range(5)))

    found = run(body, workers=Workers(count=1, memory_max_bytes=120 * MIB, timeout_s=20))
    assert found[0].error in {"digest-memory", "digest-crash"}
    assert found[0].pointer is not None
    assert [digest.error for digest in found[1:]] == [""] * 5


def test_a_worker_killed_from_outside_loses_nothing(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> tuple[list[Digest], dict[str, int]]:
        tasks = [asyncio.ensure_future(pool.digest(page(number))) for number in range(400)]
        killed = 0
        while not all(task.done() for task in tasks):
            await asyncio.sleep(0)
            done = sum(task.done() for task in tasks)
            if killed < 3 and done >= 40 * (killed + 1):
                busy = next((worker for worker in pool._workers if worker.jobs), None)
                if busy is not None:
                    os.kill(busy._process.pid, signal.SIGKILL)
                    killed += 1
        assert killed == 3
        return [task.result() for task in tasks], dict(pool.abandoned)

    digests, abandoned = run(body)
    archive = tmp_path / "archive"
    assert [at(archive, found) for found in digests] == [f"http://example.org/{number}" for number in range(400)]
    for name, end in abandoned.items():
        acked = [found.committed_end for found in digests if found.pointer and found.pointer.segment == name]
        assert end == max(acked, default=0)


def test_a_worker_that_dies_behind_a_finished_segment_leaves_no_page_twice(
    install: Install, run: Run, tmp_path: Path
) -> None:
    """What it finished and did not answer for is cut back like what it left open; the pages are written again."""
    install(ACCIDENTS, {"gossamer.digest": "accidents = MODULE:accident"})
    # What comes behind the slow one is there at once, so that the next sync comes after the accident.
    numbers: list[int | str] = ["slow-page", *range(4), "crash-page", 100]
    archive = tmp_path / "archive"

    async def body(pool: DigestPool) -> None:
        found = await asyncio.gather(*(pool.digest(page(number)) for number in numbers))
        committed: dict[str, int] = {}
        for digest in found:
            assert digest.pointer is not None
            name = digest.pointer.segment
            committed[name] = max(committed.get(name, 0), digest.committed_end)
        told: dict[str, str] = {}
        Segments(archive, committed, frozenset(committed), told.__setitem__).tend(pool)
        assert told == {}
        assert pool.abandoned == {}

    run(body, workers=Workers(count=1), segment_bytes=1)
    pages = Counter[str]()
    for path in archive.glob("*.warc.gz"):
        with path.open("rb") as stream:
            pages.update(
                record.headers["WARC-Target-URI"] for record in ArchiveIterator(stream, WarcRecordType.response)
            )
    assert pages == {f"http://example.org/{number}": 1 for number in numbers}


def test_a_segment_that_was_finished_and_not_told_of_is_abandoned(tmp_path: Path) -> None:
    """How quickly a worker dies after it finished one is a matter of microseconds: here it has."""
    names = [f"GOSSAMER-x-00-0000{number}.warc.gz" for number in range(3)]
    for name in (*names[:2], names[2] + ".open", names[0] + ".cdxj", "GOSSAMER-x-01-00000.warc.gz"):
        (tmp_path / name).touch()
    pool = DigestPool(Config(), compile_scope(Scope(mode="any"), ()), tmp_path, time.time)
    setup = frames.Setup(
        rules=LinkRules(scope=compile_scope(Scope(mode="any"), ())), directory=str(tmp_path), prefix="GOSSAMER-x-00",
        segment_bytes=1, software="", user_agent="", operator="", memory_max_bytes=1,
    )  # fmt: skip
    worker = Process(setup, lambda *_: None, lambda _: None)
    pool._told_closed(worker, (names[0],))
    pool._ends[names[1]] = 400  # answered for so much of it
    pool._abandon(worker)
    assert pool.abandoned == {names[1]: 400, names[2]: 0}


def test_workers_that_cannot_start_are_not_started_for_ever(install: Install, run: Run) -> None:
    install("import os\nos.write(2, b'no such luck')\nos._exit(9)", {"gossamer.scope": "dead = MODULE:nothing"})

    async def body(pool: DigestPool) -> None:
        raise AssertionError

    with pytest.raises(GossamerError, match="ended with code 9: no such luck"):
        run(body)


def test_a_page_on_which_every_worker_dies_is_given_up(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that also dies on the unparsed page: the page fails, the pool goes on."""
    sent: list[int] = []

    async def body(pool: DigestPool) -> tuple[Digest, Digest]:
        original = pool._heard

        def heard(worker: Any, message: Any) -> None:
            if isinstance(message, frames.Answer) and message.digest.title in {"Page 1", ""} and len(sent) < 2:
                sent.append(message.digest.id)
                worker._progress.begin(message.digest.id, time.monotonic())
                os.kill(worker._process.pid, signal.SIGKILL)
                return
            original(worker, message)

        for worker in pool._workers:
            worker._on_message = heard
        pool._heard = heard  # type: ignore[method-assign]
        return await pool.digest(page(1)), await pool.digest(page(2))

    first, second = run(body, workers=Workers(count=1))
    assert (first.pointer, first.error) == (None, "digest-crash")
    assert (second.error, second.title) == ("", "Page 2")


def test_workers_do_not_outlive_their_parent(tmp_path: Path) -> None:
    code = f"""
    import asyncio, time
    from pathlib import Path
    from gossamer.adapters.digest.pool import DigestPool
    from gossamer.model.config import Config, Scope, Workers
    from gossamer.policy.scope import compile_scope
    async def main():
        scope = compile_scope(Scope(mode="any"), ())
        pool = DigestPool(Config(workers=Workers(count=2)), scope, Path({str(tmp_path)!r}), time.time)
        await pool.start()
        print(*(worker._process.pid for worker in pool._workers), flush=True)
        await asyncio.sleep(60)
    asyncio.run(main())
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, env=environment, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        os.killpg(parent.pid, signal.SIGINT)  # Ctrl-C reaches the workers too; they leave it to their parent
        for pid in pids:
            assert Path(f"/proc/{pid}").exists()
        parent.kill()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(is_running(pid) for pid in pids):
        time.sleep(0.02)
    assert not any(is_running(pid) for pid in pids)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_ctrl_c_does_not_stop_a_worker(run: Run) -> None:
    async def body(pool: DigestPool) -> list[Digest]:
        for worker in pool._workers:
            os.kill(worker._process.pid, signal.SIGINT)  # type: ignore[union-attr]
        return await asyncio.gather(*(pool.digest(page(number)) for number in range(10)))

    assert all(found.pointer is not None for found in run(body))


def test_a_full_disk_is_an_error_of_the_call(run: Run, tmp_path: Path) -> None:
    async def body(pool: DigestPool) -> None:
        original = pool._resolve
        pool._resolve = lambda digest: original(  # type: ignore[method-assign]
            Digest(id=digest.id, pointer=None, unwritten="full", error="archive: no room for it")
        )
        with pytest.raises(DiskFullError, match=r"^no room for it"):
            await pool.digest(page(1))

    run(body)


def test_a_hook_that_cannot_be_loaded_stops_the_start(install: Install, tmp_path: Path) -> None:
    install("thing = 5", {"gossamer.links": "odd = MODULE:thing"})

    async def main() -> None:
        pool = DigestPool(Config(), compile_scope(Scope(mode="any"), ()), tmp_path, time.time)
        with pytest.raises(ConfigError, match=r"hook 'odd' of gossamer\.links .* is not callable"):
            await pool.start()

    asyncio.run(main())


def test_links_the_core_has_rows_for_are_told_once_by_each_worker(run: Run) -> None:
    async def body(pool: DigestPool) -> list[list[str]]:
        told = []
        for number in range(1, 5):
            html = b"<meta charset=utf-8><a href=/a>a</a><a href=/b>b</a>"
            found = await pool.digest(job(payload=html, id=number, url=f"http://example.org/{number}"))
            links = [link for group in found.links for link in group.links]
            told.append([wire.rpartition("/")[2] for wire, _ in links])
            pool.settled(
                number, None if number == 1 else tuple(key for wire, key in links if number == 2 and "/b" in wire)
            )
        return told

    # Nothing is said of the first page's links; the second of the second page was refused, so it comes again.
    assert run(body, workers=Workers(count=1)) == [["a", "b"], ["a", "b"], ["b"], []]
