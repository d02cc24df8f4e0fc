"""Building the records of one page: response or revisit, request, metadata; and the warcinfo of a segment.

WARC/1.1 (ISO 28500:2017). Values come from the web: whatever goes into a header field is made one line here.
Not here: compression (`members`), files (`writer`).
"""

from __future__ import annotations

import functools
import ipaddress
import os
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gossamer.adapters.warc import block
from gossamer.adapters.warc.parse import sha1
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import WARC_FIELD_MAX_CHARS, WARC_FIELDS_MAX, WARC_URI_MAX_BYTES
from gossamer.model.page import Job, Original

PROFILE_IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
PROFILE_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
EMPTY_DIGEST = sha1(b"")
ENTITY_DIGEST = "X-Entity-Digest"  # stands in for WARC-Payload-Digest where `block.is_plain` says so

_END = b"\r\n\r\n"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PROTOCOLS = {"http/0.9", "http/1.0", "http/1.1"}
_TLS = {
    "SSLv2": "ssl/2",
    "SSLv3": "ssl/3",
    "TLSv1": "tls/1.0",
    "TLSv1.0": "tls/1.0",
    "TLSv1.1": "tls/1.1",
    "TLSv1.2": "tls/1.2",
    "TLSv1.3": "tls/1.3",
}
_TRUNCATED = {"length", "time", "disconnect", "unspecified"}
# Everything but visible ASCII is escaped, and the brackets in which some writers wrongly wrapped the URI.
_URI_UNSAFE = frozenset(range(0x21)) | frozenset(range(0x7F, 0x100)) | frozenset(b"<>")
_ONE_LINE = dict.fromkeys([*range(0x20), 0x7F, 0x85, 0x2028, 0x2029], " ")
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_NAME_MAX_CHARS = 64


class Built(NamedTuple):
    """One record, not yet compressed."""

    kind: str  # WARC-Type
    data: bytes
    coded_from: int | None = None  # from this byte on, a compressed entity


def uri(url: str) -> str:
    """`url` as WARC-Target-URI takes it: visible ASCII without spaces or angle brackets, the rest %-escaped.

    Raises ArchiveError when it is empty or longer than WARC_URI_MAX_BYTES.
    """
    raw = url.encode("utf-8", "surrogatepass")
    if not _URI_UNSAFE.isdisjoint(raw):
        raw = b"".join(b"%%%02X" % byte if byte in _URI_UNSAFE else bytes((byte,)) for byte in raw)
    if not 0 < len(raw) <= WARC_URI_MAX_BYTES:
        raise ArchiveError(f"URL of {len(raw)} bytes cannot be archived: 1 to {WARC_URI_MAX_BYTES} are allowed")
    return raw.decode("ascii")


def warc_date(seconds: float) -> str:
    """Unix seconds as a WARC-Date: UTC to the microsecond (WARC/1.1, section 5.4)."""
    moment = _EPOCH + timedelta(microseconds=round(seconds * 1_000_000))
    return moment.isoformat(timespec="microseconds")[:26] + "Z"


def one_line(value: str) -> str:
    """`value` without line breaks and other control characters, bounded."""
    text = value[:WARC_FIELD_MAX_CHARS]
    return (text if text.isprintable() else text.translate(_ONE_LINE)).strip()


def warc_fields(fields: Mapping[str, str]) -> bytes:
    """An application/warc-fields block. Empty values are left out; names are cut to token characters.

    Raises ArchiveError for more than WARC_FIELDS_MAX fields.
    """
    if len(fields) > WARC_FIELDS_MAX:
        raise ArchiveError(f"{len(fields)} metadata fields for one page: at most {WARC_FIELDS_MAX} are allowed")
    lines: list[str] = []
    for name, value in fields.items():
        token = name[:_NAME_MAX_CHARS]
        if not _NAME_CHARS.issuperset(token):
            token = "".join(char if char in _NAME_CHARS else "-" for char in token)
        text = one_line(value)
        if token and text:
            lines.append(f"{token}: {text}\r\n")
    return "".join(lines).encode("utf-8", "replace")


def warcinfo(filename: str, date: float, fields: Mapping[str, str]) -> bytes:
    """The warcinfo record that opens the segment `filename`."""
    return _record(
        "warcinfo",
        _new_id(),
        [("WARC-Date", warc_date(date)), ("WARC-Filename", one_line(filename))],
        "application/warc-fields",
        warc_fields(fields),
    ).data


