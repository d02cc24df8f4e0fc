"""Scope: which URLs belong to the crawl, by the seeds' place, by patterns and by SURT prefixes.

Order: an exclude pattern keeps a URL out whatever else says; then an include pattern, a SURT prefix or the mode brings
it in. What type a page seems to have is `types`, what leads nowhere is `traps`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

from gossamer.model.config import Scope
from gossamer.model.errors import ConfigError
from gossamer.model.limits import SCOPE_PATTERN_MAX_CHARS, SCOPE_PATTERN_STARS_MAX
from gossamer.model.reason import Reason
from gossamer.model.url import Url

Glob = tuple[str, ...]  # the literal texts between the stars

PATTERN_ALLOWED: Final = (
    "allowed: a pattern for the whole URL in which * stands for any text, as in *://example.com/docs/* or */print/*"
)
SURT_ALLOWED: Final = "allowed: the beginning of a URL key, as in com,example) or com,example,www)/docs/"


class ScopeRules(msgspec.Struct, frozen=True):
    """A compiled scope. Plain values: it travels to the digest workers."""

    mode: Literal["host", "site", "prefix", "any"]
    places: frozenset[str]  # hosts or sites of the seeds, as the mode says
    prefixes: tuple[str, ...]  # SURT prefixes, sorted, none the beginning of another
    include: tuple[Glob, ...]
    exclude: tuple[Glob, ...]


def compile_scope(scope: Scope, seeds: Sequence[Url]) -> ScopeRules:
    """The rules of a configured scope and the seeds that anchor it.

    Raises ConfigError for a pattern or SURT prefix that could never match; its text names it and what is allowed.
    """
    for kind, patterns in (("include", scope.include), ("exclude", scope.exclude)):
        for pattern in patterns:
            fault = check_pattern(pattern)
            if fault is not None:
                raise ConfigError(f"scope.{kind}: pattern {pattern[:200]!r}: {fault}; {PATTERN_ALLOWED}")
    for text in scope.surts:
        fault = check_surt(text)
        if fault is not None:
            raise ConfigError(f"scope.surts: prefix {text[:200]!r}: {fault}; {SURT_ALLOWED}")
    prefixes = [_surt_prefix(text) for text in scope.surts]
    if scope.mode == "prefix":
        prefixes += [directory_prefix(seed) for seed in seeds]
    places: Iterable[str] = ()
    if scope.mode == "host":
        places = (seed.host for seed in seeds)
    elif scope.mode == "site":
        places = (seed.site for seed in seeds)
    return ScopeRules(
        mode=scope.mode,
        places=frozenset(places),
        prefixes=_shortest(prefixes),
        include=tuple(glob_of(pattern) for pattern in scope.include),
        exclude=tuple(glob_of(pattern) for pattern in scope.exclude),
    )


def judge(rules: ScopeRules, url: Url) -> Reason | None:
    """None when the URL is in scope, else SCOPE_EXCLUDED or SCOPE_OUTSIDE."""
    if rules.exclude and _first_match(rules.exclude, url.canonical) is not None:
        return Reason.SCOPE_EXCLUDED
    if rules.mode == "any":
        return None
    if rules.mode == "site":
        if url.site in rules.places:
            return None
    elif rules.mode == "host" and url.host in rules.places:
        return None
    if rules.prefixes and _prefix_of(rules.prefixes, url.surt) is not None:
        return None
    if rules.include and _first_match(rules.include, url.canonical) is not None:
        return None
    return Reason.SCOPE_OUTSIDE


def why(rules: ScopeRules, url: Url) -> str:
    """One line that says how `judge` comes to its answer, for `explain`."""
    pattern = _first_match(rules.exclude, url.canonical)
    if pattern is not None:
        return f"out: exclude pattern {'*'.join(pattern)} matches"
    if rules.mode == "any":
        return 'in: scope is "any"'
    place = url.site if rules.mode == "site" else url.host
    if place in rules.places:
        return f'in: scope is "{rules.mode}", and {place} is a seed\'s {rules.mode}'
    prefix = _prefix_of(rules.prefixes, url.surt)
    if prefix is not None:
        return f"in: the URL key begins with {prefix}"
    pattern = _first_match(rules.include, url.canonical)
    if pattern is not None:
        return f"in: include pattern {'*'.join(pattern)} matches"
    if rules.mode == "prefix":
        return f'out: scope is "prefix", and {url.surt[:200]} begins with none of {len(rules.prefixes)} prefixes'
    return f'out: scope is "{rules.mode}", and {place} is no seed\'s {rules.mode} ({len(rules.places)} known)'


def check_pattern(text: str) -> str | None:
    """What is wrong with an include or exclude pattern, or None. A pattern that can never match is wrong."""
    if not text:
        return "it is empty"
    if len(text) > SCOPE_PATTERN_MAX_CHARS:
        return f"it is longer than {SCOPE_PATTERN_MAX_CHARS} characters"
    if text.count("*") > SCOPE_PATTERN_STARS_MAX:
        return f"it has more than {SCOPE_PATTERN_STARS_MAX} stars"
    if not text.isascii() or not text.isprintable() or " " in text:
        return "a URL has only printable ASCII characters; others are percent-encoded in it, and names are punycode"
    if "#" in text:
        return "a URL is crawled without its fragment, so # never matches"
    head = text.partition("*")[0]
    if not any(head.startswith(scheme) or scheme.startswith(head) for scheme in ("http://", "https://")):
        return "it is matched against the whole URL, so it begins with http://, https:// or *"
    if "*" not in text and "/" not in text.partition("://")[2]:
        return "a URL has a / after its host"
    return None


def check_surt(text: str) -> str | None:
    """What is wrong with a SURT prefix, or None. The forms `http://(com,example` and `(com,example` are read too."""
    prefix = _surt_prefix(text)
    if not prefix:
        return "it is empty"
    if len(prefix) > SCOPE_PATTERN_MAX_CHARS:
        return f"it is longer than {SCOPE_PATTERN_MAX_CHARS} characters"
    if not prefix.isascii() or not prefix.isprintable() or " " in prefix:
        return "a URL key has only printable ASCII characters"
    name, bracket, path = prefix.partition(")")
    if name != name.lower():
        return "host names are in lower case"
    if "/" in name or (bracket and path and not path.startswith("/")):
        return "the host's labels, from the right and joined by commas, end with ) before the path"
    if "." in name and not name.replace(".", "").replace(":", "").isdigit():
        return "labels are joined by commas, from the right"
    return None


def directory_prefix(seed: Url) -> str:
    """The SURT prefix of the directory a seed lies in: "com,example)/docs/" for http(s)://example.com/docs/a?b."""
    path = seed.surt.partition("?")[0]
    return path[: path.rindex("/") + 1]


