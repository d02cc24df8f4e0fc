"""The suite of `ports.web.Resolver`: `DnsResolver` and the simulated one say the same of the same zone."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.model.page import Resolution
from tests.contract.resolvers import KEPT_S, START, WORLDS, Place, World, Zone, kept_s


@pytest.fixture(params=WORLDS)
def world(request: pytest.FixtureRequest) -> World:
    return WORLDS[request.param]


def ask(world: World, zone: Zone, *names: str) -> list[Resolution]:
    """Answers for names, one after the other."""

    async def body(place: Place) -> list[Resolution]:
        return [await place.resolver.resolve(name) for name in names]

    found: list[Resolution] = world.run(zone, body)
    for resolution in found:
        check(resolution)
    return found


def check(resolution: Resolution) -> None:
    """What is true of every Resolution."""
    assert bool(resolution.addresses) != bool(resolution.error)
    assert not (resolution.ours and resolution.addresses)
    assert resolution.addresses or not resolution.asked
    assert "\n" not in resolution.error


def test_all_addresses_of_a_name_in_their_order(world: World) -> None:
    addresses = ("192.0.2.9", "192.0.2.1", "192.0.2.5", "192.0.2.3")
    [found] = ask(world, {"a.example": addresses}, "a.example")
    assert found == Resolution(name="a.example", addresses=addresses, expires=START + KEPT_S, asked=True)


def test_ipv6(world: World) -> None:
    [found] = ask(world, {"a.example": ("2001:db8::1",)}, "a.example")
    assert found.addresses == ("2001:db8::1",)


@pytest.mark.parametrize("error", ["nxdomain", "no address", "servfail", "refused", "timeout"])
def test_a_name_without_an_answer_is_the_names_affair(world: World, error: str) -> None:
    [found] = ask(world, {"a.example": error}, "a.example")
    assert found == Resolution(name="a.example", error=error, expires=START + kept_s(error))


@pytest.mark.parametrize(
    ("name", "address"),
    [("127.0.0.1", "127.0.0.1"), ("192.0.2.7", "192.0.2.7"), ("[2001:DB8::1]", "2001:db8::1"), ("::1", "::1")],
)
def test_an_address_resolves_to_itself(world: World, name: str, address: str) -> None:
    async def body(place: Place) -> tuple[Resolution, int]:
        return await place.resolver.resolve(name), place.asked(name)

    found, asked = world.run({}, body)
    assert (found.name, found.addresses, found.asked, asked) == (name.lower(), (address,), False, 0)


def test_a_name_is_one_in_any_case_and_with_a_last_dot(world: World) -> None:
    async def body(place: Place) -> tuple[list[Resolution], int]:
        found = [await place.resolver.resolve(name) for name in ("A.Example", "a.example.", "a.EXAMPLE.", "a.example")]
        return found, place.asked("a.example")

    found, asked = world.run({"a.example": ("192.0.2.1",)}, body)
    assert {(each.name, each.addresses) for each in found} == {("a.example", ("192.0.2.1",))}
    assert asked == 1


@pytest.mark.parametrize("first", [("192.0.2.1",), "nxdomain", "servfail", "timeout"])
def test_an_answer_is_kept_while_it_is_fresh_and_not_longer(world: World, first: tuple[str, ...] | str) -> None:
    async def body(place: Place) -> tuple[list[Resolution], list[int]]:
        found, asked = [], []
        for seconds in (0.0, kept_s(first) - 1, 2.0):
            place.let_pass(seconds)
            found.append(await place.resolver.resolve("a.example"))
            asked.append(place.asked("a.example"))
            place.zone["a.example"] = ("192.0.2.2",)
        return found, asked

    found, asked = world.run({"a.example": first}, body)
    assert found[1] == msgspec.structs.replace(found[0], asked=False)
    assert found[2].addresses == ("192.0.2.2",)
    assert asked[0] == asked[1] < asked[2]


def test_no_network_is_our_own_fault_and_not_kept(world: World) -> None:
    async def body(place: Place) -> list[Resolution]:
        place.take_network()
        during = [await place.resolver.resolve(name) for name in ("a.example", "a.example", "other.example")]
        place.give_network()
        return [*during, await place.resolver.resolve("a.example"), await place.resolver.resolve("other.example")]

    *during, back, other = world.run({"a.example": ("192.0.2.1",)}, body)
    for resolution in during:
        check(resolution)
        assert (resolution.ours, resolution.error) == (True, "timeout")
        assert resolution.expires <= START + 60
    assert (back.ours, back.addresses) == (False, ("192.0.2.1",))
    assert (other.ours, other.error) == (False, "nxdomain")


def test_what_is_known_is_known_without_a_network(world: World) -> None:
    async def body(place: Place) -> Resolution:
        await place.resolver.resolve("a.example")
        place.take_network()
        return await place.resolver.resolve("a.example")

    assert world.run({"a.example": ("192.0.2.1",)}, body).addresses == ("192.0.2.1",)


def test_many_names_at_once(world: World) -> None:
    zone: Zone = {f"h{number}.example": (f"192.0.2.{number}",) for number in range(200)}

    async def body(place: Place) -> list[Resolution]:
        return await asyncio.gather(*(place.resolver.resolve(name) for name in zone))

    found = world.run(zone, body)
    assert [(each.name, each.addresses) for each in found] == list(zone.items())


def test_one_who_gives_up_does_not_harm_the_others(world: World) -> None:
    async def body(place: Place) -> list[Resolution]:
        tasks = [asyncio.create_task(_resolve(place, "a.example")) for _ in range(10)]
        await asyncio.sleep(0.02)
        tasks[0].cancel()
        tasks[5].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(found[number]) for number in (0, 5)] == [asyncio.CancelledError] * 2
        return [each for each in found if isinstance(each, Resolution)]

    found = world.run({"a.example": ("192.0.2.1",)}, body, delay_s=0.1)
    assert [each.addresses for each in found] == [("192.0.2.1",)] * 8


async def _resolve(place: Place, name: str) -> Resolution:
    return await place.resolver.resolve(name)


def test_close_gives_up_what_is_in_flight_as_a_fault_of_ours(world: World) -> None:
    async def body(place: Place) -> tuple[list[Resolution], float]:
        tasks = [asyncio.create_task(_resolve(place, f"{name}.example")) for name in "aabc"]
        await asyncio.sleep(0.05)
        begun = asyncio.get_running_loop().time()
        await place.resolver.close()
        found = await asyncio.gather(*tasks)
        return found, asyncio.get_running_loop().time() - begun

    found, took_s = world.run({}, body, delay_s=5.0)
    assert took_s < 1
    for resolution in found:
        check(resolution)
        assert resolution.ours


def test_closed_is_closed(world: World) -> None:
    async def body(place: Place) -> tuple[Resolution, int]:
        await place.resolver.resolve("a.example")
        for _ in range(3):
            await place.resolver.close()
        return await place.resolver.resolve("b.example"), place.asked("b.example")

    found, asked = world.run({"a.example": ("192.0.2.1",), "b.example": ("192.0.2.2",)}, body)
    check(found)
    assert (found.ours, found.addresses, asked) == (True, (), 0)


@pytest.mark.parametrize("name", ["", ".", "a..example", "x" * 64 + ".example", "a." * 127 + "example", "1.2.3.4.5"])
def test_impossible_names_are_answered(world: World, name: str) -> None:
    [found] = ask(world, {}, name)
    assert (found.addresses, found.ours) == ((), False)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.text(max_size=60), max_size=30))
def test_no_text_raises(world: World, names: list[str]) -> None:
    for resolution in ask(world, {}, *names):
        assert not resolution.ours
