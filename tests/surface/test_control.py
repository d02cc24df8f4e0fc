"""The way into a running crawl: who may speak, how much, what becomes of what makes no sense. No crawl runs here."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gossamer.adapters import control
from gossamer.adapters.control import ControlClient, ControlSocket
from gossamer.adapters.exclusions import Exclusions, Gate
from gossamer.model.config import Config
from gossamer.model.control import (
    AddSeeds,
    AnyAnswer,
    AnyCommand,
    Change,
    Done,
    LiftTakedown,
    ListTakedowns,
    Pause,
    Refused,
    TakeDown,
    Takedowns,
)
from gossamer.model.errors import StoreError
from gossamer.model.limits import CONTROL_CONNECTIONS_MAX, CONTROL_MESSAGE_MAX_BYTES
from gossamer.model.takedown import StepName, Target
from gossamer.surface import changing
from gossamer.surface.controlling import Crawl
from gossamer.surface.takedownlist import TakedownList

Lines = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Recorder:
    def __init__(self) -> None:
        self.heard: list[AnyCommand] = []

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        self.heard.append(command)
        await asyncio.sleep(0)
        return Done(message="x" * 10)


def served(directory: Path, work: Callable[[Recorder], Awaitable[Any]]) -> Any:
    """Do something while a socket is open."""

    async def run() -> Any:
        recorder = Recorder()
        end = ControlSocket(directory, recorder.ask)
        await end.open()
        try:
            return await work(recorder)
        finally:
            await end.close()
            await end.close()

    return asyncio.run(run())


async def said(directory: Path, *lines: bytes) -> list[bytes]:
    """What is answered to raw lines on one connection."""
    reader, writer = await asyncio.open_unix_connection(str(directory / control.NAME), limit=CONTROL_MESSAGE_MAX_BYTES)
    writer.write(b"".join(lines))
    writer.write_eof()
    answers = (await reader.read()).splitlines()
    writer.close()
    return answers


def test_a_command_goes_there_and_its_answer_comes_back(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        client = ControlClient(tmp_path)
        assert await client.ask(Pause(reason="a drill")) == Done(message="x" * 10)
        assert recorder.heard == [Pause(reason="a drill")]
        raw = b'{"do":"pause"}\n{"do":"resume"}\n'
        assert len(await said(tmp_path, raw)) == 2, "several on one connection, in their order"

    served(tmp_path, work)
    assert not (tmp_path / control.NAME).exists()


def test_only_its_user_may_connect(tmp_path: Path) -> None:
    async def work(_recorder: Recorder) -> None:
        mode = (tmp_path / control.NAME).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600

    served(tmp_path, work)


def test_the_name_of_a_directory_may_be_longer_than_a_sockets(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 120) / ("e" * 120)
    deep.mkdir(parents=True)

    async def work(_recorder: Recorder) -> None:
        assert isinstance(await ControlClient(deep).ask(Pause()), Done)

    served(deep, work)


NO_COMMANDS = [b"\n", b"nonsense\n", b'{"do":"nothing"}\n', b'{"do":"pause","unknown":1}\n', b"\xff\xfe\n",
               b'{"do":"lease","worker":"w","count":"many"}\n', b"[" * 100_000 + b"\n"]  # fmt: skip


@pytest.mark.parametrize("line", NO_COMMANDS, ids=range(len(NO_COMMANDS)))
def test_what_is_no_command_is_refused_and_reaches_nobody(tmp_path: Path, line: bytes) -> None:
    async def work(recorder: Recorder) -> None:
        answers = await said(tmp_path, line, b'{"do":"pause"}\n')
        assert [json.loads(answer)["is"] for answer in answers] == ["refused", "done"]
        assert recorder.heard == [Pause()]

    served(tmp_path, work)


def test_a_line_without_end_is_given_up_at_the_bound(tmp_path: Path) -> None:
    async def work(recorder: Recorder) -> None:
        answers = await said(tmp_path, b"x" * (CONTROL_MESSAGE_MAX_BYTES + 10))
        assert [json.loads(answer)["code"] for answer in answers] == ["bad-value"]
        assert recorder.heard == []
        assert isinstance(await ControlClient(tmp_path).ask(Pause()), Done), "others are heard"

    served(tmp_path, work)


def test_those_who_say_nothing_are_bounded(tmp_path: Path) -> None:
    async def work(_recorder: Recorder) -> None:
        silent = []
        for _ in range(CONTROL_CONNECTIONS_MAX):
            one = socket.socket(socket.AF_UNIX)
            one.connect(str(tmp_path / control.NAME))
            silent.append(one)
        await asyncio.sleep(0.2)
        answer = await ControlClient(tmp_path).ask(Pause())
        assert isinstance(answer, Refused)
        assert answer.code == "not-running"
        for one in silent:
            one.close()
        await asyncio.sleep(0.2)
        assert isinstance(await ControlClient(tmp_path).ask(Pause()), Done)

    served(tmp_path, work)


def test_without_a_crawl_and_after_a_killed_one_it_says_so(tmp_path: Path) -> None:
    answer = asyncio.run(ControlClient(tmp_path).ask(Pause()))
    assert isinstance(answer, Refused)
    assert answer.code == "not-running"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / control.NAME))
    left.close()  # as a kill leaves it
    answer = asyncio.run(ControlClient(tmp_path).ask(Pause()))
    assert isinstance(answer, Refused)
    assert answer.code == "not-running"

    async def work(_recorder: Recorder) -> None:
        assert isinstance(await ControlClient(tmp_path).ask(Pause()), Done)

    served(tmp_path, work)


# -- the exclusion list -----------------------------------------------------------------------------------------------


def do(crawl: TakedownList, command: TakeDown | LiftTakedown | ListTakedowns, now: float = 1_000.0) -> AnyAnswer:
    return crawl.do(command, now, running=False)


def made(answer: AnyAnswer) -> Takedowns:
    assert isinstance(answer, Takedowns), answer
    return answer


def test_what_is_recorded_is_there_for_every_reader_at_once(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "archive")
    assert gate.refusal("http://a.example/") is None
    one = made(
        do(TakedownList(tmp_path), TakeDown(target=Target("host", "A.example"), reason=" why ", ticket="T"))
    ).takedowns[0]
    assert (one.target.value, one.reason, one.ticket) == ("a.example", "why", "T")
    found = gate.refusal("https://a.example:8080/x")
    assert found is not None
    assert found.id == one.id
    assert gate.refusal("http://b.example/") is None
    made(do(TakedownList(tmp_path), LiftTakedown(id=one.id, reason="settled")))
    assert gate.refusal("http://a.example/") is None
    (kept,) = Exclusions(tmp_path / "archive").read()
    assert [step.name for step in kept.steps] == [StepName.RECORDED, StepName.LIFTED]


@pytest.mark.parametrize(("command", "code"), [
    (TakeDown(target=Target("host", "a b"), reason="x"), "bad-value"),
    (TakeDown(target=Target("site", "com"), reason="x"), "bad-value"),
    (TakeDown(target=Target("pattern", "*"), reason="x"), "bad-value"),
    (TakeDown(target=Target("host", "a.example"), reason="  "), "bad-value"),
    (TakeDown(target=Target("host", "a.example"), reason="x", ticket="t" * 1_001), "bad-value"),
    (TakeDown(target=Target("host", "taken.example"), reason="x"), "conflict"),
    (LiftTakedown(id="td-none"), "not-found"), (ListTakedowns(id="td-none"), "not-found"),
])  # fmt: skip
def test_what_cannot_be_ordered_changes_nothing(tmp_path: Path, command: Any, code: str) -> None:
    crawl = TakedownList(tmp_path)
    made(do(crawl, TakeDown(target=Target("host", "taken.example"), reason="x")))
    before = crawl.exclusions.read()
    answer = do(crawl, command)
    assert isinstance(answer, Refused)
    assert (answer.code, bool(answer.field)) == (code, True)
    assert crawl.exclusions.read() == before


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    async def all_at_once() -> None:
        orders = [
            Crawl(tmp_path).ask(TakeDown(target=Target("host", f"h{number}.example"), reason="x"))
            for number in range(40)
        ]
        answers = await asyncio.gather(*orders)
        assert all(isinstance(answer, Takedowns) and not answer.running for answer in answers)

    asyncio.run(all_at_once())
    assert len(Exclusions(tmp_path / "archive").read()) == 40


NOT_NORMAL = (
    b'{"format":"gossamer exclusions","version":1,"takedowns":'
    b'[{"id":"x","reason":"y","target":{"kind":"host","value":"NOT normal"}}]}'
)


@pytest.mark.parametrize(
    "damage", [b"", b"{", b'{"format":"x"}', b'{"format":"gossamer exclusions","version":2}', NOT_NORMAL], ids=range(5)
)
def test_a_list_that_cannot_be_read_gives_nothing_out(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "exclusions.json").write_bytes(damage)
    with pytest.raises(StoreError, match="exclusion list is damaged"):
        Gate(tmp_path / "archive").refusal("http://a.example/")
    answer = do(TakedownList(tmp_path), TakeDown(target=Target("host", "a.example"), reason="x"))
    assert isinstance(answer, Refused)
    assert (tmp_path / "archive" / "exclusions.json").read_bytes() == damage


def test_replay_is_closed_first_and_opened_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a change is cut short, replay gives out no more than the list does; the next change ends it."""
    crawl = TakedownList(tmp_path)
    access = tmp_path / "archive" / "exclusions.aclj"
    replace, left = Exclusions._replace, [0]

    def cut_short(self: Exclusions, name: str, data: bytes) -> None:
        if not left[0]:
            raise OSError(5, "Input/output error")
        left[0] -= 1
        replace(self, name, data)

    def is_closed() -> bool:
        return "example,taken)" in access.read_text()

    monkeypatch.setattr(Exclusions, "_replace", cut_short)
    order = TakeDown(target=Target("host", "taken.example"), reason="x")
    for writes, closed in ((0, False), (1, True)):
        left[0] = writes
        assert isinstance(do(crawl, order), Refused)
        assert (access.exists() and is_closed(), crawl.exclusions.read()) == (closed, ())
    left[0] = 9
    made = do(crawl, order)
    assert isinstance(made, Takedowns)
    for writes, lifted in ((0, False), (1, True)):
        left[0] = writes
        assert isinstance(do(crawl, LiftTakedown(id=made.takedowns[0].id)), Refused)
        assert is_closed()
        assert bool(crawl.exclusions.read()[0].lifted) is lifted
    left[0] = 9
    crawl.exclusions.merge(())
    assert access.read_text() == ""


