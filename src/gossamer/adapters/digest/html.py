"""One walk over a parsed HTML document: its links, base, title, language, directives, and what is boilerplate.

What the markup says, as text; nothing is resolved or judged here. Links are read from `a`, `area`, `frame`, `iframe`,
`link` (next, canonical, alternate) and meta refresh. Not from forms, scripts, styles, images or data attributes: a
crawler of pages does not guess.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from selectolax.lexbor import LexborDocumentOptions, LexborHTMLParser, SelectolaxError

from gossamer.adapters.digest.refresh import refresh_target
from gossamer.model.limits import FEEDS_PER_PAGE_MAX

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

METAS_MAX: Final = 200
_FEEDS: Final = frozenset(("application/rss+xml", "application/atom+xml"))
CLASS_MAX_CHARS: Final = 300
NOSCRIPT_PARENTS_MAX: Final = 64  # how far up a meta or base looks for a noscript element

# What pages have most of and no handler asks for is passed over by the engine, at a third of what a look here costs.
_SEEN: Final = ":not(span,code,em,p,li)"
# Without the changes that scripts would make: a selectedcontent that copies an option is nothing a page says.
_OPTIONS: Final = LexborDocumentOptions.WO_EVENTS.value

Link = tuple[str, bool]  # href as written, whether its rel says nofollow


@dataclass(slots=True)
class Scan:
    """What one walk found."""

    markup: str = ""  # the text that was parsed
    links: list[Link] = field(default_factory=list)
    metas: list[tuple[str, str]] = field(default_factory=list)  # (name, content), names lower-cased
    base: str | None = None  # href of the first base element that has one
    canonical: str | None = None
    feeds: list[str] = field(default_factory=list)  # alternates that are RSS or Atom; they are links as well
    language: str = ""  # of the html element
    title: LexborNode | None = None
    mains: list[LexborNode] = field(default_factory=list)  # main, role=main
    articles: list[LexborNode] = field(default_factory=list)
    boilerplate: list[LexborNode] = field(default_factory=list)  # never content, in document order
    base_in_noscript: bool | None = None  # of the first base in the markup; None: not looked for yet
    suspects: list[LexborNode] = field(default_factory=list)  # boilerplate by name, unless they hold most of the text


def parse_html(text: str, encoded: bytes | None = None) -> LexborHTMLParser:
    """The document of a text, as the HTML standard builds it. Raises MemoryError when there is no room for it.

    A last tag that was cut off after an attribute's closing quote is closed: the standard would drop it whole.

    Args: the text; the text in UTF-8, where it is at hand: the engine reads that.
    """
    source = encoded or text
    if text[-1:] in {'"', "'"} and text.rfind("<") > text.rfind(">"):
        source = text + ">"
    try:
        return LexborHTMLParser(source, options=_OPTIONS)
    except SelectolaxError as error:  # the standard has a tree for every text: only memory can be missing
        raise MemoryError(str(error)) from error


def scan(tree: LexborHTMLParser, markup: str) -> Scan:
    """Walk the document once. Linear in the number of elements, whatever their depth.

    Args: the document, and the text it was parsed from.
    """
    found = Scan(markup)
    root = tree.root
    if root is None:
        return found
    handlers, links = _HANDLERS, found.links
    for node in root.css(_SEEN):
        tag = node.tag_id
        if tag in _ANCHORS:  # most of what is left; a call for each would cost more than the look
            attributes = node.attributes
            href = attributes.get("href")
            if href and href[0] != "#":
                rel = attributes.get("rel")
                links.append((href, bool(rel) and _is_nofollow(rel)))
        elif tag in handlers:
            handlers[tag](node, found)
    return found


def stray_frames(text: str) -> list[Link]:
    """Frames of a document that forgot its frameset: the standard drops them, browsers of their time did not."""
    if "<frame" not in text and "<FRAME" not in text:
        return []
    if "<frameset" in text.lower():
        return []
    root = LexborHTMLParser("<frameset>" + text).root
    sources = [] if root is None else [node.attributes.get("src") for node in root.css("frame")]
    return [(source, False) for source in sources if source]


@lru_cache(maxsize=1024)
def _is_nofollow(rel: str | None) -> bool:
    return rel is not None and "nofollow" in rel.lower().split()


def _frame(node: LexborNode, found: Scan) -> None:
    src = node.attributes.get("src")
    if src:
        found.links.append((src, False))
    if node.tag == "iframe":
        found.boilerplate.append(node)


def _link(node: LexborNode, found: Scan) -> None:
    attributes = node.attributes
    href, rel = attributes.get("href"), attributes.get("rel")
    if not href or not rel:
        return
    rels = rel.lower().split()
    if "canonical" in rels:
        if found.canonical is None:
            found.canonical = href
    elif "alternate" in rels:
        kind = (attributes.get("type") or "").lower()
        if "stylesheet" in rels or "oembed" in kind:
            return
        if (
            kind.partition(";")[0].strip() in _FEEDS
            and "nofollow" not in rels
            and len(found.feeds) < FEEDS_PER_PAGE_MAX
        ):
            found.feeds.append(href)
    elif "next" not in rels:
        return
    found.links.append((href, "nofollow" in rels))


def _meta(node: LexborNode, found: Scan) -> None:
    attributes = node.attributes
    content = attributes.get("content")
    if content is None or len(found.metas) >= METAS_MAX:
        return
    name = attributes.get("name")
    if name:
        found.metas.append((name.strip().lower(), content))
    elif (attributes.get("http-equiv") or "").strip().lower() == "refresh" and not _in_noscript(node):
        target = refresh_target(content)
        if target:
            found.links.append((target, False))


def _base(node: LexborNode, found: Scan) -> None:
    if found.base is None:
        href = node.attributes.get("href")
        if href is not None and not _in_noscript(node) and not _fell_out_of_noscript(node, found):
            found.base = href


def _fell_out_of_noscript(node: LexborNode, found: Scan) -> bool:
    """Whether a base was written inside a noscript of the head, which ends at it for a parser that runs no scripts."""
    before = node.prev
    while before is not None and before.tag == "-text":
        before = before.prev
    if before is None or before.tag != "noscript":
        return False
    if found.base_in_noscript is None:  # once: there may be as many as tags have room for
        lower = found.markup.lower()
        at = lower.find("<base")
        found.base_in_noscript = lower.rfind("<noscript", 0, at) > lower.rfind("</noscript", 0, at)
    return found.base_in_noscript


def _in_noscript(node: LexborNode) -> bool:
    """Browsers run scripts, so a base or a refresh for those that don't is not the page's own."""
    parent = node.parent
    for _ in range(NOSCRIPT_PARENTS_MAX):
        if parent is None:
            return False
        if parent.tag == "noscript":
            return True
        parent = parent.parent
    return False


def _html(node: LexborNode, found: Scan) -> None:
    found.language = found.language or node.attributes.get("lang") or node.attributes.get("xml:lang") or ""


def _title(node: LexborNode, found: Scan) -> None:
    parent = node.parent
    if found.title is None and (parent is None or parent.tag != "svg"):
        found.title = node


def _drop(node: LexborNode, found: Scan) -> None:
    found.boilerplate.append(node)


def _suspect(node: LexborNode, found: Scan) -> None:
    found.suspects.append(node)


def _main(node: LexborNode, found: Scan) -> None:
    found.mains.append(node)


def _article(node: LexborNode, found: Scan) -> None:
    found.articles.append(node)


def _block(node: LexborNode, found: Scan) -> None:
    attributes = node.attributes
    if not attributes:
        return
    role = attributes.get("role")
    if role == "main":
        found.mains.append(node)
    elif role in _ROLES or "hidden" in attributes:
        found.suspects.append(node)
    else:
        name = attributes.get("class")
        identity = attributes.get("id")
        if (name and _is_boilerplate_name(name[:CLASS_MAX_CHARS])) or (
            identity and _is_boilerplate_name(identity[:CLASS_MAX_CHARS])
        ):
            found.suspects.append(node)


_ROLES: Final = frozenset(("navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar"))
_WORDS: Final = frozenset(
    (
        "nav navbar navigation navheader navfooter topnav menu menubar breadcrumb breadcrumbs crumbs sidebar footer "
        "masthead toolbar topbar pagination pager related share sharing social cookie cookies cookiebanner consent "
        "advert advertisement ads promo banner newsletter subscribe widget widgets toc tableofcontents skip skiplink "
        "login copyright legal"
    ).split()
)
_ENDS: Final = ("sidebar", "navbar", "breadcrumb", "breadcrumbs", "footer", "menu")
_TO_SPACES: Final = str.maketrans(dict.fromkeys("-_:.", " "))


@lru_cache(maxsize=8192)
def _is_boilerplate_name(name: str) -> bool:
    """Whether a class or id says navigation, footer, advertisement and the like. Sites repeat names, so remembered."""
    words = name.lower().translate(_TO_SPACES).split()
    return any(word in _WORDS or word.endswith(_ENDS) for word in words)


def _tag_ids() -> dict[int, Callable[[LexborNode, Scan], None]]:
    """Handlers by the engine's tag number. The numbers belong to the engine's version, so they are asked for."""
    plan: dict[Callable[[LexborNode, Scan], None], str] = {
        _link: "link",
        _meta: "meta",
        _base: "base",
        _html: "html",
        _title: "title",
        _main: "main",
        _article: "article",
        _drop: "script style noscript template nav footer select button textarea dialog svg object",
        _suspect: "aside header",
        _block: "div section ul ol table form",
    }
    handlers = {_tag_id(tag): handler for handler, tags in plan.items() for tag in tags.split()}
    handlers[_tag_id("frame")] = handlers[_tag_id("iframe")] = _frame
    return handlers


def _tag_id(tag: str) -> int:
    tree = LexborHTMLParser("")
    return tree.create_node(tag).tag_id


_HANDLERS: Final = _tag_ids()
_ANCHORS: Final = frozenset(map(_tag_id, ("a", "area")))
