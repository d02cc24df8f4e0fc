"""A crawl that goes on while its sites change, move and delete pages: each rule, as the URL table, `history`, `explain`
and the WARC files show it. The days between visits are seconds here; rules that need months are in tests/simulation.

One crawl serves all rules, so all are tried in one test, which tells every one that does not hold.
"""

from __future__ import annotations

import signal
import traceback
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gossamer.model.limits import MISSING_MAX
from gossamer.model.reason import Reason
from gossamer.model.record import State
from gossamer.policy.canonicals import ABUSED_MIN, Said
from gossamer.policy.twins import Pair
from gossamer.surface.explainview import moment
from tests.e2e.living_record import Life, gathered, key_of
from tests.e2e.living_web import ABUSERS, FORMS, LATER, LivingWeb
from tests.support.crawl import Crawl
from tests.support.evidence import making
from tests.support.living import until
from tests.support.web import Web

AGAIN_S = (4.0, 8.0, 9.0)  # from look to look at a missing page: a copy's interval, doubled each time, to the longest
LOOKS = 1 + MISSING_MAX  # at a page that is missing, before it is gone
LIVELY: dict[str, dict[str, Any]] = {
    "politeness": {"min_delay": "40ms"},
    "fetch": {"retries": 0},
    "refresh": {"policy": "uniform", "interval": "1s", "min_interval": "1s", "max_interval": "9s"},
}


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    """Some forty seconds of it, by the real program."""
    servers = Web(tmp_path)
    web = LivingWeb(servers)
    crawls = making(tmp_path, servers.hosts_file, LIVELY)
    crawl = next(crawls)(*web.seeds())
    try:
        live(web, crawl)
        yield gathered(web, crawl)
    finally:
        next(crawls, None)
        servers.close()


def live(web: LivingWeb, crawl: Crawl) -> None:
    """Begin, let everything be seen twice, turn, and end when all that takes time has come to its end."""
    process = crawl.start("--continuous")

    def words() -> str:
        assert process.poll() is None, crawl.output[-3000:]
        seen = {name: [(hit.target, hit.status) for hit in site.hits[-8:]] for name, site in web.sites.items()}
        return f"{seen}\n{crawl.output[-2000:]}"

    def seen(name: str, count: int, *targets: str, status: int = 0) -> bool:
        statuses = (web.sites[name].statuses(target) for target in targets)
        return all(sum(not status or one == status for one in each) >= count for each in statuses)

    known = [target for target in web.sites["news"].pages if target != "/long-gone"]
    until(lambda: seen("news", 2, *known) and seen("mirror", 1, "/page23") and seen("origin", 1, "/page23"), 40, words)
    web.find_later()
    web.turn()
    for forms in FORMS if web.has_twins else ():
        until(lambda forms=forms: any(seen(name, 1, *LATER) for name in forms), 40, words)  # type: ignore[misc]
    until(lambda: seen("news", LOOKS, "/lost", status=404) and seen("news", LOOKS, "/lost410", status=410), 60, words)
    web.find_newest()
    until(lambda: seen("news", 2, "/moving", status=301) and seen("ailing", 2, "/", status=500), 30, words)
    until(lambda: seen("soft", 1 + LOOKS, "/here"), 30, words)
    if web.has_twins:
        until(lambda: seen("plain", 1, "/newest") and seen("secure", 1, "/newest"), 30, words)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130, crawl.output[-2000:]


# -- the rules -----------------------------------------------------------------------------------------------------


def a_change_is_seen_and_stored(life: Life) -> None:
    verdicts = life.verdicts("news", "/changing")
    assert verdicts[0] == "new"
    assert verdicts.count("changed") == 1
    assert set(verdicts) == {"new", "unchanged", "changed"}
    row = life.row("news", "/changing")
    assert (row.changes, row.state) == (1, State.FETCHED)
    assert row.changed_at > 0
    kinds = [(record.kind, record.status) for record in life.kept("news", "/changing")]
    assert kinds.count(("response", "200")) == 2, "one for each payload, revisits for the rest"
    assert len(kinds) == len(verdicts) == row.visits


def the_same_bytes_cost_a_revisit_record(life: Life) -> None:
    row = life.row("news", "/same")
    first, *others = life.kept("news", "/same")
    assert (first.kind, first.bytes > 0) == ("response", True)
    assert others
    for other in others:
        assert (other.kind, other.profile, other.bytes) == ("revisit", "identical-payload-digest", 0)
        assert (other.digest, other.refers_to) == (first.digest, row.url)
    assert (row.changes, row.unchanged) == (0, row.visits - 1)
    assert life.verdicts("news", "/same") == ["new"] + ["unchanged"] * (row.visits - 1)


