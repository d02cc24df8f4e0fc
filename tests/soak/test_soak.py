"""The soak's own machinery: a short one works from end to end, and its judgement sees what it is there to see."""

from __future__ import annotations

import argparse
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import msgspec
import pytest

from bench import soak, soak_judge, soak_page
from bench.soak_judge import MEASURES, Manners, judge, judge_manners
from bench.soak_watch import LogTail, Sample, Watcher
from gossamer.model.view import Snapshot
from gossamer.surface.statusfile import StatusFile
from tests.support.nginx import LOG_FORMAT, nginx_path

SECONDS = 20.0  # three visits of a host that misbehaves, a gap and a jitter apart, on a busy machine
HOSTS = 60
DURATION_S = 400.0
FIELDS = [measure.field for measure in MEASURES]


@pytest.mark.skipif(nginx_path() is None, reason="nginx is not installed")
@pytest.mark.timeout(240)
def test_a_short_soak_from_end_to_end(tmp_path: Path) -> None:
    arguments = argparse.Namespace(seconds=SECONDS, hosts=HOSTS, workers=1, every=1.0)
    result = soak.soak(tmp_path / "soak", arguments)
    assert result.exit_code == 0
    assert result.verify_holds, result.verify
    assert result.hosts >= HOSTS
    assert result.pages > HOSTS
    assert result.manners.requests > result.pages
    assert result.manners.addresses == HOSTS
    assert result.manners.short == 0, result.manners.first_short
    assert result.manners.shortest_gap_s > 0
    assert sum(result.failures.values()) > 0, "nothing hostile was met"
    assert {"200", "301", "404"} <= set(result.statuses)
    assert len(result.findings) == len(MEASURES) + 2
    assert len(result.samples) > SECONDS / 2
    last = result.samples[-1]
    assert min(last.rss_main_bytes, last.rss_workers_bytes, last.files_main, last.threads_main, last.state_bytes) > 0
    assert min(sample.reference_ms for sample in result.samples) > 0
    assert max(sample.fetch_p95_ms for sample in result.samples) > 0
    assert max(sample.commit_p95_ms for sample in result.samples) > 0
    written = soak_page.write(result, tmp_path)
    assert [path.name for path in written] == ["soak.json", "soak.md", "soak.svg"]
    assert msgspec.json.decode(written[0].read_bytes())["pages"] == result.pages
    assert ET.parse(written[2]).getroot().tag.endswith("svg")
    assert f"{result.pages:,}" in written[1].read_text()


def samples(**last: float) -> list[Sample]:
    """Forty looks; in the last quarter the named fields are so many times as much."""
    found = []
    for place in range(40):
        values = dict.fromkeys(FIELDS, 1000) | {"pages_per_s": 300.0}
        if place >= 30:
            values |= {field: values[field] * factor for field, factor in last.items()}
        found.append(msgspec.convert({"at_s": place * 10.0} | values, Sample, strict=False))
    return found


def test_what_stays_the_same_holds() -> None:
    findings = judge(samples(), DURATION_S)
    assert [finding.name for finding in findings if not finding.holds] == []
    assert len(findings) == 14


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(("factor", "holds"), [(1.09, True), (1.12, False), (0.91, True), (0.88, False)])
def test_every_measure_is_held_within_a_tenth(field: str, factor: float, holds: bool) -> None:
    findings = judge(samples(**{field: factor}), DURATION_S)
    name = next(measure.name for measure in MEASURES if measure.field == field)
    assert [finding.name for finding in findings if not finding.holds] == ([] if holds else [name])


@pytest.mark.parametrize(("factor", "holds"), [(0.85, True), (0.75, False), (2.0, True)])
def test_a_last_quarter_with_less_to_do_says_nothing(factor: float, holds: bool) -> None:
    findings = {finding.name: finding for finding in judge(samples(pages_per_s=factor), DURATION_S)}
    assert findings["pages a second (at least 80%)"].holds is holds


