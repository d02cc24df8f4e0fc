"""Politeness as the server sees it: Crawl-delay, Retry-After, back-off, parking, one address, schemes, restarts."""

from __future__ import annotations

import signal
import subprocess
import time
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path

import pytest
import trustme

from gossamer.model.limits import BACKOFF_BASE_S
from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl, end_group
from tests.support.nginx import Nginx, can_bind, free_port
from tests.support.politeness import ROUNDING_S, Hit, by_address, by_host, read_log, short_gaps

NAME = "polite.example"


def busy(status: int, *headers: str, location: str = "= /busy.html") -> str:
    """A server that refuses one page."""
    lines = "".join(f"add_header {header} always; " for header in headers)
    return f"location {location} {{ {lines} return {status}; }}"


def serve(nginx: Nginx, tmp_path: Path, pages: dict[str, str], *, robots: str = "", extra: str = "") -> str:
    """One host; its start page."""
    port = free_port()
    nginx.add(NAME, address="127.72.0.1", port=port, root=write_site(tmp_path / "site", pages, robots), extra=extra)
    nginx.start()
    return f"http://{NAME}:{port}/index.html"


def hits_after(hits: list[Hit], target: str) -> tuple[Hit, Hit]:
    """The first request for a target and the request of the host that came next."""
    at = next(n for n, hit in enumerate(hits) if hit.target == target)
    assert len(hits) > at + 1, f"nothing was asked for after {target}"
    return hits[at], hits[at + 1]


def until_hits(crawl: Crawl, log: Path, count: int) -> None:
    """Crawl until the server saw so many requests, then kill."""
    process = crawl.start()
    wait_for_hits(crawl, process, log, count)
    end_group(process, signal.SIGKILL)
    process.wait()


def wait_for_hits(crawl: Crawl, process: subprocess.Popen[bytes], log: Path, count: int) -> None:
    """Until the server saw so many requests."""
    deadline = time.monotonic() + 40
    while len(read_log(log)) < count:
        assert process.poll() is None, crawl.output[-2000:]
        assert time.monotonic() < deadline, "the crawl stands still"
        time.sleep(0.02)


