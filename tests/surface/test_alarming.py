"""Alarms on their way to a real receiver: over one that is down, a crawl that is killed, a file that is damaged."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.config import Notify
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.view import Snapshot
from gossamer.surface.alarmbook import CLEAR_S
from gossamer.surface.alarming import FILE_NAME, Alarming
from gossamer.surface.alarms import LOOK_S
from gossamer.surface.notifying import Notifier
from tests.support.crawl import Crawl
from tests.support.evidence import making
from tests.support.receiver import Got, Receiver, Says, is_signed, receiving
from tests.support.web import Web, pages

SECRET = b"a secret of more than 16 bytes"
Times = list[tuple[float, float]]  # (seconds from the start, what a sync takes then)


def secret_file(folder: Path) -> Path:
    path = folder / "notify.secret"
    path.write_bytes(SECRET)
    return path


def heard(got: list[Got]) -> list[dict[str, Any]]:
    """What a receiver was told, each signed."""
    assert all(is_signed(one, SECRET) for one in got)
    return [json.loads(one.body) for one in got]


async def watched(alarming: Alarming, now: Callable[[], float], syncs: list[float], step_s: float = LOOK_S) -> None:
    """Let it look at a crawl whose syncs take so long, one look for each."""
    begun = now()
    for number, sync_s in enumerate(syncs):
        at = begun + number * step_s
        alarming.look(at, lambda at=at, sync_s=sync_s: Snapshot(time=at, sync_s=sync_s), ())  # type: ignore[misc]
        await asyncio.sleep(0)


def run(folder: Path, url: str, syncs: list[float], *, waits_s: tuple[float, ...] = (0.2, 0.2, 0.2)) -> list[str]:
    """One crawl's alarms, without an orderly end; what went wrong."""
    lost: list[str] = []

    async def main() -> None:
        begun = time.monotonic()
        config = Notify(url=url, secret_file=str(secret_file(folder)))
        notifier = Notifier(config, "crawl", time.time, lost.append, waits_s=waits_s)
        alarming = Alarming(folder, notifier, lost.append)
        await watched(alarming, time.time, syncs)
        await notifier.close()
        assert time.monotonic() - begun < 10

    asyncio.run(main())
    return lost


SLOW = [0.9] * int(1_000 / LOOK_S)
QUICK = [0.01] * int((1_000 + CLEAR_S) / LOOK_S)


def test_raised_once_cleared_once_and_signed(tmp_path: Path) -> None:
    with receiving() as receiver:
        assert run(tmp_path, receiver.base, SLOW + SLOW + QUICK + QUICK) == []
        first, second = heard(receiver.got)
    assert (first["event"], first["crawl"]) == ("alarm", "crawl")
    assert first["data"] == {
        "alarm": "disk-slow", "state": "raised", "severity": "warn", "since": first["data"]["since"],
        "text": "a sync of the store takes 0.9 s", "advice": "a faster disk, or other programs off this one",
    }  # fmt: skip
    assert second["data"] == {
        "alarm": "disk-slow", "state": "cleared", "severity": "warn", "since": first["data"]["since"],
        "text": "it is over",
    }  # fmt: skip
    assert not (tmp_path / FILE_NAME).exists()


def test_a_receiver_that_is_down_gets_both_in_their_order_or_they_are_counted(tmp_path: Path) -> None:
    with receiving() as receiver:
        receiver.answers = [Says(503), Says(500)]
        assert run(tmp_path, receiver.base, SLOW + QUICK + QUICK) == []
        told = [message["data"]["state"] for message in heard(receiver.got)]
        assert told == ["raised", "raised", "raised", "cleared"]
        port = receiver.port
    nobody = f"http://127.0.0.1:{port}"
    assert run(tmp_path, nobody, SLOW + QUICK + QUICK, waits_s=(0.05, 0.05)) == ["notify-lost", "notify-lost"]


