"""`gossamer takedown`: stop everything about a host, now; list what is taken down; lift it again. `gossamer purge`."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import Annotated, Final, Protocol

import typer

from gossamer.adapters.accesslist import fronts_of
from gossamer.model.control import AnyAnswer, LiftTakedown, ListTakedowns, Refused, TakeDown, Takedowns
from gossamer.model.errors import EXIT_OK, GossamerError, UsageError
from gossamer.model.takedown import StepName, Takedown, Target, TargetKind
from gossamer.ports.control import Control
from gossamer.surface.explainview import moment
from gossamer.surface.jsontext import json_text
from gossamer.surface.reading import require_crawl
from gossamer.surface.terminal import escape
from gossamer.surface.units import plural

CONFIRM_S: Final = 10.0
EXIT_UNCONFIRMED: Final = 1
_WORDS: Final = {
    StepName.RECORDED: "recorded: from here on no copy is given out",
    StepName.ENFORCED: "enforced: from here on nothing is asked for",
    StepName.CONFIRMED: "confirmed",
    StepName.LIFTED: "lifted: copies are given out again",
}
_COUNTED: Final = {
    StepName.ABORTED: ("request", "cut off in flight"),
    StepName.REFUSED: ("URL", "taken out of queues and calendar"),
    StepName.RESTORED: ("URL", "back in queues and calendar"),
    StepName.PURGED: ("record", "removed from the archive"),
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(takedown)
    app.command()(purge)


def takedown(
    host: Annotated[str, typer.Argument(metavar="[HOST]", help="A host name; every port of it if none is given.")] = "",
    site: Annotated[str, typer.Option(metavar="NAME", help="A name and every name under it.")] = "",
    prefix: Annotated[str, typer.Option(metavar="URL", help="Every address that begins so.")] = "",
    pattern: Annotated[str, typer.Option(metavar="GLOB", help="Every address that matches; * is any text.")] = "",
    reason: Annotated[str, typer.Option(help="Why; shown wherever the takedown shows.")] = "",
    ticket: Annotated[str, typer.Option(help="Where this is kept elsewhere.")] = "",
    lift: Annotated[str, typer.Option(metavar="ID", help="Let a takedown hold no longer.")] = "",
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    *,
    listed: Annotated[bool, typer.Option("--list", help="All takedowns, lifted ones too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:
    """Stop everything about a host, site, prefix or pattern at once, and give no stored copy out.

    It holds until it is lifted, whether the crawl runs or not.
    """
    import asyncio

    from gossamer.surface.controlling import Crawl

    require_crawl(directory)
    crawl = Crawl(directory)
    targets = [Target(kind, value) for kind, value in _kinds(host, site, prefix, pattern) if value]
    if len(targets) + bool(lift) + listed != 1:
        raise UsageError("name one HOST, --site, --prefix or --pattern, or --lift ID, or --list")
    if listed:
        answer = asyncio.run(crawl.ask(ListTakedowns()))
    elif lift:
        answer = asyncio.run(_ordered(crawl, LiftTakedown(id=lift, reason=reason, by=_user())))
    else:
        if not reason:
            raise UsageError("a takedown needs a reason: --reason TEXT")
        order = TakeDown(target=targets[0], reason=reason, ticket=ticket, by=_user())
        answer = asyncio.run(_ordered(crawl, order))
    if isinstance(answer, Refused):
        raise _refusal(answer)
    assert isinstance(answer, Takedowns)
    if json:
        typer.echo(json_text(answer))
    else:
        typer.echo("\n".join(lines_of(answer)) or "nothing is taken down")
    late = not listed and answer.running and not answer.takedowns[0].confirmed
    raise typer.Exit(EXIT_UNCONFIRMED if late else EXIT_OK)


def purge(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID...]", help="Takedowns; all in force if none.")] = None,
    directory: Annotated[Path, typer.Option("--dir", help="The crawl's directory.")] = Path("crawl"),
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without, only what would be purged is told.")] = False,
) -> None:
    """Remove what is taken down from the WARC files and the state, for good. The crawl must not run."""
    from gossamer.adapters.exclusions import Exclusions
    from gossamer.surface.purging import Purge

    require_crawl(directory)
    exclusions = Exclusions(directory / "archive")
    chosen = [one for one in exclusions.read() if one.in_force and (not ids or one.id in ids)]
    unknown = sorted(set(ids or ()) - {one.id for one in chosen})
    if unknown:
        raise UsageError(f"no takedown in force: {', '.join(map(escape, unknown))}")
    if not chosen:
        raise UsageError("nothing is taken down; gossamer takedown does that first")
    for one in chosen:
        typer.echo(f"{one.id}  {one.target.kind} {escape(one.target.value)}: {escape(one.reason)}")
    if not yes:
        typer.echo("what these cover would be removed for good; --yes does it")
        return
    report = Purge(directory, exclusions, chosen).run()
    for damage in report.damaged:
        typer.echo(escape(damage), err=True)
    typer.echo(
        f"{plural(report.records, 'record')} of {plural(report.visits, 'visit')} removed from "
        f"{plural(report.segments, 'segment')}, {plural(report.rows, 'row')} emptied"
    )
    if report.rescued:
        typer.echo(f"{plural(report.rescued, 'page')} elsewhere had the same content, kept there alone: written anew")


class Reached(Control, Protocol):
    """A crawl's control that can be waited for."""

    async def confirmed(self, id_: str, within_s: float) -> AnyAnswer:
        """A takedown when all its steps are done, or when the time is over."""
        ...


