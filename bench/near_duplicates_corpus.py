"""Makes tests/cases/duplicates: labelled pairs of pages from packaged documentation.

    python bench/near_duplicates_corpus.py --old-postgres DIR --new-postgres DIR --old-sqlalchemy DIR \
        --new-sqlalchemy DIR --python DIR --out tests/cases/duplicates

The directories hold HTML: PostgreSQL's manual of two minor releases (Debian's postgresql-doc-15), SQLAlchemy's
documentation of two patch releases (`doc/` of its source distribution), and Python's library reference (Debian's
python3-doc). The output is committed, so nobody needs them to run the tests. Labels don't come from what is tested:
two releases of one page count as one page when difflib finds at least 90 % of the words alike, edits are made here,
and different pages are different by their place in the manual.
"""

from __future__ import annotations

import argparse
import difflib
import html
import json
import lzma
import random
import re
from pathlib import Path
from typing import NamedTuple

PAGE_BYTES = (4_000, 40_000)
SAME_RATIO_MIN = 0.9
RELEASE_PAIRS = {"postgres": 75, "sqlalchemy": 35}
EDITED_PAGES = 15  # of each of two manuals, each edited in six ways
CHAPTER_PAIRS = {"postgres": 60, "sqlalchemy": 30, "python": 50}
TEMPLATE_PAIRS = 40
NAMED_PAIRS = 30


class Document(NamedTuple):
    manual: str
    name: str
    text: str


class Pair(NamedTuple):
    a: str
    b: str
    same: bool
    kind: str
    alike: float = 0.0  # share of 4-grams in common, whole pages


def words(text: str) -> list[str]:
    """The words a reader sees, found without the code under test."""
    text = re.sub(r"(?s)<(script|style|head)\b.*?</\1>|<[^>]+>", " ", text)
    return re.findall(r"\w+", html.unescape(text).lower())


def read(manual: str, directory: Path) -> dict[str, Document]:
    """Pages of a useful size, by file name."""
    found = {}
    for path in sorted(directory.rglob("*.html")):
        low, high = PAGE_BYTES
        if low <= path.stat().st_size <= high and not path.name.startswith(("genindex", "bookindex", "search")):
            name = str(path.relative_to(directory))
            found[name] = Document(manual, name, path.read_text(encoding="utf-8", errors="replace"))
    return found


