"""The reference web for large runs: the same pages put together out of pieces that were compressed beforehand.

Making and compressing a page takes 6 ms, so a web of 300,000 would take half an hour. Here a paragraph is compressed
once, to a byte boundary, and a page is a row of such pieces with its own links between them as stored blocks (RFC 1951
section 3.2.4), in one gzip member. It comes out some thousand bytes longer than compressed as a whole.

With `variants`, links lead to each page under two spellings: pages with odd numbers have a query in two orders, the
others are told with and without a campaign (utm_source). What is one page is for `gossamer.model.url` to say.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.reference_web import (
    LINKS,
    LINKS_ABROAD,
    LINKS_MENU,
    LINKS_NEAR,
    PARAGRAPHS_PER_PAGE,
    SCRIPT,
    STYLE,
    WORDS,
    Maker,
    host_address,
    host_name,
)
from tests.support.nginx import Nginx, free_port, nginx_path

LEVEL: Final = 6
CAMPAIGN: Final = ("", "?utm_source=feed")  # one page
QUERIES: Final = ("?lang=en&view=full", "?view=full&lang=en")  # one page
GZIP_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
LAST_BLOCK: Final = b"\x03\0"
ROBOTS: Final = b"User-agent: *\nAllow: /\n"
SERVER: Final = "root {site}/$host; default_type text/html; rewrite ^/$ /index.html last; gzip_static {gzip};"


class Piece(NamedTuple):
    """Some bytes, and the same as deflate blocks that end on a byte."""

    plain: bytes
    packed: bytes


def stored(plain: bytes) -> Piece:
    """As a stored block: nothing is gained, and nothing has to be computed."""
    return Piece(plain, struct.pack("<BHH", 0, len(plain), len(plain) ^ 0xFFFF) + plain)


def packed(plain: bytes) -> Piece:
    """Compressed on its own."""
    engine = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return Piece(plain, engine.compress(plain) + engine.flush(zlib.Z_FULL_FLUSH))


class QuickMaker:
    """Makes pages of `hosts` hosts with `pages` pages each."""

    def __init__(self, hosts: int, pages: int, port: int, *, variants: bool) -> None:
        maker = Maker(hosts, pages)
        self._hosts, self._pages, self._port, self._variants = hosts, pages, port, variants
        self._maker = maker
        self._words = maker.words
        self._paragraphs = [packed(f"{text[:40]}</h2>\n{maker.marked(text)} ".encode()) for text in maker.paragraphs]
        self._sections = [
            stored(f'</section>\n<section class="c{n} block"><h2 id="s{n}">'.encode())
            for n in range(PARAGRAPHS_PER_PAGE)
        ]
        self._front = packed(f"<style>{STYLE}</style><script>{SCRIPT}</script></head><body><nav><ul>".encode())
        self._menus: dict[str, Piece] = {}

    def paths(self) -> list[str]:
        """Where the pages of a host are stored."""
        return ["/index.html", *(self._maker.path(n) for n in range(self._pages))]

    def page(self, host: str, path: str) -> tuple[bytes, bytes]:
        """A page as it is, and as one gzip member."""
        chance = random.Random(zlib.crc32(f"{host}{path}".encode()))
        here = int(path.partition("article-")[2].partition("-")[0] or 0)
        near = [(here + 1 + n) % self._pages for n in range(LINKS_NEAR)]
        rest = LINKS - LINKS_MENU - LINKS_NEAR - LINKS_ABROAD
        anchors = [self._anchor(chance, self._href(chance, n)) for n in near]
        anchors += [
            self._anchor(chance, f"//{host_name(chance.randrange(self._hosts))}:{self._port}/")
            for _ in range(LINKS_ABROAD)
        ]
        anchors += [self._anchor(chance, self._href(chance, chance.randrange(self._pages))) for _ in range(rest)]
        title = " ".join(chance.choices(self._words, k=7))
        inline = anchors[-PARAGRAPHS_PER_PAGE:]
        listed = "\n".join(f'<li class="menu-item">{anchor}</li>' for anchor in anchors[:-PARAGRAPHS_PER_PAGE])
        head = f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        pieces = [stored(head.encode()), self._front, self._menu(host), stored(listed.encode())]
        pieces.append(stored(f"</ul></nav><main><article><h1>{title}</h1><section>".encode()))
        for section, text, anchor in zip(
            self._sections, chance.sample(self._paragraphs, PARAGRAPHS_PER_PAGE), inline, strict=True
        ):
            pieces += [section, text, stored(anchor.encode())]
        pieces.append(stored(f"</section></article></main><footer><p>{host}</p></footer></body></html>".encode()))
        plain = b"".join([piece.plain for piece in pieces])
        end = struct.pack("<II", zlib.crc32(plain), len(plain))
        return plain, b"".join([GZIP_HEAD, *(piece.packed for piece in pieces), LAST_BLOCK, end])

    def _menu(self, host: str) -> Piece:
        """What all pages of a host have in common."""
        found = self._menus.get(host)
        if found is None:
            chance = random.Random(zlib.crc32(host.encode()))
            targets = [self._href(chance, n * 17 % self._pages) for n in range(LINKS_MENU)]
            text = "\n".join(
                f'<li class="menu-item level-{n % 4}"><span class="icon"></span>{self._anchor(chance, target)}</li>'
                for n, target in enumerate(targets)
            )
            self._menus.clear()  # hosts are made one after the other
            found = self._menus[host] = packed(text.encode())
        return found

    def _href(self, chance: random.Random, number: int) -> str:
        target = self._maker.path(number)
        if not self._variants:
            return target
        return target + chance.choice(QUERIES if number % 2 else CAMPAIGN)

    def _anchor(self, chance: random.Random, target: str) -> str:
        word = self._words[chance.randrange(WORDS)]
        return f'<a class="ref" href="{target}" title="{word}">{word} more</a>'


def store_hosts(job: tuple[str, list[int], int, int, int, bool, bool]) -> int:
    """Write the pages of some hosts: (folder, numbers, hosts, pages, port, variants, plain too). Bytes written."""
    folder, numbers, hosts, pages, port, variants, both = job
    maker = QuickMaker(hosts, pages, port, variants=variants)
    written = 0
    for number in numbers:
        host = host_name(number)
        root = Path(folder) / host
        for path in maker.paths():
            file = root / path[1:]
            file.parent.mkdir(parents=True, exist_ok=True)
            plain, member = maker.page(host, path)
            file.with_name(f"{file.name}.gz").write_bytes(member)
            if both:
                file.write_bytes(plain)
            written += len(member) + both * len(plain)
        (root / "robots.txt").write_bytes(ROBOTS)
        (root / "robots.txt.gz").write_bytes(zlib.compress(ROBOTS, LEVEL, 31))
        (Path(folder) / host_address(number)).symlink_to(host)  # for clients that cannot be told names
    return written


class Served(NamedTuple):
    """A web that is served now."""

    folder: Path  # has `seeds` (names), `nginx/hosts` and `nginx/access.log`
    port: int  # pages compressed
    plain_port: int  # the same pages as they are
    hosts: int
    pages: int

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.folder / "nginx" / "access.log"

    def seeds(self, port: int, count: int | None = None) -> list[str]:
        """The home pages."""
        return [f"http://{host_name(n)}:{port}/" for n in range(count or self.hosts)]


@contextmanager
def quick_web(
    hosts: int, pages: int, *, variants: bool = False, plain: bool = False, certificate: tuple[Path, Path] | None = None
) -> Iterator[Served]:
    """Make a web and serve it. `plain`: the second port serves pages as they are; `certificate`: the first over TLS."""
    if nginx_path() is None:
        raise SystemExit("bench: nginx is not installed (Debian: apt-get install nginx-light)")
    with TemporaryDirectory(prefix="gossamer-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # nginx's workers run as another user
        port, plain_port = free_port(), free_port()
        site = folder / "site"
        parts = max(1, min(hosts, 8))
        jobs = [(str(site), list(range(hosts))[n::parts], hosts, pages, port, variants, plain) for n in range(parts)]
        with multiprocessing.get_context("spawn").Pool() as makers:
            makers.map(store_hosts, jobs, chunksize=1)
        os.sync()  # or its pages are written out while a crawl is measured
        server = Nginx(folder / "nginx", http="open_file_cache max=20000;")
        server.names = {host_name(n): host_address(n) for n in range(hosts)}
        always = "on" if plain else "always"
        server.add(
            "_", address="0.0.0.0", port=port, extra=SERVER.format(site=site, gzip=always), certificate=certificate
        )
        if plain:
            server.add("_", address="0.0.0.0", port=plain_port, extra=SERVER.format(site=site, gzip="off"))
        server.start()
        served = Served(folder, port, plain_port, hosts, pages)
        (folder / "seeds").write_text("\n".join(served.seeds(port)) + "\n")
        try:
            yield served
        finally:
            server.stop()
