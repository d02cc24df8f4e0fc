"""An hour at full speed against 2,000 hosts, good and bad: `python -m bench.soak [--seconds N] [--into FOLDER]`.

The program as it is delivered, its processes and its politeness, crawls a local web without end. What its processes
take is looked at every few seconds. Exit code 1 when something grew between the second and the last quarter
(`soak_judge` says what is compared), when a gap was cut short, when `gossamer verify` finds something, or when the
crawl ended badly.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench import soak_hostile
from bench.harness import machine
from bench.reference_web import host_address, host_name
from bench.soak_judge import Manners, holds, judge, judge_manners
from bench.soak_page import Soak, page, write
from bench.soak_watch import Sample, Watcher
from bench.soak_web import ordinary, origin
from gossamer.surface.statusfile import read_status
from tests.support.crawl import Crawl
from tests.support.nginx import free_port, nginx_path
from tests.support.politeness import ROUNDING_S

GAP_S: Final = 1.0
HOSTILE_ROUNDING_S: Final = 0.05  # a busy server in Python notes ends late
VERIFY_TIMEOUT_S: Final = 3_600.0
START_TIMEOUT_S: Final = 60.0
END_TIMEOUT_S: Final = 180.0  # after the crawl's own time
HOSTILE_SHARE: Final = 0.15
GLANCE_EVERY_S: Final = 0.5  # between looks
WORDS_MAX: Final = 400  # of what `verify` said
DOCS: Final = Path(__file__).parents[1] / "docs"


def options(nameserver: str, workers: int) -> dict[str, dict[str, Any]]:
    """The crawl's configuration: politeness as it comes; short deadlines, so that hostile pages pass by often."""
    return {
        "identity": {"contact": "https://soak.example/bot"},
        "scope": {"mode": "any"},
        "politeness": {
            "min_delay": f"{GAP_S}s", "response_factor": 10, "start_jitter": "2s", "net_rate": 20, "as_rate": 50,
            "park": "2m",
        },
        "fetch": {
            "total_timeout": "10s", "connect_timeout": "5s", "first_byte_timeout": "5s", "max_body": "1MiB",
            "retries": 1,
        },
        "dns": {"nameservers": [nameserver], "timeout": "2s", "ttl_min": "1m", "negative_ttl": "1m"},
        "refresh": {"policy": "uniform", "interval": "2m", "min_interval": "1m"},
        "archive": {"segment_size": "256MiB"},
        "workers": {"count": workers},
    }  # fmt: skip


@contextmanager
def soak_web(folder: Path, good: int, bad: int) -> Iterator[tuple[str, int]]:
    """Serve `good` ordinary and `bad` hostile hosts; yields the nameserver's address and the hostile hosts' port.

    The file `seeds` in `folder` names a page of every host.
    """
    folder.chmod(0o755)
    port, tls_port, hostile_port = free_port(), free_port(), free_port()
    numbers = range(good + bad)
    server = ordinary(folder / "nginx", numbers[:good], port, tls_port)
    names = {host_name(n): host_address(n) for n in numbers}
    seeds = [f"{origin(n, port, tls_port)}/" for n in numbers[:good]]
    seeds += [f"http://{host_name(n)}:{hostile_port}/" for n in numbers[good:]]
    (folder / "seeds").write_text("\n".join(seeds) + "\n")
    here, there = multiprocessing.Pipe()
    work = (there, folder / "hostile.log", hostile_port, names)
    hostile = multiprocessing.get_context("spawn").Process(target=soak_hostile.run, args=work, daemon=True)
    hostile.start()
    try:
        server.start()
        if not here.poll(START_TIMEOUT_S):
            raise SystemExit("soak: the hostile hosts do not answer")
        yield here.recv(), hostile_port
    finally:
        hostile.terminate()
        hostile.join(10)
        server.stop()


def watched(crawl: Crawl, seconds: float, every_s: float, hostile_port: int,
            tell: Callable[[Sample], None]) -> tuple[int, list[Sample]]:  # fmt: skip
    """Run a crawl for so long and look at it; its exit code and what was seen. One that does not end is killed."""
    process = crawl.start("--duration", f"{seconds}s")
    watcher = Watcher(crawl.directory, process.pid, hostile_port)
    samples: list[Sample] = []
    due = began = time.monotonic()
    try:
        while process.poll() is None and time.monotonic() < began + seconds + END_TIMEOUT_S:
            due += every_s
            while process.poll() is None and time.monotonic() < due:
                time.sleep(min(GLANCE_EVERY_S, every_s))
                watcher.glance()
            sample = watcher.look() if process.poll() is None else None
            if sample is not None:
                samples.append(sample)
                tell(sample)
    finally:
        watcher.close()
        crawl.end()
    return process.returncode, samples


