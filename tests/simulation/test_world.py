"""The seeded web: the same for one seed, as large as asked, and what its parts say of each other is true."""

from __future__ import annotations

import math
from collections import Counter
from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.core.turn import Turn
from gossamer.model.page import Failure, Kind
from gossamer.model.record import Cf
from gossamer.model.url import Url, parse
from gossamer.policy.robots import parse as parse_rules
from gossamer.sim.laws import DAY_S, Change, change_of, draw, mix, unit
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.sortedkeys import CHUNK, SortedKeys
from gossamer.sim.web import Answer
from gossamer.sim.world import START, World
from gossamer.sim.worldhost import TRAPS, Host, sizes
from gossamer.sim.worldpage import BRANCHING, depth_of, linked_pages, number_of, page_of
from gossamer.sim.worldtrap import entrance, is_trap
from tests.conftest import examples

HOSTS, URLS = 2_000, 60_000


@pytest.fixture(scope="module")
def world() -> World:
    return World(1, HOSTS, URLS)


def ask(world: World, host: Host, path: str, *, at: float = START, etag: str = "", name: str = "") -> Answer:
    url = f"{host.scheme}://{name or host.name}{path}"
    turn = Turn(
        id=1, host=name or host.name, lane=host.address, kind=Kind.PAGE, url=url, key="", scheme=host.scheme,
        name=name or host.name, port=80, target=path, address=host.address, started=at, etag=etag,
    )  # fmt: skip
    return world.answer(turn)


def in_order(world: World) -> list[Host]:
    """Hosts with nothing wrong."""
    return [
        host
        for host in world.all
        if not (host.outage or host.throttled or host.trap or host.dead or host.soft404) and host.mirror_of < 0
    ]


def test_one_seed_is_one_web_whatever_is_asked_first(world: World) -> None:
    again, other = World(1, HOSTS, URLS), World(2, HOSTS, URLS)
    asked = [(host.number, number) for host in world.all[:200] for number in range(min(host.size, 20))]
    first = [ask(world, world.all[h], page_of(world.all[h], n).path) for h, n in asked]
    second = [ask(again, again.all[h], page_of(again.all[h], n).path) for h, n in reversed(asked)]
    assert first == second[::-1]
    assert world.all == again.all
    assert world.all != other.all


