"""Votes of sites while a crawl runs: what they count, whose they are, and the levels that follow from them."""

from __future__ import annotations

from gossamer.core.votes import importance
from gossamer.model.record import HostRow
from gossamer.policy.importance import votes
from gossamer.sim.check import host_rows, recount, url_rows
from gossamer.sim.make import config
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimHost, SimWeb

HUB, LEAF, LATE = "hub.example", "leaf.example", "late.example"


def crawl(fans: list[str], page: Answer) -> tuple[dict[str, HostRow], dict[str, int]]:
    """Ledgers, and levels by URL. Fans lead to the hub, that to one more host, and this to the hub and a leaf."""
    pages = dict.fromkeys(fans, page)
    pages[HUB] = Answer(links=(f"http://{LATE}/a/b",))
    pages[LATE] = Answer(links=(f"http://{HUB}/deep", f"http://{LEAF}/deep"))
    pages[LEAF] = Answer()
    hosts = {
        name: SimHost(address=f"20.0.{n >> 8}.{n & 255}", page=lambda _t, answer=answer: answer)  # type: ignore[misc]
        for n, (name, answer) in enumerate(pages.items())
    }
    run = Run(SimWeb(hosts), config(scope={"mode": "any"}), [f"http://{fan}/" for fan in fans])
    assert run.go()
    assert recount(run.store) == []
    return dict(host_rows(run.store)), {row.url: row.level for row in url_rows(run.store).values()}


def test_sites_are_counted_not_hosts() -> None:
    link = Answer(links=(f"http://{HUB}/",))
    many, _ = crawl([f"fan{number}.example" for number in range(40)], link)
    farm, _ = crawl([f"h{number}.fan.example" for number in range(40)], link)
    assert 30 < votes(many[HUB].votes) < 50
    assert round(votes(farm[HUB].votes)) == 2  # the farm, and the one that was found through the hub
    assert importance(many[HUB]) > 3 * importance(farm[HUB])


def test_links_to_a_hub_are_queued_before_links_to_a_leaf() -> None:
    rows, levels = crawl([f"fan{number}.example" for number in range(40)], Answer(links=(f"http://{HUB}/",)))
    assert importance(rows[HUB]) > 0.5 > importance(rows[LEAF])
    assert levels[f"http://{HUB}/deep"] < levels[f"http://{LEAF}/deep"]


def test_nofollow_is_no_vote() -> None:
    page = Answer(links=(f"http://{HUB}/",), nofollow=True)
    rows, _ = crawl([f"fan{number}.example" for number in range(5)], page)
    assert HUB not in rows
