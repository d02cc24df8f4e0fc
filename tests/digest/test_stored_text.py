"""Stored responses read again: their text in lines, their fingerprint, and what hostile ones cost."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.adapters.digest import stored as module
from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.parse import parse
from gossamer.adapters.digest.stored import Asked, read_stored
from gossamer.adapters.digest.textreader import TextReader
from gossamer.model.config import Scope
from gossamer.model.limits import MIB, TEXT_MAX_CHARS
from gossamer.model.view import StoredText
from gossamer.policy.scope import compile_scope

RULES = LinkRules(scope=compile_scope(Scope(), []))
WORDS = " ".join(f"word{number}" for number in range(200))


def ask(body: bytes, kind: str = "text/html", encoding: str = "") -> Asked:
    more = (("Content-Encoding", encoding),) if encoding else ()
    return Asked(url="https://a.example/", headers=(("Content-Type", kind), *more), payload=body)


def read(body: str | bytes, kind: str = "text/html; charset=utf-8") -> StoredText:
    return read_stored(ask(body.encode() if isinstance(body, str) else body, kind), RULES)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("<h1>Bread <b>and</b> <i>but</i>ter</h1><p>One\n two<br>three", ["Bread and butter", "One two", "three"]),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", ["a", "b", "c"]),
        ("<table><tr><th>k<td>v<tr><td>x<td>y</table>", ["k v", "x y"]),
        ("<pre>a\n  b\n\nc<pre>d\ne</pre></pre>f", ["a", "b", "c", "d", "e", "f"]),
        ("<nav>menu</nav><script>x=1</script><p>text<!-- no --><style>p{}</style>", ["text"]),
        (f"<main>{'<p>enough to be the main part</p>' * 8}</main><p>aside", ["enough to be the main part"] * 8),
        ("<div class=sidebar>" + "much " * 50 + "</div><p>little", [("much " * 50).strip(), "little"]),
        ("", []),
    ],
)  # fmt: skip
def test_lines_of_html(body: str, lines: list[str]) -> None:
    assert list(read(body).lines) == lines


def test_the_fingerprint_is_that_of_the_digest() -> None:
    asked = ask(gzip.compress(f"<title>T &amp; t</title><nav>menu</nav><p>{WORDS}".encode()), encoding="x-gzip")
    told = read_stored(asked, RULES)
    digest = parse(module._job(asked, ("gzip",)), RULES, Hooks())
    assert digest.simhash is not None
    assert (told.simhash, told.content_hash, told.title) == (digest.simhash, digest.content_hash, "T & t")
    assert told.lines == (WORDS,)
    assert (told.is_text, told.cut, told.error) == (True, False, "")


@pytest.mark.parametrize(
    ("kind", "body", "lines"),
    [
        ("text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe \n  two\r\nthree", ("Grüße", "  two", "three")),
        ("application/json", b'{"a":\n1}', ('{"a":', "1}")),
        ("application/rss+xml", b"<rss>\n<channel/></rss>", ("<rss>", "<channel/></rss>")),
        ("text/html", b"<?xml version='1.0'?><urlset>\n</urlset>", ("<?xml version='1.0'?><urlset>", "</urlset>")),
        ("", b"just words", ("just words",)),
        ("text/plain", b"\x1b[31mred\x1b[0m", ("\x1b[31mred\x1b[0m",)),
    ],
)  # fmt: skip
def test_other_texts(kind: str, body: bytes, lines: tuple[str, ...]) -> None:
    told = read(body, kind)
    assert told.is_text
    assert told.lines == lines


@pytest.mark.parametrize(
    ("kind", "body"),
    [("application/pdf", b"%PDF-1.7"), ("text/plain", b"a\0b"), ("", b"\x89PNG\0\0"), ("image/png", b"x")],
)
def test_binary_has_no_text(kind: str, body: bytes) -> None:
    told = read(body, kind)
    assert (told.is_text, told.lines) == (False, ())


def test_huge_text_is_cut() -> None:
    told = read("<p>" + "many words " * (TEXT_MAX_CHARS // 8))
    assert told.cut
    assert sum(map(len, told.lines)) == TEXT_MAX_CHARS
    told = read("x\n" * TEXT_MAX_CHARS, "text/plain")
    assert told.cut
    assert len(told.lines) == TEXT_MAX_CHARS // 2


@pytest.mark.parametrize(
    "body",
    [
        "<div>" * 200_000,
        "<pre>" * 4_000 + "\n\nx" * 300_000 + "<table>" * 500,
        "<p>&#0;&#xd800;\x1e\x00\x85" + "<br>" * 50_000,
        "<b><p>" * 2_000,
        "<plaintext>" + "<p>" * 1_000,
        "<svg><desc><p>x</svg><math><mtext><li>y",
    ],
)
def test_hostile_markup_is_read(body: str) -> None:
    told = read(body)
    assert told.is_text
    assert not any("\n" in line or not line.strip() for line in told.lines)


@pytest.fixture
def reader() -> Iterator[TextReader]:
    made = TextReader(RULES, memory_max_bytes=512 * MIB, timeout_s=20)
    yield made
    made.close()


def test_the_process_answers_what_the_function_does(reader: TextReader) -> None:
    for asked in (ask(f"<p>{WORDS}<p>é".encode()), ask(b"%PDF", "application/pdf"), ask(b"", "text/html")):
        assert reader.read(asked) == read_stored(asked, RULES)


def test_a_process_that_dies_costs_one_text(reader: TextReader) -> None:
    asked = ask(b"<p>text")
    assert reader.read(asked).lines == ("text",)
    assert reader._process is not None
    reader._process.kill()
    assert reader.read(asked) == StoredText(error="digest-crash")
    assert reader.read(asked).lines == ("text",)


def test_a_page_that_takes_too_long_costs_its_text() -> None:
    slow = TextReader(RULES, memory_max_bytes=512 * MIB, timeout_s=20)
    assert slow.read(ask(b"<p>text" * 10)).lines  # started, and warm
    slow._timeout_s = 0.05
    assert slow.read(ask(b"<i><b><p>word " * 300_000)) == StoredText(error="digest-timeout")
    assert slow._process is None


def test_a_page_that_takes_too_much_memory_costs_its_text() -> None:
    small = TextReader(RULES, memory_max_bytes=96 * MIB, timeout_s=60)
    told = small.read(ask(gzip.compress(b"<p>word <b>bold</b>" * 400_000), encoding="gzip"))
    assert told.error
    assert not told.lines
    assert small.read(ask(b"<p>text")).lines == ("text",)
    small.close()


def test_the_process_ends_with_its_reader(reader: TextReader) -> None:
    reader.read(ask(b"x"))
    assert reader._process is not None
    pid = reader._process.pid
    reader.close()
    assert not Path(f"/proc/{pid}").exists()
