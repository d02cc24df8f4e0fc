"""Drives a real Chromium over its debugging pipe: one page, its keys, scripts and pictures, what it requests."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ANSWER_MAX_S = 30.0
GONE = "navigated or closed"  # what the browser says of a script whose page has made way for another
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions",
    "--disable-sync", "--ignore-certificate-errors", "--remote-debugging-pipe",
)  # fmt: skip


class PageGoneError(Exception):
    """Another page came while a script ran."""


class Browser:
    """A headless browser with an empty profile. A context manager."""

    def __init__(self, program: str, folder: Path) -> None:
        """`program` is the path of a Chromium; its profile is kept in `folder`."""
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4; a shell puts them there.
        script = f'exec "$0" "$@" 3<&{to_read} 4>&{to_write}'
        command = ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        with (folder.parent / "chromium.log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, pass_fds=(to_read, to_write))
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._buffer = b""
        self._session = ""
        self.requested: list[str] = []  # URLs, in order
        self.said: list[str] = []  # errors of scripts and of the content security policy
        targets = self.call("Target.getTargets")["targetInfos"]
        target = next(one["targetId"] for one in targets if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol and its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + ANSWER_MAX_S
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self._number:
                error = answer.get("error")
                if error is not None and GONE in error["message"]:
                    raise PageGoneError(f"{method}: {error['message']}")
                assert error is None, f"{method}: {error}"
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            assert left > 0, "the browser does not answer"
            if select.select([self._read], [], [], left)[0]:
                part = os.read(self._read, 1 << 16)
                assert part, "the browser is gone"
                self._buffer += part
        raw, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(raw)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            case "Runtime.exceptionThrown":
                self.said.append(str(message["params"]["exceptionDetails"].get("exception", "")))
            case "Log.entryAdded":
                self.said.append(message["params"]["entry"]["text"])

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=scheme)

    def open(self, url: str) -> None:
        """Load a page and wait until it stands."""
        self.call("Page.navigate", url=url)
        self.until(f"document.readyState === 'complete' && location.href !== 'about:blank' && {json.dumps(url)} !== ''")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def leave(self, script: str) -> None:
        """Run what leads to another page, which may be there before the answer."""
        with contextlib.suppress(PageGoneError):
            self.run(script)

    def until(self, script: str, wait_s: float = 20.0) -> Any:
        """Wait until an expression is true, on whatever page is there by then; its value."""
        deadline = time.monotonic() + wait_s
        while True:
            try:
                result = self.call("Runtime.evaluate", expression=script, returnByValue=True)
            except PageGoneError:
                result = {"exceptionDetails": "another page is there now"}
            value = result["result"].get("value") if "exceptionDetails" not in result else None
            if value:
                return value
            assert time.monotonic() < deadline, f"never true: {script}"
            time.sleep(0.05)

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key: "Tab", "Enter", ..."""
        codes = {"Tab": 9, "Enter": 13, "Space": 32}
        parameters = {"key": key, "code": key, "windowsVirtualKeyCode": codes.get(key, 0)}
        letter = text or {"Enter": "\r", "Space": " "}.get(key, "")
        self.call("Input.dispatchKeyEvent", type="keyDown" if letter else "rawKeyDown", text=letter, **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", **parameters)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.call("Input.insertText", text=text)

    def picture(self, path: Path) -> Path:
        """A picture of the whole page."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(data))
        return path

    def heard(self) -> list[tuple[str, str]]:
        """What a screen reader is told: (role, name) of everything that is not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node.get("ignored")
        ]
