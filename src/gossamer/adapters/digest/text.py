"""The main text of a parsed HTML document, its title and its language.

The text is for comparing, searching and counting, not for reading: markup inside a word splits it. Boilerplate is
found by element, role and name (docs/decisions/main-content.md says why not by resiliparse's extractor). Taking
boilerplate out changes the tree, so this comes after everything else that reads it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from resiliparse.parse.lang import detect_fast

from gossamer.model.limits import TEXT_MAX_CHARS, TITLE_MAX_CHARS

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from gossamer.adapters.digest.html import Scan

MAIN_MIN_CHARS: Final = 200  # a main element with less text is somebody's mistake
MAIN_MIN_SHARE: Final = 0.25  # ... and so is one with less of the body's text than this
SUSPECT_MAX_SHARE: Final = 0.5  # boilerplate by name that holds more of the text is no boilerplate
KEPT_MIN_SHARE: Final = 0.1  # when less is left after taking boilerplate out, the page consists of it
LANGUAGE_SLICE_CHARS: Final = 1_500
LANGUAGE_MIN_CHARS: Final = 60
LANGUAGE_DISTANCE_MAX: Final = 1_200  # resiliparse's own cut-off: beyond it the guess is "unknown"
SUBTAG_CHARS: Final = 2


def title_of(found: Scan) -> str:
    """The document's title: white space collapsed, at most TITLE_MAX_CHARS."""
    if found.title is None:
        return ""
    text = found.title.text(deep=True)[: 4 * TITLE_MAX_CHARS]
    return " ".join(text.replace("\0", "").split())[:TITLE_MAX_CHARS]


def main_text(tree: LexborHTMLParser, found: Scan) -> str:
    """The text of the main content, at most TEXT_MAX_CHARS. Moves boilerplate out of the tree.

    Never empty when the body has text: a page that seems all boilerplate is taken whole. Nodes are moved to an element
    outside the tree instead of destroyed, because other handles may point into them.
    """
    body = tree.body
    if body is None:
        return ""
    aside = tree.create_node("div")
    for node in found.boilerplate:
        aside.insert_child(node, move=True)
    whole = _text(body)
    size = len(whole)
    if size == 0:
        return ""
    limit = int(SUSPECT_MAX_SHARE * size)
    for node in found.suspects:
        if len(_text(node)) <= limit:
            aside.insert_child(node, move=True)
    text = _central_text(found, aside.mem_id, size) or _text(body)
    return (text if len(text) >= KEPT_MIN_SHARE * size else whole)[:TEXT_MAX_CHARS]


def _text(node: LexborNode) -> str:
    return node.text(deep=True, separator=" ", skip_empty=True)


def _central_text(found: Scan, aside_id: int, size: int) -> str:
    """The text of the element that is marked as the content, if there is exactly one and it holds enough."""
    for candidates in (found.mains, found.articles):
        if len(candidates) == 1 and not _is_inside(candidates[0], aside_id):
            text = _text(candidates[0])
            if len(text) >= max(MAIN_MIN_CHARS, MAIN_MIN_SHARE * size):
                return text
    return ""


def _is_inside(node: LexborNode, ancestor_id: int) -> bool:
    """Whether a node hangs below the element with this identity."""
    parent = node.parent
    while parent is not None:
        if parent.mem_id == ancestor_id:
            return True
        parent = parent.parent
    return False


def language_of(declared: str, text: str) -> str:
    """ISO 639-1 code of a document's language, or "".

    Args: the html element's lang attribute, which counts when it has the form of a language tag; else the main text,
    of which a slice is judged by its letter statistics.
    """
    primary = declared.strip().lower().replace("_", "-").partition("-")[0]
    if len(primary) == SUBTAG_CHARS and primary.isascii() and primary.isalpha():
        return primary
    sample = text[:LANGUAGE_SLICE_CHARS]
    if len(sample) < LANGUAGE_MIN_CHARS:
        return ""
    code, distance = detect_fast(sample, cutoff=LANGUAGE_DISTANCE_MAX)
    return code if distance <= LANGUAGE_DISTANCE_MAX and len(code) == SUBTAG_CHARS else ""
