"""Configuration: read from TOML, checked, overridden by flags, written back as `gossamer.toml`.

Every error names the place, the key, the value and what is allowed. What the keys are is `surface.options`.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.config import Config
from gossamer.model.errors import ConfigError, GossamerError, UsageError
from gossamer.surface import units
from gossamer.surface.kinds import BadValueError, quote
from gossamer.surface.options import FLAGS, SECTIONS, SEEDS_INLINE_MAX, Option
from gossamer.surface.seeds import check_seeds, read_seed_file
from gossamer.surface.signing import agent_of
from gossamer.surface.terminal import escape

FILE_NAME: Final = "gossamer.toml"
SEEDS_NAME: Final = "seeds.txt"
FILE_MAX_BYTES: Final = 4 * 1024 * 1024
_VALUE_SHOWN_CHARS: Final = 80
_TOP: Final = ("seeds", "seeds_file")

Values = dict[str, dict[str, object]]


def load(
    path: Path | None,
    overrides: Mapping[str, object] | None = None,
    seeds: Iterable[str] = (),
    directory: str = "crawl",
) -> Config:
    """The resolved configuration: defaults, then the file, then the overrides.

    Args:
        path: a TOML file; None: only defaults and overrides.
        overrides: "section.key" -> value in the same form as in TOML ("2h", 100, "site").
        seeds: checked seed URLs; when given they replace those of the file.
        directory: where the crawl lives.

    Raises:
        ConfigError: the file cannot be read, or it holds an unknown key or a bad value.
        UsageError: an override that comes from a flag has a bad value.
    """
    table = _parse(path) if path is not None else {}
    where = str(path) if path is not None else "configuration"
    values: Values = {name: {} for name in SECTIONS}
    for name, content in table.items():
        if name in _TOP:
            continue
        if name not in SECTIONS:
            raise ConfigError(_unknown(where, "section or key", name, [*SECTIONS, *_TOP]))
        if not isinstance(content, dict):
            raise ConfigError(f"{where}: {name} is a section and is written [{name}]")
        for key, value in content.items():
            _set(values, where, name, key, _rooted(path, name, key, value))
    for dotted, value in (overrides or {}).items():
        name, _, key = dotted.partition(".")
        if name not in SECTIONS:
            known = [f"{section}.{option.key}" for section in SECTIONS for option in SECTIONS[section]]
            raise ConfigError(_unknown("override", "key", dotted, known))
        _set(values, FLAGS.get(dotted, "override"), name, key, value)
    given = tuple(seeds) or _seeds_of(table, where, path)
    config = msgspec.structs.replace(
        Config(seeds=given, directory=directory),
        **{name: msgspec.structs.replace(getattr(Config(), name), **fields) for name, fields in values.items()},
    )
    check_whole(config, where)
    return config


def check_whole(config: Config, where: str = "configuration") -> None:
    """Check what concerns several options. Raises ConfigError."""
    if config.scope.mode == "any" and not config.identity.contact:
        raise ConfigError(
            f'{where}: scope.mode = "any" needs identity.contact (--contact), a URL or a mail address under which '
            "site owners reach you"
        )
    if config.identity.signing_key and not agent_of(config.identity):
        raise ConfigError(
            f"{where}: identity.signing_key needs identity.signature_agent, the https URL where our keys are found, "
            "or an identity.contact that is an https URL"
        )
    for low, high in (
        ("politeness.min_delay", "politeness.max_delay"),
        ("dns.ttl_min", "dns.ttl_max"),
        ("refresh.min_interval", "refresh.max_interval"),
    ):
        least, most = (getattr(getattr(config, name.split(".")[0]), name.split(".")[1] + "_s") for name in (low, high))
        if least > most:
            raise ConfigError(
                f"{where}: {low} = {quote(units.write_duration(least))} is more than {high} = "
                f"{quote(units.write_duration(most))}; it must be at most that"
            )


def checked(config: Config) -> Config:
    """A configuration that a program made, checked like one that is read. Raises ConfigError, UsageError for seeds."""
    if not config.seeds:
        raise UsageError("Config: a crawl needs seeds, those it began with when it goes on")
    for name, options in SECTIONS.items():
        for option in options:
            value = getattr(getattr(config, name), option.field)
            try:
                option.kind.read(tomllib.loads(f"value = {option.kind.write(value)}")["value"])
            except (BadValueError, TypeError, AttributeError, ValueError, OverflowError) as error:
                what = f"{name}.{option.field} = {_toml(value)} is not allowed ({escape(str(error))})"
                raise ConfigError(f"Config: {what}; it must be {option.kind.allowed}") from error
    check_whole(config, "Config")
    seeds = check_seeds([(seed, f"seeds[{index}]") for index, seed in enumerate(config.seeds)])
    return msgspec.structs.replace(config, seeds=seeds)


def dump(config: Config, *, seeds_file: str = "") -> str:
    """TOML text that `load` reads back equal, with a comment on each option. The directory is not part of it.

    Args:
        config: what to write.
        seeds_file: name of the file that holds the seeds; empty: they are written here.
    """
    lines = ["# The resolved configuration of this crawl. Flags and --config override and rewrite it.", ""]
    if seeds_file:
        lines.append(f"seeds_file = {quote(seeds_file)}")
    else:
        lines += ["seeds = [", *(f"    {quote(seed)}," for seed in config.seeds), "]"]
    for name, options in SECTIONS.items():
        lines += ["", f"[{name}]"]
        section = getattr(config, name)
        for option in options:
            text = option.kind.write(getattr(section, option.field))
            lines += [f"# {option.note}", f"{option.key} = {text}"]
    return "\n".join(lines) + "\n"


def save(config: Config) -> None:
    """Write `gossamer.toml` (and the seeds beside it when they are many) into the crawl's directory, atomically."""
    directory = Path(config.directory)
    seeds_file = SEEDS_NAME if len(config.seeds) > SEEDS_INLINE_MAX else ""
    if seeds_file:
        _replace(directory / SEEDS_NAME, "".join(f"{seed}\n" for seed in config.seeds))
    _replace(directory / FILE_NAME, dump(config, seeds_file=seeds_file))


