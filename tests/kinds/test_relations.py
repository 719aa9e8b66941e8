"""Relations that every kind's results keep: nothing here knows what the right numbers are.

Twice the reports know everything better by a factor of root two; a comparison the other way round
is its mirror image; one group weighed alone is that group; days backwards are the line backwards.
Everything runs over the kinds' own examples, so that a new kind keeps these relations or fails.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.types import Vector
from rumor.kinds import KINDS, NAMES
from rumor.mechanisms.summary import Summary
from rumor.results.rows import Tabular
from tests.results.made import (
    RESULTS,
    compared,
    estimated,
    groups_of,
    mechanism_of,
    options_of,
    reports_of,
)

# Kinds whose estimates take long.
LONG = ("ordered", "text", "words")
EVERY = [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NAMES]
# Words are found by tests and drawn apart by fits, which twice the reports do otherwise.
LINEAR = [one for one in EVERY if one.values[0] not in ("text", "words")]


@pytest.fixture(params=EVERY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def summary_of(name: str, group: str = "north") -> Summary:
    return Summary.empty(mechanism_of(KINDS[name])).update(groups_of(name)[group])


def twice(one: Summary) -> Summary:
    """The same reports, each of them two times."""
    return Summary(one.mechanism, 2 * one.reports, 2 * one.tally)


def measured(name: str, *summaries: Summary) -> list[tuple[Vector, Vector]]:
    """The unbiased quantities of each, and their standard errors."""
    kind = KINDS[name]
    found = [
        kind.measures(one.mechanism, one, "population", options_of(kind)).sample
        for one in summaries
    ]
    return [(one.mean, one.stderr) for one in found]


@pytest.mark.parametrize("name", LINEAR)
def test_twice_the_reports_know_by_root_two_better(name: str) -> None:
    one = summary_of(name)
    (mean, error), (again, less) = measured(name, one, twice(one))
    kind = KINDS[name]
    quantities = kind.measures(one.mechanism, one, "population", {}).quantities
    linear = np.array([quantity != "quantile" for quantity in quantities])
    np.testing.assert_allclose(again[linear], mean[linear], rtol=1e-9, atol=1e-12)
    # Half an imaginary report of each kind is added to means of keys: a tenth of a per cent.
    np.testing.assert_allclose(less[linear] * math.sqrt(2), error[linear], rtol=5e-3)
    for method in kind.methods():
        try:
            found, double = (kind.estimate(o.mechanism, o, method, {}) for o in (one, twice(one)))
        except rumor.InputError:
            continue
        np.testing.assert_allclose(
            np.atleast_1d(double.unbiased),  # type: ignore[attr-defined]
            np.atleast_1d(found.unbiased),  # type: ignore[attr-defined]
            rtol=1e-9,
            atol=1e-12,
        )


def test_counting_together_is_adding_up(name: str) -> None:
    """Summaries of two groups, added either way, are that of all reports."""
    one, other = summary_of(name), summary_of(name, "south")
    groups = groups_of(name)
    whole = Summary.empty(one.mechanism).update(np.concatenate([groups["north"], groups["south"]]))
    for both in (one + other, other + one):
        assert both.reports == whole.reports
        np.testing.assert_array_equal(both.tally, whole.tally)


def test_a_comparison_the_other_way_round_is_its_mirror_image(name: str) -> None:
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    groups = groups_of(name)
    there = rumor.compare(mechanism, groups["north"], groups["south"], **options)
    back = rumor.compare(mechanism, groups["south"], groups["north"], **options)
    np.testing.assert_allclose(there.difference, -back.difference, atol=1e-12)
    np.testing.assert_allclose(there.stderr, back.stderr, atol=1e-12)
    np.testing.assert_allclose(there.p_value, back.p_value, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(there.adjusted, back.adjusted, rtol=1e-6, atol=1e-12)
    for level in (0.5, 0.95):
        (low, high), (least, most) = there.interval(level), back.interval(level)
        np.testing.assert_allclose(low, -most, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(high, -least, rtol=1e-6, atol=1e-9)
    one, other = there.pairs[0].overall, back.pairs[0].overall
    assert (one is None) == (other is None)
    if one is not None and other is not None:
        assert one.statistic == pytest.approx(other.statistic)
        assert one.p_value == pytest.approx(other.p_value)


def test_a_group_does_not_differ_from_itself(name: str) -> None:
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    same = groups_of(name)["north"]
    found = rumor.compare(mechanism, same, same, **options)
    np.testing.assert_allclose(found.difference, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.p_value, 1.0)
    np.testing.assert_allclose(found.adjusted, 1.0)
    low, high = found.interval(0.5)
    assert ((low <= 0) & (high >= 0)).all()


def test_all_pairs_are_those_of_two_groups_each(name: str) -> None:
    """What each pair says is what the two say alone; Holm's p-values are of all rows together."""
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    groups, found = groups_of(name), compared(name)
    assert [(pair.first, pair.second) for pair in found.pairs] == [
        ("north", "south"),
        ("north", "west"),
        ("south", "west"),
    ]
    for pair in found.pairs[:2]:
        alone = rumor.compare(mechanism, groups[pair.first], groups[pair.second], **options)
        np.testing.assert_allclose(pair.difference, alone.difference)
        np.testing.assert_allclose(pair.p_value, alone.p_value)
        for mine, its in zip(pair.estimates, alone.pairs[0].estimates, strict=True):
            np.testing.assert_allclose(mine, its)
    p_values = found.p_value
    order = np.argsort(p_values)
    raised = np.maximum.accumulate(p_values[order] * np.arange(p_values.size, 0, -1))
    np.testing.assert_allclose(found.adjusted[order], np.minimum(raised, 1.0))
    against = rumor.compare(mechanism, groups, against="west", **options)
    assert [(pair.first, pair.second) for pair in against.pairs] == [
        ("west", "north"),
        ("west", "south"),
    ]
    np.testing.assert_allclose(against.pairs[1].difference, -found.pairs[2].difference, atol=1e-12)
    assert found.groups == {group: len(reports) for group, reports in groups.items()}
    assert (found.reports, found.epsilon) == (1200, mechanism.epsilon)


