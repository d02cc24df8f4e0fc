"""The web that the benchmarks crawl: many hosts on loopback, pages of 85-100 KB with 150 links, made on demand.

nginx stands in front (compression, keep-alive, one name and one address for each host) and asks a page maker behind a
local socket. A page is a function of its address: the same every time, different from every other, and never stored.

Pages have the proportions of the 463 pages of that size among the manuals that Debian packages (medians: 3,328 words,
1,998 elements), and 150 links: 90 that all pages of the host have, 30 to the pages that follow, 18 anywhere, 12 abroad.
"""

from __future__ import annotations

import gzip
import random
import socketserver
import zlib
from pathlib import Path
from typing import Final

WORDS: Final = 6_000
PARAGRAPHS: Final = 4_000
PAGES_PER_HOST: Final = 2_000
LINKS: Final = 150
LINKS_MENU: Final = 90  # the same on every page of a host
LINKS_NEAR: Final = 30  # to the pages that follow
LINKS_ABROAD: Final = 12  # to other hosts; the rest goes anywhere on the host
PARAGRAPHS_PER_PAGE: Final = 23

STYLE: Final = "".join(
    f".c{n}{{margin:{n % 17}px;padding:{n % 5}px;color:#{n * 7919 % 4096:03x}}}\n" for n in range(180)
)
SCRIPT: Final = "".join(f"window.q{n}=function(a,b){{return a*{n}+b%{n + 3}>{n * 31}?a:b}};\n" for n in range(260))


def host_name(number: int) -> str:
    """Name of a host: each is a site of its own."""
    return f"www.h{number:05}-bench.example"


def host_address(number: int) -> str:
    """One loopback address for each host, few of them in one /24."""
    return f"127.{16 + number % 64}.{number // 64 % 256}.{number // 16384 + 1}"


class Maker:
    """Makes pages."""

    def __init__(
        self, hosts: int, pages_per_host: int = PAGES_PER_HOST, links: int = LINKS, *, small: bool = False
    ) -> None:
        chance = random.Random(1)
        letters = "etaoinshrdlucmfwypvbgkqjxz"
        weights = [1 / (n + 2) for n in range(len(letters))]
        words = ["".join(chance.choices(letters, weights, k=chance.randint(2, 11))) for _ in range(WORDS)]
        ranks = [1 / (n + 5) for n in range(WORDS)]
        self._paragraphs = [
            " ".join(chance.choices(words, ranks, k=chance.randint(60, 160))).capitalize() + "."
            for _ in range(20 if small else PARAGRAPHS)
        ]
        self._words = words
        self._hosts = hosts
        self._pages = pages_per_host
        self._links = links
        self._small = small

    @property
    def paragraphs(self) -> list[str]:
        """All texts that pages are made of."""
        return self._paragraphs

    @property
    def words(self) -> list[str]:
        """All words that texts are made of."""
        return self._words

    def path(self, number: int) -> str:
        """Address of a page within its host."""
        word = self._words[(number * 2654435761) % WORDS]
        return f"/{word}/article-{number}-{self._words[number % WORDS]}.html"

    def page(self, host: str, path: str) -> bytes:
        """The page at an address."""
        chance = random.Random(zlib.crc32(f"{host}{path}".encode()))
        anchors = [self._anchor(chance, target) for target in self._targets(chance, path)]
        title = " ".join(chance.choices(self._words, k=7))
        if self._small:
            text = chance.choice(self._paragraphs)
            return f"<title>{title}</title><p>{host} {path} {text}<p>{' '.join(anchors)}".encode()
        texts = chance.sample(self._paragraphs, PARAGRAPHS_PER_PAGE)
        inline = iter(anchors[-PARAGRAPHS_PER_PAGE:])
        article = "\n".join(
            f'<section class="c{n} block"><h2 id="s{n}">{text[:40]}</h2>\n'
            f"{self.marked(text)} {next(inline, '')}</section>"
            for n, text in enumerate(texts)
        )
        menu = "\n".join(
            f'<li class="menu-item level-{n % 4}"><span class="icon"></span>{anchor}</li>'
            for n, anchor in enumerate(anchors[:-PARAGRAPHS_PER_PAGE])
        )
        return (
            f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f'<meta name="description" content="{title}"><style>{STYLE}</style><script>{SCRIPT}</script></head>'
            f"<body><nav><ul>{menu}</ul></nav>"
            f"<main><article><h1>{title}</h1>{article}</article></main><footer><p>{host}</p></footer></body></html>"
        ).encode()

    @staticmethod
    def marked(text: str) -> str:
        """A paragraph as manuals have them: every few words are in an element of their own."""
        words = text.split(" ")
        for n in range(0, len(words), 3):
            word = words[n]
            words[n] = f'<code class="literal"><span class="pre">{word}</span></code>' if n % 2 else f"<em>{word}</em>"
        return f'<p class="text">{" ".join(words)}</p>'

    def _targets(self, chance: random.Random, path: str) -> list[str]:
        """Where a page links to: the host's menu, the pages that follow, other hosts, and anywhere on its own."""
        if self._small:
            return [self.path(chance.randrange(self._pages)) for _ in range(self._links)]
        here = int(path.partition("article-")[2].partition("-")[0] or 0)
        targets = [self.path(n * 17 % self._pages) for n in range(LINKS_MENU)]
        targets += [self.path((here + 1 + n) % self._pages) for n in range(LINKS_NEAR)]
        targets += [f"//{host_name(chance.randrange(self._hosts))}:{{PORT}}/" for _ in range(LINKS_ABROAD)]
        return targets + [self.path(chance.randrange(self._pages)) for _ in range(self._links - len(targets))]

    def _anchor(self, chance: random.Random, target: str) -> str:
        word = self._words[chance.randrange(WORDS)]
        return f'<a class="ref" href="{target}" title="{word}">{word} more</a>'


