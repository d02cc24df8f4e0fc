"""What a page costs: against its libraries, and against other crawlers. `python -m bench.page [--pages N] [--hosts
N]`.

First the reference web, compressed and plain: CPU of the whole process tree for a page with everything on, a crawl of
few pages taken off, against the sum of the bare library calls for the same bytes (`bare`) in the same run. Then a web
whose links lead to each page under two spellings: we and others crawl the same hosts of it until nothing is left
(`peer`).
"""

from __future__ import annotations

import statistics
import sys
from typing import Any, Final

from bench import bare, peer
from bench.harness import UNBOUNDED, Watched, watch
from bench.quick_web import QuickMaker, Served, quick_web
from bench.reference_web import host_address, host_name
from bench.rows import Bench, parser
from gossamer.surface.statusfile import read_status
from tests.support.crawl import Crawl

FEW: Final = 100
FEW_HOSTS: Final = 5
SAMPLES: Final = 60
RATIO_MOST: Final = 1.3
PAGE_MS_MOST: Final = 1.5
SCRAPY_LEAST: Final = 10.0
PEER_TIMEOUT_S: Final = 900.0
FAILURE_MAX_CHARS: Final = 200


def options_of(served: Served, workers: int) -> dict[str, dict[str, Any]]:
    """The configuration of a crawl without delays."""
    hosts_file = str(served.folder / "nginx" / "hosts")
    return {**UNBOUNDED, "dns": {"hosts_file": hosts_file}, "workers": {"count": workers}}


def crawl_of(served: Served, name: str, seeds: list[str], workers: int, *flags: str) -> Crawl:
    """A crawl of these hosts without delays."""
    folder = served.folder / name
    folder.mkdir()
    (folder / "seeds").write_text("\n".join(seeds) + "\n")
    return Crawl(folder, (), options_of(served, workers), ("--seeds", str(folder / "seeds"), "--scope", "host", *flags))


def crawled(served: Served, name: str, seeds: list[str], workers: int, *flags: str) -> tuple[Watched, peer.Ran, float]:
    """Run a crawl; how it went, what the server saw, and URLs known for each page. Raises SystemExit when it fails."""
    begin = peer.lines(served.log)
    crawl = crawl_of(served, name, seeds, workers, *flags)
    watched = watch(crawl)
    if watched.code != 0:
        raise SystemExit(f"bench: the crawl ended with {watched.code}:\n{watched.words[-3000:]}")
    status = read_status(crawl.directory / "log")
    urls = 0.0 if status is None else status[0].urls_known / max(1, status[0].pages)
    requests, pages, robots = peer.counted(served.log, begin)
    return watched, peer.Ran(watched.cpu_s, watched.elapsed_s, requests, pages, robots), urls


def samples(served: Served, port: int, *, variants: bool) -> list[bare.Sample]:
    """Pages from all over the web, as the server has them."""
    maker = QuickMaker(served.hosts, served.pages, served.port, variants=variants)
    paths = maker.paths()
    found = []
    for n in range(SAMPLES):
        number, path = n * 7 % served.hosts, paths[n * 11 % len(paths)]
        host = host_name(number)
        plain, packed = maker.page(host, path)
        found.append(bare.Sample(f"http://{host}:{port}{path}", host, host_address(number), port, path, plain, packed))
    return found


