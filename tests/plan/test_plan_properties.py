"""What holds for any inputs: finite figures, more asked is never less needed, and the binding resource moves."""

from __future__ import annotations

import itertools
import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.model.plan import Plan, PlanInputs
from gossamer.policy.plan import PRESETS, make_plan, problems
from gossamer.policy.plan_formulas import (
    best_split,
    bloom_bits,
    bloom_false_positive,
    bloom_hashes,
    freshness,
    simhash_index,
    split_freshness,
)
from gossamer.surface.planning import input_specs
from tests.conftest import examples


def changed(**values: float) -> Plan:
    return make_plan(msgspec.structs.replace(PRESETS["billion"], **values))


def figure(plan: Plan, key: str) -> float:
    value = next(figure.value for section in plan.sections for figure in section.figures if figure.key == key)
    assert value is not None
    return value


@st.composite
def any_inputs(draw: st.DrawFn) -> PlanInputs:
    values: dict[str, Any] = {}
    for spec in input_specs():
        where = draw(st.sampled_from(("default", "low", "high", "between")))
        if where == "between":
            share = draw(st.floats(0, 1))
            low, high = max(spec.low, 1e-12), spec.high
            values[spec.field] = min(max(low * (high / low) ** share, spec.low), spec.high)
        elif where != "default":
            values[spec.field] = getattr(spec, where)
    values["blocks"] = float(draw(st.integers(4, 16)))
    inputs = PlanInputs(**values)
    return msgspec.structs.replace(inputs, exact_share=min(inputs.exact_share, inputs.near_share))


@given(any_inputs())
@settings(max_examples=examples(150), deadline=None)
def test_every_figure_is_a_number_whatever_the_inputs(inputs: PlanInputs) -> None:
    assert problems(inputs) == ()
    plan = make_plan(inputs)
    for section in plan.sections:
        assert all(figure.value is None or math.isfinite(figure.value) for figure in section.figures), section.key
        for table in section.tables:
            assert all(math.isfinite(cell) for row in table.rows for cell in row if isinstance(cell, float)), table.key
            assert {len(row) for row in table.rows} == {len(table.columns)}
    loads = [resource.load for resource in plan.resources]
    assert loads == sorted(loads, reverse=True)
    assert plan.binding == plan.resources[0].key
    assert math.isfinite(plan.reached_pages_per_s)


@given(any_inputs(), st.floats(1.01, 100))
@settings(max_examples=examples(80), deadline=None)
def test_more_pages_never_need_less(inputs: PlanInputs, factor: float) -> None:
    more = msgspec.structs.replace(inputs, pages_per_month=min(inputs.pages_per_month * factor, 1e15))
    before = {resource.key: resource.demand for resource in make_plan(inputs).resources}
    after = {resource.key: resource.demand for resource in make_plan(more).resources}
    assert all(after[key] >= before[key] for key in before)


@pytest.mark.parametrize(
    ("field", "key", "grows"),
    [
        ("peak_factor", "pages_per_s_peak", True),
        ("wire_bytes", "bits_per_s_peak", True),
        ("stored_ratio", "stored_bytes_per_year", False),
        ("replication", "stored_bytes_replicated", True),
        ("gap_s", "hosts_needed", True),
        ("fetch_s", "pages_per_s_per_host", False),
        ("response_factor", "gap_s", True),
        ("shared_names", "shared_by_name", True),
        ("novelty", "frontier_net", True),
        ("links_per_page", "break_even_novelty", False),
        ("collapse", "links_distinct_per_day", False),
        ("bits_per_key", "bloom_lost", False),
        ("overfill", "bloom_cliff", True),
        ("known_urls", "bloom_bytes", True),
        ("fingerprints", "comparisons_removed", True),
        ("novelty", "depth_of_corpus", False),
        ("site_budget", "budget_hosts", False),
        ("robots_ttl_s", "robots_shared", False),
        ("dns_ttl_s", "dns_per_day", False),
        ("dns_latency_s", "dns_blocking", True),
        ("cpu_s", "cores_needed", True),
        ("utilisation", "cores_needed", False),
        ("refresh_share", "corpus_months", True),
        ("not_modified_bytes", "not_modified_saving", False),
    ],
)
def test_each_input_moves_its_figure_the_right_way(field: str, key: str, grows: bool) -> None:
    start = {"response_factor": 10.0, "novelty": 0.05, "dns_ttl_s": 3600.0, "robots_ttl_s": 3600.0}.get(
        field, getattr(PRESETS["billion"], field) * 0.4
    )
    values = [figure(changed(**{field: start * step}), key) for step in (1.0, 1.2, 1.5, 2.0)]
    assert all((b > a) if grows else (b < a) for a, b in itertools.pairwise(values)), values