class _Handler(socketserver.StreamRequestHandler):
    """Just enough HTTP for nginx: one GET after another on one connection."""

    server: PageServer

    def handle(self) -> None:
        while True:
            head = []
            while (line := self.rfile.readline(65536)) not in {b"\r\n", b""}:
                head.append(line)
            if not head:
                return
            path = head[0].split(b" ")[1].decode("latin-1")
            host = next((h[5:].strip().decode("latin-1") for h in head if h[:5].lower() == b"host:"), "")
            body = b"User-agent: *\nAllow: /\n" if path == "/robots.txt" else self.server.body(host, path)
            kind = b"text/plain" if path == "/robots.txt" else b"text/html; charset=utf-8"
            self.wfile.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)
            )


class PageServer(socketserver.ThreadingUnixStreamServer):
    """Serves a maker's pages on a local socket."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, path: Path, maker: Maker, port: int) -> None:
        super().__init__(str(path), _Handler)
        self._maker = maker
        self._port = str(port).encode()

    def body(self, host: str, path: str) -> bytes:
        """The bytes of a page."""
        return self._maker.page(host, path).replace(b"{PORT}", self._port)


def store_host(job: tuple[str, int, int, int, int, int]) -> None:
    """Write all pages of one host, compressed as nginx does it: (folder, host's number, hosts, pages, links, port)."""
    folder, number, hosts, pages, links, port = job
    host = host_name(number)
    maker = Maker(hosts, pages, links)
    root = Path(folder) / host
    paths = {maker.path(page): maker.path(page) for page in range(pages)} | {"/index.html": "/"}
    for place, path in paths.items():
        file = root / f"{place[1:]}.gz"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = maker.page(host, path).replace(b"{PORT}", str(port).encode())
        file.write_bytes(gzip.compress(body, 5))
    (root / "robots.txt.gz").write_bytes(gzip.compress(b"User-agent: *\nAllow: /\n"))
