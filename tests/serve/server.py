"""The real application behind real sockets, in a thread beside the test, and a client that hides nothing."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.ports.control import Control
from gossamer.serve.api import Api
from gossamer.serve.app import make_app
from gossamer.serve.audit import AuditLog
from gossamer.serve.crawls import Crawls
from gossamer.serve.door import Door
from gossamer.serve.listen import Address, config_of, open_socket, server_of
from gossamer.serve.pages import page_routes
from gossamer.serve.tokens import Role, TokenBook


@dataclass
class Answer:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def fault(self) -> dict[str, str]:
        """The first fault of a refusal."""
        assert self.json["status"] == self.status
        found: dict[str, str] = self.json["faults"][0]
        return found

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass
class Running:
    """A server in a thread."""

    directories: list[Path]
    control: Control
    home: Path
    is_open: bool = False
    names: tuple[str, ...] = ()
    tokens: dict[str, str] = field(default_factory=dict)  # role -> secret

    def __post_init__(self) -> None:
        book = TokenBook(self.home)
        if not self.is_open:
            self.tokens = {role.value: book.create(role.value, role, time.time()) for role in Role}
        self.audit = AuditLog(self.home)
        self._before = 0
        crawls = Crawls(self.directories, lambda _: self.control)
        self.api = Api(crawls, Door(book, self.names, is_open=self.is_open), self.audit)
        self._socket = open_socket(Address("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        app = make_app(self.api, page_routes(self.api))
        self._server = server_of(app, config_of(app))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def end(self) -> None:
        if not self._thread.is_alive():
            return
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()
        self.audit.close()

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        role: str | None = "admin",
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:
        """One request on a connection of its own."""
        sent = dict(headers or {})
        if role is not None and role in self.tokens:
            sent.setdefault("Authorization", f"Bearer {self.tokens[role]}")
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **more: Any) -> Answer:
        return self.ask("GET", path, **more)

    def post(self, path: str, body: object, **more: Any) -> Answer:
        return self.ask("POST", path, body, **more)

    def connect(self) -> socket.socket:
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def audited(self) -> list[dict[str, Any]]:
        """The audit log, as far as it is this test's."""
        return [json.loads(line) for line in self.audit.path.read_text().splitlines()[self._before :]]

    def forget(self) -> None:
        """Another test begins."""
        self._before = len(self.audit.path.read_text().splitlines())
        self.audit._refused = 0
