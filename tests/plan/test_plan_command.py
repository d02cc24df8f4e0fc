"""`gossamer plan` as a person meets it: text, JSON, flags, and what it refuses."""

from __future__ import annotations

import json

import msgspec
import pytest
from rich.console import Console

from gossamer.model.plan import PlanInputs, Unit
from gossamer.policy.plan import PRESETS, SECTIONS
from gossamer.policy.plan_words import WORDS
from gossamer.surface import cli
from gossamer.surface.planning import InputSpec, flag_of, input_specs, plan_for, read_input
from gossamer.surface.plantext import PlanView, input_text, number_text, value_text


def spec_of(field: str) -> InputSpec:
    return next(spec for spec in input_specs() if spec.field == field)


def drawn(width: int, *keys: str, how: bool = False, **given: str) -> str:
    console = Console(width=width, highlight=False, markup=False, emoji=False, color_system=None)
    with console.capture() as capture:
        console.print(PlanView(plan_for("billion", given), "billion", given, keys, how=how))
    return capture.get()


def test_the_text_says_what_binds_and_has_every_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan"]) == 0
    out = capsys.readouterr().out
    assert "Host diversity binds: the peak of 772 pages/s takes 93% of it" in " ".join(out.split())
    assert [words.title for words in WORDS.values() if f"\n{words.title}\n" in out] == [
        words.title for words in WORDS.values()
    ]
    assert WORDS.keys() == SECTIONS.keys()