def soak(folder: Path, arguments: argparse.Namespace) -> Soak:
    """Serve, crawl, look, judge."""
    folder.mkdir(parents=True, exist_ok=True)
    bad = max(1, int(arguments.hosts * HOSTILE_SHARE))
    good = arguments.hosts - bad
    with soak_web(folder, good, bad) as (nameserver, hostile_port):
        flags = ("--seeds", str(folder / "seeds"))
        crawl = Crawl(folder, (), options(nameserver, arguments.workers), flags)
        code, samples = watched(crawl, arguments.seconds, arguments.every, hostile_port, told(arguments.seconds))
    if code != 0:
        print(f"soak: the crawl ended with {code}:\n{crawl.output[-3000:]}", file=sys.stderr)
    verified, verify = checked(crawl)
    manners = Manners()
    judge_manners(folder / "nginx" / "access.log", GAP_S, rounding_s=ROUNDING_S, into=manners)
    judge_manners(folder / "hostile.log", GAP_S, rounding_s=HOSTILE_ROUNDING_S, into=manners)
    status = read_status(crawl.directory / "log")
    if status is None:
        raise SystemExit(f"soak: the crawl left no status:\n{crawl.output[-3000:]}")
    snapshot, _ = status
    findings = judge(samples, arguments.seconds)
    return Soak(
        holds=holds(findings, manners) and code == 0 and verified,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        machine=machine(),
        duration_s=arguments.seconds,
        every_s=arguments.every,
        hosts_ordinary=good,
        hosts_hostile=bad,
        exit_code=code,
        pages=snapshot.pages,
        hosts=snapshot.hosts_known,
        urls=snapshot.urls_known,
        statuses=snapshot.statuses,
        failures=snapshot.failures,
        refusals=snapshot.refusals,
        errors=snapshot.errors,
        duplicates=(snapshot.duplicates_exact, snapshot.duplicates_near, snapshot.not_modified),
        refreshed=sum(sample.refreshed for sample in samples),
        worker_restarts=snapshot.worker_restarts,
        archive_bytes=snapshot.archive_bytes,
        segments=snapshot.segments,
        verify=verify,
        verify_holds=verified,
        manners=manners,
        findings=findings,
        samples=samples,
    )


def checked(crawl: Crawl) -> tuple[bool, str]:
    """Whether `gossamer verify` finds nothing wrong, and what it says."""
    try:
        result = crawl.ask_apart("verify", timeout_s=VERIFY_TIMEOUT_S)
    except AssertionError:  # what was measured is worth telling all the same
        return False, f"not at its end after {VERIFY_TIMEOUT_S:g} s"
    return result.code == 0, " ".join(result.words.split())[-WORDS_MAX:]


def told(seconds: float) -> Callable[[Sample], None]:
    """Prints a line for a sample."""

    def tell(sample: Sample) -> None:
        print(
            f"{sample.at_s:6.0f} of {seconds:.0f} s  {sample.pages:>9,} pages  {sample.pages_per_s:4.0f}/s  "
            f"RSS {sample.rss_main_bytes / 1e6:.0f} + {sample.rss_workers_bytes / 1e6:.0f} MB  "
            f"files {sample.files_main}  threads {sample.threads_main}  fetch {sample.fetch_p50_ms:.0f} ms  "
            f"late {sample.loop_late_ms:.1f} ms  {sample.bound}",
            flush=True,
        )

    return tell


def main() -> int:
    """Soak, write, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--hosts", type=int, default=2_000)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two looks")
    parser.add_argument("--into", type=Path, default=DOCS, help="where soak.json, soak.md and soak.svg go")
    parser.add_argument("--folder", type=Path, help="where the crawl is made and kept (default: removed at the end)")
    arguments = parser.parse_args()
    if nginx_path() is None:
        raise SystemExit("soak: nginx is not installed (Debian: apt-get install nginx-light)")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))  # so that servers and crawl are ended
    with tempfile.TemporaryDirectory(prefix="gossamer-soak-") as name:
        result = soak(arguments.folder or Path(name), arguments)
    written = write(result, arguments.into)
    print(page(result))
    print("written:", *written)
    return 0 if result.holds else 1


if __name__ == "__main__":
    sys.exit(main())
