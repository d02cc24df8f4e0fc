"""What the libraries alone take for a page: the calls that no crawler of these pages can do without, and nothing
else.

Nothing is checked, resolved, counted or decided here, no cap is enforced, no character set guessed. CPU of this
process, user and system; each part over all sample pages, the median of several rounds. `python -m bench.page` holds a
crawl against the sum. A crawl keeps every core busy, and cores that share a processor slow each other down: so the
same calls run on the other cores meanwhile (`beside`).
"""

from __future__ import annotations

import asyncio
import hashlib
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import upa_url
import uvloop
from isal import igzip_lib, isal_zlib
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree
from rocksdict import Options, Rdict, WriteBatch, WriteOptions
from selectolax.lexbor import LexborHTMLParser

from gossamer.adapters.digest.fingerprint import fingerprint

ROUNDS: Final = 5
EXCHANGES: Final = 2_000
CONNECTIONS: Final = 50
PAGES_A_SYNC: Final = 22  # 450 pages a second, a sync every 50 ms
RECORD_HEAD: Final = b"WARC/1.1\r\n" + b"WARC-Type: response\r\n" * 20 + b"\r\n\r\n"
# What the commits of one page write: bytes of each row, as a crawl of the reference web has them.
ROWS: Final = (420, 380, 380, 1_700, 1_700, 15, 760, 120, 30, 60)
ROWS_GONE: Final = 2  # its queue entry, a log line that is written out
ROWS_A_LINK: Final = (150, 80)  # of each new URL: its row, its place in the queue
TABLES: Final = 10  # near-duplicate tables: each is read and written
FINGERPRINT_BYTES: Final = 70
KEY_BYTES: Final = 40


class Sample(NamedTuple):
    """A page that is served."""

    url: str
    name: str
    address: str
    port: int
    target: str
    plain: bytes
    packed: bytes


def timed(work: Callable[[Sample], object], samples: list[Sample]) -> float:
    """Microseconds of CPU a page."""
    rounds = []
    for _ in range(ROUNDS):
        began = time.process_time()
        for sample in samples:
            work(sample)
        rounds.append(time.process_time() - began)
    return statistics.median(rounds) / len(samples) * 1e6


@contextmanager
def beside(samples: list[Sample], *, is_packed: bool) -> Iterator[None]:
    """Keep the other cores busy with the calls of a digest."""
    context = multiprocessing.get_context("fork")
    others = [
        context.Process(target=_for_ever, args=(samples, is_packed), daemon=True)
        for _ in range((os.cpu_count() or 1) - 1)
    ]
    for other in others:
        other.start()
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.join()


def _for_ever(samples: list[Sample], is_packed: bool) -> None:
    calls = works(samples, is_packed=is_packed)
    while True:
        for call in calls:
            for sample in samples:
                call(sample)


def works(samples: list[Sample], *, is_packed: bool) -> list[Callable[[Sample], object]]:
    """The calls of a digest: inflate, parse with links, canonicalise, text, fingerprint, record."""
    calls = named_works(samples, is_packed=is_packed)
    return [call for name, call in calls.items() if name != "parse"]  # reading the links parses


def named_works(samples: list[Sample], *, is_packed: bool) -> dict[str, Callable[[Sample], object]]:
    """The same by name; `links` parses as well."""
    hrefs = {sample.url: [href or "" for href in _links(sample)] for sample in samples}
    trees = {sample.url: LexborHTMLParser(sample.plain) for sample in samples}
    texts = {url: _text(tree) for url, tree in trees.items()}
    calls: dict[str, Callable[[Sample], object]] = {}
    if is_packed:
        calls["inflate"] = lambda sample: isal_zlib.decompress(sample.packed, 31)
    calls["parse"] = lambda sample: LexborHTMLParser(sample.plain)
    calls["links"] = _links
    calls["canonicalise"] = lambda sample: _resolve(sample.url, hrefs[sample.url])
    calls["text"] = lambda sample: _text(trees[sample.url])
    calls["simhash"] = lambda sample: fingerprint(texts[sample.url])
    calls["WARC gzip"] = lambda sample: _record(sample.packed if is_packed else sample.plain)
    return calls


def parts(samples: list[Sample], *, is_packed: bool, new_links: float) -> dict[str, float]:
    """Microseconds of CPU a page for each part. `new_links`: URLs that a page of the crawl brings, on average."""
    found = {"exchange": exchange_us(samples, is_packed=is_packed)}
    found |= {name: timed(call, samples) for name, call in named_works(samples, is_packed=is_packed).items()}
    found["links"] -= found["parse"]
    found["commit"] = commit_us(new_links)
    return found


