"""The archive replayed by pywb, in an environment of its own: ten random pages come back byte for byte."""

from __future__ import annotations

import random
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

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