def releases(old: dict[str, Document], new: dict[str, Document], count: int) -> list[tuple[Document, Document]]:
    """Pages of two releases that are one page to a reader: those that changed most, then others."""
    rated = []
    for name in sorted(set(old) & set(new)):
        ratio = difflib.SequenceMatcher(None, words(old[name].text), words(new[name].text), autojunk=False).ratio()
        if ratio >= SAME_RATIO_MIN:
            rated.append((ratio, name))
    rated.sort()
    chosen = rated[: count // 2] + rated[count // 2 :: max(1, len(rated) // (count - count // 2))][: count - count // 2]
    return [(old[name], new[name]) for _, name in chosen]


def edits(page: Document, dice: random.Random) -> dict[str, str]:
    """One page as a site shows it at other times and in other places."""
    text = page.text
    body = re.search(r"<body[^>]*>", text)
    assert body is not None
    start, end = body.end(), text.rfind("</body>")
    head, inner, tail = text[:start], text[start:end], text[end:]
    links = "".join(f'<li><a href="/story/{n}">Reader story number {n} about {dice.choice(NOUNS)}</a></li>' for n in
                    dice.sample(range(900), 12))  # fmt: skip
    paragraphs = [found.span() for found in re.finditer(r"(?s)<p\b.*?</p>", inner)]
    changed = inner
    if paragraphs:
        at, stop = min(paragraphs, key=lambda span: abs(span[1] - span[0] - 150))
        changed = inner[:at] + f"<p>{sentence(dice)} {sentence(dice)}</p>" + inner[stop:]
    return {
        "timestamp": head + f"<p>Page generated on 2026-0{dice.randint(1, 9)}-1{dice.randint(0, 9)} "
        f"in 0.{dice.randint(100, 999)} seconds.</p>" + inner + tail,
        "sidebar": head + f'<div class="sidebar"><h3>Most read</h3><ul>{links}</ul></div>' + inner + tail,
        "consent": head + '<div id="cookie-banner"><p>We value your privacy. We and our partners store and access '
        "information on a device, such as cookies. Accept all or manage your options.</p></div>" + inner + tail,
        "print": re.sub(r'(?s)<div class="nav(header|footer)">.*?</div>', "", head + inner + tail),
        "session": re.sub(r'href="([^"#:]+\.html)', r'href="\1?PHPSESSID=9f86d081884c7d65', head + inner + tail),
        "paragraph": head + changed + tail,
    }


NOUNS = "harbour engine library valley orchard bridge lantern market violin glacier printer canal".split()
VERBS = "carries measures follows repairs collects describes replaces welcomes crosses protects".split()


def sentence(dice: random.Random) -> str:
    """A sentence of no meaning."""
    return (f"The {dice.choice(NOUNS)} {dice.choice(VERBS)} the {dice.choice(NOUNS)} near the {dice.choice(NOUNS)} "
            f"and {dice.choice(VERBS)} {dice.randint(2, 99)} {dice.choice(NOUNS)}s.")  # fmt: skip


def chapters(pages: list[Document], count: int, dice: random.Random) -> list[tuple[Document, Document]]:
    """Different pages of one manual: half the most alike that can be found, half neighbours."""
    bags = {page.name: frozenset(zip(*(words(page.text)[n:] for n in range(4)), strict=False)) for page in pages}
    scored = []
    for page in pages:
        best = max((other for other in pages if other is not page), key=lambda other: alike(bags, page, other))
        scored.append((alike(bags, page, best), *sorted((page, best), key=lambda one: one.name)))
    scored.sort(key=lambda row: (-row[0], row[1].name))
    found: list[tuple[Document, Document]] = []
    for score, a, b in scored:
        if score < 1 and (a, b) not in found and len(found) < count // 2:
            found.append((a, b))
    while len(found) < count:
        at = dice.randrange(len(pages) - 1)
        if (pages[at], pages[at + 1]) not in found:
            found.append((pages[at], pages[at + 1]))
    return found


def alike(bags: dict[str, frozenset[tuple[str, ...]]], a: Document, b: Document) -> float:
    """Share of 4-grams that two pages have in common."""
    left, right = bags[a.name], bags[b.name]
    return len(left & right) / max(1, len(left | right))


def templated(dice: random.Random) -> tuple[str, str]:
    """Two pages of a catalogue: one template, the same legal text, different things."""
    legal = " ".join(sentence(random.Random(n)) for n in range(dice.choice((6, 12, 18))))

    def page() -> str:
        facts = "".join(f"<p>{sentence(dice)} {sentence(dice)} {sentence(dice)}</p>" for _ in range(6))
        table = "".join(
            f"<tr><td>{noun}</td><td>{dice.randint(1, 999)} {dice.choice(NOUNS)}</td></tr>" for noun in NOUNS
        )
        body = f"<h1>Catalogue entry</h1>{facts}<table>{table}</table><h2>Terms of sale</h2><p>{legal}</p>"
        return f"<html><head><title>Catalogue</title></head><body>{body}</body></html>"

    return page(), page()


def named(dice: random.Random) -> tuple[str, str]:
    """Two items that share all of a long text but one sentence, and have names of their own."""
    common = "".join(f"<p>{sentence(dice)} {sentence(dice)} {sentence(dice)}</p>" for _ in range(40))
    first, second = dice.sample(NOUNS, 2)

    def page(noun: str) -> str:
        title = f"The {noun} — a guide for visitors"
        return (f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>Open from {dice.randint(7, 9)} "
                f"to {dice.randint(16, 20)}. </p>{common}</body></html>")  # fmt: skip

    return page(first), page(second)


def build(arguments: argparse.Namespace) -> tuple[dict[str, str], list[Pair]]:
    """All documents by id, and all pairs."""
    dice = random.Random(20_261_130)
    documents: dict[str, str] = {}
    pairs: list[Pair] = []

    def keep(key: str, text: str) -> str:
        documents[key] = text
        return key

    new = {
        "postgres": read("postgres", arguments.new_postgres),
        "sqlalchemy": read("sqlalchemy", arguments.new_sqlalchemy),
        "python": read("python", arguments.python),
    }
    old = {
        "postgres": read("postgres", arguments.old_postgres),
        "sqlalchemy": read("sqlalchemy", arguments.old_sqlalchemy),
    }
    for manual, count in RELEASE_PAIRS.items():
        for a, b in releases(old[manual], new[manual], count):
            left, right = keep(f"{manual}-old/{a.name}", a.text), keep(f"{manual}/{b.name}", b.text)
            pairs.append(Pair(left, right, True, "release"))
    for manual in ("postgres", "python"):
        for page in dice.sample(sorted(new[manual].values()), EDITED_PAGES):
            left = keep(f"{manual}/{page.name}", page.text)
            for kind, text in edits(page, dice).items():
                pairs.append(Pair(left, keep(f"{manual}-{kind}/{page.name}", text), True, kind))
    for manual, count in CHAPTER_PAIRS.items():
        pages = dice.sample(sorted(new[manual].values()), min(150, len(new[manual])))
        for a, b in chapters(sorted(pages), count, dice):
            left, right = keep(f"{manual}/{a.name}", a.text), keep(f"{manual}/{b.name}", b.text)
            pairs.append(Pair(left, right, False, "chapter"))
    for number in range(TEMPLATE_PAIRS):
        first, second = templated(dice)
        pairs.append(Pair(keep(f"template/{number}a", first), keep(f"template/{number}b", second), False, "template"))
    for number in range(NAMED_PAIRS):
        first, second = named(dice)
        pairs.append(Pair(keep(f"named/{number}a", first), keep(f"named/{number}b", second), False, "named"))
    return documents, [pair._replace(alike=changed(documents, pair)) for pair in pairs]


def changed(documents: dict[str, str], pair: Pair) -> float:
    """Jaccard similarity of the words' 4-grams of a pair, boilerplate and all, counted without the code under test."""
    bags = [frozenset(zip(*(words(documents[key])[n:] for n in range(4)), strict=False)) for key in (pair.a, pair.b)]
    return round(len(bags[0] & bags[1]) / max(1, len(bags[0] | bags[1])), 3)


def main() -> None:
    """Write documents.jsonl.xz and pairs.jsonl."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("old-postgres", "new-postgres", "old-sqlalchemy", "new-sqlalchemy", "python", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    arguments = parser.parse_args()
    documents, pairs = build(arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    # In the order of their names without the variant, so that what is alike lies side by side and compresses.
    order = sorted(documents, key=lambda key: (key.partition("/")[0].partition("-")[0], key.partition("/")[2], key))
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 25}]
    with lzma.open(arguments.out / "documents.jsonl.xz", "wt", encoding="utf-8", filters=filters) as out:
        out.writelines(json.dumps({"id": key, "html": documents[key]}) + "\n" for key in order)
    with (arguments.out / "pairs.jsonl").open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(pair._asdict()) + "\n" for pair in pairs)
    print(f"{len(documents)} documents, {len(pairs)} pairs, {sum(pair.same for pair in pairs)} of them one page")


if __name__ == "__main__":
    main()