def test_one_group_weighed_alone_is_that_group(name: str) -> None:
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    groups = groups_of(name)
    alone = rumor.weigh(mechanism, {"north": groups["north"]}, {"north": 3.0}, **options)
    ((mean, error),) = measured(name, summary_of(name))
    linear = np.array([quantity != "quantile" for quantity in alone.quantities])
    np.testing.assert_allclose(alone.unbiased[linear], mean[linear])
    np.testing.assert_allclose(alone.stderr[linear], error[linear])
    assert alone.parts["north"].weight == 1.0
    # Weights are parts of their sum, and a group without one is left out and named.
    some = rumor.weigh(mechanism, groups, {"north": 3, "south": 1}, **options)
    same = rumor.weigh(mechanism, groups, {"north": 0.75, "south": 0.25}, **options)
    np.testing.assert_allclose(some.unbiased, same.unbiased)
    np.testing.assert_allclose(some.interval(0.8), same.interval(0.8))
    assert some.reports == 800
    assert any("without a weight, and left out: 'west'" in note for note in some.notes)
    (one, first), (other, second) = measured(name, summary_of(name), summary_of(name, "south"))
    np.testing.assert_allclose(some.unbiased[linear], (0.75 * one + 0.25 * other)[linear])
    error = np.sqrt(0.75**2 * first**2 + 0.25**2 * second**2)
    np.testing.assert_allclose(some.stderr[linear], error[linear])
    missing = rumor.weigh(mechanism, groups, {"north": 1, "east": 3}, **options)
    assert any("no reports of 'east', 75.0% of the population" in note for note in missing.notes)
    # What is left is of the rest, as if there were no others.
    assert missing.parts["north"].weight == 1.0
    np.testing.assert_allclose(missing.unbiased, alone.unbiased)