def main_content_us(samples: list[Sample]) -> float:
    """Microseconds of CPU of a library's main content, on a document that is parsed already: what we do without."""
    trees = {sample.url: HTMLTree.parse(sample.plain.decode()) for sample in samples}
    return timed(lambda sample: extract_plain_text(trees[sample.url], main_content=True), samples)


def _text(tree: LexborHTMLParser) -> str:
    return "" if tree.body is None else tree.body.text(deep=True, separator=" ")


def _links(sample: Sample) -> list[str | None]:
    return [node.attributes.get("href") for node in LexborHTMLParser(sample.plain).css("a")]


def _resolve(base: str, hrefs: list[str]) -> list[str]:
    against = upa_url.URL.parse(base)
    return [upa_url.URL.parse(href, against).href for href in hrefs]


def _record(payload: bytes) -> bytes:
    """Digest of the payload and of the block, three members: response, request, metadata."""
    hashlib.sha1(payload)
    hashlib.sha1(payload)
    igzip_lib.compress(RECORD_HEAD, 1, igzip_lib.COMP_GZIP)
    igzip_lib.compress(RECORD_HEAD, 1, igzip_lib.COMP_GZIP)
    return igzip_lib.compress(RECORD_HEAD + payload, 1, igzip_lib.COMP_GZIP)


class _Get(asyncio.Protocol):
    """One GET after another on one connection, by Content-Length."""

    def __init__(self, wanted: list[bytes], done: asyncio.Future[None]) -> None:
        self._wanted, self._done = wanted, done
        self._missing = 0
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment] # uvloop's is none by inheritance
        self._next()

    def data_received(self, data: bytes) -> None:
        if not self._missing:
            head, end, body = (self._head + data).partition(b"\r\n\r\n")
            if not end:
                self._head += data
                return
            self._head = b""
            if not head.startswith(b"HTTP/1.1 200 "):
                raise SystemExit(f"bench: {head[:100]!r}")
            self._missing = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]) - len(body)
        else:
            self._missing -= len(data)
        if not self._missing:
            self._next()

    def _next(self) -> None:
        if self._wanted:
            self._transport.write(self._wanted.pop())
        else:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if not self._done.done():
            self._done.set_result(None)


def exchange_us(samples: list[Sample], *, is_packed: bool) -> float:
    """Microseconds of CPU of one GET on a kept connection."""

    async def run() -> float:
        loop = asyncio.get_running_loop()
        began = time.process_time()
        waits = []
        for number in range(CONNECTIONS):
            sample = samples[number % len(samples)]
            coding = "gzip" if is_packed else "identity"
            request = (
                f"GET {sample.target} HTTP/1.1\r\nHost: {sample.name}\r\nAccept-Encoding: {coding}\r\n\r\n".encode()
            )
            done: asyncio.Future[None] = loop.create_future()
            wanted = [request] * (EXCHANGES // CONNECTIONS)
            await loop.create_connection(
                lambda wanted=wanted, done=done: _Get(wanted, done), sample.address, sample.port
            )
            waits.append(done)
        await asyncio.gather(*waits)
        return (time.process_time() - began) / EXCHANGES * 1e6

    return statistics.median(uvloop.run(run()) for _ in range(3))


def commit_us(new_links: float) -> float:
    """Microseconds of CPU of writing a page's rows in one batch, ten of them read before, and its share of a sync."""
    sizes = [*ROWS, *[FINGERPRINT_BYTES] * TABLES]
    sizes += [size for _ in range(round(new_links)) for size in ROWS_A_LINK]
    pages = 3_000
    with tempfile.TemporaryDirectory(prefix="gossamer-bare-") as name:
        options = Options(raw_mode=True)
        options.create_if_missing(True)
        store = Rdict(str(Path(name) / "state"), options=options)
        rows = [[(os.urandom(KEY_BYTES), os.urandom(size)) for size in sizes] for _ in range(200)]
        unsynced = WriteOptions()
        began = time.process_time()
        for number in range(pages):
            each = rows[number % len(rows)]
            store.get([key for key, _ in each[:TABLES]])
            batch = WriteBatch(raw_mode=True)
            for key, value in each:
                batch.put(key, value)
            for key, _ in each[:ROWS_GONE]:
                batch.delete(key)
            store.write(batch, unsynced)
            if number % PAGES_A_SYNC == 0:
                store.flush_wal(sync=True)
        took = time.process_time() - began
        store.close()
    return took / pages * 1e6
