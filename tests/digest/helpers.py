"""Jobs as the fetching side would make them, and digests of them without a worker."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastwarc.warc import ArchiveIterator, WarcRecordType

from gossamer.adapters.digest.hooks import Hooks
from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.parse import parse
from gossamer.model.config import Scope
from gossamer.model.page import Digest, Job, Kind
from gossamer.model.url import Url
from gossamer.model.url import parse as parse_url
from gossamer.policy.scope import compile_scope

CASES = Path(__file__).parent.parent / "cases"
NOW = 1_790_000_000.0  # in 2026
ANY = LinkRules(scope=compile_scope(Scope(mode="any"), ()))


def cases(name: str) -> list[dict[str, Any]]:
    with (CASES / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def as_bytes(value: Any, encoding: str = "utf-8") -> bytes:
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else str(value).encode(encoding)


def url_of(text: str) -> Url:
    url = parse_url(text)
    assert isinstance(url, Url), text
    return url


def job(payload: bytes, url: str = "http://example.org/page", content_type: str = "text/html", **changes: Any) -> Job:
    known = parse_url(url)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(payload)}\r\n\r\n".encode()
    fields: dict[str, Any] = {
        "id": 7,
        "kind": Kind.PAGE,
        "url": known.wire if isinstance(known, Url) else url,
        "key": known.key if isinstance(known, Url) else "",
        "depth": 1,
        "date": NOW,
        "status": 200,
        "headers": (("content-type", content_type),) if content_type else (),
        "request_bytes": b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "head_bytes": head,
        "payload": payload,
        "framed": None,
        "content_encoding": (),
        "truncated": "",
        "address": "127.0.0.1",
        "http_version": "HTTP/1.1",
        "tls_version": "",
        "tls_cipher": "",
        "payload_digest": "sha1:" + base64.b32encode(hashlib.sha1(payload).digest()).decode(),
    }
    return Job(**fields | changes)


def digest(payload: bytes | str, rules: LinkRules = ANY, hooks: Hooks | None = None, **changes: Any) -> Digest:
    if isinstance(payload, str):
        payload = payload.encode()
        changes.setdefault("content_type", "text/html; charset=utf-8")
    return parse(job(payload, **changes), rules, hooks or Hooks())


def links(found: Digest) -> list[str]:
    return [wire for group in found.links for wire, _ in group.links]


def words(count: int, seed: int = 0) -> Iterator[str]:
    """Words that look like a text, the same for the same seed."""
    state = seed * 2_654_435_761 + 12_345
    for _ in range(count):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        yield f"w{(state >> 8) % 5_000}"


def page(number: int | str) -> Job:
    text = " ".join(words(120, len(str(number))))
    body = f"<html lang=en><title>Page {number}</title><p>{text} {number}</p><a href=/next{number}>x</a></html>"
    return job(body.encode(), f"http://example.org/{number}", "text/html; charset=utf-8", id=hash(number) & 0xFFFF)


def targets(directory: Path) -> list[str]:
    """URLs of all responses in all segments, finished or not."""
    found = []
    for path in sorted(directory.glob("*.warc.gz*")):
        if path.suffix != ".cdxj":
            with path.open("rb") as stream:
                records = ArchiveIterator(stream, record_types=WarcRecordType.response)
                found += [record.headers["WARC-Target-URI"] for record in records]
    return found
