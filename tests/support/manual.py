"""A packaged manual as a web of many hosts, and which of its pages can be reached, found out without Gossamer.

`spread` writes each page of the manual to exactly one host and makes every link absolute, so that a crawl must cross
hosts all the time. `reachable` walks the written tree with the standard library alone.
"""

from __future__ import annotations

import html
import re
import zlib
from collections import deque
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit

MANUALS = "/usr/share/doc/postgresql-doc-*/html"  # 1,169 pages in release 15
# Not requested by default: what is linked but is not a page. Kept apart from the program's own table on purpose.
NOT_PAGES = frozenset(
    ".png .jpg .jpeg .gif .svg .ico .webp .css .js .mjs .woff .woff2 .ttf .zip .gz .bz2 .xz .tar .tgz .mp3 .mp4".split()
)
LINK = re.compile(r"""(?<=[\s"'])(href|src)=("[^"]*"|'[^']*')""")


def find_manual() -> Path | None:
    """The HTML tree of an installed manual of 1,000 or more pages."""
    for folder in sorted(Path("/").glob(MANUALS.lstrip("/"))):
        if (folder / "index.html").exists():
            return folder.resolve()
    return None


@dataclass(frozen=True)
class Spread:
    """A manual on many hosts."""

    folder: Path  # folder / host is a document root
    hosts: tuple[str, ...]
    port: int
    pages: int  # files written

    @property
    def seed(self) -> str:
        """Where a crawl begins."""
        return self.url("index.html")

    def host_of(self, page: str) -> str:
        """The one host that serves a page."""
        return host_of(page, self.hosts)

    def url(self, page: str) -> str:
        """The one address of a page."""
        return f"http://{self.host_of(page)}:{self.port}/{quote(page, safe='/._-~+')}"

    def path(self, url: str) -> Path:
        """The file behind an address."""
        parts = urlsplit(url)
        return self.folder / str(parts.hostname) / unquote(parts.path).lstrip("/")


def host_of(page: str, hosts: tuple[str, ...]) -> str:
    """Spread evenly and always the same."""
    return hosts[zlib.crc32(page.encode()) % len(hosts)]


def is_page(name: str) -> bool:
    """Whether a link of this path is worth a request."""
    return PurePosixPath(name).suffix.lower() not in NOT_PAGES


def spread(manual: Path, folder: Path, hosts: tuple[str, ...], port: int) -> Spread:
    """Write the manual's pages below `folder`, one host each, links made absolute."""
    files = {str(path.relative_to(manual)) for path in manual.rglob("*") if path.is_file()}
    pages = sorted(name for name in files if is_page(name))
    result = Spread(folder, hosts, port, len(pages))
    for host in hosts:
        (folder / host).mkdir(parents=True, exist_ok=True)
    for page in pages:
        target = folder / result.host_of(page) / page
        target.parent.mkdir(parents=True, exist_ok=True)
        data = (manual / page).read_bytes()
        target.write_bytes(_absolute(data, page, result, files) if page.endswith(".html") else data)
    return result


def _absolute(data: bytes, page: str, result: Spread, files: set[str]) -> bytes:
    base = f"http://manual/{quote(page)}"

    def replace(match: re.Match[str]) -> str:
        url, fragment = urldefrag(urljoin(base, html.unescape(match[2][1:-1])))
        parts = urlsplit(url)
        name = unquote(parts.path).lstrip("/")
        if parts.netloc != "manual" or name not in files or not is_page(name):
            return match[0]
        return f'{match[1]}="{result.url(name)}{"#" + html.escape(fragment) if fragment else ""}"'

    return LINK.sub(replace, data.decode("utf-8")).encode("utf-8")


class _Links(HTMLParser):
    """Addresses a crawler follows: anchors, areas, frames, and the links to the next, the canonical and other forms."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        rel = (values.get("rel") or "").lower().split()
        if "nofollow" in rel:
            return
        if tag in {"a", "area"} or (tag == "link" and {"next", "canonical", "alternate"} & set(rel)):
            self.found.append(values.get("href") or "")
        elif tag in {"frame", "iframe"}:
            self.found.append(values.get("src") or "")


def reachable(web: Spread) -> set[str]:
    """Addresses that a crawl of the web's hosts must ask for, once each, from its seed on."""
    ours = {f"{host}:{web.port}" for host in web.hosts}
    seen = {web.seed}
    todo = deque(seen)
    while todo:
        url = todo.popleft()
        path = web.path(url)
        if path.suffix != ".html" or not path.is_file():
            continue
        parser = _Links()
        parser.feed(path.read_text("utf-8"))
        for link in parser.found:
            target = urldefrag(urljoin(url, link.strip()))[0]
            parts = urlsplit(target)
            if parts.scheme == "http" and parts.netloc in ours and is_page(parts.path) and target not in seen:
                seen.add(target)
                todo.append(target)
    return seen
