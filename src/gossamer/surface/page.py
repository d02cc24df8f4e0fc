"""A committed page as the library and the sinks see it."""

from __future__ import annotations

from gossamer.adapters.decode import decode_body
from gossamer.adapters.digest import charset
from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.nesting import bounded
from gossamer.adapters.digest.text import main_text
from gossamer.core.partition import Committed
from gossamer.model.config import Config
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.policy.bodies import body_max_bytes


class Page:
    """One visit of the crawl, committed: it is in the archive and in the URL table."""

    def __init__(self, committed: Committed, config: Config) -> None:
        """Wrap what the commit brought; decoding and text extraction happen when they are asked for."""
        self._outcome = committed.outcome
        self._digest = committed.digest
        self._config = config
        self.event: FetchEvent = committed.event  # everything that the crawl log says of the visit

    @property
    def url(self) -> str:
        """The address as it went over the wire."""
        return self.event.url

    @property
    def kind(self) -> Kind:
        """Page, robots.txt, sitemap or probe."""
        return self.event.kind

    @property
    def status(self) -> int:
        """HTTP status."""
        return self.event.status

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Header fields in the order received; names in lower case."""
        return self._outcome.headers

    @property
    def raw(self) -> bytes:
        """The body as received, after de-chunking, content-encoding intact."""
        return self._outcome.payload

    @property
    def body(self) -> bytes:
        """The body decoded, as far as it can be, within `fetch.max_body`; of a sitemap within 50 MiB."""
        limit = body_max_bytes(self.kind, self._config.fetch.max_body_bytes)
        return decode_body(self._outcome.payload, self._outcome.content_encoding, limit).body

    @property
    def text(self) -> str:
        """The main text of an HTML page, without boilerplate; "" for other types."""
        if self._digest.media_type not in ("text/html", "application/xhtml+xml"):
            return ""
        body = self.body
        markup, _ = bounded(charset.decode(body, self._digest.charset or "utf-8"), body)
        tree = parse_html(markup)
        return main_text(tree, scan(tree, markup))

    @property
    def title(self) -> str:
        """Title of an HTML page."""
        return self._digest.title

    @property
    def language(self) -> str:
        """ISO 639-1 code, or ""."""
        return self._digest.language

    @property
    def links(self) -> tuple[str, ...]:
        """Links in scope, in page order by host, wire form."""
        return tuple(wire for group in self._digest.links for wire, _ in group.links)

    @property
    def verdict(self) -> str:
        """What the crawl made of it: new, changed, unchanged, duplicate, redirect, error, ..."""
        return self.event.verdict

    @property
    def extra(self) -> dict[str, str]:
        """What digest hooks returned for the page."""
        return self._digest.extra
