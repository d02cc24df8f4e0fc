"""Which captures of an archive are meant: by place, time, status and media type. Pure; reading them is not here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from gossamer.model.takedown import Takedown, Target
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import NOTHING, TakedownRules, checked, compile_takedowns, covering

STATUS_ALLOWED: Final = 'a status such as 200, or a class of them such as "2xx"'


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """What is meant; without anything, everything. Of one kind any must hold, of several kinds all."""

    places: TakedownRules = NOTHING  # hosts, sites, prefixes and patterns, as takedowns name them
    since: float = -math.inf  # unix seconds; captures of that second are meant
    until: float = math.inf  # unix seconds; captures of that second are meant
    statuses: frozenset[str] = frozenset()  # "404", "2xx"
    types: frozenset[str] = frozenset()  # "text/html"; "image/" for all of a type


def places_of(targets: Iterable[Target]) -> TakedownRules:
    """Places as they are matched. Raises TargetError for one that means nothing, or everything."""
    return compile_takedowns(Takedown(id="selected", target=checked(target), reason="-") for target in targets)


def check_status(text: str) -> str | None:
    """What is wrong with a status or a class of them, or None."""
    is_one = len(text) == 3 and text.isascii() and text[0] in "12345" and (text[1:].isdigit() or text[1:] == "xx")
    return None if is_one else f"{text[:40]!r} is none"


def selects(selection: Selection, url: str, date: float, status: int, media_type: str) -> bool:
    """Whether a capture is meant.

    Args: the selection; the URL; unix seconds; the status, 0 where none is known; the bare media type in lower case.
    """
    if not selection.since <= int(date) <= selection.until:
        return False
    if selection.statuses and not selection.statuses & {str(status), f"{status // 100}xx"}:
        return False
    if selection.types and not selection.types & {media_type, f"{media_type.partition('/')[0]}/"}:
        return False
    if not selection.places:
        return True
    parsed = parse(url)
    return isinstance(parsed, Url) and bool(covering(selection.places, parsed))


def words_of(selection: Selection, targets: Sequence[Target]) -> str:
    """A selection in one line, for the file that is made of it; "" for everything."""
    said = [f"{target.kind} {target.value}" for target in targets]
    said += [f"status {status}" for status in sorted(selection.statuses)]
    said += [f"type {media_type}" for media_type in sorted(selection.types)]
    said += [f"since {selection.since:.0f}"] if math.isfinite(selection.since) else []
    said += [f"until {selection.until:.0f}"] if math.isfinite(selection.until) else []
    return ", ".join(said)
