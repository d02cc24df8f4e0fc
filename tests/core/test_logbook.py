"""Log lines in the store: each is there from its commit on until the log has it, whatever ends in between."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.changes import Changes
from gossamer.core.logbook import Logbook
from gossamer.model.event import FetchEvent
from gossamer.model.jsonbytes import encode
from gossamer.model.page import Kind
from gossamer.sim.memstore import MemoryStore
from gossamer.surface.crawllog import CURRENT, CrawlLog
from tests.conftest import examples


def event(number: int) -> FetchEvent:
    return FetchEvent(
        time=float(number),
        url=f"http://one.example/{number}",
        key=f"{number}",
        host="one.example",
        site="one.example",
        kind=Kind.PAGE,
    )


def commit(store: MemoryStore, book: Logbook, *events: FetchEvent) -> None:
    changes = Changes(store)
    for each in events:
        book.put(changes, each)
    book.sweep(changes)
    store.write(changes.ops())


def test_a_line_leaves_the_store_once_the_log_has_it() -> None:
    store = MemoryStore()
    book = Logbook(store)
    commit(store, book, event(1))
    commit(store, book, event(2), event(3))
    book.written(2)
    commit(store, book)
    assert Logbook(store).left == [encode(event(3))]
    again = Logbook(store)
    commit(store, again, event(4))
    assert Logbook(store).left == [encode(event(3)), encode(event(4))], "numbers go on"


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(["commit", "log", "log half", "tear", "die", "rotate"]), max_size=40))
def test_after_any_end_the_log_has_every_line_once(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    folder = tmp_path_factory.mktemp("log")
    store = MemoryStore()
    book, log = Logbook(store), CrawlLog(folder)
    made, held = 0, []
    for step in [*steps, "die"]:
        if step == "commit":
            held.append(event(made))
            commit(store, book, event(made))
            made += 1
        elif step == "rotate":
            if log._size:
                log._rotate()
        elif step == "log":
            for each in held:
                log.append(each)
            log.flush()
            book.written(len(held))
            held.clear()
        else:
            lines = [encode(each) + b"\n" for each in held]
            with (folder / CURRENT).open("ab") as file:
                if step == "log half":  # the process ends before it can say so
                    file.write(b"".join(lines[: len(lines) // 2]))
                elif step == "tear" and lines:
                    file.write(lines[0] + b"".join(lines[1:2])[:-3])
            held.clear()
            log.close()
            book, log = Logbook(store), CrawlLog(folder)
            log.complete(book.left)
            book.written(len(book.left))
    log.close()
    found = b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in (*sorted(folder.glob("crawl-*.jsonl*")), folder / CURRENT)
    )
    assert [json.loads(line)["time"] for line in found.splitlines()] == list(map(float, range(made)))


def test_lines_that_a_log_cannot_tell_from_others_are_appended(tmp_path: Path) -> None:
    log = CrawlLog(tmp_path)
    log.append(event(9))
    log.complete([encode(event(1)), encode(event(2))])
    log.close()
    times = [json.loads(line)["time"] for line in (tmp_path / CURRENT).read_bytes().splitlines()]
    assert times == [9.0, 1.0, 2.0]
