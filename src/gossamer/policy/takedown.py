"""Which URLs a takedown covers, and which targets may be named. Pure; what is done about it is `core.takedowns`.

A target is read once into its normal form (`checked`): what is kept and shown is what is matched. A takedown fails
closed: where a name could be meant narrowly or widely, it is taken widely (a host at all its ports, an address under
both schemes).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.model.limits import TAKEDOWN_TEXT_MAX_CHARS, URL_INPUT_MAX_CHARS
from gossamer.model.takedown import Takedown, Target
from gossamer.model.url import Url, key_host_prefix, name_of, parse, registered_domain
from gossamer.policy.scope import PATTERN_ALLOWED, Glob, check_pattern, glob_matches, glob_of

HOST_ALLOWED: Final = "a host name with or without a port, as in www.example.com or example.com:8080"
SITE_ALLOWED: Final = "a name under a public suffix, as in example.com: it and every name under it"
PREFIX_ALLOWED: Final = "the beginning of an address, with its host, as in https://example.com/private/"
WORDS_ALLOWED: Final = f"1 to {TAKEDOWN_TEXT_MAX_CHARS:,} characters"
# A pattern that one of these matches is one for everything, or for every name of a kind: it has no more in it than
# signs that any address has, as "*o*" and "*.com/*".
_LETTERS: Final = "-".join("abcdefghijklmnopqrstuvwxyz0123456789")
_PROBES: Final = (
    "https://a.invalid/",
    "https://a.invalid/b",
    "http://c.d.invalid:81/e/f?g=h",
    *(f"https://www.{_LETTERS}.{suffix}/" for suffix in ("com", "net", "org", "de", "co.uk")),
)
_LAST: Final = "\U0010ffff"


class TargetError(ValueError):
    """A target that may not be named; the text says what is wrong and `allowed` what is not."""

    def __init__(self, message: str, allowed: str) -> None:
        """`message`: what is wrong with it."""
        super().__init__(message)
        self.allowed = allowed


class TakedownRules(msgspec.Struct, frozen=True):
    """Targets compiled for matching, each with the id of its takedown."""

    hosts: dict[str, str]  # a name without port covers every port of it
    sites: dict[str, str]  # a name and every name under it
    prefixes: tuple[str, ...]  # SURT, sorted, none the beginning of another
    prefix_ids: tuple[str, ...]
    patterns: tuple[tuple[Glob, str], ...]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.hosts or self.sites or self.prefixes or self.patterns)


NOTHING: Final = TakedownRules({}, {}, (), (), ())


def checked(target: Target) -> Target:
    """A target in its normal form. Raises TargetError for one that means nothing, or everything."""
    text = target.value.strip()
    if not text:
        raise TargetError("it is empty", _allowed(target))
    if len(text) > URL_INPUT_MAX_CHARS:
        raise TargetError(f"it is longer than {URL_INPUT_MAX_CHARS:,} characters", _allowed(target))
    match target.kind:
        case "host":
            return Target("host", _host(text, HOST_ALLOWED).host)
        case "site":
            return Target("site", _site(text))
        case "prefix":
            return Target("prefix", _prefix(text))
        case "pattern":
            return Target("pattern", _pattern(text))


def check_words(reason: str, ticket: str, by: str) -> tuple[str, str] | None:
    """What is wrong with the words of a takedown: (field, fault), or None."""
    if not reason.strip():
        return "reason", "a takedown needs a reason"
    for field, text in (("reason", reason), ("ticket", ticket), ("by", by)):
        if len(text) > TAKEDOWN_TEXT_MAX_CHARS:
            return field, f"it is longer than {TAKEDOWN_TEXT_MAX_CHARS:,} characters"
    return None


def compile_takedowns(takedowns: Iterable[Takedown]) -> TakedownRules:
    """The rules of those that are in force. Of two that cover the same, the earlier one is named."""
    hosts: dict[str, str] = {}
    sites: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    patterns: list[tuple[Glob, str]] = []
    for takedown in takedowns:
        target = takedown.target
        if not takedown.in_force:
            continue
        if target.kind == "host":
            hosts.setdefault(target.value, takedown.id)
        elif target.kind == "site":
            sites.setdefault(target.value, takedown.id)
        elif target.kind == "prefix":
            prefixes.setdefault(surt_of(target.value), takedown.id)
        else:
            patterns.append((glob_of(target.value), takedown.id))
    kept: list[str] = []
    for prefix in sorted(prefixes):
        if not kept or not prefix.startswith(kept[-1]):
            kept.append(prefix)
    return TakedownRules(hosts, sites, tuple(kept), tuple(prefixes[prefix] for prefix in kept), tuple(patterns))


def covering(rules: TakedownRules, url: Url) -> str:
    """The id of a takedown that covers a URL; "" when none does."""
    found = _named(rules, url.host) if rules.hosts or rules.sites else ""
    if found:
        return found
    if rules.prefixes:
        found = _prefixed(rules, url.surt)
        if found:
            return found
    return next((id_ for glob, id_ in rules.patterns if glob_matches(glob, url.canonical)), "")


def closing(rules: TakedownRules, host: str) -> str:
    """The id of a takedown that covers everything of a host; "" when none does."""
    return _named(rules, host) or (_prefixed(rules, key_host_prefix(host) + "/") if rules.prefixes else "")


def key_range(target: Target) -> tuple[str, str]:
    """Where the keys of what a target covers begin, and the exclusive end. Others may lie between."""
    if target.kind == "pattern":
        return "", _LAST
    start = surt_of(target.value) if target.kind == "prefix" else key_host_prefix(target.value).removesuffix(")")
    return start, start + _LAST


def surt_of(prefix: str) -> str:
    """The beginning of the SURT forms that a target of kind prefix covers."""
    url = parse(prefix)
    assert isinstance(url, Url)  # `checked` has seen to it
    return url.surt


def _named(rules: TakedownRules, host: str) -> str:
    name = name_of(host)
    found = rules.hosts.get(host) or rules.hosts.get(name) or ""
    if found or not rules.sites:
        return found
    while name:
        found = rules.sites.get(name) or ""
        if found:
            return found
        name = name.partition(".")[2]
    return ""


def _prefixed(rules: TakedownRules, surt: str) -> str:
    at = bisect_right(rules.prefixes, surt)
    return rules.prefix_ids[at - 1] if at and surt.startswith(rules.prefixes[at - 1]) else ""


def _host(text: str, allowed: str) -> Url:
    url = parse(text if "://" in text else f"https://{text}")
    if not isinstance(url, Url) or url.surt != key_host_prefix(url.host) + "/" or "@" in text or "*" in text:
        raise TargetError(f"{text[:200]!r} is no host name", allowed)
    return url


def _site(text: str) -> str:
    name = name_of(_host(text, SITE_ALLOWED).host)
    is_address = name.startswith("[") or name.rpartition(".")[2].isdigit()
    if not is_address and registered_domain(name) is None:
        everybody = "a public suffix: other people's sites are under it"
        raise TargetError(f"{name} is {everybody if '.' in name else 'a single label'}", SITE_ALLOWED)
    return name


def _prefix(text: str) -> str:
    url = parse(text) if "://" in text else None
    if not isinstance(url, Url):
        raise TargetError(f"{text[:200]!r} is no http(s) address", PREFIX_ALLOWED)
    front = f"{url.scheme}://"
    return front + url.canonical.removeprefix(front)


def _pattern(text: str) -> str:
    fault = check_pattern(text)
    if fault is not None:
        raise TargetError(fault, PATTERN_ALLOWED)
    if any(glob_matches(glob_of(text), probe) for probe in _PROBES):
        raise TargetError("it matches every address, or nearly", PATTERN_ALLOWED)
    return text


def _allowed(target: Target) -> str:
    return {"host": HOST_ALLOWED, "site": SITE_ALLOWED, "prefix": PREFIX_ALLOWED, "pattern": PATTERN_ALLOWED}[
        target.kind
    ]