def changes(old: Config, new: Config) -> list[str]:
    """One line for each option that differs: "scope.mode: site -> host". Seeds are counted."""
    lines: list[str] = []
    known = set(old.seeds)
    added = [seed for seed in new.seeds if seed not in known]
    gone = len(known.difference(new.seeds))
    if added or gone:
        example = f" (first new one: {added[0]})" if added else ""
        lines.append(f"seeds: {len(added)} new, {gone} no longer given{example}")
    for name, options in SECTIONS.items():
        for option in options:
            before, after = (option.kind.write(getattr(getattr(c, name), option.field)) for c in (old, new))
            if before != after:
                lines.append(f"{name}.{option.key}: {_one_line(before)} -> {_one_line(after)}")
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _parse(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}; a TOML file is needed") from error
    if len(data) > FILE_MAX_BYTES:
        most = units.show_size(FILE_MAX_BYTES)
        raise ConfigError(f"{path}: larger than {most}; many seeds belong in a file of their own (seeds_file)")
    try:
        return tomllib.loads(data.decode())
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8; TOML files are UTF-8") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {escape(str(error)) or 'nested too deeply'}") from error


def _set(values: Values, where: str, section: str, key: str, value: object) -> None:
    options = SECTIONS[section]
    option = next((option for option in options if option.key == key), None)
    if option is None:
        raise ConfigError(_unknown(where, "key", f"{section}.{key}", [f"{section}.{option.key}" for option in options]))
    try:
        values[section][option.field] = option.kind.read(value)
    except BadValueError as error:
        raise _refusal(where, section, option, value, str(error)) from error


def _refusal(where: str, section: str, option: Option, value: object, why: str) -> GossamerError:
    shown = escape(_toml(value))
    if len(shown) > _VALUE_SHOWN_CHARS:
        shown = shown[:_VALUE_SHOWN_CHARS] + "…"
    reason = f" ({escape(why)})" if why else ""
    if where.startswith("--"):
        return UsageError(f"{where} {shown} is not allowed{reason}; it must be {option.kind.allowed}")
    key = f"{section}.{option.key}"
    return ConfigError(f"{where}: {key} = {shown} is not allowed{reason}; it must be {option.kind.allowed}")


def _toml(value: object) -> str:
    """A value as it would stand in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_toml(item) for item in value)}]"
    return quote(value) if isinstance(value, str) else str(value)


def _unknown(where: str, what: str, name: str, known: list[str]) -> str:
    key = name.rpartition(".")[2]
    elsewhere = [f"{s}.{o.key}" for s in SECTIONS for o in SECTIONS[s] if o.key == key]  # right key, wrong section
    close = elsewhere[:1] or difflib.get_close_matches(name[:_VALUE_SHOWN_CHARS], known, n=1, cutoff=0.6)
    hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(known)}"
    return f"{where}: unknown {what} {escape(name)[:_VALUE_SHOWN_CHARS]}; {hint}"


def _rooted(path: Path | None, section: str, key: str, value: object) -> object:
    """A file named in a configuration file is meant relative to that file."""
    files = (
        ("identity", "signing_key"),
        ("politeness", "as_table"),
        ("politeness", "cdn_ranges"),
        ("dns", "hosts_file"),
        ("notify", "secret_file"),
    )
    if path is None or (section, key) not in files or not isinstance(value, str) or not value:
        return value
    return str((path.parent / value).absolute())


def _seeds_of(table: Mapping[str, object], where: str, path: Path | None) -> tuple[str, ...]:
    name = table.get("seeds_file", "")
    if "seeds_file" in table and (not isinstance(name, str) or not name):
        raise ConfigError(f"{where}: seeds_file = {escape(str(name))} is not allowed; it must be the path of a file")
    listed = table.get("seeds", [])
    if not isinstance(listed, list) or not all(isinstance(seed, str) for seed in listed):
        raise ConfigError(f"{where}: seeds is not allowed; it must be a list of URLs")
    try:
        found = check_seeds([(seed, f"{where}: seeds[{index}]") for index, seed in enumerate(listed)])
        if name and path is not None and isinstance(name, str):
            found = (*found, *check_seeds(read_seed_file(path.parent / name)))
    except UsageError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(where) else f"{where}: {text}") from error
    return tuple(dict.fromkeys(found))


def _replace(path: Path, text: str) -> None:
    """Write a file so that a crash leaves the old or the new one, never half of either."""
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
