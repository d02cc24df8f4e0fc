"""Text from the web on its way to a terminal: nothing that a terminal would obey gets through."""

from __future__ import annotations

import unicodedata
from typing import Final

from rich.cells import cell_len, set_cell_size

MARKS_IN_A_ROW_MAX: Final = 4  # stacked accents beyond this run into the lines above and below


def escape(text: str) -> str:
    r"""Text with everything that is not printable written out: `\x1b`, `\u202e`, `\n`.

    That is C0 and C1 controls, bidirectional and zero-width characters, line separators, surrogates, private and
    unassigned characters. Other spaces become a plain space; combining marks beyond four in a row are left out.
    """
    if text.isascii() and text.isprintable():
        return text
    out: list[str] = []
    marks = 0
    for char in text:
        if char.isprintable():
            marks = marks + 1 if unicodedata.combining(char) else 0
            if marks <= MARKS_IN_A_ROW_MAX:
                out.append(char)
        elif unicodedata.category(char) == "Zs":
            out.append(" ")
        else:
            out.append(_written_out(ord(char)))
    return "".join(out)


def _written_out(code: int) -> str:
    named = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}.get(code)
    if named:
        return named
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, cells: int) -> str:
    """Escaped text that takes at most `cells` columns; what is left out of the middle is shown as an ellipsis."""
    safe = escape(text[: 8 * cells + 64] + text[-cells:] if len(text) > 9 * cells + 64 else text)
    if cell_len(safe) <= cells:
        return safe
    if cells < 8:
        return set_cell_size(safe, max(cells - 1, 0)).rstrip() + "…" if cells > 0 else ""
    head = (cells - 1) * 2 // 3
    tail = cells - 1 - head
    end = safe[-tail:]
    while cell_len(end) > tail:
        end = end[1:]
    return set_cell_size(safe, head).rstrip() + "…" + end
