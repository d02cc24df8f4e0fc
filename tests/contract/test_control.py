"""The suite of `ports.control.Control`: a crawl answers the same wherever it is asked, and so does its fake."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from gossamer.adapters.control import ControlClient
from gossamer.adapters.exclusions import Exclusions
from gossamer.model.control import (
    AddSeeds,
    AddUrls,
    AnyAnswer,
    AnyCommand,
    Change,
    Changed,
    Complete,
    Completed,
    Done,
    Fetched,
    Freshness,
    Host,
    Lease,
    Leases,
    LiftTakedown,
    ListTakedowns,
    Look,
    Looked,
    PatchHost,
    Pause,
    ReadFreshness,
    ReadHost,
    Refused,
    Resume,
    Stop,
    TakeDown,
    Takedowns,
    Taken,
    Tell,
)
from gossamer.model.takedown import Target
from gossamer.ports.control import Control
from gossamer.surface import settings
from gossamer.surface.controlling import Crawl
from tests.contract.controls import REAL, WORLDS, Running

GONE = Target("host", "gone.example")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    crawl = Running(tmp_path_factory.mktemp("control"))
    yield crawl
    crawl.close()


def commands(host: str) -> list[tuple[AnyCommand, type[AnyAnswer]]]:
    """One of each, and what it is answered with, but for a stop and for what names a takedown's id."""
    url = f"http://{host}"
    return [
        (Pause(reason="a drill", by="me"), Done),
        (Look(), Looked),
        (Change(pages=500), Changed),
        (AddSeeds(urls=(f"{url}/seed",)), Taken),
        (AddUrls(urls=(f"{url}/more",)), Taken),
        (Tell(key="0123456789abcdef", urls=(f"{url}/",)), Taken),
        (ReadHost(host=host), Host),
        (PatchHost(host=host, delay_s=0.5), Host),
        (ReadFreshness(host=host), Freshness),
        (Lease(worker="w"), Leases),
        (Complete(worker="w", results=(Fetched(lease="never given"),)), Completed),
        (TakeDown(target=GONE, reason="asked"), Takedowns),
        (ListTakedowns(), Takedowns),
        (Resume(by="me"), Done),
    ]


async def asked(control: Control, *orders: AnyCommand) -> list[AnyAnswer]:
    return [await control.ask(order) for order in orders]


@pytest.mark.parametrize("world", WORLDS)
def test_every_command_has_its_own_answer(running: Running, world: str) -> None:
    told = commands(running.host)
    assert {type(command) for command, _ in told} | {LiftTakedown, Stop} == set(get_args(AnyCommand))

    async def body(control: Control) -> list[AnyAnswer]:
        answers = await asked(control, *(command for command, _ in told))
        made = next(answer for answer in answers if isinstance(answer, Takedowns))
        return [*answers, await control.ask(LiftTakedown(id=made.takedowns[0].id))]

    *answers, lifted = WORLDS[world](running, body)
    for (command, wanted), answer in zip(told, answers, strict=True):
        assert isinstance(answer, wanted), (command, answer)
    completed = next(answer for answer in answers if isinstance(answer, Completed))
    assert (completed.taken, list(completed.refused)) == ((), ["never given"])
    assert isinstance(lifted, Takedowns)


WRONG: list[tuple[AnyCommand, str, str]] = [
    (ListTakedowns(id="td-none"), "not-found", "id"),
    (LiftTakedown(id="td-none"), "not-found", "id"),
    (LiftTakedown(id=""), "not-found", "id"),
    (TakeDown(target=Target("pattern", "*"), reason="everything"), "bad-value", "target"),
    (TakeDown(target=Target("site", "com"), reason="a public suffix"), "bad-value", "target"),
    (TakeDown(target=GONE, reason="  "), "bad-value", "reason"),
    (AddSeeds(urls=("http://b.example/",), level=10), "bad-value", "level"),
    (AddUrls(urls=("http://b.example/",), level=-1), "bad-value", "level"),
]


