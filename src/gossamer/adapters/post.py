"""One POST over HTTP/1.1, whole within a deadline: messages to servers that the operator has named, never to the web.

No redirect is followed, no proxy is asked, nothing is tried twice: that is for the caller to decide.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

import h11
import msgspec

ANSWER_MAX_BYTES: Final = 64 * 1024
_RECEIVE_BYTES: Final = 16 * 1024


class Answer(msgspec.Struct, frozen=True):
    """What came back."""

    status: int
    headers: dict[str, str]  # names in lower case; of those that come twice the last
    body: bytes


async def post(url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float) -> Answer:
    """Send a message and take the answer.

    Raises OSError when nothing comes of it: no connection, no valid certificate, no HTTP, an answer of more than
    ANSWER_MAX_BYTES, or not all of it within the time (TimeoutError, which is one).
    """
    parts = urlsplit(url)
    context = ssl.create_default_context() if parts.scheme == "https" else None
    async with asyncio.timeout(timeout_s):
        port = parts.port or (443 if context else 80)
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
        try:
            return await _exchange(reader, writer, _request(parts, body, headers), body)
        except h11.ProtocolError as error:
            raise ConnectionError(f"the answer is no HTTP: {error}") from error
        finally:
            writer.transport.abort()


def _request(parts: SplitResult, body: bytes, headers: Mapping[str, str]) -> h11.Request:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fixed = [("Host", parts.netloc), ("Content-Length", str(len(body))), ("Connection", "close")]
    return h11.Request(method="POST", target=target, headers=[*fixed, *headers.items()])


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: h11.Request, body: bytes
) -> Answer:
    connection = h11.Connection(h11.CLIENT)
    for part in (request, h11.Data(data=body), h11.EndOfMessage()):
        writer.write(connection.send(part) or b"")
    await writer.drain()
    status, taken = 0, bytearray()
    headers: dict[str, str] = {}
    while True:
        event = connection.next_event()
        if event is h11.NEED_DATA:
            connection.receive_data(await reader.read(_RECEIVE_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in event.headers}
        elif isinstance(event, h11.Data):
            taken += event.data
            if len(taken) > ANSWER_MAX_BYTES:
                raise ConnectionError(f"the answer is longer than {ANSWER_MAX_BYTES} bytes")
        elif isinstance(event, h11.EndOfMessage):
            return Answer(status, headers, bytes(taken))
        elif isinstance(event, h11.ConnectionClosed):
            raise ConnectionError("the connection was closed without an answer")