@pytest.mark.parametrize(
    ("values", "binding", "words"),
    [
        ({}, "hosts", "more hosts with URLs would raise it, more machines would not"),
        ({"slots": 1_000, "hosts_ready": 1e6}, "hosts", "more slots would raise it"),
        ({"hosts_ready": 1e5}, "bandwidth", "more network"),
        ({"hosts_ready": 1e5, "wire_bytes": 1e4, "cores": 8}, "cpu", "more cores"),
        ({"hosts_ready": 1e5, "wire_bytes": 1e4, "disk_bytes": 5e13}, "disk", "it is full after 250 days"),
        ({"hosts_ready": 1e5, "sockets_per_process": 50}, "sockets", "more processes"),
        ({"hosts_ready": 1e5, "dns_at_once": 1}, "dns", "more look-ups at once"),
        ({"hosts_ready": 1e5, "render_share": 0.2}, "browsers", "more render machines"),
    ],
)
def test_the_binding_resource_follows_the_inputs(values: dict[str, float], binding: str, words: str) -> None:
    plan = changed(**values)
    assert plan.binding == binding
    assert words in plan.sentence


def test_fifty_hosts_give_42_pages_a_second_however_many_machines_there_are() -> None:
    few = changed(hosts_ready=50)
    assert few.reached_pages_per_s == pytest.approx(41.67, rel=1e-3)
    many = changed(hosts_ready=50, nics=1e3, cores=1e5, processes=1e3)
    assert (many.binding, many.reached_pages_per_s) == ("hosts", few.reached_pages_per_s)
    assert "reaches 41.7" in few.sentence


def test_a_plan_that_holds_reaches_what_was_asked_for() -> None:
    assert changed().reached_pages_per_s == pytest.approx(771.6, rel=1e-3)


def test_what_never_happens_has_no_number() -> None:
    plan = changed(refresh_share=1, novelty=0.005, cpu_s=0)
    none = {figure.key for section in plan.sections for figure in section.figures if figure.value is None}
    assert none == {"corpus_months", "depth_of_corpus", "depth_of_million", "render_ratio"}
    assert figure(plan, "frontier_net") == -0.5


def test_equal_pages_are_nearly_equal_too() -> None:
    assert [field for field, _ in problems(PlanInputs(near_share=0.05))] == ["exact_share"]
    assert [field for field, _ in problems(PlanInputs(blocks=6.5))] == ["blocks"]


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_consistent_and_hold(name: str) -> None:
    assert problems(PRESETS[name]) == ()
    plan = make_plan(PRESETS[name])
    assert (plan.binding, plan.resources[0].load < 1) == ("hosts", True)


@given(st.floats(1e-9, 0.5))
@settings(max_examples=100, deadline=None)
def test_bits_for_a_rate_give_that_rate(rate: float) -> None:
    bits = bloom_bits(rate)
    hashes = bits * math.log(2)  # the formula is exact for this number, which is rarely a whole one
    assert (1 - math.exp(-hashes / bits)) ** hashes == pytest.approx(rate, rel=1e-6)
    assert bloom_false_positive(bits) >= rate * (1 - 1e-9)


@given(st.floats(1, 100))
@settings(max_examples=100, deadline=None)
def test_no_other_number_of_hashes_is_much_better(bits: float) -> None:
    best = bloom_hashes(bits)
    rate = bloom_false_positive(bits)
    assert all(bloom_false_positive(bits, other) > rate * 0.95 for other in (best - 1, best + 1) if other > 0)


@pytest.mark.parametrize(("rate", "low", "high"), [(1e-4, 19.0, 19.4), (1e-3, 14.3, 14.4), (0.01, 9.5, 9.6)])
def test_bits_for_wanted_rates(rate: float, low: float, high: float) -> None:
    assert low < bloom_bits(rate) < high


def test_every_three_flipped_bits_leave_a_table_untouched() -> None:
    for blocks in range(4, 9):
        index = simhash_index(1e10, blocks, 8)
        clean = blocks - 3
        assert index.tables == math.comb(blocks, clean)
        keys = list(itertools.combinations(range(blocks), clean))
        for hit in itertools.product(range(blocks), repeat=3):
            assert any(not set(key) & set(hit) for key in keys)


@given(st.floats(0, 1e6), st.floats(1e-6, 1e6))
@settings(max_examples=100, deadline=None)
def test_freshness_falls_with_changes(changes: float, more: float) -> None:
    assert 0 < freshness(changes + more) <= freshness(changes) <= 1


@given(st.floats(0.01, 1000), st.floats(0.01, 1000))
@settings(max_examples=30, deadline=None)
def test_the_best_split_is_no_worse_than_any_other(fast: float, slow: float) -> None:
    best = sum(split_freshness(fast, slow, best_split(fast, slow)))
    for share in (0.0, 0.25, 0.5, fast / (fast + slow), 1.0):
        assert best >= sum(split_freshness(fast, slow, share)) - 2e-3
