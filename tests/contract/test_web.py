"""The suite of `ports.web.Web`: whatever a server does, `HttpClient` and the simulated web tell the same of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from gossamer.model.page import Failure, Outcome
from tests.contract.behaviours import BEHAVIOURS, Behaviour
from tests.contract.webs import ADDRESS, START, WORLDS, Place, World

SLACK_S = 0.6  # what a busy machine may add to a deadline
SLOW = [behaviour for behaviour in BEHAVIOURS if behaviour.is_slow]
PAGE = BEHAVIOURS[0]


def name_of(behaviour: Behaviour) -> str:
    return behaviour.name


every = pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=name_of)
slow = pytest.mark.parametrize("behaviour", SLOW, ids=name_of)


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]


def test_no_behaviour_is_lost() -> None:
    assert len({behaviour.name for behaviour in BEHAVIOURS}) == len(BEHAVIOURS) == 35
    assert len(SLOW) == 4


@every
def test_what_a_server_does_has_one_outcome(world: World, behaviour: Behaviour) -> None:
    async def body(place: Place) -> Outcome:
        return await place.web.fetch(place.request())

    outcome: Outcome = world.run(behaviour, body)
    expected = {"failure": None, "truncated": "", "cut_by_type": False} | behaviour.expect
    assert {name: getattr(outcome, name) for name in expected} == expected
    low_s, high_s = behaviour.lasts_s
    assert low_s <= outcome.elapsed_s <= high_s + SLACK_S


@every
def test_an_outcome_is_consistent(world: World, behaviour: Behaviour) -> None:
    async def body(place: Place) -> tuple[Outcome, Outcome]:
        request = place.request()
        one = await place.web.fetch(request)
        return one, await place.web.fetch(request)

    one, two = world.run(behaviour, body)
    assert one.started == START
    assert one.started <= two.started
    for outcome in (one, two):
        check(outcome, behaviour)
    assert (one.failure, one.status, one.truncated) == (two.failure, two.status, two.truncated)


def check(outcome: Outcome, behaviour: Behaviour) -> None:
    """What is true of every Outcome."""
    assert 0.0 <= outcome.connect_s + outcome.first_byte_s <= outcome.elapsed_s + 1e-3
    if outcome.failure is not None:
        assert outcome.failure_detail
        assert "\n" not in outcome.failure_detail
        assert (outcome.status, outcome.payload, outcome.head_bytes, outcome.headers) == (0, b"", b"", ())
        assert not outcome.truncated
        return
    assert 200 <= outcome.status < 600
    assert outcome.address == ADDRESS
    assert outcome.http_version == "HTTP/1.1"
    assert outcome.head_bytes.startswith(b"HTTP/1.1 %d" % outcome.status)
    assert outcome.head_bytes.endswith(b"\r\n\r\n")
    assert all(name == name.lower() and value == value.strip() for name, value in outcome.headers)
    assert set(behaviour.answer.headers) <= set(outcome.headers)
    assert b"GET / HTTP/1.1\r\n" in outcome.request_bytes[:16]
    assert outcome.request_bytes.endswith(b"\r\n\r\n")
    assert outcome.wire_bytes >= len(outcome.head_bytes) + len(outcome.payload)
    assert (outcome.truncated == "unspecified") == outcome.cut_by_type


def test_redirects_are_not_followed(world: World) -> None:
    redirect = next(behaviour for behaviour in BEHAVIOURS if behaviour.name == "redirect")

    async def body(place: Place) -> tuple[Outcome, int]:
        return await place.web.fetch(place.request()), place.asked()

    outcome, asked = world.run(redirect, body)
    assert (outcome.status, outcome.header("location"), asked) == (302, "http://other.example/", 1)


def test_many_exchanges_at_once(world: World) -> None:
    async def body(place: Place) -> tuple[list[Outcome], int]:
        found = await asyncio.gather(*(place.web.fetch(place.request()) for _ in range(50)))
        return found, place.asked()

    outcomes, asked = world.run(PAGE, body)
    assert {(outcome.failure, outcome.status, outcome.payload) for outcome in outcomes} == {
        (None, 200, PAGE.expect["payload"])
    }
    assert asked == 50


# -- giving up -----------------------------------------------------------------------------------------------------


async def under_way(place: Place) -> asyncio.Task[Outcome]:
    """A fetch that has begun and waits for the server."""
    patient: dict[str, Any] = {"total_timeout_s": 9.0, "connect_timeout_s": 9.0, "first_byte_timeout_s": 9.0}
    task = asyncio.create_task(_fetch(place.web.fetch(place.request(**patient))))
    await asyncio.sleep(0.1)
    assert not task.done()
    return task


async def _fetch(fetch: Awaitable[Outcome]) -> Outcome:
    return await fetch


@slow
def test_a_cancelled_fetch_leaves_nothing_behind(world: World, behaviour: Behaviour) -> None:
    async def body(place: Place) -> Outcome:
        task = await under_way(place)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await place.gone()
        return await place.web.fetch(place.request())

    outcome = world.run(behaviour, body)
    assert outcome.failure is behaviour.expect.get("failure")


@slow
def test_close_ends_what_is_under_way_as_a_fault_of_ours(world: World, behaviour: Behaviour) -> None:
    async def body(place: Place) -> list[Outcome]:
        tasks = [await under_way(place), await under_way(place)]
        begun = asyncio.get_running_loop().time()
        await place.web.close()
        found = await asyncio.gather(*tasks)
        assert asyncio.get_running_loop().time() - begun < 2
        await place.gone()
        return found

    for outcome in world.run(behaviour, body):
        check(outcome, behaviour)
        assert outcome.failure is Failure.OURS


def test_closed_is_closed(world: World) -> None:
    async def body(place: Place) -> tuple[Outcome, Outcome, int]:
        before = await place.web.fetch(place.request())
        for _ in range(3):
            await place.web.close()
        place.web.forget("host.example")
        after = await place.web.fetch(place.request())
        return before, after, place.asked()

    before, after, asked = world.run(PAGE, body)
    assert (before.failure, after.failure, asked) == (None, Failure.OURS, 1)


def test_forgetting_a_host_harms_no_exchange(world: World) -> None:
    async def body(place: Place) -> list[Any]:
        place.web.forget("never.example")
        first = await place.web.fetch(place.request())
        place.web.forget("host.example")
        place.web.forget("host.example")
        second = await place.web.fetch(place.request())
        during = asyncio.create_task(_fetch(place.web.fetch(place.request())))
        await asyncio.sleep(0)
        place.web.forget("host.example")
        return [first, second, await during]

    outcomes = world.run(PAGE, body)
    assert [(outcome.failure, outcome.status) for outcome in outcomes] == [(None, 200)] * 3
    assert not outcomes[1].reused
