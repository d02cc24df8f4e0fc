"""Seeds as people write them: from the command line and from files, all checked before anything is created."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from gossamer.model.errors import UsageError
from gossamer.model.limits import SEED_URL_MAX_BYTES
from gossamer.model.reason import Reason
from gossamer.model.url import parse
from gossamer.surface.options import SEEDS_MAX
from gossamer.surface.terminal import escape, shorten

BAD_SHOWN_MAX: Final = 20
LINE_MAX_CHARS: Final = 16 * 1024
_SHOWN_CELLS: Final = 100
_ALLOWED: Final = "an http or https URL such as https://example.com/ (example.com means https://example.com/)"


def read_seed_file(path: Path) -> Iterator[tuple[str, str]]:
    """(seed, "FILE:LINE") of each line that is neither blank nor a comment (#).

    Raises UsageError when the file cannot be read as UTF-8 text.
    """
    try:
        with path.open(encoding="utf-8-sig") as file:
            number = 0
            while line := file.readline(LINE_MAX_CHARS):
                number += 1
                if not line.endswith("\n") and len(line) == LINE_MAX_CHARS:
                    raise UsageError(f"{path}:{number}: the line is longer than {LINE_MAX_CHARS} characters")
                seed = line.strip()
                if seed and not seed.startswith("#"):
                    yield seed, f"{path}:{number}"
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
        raise UsageError(f"{path}: {why}; a text file with one URL a line is needed") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text; one URL a line is needed") from error


def complete(seed: str) -> str:
    """A seed with its scheme: "example.com/a" becomes "https://example.com/a"; whatever has a scheme stays."""
    text = seed.strip()
    head, colon, rest = text.partition(":")
    if "://" in text.partition("?")[0] or not text:
        return text
    if colon and not rest[:1].isdigit() and not head.startswith("[") and "/" not in head and "." not in head:
        return text  # mailto:…, javascript:…
    return "https://" + text.removeprefix("//")


def check_seeds(given: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The wire form of each seed, in order, each once.

    Args:
        given: (seed, where it stands) pairs; the place is "" for the command line.

    Raises:
        UsageError: one line for each bad seed (the first 20) that names it, where it stands and what is allowed.
    """
    found: dict[str, None] = {}
    bad: list[str] = []
    for seed, where in given:
        text = complete(seed)
        parsed = parse(text)
        if any(0xD800 <= ord(char) < 0xE000 for char in seed):
            bad.append(_complaint(seed, where, "it is not UTF-8"))
        elif isinstance(parsed, Reason):
            bad.append(_complaint(seed, where, _why(parsed)))
        elif text != seed.strip() and not _is_place(parsed.host):
            bad.append(_complaint(seed, where, f"it is one word; if a host of that name is meant, write {parsed.wire}"))
        elif len(parsed.wire) > SEED_URL_MAX_BYTES:
            bad.append(_complaint(seed, where, f"longer than {SEED_URL_MAX_BYTES} bytes"))
        else:
            found[parsed.wire] = None
        if len(found) > SEEDS_MAX:
            raise UsageError(f"more than {SEEDS_MAX} seeds; a crawl takes at most that many")
    if bad:
        more = [f"and {len(bad) - BAD_SHOWN_MAX} more bad seeds"] if len(bad) > BAD_SHOWN_MAX else []
        raise UsageError("\n".join(bad[:BAD_SHOWN_MAX] + more))
    return tuple(found)


def _is_place(host: str) -> bool:
    """Whether a host that was given without a scheme looks like one: example.com, localhost, [::1], name:8080."""
    return "." in host.strip(".") or ":" in host or host == "localhost"


def _complaint(seed: str, where: str, why: str) -> str:
    place = f"{escape(where)}: " if where else ""
    return f'{place}bad seed "{shorten(seed, _SHOWN_CELLS)}": {why}; a seed is {_ALLOWED}'


def _why(reason: Reason) -> str:
    return {
        Reason.URL_SCHEME: "its scheme is neither http nor https",
        Reason.URL_TOO_LONG: "it is too long",
    }.get(reason, "it is not a valid URL")
