"""Which URL keys are twins, and when a site's twins are merged."""

from __future__ import annotations

import pytest

from gossamer.model.url import Url, parse
from gossamer.policy.twins import EQUAL_PAIRS_MIN, Pair, are_merged, twin_keys


def key(text: str) -> tuple[str, str]:
    url = parse(text)
    assert isinstance(url, Url)
    return url.key, url.site


@pytest.mark.parametrize(
    ("url", "twins"),
    [
        (
            "http://example.com/a?b=1",
            {Pair.SCHEME: "https://example.com/a?b=1", Pair.WWW: "http://www.example.com/a?b=1"},
        ),
        ("https://www.example.com/", {Pair.SCHEME: "http://www.example.com/", Pair.WWW: "https://example.com/"}),
        ("https://docs.example.com/", {Pair.SCHEME: "http://docs.example.com/"}),
        ("https://www.docs.example.com/", {Pair.SCHEME: "http://www.docs.example.com/"}),
        ("http://10.0.0.1/x", {Pair.SCHEME: "https://10.0.0.1/x"}),
        ("http://localhost/x", {Pair.SCHEME: "https://localhost/x"}),
        ("http://example.com:8080/", {}),
    ],
)
def test_twins(url: str, twins: dict[Pair, str]) -> None:
    own, site = key(url)
    assert dict(twin_keys(own, site)) == {pair: key(twin)[0] for pair, twin in twins.items()}
    for pair, twin in twin_keys(own, site):
        assert (pair, own) in twin_keys(twin, site), "a twin's twin is the URL itself"


def test_evidence() -> None:
    assert not are_merged(EQUAL_PAIRS_MIN - 1, 0)
    assert are_merged(EQUAL_PAIRS_MIN, 0)
    assert not are_merged(1_000, 1), "one pair that differs ends the merge"
