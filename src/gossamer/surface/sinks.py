"""Sinks: what installed distributions want done with every committed page (entry points of `gossamer.sinks`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gossamer.adapters.digest.hooks import load
from gossamer.core.partition import Committed
from gossamer.model.config import Config

GROUP: Final = "gossamer.sinks"


class Sinks:
    """Calls every sink with every committed page, in the main process: a sink must return quickly."""

    def __init__(self, config: Config, count_error: Callable[[str], None]) -> None:
        """Load the sinks. Raises ConfigError for one that cannot be loaded."""
        self._config = config
        self._count_error = count_error
        self._sinks = load(GROUP)

    @property
    def wanted(self) -> bool:
        """Whether anybody takes pages."""
        return bool(self._sinks)

    def give(self, committed: Committed) -> None:
        """A sink that raises costs the page a counted error `sink:NAME`, not the crawl."""
        if not self._sinks:
            return
        from gossamer.surface.page import Page  # with it come 30 MB of parsers, which only sinks need here

        page = Page(committed, self._config)
        for name, sink in self._sinks:
            try:
                sink(page)
            except (Exception, SystemExit):  # noqa: BLE001 - somebody else's code; counted and shown in the report
                self._count_error(f"sink:{name}")
