"""The desk of robots.txt keeps its last decision for a second question about the same path, and for nothing else."""

from __future__ import annotations

from gossamer.core.active import ActiveHost
from gossamer.core.changes import Changes
from gossamer.core.robotsdesk import RobotsDesk
from gossamer.core.takedowns import TakedownDesk
from gossamer.model.config import Config
from gossamer.model.record import HostRow
from gossamer.sim.memstore import MemoryStore


class Desk:
    """A desk with hosts whose rules can be set."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.desk = RobotsDesk(Config(), self.store, TakedownDesk(self.store))

    def host(self, name: str) -> ActiveHost:
        return ActiveHost(self.store, HostRow(host=name, site=name))

    def say(self, host: ActiveHost, body: bytes, now: float) -> None:
        changes = Changes(self.store)
        self.desk.deliver(changes, host.row, "http", "rules", "", body, now)
        self.store.write(changes.ops())


def test_new_rules_are_asked_for_the_path_asked_last() -> None:
    desk = Desk()
    host = desk.host("one.example")
    desk.say(host, b"User-agent: *\nAllow: /a\n", 1000.0)
    assert desk.desk.refusal(host, "http", "/a") is None
    assert desk.desk.allowance(host, "http", "/a") == ("line 2: Allow: /a", 1000.0)
    desk.say(host, b"User-agent: *\nDisallow: /a\n", 2000.0)
    assert desk.desk.refusal(host, "http", "/a") == "robots.txt line 2: Disallow: /a"


def test_each_host_and_each_path_has_its_own_verdict() -> None:
    desk = Desk()
    one, two = desk.host("one.example"), desk.host("two.example")
    desk.say(one, b"User-agent: *\nDisallow: /a\n", 1000.0)
    desk.say(two, b"User-agent: *\nAllow: /b\n", 1000.0)
    assert desk.desk.refusal(one, "http", "/a") == "robots.txt line 2: Disallow: /a"
    assert desk.desk.refusal(two, "http", "/a") is None
    assert desk.desk.allowance(two, "http", "/a") == ("no rule against it", 1000.0)
    assert desk.desk.allowance(two, "http", "/b") == ("line 2: Allow: /b", 1000.0)
    assert desk.desk.refusal(one, "http", "/b") is None
