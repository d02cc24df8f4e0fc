"""The command line as a person uses it: budgets, bad input, dead seeds, Ctrl-C once and twice, one owner."""

from __future__ import annotations

import json
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import MakeCrawl, chain, write_site
from tests.support.crawl import Crawl, program, run
from tests.support.nginx import Nginx, free_port
from tests.support.politeness import read_log

NAME = "small.example"


@pytest.fixture
def seed(nginx: Nginx, tmp_path: Path) -> str:
    """A host of eleven pages."""
    port = free_port()
    nginx.add(NAME, address="127.73.0.1", port=port, root=write_site(tmp_path / "site", chain(10)))
    nginx.start()
    return f"http://{NAME}:{port}/index.html"


def pages_of(nginx: Nginx) -> list[str]:
    return [hit.target for hit in read_log(nginx.log) if hit.status == 200 and not hit.is_robots]


def begun(crawl: Crawl, nginx: Nginx, pages: int) -> None:
    """Start and wait until the server delivered so many pages."""
    process = crawl.start()
    deadline = time.monotonic() + 30
    while len(pages_of(nginx)) < pages:
        assert process.poll() is None, crawl.output[-2000:]
        assert time.monotonic() < deadline, "the crawl stands still"
        time.sleep(0.02)


def test_page_budget_is_exact_and_resuming_does_not_exceed_it(nginx: Nginx, seed: str, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(seed, flags=("--pages", "4"))
    assert crawl.run().code == 0
    assert len(pages_of(nginx)) == 4
    assert crawl.run().code == 0
    assert len(pages_of(nginx)) == 4
    wider = Crawl(crawl.folder, crawl.seeds, crawl.options, ("--pages", "7"))
    assert wider.run().code == 0
    assert len(pages_of(nginx)) == 7


def test_what_a_crawl_leaves_behind(nginx: Nginx, seed: str, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(seed)
    assert crawl.run().code == 0
    present = {path.name for path in crawl.directory.iterdir()}
    assert {"gossamer.toml", "state", "archive", "log"} <= present
    assert len([event for event in crawl.events() if event.get("status") == 200 and event["kind"] == "page"]) == 11
    status = crawl.ask_apart("status", "--json")  # the installed program; elsewhere the test's own process asks
    assert status.code == 0
    assert json.loads(status.out)
    assert crawl.ask_apart("report").code == 0
    written = crawl.directory / "reports" / "mine.html"  # a directory that is made when something is written there
    assert crawl.ask("report", "--format", "html", "--output", str(written)).code == 0
    assert "<html" in written.read_text()
    page = seed.replace("index", "page3")
    explained = crawl.ask_apart("explain", page)
    assert explained.code == 0
    assert "200" in explained.out
    stored = crawl.ask_apart("get", page)
    assert stored.code == 0
    assert "matter111" in stored.out
    assert crawl.ask_apart("verify").code == 0
    lines = crawl.ask_apart("log").out.count("\n")
    assert lines == 12
    for host, told in (("", lines), (NAME, lines), (seed.split("/")[2], lines), (f"{NAME}:1", 0), ("small", 0)):
        assert crawl.ask("log", "--host", host).out.count("\n") == told
    never = crawl.ask("explain", "https://elsewhere.example/")
    assert never.code == 0
    assert "scope" in never.out.lower()


def test_seed_that_refuses_connections(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    port = free_port()  # nobody listens there
    nginx.folder.mkdir(parents=True)
    nginx.hosts_file.write_text("127.73.0.2 dead.example\n")
    crawl = make_crawl(f"http://dead.example:{port}/", options={"fetch": {"retries": 0}}, flags=("--duration", "6s"))
    result = crawl.run(timeout_s=90)
    assert result.code == 6, result.words
    assert "dead.example" in result.words


def test_seeds_that_bring_no_page_are_named_beside_those_that_do(
    nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl
) -> None:
    port = free_port()
    robots = "User-agent: *\nDisallow: /private"
    nginx.add(NAME, address="127.73.0.1", port=port, root=write_site(tmp_path / "site", chain(2), robots))
    nginx.start()
    good, missing, private = (f"http://{NAME}:{port}/{name}" for name in ("index.html", "missing", "private"))
    crawl = make_crawl(good, missing, private)
    result = crawl.run()
    assert result.code == 0, result.words
    told = [line for line in result.err.splitlines() if line.startswith("gossamer: seed ")]
    assert sorted(told) == [
        f"gossamer: seed {missing}: it answered with status 404",
        f"gossamer: seed {private}: robots-disallowed: robots.txt line 2: Disallow: /private",
    ]
    status = crawl.ask("status")
    assert f"seed {missing}: it answered with status 404" in status.out
    assert "in 0 s" not in status.out  # the time of a short crawl is counted to its end
    assert float(json.loads(crawl.ask("status", "--json").out)["elapsed_s"]) > 0.2


def test_a_seed_added_later_that_brings_nothing_is_named_and_leaves_the_code_at_0(
    nginx: Nginx, seed: str, make_crawl: MakeCrawl
) -> None:
    """Seeds add up: code 6 is for a crawl that has fetched nothing, in this run or an earlier one."""
    with nginx.hosts_file.open("a") as file:
        file.write("10.9.9.9 inside.example\n")
    inside = "http://inside.example/"
    crawl = make_crawl(seed)
    assert crawl.run().code == 0
    later = Crawl(crawl.folder, (inside,), crawl.options).run()
    assert later.code == 0, later.words
    assert f"gossamer: seed {inside}: address-forbidden: 10.9.9.9" in later.err
    assert "nothing was fetched" not in later.err
    alone = make_crawl(inside)
    for result in (alone.run(), alone.run()):
        assert result.code == 6, result.words
        assert f"gossamer: seed {inside}: address-forbidden: 10.9.9.9" in result.err
        assert "nothing was fetched" in result.err


def test_seed_that_does_not_resolve(nginx: Nginx, make_crawl: MakeCrawl) -> None:
    nginx.folder.mkdir(parents=True)
    nginx.hosts_file.write_text("127.73.0.2 other.example\n")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:  # a nameserver that never answers
        silent.bind(("127.0.0.1", 0))
        options = {
            "dns": {
                "hosts_file": str(nginx.hosts_file),
                "nameservers": [f"127.0.0.1:{silent.getsockname()[1]}"],
                "timeout": "500ms",
            }
        }
        crawl = make_crawl("http://nowhere.example/", options=options, flags=("--duration", "4s"))
        result = crawl.run(timeout_s=60)
    assert result.code == 6, result.words
    assert "nowhere.example" in result.words


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (["ftp://example.com/"], 2, "ftp://example.com/"),
        (["http://"], 2, "http://"),
        (["https://exa mple.com/"], 2, "exa mple.com"),
        ([], 2, "seed"),
        (["https://example.com/", "--scope", "galaxy"], 2, "galaxy"),
        (["https://example.com/", "--pages", "many"], 2, "many"),
        (["https://example.com/", "--duration", "soon"], 2, "soon"),
        (["https://example.com/", "--frobnicate"], 2, "--frobnicate"),
        (["https://example.com/", "--seeds", "absent.txt"], 2, "absent.txt"),
        (["https://example.com/", "--config", "absent.toml"], 4, "absent.toml"),
        (["https://example.com/", "--scope", "any"], 4, "contact"),
    ],
)
def test_bad_input_is_named_and_nothing_is_started(tmp_path: Path, arguments: list[str], code: int, named: str) -> None:
    target = tmp_path / "crawl"
    result = run([*program(), "crawl", *arguments, "--dir", str(target)])
    assert (result.code, named in result.err) == (code, True), result.words
    assert "Traceback" not in result.words
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[politeness]\nmin_dealy = 3\n", ["min_dealy", "min_delay"]),
        ("[politeness]\nmin_delay = 'soon'\n", ["min_delay", "soon"]),
        ("[policy]\nx = 1\n", ["policy"]),
        ("[scope]\nmode = 'all'\n", ["mode", "all", "site"]),
        ("[net]\nallow = ['300.0.0.0/8']\n", ["300.0.0.0/8"]),
        ("not toml", ["settings.toml"]),
        ("[limits]\npages = -1\n", ["pages", "-1"]),
    ],
)
def test_bad_configuration_is_named_and_nothing_is_started(tmp_path: Path, text: str, named: list[str]) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(text)
    target = tmp_path / "crawl"
    result = run([*program(), "crawl", "https://example.com/", "--config", str(settings), "--dir", str(target)])
    assert result.code == 4, result.words
    assert [word for word in named if word not in result.err] == []
    assert "Traceback" not in result.words
    assert not target.exists()