def against_libraries(bench: Bench, served: Served, pages: int, workers: int) -> None:
    """Rows of one form after the other."""
    for form, port in (("gzip", served.port), ("plain", served.plain_port)):
        seeds = served.seeds(port)
        few, few_ran, _ = crawled(served, f"few-{form}", seeds, workers, "--pages", str(FEW))
        many, ran, urls = crawled(served, f"many-{form}", seeds, workers, "--pages", str(pages))
        page_us = (many.cpu_s - few.cpu_s) / (ran.requests - few_ran.requests) * 1e6
        used = samples(served, port, variants=False)
        alone_us = sum(bare.parts(used, is_packed=form == "gzip", new_links=urls - 1).values())
        with bare.beside(used, is_packed=form == "gzip"):
            found = bare.parts(used, is_packed=form == "gzip", new_links=urls - 1)
            content_us = bare.main_content_us(used)
        total_us = sum(found.values())
        with_content_us = total_us - found["text"] + content_us
        main_us = many.processes[many.main].cpu_s / ran.requests * 1e6
        sizes = statistics.fmean(len(sample.plain) for sample in used)
        sent = statistics.fmean(len(sample.packed if form == "gzip" else sample.plain) for sample in used)
        bench.row(
            f"CPU of a page, {form}, everything on",
            page_us / 1e3,
            "ms",
            most=PAGE_MS_MOST,
            note=f"{ran.requests:,} pages of {sizes:,.0f} bytes ({sent:,.0f} sent), {urls:.1f} URLs for each; "
            f"main process {main_us:.0f} µs; {ran.requests / ran.elapsed_s:.0f} pages/s",
        )
        bench.row(
            f"against the bare libraries, {form}",
            page_us / total_us,
            "×",
            most=RATIO_MOST,
            note="µs: "
            + ", ".join(f"{name} {us:.0f}" for name, us in found.items())
            + f"; sum {total_us:.0f}, with the other cores idle {alone_us:.0f}; with a library's main content "
            f"({content_us:.0f}) in place of the whole text it would be {page_us / with_content_us:.2f} ×",
        )


def against_peers(bench: Bench, served: Served, hosts: int, workers: int) -> None:
    """We and others on the same hosts, until nothing is left."""
    _, few, _ = crawled(served, "ours-few", served.seeds(served.port, FEW_HOSTS), workers)
    _, all_of_it, _ = crawled(served, "ours", served.seeds(served.port, hosts), workers)
    ours = all_of_it.beyond(few)
    there = hosts * (served.pages + 1)
    bench.row(
        "with every page under two spellings: fetched more than once",
        all_of_it.requests - all_of_it.pages,
        "pages",
        most=0,
        note=f"of {all_of_it.pages:,} found, of {there:,} there, on {hosts} hosts; "
        f"{ours.useful_ms:.2f} ms of CPU each, start and stop apart",
    )
    for other in peer.peers():
        if not other.needs.exists():
            bench.row(f"{other.name}: not installed here", 0, note="make peers")
            continue
        try:
            little = peer.run(other, served, FEW_HOSTS, timeout_s=PEER_TIMEOUT_S)
            whole = peer.run(other, served, hosts, timeout_s=PEER_TIMEOUT_S)
        except SystemExit as failure:  # it costs its own rows, not ours
            bench.row(f"{other.name}: failed here", 0, note=str(failure)[:FAILURE_MAX_CHARS])
            continue
        ran = whole.beyond(little)
        note = (
            f"{ran.requests:,} requests for {ran.pages:,} pages ({ran.wasted:.0%} for nothing), "
            f"{ran.robots:,} for robots.txt, {ran.elapsed_s:.0f} s; it found {whole.pages:,} of {there:,} pages"
        )
        least = {"Scrapy": SCRAPY_LEAST, "spider-rs": 1.0}.get(other.name)
        bench.row(f"{other.name} {peer.version(other)}: CPU of a request", ran.request_ms, "ms", note=note)
        bench.row(f"{other.name}: a request against a page of ours", ran.request_ms / ours.useful_ms, "×", least=least)
        bench.row(f"{other.name}: a useful page against one of ours", ran.useful_ms / ours.useful_ms, "×")


def main() -> int:
    """Serve, crawl, tell."""
    arguments = parser(__doc__)
    arguments.add_argument("--hosts", type=int, default=500)
    arguments.add_argument("--pages-per-host", type=int, default=100)
    arguments.add_argument("--pages", type=int, default=40_000, help="fetched in each form")
    arguments.add_argument("--peer-hosts", type=int, default=30)
    arguments.add_argument("--peer-pages-per-host", type=int, default=150)
    arguments.add_argument("--workers", type=int, default=1)
    arguments.add_argument("--no-peers", action="store_true")
    options = arguments.parse_args()
    bench = Bench(1, "page", "A page")
    with quick_web(options.hosts, options.pages_per_host, plain=True) as served:
        against_libraries(bench, served, options.pages, options.workers)
    if not options.no_peers:
        with quick_web(options.peer_hosts, options.peer_pages_per_host, variants=True, plain=True) as served:
            against_peers(bench, served, options.peer_hosts, options.workers)
    return bench.finish(keep=options.keep)


if __name__ == "__main__":
    sys.exit(main())
