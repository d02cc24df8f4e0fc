"""What may be looked at, over real sockets and a real crawl directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.model.control import Refused
from tests.reader.making import Made
from tests.serve.fakes import FakeControl
from tests.serve.server import Running


def test_crawls_and_status(server: Running, crawl: Made) -> None:
    (one,) = server.get("/v1/crawls").json["crawls"]
    assert (one["name"], one["running"], one["state"]) == ("crawl", False, "interrupted")
    status = server.get("/v1/status").json
    assert status["pages"] == one["pages"] > 10
    assert status["statuses"]["200"] > 10
    assert status["queue_by_level"]


def test_hosts_in_pages(server: Running) -> None:
    first = server.get("/v1/hosts?limit=1").json
    assert [host["host"] for host in first["hosts"]] == ["a.example"]
    second = server.get(f"/v1/hosts?limit=5&after={first['next']}").json
    assert [host["host"] for host in second["hosts"]] == ["b.example"]
    assert second["next"] == ""
    parked = server.get("/v1/hosts?state=parked").json
    assert parked["hosts"] == []


def test_a_host_s_whole_story(server: Running) -> None:
    answer = server.get("/v1/hosts/a.example?visits=5").json
    story = answer["story"]
    assert len(story["visits"]) == 5
    assert story["visits"][0]["time"] > story["visits"][-1]["time"]
    assert story["robots"][0]["verdict"] == "rules"
    assert story["gaps"]["counted"] == 5
    assert story["gaps"]["too_short"] == 0
    assert story["gaps"]["shortest_s"] >= 1.0
    assert answer["policy"]["delay_source"] == "operator"
    everything = server.get("/v1/hosts/a.example?visits=10000").json["story"]
    assert everything["visits_whole"] is True
    assert everything["outcomes"]["200"] > 10
    assert sum(everything["outcomes"].values()) == len(everything["visits"])


def test_policy_of_a_host_that_runs_and_one_that_does_not(server: Running, control: FakeControl) -> None:
    live = server.get("/v1/hosts/a.example/policy").json
    assert live["delay_s"] == 7.0
    assert live["robots_expires_at"] > 0
    control.refusal = Refused(code="not-running", message="no")
    stored = server.get("/v1/hosts/a.example/policy").json
    assert 1.0 <= stored["delay_s"] < 7.0
    assert stored["crawl_delay_s"] is None
    assert server.get("/v1/hosts/a.example").json["policy"] is None


def test_freshness(server: Running) -> None:
    found = server.get("/v1/freshness?host=a.example").json
    assert found["known_urls"] == 36
    assert 0 < found["copies"]["pages"] <= found["known_urls"]
    assert found["copies"]["age_p50_s"] > 0
    assert found["last_fetched_at"] > 0
    assert found["expected"]["expected_fresh"] == 0.75


@pytest.mark.parametrize(
    ("url", "verdict"),
    [
        ("https://a.example/", "fetched with status 200"),
        ("a.example", "fetched with status 200"),
        ("https://elsewhere.example/", "never fetched"),
        ("not a url", "never fetched"),
        ("http://", "never fetched"),
    ],
)
def test_why(server: Running, url: str, verdict: str) -> None:
    from urllib.parse import quote

    assert server.get(f"/v1/urls?url={quote(url)}").json["verdict"].startswith(verdict)


def test_the_doctor_of_a_crawl_that_does_not_run(server: Running) -> None:
    found = server.get("/v1/doctor").json
    assert found["resource"] == "not-running"
    assert "gossamer crawl" in found["advice"][0]


def test_which_crawl_is_meant(serving: Callable[..., Running], crawl: Made, tmp_path: Path) -> None:
    other = crawl.copy(tmp_path / "other")
    server = serving(crawl.directory, other.directory)
    assert [one["name"] for one in server.get("/v1/crawls").json["crawls"]] == ["crawl", "other"]
    refused = server.get("/v1/status")
    assert refused.status == 422
    assert refused.fault["allowed"] == "one of crawl, other"
    assert server.get("/v1/status?crawl=other").json["directory"] == str(other.directory)
    assert server.get("/v1/status?crawl=third").status == 404


def test_a_damaged_store_is_said_and_the_server_goes_on(
    serving: Callable[..., Running], crawl: Made, tmp_path: Path
) -> None:
    other = crawl.copy(tmp_path / "other")
    server = serving(other.directory)
    (other.directory / "state" / "CURRENT").unlink()
    answer = server.get("/v1/hosts")
    assert answer.status == 503
    assert "damaged" in answer.fault["error"]
    assert server.get("/healthz").json["status"] == "ok"
    assert 'gossamer_unreadable{crawl="other"} 1' in server.get("/metrics").text
