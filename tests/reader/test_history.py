"""The history of a URL, the text of its copies, and what unchanged copies cost; on crawls made by the real core."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.digest.links import LinkRules
from gossamer.adapters.digest.stored import Asked, read_stored
from gossamer.adapters.digest.textreader import TextReader
from gossamer.adapters.rocksdb import RocksStore
from gossamer.core import ending
from gossamer.core.changes import decode_url, encode
from gossamer.model.config import Refresh, Scope
from gossamer.model.record import Cf, UrlRow
from gossamer.model.view import History, StoredText
from gossamer.policy.scope import compile_scope
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface import captures as captures_module
from gossamer.surface.comparison import compare
from gossamer.surface.versions import pointer_of
from tests.reader.making import NOARCHIVE, Made, plain_config, site

SEED = "https://a.example/"
KEY = "example,a)/"
DAY_S = 86_400.0
RULES = LinkRules(scope=compile_scope(Scope(), []))
STORY = " ".join(f"word{number * number}" for number in range(200))
ETAG = (("content-type", "text/html"), ("etag", '"1"'))


def page(body: str | bytes, *links: str, kind: str = "text/html", **more: object) -> Answer:
    """An answer with the fingerprint that a worker would make of it."""
    data = body.encode() if isinstance(body, str) else body
    headers = (("content-type", kind), ("etag", '"1"'))
    read = read_stored(Asked(url=SEED, headers=headers, payload=data, lines=False), RULES)
    fields = {"content_hash": read.content_hash, "simhash": read.simhash, "headers": headers} | more
    return Answer(body=data, links=links, **fields)  # type: ignore[arg-type]


NOT_MODIFIED = Answer(status=304, headers=ETAG, body=b"")
NOT_FOUND = Answer(status=404, body=b"nothing here")


def visited(tmp_path: Path, answers: list[Answer], **options: int) -> Made:
    """One page, visited once for each answer, two days apart."""
    waiting = iter(answers)
    web = SimWeb({"a.example": SimHost(address="1.1.1.1", page=lambda _target: next(waiting, answers[-1]))})
    made = Made(tmp_path / "crawl", plain_config((SEED,), refresh=Refresh(interval_s=DAY_S)), web, **options)
    for _ in answers:
        make_due(made)
        made.run(due=True)
        made.wait(2 * DAY_S)
    return made


def make_due(made: Made) -> None:
    """A test is not about when a page is due."""
    if not made.runs:
        return

    def change(store: RocksStore) -> None:
        row = row_of(store)
        now = made.clock.now() - 1
        writes = [(Cf.DUE, key, None) for key, _ in store.scan(Cf.DUE, b"", None, 100)]
        due = int(now * 1000).to_bytes(8, "big") + KEY.encode()
        store.write(
            [
                *writes,
                (Cf.URL, KEY.encode(), encode(msgspec.structs.replace(row, due=now))),
                (Cf.DUE, due, b"a.example"),
            ]
        )

    made.change(change)


def row_of(store: RocksStore) -> UrlRow:
    return decode_url(store.get(Cf.URL, KEY.encode()) or b"")


def told(made: Made, url: str = SEED, last: int = 0) -> History:
    reader = made.reader()
    history = reader.history(url, last)
    reader.close()
    assert history is not None
    return history


def verdicts(history: History) -> list[str]:
    """Oldest first."""
    return [version.verdict for version in reversed(history.versions)]


def test_each_visit_has_its_verdict(tmp_path: Path) -> None:
    first = page(f"<p>{STORY}")
    answers = [
        first,
        first,
        page(f"<!-- rendered at noon --><p>{STORY}"),
        page(f"<p>{STORY[600:]} And so it ended, otherwise than anybody had thought."),
        NOT_MODIFIED,
        NOT_FOUND,
        first,
        Answer(status=500, body=b"oops"),
    ]
    made = visited(tmp_path, answers)
    history = told(made)
    assert verdicts(history)[:7] == ["new", "unchanged", "unchanged", "changed", "304", "missing", "changed"]
    assert set(verdicts(history)[7:]) == {"error"}  # it was tried again
    assert (history.url, history.key, history.state, history.unlisted) == (SEED, KEY, "fetched", 0)
    assert history.visits == len(history.versions)
    oldest = list(reversed(history.versions))
    assert [version.status for version in oldest[:7]] == [200, 200, 200, 200, 304, 404, 200]
    assert [version.revisit for version in oldest[:7]] == [False, True, False, False, True, False, True]
    assert oldest[1].bytes == oldest[0].bytes == len(first.body or b"")
    assert oldest[4].bytes == oldest[3].bytes
    assert oldest[4].digest == oldest[3].digest
    assert [version.time for version in oldest] == sorted(version.time for version in oldest)
    assert not any(version.duplicate_of or version.url or version.error for version in oldest)


def test_verdicts_are_those_that_the_crawl_counted(tmp_path: Path) -> None:
    chance = random.Random(5)
    texts = [page(f"<p>{STORY}"), page(f"<i></i><p>{STORY}"), page(f"<p>{STORY[:900]}"), page(f"<p>{STORY[900:]} x")]
    made = visited(tmp_path, [chance.choice([*texts, NOT_MODIFIED]) if number else texts[0] for number in range(8)])
    counted: list[tuple[int, int]] = []
    made.change(lambda store: counted.append((row_of(store).changes, row_of(store).unchanged)))
    found = verdicts(told(made))
    assert (found.count("changed"), found.count("unchanged") + found.count("304")) == counted[0]
    assert min(counted[0]) > 0


def test_the_newest_visits_are_judged_by_what_came_before_them(tmp_path: Path) -> None:
    made = visited(tmp_path, [page(f"<p>{STORY}"), NOT_FOUND, page(f"<p>{STORY}"), page("<p>gone to sea")])
    assert [version.verdict for version in told(made, last=2).versions] == ["changed", "unchanged"]


def test_copies_of_other_urls_and_other_spellings_are_named(tmp_path: Path) -> None:
    pages = {"/": page("home", SEED + "1", SEED + "2?utm_source=x"), "/1": page("same text")}
    pages["/2?utm_source=x"] = pages["/1"]
    web = SimWeb({"a.example": SimHost(address="1.1.1.1", page=site(pages))})
    made = Made(tmp_path / "crawl", plain_config((SEED,)), web)
    made.run()
    history = told(made, SEED + "2")
    (version,) = history.versions
    assert (version.verdict, version.duplicate_of, version.url) == ("duplicate", SEED + "1", "")
    assert version.bytes == len("same text")
    assert history.url == SEED + "2?utm_source=x"
    reader = made.reader()
    assert reader.history(SEED + "never") is None
    assert reader.history("mailto:a@a.example") is None
    reader.close()


def test_noarchive_and_lost_records_are_told(tmp_path: Path) -> None:
    made = visited(tmp_path, [page("<p>first"), page("<p>secret", title=NOARCHIVE), page("<p>third")])
    assert verdicts(told(made)) == ["new", "noarchive", "changed"]
    (made.directory / "archive" / told(made).versions[-1].segment).unlink()
    history = told(made)
    assert verdicts(history) == ["damaged", "noarchive", "new"]
    assert history.versions[-1].bytes == 0


def test_what_only_the_indexes_know_is_listed_and_what_nothing_knows_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "HISTORY_MAX", 2)
    monkeypatch.setattr(captures_module, "HISTORY_MAX", 2)
    answers = [page(f"<p>{number} {STORY}") for number in range(5)]
    made = visited(tmp_path, [answers[0], NOT_MODIFIED, answers[0], *answers[1:]])
    history = told(made)
    assert len(history.versions) == 6
    assert (history.visits, history.unlisted) == (7, 1)
    assert verdicts(history)[:2] == ["new", "unchanged"]


def test_an_unchanged_payload_costs_a_revisit_record_only(tmp_path: Path) -> None:
    """300,000 bytes that do not compress: sent again, and told to be unmodified, four times each."""
    noise = random.Random(3).randbytes(300_000)
    answer = page(b"<!doctype html><!--" + noise.replace(b">", b"x") + b"--><p>text")
    made = visited(tmp_path, [answer])
    once = archive_bytes(made)
    assert once > 290_000
    made = visited(tmp_path / "again", [answer] * 5)
    assert archive_bytes(made) - once < 4 * 4_000
    history = told(made)
    assert verdicts(history) == ["new"] + ["unchanged"] * 4
    assert all(version.length < 1_500 for version in history.versions[:-1])
    assert {version.bytes for version in history.versions} == {len(answer.body or b"")}
    made = visited(tmp_path / "unmodified", [answer] + [NOT_MODIFIED] * 4)
    assert archive_bytes(made) - once < 4 * 4_000
    reader = made.reader()
    assert len(reader.read(pointer_of(reader.captures(SEED)[0])).payload) == len(answer.body or b"")
    reader.close()


def archive_bytes(made: Made) -> int:
    return sum(path.stat().st_size for path in made.segments())


def test_texts_of_copies_are_compared(tmp_path: Path) -> None:
    made = visited(tmp_path, [page("<h1>Title</h1><p>one<p>two"), NOT_MODIFIED, page("<h1>Title</h1><p>one<p>three")])
    reader = made.reader()
    newest, unmodified, _ = visits = reader.captures(SEED)
    texts = [reader.text(pointer_of(visit)) for visit in visits]
    reader.close()
    assert texts[1] == texts[2]  # a 304 has the text of the copy it confirms
    compared = compare(SEED, (unmodified, texts[1]), (newest, texts[0]), words=False, context=3)
    assert (compared.removed, compared.added, compared.unchanged, compared.same_payload) == (1, 1, False, False)
    assert compared.old.bytes == len("<h1>Title</h1><p>one<p>two")
    (hunk,) = compared.hunks
    assert ["".join(piece.sign + piece.text for piece in line) for line in hunk.lines] == [
        " Title", " one", "-two", "+three"
    ]  # fmt: skip


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Texts cannot be read, for a reason."""

    def set_up(error: str) -> None:
        monkeypatch.setattr(TextReader, "read", lambda _self, _asked: StoredText(error=error))

    return set_up


