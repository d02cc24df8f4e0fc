"""What an external fetcher says of a request, read as one of our own exchanges. Pure.

The fetcher is the operator's, but what it passes on is a stranger's: sizes, names and values are held to the same
bounds as on our own connections.
"""

from __future__ import annotations

import math
from typing import Final

from gossamer.model.control import Fetched
from gossamer.model.limits import HEAD_MAX_BYTES, HEADER_COUNT_MAX, HEADER_LINE_MAX_BYTES
from gossamer.model.page import Failure, Outcome, Request

DETAIL_MAX_CHARS: Final = 500
_TOKEN: Final = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NOT_IN_VALUES: Final = frozenset("\r\n\0")
_UNDONE: Final = frozenset(("transfer-encoding", "content-length", "trailer"))
_FAILURES: Final = {
    "connect": Failure.CONNECT,
    "timeout": Failure.TIMEOUT,
    "tls": Failure.TLS,
    "disconnected": Failure.DISCONNECTED,
    "protocol": Failure.PROTOCOL,
    "not-tried": Failure.CUT_OFF,
}


def fault_of(fetched: Fetched, request: Request) -> str:
    """What is wrong with a result, in words; "" when nothing is."""
    if bool(fetched.failure) == bool(fetched.status):
        return "a result has either a status or a failure"
    if fetched.failure:
        return "" if not fetched.body else "what failed has no body"
    if not 100 <= fetched.status <= 999:
        return f"status {fetched.status} is none"
    if len(fetched.body) > request.body_max_bytes:
        return f"the body has more than {request.body_max_bytes:,} bytes: cut it there and say truncated: length"
    if max(len(fetched.request_head), len(fetched.response_head)) > HEAD_MAX_BYTES:
        return f"a head has more than {HEAD_MAX_BYTES:,} bytes"
    for head, start in ((fetched.request_head, b"GET "), (fetched.response_head, b"HTTP/")):
        if head and not (head.startswith(start) and head.endswith((b"\r\n\r\n", b"\n\n"))):
            return f"a head begins with {start.decode()!r} and ends with an empty line"
    return _header_fault(fetched.headers)


def _header_fault(headers: tuple[tuple[str, str], ...]) -> str:
    if len(headers) > HEADER_COUNT_MAX or sum(len(name) + len(value) for name, value in headers) > HEAD_MAX_BYTES:
        return f"more than {HEADER_COUNT_MAX} headers, or {HEAD_MAX_BYTES:,} bytes of them"
    for name, value in headers:
        if not name or not _TOKEN.issuperset(name):
            return f"{name[:80]!r} is no header name"
        if len(value) > HEADER_LINE_MAX_BYTES or not _NOT_IN_VALUES.isdisjoint(value):
            return f"the value of {name[:80]} is too long, or has a line end in it"
    return ""


def outcome_of(fetched: Fetched, request: Request, leased: float, now: float, codings: tuple[str, ...]) -> Outcome:
    """A result that has no fault as an outcome. Times are ours, within what the fetcher can have taken.

    Args:
        fetched: the result.
        request: what was leased.
        leased: when, unix seconds.
        now: unix seconds.
        codings: those of its content codings that its body really has.
    """
    elapsed_s = fetched.elapsed_s if math.isfinite(fetched.elapsed_s) else 0.0
    elapsed_s = min(max(0.0, elapsed_s), now - leased)
    started = fetched.started if leased <= fetched.started <= now else now - elapsed_s
    if fetched.failure:
        return Outcome(
            failure=_FAILURES[fetched.failure],
            failure_detail=_one_line(fetched.failure_detail) or f"the external fetcher says: {fetched.failure}",
            address=request.address,
            started=started,
            elapsed_s=elapsed_s,
        )
    headers = tuple((name.lower(), value.strip(" \t")) for name, value in fetched.headers)
    head = fetched.response_head or _head(fetched)
    chunked = any(name == "transfer-encoding" and "chunked" in value.lower() for name, value in headers)
    framed = None
    if chunked and fetched.response_head:  # the head that is kept says so: the body is framed as it says
        framed = (b"%x\r\n%s\r\n" % (len(fetched.body), fetched.body) if fetched.body else b"") + b"0\r\n\r\n"
    return Outcome(
        status=fetched.status,
        reason=_one_line(fetched.reason),
        http_version="HTTP/1.1",
        headers=headers,
        request_bytes=fetched.request_head or _request(request),
        head_bytes=head,
        payload=fetched.body,
        framed=framed,
        content_encoding=codings,
        truncated=fetched.truncated,
        address=request.address,
        tls_version=_one_line(fetched.tls_version),
        tls_cipher=_one_line(fetched.tls_cipher),
        started=started,
        first_byte_s=elapsed_s,
        elapsed_s=elapsed_s,
        wire_bytes=len(head) + len(fetched.body),
    )


def _head(fetched: Fetched) -> bytes:
    """A response head from its parts. How the body was framed is left out: it is not any more."""
    reason = _one_line(fetched.reason)
    lines = [f"HTTP/1.1 {fetched.status} {reason}".rstrip()]
    lines += [f"{name}: {value}" for name, value in fetched.headers if name.lower() not in _UNDONE]
    lines.append(f"Content-Length: {len(fetched.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _request(request: Request) -> bytes:
    usual = 443 if request.scheme == "https" else 80
    host = request.name if request.port == usual else f"{request.name}:{request.port}"
    lines = [f"GET {request.target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "replace")


def _one_line(text: str) -> str:
    return " ".join(text.split())[:DETAIL_MAX_CHARS]