def test_sections_can_be_chosen_and_changes_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--section", "robots", "--section", "dns", "--hosts-ready", "50", "--crawl-delay", "20"]
    assert cli.run(["plan", *flags]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Capacity plan  preset billion  --hosts-ready 50  --crawl-delay 20s\n")
    assert "\nrobots.txt\n" in out
    assert "\nNames\n" in out
    assert "\nStorage\n" not in out
    assert "18.5 ×" in out


@pytest.mark.parametrize("width", [60, 79, 80, 99, 100, 140])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for how in (False, True):
        lines = drawn(width, how=how).splitlines()
        assert len(lines) > 150
        assert max(len(line) for line in lines) <= width


def test_formulas_stand_beside_figures_where_there_is_room_and_below_when_asked() -> None:
    assert "peak pages/s × period" in drawn(100, "politeness")
    assert "peak pages/s × period" not in drawn(80, "politeness")
    assert "\n    peak pages/s × period" in drawn(80, "politeness", how=True)


@pytest.mark.parametrize("width", [80, 100, 110, 200])
def test_nothing_is_cut_off(width: int) -> None:
    text = "".join(drawn(width, how=True).split())
    figures = [figure for section in plan_for("billion", {}).sections for figure in section.figures]
    assert len(figures) > 100
    for figure in figures:
        number, unit = value_text(figure.value, figure.unit)
        assert "".join((number + unit).split()) in text, figure.key
        if width != 100:  # there a formula may be folded beside the figures of others
            assert "".join(figure.how.split()) in text, figure.key
    assert "…" not in text


def test_a_folded_formula_keeps_its_letters() -> None:
    text = drawn(100, "politeness")
    column = "".join(line[71:].strip() + " " for line in text.splitlines() if len(line) > 71)
    assert "max(gap, response factor × fetch time)" in column
    assert "names on it × pages/s of one host" in column


@pytest.mark.parametrize("width", [60, 80])
def test_names_of_resources_are_whole_on_narrow_terminals(width: int) -> None:
    text = drawn(width, "volume")
    assert "…" not in text
    assert all(name in text for name in ("host diversity", "bandwidth", "disk", "processor", "name look-ups"))
    assert "browsers" not in text  # nothing is rendered in this plan


def test_json_has_inputs_figures_tables_and_resources(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--json", "--pages-per-month", "2G", "--unchanged", "20%", "--refresh-share", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["binding"] == data["resources"][0]["key"] == "hosts"
    assert (data["inputs"]["pages_per_month"], data["inputs"]["unchanged"]) == (2e9, 0.2)
    assert data["figures"]["pages_per_s_average"] == {
        "section": "volume",
        "key": "pages_per_s_average",
        "label": "Pages a second, average",
        "value": pytest.approx(771.6, rel=1e-3),
        "unit": "pages/s",
        "how": "pages a day / 86,400",
    }
    assert data["figures"]["corpus_months"]["value"] is None
    assert len(data["figures"]) == sum(len(words.figures) for words in WORDS.values())
    assert {"hosts", "bloom", "simhash", "depth", "freshness", "splits"} == data["tables"].keys()


def test_every_input_has_a_flag_that_changes_it(capsys: pytest.CaptureFixture[str]) -> None:
    specs = input_specs()
    assert [spec.field for spec in specs] == list(PlanInputs.__struct_fields__)
    assert len({spec.flag for spec in specs}) == len(specs) == 66
    wanted = {}
    for spec in specs:
        half = spec.default / 2
        value = half if half and half >= spec.low else max(spec.default * 2, 0.25)
        wanted[spec.field] = 4.0 if spec.field == "blocks" else value
    flags = [word for spec in specs for word in (spec.flag, f"{wanted[spec.field]:.12g}")]
    assert cli.run(["plan", "--json", *flags]) == 0
    inputs = json.loads(capsys.readouterr().out)["inputs"]
    assert inputs == pytest.approx(wanted)
    assert all(inputs[spec.field] != spec.default for spec in specs)


def test_every_input_is_in_the_help_with_its_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--help"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for spec in input_specs():
        assert f"{spec.flag} " in out
        assert f"{spec.help} [{input_text(spec.kind, spec.default)}]" in out


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("pages_per_month", "1e9", 1e9),
        ("pages_per_month", "2.5B", 2.5e9),
        ("pages_per_month", "1,000,000", 1e6),
        ("pages_per_month", " 10M ", 1e7),
        ("wire_bytes", "100kB", 1e5),
        ("wire_bytes", "1KiB", 1024),
        ("disk_bytes", "2PB", 2e15),
        ("nic_bits_per_s", "10Gbps", 1e10),
        ("nic_bits_per_s", "400 Mbit/s", 4e8),
        ("fetch_s", "200ms", 0.2),
        ("gap_s", "1m30s", 90),
        ("dns_ttl_s", "24h", 86_400),
        ("novelty", "10%", 0.1),
        ("novelty", "0.1", 0.1),
        ("peak_factor", "1.5", 1.5),
    ],
)
def test_values_are_read(field: str, text: str, value: float) -> None:
    assert read_input(spec_of(field), text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--pages-per-month", "0"], "--pages-per-month 0: from 1 to 1000T is allowed, such as 1000000, 1e6 or 1M"),
        (["--pages-per-month", "nan"], "--pages-per-month nan: from 1"),
        (["--pages-per-month", "inf"], "--pages-per-month inf: from 1"),
        (["--pages-per-month", ""], "--pages-per-month : from 1"),
        (["--pages-per-month", "1kB"], "--pages-per-month 1kB: from 1"),
        (["--pages-per-month", "9" * 5000], "99: from 1"),
        (["--cores", "1e400"], "--cores 1e400: from 0.01"),
        (["--gap", "-1"], "--gap -1: from 0s to 1d is allowed, such as 200ms, 1s or 24h"),
        (["--gap", "soon"], "--gap soon: from 0s"),
        (["--wire-bytes", "3parsecs"], "--wire-bytes 3parsecs: from 1 to 1TB is allowed"),
        (["--nic", "1GB"], "--nic 1GB: from 1bps to 1Pbps is allowed"),
        (["--novelty", "101%"], "--novelty 101%: from 0% to 100% is allowed"),
        (["--dns-ttl", "48h"], "--dns-ttl 48h: from 1s to 1d"),
        (["--novelty", "\x1b[31m"], r"--novelty \x1b[31m: from"),
        (["--novelty", "\u0661"], "from 0%"),
        (["--blocks", "6.5"], "--blocks 6.5: a whole number is allowed"),
        (["--near-share", "5%"], "--exact-share 0.1: at most the share of near copies (0.05)"),
        (["--preset", "huge"], "--preset huge: one of billion, gossamer, corpus, ten-billion, search"),
        (["--section", "weather"], "--section weather: one of volume, storage"),
        (["--bogus", "1"], "No such option: --bogus"),
    ],
)
def test_bad_input_is_one_clear_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert captured.err.isprintable() or captured.err[:-1].isprintable()
    assert words in captured.err


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_by_name(preset: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--preset", preset, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["inputs"] == msgspec.structs.asdict(PRESETS[preset])


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (925.9259, "hosts", "926 hosts"),
        (1.0, "hosts", "1 host"),
        (33_333_333.3, "pages", "33.3 million pages"),
        (999_600_000, "pages", "1.00 billion pages"),
        (1e16, "pages", "1.00e+16 pages"),
        (0.0926, "processes", "0.0926 processes"),
        (0.000067137, "share", "0.0067 %"),
        (1.0, "share", "100 %"),
        (20.0000000001, "months", "20 months"),
        (730e12, "bytes", "730 TB"),
        (999.6e9, "bytes", "1.00 TB"),
        (12, "bytes", "12 B"),
        (617.3e6, "bits/s", "617 Mbit/s"),
        (10.2, "seconds", "10.2 s"),
        (0.2, "seconds", "200 ms"),
        (2074.0, "seconds", "34 m 34 s"),
        (282.8, "times", "283 ×"),
        (-0.5, "URLs", "-0.5 URLs"),
        (None, "months", "never"),
    ],
)
def test_figures_are_written_for_people(value: float | None, unit: Unit, text: str) -> None:
    assert " ".join(value_text(value, unit)).strip() == text


def test_no_number_is_wide() -> None:
    assert max(len(number_text(mantissa * 10.0**power)) for power in range(-30, 30) for mantissa in (1, -9.996)) <= 14


@pytest.mark.parametrize("spec", input_specs(), ids=lambda spec: spec.field)
def test_what_the_help_shows_can_be_read_back(spec: InputSpec) -> None:
    for value in (spec.default, spec.low, spec.high):
        assert read_input(spec, input_text(spec.kind, value)) == pytest.approx(value, rel=1e-5)
    assert flag_of(spec.field) == spec.flag