def test_crawl_delay_is_kept(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    seed = serve(nginx, tmp_path, chain(4), robots="User-agent: *\nCrawl-delay: 1.2\n")
    assert make_crawl(seed).run().code == 0
    hits = read_log(nginx.log)
    assert len({hit.target for hit in hits}) >= 6
    assert short_gaps(hits, 1.2, by_host) == []


def test_crawl_delay_below_our_own_changes_nothing(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    seed = serve(nginx, tmp_path, chain(4), robots="User-agent: *\nCrawl-delay: 0.01\n")
    assert make_crawl(seed, options={"politeness": {"min_delay": "700ms"}}).run().code == 0
    assert short_gaps(read_log(nginx.log), 0.7, by_host) == []


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_seconds(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl, status: int) -> None:
    pages = {"index.html": '<a href="busy.html">1</a> <a href="a.html">2</a>', "a.html": "calm"}
    seed = serve(nginx, tmp_path, pages, extra=busy(status, "Retry-After 3"))
    assert make_crawl(seed, options={"fetch": {"retries": 1}}).run().code in {0, 130}
    refused, following = hits_after(read_log(nginx.log), "/busy.html")
    assert refused.status == status
    assert following.start - refused.end >= 3 - ROUNDING_S


def test_retry_after_date(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    until = int(time.time()) + 6
    pages = {"index.html": '<a href="busy.html">1</a> <a href="a.html">2</a>', "a.html": "calm"}
    header = f'Retry-After "{formatdate(until, usegmt=True)}"'
    seed = serve(nginx, tmp_path, pages, extra=busy(503, header))
    assert make_crawl(seed, options={"fetch": {"retries": 1}}).run().code == 0
    refused, following = hits_after(read_log(nginx.log), "/busy.html")
    assert refused.start < until
    assert following.start >= until - ROUNDING_S


@pytest.mark.parametrize("value", ["-1", "soon", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_retry_after_that_says_nothing_leaves_back_off_on(
    nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl, value: str
) -> None:
    pages = {"index.html": '<a href="busy.html">1</a>'}
    seed = serve(nginx, tmp_path, pages, extra=busy(429, f'Retry-After "{value}"'))
    until_hits(make_crawl(seed, options={"politeness": {"start_jitter": 0}}), nginx.log, 4)
    asked = [hit for hit in read_log(nginx.log) if hit.target == "/busy.html"]
    gaps = [later.start - sooner.end for sooner, later in pairwise(asked)]
    assert len(gaps) == 1
    assert gaps[0] >= BACKOFF_BASE_S - ROUNDING_S, "our own minimum is 0.1 s here"


def test_absurd_retry_after_silences_the_host_over_a_restart(
    nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl
) -> None:
    pages = {"index.html": '<a href="busy.html">1</a> <a href="a.html">2</a>', "a.html": "calm"}
    seed = serve(nginx, tmp_path, pages, extra=busy(503, "Retry-After 99999999999"))
    crawl = make_crawl(seed)
    assert crawl.run().code == 0  # every host rests for long: the crawl ends and says so
    before = [hit.target for hit in read_log(nginx.log)]
    assert before[-1] == "/busy.html"
    assert before.count("/busy.html") == 1
    assert crawl.run().code == 0
    assert len(read_log(nginx.log)) == len(before)


def test_failing_host_is_asked_ever_less_and_parked(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    port = free_port()
    root = write_site(tmp_path / "site", {}, "User-agent: *\nAllow: /\n")
    nginx.add(NAME, address="127.72.0.1", port=port, root=root, extra=busy(500, location="~ [.]html$"))
    nginx.start()
    seeds = [f"http://{NAME}:{port}/page{n}.html" for n in range(6)]
    crawl = make_crawl(*seeds, options={"politeness": {"park_after": 2}})
    assert crawl.run().code == 0
    assert crawl.run().code == 0
    asked = [hit for hit in read_log(nginx.log) if not hit.is_robots]
    assert len(asked) == 2, [hit.target for hit in asked]
    assert asked[1].start - asked[0].end >= BACKOFF_BASE_S - ROUNDING_S
    assert "park" in crawl.ask("explain", seeds[-1]).out.lower()


def test_hosts_of_one_address_take_turns(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    port = free_port()
    seeds = []
    for name in ("one", "two", "three"):
        root = write_site(tmp_path / name, chain(5))
        nginx.add(f"{name}.shared.example", address="127.72.0.9", port=port, root=root)
        seeds.append(f"http://{name}.shared.example:{port}/index.html")
    nginx.start()
    assert make_crawl(*seeds, options={"politeness": {"min_delay": "200ms"}}).run().code == 0
    hits = read_log(nginx.log)
    assert len({hit.url for hit in hits if hit.status == 200}) == 18
    assert short_gaps(hits, 0.2, by_address) == []


def test_http_and_https_of_one_name_are_one_host(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    address = "127.72.0.80"
    if not (can_bind(address, 80) and can_bind(address, 443)):
        pytest.skip("ports 80 and 443 need a permission that this user does not have")
    certificate = trustme.CA().issue_cert(NAME)
    chain_file, key_file = tmp_path / "chain.pem", tmp_path / "key.pem"
    certificate.private_key_pem.write_to_path(key_file)
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(chain_file, append=True)
    nginx.add(NAME, address=address, port=80, root=write_site(tmp_path / "plain", chain(4)))
    nginx.add(
        NAME, address=address, port=443, root=write_site(tmp_path / "tls", chain(4)), certificate=(chain_file, key_file)
    )
    nginx.start()
    seeds = [f"http://{NAME}/index.html", f"https://{NAME}/index.html"]
    assert make_crawl(*seeds, options={"politeness": {"min_delay": "300ms"}}).run().code == 0
    hits = read_log(nginx.log)
    assert {hit.port for hit in hits if hit.status == 200} == {80, 443}
    assert short_gaps(hits, 0.3, by_host) == []


def test_a_kill_does_not_shorten_a_gap(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    seed = serve(nginx, tmp_path, chain(6), robots="User-agent: *\nCrawl-delay: 1.5\n")
    crawl = make_crawl(seed)
    for count in (2, 4, 5):
        until_hits(crawl, nginx.log, count)
    assert crawl.run().code == 0
    hits = read_log(nginx.log)
    assert {hit.target for hit in hits} >= {f"/page{n}.html" for n in range(6)}
    assert short_gaps(hits, 1.5, by_host) == []


def test_redirects_take_turns(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    hops = " ".join(f"location = /hop{n} {{ return 302 /hop{n + 1}; }}" for n in range(3))
    pages = {"index.html": '<a href="hop0">go</a>', "end.html": "here"}
    seed = serve(nginx, tmp_path, pages, extra=f"{hops} location = /hop3 {{ return 301 /end.html; }}")
    assert make_crawl(seed, options={"politeness": {"min_delay": "500ms"}}).run().code == 0
    hits = read_log(nginx.log)
    assert [hit.target for hit in hits if "hop" in hit.target or "end" in hit.target] == [
        *(f"/hop{n}" for n in range(4)),
        "/end.html",
    ]
    assert short_gaps(hits, 0.5, by_host) == []