# -- limits and scope -------------------------------------------------------------------------------------------------

CONFIG = Config(seeds=("https://a.example/",))


def test_limits_and_scope_are_changed_as_they_are_configured() -> None:
    config = changing.reconfigured(CONFIG, Change(pages=50, depth=3, exclude=("*/x/*",), mode="host"))
    assert isinstance(config, Config)
    assert (config.limits.pages, config.limits.depth, config.limits.site_pages) == (50, 3, 10_000)
    assert (config.scope.mode, config.scope.exclude) == ("host", ("*/x/*",))
    lifted = changing.reconfigured(config, Change(pages=None))
    assert isinstance(lifted, Config)
    assert (lifted.limits.pages, lifted.limits.depth) == (None, 3)


@pytest.mark.parametrize("order", [Change(), Change(pages=-1), Change(depth=-1), Change(exclude=("no pattern",)),
                                   Change(duration_s=-5.0), Change(surts=("a.b)",)), Change(mode="any")])  # fmt: skip
def test_what_may_not_be_configured_may_not_be_ordered(order: Change) -> None:
    answer = changing.reconfigured(CONFIG, order)
    assert isinstance(answer, Refused)
    assert answer.code == "bad-value"


def test_seeds_are_added_to_those_there_are() -> None:
    order = AddSeeds(urls=("http://b.example", "mailto:x"), sitemaps=("http://b.example/map.xml",), level=2)
    found = changing.seeded(CONFIG, order)
    assert isinstance(found, tuple)
    config, taken, refused = found
    assert config.seeds == ("https://a.example/", "http://b.example/", "http://b.example/map.xml")
    assert ([str(kind) for _, kind in taken], refused) == (["page", "sitemap"], {"mailto:x": "url-scheme"})
    for bad in (AddSeeds(), AddSeeds(urls=("http://b.example/",), level=10)):
        assert isinstance(changing.seeded(CONFIG, bad), Refused)
