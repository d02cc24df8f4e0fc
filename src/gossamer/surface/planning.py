"""`gossamer plan`: what a crawl of a given size takes, and which resource binds.

The flags are made from the fields of `model.plan.PlanInputs`, so each input has one, with its bounds and its default.
Formulas are in `policy.plan`; the tables are drawn in `surface.plantext`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
import typer

from gossamer.model.errors import UsageError
from gossamer.model.plan import Kind, Plan, PlanInputs
from gossamer.policy.plan import PRESETS, SECTIONS, make_plan, problems
from gossamer.surface.jsontext import json_text
from gossamer.surface.plantext import PlanView, input_text
from gossamer.surface.terminal import escape
from gossamer.surface.units import BYTES, parse_duration

TEXT_MAX_CHARS: Final = 40
DEFAULT_PRESET: Final = "billion"
SECTION_KEYS: Final = tuple(SECTIONS)
_COUNTS: Final[Mapping[str, float]] = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9, "t": 1e12}
_BITS: Final[Mapping[str, float]] = {
    f"{prefix}{end}": factor
    for prefix, factor in {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "p": 1e15}.items()
    for end in ("bps", "bit/s")
}
_SIZES: Final[Mapping[str, float]] = {
    "pb": 1e15,
    "eb": 1e18,
    "zb": 1e21,
    **{key.lower(): value for key, value in BYTES.items()},
}
SUFFIXES: Final[Mapping[Kind, Mapping[str, float]]] = {
    "count": _COUNTS,
    "number": _COUNTS,
    "bytes": _SIZES,
    "bits": _BITS,
    "seconds": {},
    "share": {"%": 0.01},
}
METAVARS: Final[Mapping[Kind, str]] = {
    "count": "N", "number": "X", "bytes": "SIZE", "bits": "RATE", "seconds": "TIME", "share": "SHARE",
}  # fmt: skip
EXAMPLES: Final[Mapping[Kind, str]] = {
    "count": "1000000, 1e6 or 1M",
    "number": "2 or 1.5",
    "bytes": "500, 100kB or 40TB",
    "bits": "1Gbps or 400Mbps",
    "seconds": "200ms, 1s or 24h",
    "share": "0.3 or 30%",
}


class InputSpec(msgspec.Struct, frozen=True):
    """One input as the command line knows it."""

    field: str
    flag: str
    kind: Kind
    low: float
    high: float
    help: str
    default: float


def input_specs() -> tuple[InputSpec, ...]:
    """One for each field of `PlanInputs`, in their order."""
    specs = []
    info = msgspec.inspect.type_info(PlanInputs)
    assert isinstance(info, msgspec.inspect.StructType)
    for field in info.fields:
        kept = field.type
        assert isinstance(kept, msgspec.inspect.Metadata)
        bounds = kept.type
        assert isinstance(bounds, msgspec.inspect.FloatType)
        assert bounds.ge is not None
        assert bounds.le is not None
        kind: Kind = (kept.extra or {})["kind"]
        text = str((kept.extra_json_schema or {})["description"])
        specs.append(InputSpec(field.name, flag_of(field.name), kind, bounds.ge, bounds.le, text, field.default))
    return tuple(specs)


def flag_of(field: str) -> str:
    """The flag of a field: its name without what the unit says anyway."""
    return "--" + field.removesuffix("_bits_per_s").removesuffix("_s").replace("_", "-")


def read_input(spec: InputSpec, text: str) -> float:
    """The value of a flag. Raises UsageError, in one line that says what is allowed."""
    value = _number(spec.kind, text)
    if value is None or not spec.low <= value <= spec.high:
        low, high = (input_text(spec.kind, bound) for bound in (spec.low, spec.high))
        shown = escape(text[:TEXT_MAX_CHARS])
        raise UsageError(f"{spec.flag} {shown}: from {low} to {high} is allowed, such as {EXAMPLES[spec.kind]}")
    return value


def _number(kind: Kind, text: str) -> float | None:
    stripped = text.strip()
    if not stripped or len(stripped) > TEXT_MAX_CHARS or not stripped.isascii():
        return None
    if kind == "seconds":
        try:
            return parse_duration(stripped)
        except (ValueError, OverflowError):
            return None
    head = stripped.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/%")
    suffix = stripped[len(head) :].lower()
    factor = SUFFIXES[kind].get(suffix) if suffix else 1.0
    try:
        value = float(head.replace(",", ""))
    except ValueError:
        return None
    return value * factor if factor is not None and math.isfinite(value) else None


def plan_for(preset: str, given: Mapping[str, str]) -> Plan:
    """The plan of a preset with the given inputs, by field, in its place. Raises UsageError."""
    base = PRESETS.get(preset)
    if base is None:
        raise UsageError(f"--preset {escape(preset[:TEXT_MAX_CHARS])}: one of {', '.join(PRESETS)}")
    values = {spec.field: read_input(spec, given[spec.field]) for spec in input_specs() if spec.field in given}
    inputs = msgspec.structs.replace(base, **values)
    for field, allowed in problems(inputs):
        raise UsageError(f"{flag_of(field)} {getattr(inputs, field):.6g}: {allowed} is allowed")
    return make_plan(inputs)


def plan_json(plan: Plan) -> str:
    """The plan with its figures and tables by key."""
    figures = {
        figure.key: {"section": section.key, **msgspec.structs.asdict(figure)}
        for section in plan.sections
        for figure in section.figures
    }
    tables = {table.key: table for section in plan.sections for table in section.tables}
    head = {key: getattr(plan, key) for key in ("binding", "sentence", "reached_pages_per_s", "resources", "inputs")}
    return json_text({**head, "figures": figures, "tables": tables})


def _plan(**options: object) -> None:
    """What a crawl of a given size takes, and which resource binds.

    Every input has a flag; --preset is where they start from.
    """
    from gossamer.surface.reading import show

    preset, wanted = str(options.pop("preset")), options.pop("section")
    as_json, explain = bool(options.pop("json")), bool(options.pop("how"))
    keys = [str(key) for key in wanted] if isinstance(wanted, list) else []
    for key in keys:
        if key not in SECTION_KEYS:
            raise UsageError(f"--section {escape(key[:TEXT_MAX_CHARS])}: one of {', '.join(SECTION_KEYS)}")
    plan = plan_for(preset, {field: str(text) for field, text in options.items() if text is not None})
    if as_json:
        typer.echo(plan_json(plan))
    else:
        changed = {
            spec.flag: input_text(spec.kind, value)
            for spec in input_specs()
            if (value := getattr(plan.inputs, spec.field)) != getattr(PRESETS[preset], spec.field)
        }
        show(PlanView(plan, preset, changed, tuple(keys), how=explain))


def register(app: typer.Typer) -> None:
    """Add `plan` to the program, with a flag for each input."""
    names = ", ".join(PRESETS)
    options: dict[str, tuple[object, object]] = {
        "preset": (
            Annotated[str, typer.Option("--preset", metavar="NAME", help=f"Where the inputs start from: {names}.")],
            DEFAULT_PRESET,
        ),
        "section": (
            Annotated[
                list[str] | None,
                typer.Option("--section", metavar="NAME", help=f"Only this: {', '.join(SECTION_KEYS)}."),
            ],
            None,
        ),
        "how": (Annotated[bool, typer.Option("--how", help="The formula of each figure below it.")], False),
        "json": (Annotated[bool, typer.Option("--json", help="JSON instead of text.")], False),
    }
    for spec in input_specs():
        text = f"{spec.help} [{input_text(spec.kind, spec.default)}]"
        option = typer.Option(spec.flag, metavar=METAVARS[spec.kind], help=text)
        options[spec.field] = (Annotated[str | None, option], None)

    def plan(**given: object) -> None:
        _plan(**given)

    plan.__doc__ = _plan.__doc__
    plan.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
            for name, (annotation, default) in options.items()
        ]
    )
    plan.__annotations__ = {name: annotation for name, (annotation, _) in options.items()}
    app.command()(plan)