def test_a_crawl_that_is_killed_and_goes_on_raises_it_not_again(tmp_path: Path) -> None:
    with receiving() as receiver:
        assert run(tmp_path, receiver.base, SLOW) == []
        assert (tmp_path / FILE_NAME).exists()
        assert run(tmp_path, receiver.base, SLOW) == []
        assert run(tmp_path, receiver.base, QUICK * 4) == []
        assert [message["data"]["state"] for message in heard(receiver.got)] == ["raised", "cleared"]


def test_a_damaged_file_is_counted_and_nothing_is_raised(tmp_path: Path) -> None:
    for content in (b"{", b'{"x": 5}', b"\xff\xfe", b"[]"):
        (tmp_path / FILE_NAME).write_bytes(content)
        with receiving() as receiver:
            assert run(tmp_path, receiver.base, []) == ["alarms-file"]
            assert receiver.got == []


def test_without_a_receiver_nothing_is_judged(tmp_path: Path) -> None:
    alarming = Alarming(tmp_path, Notifier(Notify(), "crawl", lambda: 0.0, pytest.fail), pytest.fail)
    alarming.look(1e9, lambda: pytest.fail("asked for a snapshot"), ())
    alarming.close()
    assert list(tmp_path.iterdir()) == []


def test_a_gap_that_was_cut_short_rings_at_once(tmp_path: Path) -> None:
    with receiving() as receiver:

        async def main() -> None:
            config = Notify(url=receiver.base, secret_file=str(secret_file(tmp_path)))
            notifier = Notifier(config, "crawl", time.time, pytest.fail)
            alarming = Alarming(tmp_path, notifier, pytest.fail)
            now = time.time()
            given = {"url": "http://a.example/", "key": "k", "host": "a.example", "kind": Kind.PAGE, "started": now}
            alarming.saw([FetchEvent(time=now, gap_s=1.0, delay_s=1.0, **given)])
            alarming.look(now, lambda: Snapshot(time=now), ())
            alarming.saw([FetchEvent(time=now, gap_s=0.3, delay_s=1.0, **given)])
            alarming.look(now + LOOK_S, lambda: Snapshot(time=now + LOOK_S), ())
            alarming.close()
            await notifier.close()

        asyncio.run(main())
        told = [(message["data"]["state"], message["data"]["text"]) for message in heard(receiver.got)]
    assert told == [
        ("raised", "1 request came before the gap of their host was over"),
        ("cleared", "the crawl does not run any more"),
    ]


def test_a_real_crawl_takes_back_what_the_run_before_has_raised(tmp_path: Path) -> None:
    """And tells its states, all of it signed."""
    web = Web(tmp_path, "127.94")
    with receiving() as receiver:
        try:
            seed = web.add("one.example", pages({"/": "<title>one</title><p>text"}))
            notify = {"url": receiver.base + "/hook", "secret_file": str(secret_file(tmp_path))}
            for make in making(tmp_path, web.hosts_file, {"notify": notify}):
                told = crawled(make(seed), receiver)
        finally:
            web.close()
    alarms = [message["data"] for message in told if message["event"] == "alarm"]
    assert [(one["alarm"], one["state"], one["since"]) for one in alarms] == [("disk-slow", "cleared", 5.0)]
    states = [message["data"]["state"] for message in told if message["event"] == "state"]
    assert {"crawling", "ended"} <= set(states)


def crawled(crawl: Crawl, receiver: Receiver) -> list[dict[str, Any]]:
    log = crawl.directory / "log"
    log.mkdir(parents=True)
    alarm = {"name": "disk-slow", "severity": "warn", "text": "slow", "advice": "a faster one"}
    (log / FILE_NAME).write_text(json.dumps({"disk-slow": {"alarm": alarm, "since": 5.0}}))
    result = crawl.run()
    assert result.code == 0, result.words
    assert not (log / FILE_NAME).exists()
    return heard(receiver.got)