def page(job: Job, metadata: Mapping[str, str], *, noarchive: bool = False) -> list[Built]:
    """The records of one visit, the one that its pointer names first.

    That is a revisit when the job says so and has the earlier capture, and its payload is not empty; else a
    response. With `noarchive` there is a metadata record only. Raises ArchiveError for a URL that cannot be archived.
    """
    head = block.replayable(job.head_bytes, job.status)
    common = [("WARC-Target-URI", uri(job.url)), ("WARC-Date", warc_date(job.date))]
    address = _address(job.address)
    facts = dict(metadata)
    if head.repairs:
        facts["head-repair"] = " ".join(head.repairs)
    facts |= {"via": job.via, "fetchTimeMs": str(round(job.elapsed_s * 1000)), "depth": str(job.depth)}
    if noarchive:
        facts |= {"status": str(job.status), "noarchive": "true"}
        return [_record("metadata", _new_id(), [*common, *address], "application/warc-fields", warc_fields(facts))]
    main_id, request_id = _new_id(), _new_id()
    connection = [*address, *_connection(job)]
    built = [_main(job, head.stored, main_id, [*common, *connection, ("WARC-Concurrent-To", request_id)])]
    beside = [*common, ("WARC-Concurrent-To", main_id)]
    message = "application/http; msgtype=request"
    built.append(_record("request", request_id, [*beside, *connection], message, job.request_bytes))
    built.append(_record("metadata", _new_id(), beside, "application/warc-fields", warc_fields(facts)))
    return built


def revisit_of(job: Job) -> Original | None:
    """The earlier capture that the job's record will refer to, or None when it will be a response in full."""
    original = job.original
    if original is None or not original.digest or original.digest == EMPTY_DIGEST:
        return None
    if job.revisit == "not-modified":
        return original
    return original if job.revisit == "identical" and job.payload else None


def _main(job: Job, head: bytes, record_id: str, fields: list[tuple[str, str]]) -> Built:
    if job.truncated:
        fields.append(("WARC-Truncated", job.truncated if job.truncated in _TRUNCATED else "unspecified"))
    message = "application/http; msgtype=response"
    original = revisit_of(job)
    if original is not None:
        fields += [
            ("WARC-Profile", PROFILE_IDENTICAL if job.revisit == "identical" else PROFILE_NOT_MODIFIED),
            ("WARC-Refers-To-Target-URI", uri(original.url)),
            ("WARC-Refers-To-Date", warc_date(original.date)),
            ("WARC-Payload-Digest", one_line(original.digest)),
        ]
        return _record("revisit", record_id, fields, message, head)
    # The entity's digest goes with every response; under its standard name where all readers agree on the entity.
    name = "WARC-Payload-Digest" if block.is_plain(job, head) else ENTITY_DIGEST
    fields.append((name, one_line(job.payload_digest) or sha1(job.payload)))
    body = job.payload if job.framed is None else job.framed
    built = _record("response", record_id, fields, message, head + body)
    return built._replace(coded_from=len(built.data) - len(_END) - len(body)) if job.content_encoding else built


def _connection(job: Job) -> list[tuple[str, str]]:
    version = job.http_version.strip().lower()
    if version in {"h2", "http/2", "http/2.0"}:
        version = "h2"
    protocols = [version] if version == "h2" or version in _PROTOCOLS else []
    if job.tls_version in _TLS:
        protocols.append(_TLS[job.tls_version])
    fields = [("WARC-Protocol", protocol) for protocol in protocols]
    if job.tls_cipher:
        fields.append(("WARC-Cipher-Suite", one_line(job.tls_cipher)))
    return fields


@functools.lru_cache(maxsize=1024)
def _address(text: str) -> tuple[tuple[str, str], ...]:
    try:
        return (("WARC-IP-Address", str(ipaddress.ip_address(text.strip("[]").partition("%")[0]))),)
    except ValueError:
        return ()  # a proxy resolved the name: the address is not known


def _new_id() -> str:
    # A version 4 UUID (RFC 9562) spelled by hand: a third of what the uuid module takes, three times a page.
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def _record(kind: str, record_id: str, fields: list[tuple[str, str]], media_type: str, block_bytes: bytes) -> Built:
    lines = [f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n"]
    lines += [f"{name}: {value}\r\n" for name, value in fields]
    lines.append(f"WARC-Block-Digest: {sha1(block_bytes)}\r\n")
    lines.append(f"Content-Type: {media_type}\r\nContent-Length: {len(block_bytes)}\r\n\r\n")
    return Built(kind, b"".join(("".join(lines).encode("utf-8", "replace"), block_bytes, _END)))
