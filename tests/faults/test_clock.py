"""A wall clock that jumps under a crawl or between its runs: nothing is lost, rushed or held up."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.faults.conftest import NAME, MakeCrawl, whole, words
from tests.faults.test_machine import blames_nobody
from tests.http.raw_server import Peer
from tests.support.crawl import Crawl, merged
from tests.support.web import Web, reply

HOUR_S, DAY_S = 3_600.0, 86_400.0
GAP_S = 0.1
PAGES = 60
LEEWAY_S = 0.01  # the server is a thread of this busy process
# The program with a wall clock that is off, by an amount that stands in a file.
LAUNCHER = """
import sys, time
from pathlib import Path
real, place = time.time, Path(sys.argv[1])
time.time = lambda: real() + float(place.read_text())
sys.argv[0:2] = ["gossamer"]
from gossamer.__main__ import main
sys.exit(main())
"""


@dataclass
class Witness:
    """A site that notes when each request began and ended."""

    web: Web
    hits: list[tuple[str, float, float]] = field(default_factory=list)
    url: str = ""
    targets: list[str] = field(default_factory=lambda: sorted(["/", *(f"/page{n}" for n in range(PAGES))]))

    async def serve(self, peer: Peer) -> None:
        links = " ".join(f'<a href="/page{n}">{n}</a>' for n in range(PAGES))
        while request := await peer.request():
            target, start = request.split(b" ", 2)[1].decode(), time.monotonic()
            text = words(random.Random(target), 2_000)
            status = "200 OK" if target in self.targets else "404 Not Found"
            answer = reply(f"<title>{target}</title><p>{text}</p>{links}", status=status)
            end = time.monotonic()  # after the answer is out, a busy machine may keep us from the clock for long
            await peer.send(answer)
            self.hits.append((target, start, end))

    def asked(self) -> list[str]:
        return [target for target, _, _ in self.hits if target in self.targets]

    def gaps(self) -> list[float]:
        return [after[1] - before[2] for before, after in itertools.pairwise(self.hits)]

    def await_pages(self, crawl: Crawl, count: int) -> None:
        deadline = time.monotonic() + 40
        while len(self.asked()) < count:
            assert crawl.started[-1].poll() is None, crawl.output[-3000:]
            assert time.monotonic() < deadline, f"the crawl stands still: {crawl.output[-3000:]}"
            time.sleep(0.01)


@pytest.fixture
def site(web: Web) -> Witness:
    witness = Witness(web)
    witness.url = web.add(NAME, witness.serve) + "/"
    return witness


@dataclass
class Clocked:
    """A crawl by a program whose wall clock is ours to set."""

    crawl: Crawl
    place: Path

    def set(self, off_s: float) -> None:
        self.place.write_text(str(off_s))

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", LAUNCHER, str(self.place), *self.crawl.command()[1:]]
        with (self.crawl.folder / "output").open("ab") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        self.crawl.started.append(process)
        return process


@pytest.fixture
def clocked(site: Witness, make_crawl: MakeCrawl, tmp_path: Path) -> Clocked:
    crawl = make_crawl(site.url)
    crawl.options = merged(crawl.options, {"politeness": {"min_delay": f"{GAP_S}s", "max_delay": "2s"}})
    made = Clocked(crawl, tmp_path / "off")
    made.set(0.0)
    return made


def dates(crawl: Crawl) -> list[float]:
    """WARC-Date of every record, as unix seconds."""
    found = []
    for path in crawl.warcs():
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, record_types=WarcRecordType.any_type):
                text = str(record.headers["WARC-Date"]).replace("Z", "+00:00")
                found.append(dt.datetime.fromisoformat(text).timestamp())
    return found


@pytest.mark.parametrize("jump_s", [-HOUR_S, DAY_S])
def test_a_jump_while_crawling_is_not_seen(site: Witness, clocked: Clocked, jump_s: float) -> None:
    begun = time.time()
    process = clocked.start()
    site.await_pages(clocked.crawl, 20)
    clocked.set(jump_s)
    assert process.wait(60) == 0, clocked.crawl.output[-3000:]
    assert min(site.gaps()) >= GAP_S - LEEWAY_S
    assert max(site.gaps()) < 10, "nothing stood still"
    assert all(begun - 2 <= date <= time.time() + 2 for date in dates(clocked.crawl))
    assert all(begun - 2 <= event["time"] <= time.time() + 2 for event in clocked.crawl.events())
    blames_nobody(clocked.crawl)
    whole(clocked.crawl, site, refetched_max=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("jump_s", [-HOUR_S, -DAY_S, DAY_S])
def test_a_jump_between_two_runs_costs_a_gap_and_no_page(site: Witness, clocked: Clocked, jump_s: float) -> None:
    process = clocked.start()
    site.await_pages(clocked.crawl, 20)
    process.kill()
    process.wait()
    clocked.set(jump_s)
    again = clocked.start()
    assert again.wait(60) == 0, clocked.crawl.output[-3000:]
    assert min(site.gaps()) >= GAP_S - LEEWAY_S
    # A server owes at most max_delay then; the host no longer than it did.
    assert max(site.gaps()) < 20, "nobody is held for as long as the clock was set back"
    blames_nobody(clocked.crawl)
    whole(clocked.crawl, site, refetched_max=10)  # type: ignore[arg-type]
