"""A crawl that takes every command and remembers it, for tests of what stands before it."""

from __future__ import annotations

import msgspec

from gossamer.model.control import (
    AddSeeds,
    AddUrls,
    AnyAnswer,
    AnyCommand,
    Change,
    Changed,
    Complete,
    Completed,
    Done,
    Freshness,
    Host,
    HostPolicy,
    Lease,
    LeasedUrl,
    Leases,
    LiftTakedown,
    ListTakedowns,
    Look,
    Looked,
    PatchHost,
    ReadFreshness,
    ReadHost,
    Refused,
    TakeDown,
    Takedowns,
    Taken,
    Tell,
    bad_value,
)
from gossamer.model.limits import LEVELS
from gossamer.model.takedown import Step, StepName, Takedown, Target
from gossamer.model.view import HostView
from gossamer.policy.takedown import TargetError, check_words, checked
from tests.surface.samples import snapshot

NOW = 1_767_225_600.0


class FakeControl:
    """Answers as a healthy crawl would; `tests/contract/test_control` holds it to that."""

    def __init__(self) -> None:
        self.asked: list[AnyCommand] = []
        self.refusal: Refused | None = None
        self.error: Exception | None = None
        self.nothing_to_lease = False

    async def ask(self, command: AnyCommand) -> AnyAnswer:
        self.asked.append(command)
        if self.error is not None:
            raise self.error
        return self.refusal or self._answer(command)

    def _answer(self, command: AnyCommand) -> AnyAnswer:
        match command:
            case TakeDown():
                return _fault_of(command) or Takedowns(takedowns=(takedown(),))
            case LiftTakedown() | ListTakedowns():
                known = command.id == takedown().id or (command.id == "" and isinstance(command, ListTakedowns))
                return Takedowns(takedowns=(takedown(),)) if known else _unknown(command.id)
            case AddSeeds() | AddUrls() if not 0 <= command.level < LEVELS:
                return bad_value("level", command.level, "no such level", f"0 to {LEVELS - 1}")
            case AddSeeds() | AddUrls() | Tell():
                return Taken(taken=len(command.urls), known=1, refused={"http://x.example/": "scope-outside"})
            case ReadHost() | PatchHost():
                return Host(view=HostView(host=command.host), policy=HostPolicy(delay_s=7.0, delay_source="operator"))
            case ReadFreshness():
                return Freshness(host=command.host, pages=3, planned=2, late=0, queued_refreshes=0, expected_fresh=0.75)
            case Lease():
                return Leases(leases=()) if self.nothing_to_lease else Leases(leases=(leased(),))
            case Complete():
                given = {result.lease: result.lease == leased().lease for result in command.results}
                taken = tuple(name for name, is_ours in given.items() if is_ours)
                return Completed(taken=taken, refused={name: "gone" for name in given if name not in taken})
            case Look():
                return Looked(snapshot=snapshot())
            case Change():
                return Changed(changes=("limits.pages: none -> 5",))
            case _:
                return Done(message="as you say")

    @property
    def last(self) -> AnyCommand:
        return self.asked[-1]


def _fault_of(command: TakeDown) -> Refused | None:
    try:
        checked(command.target)
    except TargetError as error:
        return bad_value("target", command.target.value, str(error), error.allowed)
    fault = check_words(command.reason, command.ticket, command.by)
    return bad_value(fault[0], getattr(command, fault[0]), fault[1]) if fault is not None else None


def _unknown(id_: str) -> Refused:
    return Refused(code="not-found", message=f"there is no takedown {id_[:100]}", field="id", value=id_[:100])


def takedown() -> Takedown:
    return Takedown(
        id="td-1",
        target=Target("host", "a.example"),
        reason="asked by the owner",
        ticket="T-1",
        by="anna",
        asked=NOW,
        steps=(Step(StepName.RECORDED, NOW + 0.01), Step(StepName.CONFIRMED, NOW + 0.2, 3)),
    )


def leased() -> LeasedUrl:
    return LeasedUrl(
        lease="secret",
        url="http://a.example/",
        key="example,a)/ http",
        host="a.example",
        address="192.0.2.1",
        headers=(("User-Agent", "x"),),
        deadline=NOW + 60,
        timeout_s=30.0,
        body_max_bytes=1000,
    )


def plain(value: object) -> object:
    """A command as it would stand in JSON."""
    return msgspec.to_builtins(value)
