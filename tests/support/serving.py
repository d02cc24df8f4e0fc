"""`gossamer serve` as a process, and its API as a person with a token uses it."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gossamer.serve.tokens import Role, TokenBook
from tests.support.chromium import Browser
from tests.support.crawl import end_group, program

START_MAX_S = 30.0


class Serving:
    """A server over some crawls, with a token for each role. A context manager."""

    def __init__(self, home: Path, *directories: Path, flags: tuple[str, ...] = (), tokens: bool = True) -> None:
        self.home = home
        book, now = TokenBook(home), time.time()
        self.tokens = {role.value: book.create(role.value, role, now) for role in Role} if tokens else {}
        listen = [] if "--listen" in flags else ["--listen", "127.0.0.1:0"]
        self._log = home.parent / f"{home.name}.out"
        with self._log.open("wb") as output:
            command = [*program(), "serve", *map(str, directories), "--home", str(home), *listen, *flags]
            self._process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        self.base = self._wait()

    def _wait(self) -> str:
        deadline = time.monotonic() + START_MAX_S
        while True:
            found = re.search(r"listening at (\S+?)/?\n", self.output)
            if found:
                return found[1]
            assert self._process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)

    @property
    def output(self) -> str:
        """What the server printed so far."""
        return self._log.read_text()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end_group(self._process, signal.SIGKILL)
        self._process.wait()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self._process.send_signal(number)
        return self._process.wait(20)

    def ask(self, method: str, path: str, body: object = None, role: str = "admin") -> tuple[int, Any]:
        """Status and JSON of one request."""
        connection = http.client.HTTPConnection(self.base.partition("//")[2], timeout=60)
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role in self.tokens else {}
        data = None
        if body is not None:
            data, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text else None
        finally:
            connection.close()

    def get(self, path: str, role: str = "read") -> Any:
        """What is answered to a look that succeeds."""
        status, value = self.ask("GET", path, role=role)
        assert status == 200, (status, value)
        return value

    def do(self, method: str, path: str, body: object, role: str = "operate") -> Any:
        """What is answered to a change that is made."""
        status, value = self.ask(method, path, body, role)
        assert status in (200, 202), (status, value)
        return value

    def audited(self) -> list[dict[str, Any]]:
        """The audit log."""
        return [json.loads(line) for line in (self.home / "audit.jsonl").read_text().splitlines()]


def log_in(browser: Browser, base: str, token: str) -> None:
    """Log in to the dashboard by keyboard alone: the field has the focus."""
    browser.open(f"{base}/login")
    browser.until("document.activeElement.name === 'token'")
    browser.type(token)
    browser.press("Enter")
    browser.until(
        "location.pathname === '/' && document.readyState === 'complete' && !!document.querySelector('.tiles')"
    )
