"""The herald: what a crawl cannot say of itself reaches a receiver from the server, signed, once, and is taken back."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from gossamer.serve.crawls import Crawls
from gossamer.serve.herald import Herald
from gossamer.surface import alarms, settings
from gossamer.surface.alarmbook import CLEAR_S
from gossamer.surface.alarms import VIOLATION_RINGS_S
from tests.reader.making import Made
from tests.serve.fakes import FakeControl
from tests.serve.server import Running
from tests.support.receiver import Receiver, is_signed, receiving

SECRET = b"a secret of more than 16 bytes"
Told = tuple[str, str, str]  # alarm, state, severity


def served(crawl: Made, folder: Path, url: str) -> Path:
    """A copy of a crawl whose operator is to be told."""
    (folder / "notify.secret").write_bytes(SECRET)
    directory = crawl.copy(folder / "crawl").directory
    config = settings.load(directory / settings.FILE_NAME, directory=str(directory))
    notify = msgspec.structs.replace(config.notify, url=url, secret_file=str(folder / "notify.secret"))
    settings.save(msgspec.structs.replace(config, notify=notify))
    return directory


def watch(directory: Path, body: Callable[[Herald, Crawls, float], Awaitable[None]]) -> Crawls:
    crawls = Crawls([directory], lambda _: FakeControl())

    async def main() -> None:
        herald = Herald(crawls)
        await body(herald, crawls, time.time())
        await herald.close()
        await crawls.close()

    asyncio.run(main())
    return crawls


def heard(receiver: Receiver) -> list[Told]:
    assert all(is_signed(one, SECRET) for one in receiver.got)
    data = [json.loads(one.body)["data"] for one in receiver.got]
    return [(one["alarm"], one["state"], one["severity"]) for one in data]


def test_a_crawl_that_was_killed(crawl: Made, tmp_path: Path) -> None:
    async def body(herald: Herald, crawls: Crawls, now: float) -> None:
        one = crawls.all["crawl"]
        for minute in range(4):
            await herald.look(one, now + 60 * minute)
        await asyncio.sleep(0.2)
        assert receiver.got == [], "it may be gone on with"
        for minute in range(5, 20):
            await herald.look(one, now + 60 * minute)

    with receiving() as receiver:
        watch(served(crawl, tmp_path, receiver.base), body)
        assert heard(receiver) == [
            ("crawl-interrupted", "raised", "page"),
            ("crawl-interrupted", "cleared", "page"),
        ]
        assert json.loads(receiver.got[1].body)["data"]["text"] == "the server does not run any more"


def test_rules_that_are_broken(crawl: Made, tmp_path: Path) -> None:
    async def body(herald: Herald, crawls: Crawls, now: float) -> None:
        one = crawls.all["crawl"]
        await herald.look(one, now)
        one.witness.robots_violations += 1
        await herald.look(one, now + 15)
        await herald.look(one, now + 30)
        await herald.look(one, now + 15 + VIOLATION_RINGS_S)
        await herald.look(one, now + 15 + VIOLATION_RINGS_S + CLEAR_S)

    with receiving() as receiver:
        watch(served(crawl, tmp_path, receiver.base), body)
        found = [told for told in heard(receiver) if told[0] == "robots-violated"]
    assert found == [("robots-violated", "raised", "page"), ("robots-violated", "cleared", "page")]


def test_a_state_that_cannot_be_read(crawl: Made, tmp_path: Path) -> None:
    async def body(herald: Herald, crawls: Crawls, now: float) -> None:
        one = crawls.all["crawl"]
        await herald.look(one, now)
        await one.close()
        one._stopped = None
        (one.directory / "state" / "CURRENT").unlink()
        for minute in range(1, 8):
            await herald.look(one, now + 60 * minute)

    with receiving() as receiver:
        watch(served(crawl, tmp_path, receiver.base), body)
        assert ("unreadable", "raised", "warn") in heard(receiver)


def test_a_receiver_that_is_down_is_counted_and_shown(crawl: Made, tmp_path: Path) -> None:
    async def body(herald: Herald, crawls: Crawls, now: float) -> None:
        one = crawls.all["crawl"]
        await herald.look(one, now)
        herald._posts["crawl"].notifier._waits_s = ()
        one.witness.robots_violations += 1
        await herald.look(one, now + 15)

    with receiving() as receiver:
        url = receiver.base
    crawls = watch(served(crawl, tmp_path, url), body)
    assert crawls.lost == {"crawl": 2}, "the raise, and that it was taken back"


def test_a_secret_that_is_gone_is_said_once_and_the_server_goes_on(
    crawl: Made, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(herald: Herald, crawls: Crawls, now: float) -> None:
        for second in range(3):
            await herald.look(crawls.all["crawl"], now + second)

    with receiving() as receiver, caplog.at_level(logging.WARNING, "gossamer.serve"):
        directory = served(crawl, tmp_path, receiver.base)
        (tmp_path / "notify.secret").write_bytes(b"short")
        watch(directory, body)
        assert receiver.got == []
    assert len(caplog.records) == 1
    assert "its operator cannot be told: notify.secret_file" in caplog.records[0].getMessage()


def test_it_lives_in_the_server(crawl: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real server over a real receiver; the wait of five minutes is left out."""
    monkeypatch.setattr("gossamer.serve.herald.LOOK_S", 0.1)
    monkeypatch.setitem(alarms.LASTS_S, "crawl-interrupted", 0.0)
    with receiving() as receiver:
        running = Running([served(crawl, tmp_path, receiver.base)], FakeControl(), tmp_path / "home")
        try:
            receiver.wait(1)
            text = running.get("/metrics", role="read").text
        finally:
            running.end()
        assert heard(receiver) == [
            ("crawl-interrupted", "raised", "page"),
            ("crawl-interrupted", "cleared", "page"),
        ]
    assert 'gossamer_notifications_lost_total{crawl="crawl"} 0' in text
