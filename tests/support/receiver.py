"""A real HTTP server on loopback to which things are posted: it keeps what it got, and answers as it is told."""

from __future__ import annotations

import hashlib
import hmac
import http.server
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

SIGNATURE = "X-Gossamer-Signature"


class Got(NamedTuple):
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Says:
    """One answer."""

    status: int = 204
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    after_s: float = 0.0


class Receiver(http.server.ThreadingHTTPServer):
    """Gives the answers it is told to give, in their order, then `default` again and again."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.got: list[Got] = []
        self.answers: list[Says] = []
        self.default = Says()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is none of ours."""

    def wait(self, count: int, within_s: float = 30.0) -> list[Got]:
        """What it got, once that is as much as this."""
        deadline = time.monotonic() + within_s
        while len(self.got) < count:
            assert time.monotonic() < deadline, self.got
            time.sleep(0.02)
        return self.got


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver = self.server
        assert isinstance(receiver, Receiver)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.got.append(Got(self.path, dict(self.headers.items()), body))
        says = receiver.answers.pop(0) if receiver.answers else receiver.default
        time.sleep(says.after_s)
        self.send_response(says.status)
        for name, value in says.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(says.body)))
        self.end_headers()
        self.wfile.write(says.body)

    do_GET = do_POST  # noqa: N815

    def log_message(self, *_arguments: object) -> None:
        """Say nothing."""


@contextmanager
def receiving(port: int = 0, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver that listens."""
    server = Receiver(port)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def is_signed(got: Got, secret: bytes, *, within_s: float = 300.0) -> bool:
    """What a receiver should check: the signature, and that it is not old."""
    parts = dict(part.split("=", 1) for part in got.headers[SIGNATURE].split(","))
    expected = hmac.new(secret, parts["t"].encode() + b"." + got.body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(parts["v1"], expected) and abs(time.time() - int(parts["t"])) <= within_s
