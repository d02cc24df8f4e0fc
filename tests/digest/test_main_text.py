"""The main text is the same whether every part of a page is read once or each suspect is weighed against the whole."""

from __future__ import annotations

import random

import pytest
from selectolax.lexbor import LexborNode

from gossamer.adapters.digest import text as module
from gossamer.adapters.digest.html import parse_html, scan
from gossamer.adapters.digest.text import main_text

TAGS = "div main article aside header nav section ul p script b span".split()
NAMES = ("", "", " class=sidebar", " class=footer", " role=main", " role=navigation", " id=menu", " class=body")


def page(dice: random.Random, depth: int = 0) -> str:
    parts = []
    for _ in range(dice.randint(1, 4)):
        if depth > 6 or dice.random() < 0.4:
            words = dice.choices(("one", "two—", "3", "x"), k=dice.choice((0, 3, 10, 40, 150)))
            parts.append(" ".join(words) + dice.choice(("", "\n  ")))
        else:
            tag = dice.choice(TAGS)
            parts.append(f"<{tag}{dice.choice(NAMES)}>{page(dice, depth + 1)}</{tag}>")
    return "".join(parts)


def test_one_reading_gives_what_weighing_gives() -> None:
    dice = random.Random(7)
    quick = 0
    for _ in range(1_500):
        markup = "<body>" + page(dice)
        tree, other = parse_html(markup), parse_html(markup)
        found, seen = scan(tree, markup), scan(other, markup)
        for node in seen.boilerplate:
            node.decompose(recursive=False)
        assert other.body is not None
        before = other.body.html
        read_once = module._without_suspects(other.body, seen)
        quick += read_once is not None
        if read_once is None:
            assert other.body.html == before
            read_once = module._by_share(other.body, seen)
        weighed_tree = parse_html(markup)
        weighed = scan(weighed_tree, markup)
        for node in weighed.boilerplate:
            node.decompose(recursive=False)
        assert weighed_tree.body is not None
        weighed_part = module._by_share(weighed_tree.body, weighed)
        assert main_text(tree, found) == read_once[0] == weighed_part[0]
        for text, node in (read_once, weighed_part):
            assert module._text(node) == text
    assert 300 < quick < 1_400


def test_a_suspect_that_holds_most_of_the_text_stays() -> None:
    markup = f"<p>{'few ' * 20}<div class=sidebar>{'many ' * 300}</div><div class=footer>{'last ' * 20}</div>"
    tree = parse_html(markup)
    text = main_text(tree, scan(tree, markup)).split()
    assert (text.count("few"), text.count("many"), text.count("last")) == (20, 300, 0)


def test_a_page_that_seems_all_boilerplate_is_taken_whole() -> None:
    markup = "".join(f"<div class=menu>{word * 40}</div>" for word in ("one ", "two ", "three "))
    tree = parse_html(markup)
    assert main_text(tree, scan(tree, markup)).split() == ["one"] * 40 + ["two"] * 40 + ["three"] * 40


@pytest.mark.parametrize("before", ["", "small " * 4_000])
def test_suspects_inside_one_another_are_not_read_over_and_over(before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    markup = before + "<div class=menu>" * 1_000 + "word " * 3_000
    tree = parse_html(markup)
    read = 0
    text_of = module._text

    def counted(node: LexborNode) -> str:
        nonlocal read
        text = text_of(node)
        read += len(text)
        return text

    monkeypatch.setattr(module, "_text", counted)
    text = main_text(tree, scan(tree, markup)).split()
    assert (text.count("small"), text.count("word")) == ((4_000, 0) if before else (0, 3_000))
    assert read < (module.TOO_LARGE_MAX + 5) * len(markup)
