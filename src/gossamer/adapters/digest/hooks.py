"""Other people's code, found by entry point: what it is called with, and what happens when it fails.

    gossamer.scope     ScopeHook   in the worker, for each link and sitemap entry
    gossamer.links     LinksHook   in the worker, once a page
    gossamer.digest    DigestHook  in the worker, once a page
    gossamer.sinks     loaded by the main process; what a sink is, is its caller's

A hook that raises costs its page a recorded error and counts as having no opinion. One that never returns, or takes
the process down, costs its page the parse, like any other fault there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from itertools import islice
from typing import Any, Final, Protocol, TypeVar, cast

from gossamer.model.errors import ConfigError
from gossamer.model.limits import DIGEST_EXTRA_MAX, DIGEST_EXTRA_MAX_CHARS

SCOPE_GROUP: Final = "gossamer.scope"
LINKS_GROUP: Final = "gossamer.links"
DIGEST_GROUP: Final = "gossamer.digest"
ERRORS_MAX: Final = 16  # recorded for one page; a hook asked per link would otherwise fill the row
ERROR_MAX_CHARS: Final = 300

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page:
    """What a hook is shown of a page. `text`, `title` and `language` are empty when it is not HTML."""

    url: str
    depth: int
    status: int
    headers: tuple[tuple[str, str], ...]
    media_type: str
    charset: str
    body: bytes  # content-decoded
    title: str
    language: str
    text: str  # main text


class ScopeHook(Protocol):
    """Has a say in which links belong to the crawl."""

    def __call__(self, url: str, via: str, depth: int) -> bool | None:
        """True brings a URL in, False keeps it out, None leaves it to the configured scope.

        Args: `url` the canonical form; `via` the page it was found on; `depth` links from a seed. Exclude patterns,
        types and traps hold whatever the hook says.
        """
        ...


class LinksHook(Protocol):
    """Filters a page's links."""

    def __call__(self, page: Page, links: Sequence[str]) -> Iterable[str]:
        """Those of `links` (as requested, in page order) that shall be kept. What is not in `links` is ignored."""
        ...


class DigestHook(Protocol):
    """Takes more from a page than the digest does."""

    def __call__(self, page: Page) -> Mapping[str, str] | None:
        """Values kept with the page; names and values are cut to a bound."""
        ...


Named = tuple[str, Callable[..., Any]]


@dataclass(slots=True)
class Hooks:
    """The hooks of one worker. `errors` collects what went wrong for the present page."""

    scope: list[Named] = field(default_factory=list)
    links: list[Named] = field(default_factory=list)
    digest: list[Named] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def wants_page(self) -> bool:
        """Whether any hook must be shown the page."""
        return bool(self.links or self.digest)

    def take_errors(self) -> tuple[str, ...]:
        """The errors since last asked."""
        taken = tuple(self.errors)
        self.errors.clear()
        return taken

    def in_scope(self, url: str, via: str, depth: int) -> bool | None:
        """The first opinion that a scope hook has."""
        for name, hook in self.scope:
            opinion = self._call(name, None, lambda *args, hook=hook: _opinion(hook(*args)), url, via, depth)
            if opinion is not None:
                return opinion
        return None

    def filter_links(self, page: Page, links: Sequence[str]) -> list[str]:
        """What every links hook lets pass, in page order."""
        kept = list(links)
        for name, hook in self.links:
            passed = self._call(name, None, lambda *args, hook=hook: set(hook(*args)), page, tuple(kept))
            if passed is not None:
                kept = [link for link in kept if link in passed]
        return kept

    def extra(self, page: Page) -> dict[str, str]:
        """What the digest hooks return for a page, bounded."""
        found: dict[str, str] = {}
        for name, hook in self.digest:
            values = self._call(name, None, lambda *args, hook=hook: _texts(hook(*args)), page)
            for key, value in (values or {}).items():
                if len(found) >= DIGEST_EXTRA_MAX:
                    break
                found[key] = value
        return found

    def _call(self, name: str, default: T, hook: Callable[..., T], *args: object) -> T:
        try:
            return hook(*args)
        except MemoryError:
            raise  # the page's, not the hook's: the worker counts it so
        except (Exception, SystemExit) as error:  # noqa: BLE001 - other people's code may raise anything
            if len(self.errors) < ERRORS_MAX:
                self.errors.append(f"{name}: {type(error).__name__}: {error}"[:ERROR_MAX_CHARS])
            return default


def _opinion(said: object) -> bool | None:
    return None if said is None else bool(said)


def _texts(said: object) -> dict[str, str]:
    """What a digest hook returned as short texts; raises whatever its objects raise when they are asked for theirs."""
    pairs = islice(dict(cast("Mapping[object, object]", said or {})).items(), DIGEST_EXTRA_MAX)
    return {str(key)[:DIGEST_EXTRA_MAX_CHARS]: str(value)[:DIGEST_EXTRA_MAX_CHARS] for key, value in pairs}


def load(group: str) -> list[Named]:
    """The objects that installed distributions offer for a group, by name, in the order of their names.

    Raises ConfigError, naming the entry point, when one can't be imported or is not callable.
    """
    found: list[Named] = []
    for point in sorted(entry_points(group=group), key=lambda point: point.name):
        try:
            thing = point.load()
        except (Exception, SystemExit) as error:
            raise ConfigError(
                f"hook {point.name!r} of {group} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not callable(thing):
            raise ConfigError(f"hook {point.name!r} of {group} ({point.value}) is not callable")
        found.append((point.name, cast("Callable[..., Any]", thing)))
    return found


def load_worker_hooks() -> Hooks:
    """The hooks that run where pages are digested. Raises ConfigError as `load` does."""
    return Hooks(scope=load(SCOPE_GROUP), links=load(LINKS_GROUP), digest=load(DIGEST_GROUP))
