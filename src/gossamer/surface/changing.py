"""Limits, scope and seeds of a crawl changed while it runs: checked as the configuration is, and kept with it."""

from __future__ import annotations

from msgspec import UNSET, structs

from gossamer.model.config import Config
from gossamer.model.control import AddSeeds, Change, Refused, bad_value
from gossamer.model.errors import ConfigError, GossamerError
from gossamer.model.limits import LEVELS, SEEDS_AT_ONCE_MAX
from gossamer.model.page import Kind
from gossamer.model.url import Url, parse
from gossamer.policy.scope import ScopeRules, compile_scope
from gossamer.surface import settings

LIMITS = ("pages", "duration_s", "bytes", "depth", "site_pages", "continuous")
SCOPE = ("mode", "include", "exclude", "surts")


def reconfigured(config: Config, order: Change) -> Config | Refused:
    """The configuration as an order changes it, or what is wrong with the order."""
    limits = {name: getattr(order, name) for name in LIMITS if getattr(order, name) is not UNSET}
    scope = {name: getattr(order, name) for name in SCOPE if getattr(order, name) is not UNSET}
    if not limits and not scope:
        return Refused(code="bad-value", message="nothing is to be changed", allowed=", ".join((*LIMITS, *SCOPE)))
    made = structs.replace(
        config, limits=structs.replace(config.limits, **limits), scope=structs.replace(config.scope, **scope)
    )
    try:
        made = settings.checked(made)
        scope_of(made)
    except GossamerError as error:
        field = next((name for name in (*limits, *scope) if f".{name}" in str(error)), "")
        return bad_value(field, getattr(order, field) if field else "", str(error))
    return made


def seeded(config: Config, order: AddSeeds) -> tuple[Config, list[tuple[Url, Kind]], dict[str, str]] | Refused:
    """The configuration with more seeds, the seeds to admit, and those that are none."""
    if not 0 <= order.level < LEVELS:
        return bad_value("level", order.level, "no such level", f"0 (highest) to {LEVELS - 1}")
    given = [(text, Kind.PAGE) for text in order.urls] + [(text, Kind.SITEMAP) for text in order.sitemaps]
    if not 0 < len(given) <= SEEDS_AT_ONCE_MAX:
        return bad_value("urls", len(given), f"1 to {SEEDS_AT_ONCE_MAX:,} seeds and sitemaps at once")
    refused: dict[str, str] = {}
    taken: list[tuple[Url, Kind]] = []
    for text, kind in given:
        url = parse(text)
        if isinstance(url, Url):
            taken.append((url, kind))
        else:
            refused[text] = str(url)
    seeds = dict.fromkeys([*config.seeds, *(url.wire for url, _ in taken)])
    try:
        return settings.checked(structs.replace(config, seeds=tuple(seeds))), taken, refused
    except ConfigError as error:
        return Refused(code="bad-value", message=str(error))


def scope_of(config: Config) -> ScopeRules:
    """The compiled scope of a configuration and its seeds. Raises ConfigError."""
    return compile_scope(config.scope, [url for url in map(parse, config.seeds) if isinstance(url, Url)])
