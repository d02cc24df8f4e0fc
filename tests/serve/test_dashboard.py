"""The dashboard in a real Chromium: live without reload, at both widths, by keyboard, for a screen reader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.model.control import Pause
from gossamer.model.view import Bound, BoundName, Snapshot
from gossamer.surface.statusfile import StatusFile
from tests.reader.making import Made
from tests.serve.fakes import FakeControl
from tests.serve.server import Running
from tests.support.chromium import Browser
from tests.support.serving import log_in as enter
from tests.surface.samples import snapshot

PAGES = ("/", "/hosts", "/host?host=a.example", "/url?url=https%3A%2F%2Fa.example%2Fp%2F1", "/takedowns", "/doctor")
WIDTHS = (1280, 400)
NAMED = frozenset({"button", "link", "textbox", "searchbox", "combobox", "checkbox", "image", "region"})


class Live:
    """A crawl that says of itself that it runs."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.shot = msgspec.structs.replace(
            snapshot(), bound=Bound(BoundName.HOSTS, "only 412 hosts have work"), disk_free_bytes=20 * 2**30
        )
        self.tell()

    def tell(self, **more: object) -> Snapshot:
        self.shot = msgspec.structs.replace(self.shot, **more)  # type: ignore[arg-type]
        StatusFile(self._log).show(self.shot)
        return self.shot


@pytest.fixture
def live(crawl: Made, tmp_path: Path) -> Live:
    copy = crawl.copy(tmp_path / "crawl")
    return Live(copy.directory / "log")


@pytest.fixture
def running(serving: Callable[..., Running], live: Live, tmp_path: Path) -> Running:
    return serving(tmp_path / "crawl")


@pytest.fixture
def browser(chromium: str, tmp_path: Path) -> Iterator[Browser]:
    with Browser(chromium, tmp_path / "profile") as started:
        started.size(1280)
        yield started


def log_in(browser: Browser, server: Running, role: str) -> None:
    enter(browser, server.base, server.tokens[role])


def test_every_page_fits_both_widths_and_asks_nobody_else(
    browser: Browser, running: Running, live: Live, tmp_path: Path
) -> None:
    log_in(browser, running, "admin")
    for width in WIDTHS:
        for dark in (False, True):
            browser.size(width, dark=dark)
            for number, path in enumerate(PAGES):
                live.tell()
                browser.open(running.base + path)
                assert browser.run("document.documentElement.scrollWidth") == width, (path, width)
                assert browser.run("getComputedStyle(document.body).fontSize") == "15px"  # the style is there
                if not dark:
                    picture = browser.picture(tmp_path / f"{number}-{width}.png")
                    assert picture.stat().st_size > 10_000
    assert browser.said == []
    assert browser.requested
    assert [url for url in browser.requested if not url.startswith((running.base, "about:", "data:"))] == []


def test_it_is_live_without_reload(browser: Browser, running: Running, live: Live) -> None:
    log_in(browser, running, "read")
    browser.until("document.getElementById('live-state').textContent === 'live'")
    browser.run("window.unchanged = true")
    live.tell(pages=98_765, state="paused", state_detail="by order: somebody called")
    browser.until("document.querySelector('[data-live=tiles]').textContent.includes('98,765')")
    browser.until("document.querySelector('[data-live=state]').textContent.includes('somebody called')")
    assert browser.run("window.unchanged")
    browser.run("document.querySelector('[data-live=recent] a').focus()")
    was = browser.run("document.activeElement.href")
    live.tell(pages=98_999, recent=live.shot.recent[::-1])
    browser.until("document.querySelector('[data-live=tiles]').textContent.includes('98,999')")
    assert browser.run("document.activeElement.href") == was  # who reads a part keeps it
    first = browser.run("document.querySelector('[data-live=recent] a').href")
    browser.run("document.activeElement.blur()")
    browser.until(f"document.querySelector('[data-live=recent] a').href !== {first!r}")
    it_can_be_read_in_peace(browser, live)
    running.end()
    browser.until("document.getElementById('live-state').textContent.startsWith('not live')")


