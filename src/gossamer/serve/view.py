"""What a page of the dashboard is: its path, its template, what fills it, and which parts of it are kept as of now."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec

from gossamer.serve.crawls import Served

Params = Mapping[str, str]
Values = dict[str, Any]


class View(msgspec.Struct, frozen=True, kw_only=True):
    """One page."""

    path: str
    title: str
    template: str
    values: Callable[[Served, Params], Coroutine[Any, Any, Values]]
    live: tuple[str, ...] = ()  # blocks of the template that are sent anew
    every_s: float = 2.0
    fields: tuple[str, ...] = ()  # of the query, beside `crawl`
    in_menu: bool = True