def a_304_is_no_change_and_a_revisit(life: Life) -> None:
    row = life.row("news", "/tagged")
    first, *others = life.kept("news", "/tagged")
    assert (first.kind, row.status) == ("response", 200)
    assert {(other.kind, other.status, other.profile) for other in others} == {
        ("revisit", "304", "server-not-modified")
    }
    assert (row.changes, row.unchanged) == (0, row.visits - 1)
    assert set(life.web.sites["news"].statuses("/tagged")[1:]) == {304}
    assert life.verdicts("news", "/tagged") == ["new"] + ["304"] * (row.visits - 1)


def other_bytes_with_the_same_main_text_are_no_change(life: Life) -> None:
    row = life.row("news", "/restyled")
    assert (row.changes, row.unchanged) == (0, row.visits - 1)
    kept = life.kept("news", "/restyled")
    assert [record.kind for record in kept].count("response") == 2, "both payloads are kept"
    assert len({record.digest for record in kept}) == 2
    assert set(life.verdicts("news", "/restyled")[1:]) == {"unchanged"}


def a_page_that_is_missing_is_looked_for_ever_later_then_gone(life: Life) -> None:
    for target, status in (("/lost", 404), ("/lost410", 410)):
        row = life.row("news", target)
        assert (row.state, row.missing, row.status) == (State.GONE, LOOKS, status)
        assert row.due == 0
        times = [hit.time for hit in life.web.sites["news"].hits if (hit.target, hit.status) == (target, status)]
        assert len(times) == LOOKS, "and never again, although the front page leads to it"
        waits = [after - before for before, after in pairwise(times)]
        for wait, least in zip(waits, AGAIN_S, strict=True):
            assert wait > least - 0.5, "a busy machine may be late, never early"
        assert life.verdicts("news", target)[-LOOKS:] == ["missing"] * LOOKS
        assert "a link to it that is found after" in life.explained("news", target)
        assert "the last page is of" in life.said("get", row.url, errors=True)
        page = max(version["time"] for version in life.history("news", target) if version["status"] == 200)
        assert target in life.said("get", row.url, "--at", moment(page + 1.0))


def server_errors_never_mean_gone(life: Life) -> None:
    row = life.row("ailing", "/")
    assert (row.state, row.status, row.missing) == (State.FETCHED, 500, 0)
    assert row.due > 0 or row.refresh, "it is visited again"
    assert life.verdicts("ailing", "/").count("error") >= 2
    assert row.content_digest, "what it showed is what it shows as far as is known"


def a_permanent_redirect_moves_history_at_the_second_look(life: Life) -> None:
    row, home = life.row("news", "/moving"), life.row("news", "/home")
    assert row.moved_to == key_of(home.url)
    assert key_of(row.url) in home.moved_from
    assert life.verdicts("news", "/moving").count("redirect") >= 2
    told = {version["url"] for version in life.history("news", "/home")}
    assert row.url in told, "the captures of the old address are found under the new one"
    assert "its place has" in life.explained("news", "/moving")
    assert "instead of" in life.explained("news", "/home")
    never = life.row("news", "/long-gone")
    assert never.moved_to == row.moved_to, "one that never showed a page moves at once"


def a_temporary_redirect_moves_nothing(life: Life) -> None:
    row = life.row("news", "/back")
    assert (row.status, row.moved_to, row.moving) == (302, "", "")
    assert row.redirect_to == key_of(life.web.url("news", "/home"))


def redirects_in_a_circle_end(life: Life) -> None:
    rows = [life.row("news", target) for target in ("/turn-a", "/turn-b")]
    assert Reason.REDIRECT_LOOP in {row.reason for row in rows}
    assert all(row.moved_to == "" for row in rows)
    assert "leads back to it" in life.explained("news", "/turn-a") + life.explained("news", "/turn-b")


def a_soft_404_is_a_404(life: Life) -> None:
    row = life.row("soft", "/here")
    assert row.reason in (Reason.SOFT_404, Reason.GONE)
    assert row.missing >= 2
    assert set(life.web.sites["soft"].statuses("/here")) == {200}
    assert life.host("soft").not_found_state == "known"
    assert life.host("soft").soft404s >= 1


def the_earliest_copy_takes_the_place_of_an_original_that_goes(life: Life) -> None:
    original, first, second = (life.row("copies", target) for target in ("/original", "/first", "/second"))
    assert original.missing > 0
    assert (original.duplicate_of, first.duplicate_of) == ("", "")
    assert second.duplicate_of == key_of(first.url)
    kept = [record.kind for target in ("/original", "/first", "/second") for record in life.kept("copies", target)]
    assert kept.count("response") - original.missing == 1, "one payload, whoever shows it"
    assert "an exact copy" in life.explained("copies", "/second")
    assert life.verdicts("copies", "/first")[0] == "duplicate"
    assert first.due - first.visited < second.due - second.visited, "it is visited as an original is"