def test_texts_that_cannot_be_read_leave_a_history(tmp_path: Path, broken: Callable[[str], None]) -> None:
    made = visited(tmp_path, [page("<p>one"), page("<p>two")])
    broken("digest-timeout")
    history = told(made)
    assert verdicts(history) == ["new", "changed"]
    assert history.versions[0].error == "digest-timeout"


def test_a_copy_whose_payload_is_lost_says_so(tmp_path: Path) -> None:
    made = visited(tmp_path, [page("<p>one"), page("<p>one")])
    newest, oldest = told(made).versions
    (made.directory / "archive" / oldest.segment).unlink()
    reader = made.reader()
    assert reader.text(pointer_of(newest)).error == "the record that has its payload is not there"
    reader.close()
    assert verdicts(told(made)) == ["damaged", "new"]


@pytest.mark.parametrize(
    "body",
    [
        b"\x1b]0;owned\x07\0\xff" * 999,
        b"<p>\xff\xfe\x00" + "\u202e".encode() * 50,
        b"%PDF-1.7\n\0",
        b"<div>" * 20_000,
        b" ",
    ],
)
def test_hostile_copies_have_a_history_and_a_text(tmp_path: Path, body: bytes) -> None:
    made = visited(tmp_path, [page(body), page(body + b"more")])
    assert len(told(made).versions) == 2
    reader = made.reader()
    sides = [(visit, reader.text(pointer_of(visit))) for visit in reader.captures(SEED)]
    reader.close()
    compared = compare(SEED, sides[1], sides[0], words=True, context=1)
    assert compared.old.digest != compared.new.digest
