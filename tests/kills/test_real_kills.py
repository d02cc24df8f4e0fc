"""A real crawl of real servers, killed ten times in each round: at random, inside a record of the archive, inside an
index, inside the log, around commits and syncs, while the start after a kill mends what that left. Nothing may be lost,
torn, fetched again without need, or asked for too soon.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.model.record import State
from gossamer.sim.check import url_rows
from tests.kills.launch import NOTE, SPEC
from tests.support.crawl import Crawl, end_group, program
from tests.support.evidence import assert_archive_is_valid, captured, forbidden_hits, state_faults, unexcused_repeats
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import by_address, by_host, read_log, short_gaps

HOSTS, PAGES = 12, 60
GAP_S = 0.25
KILLS = 10
STANDSTILL_S = 60.0
HITS_MAX = 160  # requests after which a point that is not come to is given up for a random kill
UNSETTLED_S = 5.0
RULES = b"User-agent: *\nDisallow: /private\n"
LAUNCH = Path(__file__).with_name("launch.py")

# Who is killed where, and at most at which call. `parent` and `group` take the crawl with the worker.
POINTS: dict[str, int] = {
    "worker pwrite half parent": 16,
    "worker pwrite half group": 16,
    "worker pwrite before parent": 16,
    "worker pwrite after parent": 16,
    "worker fdatasync before parent": 8,
    "worker fdatasync after group": 8,
    "worker draft half parent": 1,
    "worker draft after group": 1,
    "worker replace before parent": 1,
    "worker rename before parent": 1,
    "worker rename after group": 1,
    "main commit before group": 80,
    "main commit after self": 80,
    "main sync before self": 6,
    "main sync after group": 6,
    "main write half self": 5,
    "main write before group": 5,
    "main ftruncate before group": 1,
    "main ftruncate after self": 1,
    "main draft half self": 1,
    "main replace before group": 1,
    "main rename before self": 1,
    "main rename after group": 1,
}
MENDING = [name for name in POINTS if name.startswith(("main ftruncate", "main draft", "main replace", "main rename"))]
POWER = "main commit after group"  # and what was not synced is torn off
LATER = [pytest.param(point, marks=pytest.mark.long) for point in ("fdatasync before", "rename before")]


def page(host: int, number: int, chance: random.Random) -> str:
    """Each page is found on several others, so that one that cannot be read hides none. Every tenth is a copy."""
    if number % 10 == 9:
        return "<title>copy</title><p>the same on every host and page of this kind</p>"
    around = [(number * 3 + step) % PAGES for step in range(6)]
    links = "".join(f'<a href="/p{n}.html">{n}</a>' for n in (around if number else range(PAGES)))
    links += "".join(
        f'<a href="//h{(host + step) % HOSTS}.kill.example:{{port}}/p{number}.html">x</a>' for step in (1, 5)
    )
    words = " ".join(f"{chance.getrandbits(48):x}" for _ in range(2_400))
    return f'<title>{host} {number}</title><a href="/private/{number}.html">no</a>{links}<p>{words}</p>'


@pytest.fixture
def served(nginx: Nginx, tmp_path: Path) -> dict[str, str]:
    """The web; its pages by address of the page, with the seeds first."""
    port = free_port()
    urls: dict[str, str] = {}
    chance = random.Random(5)
    for host in range(HOSTS):
        root = tmp_path / "web" / str(host)
        (root / "private").mkdir(parents=True)
        (root / "robots.txt").write_bytes(RULES)
        for number in range(PAGES):
            (root / f"p{number}.html").write_text(page(host, number, chance).replace("{port}", str(port)))
            urls[f"http://h{host}.kill.example:{port}/p{number}.html"] = str(root)
        nginx.add(f"h{host}.kill.example", address=f"127.74.0.{host + 1}", port=port, root=root)
    nginx.start()
    return urls


@pytest.fixture
def crawl(nginx: Nginx, served: dict[str, str], tmp_path: Path) -> Iterator[Crawl]:
    seeds = [url for url in served if url.endswith("/p0.html")]
    options = {
        "dns": {"hosts_file": str(nginx.hosts_file)},
        "politeness": {"min_delay": GAP_S},
        "archive": {"segment_size": "1MiB"},
    }
    made = Crawl(tmp_path / "crawl", seeds, options)
    yield made
    made.end()


def begin(crawl: Crawl, spec: str, note: Path) -> subprocess.Popen[bytes]:
    """Begin or resume, to be killed at a point; "": never."""
    command = [sys.executable, str(LAUNCH), *crawl.command()[len(program()) :]]
    environment = os.environ | {SPEC: spec, NOTE: str(note)}
    with (crawl.folder / "output").open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True, env=environment)
    crawl.started.append(process)
    return process


def await_kill(crawl: Crawl, process: subprocess.Popen[bytes], log: Path, hits: int) -> bool:
    """Until the process is killed: by itself, which is True, or by us after so many requests."""
    count, deadline = hits_in(log) + hits, time.monotonic() + STANDSTILL_S
    while process.poll() is None and hits_in(log) < count:
        assert time.monotonic() < deadline, f"the crawl stands still: {crawl.output[-2000:]}"
        time.sleep(0.02)
    by_itself = process.poll() is not None
    end_group(process, signal.SIGKILL)  # workers whose parent is gone end by themselves, a moment later
    assert process.wait() == -signal.SIGKILL, f"came to its end: {crawl.output[-3000:]}"
    return by_itself


def hits_in(log: Path) -> int:
    return log.read_bytes().count(b"\n") if log.exists() else 0


def tear(crawl: Crawl, note: Path, chance: random.Random) -> int:
    """Cut off a part of what of the write-ahead log was never synced; how many bytes."""
    durable = json.loads(note.read_text()) if note.exists() else {}
    logs = sorted((crawl.directory / "state").glob("*.log"))
    if not logs:
        return 0
    size, safe = logs[-1].stat().st_size, durable.get(logs[-1].name, 0)
    keep = chance.randint(min(safe, size), size)
    os.truncate(logs[-1], keep)
    return size - keep


def killed(crawl: Crawl, log: Path, chance: random.Random, plan: list[str]) -> tuple[list[float], dict[str, int]]:
    """Work through a plan: when the kills were, and how many there were of each point."""
    kills: list[float] = []
    reached: dict[str, int] = {}
    note = crawl.folder / "synced.json"
    crawl.folder.mkdir(parents=True, exist_ok=True)
    for name in plan:
        spec, hits = "", chance.randint(10, 60)
        if name != "random":
            role, point, how, victim = name.split()
            spec = f"{role} {point} {how} {chance.randint(1, POINTS.get(name, 80))} {victim}"
            hits = hits if name in MENDING else HITS_MAX
        process = begin(crawl, spec, note)
        met = name if await_kill(crawl, process, log, hits) else "random"
        kills.append(time.time())
        reached[met] = reached.get(met, 0) + 1
        if name == POWER:
            tear(crawl, note, chance)
    return kills, reached


def assert_whole(crawl: Crawl, served: dict[str, str], nginx: Nginx, kills: list[float]) -> None:
    """Every page once, in table, archive and log; everybody asked politely, over all the kills."""
    hits = read_log(nginx.log)
    made_up = {event["url"] for event in crawl.events() if event.get("kind") == "probe"}
    asked = [hit for hit in hits if not hit.is_robots and f"http://{hit.url}" not in made_up]
    assert {f"http://{hit.url}" for hit in asked if "gossamer-" not in hit.target} == set(served)
    assert unexcused_repeats(asked, kills, UNSETTLED_S) == []
    assert short_gaps(hits, GAP_S, by_address) == []
    assert short_gaps(hits, GAP_S, by_host) == []
    assert forbidden_hits(hits, {f"h{host}.kill.example": RULES for host in range(HOSTS)}) == []
    assert state_faults(crawl) == []
    assert_archive_is_valid(crawl)
    captures = captured(crawl)
    assert {url: captures[url] for url in served} == dict.fromkeys(served, 1)
    store = RocksStore(crawl.directory / "state", read_only=True)
    rows = [row for row in url_rows(store).values() if row.kind == "page"]
    store.close()
    fetched = sorted(row.url for row in rows if row.state is State.FETCHED and row.status == 200)
    assert fetched == sorted(served)
    assert {row.visits for row in rows if row.url in served} == {1}
    lines = [event["url"] for event in crawl.events() if event.get("kind") == "page" and event.get("status") == 200]
    assert sorted(lines) == sorted(served), "each page has its line of the crawl log, once"


def plan_for(seed: int) -> tuple[random.Random, list[str]]:
    """Ten kills: two at random, one that takes what was not synced along, and seven points, of which three mend."""
    chance = random.Random(seed)
    running = [name for name in POINTS if name not in MENDING]
    first = [*chance.sample(running, 4), "random", POWER, "random"]
    chance.shuffle(first)
    plan = []
    for number, name in enumerate(first):
        plan.append(name)
        if number in (1, 3, 5):
            plan.append(chance.choice(MENDING))  # what the kill before left open is there to be mended
    return chance, plan


def round_of(seed: int, crawl: Crawl, served: dict[str, str], nginx: Nginx) -> dict[str, int]:
    chance, plan = plan_for(seed)
    assert len(plan) == KILLS
    kills, reached = killed(crawl, nginx.log, chance, plan)
    result = crawl.run()
    assert result.code == 0, result.words[-3000:]
    assert_whole(crawl, served, nginx, kills)
    return reached


@pytest.mark.timeout(400)
def test_ten_kills(
    crawl: Crawl, served: dict[str, str], nginx: Nginx, record_property: Callable[[str, object], None]
) -> None:
    reached = round_of(1, crawl, served, nginx)
    record_property("kills", KILLS)
    assert sum(reached.values()) == KILLS
    assert reached["random"] <= 5, f"the points are not come to: {reached}"


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2, 14))
def test_ten_kills_more(
    seed: int, crawl: Crawl, served: dict[str, str], nginx: Nginx, record_property: Callable[[str, object], None]
) -> None:
    """Twelve rounds: 120 kills."""
    reached = round_of(seed, crawl, served, nginx)
    record_property("kills", KILLS)
    assert sum(reached.values()) == KILLS


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_each_point(
    point: str,
    crawl: Crawl,
    served: dict[str, str],
    nginx: Nginx,
    record_property: Callable[[str, object], None],
) -> None:
    """Twice, each after a run that left something to mend."""
    chance = random.Random(point)
    kills, reached = killed(crawl, nginx.log, chance, ["random", point, "random", point])
    assert reached.get(point, 0) >= 1, f"{point} is not come to: {reached}"
    record_property("kills", len(kills))
    result = crawl.run()
    assert result.code == 0, result.words[-3000:]
    assert_whole(crawl, served, nginx, kills)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("point", ["pwrite half", *LATER])
def test_workers_that_die_while_they_write(point: str, crawl: Crawl, served: dict[str, str], nginx: Nginx) -> None:
    """Each worker dies at its 120th write, or its first index: the crawl goes on with others and loses nothing.

    It must have answered for a page by then (`DIGEST_JOBS_PER_WORKER_MAX` may wait for one sync): the crawl rightly
    ends when workers die in a row without finishing any.
    """
    what, how = point.split()
    number = {"pwrite": 120, "fdatasync": 12, "rename": 1}[what]
    crawl.folder.mkdir(parents=True, exist_ok=True)
    process = begin(crawl, f"worker {what} {how} {number} self", crawl.folder / "synced.json")
    assert process.wait(200) == 0, crawl.output[-3000:]
    assert_whole(crawl, served, nginx, [])