@pytest.mark.parametrize(("hosts", "urls"), [(1, 1), (10, 10), (2_000, 60_000), (20_000, 1_000_000)])
def test_sizes_follow_a_power_law_and_add_up(hosts: int, urls: int) -> None:
    found = sizes(hosts, urls)
    assert len(found) == hosts
    assert min(found) >= 1
    assert sum(found) == pytest.approx(urls, rel=0.01, abs=1)
    assert found == sorted(found, reverse=True)
    if hosts >= 2_000:
        top = sum(found[: hosts // 100]) / sum(found)
        assert 0.25 < top < 0.8  # one host in a hundred has a third or half of all pages


def test_every_trait_occurs(world: World) -> None:
    assert {host.trap for host in world.all} == {"", *TRAPS}
    assert len({host.robots for host in world.all}) == 10
    assert {host.outage for host in world.all} == {"", "timeout", "refused", "error"}
    for trait in ("dead", "throttled", "soft404", "texts", "validators", "sitemap", "hub"):
        assert 0 < sum(bool(getattr(host, trait)) for host in world.all) < HOSTS, trait
    assert any(host.mirror_of >= 0 for host in world.all)
    assert any(host.dns_until for host in world.all)
    residents = Counter(host.address for host in world.all)
    assert max(residents.values()) > 20
    assert sum(count == 1 for count in residents.values()) > HOSTS / 2
    medians = sorted(host.median_s for host in world.all)
    assert 0.15 < medians[HOSTS // 2] < 0.4
    assert medians[-1] > 8
    kinds = {page_of(host, number).kind for host in world.all for number in range(min(host.size, 50))}
    assert len(kinds) == 13


def test_links_are_what_a_parser_would_have_found(world: World) -> None:
    checked = 0
    for host in in_order(world)[:150]:
        for number in range(min(host.size, 12)):
            answer = ask(world, host, page_of(host, number).path)
            for group in answer.groups:
                for wire, key in group.links:
                    url = parse(wire)
                    assert isinstance(url, Url)
                    assert (url.wire, url.key, url.host, url.site) == (wire, key, group.host, group.site)
                    checked += 1
        for entry in ask(world, host, "/sitemap.xml").entries if host.sitemap else ():
            url = parse(entry.url)
            assert isinstance(url, Url)
            assert (url.key, url.host, url.site) == (entry.key, entry.host, entry.site)
    assert checked > 2_000


def test_every_page_is_reached_from_the_front_page_and_every_front_page_from_the_hubs(world: World) -> None:
    host = max(world.all, key=lambda each: each.size)
    reached, edge, depth = {0}, [0], {0: 0}
    while edge:
        following = []
        for number in edge:
            page = page_of(host, number)
            assert number_of(page.path, host.size) == (number, 0)
            if page.kind == "page":
                new = set(linked_pages(host, page)) - reached
                reached |= new
                following += sorted(new)
                depth.update(dict.fromkeys(new, depth[number] + 1))
        edge = following
    assert reached == set(range(host.size))
    assert all(depth[number] <= depth_of(number) for number in reached)
    fronts = {
        urlsplit(wire).hostname
        for hub in world.all
        if hub.hub
        for number in range(hub.size)
        for group in ask(world, hub, page_of(hub, number).path).groups
        for wire, _ in group.links
    }
    assert fronts >= {each.name for each in world.all if not each.hub}
    assert world.seeds() == [f"{hub.scheme}://{hub.name}/" for hub in world.all if hub.hub]


def test_only_pages_without_children_are_odd(world: World) -> None:
    for host in world.all[:300]:
        for number in range(min(host.size, 200)):
            if page_of(host, number).kind != "page":
                assert number * BRANCHING + 1 >= host.size


def test_robots_files_say_what_the_world_thinks_they_say(world: World) -> None:
    seen = Counter[str]()
    for host in in_order(world):
        for day in (0.5, 3.0, 9.0, 20.0):
            at = START + day * DAY_S
            answer = ask(world, host, "/robots.txt", at=at)
            if answer.status != 200 or host.robots == "html":
                continue
            rules, expected = parse_rules(answer.body or b"", "Gossamer"), world.rules_at(host, at)
            for path in ("/", "/p/1", "/private/1", "/extra/1"):
                closed = expected is None or path.startswith(expected)
                assert rules.decide(path).allowed == (not closed), (host.name, path)
            seen[host.robots] += 1
            if host.robots == "delay":
                assert rules.crawl_delay_s == host.crawl_delay_s
    assert set(seen) == {"open", "private", "delay", "changing", "away", "closed", "too-slow"}


def test_what_is_wrong_with_a_host_shows_in_its_answers(world: World) -> None:
    by = {
        outage: next(host for host in world.all if host.outage == outage) for outage in ("timeout", "refused", "error")
    }
    during = {kind: START + (host.outage_from + 0.01) * DAY_S for kind, host in by.items()}
    assert ask(world, by["timeout"], "/", at=during["timeout"]).failure is Failure.CONNECT_TIMEOUT
    assert ask(world, by["refused"], "/", at=during["refused"]).failure is Failure.CONNECT
    assert ask(world, by["error"], "/", at=during["error"]).status == 503
    assert not world.down(by["error"], by["error"].outage_until)
    dead = next(host for host in world.all if host.dead)
    assert world.resolve(dead.name, START).error == "nxdomain"
    late = next(host for host in world.all if host.dns_until and not host.dead)
    assert world.resolve(late.name, START).error
    assert world.resolve(late.name, START + (late.dns_until + 0.01) * DAY_S).addresses == (late.address,)
    busy = next(host for host in world.all if host.throttled and host.told and not host.outage)
    answers = [ask(world, busy, "/", at=START + n * 900.0) for n in range(200)]
    refusals = [answer for answer in answers if answer.status == 429]
    assert 5 < len(refusals) < 80
    assert all(("retry-after", "120") in answer.headers for answer in refusals)
    soft = next(h for h in world.all if h.soft404 and not (h.outage or h.throttled or h.trap) and h.mirror_of < 0)
    first, second = (ask(world, soft, f"/p/{number}") for number in (10**8, 10**8 + 1))
    assert first.status == 200
    assert (first.body, first.simhash) == (second.body, second.simhash)


def test_pages_change_as_their_law_says_and_validators_tell(world: World) -> None:
    host = next(h for h in in_order(world) if h.validators and h.size > 20 and h.robots == "none")
    page = page_of(host, 0)
    first = ask(world, host, page.path)
    etag = dict(first.headers)["etag"]
    assert ask(world, host, page.path, etag=etag).status == 304
    later = ask(world, host, page.path, at=START + 30 * DAY_S, etag=etag)  # a front page changes within a month
    assert later.status == 200
    assert later.body != first.body
    assert later.content_hash != first.content_hash


def test_a_mirror_shows_the_pages_of_another_host(world: World) -> None:
    mirror = next(h for h in world.all if h.mirror_of >= 0 and not (h.outage or h.throttled or h.trap or h.dead))
    shown = world.all[mirror.mirror_of]
    answer = ask(world, mirror, "/")
    assert answer.body is not None
    assert answer.body.startswith(b"%d/" % shown.number)
    assert answer.groups[0].host == mirror.name


def test_traps_have_no_end(world: World) -> None:
    for kind in TRAPS:
        host = next(h for h in world.all if h.trap == kind and not (h.outage or h.throttled))
        url = parse(entrance(host), f"{host.scheme}://{host.name}/")
        assert isinstance(url, Url)
        seen: set[str] = set()
        for _ in range(15):
            parts = urlsplit(url.wire)
            path = parts.path + (f"?{parts.query}" if parts.query else "")
            assert is_trap(host, parts.hostname or "", path)
            assert url.key not in seen, kind
            seen.add(url.key)
            answer = ask(world, host, path, name=parts.hostname or "")
            assert answer.status == 200
            known = [each for each in (parse(wire, url.wire) for wire in answer.links) if isinstance(each, Url)]
            url = next(each for each in reversed(known) if each.key not in seen)


# -- chance and change -------------------------------------------------------------------------------------------------


def test_draws_depend_on_their_name_alone_and_are_even() -> None:
    assert draw(1, "a") == draw(1, "a") != draw(2, "a")
    mean = sum(unit(mix(draw(7, "x"), salt)) for salt in range(20_000)) / 20_000
    assert mean == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("law", ["poisson", "regular", "bursts"])
@pytest.mark.parametrize("rate", [1 / 30, 0.2, 1.0])
def test_a_law_keeps_its_rate_on_average(law: str, rate: float) -> None:
    changes = [Change(law, rate, draw(3, f"{n}")) for n in range(400)]  # type: ignore[arg-type]
    mean = sum(change.at(120.0)[0] for change in changes) / len(changes) / 120.0
    assert mean == pytest.approx(rate, rel=0.12)


def test_gaps_of_a_poisson_page_are_exponential() -> None:
    waits = sorted(Change("poisson", 0.5, draw(5, f"{n}")).after(0.0, 1_000.0) for n in range(2_000))
    for share in (0.25, 0.5, 0.9):
        assert waits[int(share * len(waits))] == pytest.approx(-math.log(1 - share) / 0.5, rel=0.1)


@given(bits=st.integers(0, 2**64 - 1), lively=st.booleans(), days=st.lists(st.floats(0, 400), min_size=2, max_size=6))
@settings(deadline=None, max_examples=examples(150))
def test_counts_grow_and_the_last_change_is_past(bits: int, lively: bool, days: list[float]) -> None:
    change = change_of(bits, lively=lively)
    found = [change.at(day) for day in sorted(days)]
    assert [count for count, _ in found] == sorted(count for count, _ in found)
    for day, (count, last) in zip(sorted(days), found, strict=True):
        assert 0 <= last <= day
        assert count == 0 or change.at(last + 1e-6)[0] == count
        first = change.after(day, 500.0)
        assert change.at(first)[0] > count or first == 500.0
        middle = (day + first) / 2
        assert change.at(middle)[0] == count or first - day < 1e-4  # and nothing happens before


# -- the store ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=200), st.integers(0, 60))
@settings(deadline=None, max_examples=100)
def test_sorted_keys_are_a_sorted_set(steps: list[tuple[bool, int]], start: int) -> None:
    keys, model = SortedKeys([b"\x20"]), {b"\x20"}
    for add, number in steps:
        key = bytes((number,))
        if add and key not in model:
            keys.add(key)
            model.add(key)
        elif not add and key in model:
            keys.remove(key)
            model.discard(key)
    assert list(keys.since(bytes((start,)))) == sorted(key for key in model if key >= bytes((start,)))


def test_sorted_keys_in_many_chunks() -> None:
    numbers = [mix(1, n) % 10**12 for n in range(5 * CHUNK)]
    keys = SortedKeys()
    for number in numbers:
        keys.add(b"%012d" % number)
    expected = sorted(b"%012d" % number for number in numbers)
    assert list(keys.since(b"")) == expected
    for key in expected[: 4 * CHUNK]:
        keys.remove(key)
    assert list(keys.since(b"")) == expected[4 * CHUNK :]
    assert list(keys.since(expected[-3])) == expected[-3:]


def test_a_store_that_was_not_scanned_yet_keeps_no_order_and_knows_it_when_asked() -> None:
    store = MemoryStore()
    store.write([(Cf.URL, b"%d" % n, b"") for n in range(30, 0, -1)])
    store.write([(Cf.URL, b"7", None), (Cf.URL, b"gone", None)])
    found = store.scan(Cf.URL, b"", None, 100)
    assert [key for key, _ in found] == sorted(b"%d" % n for n in range(1, 31) if n != 7)
    store.write([(Cf.URL, b"07", b"x"), (Cf.URL, b"1", None), (Cf.URL, b"2", b"again")])
    assert store.scan(Cf.URL, b"", b"2\x00", 100)[0] == (b"07", b"x")
    assert (b"2", b"again") in store.scan(Cf.URL, b"", b"2\x00", 100)


def test_hosts_are_small(world: World) -> None:
    assert len(msgspec.json.encode(world.all)) / HOSTS < 1_500  # twenty thousand of them need little memory
