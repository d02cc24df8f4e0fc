"""Hooks of installed distributions: found, called, failing."""

from __future__ import annotations

import pytest

from gossamer.adapters.digest.hooks import Hooks, load, load_worker_hooks
from gossamer.model.errors import ConfigError
from gossamer.model.limits import DIGEST_EXTRA_MAX, DIGEST_EXTRA_MAX_CHARS
from gossamer.model.page import Digest
from tests.digest.conftest import Install
from tests.digest.helpers import digest, links
from tests.digest.test_pages import SITE

BODY = (
    "<html lang=en><title>T</title><p>Some text</p><a href=/a>a</a><a href=/b>b</a><a href=http://else.example/>e</a>"
)


def read(hooks: Hooks) -> Digest:
    return digest(BODY, SITE, hooks)


def test_a_scope_hook_brings_in_and_keeps_out(install: Install) -> None:
    install(
        """
        def scope(url, via, depth):
            assert via == "http://example.org/page" and depth == 2
            return {"http://example.org/a": False, "http://else.example/": True}.get(url)
        """,
        {"gossamer.scope": "mine = MODULE:scope"},
    )
    found = read(load_worker_hooks())
    assert links(found) == ["http://example.org/b", "http://else.example/"]
    assert found.refused == {"scope-hook": 1}
    assert found.hook_errors == ()


def test_a_links_hook_filters_and_cannot_add(install: Install) -> None:
    install(
        """
        class Filter:
            def __call__(self, page, links):
                assert page.title == "T" and page.text == "Some text a b e".replace("Some text", "Some text")
                return [link for link in links if link.endswith("/b")] + ["http://example.org/added"]
        keep = Filter()
        """,
        {"gossamer.links": "mine = MODULE:keep"},
    )
    found = read(load_worker_hooks())
    assert links(found) == ["http://example.org/b"]
    assert found.refused == {"scope-outside": 1, "scope-hook": 1}


def test_a_digest_hook_adds_values_within_bounds(install: Install) -> None:
    install(
        """
        def values(page):
            return {"number": 5, "long": "x" * 10**6, **{f"k{n}": "v" for n in range(1000)}}
        def nothing(page):
            return None
        """,
        {"gossamer.digest": "a = MODULE:values\nb = MODULE:nothing"},
    )
    found = read(load_worker_hooks())
    assert found.extra["number"] == "5"
    assert len(found.extra["long"]) == DIGEST_EXTRA_MAX_CHARS
    assert len(found.extra) == DIGEST_EXTRA_MAX
    other = digest(b"%PDF", hooks=load_worker_hooks(), content_type="application/pdf")
    assert other.extra["number"] == "5"


def test_a_hook_that_raises_costs_its_page_a_recorded_error(install: Install) -> None:
    install(
        """
        import sys
        def scope(url, via, depth):
            raise KeyError(url)
        def keep(page, links):
            return 5
        def more(page):
            sys.exit(3)
        """,
        {
            "gossamer.scope": "s = MODULE:scope",
            "gossamer.links": "l = MODULE:keep",
            "gossamer.digest": "d = MODULE:more",
        },
    )
    hooks = load_worker_hooks()
    found = read(hooks)
    assert links(found) == ["http://example.org/a", "http://example.org/b"]
    assert found.error == ""
    assert found.hook_errors[0] == "s: KeyError: 'http://example.org/a'"
    assert [error.partition(":")[0] for error in found.hook_errors] == ["s", "s", "s", "l", "d"]
    assert read(hooks).hook_errors == found.hook_errors  # nothing is carried over


def test_errors_of_a_hook_asked_for_every_link_are_bounded(install: Install) -> None:
    install("def scope(*args):\n    raise ValueError('x' * 9999)", {"gossamer.scope": "s = MODULE:scope"})
    body = "".join(f"<a href=/{number}>x</a>" for number in range(500))
    found = digest(body, SITE, load_worker_hooks())
    assert len(found.hook_errors) == 16
    assert max(map(len, found.hook_errors)) == 300
    assert len(links(found)) == 500


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("raise RuntimeError('broken')", "cannot be loaded: RuntimeError: broken"),
        ("import no_such_module_anywhere", "cannot be loaded: ModuleNotFoundError"),
        ("", "cannot be loaded: AttributeError"),
        ("thing = 'text'", "is not callable"),
    ],
)
def test_a_hook_that_cannot_be_loaded_is_named(code: str, says: str, install: Install) -> None:
    install(code, {"gossamer.sinks": "mine = MODULE:thing"})
    with pytest.raises(ConfigError, match=f"^hook 'mine' of gossamer.sinks .*{says}"):
        load("gossamer.sinks")


def test_hooks_are_in_the_order_of_their_names(install: Install) -> None:
    install("def f(): ...\ndef g(): ...", {"gossamer.sinks": "zebra = MODULE:f\nape = MODULE:g"})
    assert [name for name, _ in load("gossamer.sinks")] == ["ape", "zebra"]
    assert load("gossamer.nothing") == []


class Spiteful:
    """Raises when it is asked what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __bool__(self) -> bool:
        raise RuntimeError("no truth")


def test_what_a_hook_returns_may_raise_and_costs_a_recorded_error() -> None:
    hooks = Hooks(scope=[("s", lambda *_: Spiteful())], digest=[("d", lambda _: {"a": Spiteful()})])
    assert hooks.in_scope("http://example.org/", "", 0) is None
    found = digest("<p>text</p>", hooks=hooks)
    assert found.extra == {}
    assert [error.split(":")[0] for error in found.hook_errors] == ["s", "d"]
