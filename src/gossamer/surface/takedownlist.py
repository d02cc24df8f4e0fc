"""Orders that change the exclusion list: made the same way by a running crawl and by whoever reaches its directory."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Final

import msgspec

from gossamer.adapters.exclusions import Exclusions
from gossamer.model.control import AnyAnswer, LiftTakedown, ListTakedowns, Refused, TakeDown, Takedowns, bad_value
from gossamer.model.errors import GossamerError
from gossamer.model.takedown import Step, StepName, Takedown
from gossamer.policy.takedown import WORDS_ALLOWED, TargetError, check_words, checked

AnyTakedownCommand = TakeDown | LiftTakedown | ListTakedowns
LISTED_MAX: Final = 10_000


class _RefusedError(Exception):
    def __init__(self, answer: Refused) -> None:
        super().__init__(answer.message)
        self.answer = answer


class TakedownList:
    """The exclusion list of one crawl, changed by commands."""

    def __init__(self, directory: Path) -> None:
        """`directory` is the crawl's."""
        self.exclusions = Exclusions(directory / "archive")

    def do(self, command: AnyTakedownCommand, now: float, *, running: bool) -> AnyAnswer:
        """Carry a command out as far as the list goes; what was answered is durable. Blocks for the disk.

        `now`: unix seconds; `running`: what is to be said of the crawl.
        """
        try:
            if isinstance(command, TakeDown):
                return Takedowns(takedowns=(self._take_down(command, now),), running=running)
            if isinstance(command, LiftTakedown):
                return Takedowns(takedowns=(self._lift(command, now),), running=running)
            found = [one for one in self.exclusions.read() if command.id in ("", one.id)]
            if command.id and not found:
                return _unknown(command.id)
            return Takedowns(takedowns=tuple(reversed(found))[:LISTED_MAX], running=running)
        except _RefusedError as error:
            return error.answer
        except GossamerError as error:
            return Refused(code="failed", message=str(error))

    def _take_down(self, command: TakeDown, now: float) -> Takedown:
        try:
            target = checked(command.target)
        except TargetError as error:
            text = command.target.value[:200]
            answer = Refused(
                code="bad-value", message=f"{text!r}: {error}", field="target", value=text, allowed=error.allowed
            )
            raise _RefusedError(answer) from error
        fault = check_words(command.reason, command.ticket, command.by)
        if fault is not None:
            raise _RefusedError(bad_value(fault[0], getattr(command, fault[0]), fault[1], WORDS_ALLOWED))
        made = Takedown(
            id=f"td-{time.strftime('%Y%m%d', time.gmtime(now))}-{secrets.token_hex(4)}",
            target=target,
            reason=command.reason.strip(),
            ticket=command.ticket.strip(),
            by=command.by.strip(),
            asked=now,
            steps=(Step(StepName.RECORDED, now, detail="no copy is given out any more"),),
        )

        def add(before: tuple[Takedown, ...]) -> tuple[Takedown, ...]:
            same = next((one for one in before if one.in_force and one.target == target), None)
            if same is not None:
                said = f"{target.kind} {target.value} is taken down already: {same.id}"
                raise _RefusedError(Refused(code="conflict", message=said, field="target", value=target.value))
            return (*before, made)

        self.exclusions.edit(add)
        return made

    def _lift(self, command: LiftTakedown, now: float) -> Takedown:
        fault = check_words(command.reason or "-", "", command.by)
        if fault is not None:
            raise _RefusedError(bad_value(fault[0], getattr(command, fault[0]), fault[1], WORDS_ALLOWED))

        def lift(before: tuple[Takedown, ...]) -> tuple[Takedown, ...]:
            found = next((one for one in before if one.id == command.id), None)
            if found is None:
                raise _RefusedError(_unknown(command.id))
            if not found.in_force:
                said = f"{command.id} is lifted already"
                raise _RefusedError(Refused(code="conflict", message=said, field="id", value=command.id))
            ended = msgspec.structs.replace(
                found,
                lifted=now,
                lift_reason=command.reason.strip(),
                lifted_by=command.by.strip(),
                steps=(*found.steps, Step(StepName.LIFTED, now, detail="copies are given out again")),
            )
            return tuple(ended if one is found else one for one in before)

        after = self.exclusions.edit(lift)
        return next(one for one in after if one.id == command.id)


def _unknown(id_: str) -> Refused:
    return Refused(code="not-found", message=f"there is no takedown {id_[:100]}", field="id", value=id_[:100])