TIMES = [measure.field for measure in MEASURES if measure.unit == "ms"]


@pytest.mark.parametrize(
    ("machine", "times", "holds"), [(1.2, 1.2, False), (1.2, 1.09, True), (1.0, 1.12, False), (1.2, 1.0, True)]
)
def test_what_the_machine_became_slower_by_is_told_and_excuses_nothing(
    machine: float, times: float, holds: bool
) -> None:
    looked = samples(**dict.fromkeys(TIMES, times))
    for place, sample in enumerate(looked):
        sample.reference_ms = 10.0 * (machine if place >= 30 else 1.0)
    findings = judge(looked, DURATION_S)
    told = [finding for finding in findings if finding.unit == "ms" and "Python" not in finding.name]
    assert {finding.holds for finding in told} == {holds}
    assert [finding.beside for finding in told] == [pytest.approx(times / machine - 1)] * len(TIMES)
    assert findings[-1].change == pytest.approx(machine - 1)


def line(end: float, took: float, address: str, method: str = "GET") -> str:
    """A line as nginx writes it."""
    fields = [f"{end:.3f}", f"{took:.3f}", address, "80", "a.example", "1", "1", "1", "200", method, "/p", "x"]
    assert len(fields) == len(LOG_FORMAT.split("\\t"))
    return "\t".join(fields) + "\n"


@pytest.mark.parametrize(
    ("second", "short"),
    [
        ((102.1, 0.1), 0),
        ((101.9, 0.1), 1),
        ((103.0, 0.5), 0),
        ((101.5, 1.4), 1),
        ((110.0, 9.9), 1),
        ((102.099, 0.1), 0),
    ],
)
def test_short_gaps_and_overlaps_are_found(tmp_path: Path, second: tuple[float, float], short: int) -> None:
    log = tmp_path / "log"
    other = line(100.5, 0.1, "127.0.0.2") + line(101.0, 0.0, "127.0.0.1", "")
    log.write_text(line(101.0, 0.5, "127.0.0.1") + other + line(*second, "127.0.0.1"))
    manners = Manners()
    judge_manners(log, 1.0, rounding_s=0.0021, into=manners)
    assert (manners.requests, manners.addresses, manners.short) == (3, 2, short)
    assert bool(manners.first_short) is bool(short)
    assert soak_judge.holds([], manners) is not bool(short)


def test_what_swings_between_two_looks_is_averaged(tmp_path: Path) -> None:
    for folder in ("log", "state"):
        (tmp_path / folder).mkdir()
    watcher = Watcher(tmp_path, os.getpid(), 1)
    for late_s, sync_s in ((0.01, 0.2), (0.05, 0.4), (0.03, 0.6)):
        shown = Snapshot(directory=str(tmp_path), state="crawling", loop_late_s=late_s, sync_s=sync_s)
        StatusFile(tmp_path / "log").show(shown)
        found = watcher.glance() if late_s != 0.03 else watcher.look()
        assert found is not None
    assert (found.loop_late_ms, found.sync_ms) == (pytest.approx(30.0), pytest.approx(400.0))
    again = watcher.look()
    assert again is not None
    assert (again.loop_late_ms, again.sync_ms) == (pytest.approx(30.0), pytest.approx(600.0))
    watcher.close()


def test_the_crawl_log_is_followed_over_a_rotation(tmp_path: Path) -> None:
    path = tmp_path / "crawl.jsonl"
    tail = LogTail(path)
    assert tail.lines() == []
    event = b'{"time":%d,"host":"h","kind":"page","started":1}\n'
    path.write_bytes(event % 1 + (event % 2)[:10])
    assert [found.time for found in tail.lines()] == [1]
    with path.open("ab") as file:
        file.write((event % 2)[10:] + event % 3)
    path.rename(tmp_path / "crawl-000001.jsonl")
    path.write_bytes(event % 4)
    assert [found.time for found in tail.lines()] == [2, 3, 4]
    tail.close()