def test_interrupt_saves_and_the_same_command_goes_on(nginx: Nginx, seed: str, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(seed, options={"politeness": {"min_delay": "300ms"}})
    begun(crawl, nginx, 3)
    process = crawl.started[0]
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130, crawl.output
    assert not list(crawl.archive.rglob("*.open"))
    assert crawl.ask("verify").code == 0
    assert crawl.run().code == 0
    assert sorted(pages_of(nginx)) == sorted(["/index.html", *(f"/page{n}.html" for n in range(10))])


def test_second_interrupt_stops_at_once_and_loses_nothing(nginx: Nginx, tmp_path: Path, make_crawl: MakeCrawl) -> None:
    port = free_port()
    nginx.add(NAME, address="127.73.0.3", port=port, root=write_site(tmp_path / "slow", chain(3)),
              extra="location /page { limit_rate 20; }")  # fmt: skip
    nginx.start()
    crawl = make_crawl(f"http://{NAME}:{port}/index.html")
    begun(crawl, nginx, 1)
    time.sleep(1.0)  # a page that takes half a minute is on its way
    process = crawl.started[0]
    process.send_signal(signal.SIGINT)
    time.sleep(0.5)
    assert process.poll() is None, "the first interrupt waits for what is in flight"
    process.send_signal(signal.SIGINT)
    assert process.wait(5) == 130, crawl.output
    assert crawl.ask("verify").code == 0
    explained = crawl.ask("explain", f"http://{NAME}:{port}/page0.html")
    assert "queue" in explained.out.lower()


def test_a_crawl_has_one_owner(nginx: Nginx, seed: str, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(seed, options={"politeness": {"min_delay": "500ms"}})
    begun(crawl, nginx, 2)
    second = crawl.run()
    assert second.code == 5, second.words
    assert "in use" in second.err
    assert crawl.ask("status").code == 0
    assert crawl.started[0].wait(60) == 0, crawl.output


def test_damaged_store_is_refused_and_left_alone(nginx: Nginx, seed: str, make_crawl: MakeCrawl) -> None:
    crawl = make_crawl(seed, flags=("--pages", "3"))
    assert crawl.run().code == 0
    current = next((crawl.directory / "state").rglob("CURRENT"))
    current.write_text("MANIFEST-999999\n")
    crawl.is_spoilt = True
    before = {path: path.read_bytes() for path in crawl.directory.rglob("*.warc.gz")}
    result = crawl.run()
    assert result.code == 5, result.words
    assert "Traceback" not in result.words
    assert current.read_text() == "MANIFEST-999999\n"
    assert {path: path.read_bytes() for path in crawl.directory.rglob("*.warc.gz")} == before
