"""The difference of two stored texts as a value: hunks of lines, or of words, with some unchanged ones around."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, Literal

import msgspec

from gossamer.model.view import StoredText, Visit
from gossamer.policy.duplicates import is_unchanged
from gossamer.surface.differ import Change, changes

CONTEXT_WORDS: Final = 12  # unchanged ones shown on each side of a change, where more of them stand in one line
_GAP: Final = " … "

Sign = Literal[" ", "-", "+"]


class Piece(msgspec.Struct, frozen=True, array_like=True):
    """A line, or a run of words, that both texts have, only the old one, or only the new one."""

    sign: Sign
    text: str


class Hunk(msgspec.Struct, frozen=True, kw_only=True):
    """Changes that stand together. Line numbers count from 1."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[tuple[Piece, ...], ...]  # each of one piece when lines were compared


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two copies."""

    time: float  # unix seconds
    status: int
    media_type: str
    bytes: int  # of the payload
    digest: str
    title: str = ""
    lines: int = 0
    chars: int = 0
    cut: bool = False  # only the beginning of its text was compared
    error: str = ""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Two stored copies of a URL and how their texts differ."""

    url: str
    old: Side
    new: Side
    is_text: bool  # both have text to compare
    same_payload: bool
    unchanged: bool  # by the rule the crawl goes by: words that make no difference to it may have changed
    removed: int = 0  # lines of the old text that the new one lacks
    added: int = 0
    hunks: tuple[Hunk, ...] = ()


def compare(
    url: str, old: tuple[Visit, StoredText], new: tuple[Visit, StoredText], *, words: bool, context: int
) -> Comparison:
    """Compare two copies, in time that is bounded whatever they hold.

    Args: the URL; each copy with its text; whether changed lines are compared word by word; unchanged lines to show
    around changes.
    """
    before, after = old[1], new[1]
    is_text = before.is_text and after.is_text
    steps = changes(before.lines, after.lines) if is_text else []
    same_payload = bool(old[0].digest) and old[0].digest == new[0].digest
    same_hash = bool(before.content_hash) and before.content_hash == after.content_hash
    same_lines = is_text and before.lines == after.lines
    return Comparison(
        url=url,
        old=_side(*old),
        new=_side(*new),
        is_text=is_text,
        same_payload=same_payload,
        unchanged=same_payload or same_hash or same_lines or is_unchanged(before.simhash, after.simhash),
        removed=sum(step.a_end - step.a_start for step in steps if step.tag != "equal"),
        added=sum(step.b_end - step.b_start for step in steps if step.tag != "equal"),
        hunks=tuple(_hunk(group, before.lines, after.lines, words=words) for group in _groups(steps, context)),
    )


def _side(visit: Visit, text: StoredText) -> Side:
    return Side(
        time=visit.time,
        status=visit.status,
        media_type=text.media_type or visit.media_type,
        bytes=text.bytes or visit.bytes,  # a revisit has none of its own
        digest=visit.digest,
        title=text.title,
        lines=len(text.lines),
        chars=sum(map(len, text.lines)),
        cut=text.cut,
        error=text.error,
    )


def _groups(steps: Sequence[Change], context: int) -> Iterator[list[Change]]:
    """Steps by hunk: changes with fewer than twice `context` unchanged lines between them stand together."""
    group: list[Change] = []
    for place, step in enumerate(steps):
        if step.tag != "equal":
            group.append(step)
            continue
        size = step.a_end - step.a_start
        head = min(size, context) if group else 0
        last = place == len(steps) - 1
        if group and (last or size > 2 * context):
            yield [*group, _part(step, 0, head)]
            group = []
        elif group:
            group.append(step)
        if not group and not last:
            group = [_part(step, size - min(size, context), size)]
    if any(step.tag != "equal" for step in group):
        yield group


def _part(step: Change, start: int, end: int) -> Change:
    return Change("equal", step.a_start + start, step.a_start + end, step.b_start + start, step.b_start + end)


def _hunk(group: list[Change], old: Sequence[str], new: Sequence[str], *, words: bool) -> Hunk:
    lines: list[tuple[Piece, ...]] = []
    for step in group:
        before, after = old[step.a_start : step.a_end], new[step.b_start : step.b_end]
        if step.tag == "equal":
            lines += [(Piece(" ", line),) for line in before]
        elif words and step.tag == "replace":
            lines += _word_lines(before, after)
        else:
            lines += [(Piece("-", line),) for line in before]
            lines += [(Piece("+", line),) for line in after]
    first, last = group[0], group[-1]
    old_lines, new_lines = last.a_end - first.a_start, last.b_end - first.b_start
    return Hunk(  # as in a unified diff, a side without lines is named by the line before
        old_start=first.a_start + (1 if old_lines else 0),
        old_lines=old_lines,
        new_start=first.b_start + (1 if new_lines else 0),
        new_lines=new_lines,
        lines=tuple(lines),
    )


def _word_lines(before: Sequence[str], after: Sequence[str]) -> list[tuple[Piece, ...]]:
    """Replaced lines as lines of runs of words; a line that was joined or split ends where the new text ends it."""
    old, new = _words(before), _words(after)
    lines: list[list[Piece]] = [[]]
    for step in changes(old, new):
        if step.tag == "equal":
            _add(lines, " ", new[step.b_start : step.b_end], shorten=True)
            continue
        _add(lines, "-", [word for word in old[step.a_start : step.a_end] if word != "\n"])
        _add(lines, "+", new[step.b_start : step.b_end])
    return [tuple(line) for line in lines if line]


def _words(lines: Sequence[str]) -> list[str]:
    return [word for line in lines for word in (*line.split(), "\n")]


def _add(lines: list[list[Piece]], sign: Sign, words: list[str], *, shorten: bool = False) -> None:
    run: list[str] = []
    for word in [*words, ""]:
        if word and word != "\n":
            run.append(word)
            continue
        if run:
            text = " ".join(run)
            if shorten and len(run) > 2 * CONTEXT_WORDS:
                text = " ".join(run[:CONTEXT_WORDS]) + _GAP + " ".join(run[-CONTEXT_WORDS:])
            lines[-1].append(Piece(sign, text))
            run = []
        if word == "\n":
            lines.append([])
