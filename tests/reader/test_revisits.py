"""What a revisit refers to is in the archive: the response that has its payload, by that one's own URL and date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from gossamer.adapters.rocksdb import RocksStore
from gossamer.core.changes import decode_url, encode
from gossamer.core.takedowns import PREFIX, Kept
from gossamer.core.turn import Turn
from gossamer.model.config import Refresh
from gossamer.model.errors import StoreError
from gossamer.model.page import Pointer
from gossamer.model.record import Cf, UrlRow
from gossamer.model.takedown import Takedown, Target
from gossamer.policy.takedown import checked
from gossamer.sim.web import Answer, SimHost, SimWeb
from gossamer.surface import cli
from gossamer.surface.purging import Purge
from tests.reader.damage import check
from tests.reader.making import NOARCHIVE, Made, html, plain_config, site
from tests.reader.test_export import dangling, is_304, records, take_down

A, B = "https://a.example/", "https://b.example/"
FIRST, COPY, SHORT, HIDDEN = A + "first", B + "copy", A + "short", A + "hidden"
TAGGED = (("content-type", "text/html"), ("etag", '"1"'))
SAME = "the same text " * 30
DAY_S = 86_400.0


class Conditional(SimWeb):
    """Servers that answer 304 to those who ask conditionally, and to nobody else."""

    def __init__(self, hosts: dict[str, SimHost]) -> None:
        super().__init__(hosts)
        self.asked: list[str] = []  # URLs asked for conditionally

    def answer(self, turn: Turn) -> Answer:
        found = super().answer(turn)
        if not turn.etag or ("etag", turn.etag) not in found.headers:
            return found
        self.asked.append(turn.url)
        return Answer(status=304, headers=found.headers, body=b"")


def crawl(folder: Path) -> tuple[Made, Conditional]:
    """Two hosts, crawled once: a page, its copy at the other host, one that is no copy, one that is not to be kept."""
    one = {
        "/": html("home", FIRST, SHORT, HIDDEN),
        "/first": html(SAME, headers=TAGGED),
        "/short": html("short", headers=TAGGED),
        "/hidden": html("secret", title=NOARCHIVE, headers=TAGGED),
    }
    two = {"/": html("second", COPY), "/copy": html(SAME, headers=TAGGED)}
    web = Conditional(
        {
            "a.example": SimHost(address="1.1.1.1", page=site(one)),
            "b.example": SimHost(address="1.1.1.2", page=site(two)),
        }
    )
    made = Made(folder / "crawl", plain_config((A, B), refresh=Refresh(interval_s=DAY_S)), web)
    made.run()
    return made, web


def later(made: Made, times: int = 1) -> None:
    """Visit everything again: after so long everything is due."""
    for _ in range(times):
        made.wait(100 * DAY_S)
        made.run(due=True)


def main(made: Made) -> list[dict[str, str]]:
    """Records that have a payload or stand for one."""
    found = [one for one, _ in records(made.directory / "archive")]
    return [one for one in found if one["WARC-Type"] in ("response", "revisit")]


def confirmed(made: Made) -> Counter[str]:
    """304s by URL."""
    return Counter(one["WARC-Target-URI"] for one in main(made) if is_304(one))


def revisits(made: Made) -> set[str]:
    """Whichever of the two equal pages came second."""
    return {one["WARC-Target-URI"] for one in main(made) if one["WARC-Type"] == "revisit"}


def change_rows(made: Made, change: Callable[[UrlRow], UrlRow]) -> None:
    def write(store: RocksStore) -> None:
        rows = store.scan(Cf.URL, b"", None, 100)
        store.write([(Cf.URL, key, encode(change(decode_url(raw)))) for key, raw in rows])

    made.change(write)


def forget(store: RocksStore) -> None:
    """Nothing is known of payloads any more."""
    store.write([(Cf.PAYLOAD, key, None) for key, _ in store.scan(Cf.PAYLOAD, b"", None, 100)])


def test_every_304_names_the_response_that_it_confirms(tmp_path: Path) -> None:
    made, _ = crawl(tmp_path)
    later(made, 3)
    found = confirmed(made)
    assert set(found) == {FIRST, SHORT, COPY}
    assert min(found.values()) >= 2, "a second one refers to no other 304"
    assert dangling(main(made)) == []
    originals = {one.get("WARC-Refers-To-Target-URI", "") for one in main(made) if one["WARC-Target-URI"] == COPY}
    assert len(originals - {""}) == 1
    assert check(made)[0] == []


def test_a_page_that_is_not_kept_is_not_asked_whether_it_has_changed(tmp_path: Path) -> None:
    made, web = crawl(tmp_path)
    later(made, 2)
    assert FIRST in web.asked
    assert HIDDEN not in web.asked, "a 304 would confirm a response that was never archived"
    kept = [one for one, _ in records(made.directory / "archive") if one["WARC-Target-URI"] == HIDDEN]
    assert len(kept) >= 2
    assert {one["WARC-Type"] for one in kept} == {"metadata"}


def test_a_copy_of_which_nobody_knows_the_original_is_fetched_and_archived_in_full(tmp_path: Path) -> None:
    made, web = crawl(tmp_path)
    made.change(forget)
    copies = revisits(made)
    assert len(copies) == 1
    later(made)
    assert set(web.asked) == {FIRST, SHORT, COPY} - copies
    assert dangling(main(made)) == []
    web.asked.clear()
    later(made, 2)
    assert set(web.asked) == {FIRST, SHORT, COPY}
    assert dangling(main(made)) == []
    assert check(made)[0] == []


def test_rows_of_before_know_their_original_by_its_payload(tmp_path: Path) -> None:
    made, web = crawl(tmp_path)
    change_rows(made, lambda row: msgspec.structs.replace(row, response_date=0.0))
    later(made, 2)
    assert set(web.asked) == {FIRST, SHORT, COPY}
    assert dangling(main(made)) == []


def test_what_is_taken_down_is_referred_to_no_more(tmp_path: Path) -> None:
    made, web = crawl(tmp_path)
    [copy] = revisits(made)
    host = "a.example" if copy == COPY else "b.example"
    given = Takedown(id="t1", target=checked(Target("host", host)), reason="asked to", asked=made.clock.now())
    made.change(lambda store: store.write([(Cf.RULE, PREFIX + b"t1", encode(Kept(given)))]))
    later(made)
    assert copy not in web.asked
    *_, last = (one for one in main(made) if one["WARC-Target-URI"] == copy)
    assert last["WARC-Type"] == "response", "it has a record of its own now"
    assert dangling(main(made)) == []


def test_what_a_304_confirmed_has_a_whole_response_of_its_own_when_its_original_is_purged(tmp_path: Path) -> None:
    made, _ = crawl(tmp_path)
    [copy] = revisits(made)
    later(made)
    assert confirmed(made)[copy] == 1
    take_down(made, "host", "a.example" if copy == COPY else "b.example")
    assert cli.run(["purge", "--yes", "--dir", str(made.directory)]) == 0
    reader = made.reader()
    newest = reader.captures(copy)[0]
    capture = reader.read(Pointer(newest.segment, newest.offset, newest.length))
    reader.close()
    assert (capture.record_type, capture.status, capture.payload) == ("response", 200, SAME.encode())
    assert {("etag", '"1"'), ("content-length", str(len(SAME)))} <= set(capture.headers)
    assert check(made)[0] == []
    there = [one for one in main(made) if one["WARC-Type"] == "response"]
    later(made)
    *_, last = (one for one in main(made) if one["WARC-Target-URI"] == copy)
    assert is_304(last)
    assert dangling([*there, last]) == []


def test_a_purge_cut_short_behind_its_new_records_is_ended_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = crawl(tmp_path)
    [copy] = revisits(made)
    take_down(made, "host", "a.example" if copy == COPY else "b.example")
    command = ["purge", "--yes", "--dir", str(made.directory)]

    def cut_short(_: Purge) -> int:
        raise StoreError("cut short")

    with monkeypatch.context() as patch:
        patch.setattr(Purge, "_segments", cut_short)
        assert cli.run(command) == StoreError.exit_code
    assert cli.run(command) == 0
    assert revisits(made) == set(), "its row names the response that took its place"
    assert check(made)[0] == []
