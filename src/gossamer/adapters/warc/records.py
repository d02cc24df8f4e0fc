"""Building the records of one page: response or revisit, request, metadata; and the warcinfo of a segment.

WARC/1.1 (ISO 28500:2017). Values come from the web: whatever goes into a header field is made one line here.
Not here: compression (`members`), files (`writer`).
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gossamer.adapters.warc import block
from gossamer.adapters.warc.parse import sha1
from gossamer.model.errors import ArchiveError
from gossamer.model.limits import WARC_FIELD_MAX_CHARS, WARC_FIELDS_MAX, WARC_URI_MAX_BYTES
from gossamer.model.page import Job
from gossamer.policy.revisits import revisit_of

PROFILE_IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
PROFILE_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
ENTITY_DIGEST = "X-Entity-Digest"  # stands in for WARC-Payload-Digest where `block.is_plain` says so

_FIELDS_TYPE = "application/warc-fields"
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
_URI_SAFE = re.compile(r"[!-;=?-~]+")
_ONE_LINE = dict.fromkeys([*range(0x20), 0x7F, 0x85, 0x2028, 0x2029], " ")
_NAME_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
_NAME_MAX_CHARS = 64
_OWN_FIELDS = frozenset({"via", "fetchtimems", "depth", "status", "noarchive", "head-repair"})


class Built(NamedTuple):
    """One record: its three parts, one after the other."""

    kind: str  # WARC-Type
    start: bytes
    coded: bytes = b""  # an entity that is compressed already
    end: bytes = b""

    @property
    def data(self) -> bytes:
        """The whole record."""
        return b"".join((self.start, self.coded, self.end))


def uri(url: str) -> str:
    """`url` as WARC-Target-URI takes it: visible ASCII without spaces or angle brackets, the rest %-escaped.

    Raises ArchiveError when it is empty or longer than WARC_URI_MAX_BYTES.
    """
    if _URI_SAFE.fullmatch(url) and len(url) <= WARC_URI_MAX_BYTES:
        return url
    raw = url.encode("utf-8", "surrogatepass")
    if not _URI_UNSAFE.isdisjoint(raw):
        raw = b"".join(b"%%%02X" % byte if byte in _URI_UNSAFE else bytes((byte,)) for byte in raw)
    if not 0 < len(raw) <= WARC_URI_MAX_BYTES:
        raise ArchiveError(f"URL of {len(raw)} bytes cannot be archived: 1 to {WARC_URI_MAX_BYTES} are allowed")
    return raw.decode("ascii")


def warc_date(seconds: float) -> str:
    """Unix seconds as a WARC-Date: UTC to the microsecond (WARC/1.1, section 5.4)."""
    second, micros = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{_second(second)}.{micros:06}Z"


@functools.lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19]


def one_line(value: str) -> str:
    """`value` without line breaks and other control characters, bounded."""
    text = value[:WARC_FIELD_MAX_CHARS]
    return (text if text.isprintable() else text.translate(_ONE_LINE)).strip()


def warc_fields(fields: Mapping[str, str]) -> bytes:
    """An application/warc-fields block. Empty values are left out; names are cut to token characters.

    Of names that differ in case alone, or in what was cut, the first one counts, also when its value is empty. Raises
    ArchiveError for more than WARC_FIELDS_MAX fields.
    """
    if len(fields) > WARC_FIELDS_MAX:
        raise ArchiveError(f"{len(fields)} metadata fields for one page: at most {WARC_FIELDS_MAX} are allowed")
    lines: list[str] = []
    seen: set[str] = set()
    for name, value in fields.items():
        token = _token(name)
        if not token or token.lower() in seen:
            continue
        seen.add(token.lower())
        text = one_line(value)
        if text:
            lines.append(f"{token}: {text}\r\n")
    return "".join(lines).encode("utf-8", "replace")


@functools.lru_cache(maxsize=256)
def _token(name: str) -> str:
    return _NAME_UNSAFE.sub("-", name[:_NAME_MAX_CHARS])


def warcinfo(filename: str, date: float, fields: Mapping[str, str]) -> bytes:
    """The warcinfo record that opens the segment `filename`."""
    return _record(
        "warcinfo",
        _new_ids()[0],
        f"WARC-Date: {warc_date(date)}\r\nWARC-Filename: {one_line(filename)}\r\n",
        _FIELDS_TYPE,
        warc_fields(fields),
    ).data


def page(job: Job, metadata: Mapping[str, str], *, noarchive: bool = False) -> list[Built]:
    """The records of one visit, the one that its pointer names first.

    That is a revisit when the job says so and has the earlier capture, and its payload is not empty; else a
    response. With `noarchive` there is a metadata record only. What `metadata` says under a name of ours is left out.
    Raises ArchiveError for a URL that cannot be archived.
    """
    head = block.replayable(job.head_bytes, job.status)
    common = f"WARC-Target-URI: {uri(job.url)}\r\nWARC-Date: {warc_date(job.date)}\r\n"
    address = _address(job.address)
    facts = {name: value for name, value in metadata.items() if _token(name).lower() not in _OWN_FIELDS}
    if head.repairs:
        facts["head-repair"] = " ".join(head.repairs)
    facts |= {"via": job.via, "fetchTimeMs": str(round(job.elapsed_s * 1000)), "depth": str(job.depth)}
    main_id, request_id, metadata_id = _new_ids()
    if noarchive:
        facts |= {"status": str(job.status), "noarchive": "true"}
        return [_record("metadata", metadata_id, common + address, _FIELDS_TYPE, warc_fields(facts))]
    connection = address + _connection(job.http_version, job.tls_version, job.tls_cipher)
    beside = f"{common}WARC-Concurrent-To: {main_id}\r\n"
    return [
        _main(job, head.stored, main_id, f"{common}{connection}WARC-Concurrent-To: {request_id}\r\n"),
        _record("request", request_id, beside + connection, "application/http; msgtype=request", job.request_bytes),
        _record("metadata", metadata_id, beside, _FIELDS_TYPE, warc_fields(facts)),
    ]


def _main(job: Job, head: bytes, record_id: str, fields: str) -> Built:
    if job.truncated:
        fields += f"WARC-Truncated: {job.truncated if job.truncated in _TRUNCATED else 'unspecified'}\r\n"
    message = "application/http; msgtype=response"
    original = revisit_of(job)
    if original is not None:
        fields += (
            f"WARC-Profile: {PROFILE_IDENTICAL if job.revisit == 'identical' else PROFILE_NOT_MODIFIED}\r\n"
            f"WARC-Refers-To-Target-URI: {uri(original.url)}\r\n"
            f"WARC-Refers-To-Date: {warc_date(original.date)}\r\n"
            f"WARC-Payload-Digest: {one_line(original.digest)}\r\n"
        )
        return _record("revisit", record_id, fields, message, head)
    # The entity's digest goes with every response; under its standard name where all readers agree on the entity.
    name = "WARC-Payload-Digest" if block.is_plain(job, head) else ENTITY_DIGEST
    fields += f"{name}: {one_line(job.payload_digest) or sha1(job.payload)}\r\n"
    body = job.payload if job.framed is None else job.framed
    built = _record("response", record_id, fields, message, head, body)
    return built if job.content_encoding else Built(built.kind, built.data)


@functools.lru_cache(maxsize=256)
def _connection(http_version: str, tls_version: str, tls_cipher: str) -> str:
    version = http_version.strip().lower()
    if version in {"h2", "http/2", "http/2.0"}:
        version = "h2"
    protocols = [version] if version == "h2" or version in _PROTOCOLS else []
    if tls_version in _TLS:
        protocols.append(_TLS[tls_version])
    lines = [f"WARC-Protocol: {protocol}\r\n" for protocol in protocols]
    if tls_cipher:
        lines.append(f"WARC-Cipher-Suite: {one_line(tls_cipher)}\r\n")
    return "".join(lines)


@functools.lru_cache(maxsize=1024)
def _address(text: str) -> str:
    try:
        return f"WARC-IP-Address: {ipaddress.ip_address(text.strip('[]').partition('%')[0])}\r\n"
    except ValueError:
        return ""  # a proxy resolved the name: the address is not known


def _new_ids() -> tuple[str, str, str]:
    # Version 4 UUIDs (RFC 9562) spelled by hand: a third of what the uuid module takes, three times a page.
    digits = os.urandom(48).hex()
    return _id(digits[:32]), _id(digits[32:64]), _id(digits[64:])


def _id(digits: str) -> str:
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}>"


def _record(kind: str, record_id: str, fields: str, media_type: str, block_bytes: bytes, body: bytes = b"") -> Built:
    """The record whose block is `block_bytes` and then `body`. `fields` are whole header lines."""
    header = (
        f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: {record_id}\r\n{fields}"
        f"WARC-Block-Digest: {sha1(block_bytes, body)}\r\n"
        f"Content-Type: {media_type}\r\nContent-Length: {len(block_bytes) + len(body)}\r\n\r\n"
    ).encode("utf-8", "replace")
    if body:
        return Built(kind, header + block_bytes, body, _END)
    return Built(kind, b"".join((header, block_bytes, _END)))
