"""The archive replayed by pywb, in an environment of its own: ten random pages come back byte for byte, what is taken
down does not come back until that is lifted, and pywb reads the access list as it is meant.
"""

from __future__ import annotations

import json
import random
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from gossamer.adapters.accesslist import access_list
from gossamer.model.control import Takedowns
from gossamer.model.takedown import Takedown, Target, TargetKind
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import TakedownRules, checked, compile_takedowns, covering
from gossamer.surface.takingdown import lines_of
from tests.e2e.conftest import MakeCrawl
from tests.support.crawl import Crawl
from tests.support.manual import Spread
from tests.support.nginx import Nginx, free_port

WAYBACK = Path(__file__).parents[2] / ".venv-replay" / "bin" / "wayback"
PAGES = 10
CRAWLED = 150

CONFIG = """\
collections:
  gossamer:
    index_paths: {index}
    archive_paths: {archive}
    acl_paths: {archive}/exclusions.aclj
"""
# What each takedown covers, what pywb cannot tell from that, and what it has to leave alone.
LISTED: list[tuple[TargetKind, str, list[str], list[str], list[str]]] = [
    ("host", "www.shop.example", ["http://www.shop.example/", "https://www.shop.example/A?b", "http://www.shop.example:81/"],
     ["http://shop.example/"], ["http://m.shop.example/", "http://shop.example.test/", "http://shopping.example/"]),
    ("host", "shop.example:8080", ["http://shop.example:8080/x"], [], ["http://shop.example/", "http://shop.example:808/"]),
    ("host", "192.0.2.7", ["http://192.0.2.7/", "http://192.0.2.7:81/a"], [], ["http://192.0.2.77/", "http://92.0.2.7/"]),
    ("host", "[2001:db8::1]", ["http://[2001:db8::1]/a", "http://[2001:db8::1]:81/"], [], ["http://[2001:db8::2]/"]),
    ("site", "shop.example", ["http://shop.example/", "http://a.b.shop.example:9/x", "https://www2.shop.example/"], [],
     ["http://bookshop.example/", "http://example/"]),
    ("site", "www.host.example", ["http://www.host.example/", "http://a.www.host.example/"], ["http://host.example/"],
     ["http://b.host.example/"]),
    ("prefix", "http://c.example/Private/",
     ["http://c.example/Private/", "https://c.example/Private/A/b.html?x", "http://c.example/Private/?q"],
     ["http://c.example/private/x", "http://c.example/Private"],
     ["http://c.example/Privateer", "http://c.example/", "http://c.example:81/Private/"]),
    ("prefix", "http://c.example/caf%C3%A9", ["http://c.example/caf%C3%A9/1", "http://c.example/caf%c3%a9s"], [],
     ["http://c.example/cafe"]),
    ("prefix", "http://c.example/list?b=1", ["http://c.example/list?b=1&c=2", "http://c.example/list?utm_source=x&b=1"],
     ["http://c.example/list?a=1"], ["http://c.example/list", "http://c.example/lists"]),
    ("prefix", "https://c.example/", ["http://c.example/", "https://c.example/x"], [], ["http://c.example:8000/"]),
    ("pattern", "*://d.example/a/*.pdf", ["http://d.example/a/x.pdf"], ["http://d.example/a/x.html"], ["http://d.example/b"]),
    ("pattern", "*://*.e.example/*.pdf", ["http://a.e.example/x.pdf"], ["http://e.example/"], ["http://f.example/x.pdf"]),
    ("pattern", "http*://f.example/x", ["https://f.example/x"], ["https://f.example/xy"], ["https://f.example/y"]),
]  # fmt: skip
UNLISTED = ("*/private/*", "*.pdf*", "http://*.example/*/x", "http://a*.example/")
ASK = """
import json, sys
from pywb.warcserver.access_checker import AccessChecker
for path, urls in json.load(sys.stdin):
    checker = AccessChecker(path)
    print(json.dumps([checker.find_access_rule(url).get("access") for url in urls]))
"""


@pytest.fixture
def crawled(manual_web: Spread, manual_server: Nginx, make_crawl: MakeCrawl) -> Crawl:
    """A part of the manual, archived."""
    crawl = make_crawl(manual_web.seed, flags=("--pages", str(CRAWLED)))
    result = crawl.run()
    assert result.code == 0, result.words[-3000:]
    return crawl


@pytest.fixture
def wayback(crawled: Crawl, tmp_path: Path) -> Iterator[str]:
    """Pywb on the crawl's own segments and indexes; the address of its collection."""
    if not WAYBACK.exists():
        pytest.skip("the replay environment is missing (make replay)")
    folder = tmp_path / "wayback"
    folder.mkdir()
    indexes = sorted(crawled.archive.rglob("*.cdxj"))
    assert len(indexes) == len(crawled.warcs())
    (folder / "config.yaml").write_text(CONFIG.format(index=f"{indexes[0].parent}/", archive=f"{crawled.archive}/"))
    port = free_port()
    with (folder / "output").open("wb") as output:
        command = [str(WAYBACK), "-b", "127.0.0.1", "-p", str(port)]
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output)
    try:
        wait_for(f"http://127.0.0.1:{port}/", process, folder / "output")
        yield f"http://127.0.0.1:{port}/gossamer"
    finally:
        process.terminate()
        process.wait(10)


