"""A crawl to be damaged, and what `verify` says of it."""

from __future__ import annotations

import msgspec

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import decode_host, decode_url, encode
from gossamer.core.counters import Totals
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, HostRow, UrlRow
from gossamer.model.view import Problem, VerifyProgress
from gossamer.sim.web import Answer, SimHost, SimWeb
from tests.reader.making import NOARCHIVE, Made, html, site

SEED = "https://a.example/"
PAGES = 30


def web() -> SimWeb:
    targets = [f"{SEED}p/{n}" for n in range(PAGES)]
    pages = {"/": html("home " * 50, *targets, SEED + "same", SEED + "hidden", SEED + "gone", SEED + "away")}
    pages |= {f"/p/{n}": html(f"page {n} " * 20) for n in range(PAGES)}
    pages |= {
        "/same": html("page 3 " * 20),
        "/hidden": html("not kept", title=NOARCHIVE),
        "/away": Answer(status=301, headers=(("location", SEED + "p/1"),), body=b"moved"),
    }
    rules = Answer(body=b"User-agent: *\nDisallow: /none\n", headers=(("content-type", "text/plain"),))
    second = SimHost(address="1.1.1.2", page=site({"/": html("second", SEED)}))
    return SimWeb({"a.example": SimHost(address="1.1.1.1", robots=rules, page=site(pages)), "b.example": second})


def check(made: Made) -> tuple[list[Problem], VerifyProgress]:
    reader = made.reader()
    items = list(reader.verify())
    reader.close()
    last = items[-1]
    assert isinstance(last, VerifyProgress)
    return [item for item in items if isinstance(item, Problem)], last


def kinds(made: Made) -> list[tuple[str, str]]:
    return sorted((problem.kind, problem.what) for problem in check(made)[0])


def url_row(store: RocksStore, key: str) -> UrlRow:
    raw = store.get(Cf.URL, key.encode())
    assert raw is not None
    return decode_url(raw)


def put_url(store: RocksStore, key: str, row: UrlRow) -> None:
    store.write([(Cf.URL, key.encode(), encode(row))])


def host_row(store: RocksStore) -> HostRow:
    raw = store.get(Cf.HOST, b"a.example")
    assert raw is not None
    return decode_host(raw)


def put_totals(store: RocksStore, totals: Totals) -> None:
    store.write([(Cf.META, b"counters", msgspec.msgpack.encode(totals))])


def pointer_of(made: Made, key: str) -> Pointer:
    store = RocksStore(made.directory / "state", read_only=True)
    row = url_row(store, key)
    store.close()
    assert row.pointer is not None
    return row.pointer
