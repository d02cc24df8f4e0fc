"""Which encoding a page is in: the public cases by kind, labels, and what real pages get wrong."""

from __future__ import annotations

import base64
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.adapters.digest import charset, media, prescan
from gossamer.model.page import Digest
from tests.digest.helpers import as_bytes, cases, digest

CASES = cases("html/encoding.jsonl")
KINDS = Counter(case["kind"] for case in CASES)

# The page writes its meta element by script; no script runs here.
SCRIPTED = {"E000"}
# What the other tool names otherwise: its names are Python's, and its default for bare ASCII is UTF-8.
NAMES = {"cp1252": "windows-1252", "big5hkscs": "big5", "ascii": "windows-1252"}
ASCII_DEFAULT = {"E182", "E183", "E184", "E185"}


def name(label: str | None) -> str | None:
    """The standard's name; GB18030 decodes whatever GBK does, so tools that know one codec mean both."""
    if label is None:
        return None
    found = charset.resolve_label(NAMES.get(label, label).replace("16-", "16").replace("32-", "32"))
    return "gbk" if found == "gb18030" else found


def of_kind(kind: str) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in CASES if case["kind"] == kind]


def test_every_kind_of_case_is_here() -> None:
    assert len(CASES) == 230
    assert KINDS["sniff from HTML bytes, no HTTP charset"] == 83
    assert KINDS["w3lib.html_to_unicode"] == 35
    assert KINDS["w3lib.http_content_type_encoding"] == KINDS["w3lib.html_body_declared_encoding"] == 29
    assert KINDS["w3lib.read_bom"] == KINDS["response.text"] == 6
    assert KINDS["w3lib.resolve_encoding"] == 4
    assert KINDS["response.encoding"] == 3
    assert sum(count for kind, count in KINDS.items() if kind.startswith("responsetype.")) == 35


@pytest.mark.parametrize("case", of_kind("sniff from HTML bytes, no HTTP charset"))
def test_a_document_declares_its_encoding(case: dict[str, Any]) -> None:
    """html5lib: the standard's prescan, with windows-1252 when nothing is found."""
    body = base64.b64decode(case["body_b64"])
    mark = charset.read_bom(body)
    found = mark[0] if mark else prescan.declared(body, charset.resolve_label) or "windows-1252"
    assert found == ("windows-1252" if case["id"] in SCRIPTED else name(case["expected_encoding"]))


@pytest.mark.parametrize("case", of_kind("w3lib.http_content_type_encoding"))
def test_a_header_names_an_encoding(case: dict[str, Any]) -> None:
    assert name(charset.header_charset(case["args"][0])) == name(case["expected"])


@pytest.mark.parametrize("case", of_kind("w3lib.html_body_declared_encoding"))
def test_a_broken_declaration_is_a_hint(case: dict[str, Any]) -> None:
    """w3lib reads declarations that the standard does not: ours is the lenient scan, a hint and no more."""
    assert name(prescan.hinted(as_bytes(case["args"][0]), charset.resolve_label)) == name(case["expected"])


@pytest.mark.parametrize("case", of_kind("w3lib.read_bom"))
def test_a_byte_order_mark(case: dict[str, Any]) -> None:
    found = charset.read_bom(as_bytes(case["args"][0]))
    expected, mark = case["expected"]
    assert name(found[0] if found else None) == name(expected)
    assert found is None or found[1] == len(as_bytes(mark))


@pytest.mark.parametrize("case", of_kind("w3lib.resolve_encoding"))
def test_a_label(case: dict[str, Any]) -> None:
    assert name(charset.resolve_label(case["args"][0])) == name(case["expected"])


@pytest.mark.parametrize("case", of_kind("w3lib.html_to_unicode"))
def test_a_document_becomes_text(case: dict[str, Any]) -> None:
    body = as_bytes(case["args"][1])
    found = charset.sniff(body, case["args"][0] or "")
    assert charset.decode(body, found.name) == case["expected"][1]
    if case["id"] not in ASCII_DEFAULT:
        assert name(found.name) == name(case["expected"][0])


@pytest.mark.parametrize("case", of_kind("response.text") + of_kind("response.encoding"))
def test_a_response_is_read(case: dict[str, Any]) -> None:
    body = base64.b64decode(case["body_b64"])
    header = {key: values[0] for key, values in case["headers"]}.get("Content-Type", "")
    if case["given_encoding"]:
        header = f"text/html; charset={case['given_encoding']}"
    found = charset.sniff(body, header)
    assert (charset.decode(body, found.name) if case["kind"] == "response.text" else found.name) == case["expected"]


TYPED = [case for case in CASES if case["kind"] in {"responsetype.from_content_type", "responsetype.from_body"}]
NAMED = [case for case in CASES if case["kind"] in {"responsetype.from_filename", "responsetype.from_args"}]