def test_sources_that_say_the_same_are_one_source(name: str) -> None:
    """Two sources with the same counts are one with twice as many; of one, that one."""
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    reports = groups_of(name)["north"]
    one = rumor.combine([(mechanism, reports)], **options)
    ((mean, error),) = measured(name, summary_of(name))
    linear = np.array([quantity != "quantile" for quantity in one.quantities])
    known = linear & np.isfinite(error)
    np.testing.assert_allclose(one.unbiased[known], mean[known], atol=1e-12)
    np.testing.assert_allclose(one.stderr[known], error[known])
    both = rumor.combine({"a": (mechanism, reports), "b": (mechanism, reports)}, **options)
    np.testing.assert_allclose(both.unbiased[known], mean[known], atol=1e-9)
    np.testing.assert_allclose(both.stderr[known], error[known] / math.sqrt(2), rtol=1e-9)
    assert list(both.parts) == ["a", "b"]
    assert [part.weight for part in both.parts.values()] == [None, None]
    assert not any("differ by more than chance" in note for note in both.notes)
    apart = {group: (mechanism, groups_of(name)[group]) for group in ("north", "south")}
    found = rumor.compare(mechanism, *(source[1] for source in apart.values()), **options)
    tests = [pair.overall_adjusted for pair in found.pairs if pair.overall_adjusted is not None]
    differ = min([float(found.adjusted.min()), *tests]) < 0.01
    told = any("differ by more than chance" in n for n in rumor.combine(apart, **options).notes)
    assert told == differ


def test_days_backwards_are_the_line_backwards(name: str) -> None:
    mechanism, options = mechanism_of(KINDS[name]), options_of(KINDS[name])
    groups = list(groups_of(name).values())
    forth = rumor.trend(
        mechanism, {f"2026-03-{2 + i:02}": g for i, g in enumerate(groups)}, **options
    )
    back = rumor.trend(
        mechanism, {f"2026-03-{4 - i:02}": g for i, g in enumerate(groups)}, **options
    )
    np.testing.assert_allclose(forth.unbiased, back.unbiased[::-1], atol=1e-12)
    np.testing.assert_allclose(forth.line, back.line[::-1], atol=1e-9)
    np.testing.assert_allclose(forth.deviation, back.deviation[::-1], atol=1e-9)
    np.testing.assert_allclose(forth.before, back.after, atol=1e-9)
    np.testing.assert_allclose(forth.p_value, back.p_value, atol=0.02)
    assert forth.change.tolist() == [3 - day for day in back.change]
    # A week's days are counted together, and a day apart is a step apart.
    assert forth.periods == ["2026-03-02", "2026-03-03", "2026-03-04"]
    assert forth.counts == [len(group) for group in groups]


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(made, marks=[pytest.mark.slow] * any(name in made for name in LONG))
        for made in RESULTS
    ],
)
def test_a_higher_level_holds_a_lower_one(made: str) -> None:
    result: Any = RESULTS[made]()
    ends = [rows_ends(result, level) for level in (0.3, 0.8, 0.99)]
    for (low, high), (least, most) in itertools.pairwise(ends):
        assert (least <= low + 1e-9).all()
        assert (high <= most + 1e-9).all()
        assert (low <= high).all()
    low, high = ends[0]
    least, most = ends[-1]
    assert (most - least).sum() > (high - low).sum()
    wide = result.columns(0.8, simultaneous=True)
    named = result.columns(0.8, order="given")
    for prefix in ("", "cdf_", "mean_"):
        if f"{prefix}low" in named and len(wide[f"{prefix}low"]) == len(named[f"{prefix}low"]):
            for one, other, sign in (("low", "low", 1), ("high", "high", -1)):
                pairs = zip(wide[prefix + one], named[prefix + other], strict=True)
                assert all(sign * w <= sign * n + 1e-9 for w, n in pairs if None not in (w, n))


def rows_ends(result: Tabular, level: float) -> tuple[Vector, Vector]:
    columns = result.columns(level, order="given")
    prefix = "cdf_" if "cdf_low" in columns else ""
    pairs = zip(columns[f"{prefix}low"], columns[f"{prefix}high"], strict=True)
    known = [(low, high) for low, high in pairs if low is not None and high is not None]
    low, high = np.array(known, dtype=float).T
    return low, high


def test_shares_of_all_values_are_one() -> None:
    """The default and every mended answer; what is unbiased, where each report says one value."""
    found: Any = estimated("choice")
    assert float(found.frequency.sum()) == pytest.approx(1.0)
    joint: Any = estimated("joint")
    (table,) = joint.tables.values()
    assert float(table.shares.sum()) == pytest.approx(1.0)
    for margin, axis in zip(joint.margins, (1, 0), strict=True):
        np.testing.assert_allclose(margin, table.shares.sum(axis=axis))
    ordered: Any = estimated("ordered")
    assert float(ordered.frequency.sum()) == pytest.approx(1.0)
    assert reports_of("choice").shape[0] == found.reports
