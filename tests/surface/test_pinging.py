"""`gossamer ping` and the spool: what is handed in is read once and whole; what is no ping is counted and removed."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.spool import (
    ANSWER_KEPT_S,
    FILE_MAX_BYTES,
    NAME,
    TAKEN_AT_ONCE_MAX,
    Spool,
    SpoolFullError,
    answer,
    hand_in,
)
from gossamer.core import pings
from gossamer.model.errors import EXIT_OK, UsageError
from gossamer.model.limits import SPOOL_FILES_MAX
from gossamer.model.ping import Ping
from gossamer.surface.cli import run
from gossamer.surface.pinging import WORDS, submit

KEY = "0123456789abcdef"
URL = "https://a.example/page"


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    (tmp_path / "gossamer.toml").write_text("")
    return tmp_path


def taken(directory: Path) -> list[Ping | None]:
    found = []
    for ping, done in Spool(directory).take():
        found.append(ping)
        done({})
    return found


def test_a_ping_reaches_the_spool_and_is_read_once(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert taken(crawl) == []
    assert run(["ping", URL, URL, f"{URL}2", "--key", KEY, "--dir", str(crawl)]) == EXIT_OK
    assert "2 URLs handed to the crawl" in capsys.readouterr().out
    assert taken(crawl) == [Ping(key=KEY, urls=(URL, f"{URL}2"))]
    assert taken(crawl) == []


def test_a_ping_that_was_not_taken_is_read_again(crawl: Path) -> None:
    submit(crawl, [URL], KEY)
    assert len([ping for ping, _ in Spool(crawl).take()]) == 1
    assert len(taken(crawl)) == 1


@pytest.mark.parametrize(
    ("urls", "key", "said"),
    [([URL], "short", "8 to 128"), (["mailto:a@b.example"], KEY, "no http"), ([URL], "../../../etc", "8 to 128")],
)
def test_what_is_no_ping_is_refused(crawl: Path, urls: list[str], key: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        submit(crawl, urls, key)
    assert taken(crawl) == []


def test_there_must_be_a_crawl_and_room(crawl: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no crawl"):
        submit(tmp_path / "nowhere", [URL], KEY)
    (crawl / NAME).mkdir()
    for number in range(SPOOL_FILES_MAX):
        (crawl / NAME / f"{number}.new").touch()
    with pytest.raises(SpoolFullError):
        hand_in(crawl, Ping(key=KEY, urls=(URL,)))
    with pytest.raises(UsageError, match="too many"):
        submit(crawl, [URL], KEY)


def test_files_that_say_nothing_are_told_as_such_and_removed(crawl: Path) -> None:
    spool = crawl / NAME
    spool.mkdir()
    (spool / "1.json").write_bytes(b"\xff\xfe not json")
    (spool / "2.json").write_bytes(b'{"key":"short","urls":["https://a.example/"]}')
    (spool / "3.json").write_bytes(b'{"key":"' + KEY.encode() + b'","urls":[1]}')
    (spool / "4.json").write_bytes(b"[" * (FILE_MAX_BYTES + 10))
    (spool / "5.json").symlink_to("/etc/hostname")
    os.mkfifo(spool / "6.json")
    (spool / "unfinished.new").write_bytes(msgspec.json.encode(Ping(key=KEY, urls=(URL,))))
    assert taken(crawl) == [None] * 6
    assert [path.name for path in spool.iterdir()] == ["unfinished.new"]
    assert Path("/etc/hostname").exists()


def test_a_bounded_number_is_taken_at_once_the_oldest_first(crawl: Path) -> None:
    for number in range(TAKEN_AT_ONCE_MAX + 5):
        submit(crawl, [f"https://a.example/{number}"], KEY)
    first = taken(crawl)
    assert [ping.urls[0].rpartition("/")[2] for ping in first if ping] == [str(n) for n in range(TAKEN_AT_ONCE_MAX)]
    assert len(taken(crawl)) == 5


def test_who_waits_hears_once_what_is_refused_and_nobody_else_leaves_anything(crawl: Path) -> None:
    silent, _ = submit(crawl, [URL], KEY)
    asking, _ = submit(crawl, [URL, f"{URL}2"], KEY, answer=True)
    assert answer(asking) is None
    for _, done in Spool(crawl).take():
        done({URL: pings.RATE})
    assert answer(silent) is None
    assert answer(asking) == {URL: pings.RATE}
    assert answer(asking) is None
    assert list((crawl / NAME).iterdir()) == []


def test_an_answer_nobody_comes_for_is_removed(crawl: Path) -> None:
    path, _ = submit(crawl, [URL], KEY, answer=True)
    for _, done in Spool(crawl).take():
        done({})
    (written,) = (crawl / NAME).iterdir()
    assert taken(crawl) == []
    assert written.exists()
    old = written.stat().st_mtime - 2 * ANSWER_KEPT_S
    os.utime(written, (old, old))
    assert taken(crawl) == []
    assert answer(path) is None
    assert list((crawl / NAME).iterdir()) == []


def test_every_way_to_be_refused_has_words() -> None:
    refusals = {value for name, value in vars(pings).items() if name.isupper() and str(value).startswith("ping-")}
    assert refusals - {pings.FOLLOWED} <= set(WORDS)
