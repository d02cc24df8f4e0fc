"""The text of a part of an HTML document in lines, for people: one line for a paragraph, a heading, a list item, a row.

Not the text that fingerprints are made of (`text.main_text`), in which markup splits words and nothing ends a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_BREAK: Final = "\x1e"  # a sign that ends a line; a page that has it in its text breaks its own lines
_BLOCKS: Final = (
    "address,article,aside,blockquote,caption,center,dd,details,div,dl,dt,fieldset,figcaption,figure,form,h1,h2,h3,h4,"
    "h5,h6,header,hr,legend,li,main,menu,ol,option,p,pre,section,summary,table,tbody,thead,tfoot,tr,ul"
)
_CELLS: Final = "td,th"


def lines_of(node: LexborNode) -> list[str]:
    """Lines of an element's text, white space collapsed, none of them empty; the lines of a `pre` stay apart.

    Puts marks into the element, so this comes after everything else that reads it. Linear in the number of elements.
    """
    for element in node.css(_BLOCKS):
        if element.parent is not None:
            element.insert_before(_BREAK)
            element.insert_after(_BREAK)
    for element in node.css("br"):
        element.insert_after(_BREAK)
    for element in node.css(_CELLS):
        element.insert_before(" ")
    within: set[int] = set()
    for element in node.css("pre"):
        if element.mem_id not in within and element.parent is not None:
            within.update(inner.mem_id for inner in element.css("pre"))
            element.insert_before(element.text(deep=True, separator="").replace("\n", _BREAK))
            element.decompose(recursive=False)  # unlinked, not destroyed: handles to what it holds may be left
    text = node.text(deep=True, separator="")
    return [line for part in text.split(_BREAK) if (line := " ".join(part.split()))]
