"""Notifications reach a real receiver, signed; one that fails is tried again and holds nothing up."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.adapters.webhook import post
from gossamer.model.config import Notify
from gossamer.model.errors import ConfigError
from gossamer.model.limits import NOTIFICATIONS_MAX
from gossamer.surface import notifying
from gossamer.surface.notifying import SIGNATURE, STATES_BURST, STATES_EVERY_S, Notifier, signature
from tests.support.receiver import Receiver, Says, receiving

SECRET = b"0123456789abcdef-secret"
NOW = 1_700_000_000.5


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


@pytest.fixture
def config(receiver: Receiver, tmp_path: Path) -> Notify:
    (tmp_path / "secret").write_bytes(SECRET + b"\n")
    return Notify(url=f"{receiver.base}/hook", secret_file=str(tmp_path / "secret"))


def deliver(
    config: Notify, *messages: dict[str, Any], waits_s: tuple[float, ...] = (0.0, 0.0), **more: Any
) -> list[str]:
    """Send messages and wait for what becomes of them; what was lost."""
    lost: list[str] = []

    async def run() -> None:
        notifier = Notifier(config, "crawl", lambda: NOW, lost.append, waits_s=(0.0, 0.0), **more)
        for message in messages:
            notifier.tell(**message)
        await notifier.close()

    asyncio.run(run())
    return lost


def test_a_message_arrives_and_its_signature_holds(config: Notify, receiver: Receiver) -> None:
    assert deliver(config, {"event": "state", "state": "paused", "why": "a drill"}) == []
    ((path, headers, body),) = receiver.got
    message = json.loads(body)
    assert (path, message["event"], message["crawl"], message["time"]) == ("/hook", "state", "crawl", NOW)
    assert message["data"] == {"state": "paused", "why": "a drill"}
    assert headers["X-Gossamer-Delivery"] == message["id"]
    seconds, mac = (part.partition("=")[2] for part in headers[SIGNATURE].split(","))
    expected = hmac.new(SECRET, seconds.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert (seconds, hmac.compare_digest(mac, expected)) == ("1700000000", True)
    assert signature(SECRET, body + b" ", NOW) != headers[SIGNATURE]


@pytest.mark.parametrize("statuses", [[500], [404, 503], [302], [302, 307]])
def test_what_is_not_taken_is_sent_again_and_no_redirect_is_followed(
    config: Notify, receiver: Receiver, statuses: list[int]
) -> None:
    receiver.answers = [Says(status, (("Location", "/elsewhere"),)) for status in statuses]
    assert deliver(config, {"event": "test"}) == []
    assert [path for path, _, _ in receiver.got] == ["/hook"] * (len(statuses) + 1)
    assert len({body for _, _, body in receiver.got}) == 1


def test_in_the_end_it_is_given_up_and_counted(config: Notify, receiver: Receiver) -> None:
    receiver.answers = [Says(500)] * 10
    assert deliver(config, {"event": "test"}) == ["notify-lost"]
    assert len(receiver.got) == 3
    receiver.shutdown()
    receiver.server_close()
    assert post(f"{receiver.base}/hook", b"", {}) == 0
    assert deliver(config, {"event": "test"}) == ["notify-lost"]


def test_a_receiver_that_hangs_holds_nothing_up_and_the_queue_is_bounded(
    config: Notify, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifying, "CLOSE_S", 0.1)
    gone = threading.Event()

    def hang(*_arguments: object) -> int:
        gone.wait(20)
        return 0

    lost = deliver(config, *({"event": "test"} for _ in range(NOTIFICATIONS_MAX + 5)), send=hang)
    gone.set()
    assert (lost.count("notify-full"), lost.count("notify-lost")) == (5, NOTIFICATIONS_MAX)


def test_a_state_is_said_once(config: Notify, receiver: Receiver) -> None:
    async def run() -> None:
        notifier = Notifier(config, "crawl", lambda: NOW, pytest.fail)
        for state, why in (("crawling", ""), ("crawling", ""), ("paused", "no network"), ("crawling", "")):
            notifier.state(state, why)
            await asyncio.sleep(0.05)
        await notifier.close()

    asyncio.run(run())
    said = sorted((json.loads(body)["data"] for _, _, body in receiver.got), key=lambda data: data["before"])
    assert [(data["before"], data["state"]) for data in said] == [
        ("", "crawling"), ("crawling", "paused"), ("paused: no network", "crawling"),
    ]  # fmt: skip


def test_messages_of_a_lane_arrive_in_their_order(config: Notify, receiver: Receiver) -> None:
    """The first is refused again and again; those of its lane wait, others do not."""
    receiver.answers = [Says(500)]
    lost: list[str] = []

    async def run() -> None:
        notifier = Notifier(config, "crawl", lambda: NOW, lost.append, waits_s=(0.3, 0.3))
        notifier.tell("alarm", lane="a", number=1)
        await asyncio.sleep(0.1)
        notifier.tell("alarm", lane="a", number=2)
        notifier.tell("alarm", lane="b", number=3)
        await notifier.close()
        assert notifier._lanes == {}

    asyncio.run(run())
    assert [json.loads(body)["data"]["number"] for _, _, body in receiver.got] == [1, 3, 1, 2]
    assert lost == []


def test_states_that_change_too_often_are_left_out_but_for_the_last(config: Notify, receiver: Receiver) -> None:
    now = NOW

    async def run() -> None:
        nonlocal now
        notifier = Notifier(config, "crawl", lambda: now, pytest.fail)
        for number in range(1000):
            notifier.state("paused" if number % 2 else "crawling", "")
        notifier.state("paused", "no network")
        now += STATES_EVERY_S
        notifier.state("paused", "no network")
        notifier.state("crawling", "")
        notifier.state("ended", "nothing is left", last=True)
        await notifier.close()

    asyncio.run(run())
    said = [json.loads(body)["data"]["state"] for _, _, body in receiver.got]
    assert len(said) == STATES_BURST + 2
    assert {"ended", "paused", "crawling"} == set(said)


def test_without_a_url_nothing_is_sent_and_no_secret_is_needed() -> None:
    assert deliver(Notify(), {"event": "test"}) == []


@pytest.mark.parametrize("content", [None, b"", b"short", b" \n" * 100, b"x" * 5_000])
def test_a_secret_that_is_none_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    with pytest.raises(ConfigError, match=r"notify\.secret_file"):
        notifying.read_secret(Notify(url="http://127.0.0.1/", secret_file=str(tmp_path / "secret")))
    with pytest.raises(ConfigError, match=r"notify\.secret_file"):
        notifying.read_secret(Notify(url="http://127.0.0.1/"))
