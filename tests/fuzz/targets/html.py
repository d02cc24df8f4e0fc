"""The HTML digest: from a response's bytes to links, text and fingerprint, as a worker does it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache

import msgspec

from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.linkreader import LinkReader
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.parse import parse
from gossamer.model.config import Scope
from gossamer.model.limits import LINKS_PER_PAGE_MAX, TEXT_MAX_CHARS, TITLE_MAX_CHARS
from gossamer.model.page import Digest, Job, Kind
from gossamer.model.url import Url
from gossamer.model.url import parse as parse_url
from gossamer.policy.scope import compile_scope
from tests.fuzz.harness import CASES, Target, seed

TYPES = (
    "text/html; charset=utf-8", "text/html", "", "text/html; charset=utf-16", "text/html; charset=shift_jis",
    "application/xhtml+xml", "text/html; charset=iso-2022-jp", "text/plain",
)  # fmt: skip
ALL_MAX_BYTES = 32 * 1024  # of content that is digested again and again
ASCII_TWINS = ("text/html; charset=utf-8", "text/html; charset=iso-8859-2")
CHARSET_MARKS = (b"\x1b", b"\x0e", b"\x0f", b"&", b"+", b"~", b"\0")  # ASCII bytes that some encodings read otherwise


def check(control: bytes, content: bytes) -> None:
    """Nothing raises; the same bytes give the same digest, also from a reader that remembers; links kept are URLs whose
    key is their own, links found are those kept and refused; text, title and language are bounded; the digest survives
    the way to the main process; plain ASCII means the same in two encodings and with a byte order mark.
    """
    content_type = TYPES[control[0] % len(TYPES)]
    found = _digest(content, content_type)
    if len(content) > ALL_MAX_BYTES:
        return  # here the question is how long it takes
    assert found == _digest(content, content_type)
    assert found == _digest(content, content_type, _remembering())
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Digest) == found
    kept = [link for group in found.links for link in group.links]
    assert len({key for _, key in kept}) == len(kept)
    assert found.links_found <= LINKS_PER_PAGE_MAX + found.refused.get("links-per-page", 0)
    assert len(kept) <= found.links_found
    for group in found.links:
        for wire, key in group.links:
            url = parse_url(wire)
            assert isinstance(url, Url)
            assert (url.wire, url.key, url.host, url.site) == (wire, key, group.host, group.site)
    assert len(found.title) <= TITLE_MAX_CHARS
    assert found.title == found.title.strip()
    assert 0 <= found.text_chars <= TEXT_MAX_CHARS
    assert (found.content_hash == 0) == (found.text_chars == 0)
    assert (found.simhash is None) == (found.sketch == b"")
    assert found.language == "" or (found.language.isascii() and found.language.islower())
    if content.isascii() and not any(mark in content for mark in CHARSET_MARKS):
        _plain(content)


def _plain(content: bytes) -> None:
    one, other = (_digest(content, content_type) for content_type in ASCII_TWINS)
    marked = _digest(b"\xef\xbb\xbf" + content, ASCII_TWINS[0])
    for twin in (other, marked):
        assert msgspec.structs.replace(twin, charset=one.charset) == one


@cache
def _rules() -> LinkRules:
    return LinkRules(scope=compile_scope(Scope(mode="any"), ()))


@cache
def _remembering() -> LinkReader:
    return LinkReader(_rules(), Hooks())


def _digest(body: bytes, content_type: str, reader: LinkReader | None = None) -> Digest:
    job = Job(
        id=7, kind=Kind.PAGE, url="http://example.org/a/page", key="org,example)/a/page http", depth=1,
        date=1_790_000_000.0, status=200, headers=(("content-type", content_type),), request_bytes=b"", head_bytes=b"",
        payload=body, framed=None, content_encoding=(), truncated="", address="192.0.2.1", http_version="HTTP/1.1",
        tls_version="", tls_cipher="", payload_digest="",
    )  # fmt: skip
    return parse(job, _rules(), Hooks(), reader)


def seeds() -> Iterator[bytes]:
    """Pages of the fact files."""
    for name in ("links", "base_url", "meta_refresh", "meta_robots", "encoding"):
        for line in (CASES / "html" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            html = case.get("html", "")
            coded = html["b64"] if isinstance(html, dict) else case.get("html_b64") or case.get("body_b64")
            page = base64.b64decode(coded) if coded else html.encode("utf-8", "surrogatepass")
            if page:
                yield from seed(page, bytes((1,)))


HTML = Target("html", check, seeds, 150, amplified_bytes=480_000, input_max_bytes=3072)
