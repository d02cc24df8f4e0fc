"""What TLS adds: `python -m bench.tls [--fetches N] [--pages N]`. TLS 1.3, one certificate for all hosts.

A page of the reference web is fetched in five ways: over a connection that is kept, and over a new one each time,
without TLS, with a handshake in full, with a session taken up again. CPU of this process alone; the longest that one
step of a handshake held the event loop up is measured around the step itself, in CPU and by the clock. Then the whole
program crawls the reference web, everything on, once without TLS and once with it.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import trustme
import uvloop

from bench.page import crawled
from bench.quick_web import QuickMaker, quick_web
from bench.reference_web import host_address, host_name
from bench.rows import Bench, parser
from gossamer.adapters.clock import SystemClock
from gossamer.adapters.http.client import HttpClient
from gossamer.adapters.http.tls import Tls, TlsStore
from gossamer.model.page import Outcome, Request
from gossamer.policy.guard import parse_networks
from tests.support.nginx import Nginx, free_port, nginx_path

HOSTS: Final = 20  # fetched from at the same time
AUTHORITIES: Final = Path("/etc/ssl/certs/ca-certificates.crt")  # as many as a crawl trusts; ours is one more
BLOCK_MOST_MS: Final = 5.0
PAGES: Final = 50

KEEPING: Final = (("Accept-Encoding", "gzip"),)
CLOSING: Final = (*KEEPING, ("Connection", "close"))  # then a session is kept for the next connection

Took = list[tuple[float, float]]  # wall clock and CPU of one call, in seconds
Scheme = Literal["http", "https"]


def noted(call: Callable[..., Any], took: Took) -> Callable[..., Any]:
    """The same call, its time noted."""

    def run(*arguments: Any) -> Any:
        began_s, began_cpu_s = time.perf_counter(), time.thread_time()
        try:
            return call(*arguments)
        finally:
            took.append((time.perf_counter() - began_s, time.thread_time() - began_cpu_s))

    return run


def certified(folder: Path, hosts: int) -> tuple[Path, Path]:
    """A certificate for so many hosts, and its key; this process and those that it starts trust it."""
    authority = trustme.CA()
    leaf = authority.issue_cert(*(host_name(n) for n in range(hosts)))
    chain, key, trusted = folder / "chain.pem", folder / "key.pem", folder / "trusted.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
    key.write_bytes(leaf.private_key_pem.bytes())
    trusted.write_bytes((AUTHORITIES.read_bytes() if AUTHORITIES.exists() else b"") + authority.cert_pem.bytes())
    os.environ["SSL_CERT_FILE"] = str(trusted)
    return chain, key


def served(folder: Path) -> tuple[Nginx, tuple[int, int, int], list[str]]:
    """An nginx, not started: its ports without TLS, with sessions and without, and what it serves there."""
    certificate = certified(folder, HOSTS)
    ports = free_port(), free_port(), free_port()
    maker = QuickMaker(1, PAGES, ports[0], variants=False)
    site = folder / "site"
    targets = maker.paths()[1:]
    for target in targets:
        file = site / f"{target[1:]}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(maker.page(host_name(0), target)[1])
    nginx = Nginx(folder / "nginx")
    common = f"root {site}; gzip_static always; default_type text/html;"
    nginx.add("_", address="0.0.0.0", port=ports[0], extra=common)
    for port, sessions, cache in ((ports[1], "on", "shared:s:8m"), (ports[2], "off", "off")):
        extra = f"{common} ssl_protocols TLSv1.3; ssl_session_tickets {sessions}; ssl_session_cache {cache};"
        nginx.add("_", address="0.0.0.0", port=port, extra=extra, certificate=certificate)
    return nginx, ports, targets


class Fetcher:
    """Fetches pages in one way or another."""

    def __init__(self, targets: list[str]) -> None:
        self._targets = targets
        self._client = HttpClient(parse_networks(("127.0.0.0/8",)), clock=SystemClock())
        self._client.prepare()  # as a crawl does before it begins

    async def cpu_us(self, scheme: Scheme, port: int, count: int, *, closed: bool) -> tuple[float, Outcome]:
        """Microseconds of CPU a fetch, and the last outcome. Raises SystemExit when one fails."""
        await self._some(scheme, port, HOSTS * 2, closed=False)  # connections, trust and sessions are there
        began = time.process_time()
        last = await self._some(scheme, port, count, closed=closed)
        return (time.process_time() - began) / count * 1e6, last

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _some(self, scheme: Scheme, port: int, count: int, *, closed: bool) -> Outcome:
        outcomes = await asyncio.gather(
            *(self._host(scheme, port, n, count // HOSTS, closed=closed) for n in range(HOSTS))
        )
        return outcomes[0]

    async def _host(self, scheme: Scheme, port: int, number: int, count: int, *, closed: bool) -> Outcome:
        name, outcome = host_name(number), Outcome()
        for n in range(count):
            target = self._targets[n % len(self._targets)]
            request = Request(
                url=f"{scheme}://{name}:{port}{target}",
                scheme=scheme,
                name=name,
                port=port,
                target=target,
                address=host_address(number),
                headers=CLOSING if closed else KEEPING,
            )
            outcome = await self._client.fetch(request)
            if outcome.status != 200:
                raise SystemExit(f"bench: {request.url}: {outcome.failure} {outcome.failure_detail} {outcome.status}")
        return outcome


async def measure(bench: Bench, ports: tuple[int, int, int], targets: list[str], count: int) -> None:
    """The rows."""
    steps: Took = []
    opens: Took = []
    Tls.handshake = noted(Tls.handshake, steps)  # type: ignore[method-assign] # looked at from outside
    TlsStore.open = noted(TlsStore.open, opens)  # type: ignore[method-assign]
    fetcher = Fetcher(targets)
    kept, _ = await fetcher.cpu_us("http", ports[0], count, closed=False)
    new, _ = await fetcher.cpu_us("http", ports[0], count, closed=True)
    tls_kept, outcome = await fetcher.cpu_us("https", ports[1], count, closed=False)
    resumed, _ = await fetcher.cpu_us("https", ports[1], count, closed=True)
    full, _ = await fetcher.cpu_us("https", ports[2], count, closed=True)
    await fetcher.close()
    bench.row(
        "a page over a kept connection, without TLS",
        kept,
        "µs",
        note=f"exchange alone, {len(outcome.payload):,} bytes as sent",
    )
    bench.row("a page over a kept connection, TLS", tls_kept, "µs", note=f"{outcome.tls_version}, {outcome.tls_cipher}")
    bench.row("a new connection, without TLS", new - kept, "µs")
    bench.row("a new connection, TLS in full", full - tls_kept, "µs", note="certificate verified")
    bench.row("a new connection, session taken up again", resumed - tls_kept, "µs")
    wall_s, cpu_s = (max(each) for each in zip(*steps, strict=True))
    bench.row(
        "longest step of a handshake",
        cpu_s * 1e3,
        "ms",
        most=BLOCK_MOST_MS,
        note=f"CPU; by the clock {wall_s * 1e3:.1f} ms; of {len(steps):,}",
    )
    wall_s, cpu_s = (max(each) for each in zip(*opens, strict=True))
    bench.row(
        "longest beginning of one",
        cpu_s * 1e3,
        "ms",
        most=BLOCK_MOST_MS,
        note=f"CPU; by the clock {wall_s * 1e3:.1f} ms; with it come the trusted certificates",
    )


def crawls(bench: Bench, folder: Path, hosts: int, pages: int) -> None:
    """Rows of two crawls of the same pages."""
    certificate = certified(folder, hosts)
    found = {}
    for scheme in ("http", "https"):
        with quick_web(hosts, pages // hosts, certificate=certificate if scheme == "https" else None) as web:
            seeds = [f"{scheme}{seed.removeprefix('http')}" for seed in web.seeds(web.port)]
            watched, ran, _ = crawled(web, "crawl", seeds, 1)
        found[scheme] = watched.cpu_s / ran.requests * 1e3
        if ran.pages != hosts * (pages // hosts + 1):
            raise SystemExit(
                f"bench: {ran.pages:,} pages came over {scheme}, and {hosts * (pages // hosts + 1):,} are there"
            )
        main_ms = watched.processes[watched.main].cpu_s / ran.requests * 1e3
        bench.row(
            f"CPU of a page over {scheme}, everything on",
            found[scheme],
            "ms",
            note=f"{ran.pages:,} pages of {hosts} hosts, start and stop included; main process {main_ms:.2f} ms; "
            f"{ran.requests / ran.elapsed_s:.0f} pages/s",
        )
    bench.row("what TLS adds to a page", found["https"] - found["http"], "ms", note="its share of connections included")


def main() -> int:
    """Serve, fetch, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--fetches", type=int, default=4_000, help="in each of the five ways")
    arguments.add_argument("--pages", type=int, default=6_000, help="crawled without TLS, and with it")
    arguments.add_argument("--hosts", type=int, default=100)
    options = arguments.parse_args()
    if nginx_path() is None:
        raise SystemExit("bench: nginx is not installed (Debian: apt-get install nginx-light)")
    bench = Bench(3, "tls", "TLS")
    with tempfile.TemporaryDirectory(prefix="gossamer-tls-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        nginx, ports, targets = served(folder)
        nginx.start()
        try:
            uvloop.run(measure(bench, ports, targets, options.fetches))
        finally:
            nginx.stop()
        (folder / "crawls").mkdir()
        crawls(bench, folder / "crawls", options.hosts, options.pages)
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