def it_can_be_read_in_peace(browser: Browser, live: Live) -> None:
    """What is selected or held stays as it is."""
    tiles = "document.querySelector('[data-live=tiles]')"
    browser.run(f"document.getSelection().selectAllChildren({tiles}.querySelector('b'))")
    live.tell(pages=99_100)
    browser.until("document.getElementById('live-state').textContent.includes('aside')")
    assert "99,100" not in browser.run(f"{tiles}.textContent")
    browser.run("document.getSelection().removeAllRanges()")
    browser.until(f"{tiles}.textContent.includes('99,100')")
    hold = "document.getElementById('live-hold')"
    browser.run(f"{hold}.click()")
    assert browser.run(f"{hold}.getAttribute('aria-pressed')") == "true"
    browser.until("document.getElementById('live-state').textContent.startsWith('as of ')")
    live.tell(pages=99_200)
    browser.run(f"{hold}.click()")
    browser.until(f"{tiles}.textContent.includes('99,200')")


def test_by_keyboard(browser: Browser, running: Running, live: Live, control: FakeControl) -> None:
    log_in(browser, running, "operate")
    browser.open(f"{running.base}/")
    browser.press("Tab")
    assert browser.run("document.activeElement.textContent") == "Skip to content"
    assert browser.run("document.activeElement.getBoundingClientRect().left") >= 0  # it is seen when it has the focus
    browser.press("Enter")
    assert browser.run("location.hash") == "#main"
    for _ in range(20):
        browser.press("Tab")
        if browser.run("document.activeElement.name") == "reason":
            break
    browser.type("somebody called")
    browser.press("Enter")
    browser.until("document.querySelector('.said') && document.querySelector('.said').textContent === 'as you say'")
    assert Pause(reason="somebody called", by="operate") in control.asked
    outlined = browser.run(
        "(() => { const link = document.querySelector('nav a'); link.focus(); "
        "return getComputedStyle(link).outlineStyle })()"
    )
    assert outlined in {"solid", "none"}  # by script the browser decides; by Tab it must be drawn:
    browser.press("Tab")
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_for_a_screen_reader(browser: Browser, running: Running, live: Live) -> None:
    log_in(browser, running, "admin")
    for path in PAGES:
        live.tell()
        browser.open(running.base + path)
        heard = browser.heard()
        roles = [role for role, _ in heard]
        assert roles.count("main") == 1
        assert ("navigation", "Pages") in heard
        assert sum(role == "heading" for role in roles) >= 1
        assert browser.run("document.querySelectorAll('h1').length") == 1
        unnamed = [one for one in heard if one[0] in NAMED and not one[1]]
        assert unnamed == [], path
    browser.open(f"{running.base}/")
    heard = browser.heard()
    assert any(role == "image" and "0: 120, 1: 5000" in name for role, name in heard)  # a chart is told, too
    what_is_read_out_is_news(browser, live)


def what_is_read_out_is_news(browser: Browser, live: Live) -> None:
    """Not what changes every second."""
    spoken = "document.querySelector('[data-live=spoken]')"
    assert browser.run(f"{spoken}.getAttribute('role')") == "status"
    assert browser.run("document.querySelectorAll('[aria-live]').length") == 0
    before = browser.run(f"{spoken}.textContent")
    live.tell(elapsed_s=live.shot.elapsed_s + 60, pages=98_000)
    browser.until("document.querySelector('[data-live=tiles]').textContent.includes('98,000')")
    assert browser.run(f"{spoken}.textContent") == before
    live.tell(state="paused", state_detail="by order")
    browser.until(f"{spoken}.textContent.startsWith('paused: by order')")


def test_contrast_of_text_is_enough(browser: Browser, running: Running, live: Live) -> None:
    """WCAG 2.1: 4.5 to 1 for text, in light and in dark."""
    log_in(browser, running, "admin")
    for dark in (False, True):
        browser.size(1280, dark=dark)
        for path in PAGES:
            browser.open(running.base + path)
            assert browser.run(CONTRAST) == [], (path, dark)


CONTRAST = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => {
    const part = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = parse(getComputedStyle(node).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const bad = new Set();
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || node.closest('svg') || node.classList.contains('skip')) continue;
    const pair = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) bad.add(`${node.tagName}.${node.className} ${ratio.toFixed(2)}`);
  }
  return [...bad];
})()"""
