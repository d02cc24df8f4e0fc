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
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from gossamer.adapters.digest.html import Scan

    Place = tuple[LexborNode, LexborNode | None, LexborNode | None]  # a node, its parent, its next sibling

MAIN_MIN_CHARS: Final = 200  # a main element with less text is somebody's mistake
MAIN_MIN_SHARE: Final = 0.25  # ... and so is one with less of the body's text than this
SUSPECT_MAX_SHARE: Final = 0.5  # boilerplate by name that holds more of the text is no boilerplate
TOO_LARGE_MAX: Final = 50  # suspects that hold more: they are inside one another, and each is read whole
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
    return " ".join(text.replace("\0", "").split())[:TITLE_MAX_CHARS].rstrip()


def main_text(tree: LexborHTMLParser, found: Scan) -> str:
    """The text of the main content, at most TEXT_MAX_CHARS. Takes boilerplate out of the tree.

    Never empty when the body has text: a page that seems all boilerplate is taken whole. Nodes are unlinked, not
    destroyed, because other handles may point into them.
    """
    part = main_part(tree, found)
    return "" if part is None else part[0][:TEXT_MAX_CHARS]


def main_part(tree: LexborHTMLParser, found: Scan) -> tuple[str, LexborNode] | None:
    """The main content: its text, uncut, and the element that holds just that; None when there is no body.

    Takes boilerplate out of the tree, and it may take the element out as well.
    """
    body = tree.body
    if body is None:
        return None
    for node in found.boilerplate:
        node.decompose(recursive=False)
    return _without_suspects(body, found) or _by_share(body, found)


def _without_suspects(body: LexborNode, found: Scan) -> tuple[str, LexborNode] | None:
    """The main part where no suspect holds too much, which is nearly everywhere; else None, and the tree as it was.

    Same result as `_by_share`, but reads every part of the page once: the length of the whole is the sum of its parts',
    each with the separator that joins it to the next.
    """
    taken: list[Place] = []
    largest = total = 0
    below = _Below(body)
    for node in found.suspects:
        if node not in below:
            continue
        size = len(_text(node))
        taken.append(_take(node))
        below.lose(node)
        if size:
            total += size + 1
            largest = max(largest, size)
    for candidate in _central(found, body):
        text = _text(candidate)
        if len(text) < MAIN_MIN_CHARS:
            continue
        place = _take(candidate)
        rest = len(_text(body))
        size = total + len(text) + (rest and rest + 1)
        if len(text) >= MAIN_MIN_SHARE * size and largest <= int(SUSPECT_MAX_SHARE * size):
            return text, candidate
        _put_back(place)
    text = _text(body)
    size = total + len(text) if text else max(total - 1, 0)
    if largest <= int(SUSPECT_MAX_SHARE * size) and len(text) >= KEPT_MIN_SHARE * size:
        return text, body
    for place in reversed(taken):
        _put_back(place)
    return None


def _by_share(body: LexborNode, found: Scan) -> tuple[str, LexborNode]:
    """The main part where each suspect is judged by its share of the whole."""
    whole = _text(body)
    size = len(whole)
    limit = int(SUSPECT_MAX_SHARE * size)
    below = _Below(body)
    taken: list[Place] = []
    too_large = 0
    for node in found.suspects:
        if node not in below:
            continue
        if len(_text(node)) <= limit:
            taken.append(_take(node))
            below.lose(node)
            continue
        too_large += 1
        if too_large > TOO_LARGE_MAX:
            break
    for candidate in _central(found, body):
        text = _text(candidate)
        if len(text) >= max(MAIN_MIN_CHARS, MAIN_MIN_SHARE * size):
            return text, candidate
    text = _text(body)
    if len(text) >= KEPT_MIN_SHARE * size:
        return text, body
    for place in reversed(taken):
        _put_back(place)
    return whole, body


def _central(found: Scan, body: LexborNode) -> Iterator[LexborNode]:
    """The elements that are marked as the content: of each kind, if there is exactly one and it is still there."""
    for candidates in (found.mains, found.articles):
        if len(candidates) == 1 and candidates[0] in _Below(body):
            yield candidates[0]


def _text(node: LexborNode) -> str:
    return node.text(deep=True, separator=" ", skip_empty=True)


def _take(node: LexborNode) -> Place:
    """Unlink a node from the tree. Returns where it was."""
    parent, following = node.parent, node.next
    node.decompose(recursive=False)
    return node, parent, following


def _put_back(place: Place) -> None:
    """Undo the last `_take` that has not been undone."""
    node, parent, following = place
    if following is not None:
        following.insert_before(node, move=True)
    elif parent is not None:
        parent.insert_child(node, move=True)


class _Below:
    """Which nodes hang below an element. Ancestors are remembered, so that asking for many nodes takes linear time.

    Nodes must be asked for and lost in document order: what was found below stays below.
    """

    __slots__ = ("_below", "_lost")

    def __init__(self, top: LexborNode) -> None:
        self._below = {top.mem_id}
        self._lost: set[int] = set()

    def __contains__(self, node: LexborNode) -> bool:
        passed: list[int] = []
        parent = node.parent
        while parent is not None:
            identity = parent.mem_id
            if identity in self._below:
                self._below.update(passed)
                return True
            if identity in self._lost:
                break
            passed.append(identity)
            parent = parent.parent
        self._lost.update(passed)
        return False

    def lose(self, node: LexborNode) -> None:
        """The node was unlinked, with what hangs below it."""
        self._lost.add(node.mem_id)


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