async def _ordered(crawl: Reached, order: TakeDown | LiftTakedown) -> AnyAnswer:
    answer = await crawl.ask(order)
    if not isinstance(answer, Takedowns):
        return answer
    return await crawl.confirmed(answer.takedowns[0].id, CONFIRM_S)


def lines_of(answer: Takedowns) -> list[str]:
    """Takedowns for a person, each with its steps."""
    lines: list[str] = []
    for one in answer.takedowns:
        if lines:
            lines.append("")
        lines += _told(one, running=answer.running)
    return lines


def _told(one: Takedown, *, running: bool) -> list[str]:
    state = "in force" if one.in_force else f"lifted at {moment(one.lifted)}"
    lines = [f"{one.id}  {one.target.kind} {escape(one.target.value)}: {state}"]
    asked = [f"ticket {escape(one.ticket)}"] if one.ticket else []
    asked += [f"by {escape(one.by)}"] if one.by else []
    lines.append(f"  reason: {escape(one.reason)}" + (f" ({', '.join(asked)})" if asked else ""))
    if one.lift_reason:
        lines.append(f"  lifted because: {escape(one.lift_reason)}")
    since = one.lifted or one.asked
    for step in one.steps:
        after = f"{step.at - one.asked:+10.3f} s" if step.at < since or one.in_force else f"{step.at - since:+10.3f} s"
        lines.append(f"  {moment(step.at)} {after}  {_step_words(step.name, step.count)}")
    if one.last_request:
        lines.append(f"  last request to it: {moment(one.last_request)}")
    if one.in_force and not fronts_of(one.target):
        lines.append("  names no host: pywb cannot look it up in exclusions.aclj; replay an export, or purge")
    if not one.confirmed:
        at_start = "nothing is asked for" if one.in_force else "its URLs are queued again"
        lines.append("  not confirmed yet" if running else f"  no crawl runs; {at_start} from its next start on")
    return lines


def _step_words(name: StepName, count: int) -> str:
    if name in _COUNTED:
        what, words = _COUNTED[name]
        return f"{plural(count, what)} {words}"
    return _WORDS[name]


def _kinds(host: str, site: str, prefix: str, pattern: str) -> list[tuple[TargetKind, str]]:
    return [("host", host), ("site", site), ("prefix", prefix), ("pattern", pattern)]


def _refusal(answer: Refused) -> GossamerError:
    allowed = f"; allowed: {answer.allowed.removeprefix('allowed: ')}" if answer.allowed else ""
    return GossamerError(answer.message) if answer.code == "failed" else UsageError(f"{answer.message}{allowed}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no such user on this machine
        return ""
