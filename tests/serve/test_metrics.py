"""Metrics: in the form that Prometheus reads, labels of ours only; every alarm and chart asks for one that exists."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from gossamer.model.control import Refused
from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind
from gossamer.model.view import Snapshot
from gossamer.serve.exposition import Exposition
from gossamer.serve.metrics import counts
from gossamer.serve.witness import Witness
from gossamer.surface.crawllog import CrawlLog
from tests.reader.making import START, Made
from tests.serve.fakes import FakeControl
from tests.serve.server import Running

OPS = Path(__file__).parents[2] / "ops"


@pytest.fixture(scope="session")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("promtool is not installed (Debian: prometheus)")
    return found


def names_in(text: str) -> set[str]:
    """Metrics that a scrape tells, without the endings of histograms."""
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}


def test_a_scrape_is_read_by_others(server: Running, promtool: str) -> None:
    answer = server.get("/metrics", role="read")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    names = names_in(answer.text)
    assert len(names) > 45
    done = subprocess.run([promtool, "check", "metrics"], input=answer.body, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_it_tells_what_the_status_tells(server: Running) -> None:
    status = server.get("/v1/status").json
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(server.get("/metrics").text)
        for sample in family.samples
    }
    crawl = ("crawl", "crawl")
    assert found["gossamer_pages_total", crawl] == status["pages"]
    assert found["gossamer_responses_total", crawl, ("status", "200")] == status["statuses"]["200"]
    assert found["gossamer_up", crawl] == 0
    assert found["gossamer_state", crawl, ("state", "interrupted")] == 1
    assert found["gossamer_takedowns_in_force", crawl] == 1
    assert found["gossamer_takedowns_unconfirmed", crawl] == 0


def test_a_control_that_does_not_answer_costs_its_own_metrics_only(server: Running, control: FakeControl) -> None:
    control.refusal = Refused(code="failed", message="no")
    text = server.get("/metrics").text
    assert "gossamer_takedowns" not in text
    assert "gossamer_pages_total" in text


def test_alarms_ring_when_they_should(promtool: str) -> None:
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts.test.yml"]):
        done = subprocess.run([promtool, *command], cwd=OPS, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_every_alarm_is_tried() -> None:
    alarms = set(re.findall(r"- alert: (\w+)", (OPS / "alerts.yml").read_text()))
    assert len(alarms) == 16
    assert alarms == set(re.findall(r'alertname="(\w+)"', (OPS / "alerts.test.yml").read_text()))


def test_alarms_and_charts_ask_for_metrics_that_exist(server: Running) -> None:
    known = names_in(server.get("/metrics").text) | {
        # told only when there is something to tell
        "gossamer_failures_total",
        "gossamer_disk_full_seconds",
        "gossamer_busy_ratio",
        "gossamer_refused_urls_total",
    }
    charts = json.loads((OPS / "grafana.json").read_text())
    expressions = [target["expr"] for panel in charts["panels"] for target in panel["targets"]]
    assert len(expressions) == 25
    expressions.append((OPS / "alerts.yml").read_text())
    asked = {name for text in expressions for name in re.findall(r"\bgossamer_\w+", text)}
    assert len(asked) > 20
    assert asked <= known, asked - known


def test_charts_have_a_place_each() -> None:
    charts = json.loads((OPS / "grafana.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in charts["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}  # fmt: skip
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    assert len({panel["id"] for panel in charts["panels"]}) == len(charts["panels"]) == 19


def test_names_from_the_web_are_no_labels() -> None:
    out = Exposition()
    shot = Snapshot(
        statuses={"200": 5, "999": 1, "7": 2, '2"0': 3, "٢٠٠": 4},
        failures={"timeout": 1, "nonsense": 2},
        refusals={"robots-disallowed": 1, 'x"} evil 1\n': 2, "y": 3},
    )
    counts(out, shot, 'a"b\\c\nd')
    found = [
        (sample.name, dict(sample.labels), sample.value)
        for family in text_string_to_metric_families(out.text().decode())
        for sample in family.samples
    ]
    crawl = {"crawl": 'a"b\\c\nd'}
    assert ("gossamer_responses_total", crawl | {"status": "other"}, 10.0) in found
    assert ("gossamer_failures_total", crawl | {"failure": "other"}, 2.0) in found
    assert ("gossamer_refused_urls_total", crawl | {"reason": "other"}, 5.0) in found
    assert {labels["status"] for _, labels, _ in found if "status" in labels} == {"200", "other"}


def test_histograms_add_up() -> None:
    out = Exposition()
    out.histogram("x_seconds", "X.", [(0.1, 2), (1.0, 3), (float("inf"), 4)], 12.5, crawl="c")
    assert out.text().decode().splitlines()[2:] == [
        'x_seconds_bucket{crawl="c",le="0.1"} 2',
        'x_seconds_bucket{crawl="c",le="1"} 5',
        'x_seconds_bucket{crawl="c",le="+Inf"} 9',
        'x_seconds_sum{crawl="c"} 12.5',
        'x_seconds_count{crawl="c"} 9',
    ]


def visit(crawl: Made, target: str, **more: object) -> FetchEvent:
    now = crawl.clock.now()
    given = {"time": now + 0.1, "started": now, "key": "k", "host": "a.example", "kind": Kind.PAGE, "status": 200}
    return FetchEvent(url=f"https://a.example{target}", **{**given, **more})  # type: ignore[arg-type]


def test_the_witness_sees_what_must_not_be(crawl: Made, tmp_path: Path) -> None:
    copy = crawl.copy(tmp_path / "crawl")
    witness = Witness(copy.directory / "log")
    log = CrawlLog(copy.directory / "log")
    for event in (
        visit(
            copy, "/p/1", gap_s=1.0, delay_s=1.0, elapsed_ms=30.0, connect_ms=10.0, first_byte_ms=20.0, digest_ms=3.0
        ),
        visit(copy, "/p/2", gap_s=0.4, delay_s=1.0, elapsed_ms=40.0, reused=True),
        visit(copy, "/none/x", gap_s=1.0, delay_s=1.0),
        visit(copy, "/none/before", started=START - 10.0),
        visit(copy, "/p/3", host="never.example"),
        visit(copy, "/none/refused", started=0.0, status=0, reason="robots-disallowed"),
        visit(copy, "/robots.txt", kind=Kind.ROBOTS),
    ):
        log.append(event)
    log.close()
    witness.look(copy.clock.now())
    pages = witness.due()
    reader = copy.reader()
    witness.judge(reader, pages)
    reader.close()
    witness.close()
    assert witness.visits == {"page": 5, "robots": 1}
    assert witness.gaps_too_short == 1
    assert (witness.robots_judged, witness.robots_violations, witness.robots_not_judged) == (3, 1, 2)
    assert [(one.url, one.what) for one in witness.offences] == [
        ("https://a.example/p/2", "0.400 s after the request before; the gap was 1.000 s"),
        ("https://a.example/none/x", "robots.txt line 2: Disallow: /none"),
    ]
    assert witness.phases["whole"].edges()[-1][1] == 0
    assert sum(count for _, count in witness.phases["connect"].edges()) == 1
    assert witness.digest_s.total == pytest.approx(0.003)


def test_the_witness_of_an_honest_crawl_accuses_nobody(crawl: Made, tmp_path: Path) -> None:
    copy = crawl.copy(tmp_path / "crawl")
    witness = Witness(copy.directory / "log")
    before = (copy.directory / "log" / "crawl.jsonl").stat().st_size
    copy.run(30.0)
    assert (copy.directory / "log" / "crawl.jsonl").stat().st_size > before
    witness.look(copy.clock.now())
    reader = copy.reader()
    witness.judge(reader, witness.due())
    reader.close()
    witness.close()
    assert witness.robots_judged > 3
    assert (witness.gaps_too_short, witness.robots_violations, witness.offences) == (0, 0, [])