def wait_for(url: str, process: subprocess.Popen[bytes], output: Path) -> None:
    """Until it answers."""
    deadline = time.monotonic() + 40
    while True:
        assert process.poll() is None, output.read_text()[-2000:]
        assert time.monotonic() < deadline, output.read_text()[-2000:]
        try:
            urllib.request.urlopen(url, timeout=5).close()
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return


def test_ten_pages_come_back_byte_for_byte(wayback: str, crawled: Crawl, manual_web: Spread) -> None:
    fetched = [event for event in crawled.events() if event.get("status") == 200 and event["kind"] == "page"]
    assert len(fetched) == CRAWLED
    for event in random.Random(7).sample(fetched, PAGES):
        request = urllib.request.Request(f"{wayback}/id_/{event['url']}", headers={"Accept-Encoding": "identity"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert answer.status == 200
            assert answer.read() == manual_web.path(event["url"]).read_bytes(), event["url"]
    taken_down_and_lifted(wayback, crawled, [event["url"] for event in fetched])


def taken_down_and_lifted(wayback: str, crawled: Crawl, urls: list[str]) -> None:
    """By host, and by a folder of another host: gone at once, back at once; the rest stays."""
    hosts = sorted({urlsplit(url).netloc for url in urls})
    folder = next(url for url in urls if urlsplit(url).netloc == hosts[1])
    orders = ((hosts[0],), ("--prefix", folder))
    made = [json.loads(crawled.ask("takedown", *order, "--reason", "x", "--json").out) for order in orders]
    gone = {url: urlsplit(url).netloc == hosts[0] or url.startswith(folder) for url in urls}
    shown = [url for url, is_gone in gone.items() if not is_gone][:20]
    hidden = [url for url, is_gone in gone.items() if is_gone]
    assert len(hidden) > 1
    assert [status_of(wayback, url) for url in hidden] == [404] * len(hidden)
    assert [status_of(wayback, url) for url in shown] == [200] * len(shown)
    for one in made:
        assert crawled.ask("takedown", "--lift", one["takedowns"][0]["id"]).code == 0
    assert [status_of(wayback, url) for url in hidden] == [200] * len(hidden)


def status_of(wayback: str, url: str) -> int:
    try:
        with urllib.request.urlopen(f"{wayback}/id_/{url}", timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_pywb_reads_the_access_list_as_it_is_meant(tmp_path: Path) -> None:
    if not WAYBACK.exists():
        pytest.skip("the replay environment is missing (make replay)")
    takedowns = [
        Takedown(id=f"td-{number}", target=checked(Target(kind, value)), reason="x")
        for number, (kind, value, *_) in enumerate(LISTED)
    ]
    questions = []
    for takedown, (_, _, covered, wide, free) in zip(takedowns, LISTED, strict=True):
        rules = compile_takedowns([takedown])
        assert [url for url in covered if not is_covered(rules, url)] == []
        assert [url for url in (*wide, *free) if is_covered(rules, url)] == []
        questions.append((write(tmp_path / f"{takedown.id}.aclj", [takedown]), [*covered, *wide, *free]))
    all_of_them = write(tmp_path / "all.aclj", takedowns)
    questions.append((all_of_them, [url for _, _, covered, *_ in LISTED for url in covered]))
    questions.append((write(tmp_path / "none.aclj", [replace(one, lifted=1.0) for one in takedowns]), questions[-1][1]))
    command = [str(WAYBACK.with_name("python")), "-c", ASK]
    done = subprocess.run(
        command, input=json.dumps(questions), capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr[-2000:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for answer, (kind, value, covered, wide, free) in zip(answers, LISTED, strict=False):
        expected = ["exclude"] * len(covered + wide) + ["allow"] * len(free)
        assert answer == expected, (kind, value)
    assert set(answers[-2]) == {"exclude"}
    assert set(answers[-1]) == {"allow"}


def is_covered(rules: TakedownRules, url: str) -> bool:
    parsed = parse(url)
    assert isinstance(parsed, Url)
    return bool(covering(rules, parsed))


def write(path: Path, takedowns: list[Takedown]) -> str:
    path.write_text(access_list(takedowns))
    return str(path)


@pytest.mark.parametrize("pattern", UNLISTED)
def test_a_pattern_that_names_no_host_is_said_to_be_no_affair_of_pywb(pattern: str) -> None:
    made = Takedown(id="td-1", target=checked(Target("pattern", pattern)), reason="x")
    assert access_list([made]) == ""
    assert any("replay an export, or purge" in line for line in lines_of(Takedowns(takedowns=(made,), running=True)))
