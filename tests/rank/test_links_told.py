"""`gossamer links`: what leads to a page and to its host, as the URL table and the link log have it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gossamer.adapters import linkread
from gossamer.adapters.linklog import LinkLog
from gossamer.model.config import Identity, Scope
from gossamer.sim.web import Answer, SimHost, SimWeb, redirect
from gossamer.surface import cli
from gossamer.surface.linkfacts import NAMED_MAX
from tests.reader.making import Made, html, plain_config, site

A, B = "a.example", "b.example"
HOME, TARGET = f"http://{A}/", f"http://{A}/target"
MANY = NAMED_MAX + 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """A page that one host links to, redirects to, copies and names; its host has many neighbours."""
    own: dict[str, Answer] = {
        "/": html("home", TARGET, f"http://{A}/old", f"http://{A}/same", f"http://{A}/print"),
        "/target": html("target", f"http://{B}/"),
        "/old": redirect("/target", 301),
        "/same": html("target"),
        "/print": html("print", canonical=TARGET),
    }
    web = SimWeb(
        {
            A: SimHost(address="20.0.0.1", page=site(own)),
            B: SimHost(address="20.0.1.1", page=site({"/": html("b", TARGET)})),
        }
    )
    identity = Identity(contact="https://example.org/bot")
    made = Made(
        tmp_path_factory.mktemp("links") / "crawl",
        plain_config((HOME,), scope=Scope(mode="any"), identity=identity),
        web,
    )
    made.run()
    log = LinkLog(made.directory / "archive")
    [segment] = made.segments()
    for number in range(MANY):
        for _ in range(1 + number):
            log.note(segment.name, f"h{number}.site{number % 3}.example", [A, "x.example"], 0.0)
    log.note(segment.name, A, [B], 0.0)
    log.note(segment.name, B, [A], 0.0)
    log.flush()
    return made


def asked(made: Made, url: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    capsys.readouterr()
    assert cli.run(["links", url, "--dir", str(made.directory), *more]) == 0
    return capsys.readouterr().out


def test_what_leads_to_a_page_is_told(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(asked(made, TARGET, capsys, "--json"))
    assert (found["known"], found["found_on"], found["host"]) == (True, HOME, A)
    assert found["redirects"] == {"total": 1, "urls": [f"http://{A}/old"]}
    assert found["copies"] == {"total": 1, "urls": [f"http://{A}/same"]}
    assert found["canonicals"] == {"total": 1, "urls": [f"http://{A}/print"]}
    assert found["found"] == {"total": 1, "urls": [f"http://{B}/"]}
    leading = found["leading"]
    assert (leading["hosts"], leading["sites"], len(leading["named"])) == (MANY + 1, 4, NAMED_MAX)
    assert leading["named"][0] == [f"h{MANY - 1}.site{(MANY - 1) % 3}.example", MANY]
    assert found["led"] == {"hosts": 1, "sites": 1, "named": [[B, 1]]}
    text = asked(made, TARGET, capsys)
    assert f"found on   {HOME}" in text
    assert f"hosts that lead to {A}: {MANY + 1} of 4 sites" in text
    assert f"and {MANY + 1 - NAMED_MAX} hosts more" in text


def test_a_seed_and_a_url_that_is_not_known(made: Made, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(asked(made, HOME, capsys, "--json"))
    assert (found["found_on"], found["found"]["total"]) == ("seed", 4)
    assert "not known to this crawl" in asked(made, f"http://{A}/nowhere", capsys)
    assert cli.run(["links", "mailto:a@b.example", "--dir", str(made.directory)]) == 2
    assert cli.run(["links", HOME, "--dir", str(made.directory / "none")]) == 2


def test_the_neighbours_of_a_host_are_bounded(
    made: Made, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(linkread, "NEIGHBOURS_MAX", 10)
    found = linkread.read_neighbours(made.directory / "archive", A)
    assert (len(found.leading), found.left_out) == (10, MANY + 1 - 10)
    assert f"{MANY + 1 - 10} links are not in the log" in asked(made, TARGET, capsys)
    empty = linkread.read_neighbours(tmp_path, A)
    assert (empty.leading, empty.led, empty.logs) == ({}, {}, 0)