@pytest.mark.parametrize("world", WORLDS)
def test_what_cannot_be_done_is_refused_by_field_and_changes_nothing(running: Running, world: str) -> None:
    async def body(control: Control) -> tuple[AnyAnswer, list[AnyAnswer], AnyAnswer]:
        before = await control.ask(ListTakedowns())
        return before, await asked(control, *(command for command, _, _ in WRONG)), await control.ask(ListTakedowns())

    before, answers, after = WORLDS[world](running, body)
    for (command, code, field), answer in zip(WRONG, answers, strict=True):
        assert isinstance(answer, Refused), (command, answer)
        assert (answer.code, answer.field) == (code, field), command
        assert answer.message
        assert "\n" not in answer.message
    assert isinstance(before, Takedowns)
    assert isinstance(after, Takedowns)
    assert [(one.id, one.in_force) for one in before.takedowns] == [(one.id, one.in_force) for one in after.takedowns]


@pytest.mark.parametrize("world", WORLDS)
def test_many_at_once_are_each_answered(running: Running, world: str) -> None:
    orders = [AddUrls(urls=(f"http://{running.host}/{world}/{number}",)) for number in range(40)]

    async def body(control: Control) -> list[AnyAnswer]:
        return await asyncio.gather(*(control.ask(order) for order in orders))

    answers = WORLDS[world](running, body)
    assert [(type(answer), answer.taken) for answer in answers] == [(Taken, 1)] * len(orders)


# -- a real crawl --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("world", REAL)
def test_what_was_answered_is_durable(running: Running, world: str) -> None:
    pages = 1_000 + list(REAL).index(world)

    async def body(control: Control) -> str:
        answers = await asked(control, TakeDown(target=GONE, reason=world), Change(pages=pages))
        listed = Exclusions(running.directory / "archive").read()
        stored = settings.load(running.directory / settings.FILE_NAME, directory=str(running.directory))
        made = answers[0]
        assert isinstance(made, Takedowns)
        id_ = made.takedowns[0].id
        assert id_ in {one.id for one in listed}
        assert stored.limits.pages == pages
        await control.ask(LiftTakedown(id=id_))
        return id_

    id_ = REAL[world](running, body)
    assert not next(one for one in Exclusions(running.directory / "archive").read() if one.id == id_).in_force


def refused_as_not_running(answers: list[AnyAnswer]) -> bool:
    return all(isinstance(answer, Refused) and answer.code == "not-running" for answer in answers)


def test_a_crawl_that_ends_meanwhile_and_one_that_has_ended_raise_nothing(tmp_path: Path) -> None:
    crawl = Running(tmp_path)

    async def stopped(control: Control) -> list[AnyAnswer]:
        looks = (asyncio.sleep(0.01 * number, Look()) for number in range(60))
        asking = [asyncio.create_task(_asked_later(control, look)) for look in looks]
        assert isinstance(await control.ask(Stop(reason="that is all")), Done)
        return await asyncio.gather(*asking)

    try:
        answers = REAL["socket"](crawl, stopped)
        assert any(isinstance(answer, Looked) for answer in answers)
        assert refused_as_not_running([answer for answer in answers if not isinstance(answer, Looked)])
        crawl.ended()
        orders = [command for command, _ in commands(crawl.host)]

        async def body(control: Control) -> list[AnyAnswer]:
            return await asked(control, *orders, Stop())

        assert refused_as_not_running(REAL["operator"](crawl, body))
        assert refused_as_not_running(REAL["socket"](crawl, body))
        by_directory = REAL["directory"](crawl, body)
        held = [answer for answer in by_directory if isinstance(answer, Takedowns)]
        assert [answer.running for answer in held] == [False, False], "what is taken down waits for no process"
        assert refused_as_not_running([answer for answer in by_directory if not isinstance(answer, Takedowns)])
    finally:
        crawl.close()


async def _asked_later(control: Control, later: Any) -> AnyAnswer:
    return await control.ask(await later)


@pytest.mark.parametrize("make", [ControlClient, Crawl])
def test_where_no_crawl_was_ever_made_nothing_is_raised(tmp_path: Path, make: Any) -> None:
    assert refused_as_not_running(asyncio.run(asked(make(tmp_path / "none"), Look(), Pause(), Stop())))
    assert not (tmp_path / "none").exists()
