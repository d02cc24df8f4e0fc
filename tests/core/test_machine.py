"""No sequence of events hands one host or one lane out twice, or too soon, or parts the counters from the rows."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gossamer.core.admission import Candidate
from gossamer.core.changes import Changes
from gossamer.core.turn import Turn
from gossamer.model.page import Digest, Failure, Job, Kind, Pointer, Resolution
from gossamer.sim.check import recount
from gossamer.sim.clock import VirtualClock
from gossamer.sim.make import config
from gossamer.sim.memstore import MemoryStore
from gossamer.sim.run import Run
from gossamer.sim.web import Answer, SimWeb, redirect, refused, robots
from tests.conftest import examples

HOSTS = [f"h{n}.example" for n in range(5)]
ADDRESSES = ["20.0.0.1", "20.0.0.2"]
GAP_S = 1.0

ANSWERS = st.sampled_from(
    [
        Answer(), Answer(), Answer(body=b"same"), Answer(body=b""), Answer(status=404), Answer(status=500),
        Answer(status=429, headers=(("retry-after", "40"),)), redirect("/x"), redirect("http://h1.example/robots.txt"),
        redirect("http://h2.example/y"), robots("User-agent: *\nCrawl-delay: 5\nDisallow: /n1\nSitemap: /s.xml"),
        robots("User-agent: *\nCrawl-delay: 900"), refused(Failure.TIMEOUT), refused(Failure.OURS),
        Answer(title="Not found"), Answer(lost=True),
    ]
)  # fmt: skip


class Crawler(RuleBasedStateMachine):
    """A partition whose every event comes in an order that Hypothesis picks."""

    def __init__(self) -> None:
        super().__init__()
        self.store = MemoryStore()
        self.now = 1_700_000_000.0
        self.ended: dict[str, float] = {}  # host or lane -> end of its last request
        self.number = 0
        self.start()

    def start(self) -> None:
        settings = config(frontier={"slots": 3}, fetch={"retries": 1}, politeness={"park_after": 3})
        self.run_ = Run(SimWeb({}), settings, [], store=self.store, clock=VirtualClock(self.now))
        self.partition = self.run_.partition
        self.flying: list[Turn] = []
        self.answers: dict[int, Answer] = {}
        self.jobs: list[Job] = []
        self.resolving: list[str] = []

    @rule(
        host=st.sampled_from(HOSTS), scheme=st.sampled_from(["http", "https"]), level=st.integers(0, 9),
        kind=st.sampled_from([Kind.PAGE, Kind.PAGE, Kind.SITEMAP]), path=st.sampled_from(["n", "n", "robots.txt"]),
    )  # fmt: skip
    def admit(self, host: str, scheme: str, level: int, kind: Kind, path: str) -> None:
        self.number += 1
        target = f"/n{self.number}" if path == "n" else "/robots.txt"
        suffix = "" if scheme == "https" else " http"
        key = f"example,{host[:2]}){target}{suffix}"
        candidate = Candidate(url=f"{scheme}://{host}{target}", key=key, host=host, site=host, level=level, depth=1,
                              via="x", kind=kind)  # fmt: skip
        changes = Changes(self.store)
        self.run_.context.admission.admit(changes, [candidate], self.now)
        self.run_.context.apply(changes)

    @initialize()
    def begin(self) -> None:
        for number in range(20):
            self.admit(HOSTS[number % 5], "http" if number % 3 else "https", number % 10, Kind.PAGE, "n")

    @rule(seconds=st.sampled_from([0.0, 0.1, 0.5, 1.0, 3.0, 40.0, 400.0, 30_000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.run_.context.frontier.lanes.purge(self.now)

    @rule()
    def due(self) -> None:
        self.partition.enqueue_due(self.now)

    @rule(count=st.integers(1, 4))
    def take(self, count: int) -> None:
        for _ in range(count):
            turn = self.partition.next_turn(self.now)
            if turn is None:
                return
            assert turn.host not in {other.host for other in self.flying}
            assert turn.lane not in {other.lane for other in self.flying}
            for name in (turn.host, turn.lane):
                assert self.now >= self.ended.get(name, 0.0) + GAP_S - 1e-6, name
            self.flying.append(turn)

    @rule()
    def look_up(self) -> None:
        self.resolving += self.partition.take_resolves(2)

    @rule(answer=ANSWERS, more=st.booleans())
    def advance(self, answer: Answer, more: bool) -> None:
        """The usual course of things: whatever waits goes on."""
        at = self.partition.next_time()
        if not self.flying and at is not None and at > self.now:
            self.wait(at - self.now)
        self.take(3)
        self.look_up()
        while self.resolving:
            self.partition.resolved(
                self.resolving.pop(), Resolution(name="x", addresses=tuple(ADDRESSES), expires=self.now + 600), self.now
            )
        self.take(3)
        while self.flying and more:
            self.end(self.flying.pop(), answer)
        while self.jobs and more:
            self.commit(self.jobs.pop())

    @precondition(lambda self: self.resolving)
    @rule(data=st.data(), how=st.sampled_from(["first", "second", "both", "none", "ours", "both"]))
    def resolved(self, data: Any, how: str) -> None:
        name = self.resolving.pop(data.draw(st.integers(0, len(self.resolving) - 1)))
        addresses = {"first": ADDRESSES[:1], "second": ADDRESSES[1:], "both": ADDRESSES}.get(how, [])
        resolution = Resolution(name=name, addresses=tuple(addresses), expires=self.now + 60 if addresses else 0.0,
                                error="" if addresses else how, ours=how == "ours")  # fmt: skip
        self.partition.resolved(name, resolution, self.now)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), answer=ANSWERS)
    def fetched(self, data: Any, answer: Answer) -> None:
        self.end(self.flying.pop(data.draw(st.integers(0, len(self.flying) - 1))), answer)

    def end(self, turn: Turn, answer: Answer) -> None:
        self.now += 0.1
        if answer.failure is not Failure.OURS:
            self.ended[turn.host] = self.ended[turn.lane] = self.now
        outcome = self.run_.web.outcome(turn, answer, self.now)
        digest = f"sha1:{outcome.payload.hex() or 'EMPTY'}"
        jobs, _ = self.partition.fetched(turn, outcome, digest, outcome.payload, self.now)
        self.answers[turn.id] = answer
        self.jobs += jobs

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def digested(self, data: Any) -> None:
        self.commit(self.jobs.pop(data.draw(st.integers(0, len(self.jobs) - 1))))

    def commit(self, job: Job) -> None:
        answer = self.answers[job.id]
        pointer = None if answer.lost else Pointer("s", job.id * 10, 10)
        digest = Digest(id=job.id, pointer=pointer, committed_end=job.id * 10 + 10, title=answer.title,
                        error="crash" if answer.lost else "")  # fmt: skip
        self.jobs += self.partition.digested(digest, self.now).jobs

    @rule(really=st.integers(0, 4))
    def killed(self, really: int) -> None:
        if really:
            return
        for turn in self.flying:
            self.ended[turn.host] = self.ended[turn.lane] = self.now  # it may have ended just now, unseen
        self.start()

    @invariant()
    def counters_tell_the_truth(self) -> None:
        assert recount(self.store) == []

    @invariant()
    def every_place_is_one(self) -> None:
        frontier = self.run_.context.frontier
        places = [frontier.active, frontier._asleep, frontier._outside]
        assert sum(map(len, places)) == len(set().union(*places))
        assert self.partition.in_flight == len(self.flying) == frontier.lanes.in_flight
        assert set(frontier.active) == set(self.run_.context.ledger._pinned)
        for lane in frontier.lanes._lanes.values():
            assert all(frontier.active[name].lane is lane for name in lane.residents)
            assert bool(lane.stamp) == (lane.busy is None and bool(lane.hosts))


TestCrawler = Crawler.TestCase
TestCrawler.settings = settings(max_examples=examples(150), stateful_step_count=60, deadline=None)
