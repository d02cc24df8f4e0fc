"""What the benchmarks share: the reference web started, a crawl run on it, processes watched from /proc."""

from __future__ import annotations

import multiprocessing
import os
import platform
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.reference_web import Maker, PageServer, host_address, host_name, store_host
from tests.support.crawl import Crawl
from tests.support.nginx import Nginx, free_port, nginx_path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
WATCH_EVERY_S = 0.2
UNBOUNDED: dict[str, dict[str, Any]] = {
    "politeness": {"min_delay": 0, "response_factor": 0, "start_jitter": 0, "net_rate": 0, "as_rate": 0},
    "limits": {"depth": 100},
}
SERVER = """
    location / {{
        proxy_pass http://pages; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
    }}
"""
STORED = """
    root {site}/$host; gzip_static always; rewrite ^/$ /index.html last;
"""
HTTP = """
    upstream pages {{ server unix:{socket}; keepalive 64; }}
    gzip on; gzip_comp_level 5; gzip_proxied any; gzip_types text/html;
"""


@dataclass
class Process:
    """The last that was seen of one process."""

    name: str
    cpu_s: float = 0.0
    rss_bytes: int = 0
    peak_bytes: int = 0


@dataclass
class Watched:
    """How a crawl went, measured from outside."""

    code: int
    elapsed_s: float
    cpu_s: float  # user and system, whole tree, from the kernel's accounting of ended children
    processes: dict[int, Process]
    main: int
    words: str
    samples: list[tuple[float, int]] = field(default_factory=list)  # (seconds, RSS of the main process)


@contextmanager
def reference_web(hosts: int, pages_per_host: int, links: int, *, small: bool = False) -> Iterator[tuple[Path, int]]:
    """Serve the web; yields a folder of its own (with `hosts` and `seeds` files in it) and the port."""
    if nginx_path() is None:
        raise SystemExit("bench: nginx is not installed (Debian: apt-get install nginx-light)")
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        port = free_port()
        pages = PageServer(folder / "pages.sock", Maker(hosts, pages_per_host, links, small=small), port)
        threading.Thread(target=pages.serve_forever, daemon=True).start()
        server = Nginx(folder / "nginx", http=HTTP.format(socket=folder / "pages.sock"))
        server.names = {host_name(n): host_address(n) for n in range(hosts)}
        server.add("_", address="0.0.0.0", port=port, extra=SERVER.format())
        server.start()
        (folder / "seeds").write_text("".join(f"http://{host_name(n)}:{port}/\n" for n in range(hosts)))
        try:
            yield folder, port
        finally:
            server.stop()
            pages.shutdown()
            pages.server_close()


@contextmanager
def stored_web(hosts: int, pages_per_host: int, links: int) -> Iterator[tuple[Path, int]]:
    """The same web with every page made and compressed beforehand, so that serving costs next to nothing.

    On a machine of two cores, whatever makes pages while the crawl runs slows the crawl's own cores down.
    """
    if nginx_path() is None:
        raise SystemExit("bench: nginx is not installed (Debian: apt-get install nginx-light)")
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers run as another user
        port = free_port()
        with multiprocessing.get_context("spawn").Pool() as makers:
            jobs = [(str(folder / "site"), n, hosts, pages_per_host, links, port) for n in range(hosts)]
            makers.map(store_host, jobs, chunksize=1)
        server = Nginx(folder / "nginx", http="open_file_cache max=20000;")
        server.names = {host_name(n): host_address(n) for n in range(hosts)}
        server.add("_", address="0.0.0.0", port=port, extra=STORED.format(site=folder / "site"))
        server.start()
        (folder / "seeds").write_text("".join(f"http://{host_name(n)}:{port}/\n" for n in range(hosts)))
        try:
            yield folder, port
        finally:
            server.stop()


def bench_crawl(folder: Path, name: str, options: dict[str, dict[str, Any]], *flags: str) -> Crawl:
    """A crawl of the reference web without delays."""
    options = {"dns": {"hosts_file": str(folder / "nginx" / "hosts")}, **UNBOUNDED, **options}
    return Crawl(folder / name, (), options, ("--seeds", str(folder / "seeds"), "--scope", "host", *flags))


def watch(crawl: Crawl, *, until: Callable[[Crawl], bool] | None = None) -> Watched:
    """Run a crawl and look at its processes all the time. `until` true ends it with SIGINT."""
    started = time.monotonic()
    process = crawl.start()
    seen: dict[int, Process] = {}
    samples: list[tuple[float, int]] = []
    asked = False
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        for number in tree(process.pid):
            look(number, seen)
        if process.pid in seen:
            samples.append((time.monotonic() - started, seen[process.pid].rss_bytes))
        if until is not None and not asked and until(crawl):
            os.kill(process.pid, signal.SIGINT)
            asked = True
        time.sleep(WATCH_EVERY_S)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed_s = time.monotonic() - started
    cpu_s = usage.ru_utime + usage.ru_stime
    return Watched(process.returncode, elapsed_s, cpu_s, seen, process.pid, crawl.output, samples)


def tree(root: int) -> list[int]:
    """A process and its descendants that live now."""
    found, todo = [], [root]
    while todo:
        number = todo.pop()
        found.append(number)
        try:
            for task in Path(f"/proc/{number}/task").iterdir():
                todo += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return found


def look(number: int, seen: dict[int, Process]) -> None:
    """Update what is known of one process; nothing when it is gone."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text()
        status = Path(f"/proc/{number}/status").read_text()
    except OSError:
        return
    values = stat.rpartition(")")[2].split()
    entry = seen.setdefault(number, Process(stat.partition("(")[2].rpartition(")")[0]))
    entry.cpu_s = (int(values[11]) + int(values[12])) / TICKS_PER_S
    for line in status.splitlines():
        if line.startswith("VmRSS:"):
            entry.rss_bytes = int(line.split()[1]) * 1024
        elif line.startswith("VmHWM:"):
            entry.peak_bytes = int(line.split()[1]) * 1024


def calibration_ms(rounds: int = 3_000_000) -> float:
    """CPU milliseconds of a fixed piece of Python: more when the machine is busy, and all figures with it."""
    started = time.process_time()
    total = 0
    for n in range(rounds):
        total += n & 7
    assert total
    return (time.process_time() - started) * 1000


def table(rows: list[tuple[str, str]]) -> None:
    """Print two columns."""
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"  {name:<{width}}  {value}")


def machine() -> str:
    """The processor, for the reader of the numbers."""
    info = Path("/proc/cpuinfo").read_text()
    model = next((line.partition(":")[2].strip() for line in info.splitlines() if line.startswith("model name")), "?")
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}"
