"""Takedowns as an access list of pywb, which looks a capture up by its own key, the Internet Archive's.

That key knows no `www.`, no case and no last slash, and turns the numbers of an IP address around: what the crawler
tells apart may be one thing there. So lines say as much as the target or more, never less. A file of them is read as
https://pywb.readthedocs.io/en/latest/manual/access-control.html says: sorted backwards, the longest match first. No
line begins as another does: then the first line that pywb comes to decides.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Final

import msgspec

from gossamer.adapters.warc.surt import surt
from gossamer.model.takedown import Takedown, Target
from gossamer.model.url import name_of, registered_domain

TAKEDOWNS_REMEMBERED_MAX: Final = 10_000  # whose lines are not made anew with each change of the list
_EXACT: Final = "###"  # after a key: this capture alone
_BEHIND_FOLDER: Final = ("/", "?", ";")  # what may follow the name of a folder in the key of what lies in it
_SCHEMES: Final = ("http://", "https://")


def access_list(takedowns: Iterable[Takedown]) -> str:
    """The text of the file for those that are in force."""
    ids: dict[str, str] = {}
    for takedown in takedowns:
        if takedown.in_force:
            for front in fronts_of(takedown.target):
                ids.setdefault(front, takedown.id)
    kept: list[str] = []
    for front in sorted(ids):
        if not kept or not front.startswith(kept[-1]):
            kept.append(front)
    lines = [
        f"{front} - {msgspec.json.encode({'access': 'exclude', 'takedown': ids[front]}).decode()}\n" for front in kept
    ]
    return "".join(sorted(lines, reverse=True))


@functools.lru_cache(maxsize=TAKEDOWNS_REMEMBERED_MAX)
def fronts_of(target: Target) -> tuple[str, ...]:
    """How the keys of what a target covers begin. () for a pattern that names no host: pywb cannot look it up."""
    if target.kind == "host":
        return _host_fronts(target.value)
    if target.kind == "site":
        return _site_fronts(target.value)
    if target.kind == "prefix":
        return _prefix_fronts(target.value)
    return _pattern_fronts(target.value)


def _host_fronts(host: str) -> tuple[str, ...]:
    front = _authority(host)
    return (f"{front})",) if host != name_of(host) else (f"{front})", f"{front}:")


def _site_fronts(name: str) -> tuple[str, ...]:
    if name.startswith("[") or name.rpartition(".")[2].isdigit():
        return _host_fronts(name)
    return (*_host_fronts(name), _authority(f"sub.{name}").removesuffix("sub"))


def _prefix_fronts(prefix: str) -> tuple[str, ...]:
    """Up to the query or to what may hold a session: in a key their parts stand in an order of their own."""
    cut = min((at for at in map(prefix.find, "?;(") if at >= 0), default=len(prefix))
    place, rest = prefix[:cut], prefix[cut:]
    if "%" in place[-2:]:  # half an escape
        place = place[: place.rindex("%")]
    key = surt(place)
    if key.endswith(")/"):
        return (key,)
    if rest.startswith("?"):
        return (f"{key}?", f"{key};")
    if rest or not place.endswith("/"):
        return (key,)
    return (f"{key}{_EXACT}", *(key + sign for sign in _BEHIND_FOLDER))


def _pattern_fronts(pattern: str) -> tuple[str, ...]:
    """What a pattern says before its first star; that of the scheme, and one for names below a host, aside."""
    scheme, mark, rest = pattern.partition("://")
    if not mark or not any(_may_be(scheme, known.removesuffix("://")) for known in _SCHEMES):
        return ()
    host, slash, _ = rest.partition("/")
    if not slash or not host:
        return ()
    if "*" not in host:
        return _prefix_fronts(f"http://{rest.partition('*')[0]}")
    below = name_of(host.removeprefix("*."))
    is_site = host.startswith("*.") and "*" not in below and registered_domain(below) is not None
    return _site_fronts(below) if is_site else ()


def _may_be(scheme: str, known: str) -> bool:
    head, star, tail = scheme.partition("*")
    return scheme == known if not star else "*" not in tail and known.startswith(head) and known.endswith(tail)


def _authority(host: str) -> str:
    """The key of a host up to its bracket."""
    return surt(f"http://{host}/").removesuffix(")/")
