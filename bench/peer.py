"""Runs another crawler on hosts of the reference web, and counts from the server's log what it did there.

`make peers` installs them: Scrapy in an environment of its own, spider-rs from its package for Node.js, colly built by
Go. One that is not there is named in the table, and nothing is said of it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Final, NamedTuple

from bench.quick_web import Served
from bench.reference_web import host_address
from tests.support.politeness import read_log

ROOT: Final = Path(__file__).parents[1]
BUILT: Final = ROOT / "build" / "peers"
PROGRAMS: Final = Path(__file__).parent / "peers"


class Peer(NamedTuple):
    """Another crawler, and the command that takes a file of seeds after it."""

    name: str
    command: tuple[str, ...]
    needs: Path  # is there when it is installed


class Ran(NamedTuple):
    """What a crawler did, by the server's log and the kernel's accounting."""

    cpu_s: float
    elapsed_s: float
    requests: int  # for pages that were there
    pages: int  # different ones
    robots: int

    def beyond(self, few: Ran) -> Ran:
        """What this one did more than a smaller one: starting and stopping are left out."""
        return Ran(*(one - other for one, other in zip(self, few, strict=True)))

    @property
    def request_ms(self) -> float:
        """CPU of a request."""
        return self.cpu_s / max(1, self.requests) * 1e3

    @property
    def useful_ms(self) -> float:
        """CPU of a page that was not fetched before."""
        return self.cpu_s / max(1, self.pages) * 1e3

    @property
    def wasted(self) -> float:
        """Share of the requests that brought a page once more."""
        return 1 - self.pages / max(1, self.requests)


def peers() -> list[Peer]:
    """Those that the bench knows."""
    node = shutil.which("node") or "node"
    python = BUILT / "scrapy" / "bin" / "python"
    spider = BUILT / "spider" / "crawl.mjs"
    return [
        Peer("Scrapy", (str(python), str(PROGRAMS / "scrapy_crawl.py")), BUILT / "scrapy" / ".done"),
        Peer("spider-rs", (node, str(spider)), BUILT / "spider" / ".done"),
        Peer("colly", (str(BUILT / "colly"),), BUILT / "colly"),
    ]


def version(peer: Peer) -> str:
    """Which one it is, as its lock file has it."""
    files = {
        "Scrapy": (ROOT / "requirements" / "peers.txt", "scrapy=="),
        "spider-rs": (PROGRAMS / "spider" / "package.json", '"@spider-rs/spider-rs": "'),
        "colly": (PROGRAMS / "colly" / "go.mod", "colly/v2 v"),
    }
    path, mark = files[peer.name]
    return path.read_text().lower().partition(mark)[2].split()[0].strip('",')


def counted(log: Path, begin: int) -> tuple[int, int, int]:
    """Requests for pages, different pages, requests for robots.txt, among the log's lines from `begin` on."""
    seen: Counter[str] = Counter()
    robots = 0
    for hit in read_log(log)[begin:]:
        if hit.is_robots:
            robots += 1
        elif hit.status == 200:
            seen[f"{hit.host}:{hit.port}{hit.target.partition('?')[0]}"] += 1  # one file is one page, by the server
    return seen.total(), len(seen), robots


def lines(log: Path) -> int:
    """Of a log."""
    return len(read_log(log))


def run(peer: Peer, served: Served, hosts: int, *, timeout_s: float) -> Ran:
    """Let it crawl the first so many hosts until it finds nothing more. Raises SystemExit when it fails."""
    seeds = served.folder / f"seeds-{peer.name}"
    seeds.write_text("".join(f"http://{host_address(n)}:{served.port}/\n" for n in range(hosts)))
    begin = lines(served.log)
    output = served.folder / f"output-{peer.name}"
    began = time.monotonic()
    with output.open("wb") as out:
        process = subprocess.Popen([*peer.command, str(seeds)], stdout=out, stderr=out, cwd=served.folder)
        try:
            while True:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() - began > timeout_s:
                    raise SystemExit(f"bench: {peer.name} did not end within {timeout_s:g} s")
                time.sleep(0.05)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
    elapsed_s = time.monotonic() - began
    if process.returncode:
        raise SystemExit(f"bench: {peer.name} ended with {process.returncode}: {output.read_text()[-2000:]}")
    requests, pages, robots = counted(served.log, begin)
    return Ran(usage.ru_utime + usage.ru_stime, elapsed_s, requests, pages, robots)