def test_a_document_is_html_by_its_type_or_its_first_bytes() -> None:
    """Of 35 cases on document types 15 are about header and body. Names (of 20: files, URLs, dispositions, and header
    sets that rest on them) are never asked.
    """
    assert len(TYPED) == 15
    for case in TYPED:
        content_type, body = "", b""
        if case["kind"].endswith("body"):
            body = as_bytes(case["args"][0])
        else:
            argument = case["args"][0]
            content_type = argument if isinstance(argument, str) else as_bytes(argument).decode("latin-1")
        assert media.is_html(media.media_type(content_type), body) == (case["expected"] == "HtmlResponse"), case


def test_a_document_is_not_html_by_its_name() -> None:
    assert len(NAMED) == 9
    for body in (b"\x03\x02\xdf\xdd\x23", b"just some text"):
        assert not media.is_html("", body)


@pytest.mark.parametrize(
    ("body", "content_type", "expected"),
    [
        (b"<meta charset=koi8-r>\xc4\xc1", "text/html; charset=utf-8", ("utf-8", "header")),
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "text/html; charset=shift_jis", ("utf-8", "bom")),
        (b"<meta charset=koi8-r>" + "été à la plage".encode() * 9, "text/html", ("koi8-r", "meta")),
        (b'<meta http-equiv=content-type content="charset=gbk">', "text/html", ("gbk", "meta")),
        ("<p>Été à la plage, déjà vu".encode() * 5, "text/html", ("utf-8", "detected")),
        (b"<meta content='text/html; charset=koi8-r'>" + "привет".encode("koi8-r"), "", ("koi8-r", "hint")),
        (b"<p>plain</p>", "text/html; charset=nonsense", ("windows-1252", "fallback")),
        (b"", "", ("windows-1252", "fallback")),
        (b"<p>x", "text/html; charset=iso-2022-kr", ("replacement", "header")),
    ],
)
def test_header_meta_and_detector_disagree(body: bytes, content_type: str, expected: tuple[str, str]) -> None:
    assert charset.sniff(body, content_type) == expected


def test_a_charset_found_in_script_text() -> None:
    body = b"<script>var s = 'charset=gbk'; t = \"text/html; charset=gbk\";</script><p>" + "déjà vu à côté".encode() * 9
    assert charset.sniff(body).name == "utf-8"


def test_an_encoding_in_which_text_can_hide_yields_nothing() -> None:
    assert charset.decode(b"<script>", "replacement") == "\ufffd"


def test_a_declaration_cut_off_by_the_end_does_not_count() -> None:
    assert prescan.declared(b"<meta charset=euc-jp", charset.resolve_label) is None


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=300), st.text(max_size=60))
def test_any_bytes_and_any_header_have_an_encoding(body: bytes, header: str) -> None:
    found = charset.sniff(b"<meta charset " + body, header)
    assert isinstance(charset.decode(body, found.name), str)


def test_scanning_takes_linear_time() -> None:
    for unit in (b"<meta ", b"<", b"<!--", b"<meta charset=", b"</", b"<a href='", b'charset="'):
        body = unit * (1_000_000 // len(unit))
        charset.sniff(body)


def said(body: bytes, content_type: str) -> Digest:
    """What is said of a page, but for the name of its encoding."""
    return msgspec.structs.replace(digest(body, content_type=content_type), charset="", language="")


_MARKUP = st.lists(
    st.sampled_from(
        ["<p>", "<a href='/ü?ü'>", '<a href="/cut"', "<title>ß ", "ä 漢字 ", "\0", "&amp;", "\ufffd", "\ufeff", "word "]
    )
)


@settings(deadline=None, max_examples=300)
@given(
    markup=_MARKUP.map("".join), broken=st.sampled_from([b"", b"\xff", b"\xc3", b"\xed\xa0\x80"]), at=st.integers(0, 60)
)
@example(markup="<title>ab</title>", broken=b"\xff", at=8)
@example(markup="<p><a href='/ab'>", broken=b"\xff", at=14)
def test_a_body_that_is_utf_8_says_what_its_text_says(markup: str, broken: bytes, at: int) -> None:
    utf_8 = "text/html; charset=utf-8"
    body = markup.encode()
    body = body[:at] + broken + body[at:]
    text = body.decode("utf-8", "replace")
    assert said(body, utf_8) == said(text.encode(), utf_8)
    if not text.startswith("\ufeff"):
        assert said(body, utf_8) == said(b"\xef\xbb\xbf" + body, utf_8)
        assert said(body, utf_8) == said(text.encode("utf-16-le"), "text/html; charset=utf-16le")