def a_mirror_is_noticed(life: Life) -> None:
    marks = {name: life.host(name).mirror_of for name in ("origin", "mirror")}
    assert sorted(map(bool, marks.values())) == [False, True], marks
    named = [host["host"] for host in life.report()["mirrors"]]
    mirror = next(name for name, of in marks.items() if of)
    assert life.host(mirror).host in named
    assert "its host is a mirror" in life.explained(mirror, "/page03")


def a_canonical_link_is_honoured_when_the_target_agrees(life: Life) -> None:
    row = life.row("canon", "/print")
    assert (row.canonical_said, row.duplicate_of) == (Said.HONOURED, key_of(life.web.url("canon", "/article")))
    assert "believed: that page shows the same" in life.explained("canon", "/print")


def canonical_links_that_are_abused_are_not_believed(life: Life) -> None:
    host = life.host("abuse")
    assert host.canonicals[Said.DIFFERS] >= ABUSED_MIN, "all but those that were seen before what they name"
    assert Said.HONOURED not in host.canonicals
    assert {life.row("abuse", f"/bait{number:02}").duplicate_of for number in range(ABUSERS)} == {""}
    assert host.host in [each["host"] for each in life.report()["mirrors"]]


def dates_that_can_be_no_pages_move_nothing_and_their_host_is_named(life: Life) -> None:
    report = life.report()
    named = {host["host"]: host["hints"] for host in report["misleading"]}
    assert "dates that can be no page's" in named[life.host("liar").host]
    assert report["hints"]["absurd"] >= 4
    assert "followed" not in report["hints"]


def forms_of_a_site_are_merged_by_evidence_and_parted_by_it(life: Life) -> None:
    if not life.web.has_twins:
        return
    equal, unequal = life.sites["pair.example"].twins[Pair.WWW]
    assert (equal >= 5, unequal) == (True, 0)
    forms = [life.web.url(name, LATER[0]) for name in ("apex", "www")]
    assert len([url for url in forms if url in life.rows]) == 1, "of two forms of a new page, one is let in"
    refused = next(url for url in forms if url not in life.rows)
    assert Reason.TWIN in life.said("explain", refused)
    equal, unequal = life.sites["twin.example"].twins[Pair.SCHEME]
    assert equal >= 5
    assert unequal > 0
    for name in ("plain", "secure"):
        assert life.row(name, "/newest").status == 200, "they are two again"


def visits_that_wait_and_that_were_late_are_told(life: Life) -> None:
    shot = life.report()["snapshot"]
    assert shot["refreshes"] > 20
    assert shot["lateness_max_s"] >= shot["lateness_p50_s"] >= 0
    assert "late by" in life.said("report")


def what_changed_can_be_told(life: Life) -> None:
    said = life.said("diff", life.web.url("news", "/changing"))
    assert any(line.startswith("+/changing, and no longer") for line in said.splitlines())


RULES: tuple[Callable[[Life], None], ...] = (
    a_change_is_seen_and_stored,
    the_same_bytes_cost_a_revisit_record,
    a_304_is_no_change_and_a_revisit,
    other_bytes_with_the_same_main_text_are_no_change,
    a_page_that_is_missing_is_looked_for_ever_later_then_gone,
    server_errors_never_mean_gone,
    a_permanent_redirect_moves_history_at_the_second_look,
    a_temporary_redirect_moves_nothing,
    redirects_in_a_circle_end,
    a_soft_404_is_a_404,
    the_earliest_copy_takes_the_place_of_an_original_that_goes,
    a_mirror_is_noticed,
    a_canonical_link_is_honoured_when_the_target_agrees,
    canonical_links_that_are_abused_are_not_believed,
    dates_that_can_be_no_pages_move_nothing_and_their_host_is_named,
    forms_of_a_site_are_merged_by_evidence_and_parted_by_it,
    visits_that_wait_and_that_were_late_are_told,
    what_changed_can_be_told,
)


def test_a_site_that_lives_is_followed_by_the_rules(life: Life) -> None:
    broken = []
    for rule in RULES:
        try:
            rule(life)
        except (AssertionError, KeyError) as error:
            broken.append(f"{rule.__name__}\n{''.join(traceback.format_exception(error)[-2:])}")
    assert not broken, "\n\n".join(broken)
    if not life.web.has_twins:
        pytest.skip("ports 80 and 443 need a permission that this user does not have: http/https and www/apex untried")
