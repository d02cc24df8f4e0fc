"""SIGINT, SIGTERM, SIGKILL: what is in flight is finished or given back, the terminal is restored, nothing is lost."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import termios
import time
from pathlib import Path

import pytest

from tests.faults.conftest import NAME, MakeCrawl, Site, whole
from tests.http.raw_server import Peer
from tests.support.crawl import Crawl
from tests.support.web import HTML, Web, pages, reply

INTERRUPTED = 130
AT_ONCE_S = 4.0  # for closing the store on a busy machine
IN_FLIGHT_MAX = 10


def workers_of(crawl: Crawl) -> list[int]:
    process = crawl.started[-1].pid
    return [int(pid) for pid in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def seconds_to_end(process: subprocess.Popen[bytes], code: int) -> float:
    started = time.monotonic()
    assert process.wait(60) == code
    return time.monotonic() - started


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_finishes_what_is_in_flight(web: Web, make_crawl: MakeCrawl, number: signal.Signals) -> None:
    site = Site(web, 100)
    crawl = make_crawl(site.url)
    process = crawl.start()
    site.await_pages(crawl, 20)
    workers = workers_of(crawl)
    process.send_signal(number)
    assert seconds_to_end(process, INTERRUPTED) < 15
    assert "Traceback" not in crawl.output
    assert all(gone(pid) for pid in workers)
    assert not list(crawl.archive.glob("*.open"))
    assert crawl.ask("verify").code == 0
    assert crawl.run().code == 0
    whole(crawl, site, refetched_max=0)


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGTERM, signal.SIGTERM)])
def test_second_signal_ends_at_once_although_a_server_hangs(
    web: Web, make_crawl: MakeCrawl, numbers: tuple[signal.Signals, signal.Signals]
) -> None:
    seed = web.add(NAME, pages({"/": '<a href="/hangs">x</a>', "/robots.txt": "", "/hangs": "x"}, None)) + "/"
    hanging = pages({"/": "<p>front</p>", "/robots.txt": b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"}, None)
    seed = web.add("hangs.example", hanging)
    crawl = make_crawl(seed + "/", seed + "/hangs")
    process = crawl.start()
    wait_for(lambda: "/hangs" in web.targets("hangs.example"))
    process.send_signal(numbers[0])
    time.sleep(0.7)
    assert process.poll() is None, "the first one waits for what is in flight"
    process.send_signal(numbers[1])
    assert seconds_to_end(process, INTERRUPTED) < AT_ONCE_S
    assert "Traceback" not in crawl.output
    assert crawl.ask("verify").code == 0
    assert "queue" in crawl.ask("explain", seed + "/hangs").out.lower()


def test_second_signal_ends_at_once_although_a_worker_hangs(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 60)
    crawl = make_crawl(site.url)
    process = crawl.start()
    site.await_pages(crawl, 10)
    workers = workers_of(crawl)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.7)
    assert process.poll() is None, "the first one waits for the pages in hand"
    process.send_signal(signal.SIGINT)
    assert seconds_to_end(process, INTERRUPTED) < AT_ONCE_S
    assert "Traceback" not in crawl.output
    assert all(gone(pid) for pid in workers)
    assert crawl.ask("verify").code == 0
    assert crawl.run().code == 0
    whole(crawl, site, refetched_max=IN_FLIGHT_MAX)


def test_signal_before_the_first_page(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 5)
    for delay_s in (0.15, 0.3, 0.45, 0.6):
        crawl = make_crawl(site.url)
        process = crawl.start()
        time.sleep(delay_s)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) in (INTERRUPTED, -signal.SIGINT, 0), crawl.output
        assert "Traceback" not in crawl.output, crawl.output
        assert crawl.run().code == 0
        assert crawl.ask("verify").code == 0


def test_kill_loses_no_committed_page_and_leaves_no_worker(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 80)
    crawl = make_crawl(site.url)
    for seen in (10, 30, 50):
        process = crawl.start()
        site.await_pages(crawl, seen)
        workers = workers_of(crawl)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_for(lambda alive=workers: all(gone(pid) for pid in alive))
        checked = crawl.ask("verify")
        assert checked.code == 0, checked.words
    assert crawl.run().code == 0
    whole(crawl, site, refetched_max=3 * IN_FLIGHT_MAX)


def test_killed_workers_cost_nothing(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 80)
    crawl = make_crawl(site.url)
    process = crawl.start()
    for seen in (10, 25, 40):
        site.await_pages(crawl, seen)
        for pid in workers_of(crawl):
            os.kill(pid, signal.SIGKILL)
    assert process.wait(60) == 0, crawl.output
    whole(crawl, site, refetched_max=0)


def test_terminal_is_given_back(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 100)
    crawl = make_crawl(site.url)
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    process = subprocess.Popen(
        crawl.command(), stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
    )
    crawl.started.append(process)
    shown = b""
    os.set_blocking(master, False)

    def read() -> bytes:
        nonlocal shown
        try:
            shown += os.read(master, 65536)
        except BlockingIOError:
            pass
        return shown

    wait_for(lambda: (read(), len(site.asked()) >= 10)[1])
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)
    wait_for(lambda: (read(), process.poll() is not None)[1])
    read()
    assert process.returncode == INTERRUPTED, shown[-2000:]
    assert termios.tcgetattr(slave) == before
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l"), "the cursor is visible again"
    assert b"Traceback" not in shown
    os.close(slave)
    os.close(master)


def test_output_on_a_full_disk_does_not_end_the_crawl(web: Web, make_crawl: MakeCrawl) -> None:
    site = Site(web, 20)
    crawl = make_crawl(site.url)
    with Path("/dev/full").open("wb") as full:
        process = subprocess.Popen(crawl.command(), stdout=full, stderr=subprocess.PIPE, start_new_session=True)
        crawl.started.append(process)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert err.decode().splitlines() == ["gossamer: no room for the output: No space left on device"]
    whole(crawl, site, refetched_max=0)


def wait_for(condition: object, timeout_s: float = 40.0) -> None:
    """Until it is true."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_standing_still_is_held_against_nobody(web: Web, make_crawl: MakeCrawl) -> None:
    async def slowly(peer: Peer) -> None:
        await asyncio.sleep(0.4)
        text = " ".join(f'<a href="/page{number}">{number}</a>' for number in range(12))
        await peer.send(reply(text, headers=HTML + b"Connection: close\r\n"))

    seed = web.add(NAME, pages({"/": slowly} | {f"/page{number}": slowly for number in range(12)})) + "/"
    limits = {"total_timeout": "2s", "connect_timeout": "1s", "first_byte_timeout": "1s"}
    crawl = make_crawl(seed, options={"fetch": limits, "workers": {"count": 1, "timeout": "1s"}})
    process = crawl.start()
    for seen in (3, 6, 9):
        wait_for(lambda least=seen: len(web.targets(NAME)) > least)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGSTOP)
        time.sleep(3.5)
        os.killpg(process.pid, signal.SIGCONT)
    assert process.wait(60) == 0
    events = crawl.events()
    assert [event for event in events if event.get("failure") or event.get("error")] == []
    assert all(event["elapsed_ms"] < 1500 for event in events)
    assert all(event["next_allowed"] - event["time"] < 1 for event in events)
    assert {event["url"] for event in events if event["kind"] == "page"} == {
        seed,
        *(f"{seed}page{number}" for number in range(12)),
    }
