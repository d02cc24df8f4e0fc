"""URLs: parsing, canonical form, key, and the key under which replay tools look them up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from unicodedata import category

from gossamer.adapters.warc.surt import general, surt
from gossamer.model.limits import URL_INPUT_MAX_CHARS
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url, key_host_prefix, parse, serialize, site_of, wire_parts
from gossamer.policy.shapes import shape_of
from gossamer.policy.traps import static_trap
from gossamer.policy.types import unwanted_type_of
from tests.fuzz.harness import CASES, Target, seed, text_of

EXPANSION = 9  # most characters of an escaped one: %F0%9F%98%80 is twelve for two, but never more than nine for one


def check(control: bytes, content: bytes) -> None:
    """Text, or base and text on two lines. Nothing raises; the canonical form is a fixed point with the same key, host
    and site; the wire form parses to itself; a document's base reads a link as a single parse does; another engine
    serialises alike; nothing grows beyond its escapes; the replay key is one ASCII word, the same by both its ways.
    """
    first, newline, second = content.partition(b"\n")
    text, base = (text_of(second), text_of(first)) if newline else (text_of(first), None)
    url = parse(text, base)
    _agrees_with_another(text)
    if base is not None and len(text) <= URL_INPUT_MAX_CHARS and serialize(base) is not None:
        assert Base(base).parse(text) == url
        Base(base, ("gbk", "shift_jis", "iso-2022-jp", "windows-1252")[control[0] % 4]).parse(text)
    if isinstance(url, Reason):
        assert url in {Reason.URL_INVALID, Reason.URL_SCHEME, Reason.URL_TOO_LONG}
        return
    _is_final(url)
    assert len(url.wire) <= EXPANSION * (len(text) + len(base or "")) + 16
    static_trap(url, 3, 16, seed=False, via=base, year_now=2026)
    shape_of(url.canonical)
    unwanted_type_of(url)
    key = surt(url.wire)
    assert key == general(url.wire)
    assert key.isascii()
    assert not set(key) & set(" \n\r\t")


def _is_final(url: Url) -> None:
    again = parse(url.canonical)
    assert isinstance(again, Url)
    assert again.wire == url.canonical
    assert (again.canonical, again.key, again.surt) == (url.canonical, url.key, url.surt)
    assert (again.host, again.site) == (url.host, url.site)
    assert parse(url.wire) == url
    assert url.canonical.isascii()
    assert not set(url.canonical) & set(" \n\r\t#")
    assert url.key.startswith(key_host_prefix(url.host) + "/")
    assert url.key.removesuffix(" http") == url.surt
    assert url.key.endswith(" http") == (url.scheme == "http")
    scheme, name, port, target = wire_parts(url.wire)
    assert scheme == url.scheme
    assert name
    assert 0 <= port < 65536
    assert target.startswith("/")
    assert not set(target + name) & set(" \n\r\t#")
    assert site_of(url.site) == url.site


@cache
def _other() -> ModuleType | None:
    try:
        return import_module("ada_url")
    except ImportError:
        return None


def _agrees_with_another(text: str) -> None:
    """Surrogates aside, which neither takes, and unassigned characters, where their Unicode versions differ."""
    other = _other()
    if other is None or len(text) > URL_INPUT_MAX_CHARS:
        return
    if not text.isascii() and any(category(char) in {"Cs", "Cn"} for char in text):
        return
    try:
        href = other.URL(text).href
    except ValueError:
        href = None
    assert serialize(text) == href


def seeds() -> Iterator[bytes]:
    """What the standard's tests parse, and the groups of equal URLs."""
    for line in (CASES / "url" / "whatwg.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if isinstance(case.get("input"), str):
            base = case.get("base") or ""
            text = case["input"].encode("utf-8", "surrogatepass")
            if "\n" in base or (b"\n" in text and not base):
                continue
            yield from seed((base.encode("utf-8", "surrogatepass") + b"\n" if base else b"") + text)
    for line in (CASES / "url" / "equal_groups.jsonl").read_text(encoding="utf-8").splitlines():
        for text in json.loads(line).get("inputs", []):
            yield from seed(str(text["input"]).encode())


URL = Target("url", check, seeds, 700, input_max_bytes=256)