def _surt_prefix(text: str) -> str:
    for scheme in ("http://", "https://"):
        text = text.removeprefix(scheme)
    return text.removeprefix("(")


def _shortest(prefixes: Iterable[str]) -> tuple[str, ...]:
    """Sorted, without those that another one is the beginning of: then one comparison finds the only candidate."""
    kept: list[str] = []
    for prefix in sorted(set(prefixes)):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return tuple(kept)


def _prefix_of(prefixes: tuple[str, ...], surt: str) -> str | None:
    at = bisect_right(prefixes, surt)
    return prefixes[at - 1] if at and surt.startswith(prefixes[at - 1]) else None


def glob_of(pattern: str) -> Glob:
    """A pattern as it is matched: the literal texts between its stars."""
    return tuple(pattern.split("*"))


def _first_match(globs: tuple[Glob, ...], text: str) -> Glob | None:
    for glob in globs:
        if glob_matches(glob, text):
            return glob
    return None


def glob_matches(glob: Glob, text: str) -> bool:
    """Whether a text matches: each literal at its first place after the one before, so time is linear."""
    first, last = glob[0], glob[-1]
    if len(glob) == 1:
        return text == first
    if len(text) < len(first) + len(last) or not text.startswith(first) or not text.endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for literal in glob[1:-1]:
        at = text.find(literal, at, end)
        if at < 0:
            return False
        at += len(literal)
    return True
