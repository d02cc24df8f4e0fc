"""`history` and `diff`, and times as people write them; what pages say is shown and not obeyed."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.errors import UsageError
from gossamer.model.view import History, StoredText, Version, Visit
from gossamer.surface import cli
from gossamer.surface.comparison import CONTEXT_WORDS, compare
from gossamer.surface.difftext import diff_lines
from gossamer.surface.times import parse_time
from tests.surface.fakes import DIGEST, FakeEngine, capture
from tests.surface.samples import HOSTILE, START

URL = "https://example.com/"
DAY_S = 86_400.0
NOW = START + 10 * DAY_S  # 2026-01-11T00:00:00Z


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-01-01", START + DAY_S - 1),
        ("20260101", START + DAY_S - 1),
        ("2026-01-01T00:00:00Z", START),
        ("2026-01-01t00:00:00z", START),
        ("2026-01-01 01:00+01:00", START),
        ("20260101000000", START),
        ("now", NOW),
        ("3 days ago", NOW - 3 * DAY_S),
        ("1 Day Ago", NOW - DAY_S),
        ("an hour ago", NOW - 3600),
        ("a week 2 days ago", NOW - 9 * DAY_S),
        ("1.5 hours ago", NOW - 5400),
        ("2h ago", NOW - 7200),
        ("1h30m ago", NOW - 5400),
        ("1 month ago", NOW - 30 * DAY_S),
        ("2 years ago", NOW - 730 * DAY_S),
    ],
)
def test_times(text: str, time: float) -> None:
    assert parse_time(text, NOW) == time


@pytest.mark.parametrize(
    "text", ["", "yesterday", "ago", "3 ago days", "three days ago", "-3 days ago", "\u0663 days ago", "2026-13-01",
             "20261301000000", "2026", "9" * 500, "nan days ago", "1e9 days ago", "2026-01-01T25:00"],
)  # fmt: skip
def test_what_is_no_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(UsageError, match=r'--from ".*" is not a time; it must be like .*3 days ago'):
        parse_time(text, NOW, "--from")


@given(st.text(max_size=40))
@settings(deadline=None, max_examples=200)
def test_any_text_is_a_time_or_refused(text: str) -> None:
    try:
        assert isinstance(parse_time(text, NOW), float)
    except UsageError:
        pass


def test_times_before_all_time_are_the_first() -> None:
    assert parse_time("999999999 weeks ago", NOW) == parse_time("99999999999 years ago", NOW) < -6e10


def version(days: int, verdict: str, **more: object) -> Version:
    fields: dict[str, object] = {
        "time": START + days * DAY_S, "status": 200, "media_type": "text/html", "bytes": 9_000, "digest": DIGEST,
        "segment": "a.warc.gz", "offset": days, "length": 700, "record": "response", "verdict": verdict,
    }  # fmt: skip
    return Version(**(fields | more))  # type: ignore[arg-type]


@pytest.fixture
def stored(crawled: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    monkeypatch.setattr("gossamer.surface.comparing.time.time", lambda: NOW)
    crawled.history = History(
        url=URL, key="com,example)/", state="gone", redirect_to="com,example)/new", visits=5, unlisted=2,
        versions=(
            version(6, "missing", status=404, bytes=12, url="http://example.com/"),
            version(3, "304", status=304, revisit=True, record="revisit"),
            version(0, "duplicate", duplicate_of="https://other.example/", error="digest-timeout"),
        ),
    )  # fmt: skip
    texts = [("Bread", "Flour and water.", "Bake."), ("Bread", "Flour, salt and water.", "Bake."), ("Bread", "Done.")]
    crawled.texts = {
        place: StoredText(media_type="text/html", is_text=True, title="Bread", lines=lines)
        for place, lines in enumerate(texts)
    }
    crawled.visits = (
        Visit(time=START + 6 * DAY_S, status=404, segment="a", offset=9, length=9, record="response"),
        Visit(time=START + 5 * DAY_S, status=304, segment="a", offset=8, length=9, record="revisit", digest="sha1:C"),
        *(
            Visit(time=START + 2 * place * DAY_S, status=200, segment="a", offset=place, length=9, record="response",
                  digest=f"sha1:{'ABC'[place]}")
            for place in (2, 1, 0)
        ),
    )  # fmt: skip
    return crawled


def test_history(stored: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.run(["history", "example.com"], stored) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "https://example.com/: gone, leads to com,example)/new; 5 visits"
    assert lines[2].split() == ["time", "status", "verdict", "size", "stored", "digest", "record"]
    assert lines[3].split() == [
        "2026-01-07",
        "00:00:00Z",
        "404",
        "missing",
        "12",
        "B",
        "700",
        "B",
        DIGEST,
        "a.warc.gz:6",
    ]
    assert lines[4] == "  fetched as http://example.com/"
    assert lines[5].split()[2:4] == ["304", "304"]
    assert lines[7:9] == ["  the same as https://other.example/", "  its text could not be compared: digest-timeout"]
    assert lines[-1].startswith("2 visits more left records")
    assert cli.run(["history", "example.com", "--last", "2", "--json"], stored) == 0
    told = json.loads(capsys.readouterr().out)
    assert [entry["verdict"] for entry in told["versions"]] == ["missing", "304", "duplicate"]
    assert told["state"] == "gone"
    assert stored.asked[-1] == "https://example.com"


def test_history_of_what_is_not_there(stored: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    stored.history = None
    assert cli.run(["history", "example.com"], stored) == 1
    assert "no stored page; gossamer explain tells why" in capsys.readouterr().err
    assert cli.run(["history", "example.com", "--last", "0"], stored) == 2


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ([], ["@@ -1,3 +1,2 @@", " Bread", "-Flour, salt and water.", "-Bake.", "+Done."]),
        (["--to", "2026-01-03"], ["@@ -1,3 +1,3 @@", " Bread", "-Flour and water.", "+Flour, salt and water.",
                                  " Bake."]),
        (["--from", "9 days ago", "--to", "20260103000000", "--context", "0"],
         ["@@ -2,1 +2,1 @@", "-Flour and water.", "+Flour, salt and water."]),
        (["--from", "2026-01-01", "--to", "2026-01-03", "--words", "--context", "0"],
         ["@@ -2,1 +2,1 @@", "~[-Flour-] {+Flour, salt+} and water."]),
        (["--from", "2026-01-05", "--to", "2026-01-01", "--context", "0"],
         ["@@ -2,1 +2,2 @@", "-Done.", "+Flour and water.", "+Bake."]),
        (["--from", "2026-01-03", "--to", "2026-01-03"], ["both have the same payload"]),
    ],
)  # fmt: skip
def test_diff(stored: FakeEngine, capsys: pytest.CaptureFixture[str], flags: list[str], wanted: list[str]) -> None:
    capsys.readouterr()
    assert cli.run(["diff", "example.com", *flags], stored) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("--- https://example.com  2026-01-0")
    assert lines[1].startswith("+++ https://example.com  2026-01-0")
    assert lines[2:] == wanted


def test_diff_as_json(stored: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert cli.run(["diff", "example.com", "--json"], stored) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["removed"], told["added"], told["old"]["digest"], told["new"]["digest"]) == (2, 1, "sha1:B", "sha1:C")
    assert told["hunks"][0]["lines"][1] == [["-", "Flour, salt and water."]]


@pytest.mark.parametrize(
    ("flags", "code", "named"),
    [
        (["--from", "yesterday"], 2, '--from "yesterday" is not a time'),
        (["--to", "soon"], 2, '--to "soon" is not a time'),
        (["--from", "2025-12-31"], 2, "no copy was stored by 2025-12-31 23:59:59Z; the first is of 2026-01-01"),
        (["--to", "2026-01-01"], 1, "one page is stored, of 2026-01-01 00:00:00Z; none before it to compare"),
        (["--context", "-1"], 2, "--context"),
    ],
)
def test_diff_refuses(
    stored: FakeEngine, capsys: pytest.CaptureFixture[str], flags: list[str], code: int, named: str
) -> None:
    assert cli.run(["diff", "example.com", *flags], stored) == code
    assert named in capsys.readouterr().err


def test_get_tells_of_disappearance_on_stderr(stored: FakeEngine, capfd: pytest.CaptureFixture[str]) -> None:
    stored.captures = {9: capture(b"nothing here"), 2: capture(b"done")}
    capfd.readouterr()
    assert cli.run(["get", "example.com"], stored) == 0
    out, err = capfd.readouterr()
    assert out == "nothing here"
    assert '2026-01-07 00:00:00Z was 404; the last page is of 2026-01-05 00:00:00Z (--at "2026-01-05 00:00:00Z")' in err
    assert cli.run(["get", "example.com", "--at", "2026-01-05 00:00:00Z"], stored) == 0
    assert capfd.readouterr() == ("done", "")


def text(*lines: str, **more: object) -> StoredText:
    fields: dict[str, object] = {"is_text": True, "media_type": "text/html", "lines": lines} | more
    return StoredText(**fields)  # type: ignore[arg-type]


def compared(
    old: StoredText, new: StoredText, *, words: bool = False, context: int = 1, colour: bool = False
) -> list[str]:
    sides = [(Visit(time=START, status=200, digest=digest), side) for digest, side in (("a", old), ("b", new))]
    comparison = compare(URL, sides[0], sides[1], words=words, context=context)
    assert msgspec.json.decode(msgspec.json.encode(comparison))["url"] == URL
    return list(diff_lines(comparison, colour=colour))[2:]


def test_what_the_hunks_do_not_say_is_said() -> None:
    binary = StoredText(media_type="application/pdf")
    assert compared(binary, binary) == ["the payloads differ, and there is no text in them to compare"]
    assert compared(text("a"), text("a")) == ["the payloads differ, the main text is the same (1 character)"]
    assert compared(text("a", simhash=7), text("b", simhash=6)) == [
        "so little changed that the crawl counts it as no change", "@@ -1,1 +1,1 @@", "-a", "+b"
    ]  # fmt: skip
    failed = StoredText(error="digest-\x1bcrash")
    assert compared(failed, text("a")) == ["the old copy could not be read whole: digest-\\x1bcrash"]
    cut = text("abc", cut=True, title="T")
    assert compared(text("abc"), cut) == [
        "of the new copy only the first 3 characters are compared", "-title: ", "+title: T",
        "the payloads differ, the main text is the same (3 characters)",
    ]  # fmt: skip


def test_changes_stand_together_when_little_is_between_them() -> None:
    lines = [str(number) for number in range(30)]
    new = ["first", *lines[:10], "x", *lines[11:13], "y", *lines[14:], "last"]
    assert [line for line in compared(text(*lines), text(*new)) if line.startswith("@@")] == [
        "@@ -1,1 +1,2 @@", "@@ -10,6 +11,6 @@", "@@ -30,1 +31,2 @@"
    ]  # fmt: skip
    assert compared(text("a"), text(), context=0) == ["@@ -1,1 +0,0 @@", "-a"]
    assert compared(text(), text("a"), context=3) == ["@@ -0,0 +1,1 @@", "+a"]


def test_words_that_stay_are_passed_over_where_there_are_many() -> None:
    words = [f"w{number}" for number in range(100)]
    (_, line) = compared(text(" ".join(words)), text(" ".join([*words[:50], "new", *words[51:]])), words=True)
    assert "[-w50-] {+new+}" in line
    assert "w11 … w38" in line
    assert line.count(" ") < 5 * CONTEXT_WORDS
    assert compared(text("a b", "c d"), text("a b c", "x"), words=True)[1:] == ["~a b c [-d-]", "+x"]


def test_what_pages_say_is_not_obeyed(stored: FakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = text(HOSTILE, "x\x1e\x85\u2028y", title=HOSTILE, media_type=HOSTILE, error=HOSTILE)
    for words in (False, True):
        for colour in (False, True):
            lines = compared(hostile, text(f"{HOSTILE} more"), words=words, colour=colour)
            plain = "\n".join(lines)
            for code in ("\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[0m"):
                assert (code in plain) == colour
                plain = plain.replace(code, "")
            assert plain.replace("\n", "").isprintable()
    stored.texts = dict.fromkeys(range(3), hostile) | {2: text("other")}
    assert stored.history is not None
    stored.history = msgspec.structs.replace(
        stored.history, url=HOSTILE, redirect_to=HOSTILE,
        versions=(version(1, "new", **dict.fromkeys(("digest", "segment", "url", "duplicate_of", "error"), HOSTILE)),),
    )  # fmt: skip
    capsys.readouterr()
    for command in (["diff"], ["diff", "--json"], ["diff", "--words"], ["history"], ["history", "--json"]):
        assert cli.run([command[0], "example.com", *command[1:]], stored) == 0
        assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_huge_texts_are_compared() -> None:
    old = [f"line {number % 500}" for number in range(100_000)]
    new = [line for number, line in enumerate(old) if number % 7]
    lines = compared(text(*old), text(*new), words=True)
    assert len(lines) > 1_000
    one = compared(text("word " * 200_000), text("other " * 200_000), words=True)
    assert len(one) == 2
