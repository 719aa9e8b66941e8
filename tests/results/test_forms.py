"""Every result in every form: JSON, CSV, rows, tables and charts show the result's own numbers.

What a form should hold is read from the result's attributes and from `interval` and `bounds`
here, class by class; a new class of results fails until it is listed.
"""

from __future__ import annotations

import csv
import inspect
import io
import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rumor.analysis.combine.result import Combined
from rumor.analysis.compare.result import Comparison
from rumor.analysis.regress.result import Regression
from rumor.analysis.trend.result import LineCoins, Trend
from rumor.core.types import Vector
from rumor.kinds.joint.result import JointEstimate
from rumor.kinds.keyvalue.result import KeyValueEstimate
from rumor.kinds.number.result import MeanEstimate
from rumor.kinds.ordered.result import QUANTILES, OrderedEstimate
from rumor.kinds.set.result import SetEstimate
from rumor.kinds.word_estimate import WordEstimate
from rumor.kinds.words.result import OpenWordEstimate
from rumor.results.chart_parts import around_zero, panels
from rumor.results.estimate import Estimate
from rumor.results.rows import Tabular
from rumor.results.view import View
from tests.results.made import RESULTS

VIEWS = (
    View(),
    View(level=0.99, simultaneous=True),
    View(level=0.8, rows=2),
    View(level=0.9, order="estimate"),
)
Cells = dict[str, list[Any]]
NUMBER = re.compile(r"none|< 1e-12|[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?")


# What verbs make of other kinds than these differs in numbers alone, and open words take long.
OFTEN = [name for name in RESULTS if name.startswith("choice") or name.endswith("estimated")]
OFTEN = [*OFTEN, "keyvalue-compared", "keyvalue-weighed", "ordered-weighed"]
OFTEN.remove("words-estimated")


@pytest.fixture(
    params=[
        pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.slow]) for name in RESULTS
    ]
)
def result(request: pytest.FixtureRequest) -> Tabular:
    return RESULTS[request.param]()


def plain(numbers: Any) -> list[Any]:
    """Numbers as JSON has them: what is not finite is unknown."""
    return [float(x) if math.isfinite(x) else None for x in np.asarray(numbers, np.float64)]


# What the columns must be, from the attributes


def of_estimate(one: Estimate, rows: list[int], view: View) -> Cells:
    low, high = one.bounds(rows, view)
    found: Cells = {"value": [one.values[i] for i in rows]}
    found |= {"frequency": one.frequency[rows].tolist(), "low": low.tolist()}
    found |= {"high": high.tolist(), "unbiased": one.unbiased[rows].tolist()}
    found |= {"stderr": one.stderr[rows].tolist()}
    if isinstance(one, WordEstimate):
        found |= {"p_value": one.p_value[rows].tolist(), "detected": one.detected[rows].tolist()}
    return found


def of_keys(one: KeyValueEstimate, rows: list[int], view: View) -> Cells:
    found: Cells = {"value": [one.values[i] for i in rows]}
    low, high = one.bounds(rows, view)
    found |= {"frequency": plain(one.frequency[rows]), "low": plain(low), "high": plain(high)}
    found |= {"stderr": plain(one.stderr[rows]), "known": one.frequency_known[rows].tolist()}
    low, high = one.bounds(rows, view, "mean")
    found |= {"mean": plain(one.mean[rows]), "mean_low": plain(low), "mean_high": plain(high)}
    found |= {"mean_stderr": plain(one.mean_stderr[rows])}
    found |= {"mean_known": one.mean_known[rows].tolist()}
    return found | {"unbiased": plain(one.unbiased[rows]), "product": plain(one.product[rows])}


def of_mean(one: MeanEstimate, rows: list[int], view: View) -> Cells:
    low, high = one.interval(view.level)
    found: Cells = {"value": ["mean"], "mean": [one.mean], "low": [low], "high": [high]}
    return found | {"unbiased": [one.unbiased], "stderr": [one.stderr]}


def of_ordered(one: OrderedEstimate, rows: list[int], view: View) -> Cells:
    upper = [float(one.scale.at(i + 1)) for i in rows]
    level = view.level ** (1 / one.scale.domain) if view.simultaneous else view.level
    shares = [one.cdf(value, level) for value in upper]
    found: Cells = {"value": [one.values[i] for i in rows]}
    found |= {"frequency": one.frequency[rows].tolist()}
    bins = [one.share(value - one.scale.unit, value, level) for value in upper]
    found |= {"low": [x.low for x in bins], "high": [x.high for x in bins]}
    found |= {"cdf": [x.value for x in shares], "cdf_low": [x.low for x in shares]}
    return found | {"cdf_high": [x.high for x in shares]}


def of_joint(one: JointEstimate, rows: list[int], view: View) -> Cells:
    low, high = one.interval(view.level, simultaneous=view.simultaneous)
    found: Cells = {key: [] for key in one.parts.keys}
    for row in rows:
        said = dict(part.split(" ", 1) for part in one.values[row].split(", "))
        for key in one.parts.keys:
            found[key].append(said.get(key))
    found |= {"frequency": one.frequency[rows].tolist()}
    found |= {"low": low[rows].tolist(), "high": high[rows].tolist()}
    found |= {"unbiased": one.unbiased[rows].tolist(), "stderr": one.stderr[rows].tolist()}
    (table,) = one.tables.values()
    return found | {"ratio": plain([*table.ratio.ravel(), *[math.nan] * 99])[: len(rows)]}


def of_comparison(one: Comparison, rows: list[int], view: View) -> Cells:
    each, level = len(one.values), view.level
    if view.chosen and rows:  # of m rows r are shown: each misses r / m as often
        level = 1 - (1 - level) * len(rows) / one.p_value.size
    low, high = one.interval(level, simultaneous=view.simultaneous)
    pairs, at = [one.pairs[i // each] for i in rows], [i % each for i in rows]
    both = list(zip(pairs, at, strict=True))
    found: Cells = {"first": [p.first for p in pairs], "second": [p.second for p in pairs]}
    found |= {"quantity": [one.quantities[i] for i in at], "value": [one.values[i] for i in at]}
    found |= {"first_estimate": plain([p.estimates[0][i] for p, i in both])}
    found |= {"second_estimate": plain([p.estimates[1][i] for p, i in both])}
    found |= {"difference": plain([p.difference[i] for p, i in both])}
    found |= {"low": plain(low[rows]), "high": plain(high[rows])}
    found |= {"stderr": plain([p.stderr[i] for p, i in both])}
    found |= {"p_value": plain([p.p_value[i] for p, i in both])}
    return found | {"adjusted": plain([p.adjusted[i] for p, i in both])}


def of_combined(one: Combined, rows: list[int], view: View) -> Cells:
    low, high = one.interval(view.level, simultaneous=view.simultaneous)
    found: Cells = {"quantity": [one.quantities[i] for i in rows]}
    found |= {"value": [one.values[i] for i in rows], "estimate": plain(one.unbiased[rows])}
    found |= {"low": plain(low[rows]), "high": plain(high[rows])}
    return found | {"stderr": plain(one.stderr[rows])}


def of_trend(one: Trend, rows: list[int], view: View) -> Cells:
    days, at = [i % len(one.periods) for i in rows], [i // len(one.periods) for i in rows]
    low, high = one.interval(view.level)
    found: Cells = {"period": [one.periods[i] for i in days]}
    found |= {"quantity": [one.quantities[i] for i in at], "value": [one.values[i] for i in at]}
    found |= {"reports": [one.counts[i] for i in days]}
    matrices = {"estimate": one.unbiased, "stderr": one.stderr, "line": one.line}
    for name, matrix in {**matrices, "low": low, "high": high}.items():
        found[name] = plain([matrix[day, value] for day, value in zip(days, at, strict=True)])
    return found


def of_regression(one: Regression, rows: list[int], view: View) -> Cells:
    places = [(i % len(one.terms), i // len(one.terms)) for i in rows]
    low, high = one.interval(view.level)
    found: Cells = {"value": [one.values[v] for _, v in places]}
    found |= {"term": [one.terms[t] for t, _ in places]}
    matrices = {"coefficient": one.coefficients, "stderr": one.stderr}
    matrices |= {"z": one.roots, "p_value": one.p_value}
    matrices |= {"low": low, "high": high, "odds_ratio": np.exp(one.coefficients)}
    return found | {name: [float(m[at]) for at in places] for name, m in matrices.items()}


COLUMNS: dict[type[Tabular], Any] = {
    Comparison: of_comparison,
    Combined: of_combined,
    Trend: of_trend,
    Regression: of_regression,
    KeyValueEstimate: of_keys,
    MeanEstimate: of_mean,
    OrderedEstimate: of_ordered,
    JointEstimate: of_joint,
    Estimate: of_estimate,
}


def expected(one: Tabular, rows: list[int], view: View) -> Cells:
    """The columns of some rows, by the attributes of the result."""
    made = next(make for kind, make in COLUMNS.items() if isinstance(one, kind))
    found: Cells = made(one, rows, view)
    return found


def order_of(one: Tabular, view: View) -> list[int]:
    """The rows of a view: as given, or by share or p-value, a row for each value."""
    if isinstance(one, (Comparison, Trend)):
        each = len(one.values)
        pairs = len(one.pairs) if isinstance(one, Comparison) else 1
        order: list[int] = []
        for pair in range(pairs):
            p_value = one.p_value[pair * each : (pair + 1) * each]
            own = np.argsort(p_value, kind="stable").tolist()
            first = (own if view.order == "estimate" else list(range(each)))[: view.rows]
            order += [pair * each + i for i in first]
        days = len(one.periods) if isinstance(one, Trend) else 1
        return [i * days + day for i in order for day in range(days)]
    if isinstance(one, (Estimate, KeyValueEstimate)) and view.order == "estimate":
        found = np.lexsort([-one.unbiased, -one.frequency]).tolist()
        if isinstance(one, WordEstimate):
            found = [i for i in found if one.detected[i]]
        return list(found[: view.rows])
    return list(range(len(next(iter(one.columns().values())))))[: view.rows]


def test_columns_are_the_attributes(result: Tabular) -> None:
    for view in (one.for_file(result.LISTING) for one in VIEWS):
        rows = order_of(result, view)
        wanted, found = expected(result, rows, view), result.columns(view)
        for column, values in wanted.items():
            for told, value in zip(found[column], values, strict=True):
                assert alike(told, value), (column, told, value)
        assert set(found) - set(wanted) <= {"ratio_low", "ratio_high"}


def test_json_rows_and_csv_hold_the_columns(result: Tabular) -> None:
    columns = result.columns()
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert [dict(row) for row in result] == rows
    for view in VIEWS:
        check_files(result, view)


def check_files(result: Tabular, view: View) -> None:
    columns = result.columns(view)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    told = result.to_dict(view)
    filed = view.order or ("estimate" if view.rows or isinstance(result, WordEstimate) else "given")
    assert {key: told[key] for key in ("reports", "epsilon", "method", "level", "of")} == {
        "reports": result.reports,
        "epsilon": result.epsilon,
        "method": result.method,
        "level": view.level,
        "of": "population",
    }
    assert told["simultaneous"] is view.simultaneous
    assert told["order"] == filed
    assert told["diagnostics"] == dict(result.diagnostics)
    assert told["estimates"] == rows
    assert str(f"{100 * view.level:g}%") in str(told["covers"])
    assert ("hold together" in str(told["covers"])) == (
        view.simultaneous and not isinstance(result, Trend | Regression | MeanEstimate)
    )
    json.dumps(told, default=_refuse)
    read = list(csv.reader(io.StringIO(result.to_csv(view))))
    assert read[0] == list(columns)
    for row, cells in zip(rows, read[1:], strict=True):
        for value, cell in zip(row.values(), cells, strict=True):
            assert cell == ("" if value is None else str(value))
    assert result.to_arrow(view).to_pydict() == columns


def _refuse(value: object) -> object:
    raise AssertionError(f"no JSON: {value!r}")


def test_a_row_is_found_by_its_name(result: Tabular) -> None:
    columns = result.columns(View(order="given"))
    heads = {Comparison: 4, Combined: 2, Trend: 3, Regression: 2, JointEstimate: 2}
    heads_of = next((n for kind, n in heads.items() if isinstance(result, kind)), 1)
    for place in {0, len(columns["low"]) - 1}:
        names = tuple(list(columns.values())[i][place] for i in range(heads_of))
        found = result[names if heads_of > 1 else names[0]]
        assert dict(found) == {name: column[place] for name, column in columns.items()}
        assert found.low == columns["low"][place]


# What stands beside the rows


def extras_of(one: Tabular, level: float) -> dict[str, Any]:
    """What JSON has beside the rows, by the attributes of the result."""
    if isinstance(one, Comparison):
        tests: list[dict[str, Any]] = []
        for pair in one.pairs:
            tests.append({"first": pair.first, "second": pair.second, "test": None})
            if pair.overall is not None:
                tests[-1] |= vars(pair.overall) | {"adjusted": pair.overall_adjusted}
        return {"groups": dict(one.groups), "tests": tests, "notes": list(one.notes)}
    if isinstance(one, Combined):
        parts = [
            {"name": n, "reports": p.reports, "epsilon": p.epsilon, "weight": p.weight}
            for n, p in one.parts.items()
        ]
        return {"parts": parts, "notes": list(one.notes)}
    if isinstance(one, Trend):
        changes = [
            {
                "quantity": one.quantities[i],
                "value": one.values[i],
                "from": one.periods[one.change[i]],
                "before": one.before[i],
                "after": one.after[i],
                "p_value": one.p_value[i],
                "adjusted": one.adjusted[i],
            }
            for i in range(len(one.values))
        ]
        return {"periods": list(one.periods), "changes": changes, "notes": list(one.notes)}
    if isinstance(one, Regression):
        names = ["formula", "reference", "log_likelihood", "null_log_likelihood"]
        names += ["whole_likelihood", "left_out", "rare"]
        tests = [vars(test) for test in one.tests]
        same = {name: getattr(one, name) for name in names}
        return {**same, "overall": vars(one.overall), "tests": tests, "notes": list(one.notes)}
    if isinstance(one, OrderedEstimate):
        quantiles = [(q, one.quantile(q, level)) for q in QUANTILES]
        smooth = [(q, one.quantile(q, level, assume="smooth")) for q in QUANTILES]
        bars = [one.share(float(a), float(b), level) for a, b in bins_of(one)]
        histogram = [
            {"value": value, "frequency": b.value, "low": b.low, "high": b.high, "stderr": b.stderr}
            for value, b in zip(one.values, bars, strict=True)
        ]
        return {
            "mean": vars(one.mean_interval(level)),
            "unbiased": one.unbiased,
            "stderr": one.stderr,
            "quantiles": [{"share": q, **vars(found)} for q, found in quantiles],
            "quantiles_if_smooth": [{"share": q, "low": x.low, "high": x.high} for q, x in smooth],
            "histogram": histogram,
            "clipped": [one.frequency[0], one.frequency[-1]],
            "assume": "nothing",
        }
    if isinstance(one, JointEstimate):
        (table,) = one.tables.values()
        told = {
            "parts": list(table.ids),
            "looks": "one",
            "independence": vars(table.test),
            "cramers_v": vars(table.cramers_v(level)),
            "odds_ratio": None,
            "weight_of_independence": table.independence,
        }
        asked = [{"parts": list(one.parts.keys), "reports": one.reports}]
        return {"tables": [told], "asked": asked}
    if isinstance(one, KeyValueEstimate):
        return {"cap": len(one.values), "notes": []}
    if isinstance(one, WordEstimate):
        words: dict[str, Any] = {
            "candidates": len(one.values),
            "detected": int(one.detected.sum()),
            "other": one.other,
            "other_stderr": one.other_stderr,
            "detection_level": one.level,
            "controls": one.controls,
            "alarms": list(one.alarms),
        }
        if isinstance(one, OpenWordEstimate):
            words |= {"candidates": one.pool, "longer": one.longer, "looked_at": one.looked_at}
        return words
    if isinstance(one, MeanEstimate):
        return {}
    assert isinstance(one, Estimate)
    shown = one.smallest_shown(View(level=level, order="given"))
    if isinstance(one, SetEstimate):
        assert one.kept is not None
        return {"smallest_shown": shown, "cap": 2, "notes": [one.kept.interval_sentence]}
    return {"smallest_shown": shown}


def bins_of(one: OrderedEstimate) -> list[tuple[float, float]]:
    ends = one.scale.at(np.arange(one.scale.domain + 1))
    return list(itertools.pairwise(ends))


COMMON = ["reports", "epsilon", "method", "level", "of", "simultaneous", "looks", "order", "covers"]
COMMON += ["explanation"]
COMMON += ["diagnostics", "estimates"]


def test_json_says_what_there_is_beside_the_rows(result: Tabular) -> None:
    told = result.to_dict(0.8, order="given")
    found = {key: value for key, value in told.items() if key not in COMMON}
    check_alike(found, extras_of(result, 0.8), "")


def check_alike(told: Any, wanted: Any, path: str) -> None:
    """Whether plain data is the same, with the same keys, numbers to rounding."""
    if isinstance(wanted, dict):
        assert set(told) == set(wanted), path
        for key in wanted:
            check_alike(told[key], wanted[key], f"{path}/{key}")
    elif isinstance(wanted, list | tuple):
        assert len(told) == len(wanted), path
        for place, (one, other) in enumerate(zip(told, wanted, strict=True)):
            check_alike(one, other, f"{path}/{place}")
    else:
        assert alike(told, float(wanted) if isinstance(wanted, np.floating) else wanted), path


METHODS: dict[type[Tabular], set[str]] = {
    Comparison: {"unbiased"},
    Combined: {"post-stratified", "several sources, one likelihood"},
    Trend: {"random-walk smoother, step variance averaged by marginal likelihood"},
    Regression: {
        "penalised maximum likelihood",
        "weighted likelihood",
        "least squares",
        "weighted least squares",
    },
}


def held_by_few_coins(line: Vector, ends: list[Vector], coins: LineCoins) -> list[Vector]:
    """Return ends that hold those of Clopper and Pearson at 80 %, where coins are few."""
    least, span = coins.within[0], coins.within[1] - coins.within[0]
    heads = coins.trials * np.clip((line - least) / span, 0, 1)
    tails = coins.trials - heads
    low = np.where(heads > 0, stats.beta.ppf(0.1, np.maximum(heads, 1e-9), tails + 1), 0.0)
    high = np.where(tails > 0, stats.beta.ppf(0.9, heads + 1, np.maximum(tails, 1e-9)), 1.0)
    few = heads * tails < 400 * coins.trials
    return [
        np.where(few, np.minimum(ends[0], least + span * low), ends[0]),
        np.where(few, np.maximum(ends[1], least + span * high), ends[1]),
    ]


def test_intervals_of_what_groups_make_are_their_own(result: Tabular) -> None:
    """Within 0 and 1 where they are of shares, and of nothing else."""
    named = next((names for kind, names in METHODS.items() if isinstance(result, kind)), None)
    if named is None:
        return
    assert result.method in named
    level, z = 0.8, -NormalDist().inv_cdf(0.1)
    if isinstance(result, Regression):
        low, high = result.interval(level)
        profile = result.profile(z)
        np.testing.assert_allclose([low, high], profile)
        # Profiles are Wald's ends, but for the likelihood's lean.
        for end, side in zip(profile, (-1, 1), strict=True):
            wald = result.coefficients + side * z * result.stderr
            np.testing.assert_allclose(end, wald, atol=0.3 * float(result.stderr.max()))
        return
    assert isinstance(result, Comparison | Combined | Trend)
    shares = np.array([quantity in ("share", "up to") for quantity in result.quantities])
    low, high = result.interval(level)
    if isinstance(result, Trend):
        ends = [result.line - z * result.deviation, result.line + z * result.deviation]
        if result.coins is not None:
            ends = held_by_few_coins(result.line, ends, result.coins)
        wanted = [np.where(shares, np.clip(end, 0, 1), end) for end in ends]
        np.testing.assert_allclose([low, high], wanted)
        return
    if isinstance(result, Comparison):
        ends = [
            np.concatenate(e)
            for e in zip(*(p.intervals.bounds(z) for p in result.pairs), strict=True)
        ]
        np.testing.assert_allclose([low, high], ends)
        for name in ("difference", "stderr", "p_value", "adjusted"):
            whole = np.concatenate([getattr(pair, name) for pair in result.pairs])
            np.testing.assert_array_equal(getattr(result, name), whole)
        everything = -NormalDist().inv_cdf((1 - level ** (1 / whole.size)) / 2)
        ends = [
            np.concatenate(e)
            for e in zip(*(p.intervals.bounds(everything) for p in result.pairs), strict=True)
        ]
        np.testing.assert_allclose(result.interval(level, simultaneous=True), ends)
        return
    below, above = result.intervals.bounds(z)
    least = 0.2 * z * result.stderr
    wanted_low = np.clip(np.minimum(below, 1 - least), 0, 1)
    wanted_high = np.clip(np.maximum(above, least), 0, 1)
    np.testing.assert_allclose(low, np.where(shares, wanted_low, below))
    np.testing.assert_allclose(high, np.where(shares, wanted_high, above))
    everything = -NormalDist().inv_cdf((1 - level ** (1 / len(shares))) / 2)
    below, above = result.intervals.bounds(everything)
    wide = result.interval(level, simultaneous=True)
    np.testing.assert_allclose(wide[0][~shares], below[~shares])
    np.testing.assert_allclose(wide[1][~shares], above[~shares])


def test_notes_and_headings_are_shown(result: Tabular) -> None:
    """Under the rows: how many reports, the method, what is covered; a heading above them."""
    text = " ".join(result.table(0.8).split())
    epsilon = f"epsilon (at most )?{result.epsilon:.4g} per report"
    assert re.search(f"{result.reports:,} reports, {epsilon}", text)
    view = View(level=0.8)
    if isinstance(result, Comparison | Combined | Trend | Regression):
        headed = replace(result, heading="A heading", notes=("First of all.", "And then."))
        said = headed.table(0.8)
        assert said.startswith("A heading\n\n")
        assert not text.startswith(" ")
        assert "\nFirst of all.\nAnd then." in said
        told = headed.to_dict()
        assert told["notes"] == ["First of all.", "And then."]
        view = view.for_file("given")
    elif isinstance(result, Estimate | KeyValueEstimate):
        view = view.on_screen()
    assert result.coverage_sentence(view) in text
    if not isinstance(result, Comparison | Regression):
        assert result.method in text
    if isinstance(result, Comparison):
        for pair in result.pairs:
            one, other = (
                f"{name} ({result.groups[name]:,} reports)" for name in (pair.second, pair.first)
            )
            assert f"{one} less {other}" in text
            assert pair.name == f"{pair.second} less {pair.first}"
    if isinstance(result, Combined):
        made = text.partition("made of")[2].split()
        for name, part in result.parts.items():
            at = made.index(name)
            assert made[at + 1 : at + 3] == [f"{part.reports:,}", f"{part.epsilon:.4g}"]
            if part.weight is not None:
                assert made[at + 3] == f"{100 * part.weight:.2f}%"


def test_rows_that_are_left_out_are_counted(result: Tabular) -> None:
    text = result.table(rows=1)
    if isinstance(result, Comparison | Trend):
        assert (f"{len(result.values) - 1} less significant value" in text) == (
            len(result.values) > 1
        )
        p_value = result.p_value[: len(result.values)]
        best = str(result.values[int(np.argmin(p_value))])
        assert best in text
    elif isinstance(result, Combined):
        assert (f"{len(result.values) - 1} more value" in text) == (len(result.values) > 1)
    elif isinstance(result, Estimate | KeyValueEstimate):
        listed = result.detected.sum() if isinstance(result, WordEstimate) else len(result.values)
        assert (f"{int(listed) - 1} less frequent" in text) == (listed > 1)


def test_a_regression_says_what_its_likelihood_and_rows_lack() -> None:
    found = RESULTS["choice-regressed"]()
    assert isinstance(found, Regression)
    text = " ".join(found.table().split())
    likelihoods = (
        f"{found.log_likelihood:.3f}, of the intercept alone {found.null_log_likelihood:.3f}"
    )
    assert f"log-likelihood {likelihoods} 400 reports" in text
    assert "left out" not in text
    part = " ".join(replace(found, whole_likelihood=False, left_out=1200).table().split())
    assert f"{likelihoods} (but for a factor that no column changes)" in part
    assert "1,200 respondents with a missing column were left out" in part


def test_results_are_printed_without_their_arrays(result: Tabular) -> None:
    """What `repr` shows is short: names, numbers and settings."""
    assert "array(" not in repr(result)


def test_defaults_are_the_same_everywhere(result: Tabular) -> None:
    """A level is 0.95, an interval is of the population and of one value, unless it is said."""
    made = {"level": 0.95, "simultaneous": False, "assume": None, "title": None, "truth": None}
    for name, method in inspect.getmembers(type(result), inspect.isfunction):
        for parameter in inspect.signature(method).parameters.values():
            default = parameter.default
            if default is inspect.Parameter.empty or name.startswith("__"):
                continue
            if parameter.name in made:
                assert default == made[parameter.name], (name, parameter)
            if parameter.name == "of":
                assert default in ("population", None), (name, parameter)


TRUTHS = {"choice": 3, "set": 4, "ordered": 12, "joint": 11}


@pytest.mark.parametrize("name", [*TRUTHS, "number", "keyvalue"])
def test_charts_show_the_truth_where_it_is_known(name: str) -> None:
    found = RESULTS[f"{name}-estimated"]()
    shares = np.linspace(0.01, 0.4, TRUTHS.get(name, 2))
    truth: Any = {"number": 12.5, "keyvalue": (shares, shares + 1)}.get(name, shares)
    spec = found.picture(View(), None, truth).to_dict(validate=False)
    rows = drawn(spec)
    without = drawn(found.picture(View(), None, None).to_dict(validate=False))
    assert not any(row.get("truth") for row in without)
    if isinstance(found, OrderedEstimate):
        told = [row["cdf"] for row in rows if set(row) == {"at", "cdf"}]
        assert told == pytest.approx(np.cumsum(shares).tolist())
        bars = [row["share"] for row in rows if "share" in row]
        assert bars[-12:] == pytest.approx(shares.tolist()) or bars[:12] == pytest.approx(
            shares.tolist()
        )
        return
    assert "truth" in fields_of(spec)
    if isinstance(found, MeanEstimate):
        assert [row["truth"] for row in rows] == [12.5]
    elif isinstance(found, JointEstimate):
        for row in rows:
            if "truth" in row:
                at = found.values.index(f"smokes {row['row']}, drinks {row['column']}")
                assert row["truth"] == f"{100 * shares[at]:.1f}%"
    elif isinstance(found, KeyValueEstimate):
        for row in rows:
            at = found.values.index(row["value"])
            assert row["truth"] == shares[at] + ("mean" in row)
    else:
        assert isinstance(found, Estimate)
        for row in rows:
            assert row["truth"] == shares[list(found.values).index(row["value"])]


def test_many_panels_of_a_chart_are_cut() -> None:
    """24 panels of points, 12 of lines, those that changed most surely; the rest is counted."""
    rows = [
        {"panel": f"panel {i}", "name": "x", "point": 1.0, "low": 0.0, "high": 2.0}
        for i in range(27)
    ]
    for zero, made in ((False, panels), (True, around_zero)):
        spec = made(rows, "axis", "title", ["fact"]).to_dict(validate=False)
        assert spec["title"]["subtitle"] == ["fact", "3 further panels are not shown"]
        assert spec["facet"]["sort"] == [f"panel {i}" for i in range(24)]
        shown = drawn(spec)
        assert [row["panel"] for row in shown] == [f"panel {i}" for i in range(24)]
        assert ("zero" in fields_of(spec["spec"])) is zero
        assert {row["zero"] for row in shown} == {0.0}
    trend = RESULTS["choice-followed"]()
    assert isinstance(trend, Trend)
    wide = 5  # times as many values
    tiled: dict[str, Any] = {
        name: np.tile(getattr(trend, name), wide)
        for name in ("unbiased", "stderr", "line", "deviation", "change", "before", "after")
    }
    many = replace(
        trend,
        values=[f"v{i}" for i in range(3 * wide)],
        quantities=["share"] * 3 * wide,
        coins=None,
        **tiled,
        p_value=np.arange(15, 0, -1) / 100,
        adjusted=np.arange(15, 0, -1) / 100,
    )
    shown = drawn(many.picture(View(), None, None).to_dict(validate=False))
    assert list(dict.fromkeys(row["value"] for row in shown)) == [f"v{i}" for i in range(14, 2, -1)]
    changed = {row["value"] for row in shown if row["changed"] is not None}
    assert changed == {f"v{i}" for i in range(15) if many.adjusted[i] < 0.05}


# What a table says


def lines_of(one: Tabular, view: View) -> Iterator[tuple[str, Sequence[float | None]]]:
    """Of each line of a table what it begins with, and the numbers that follow."""
    if isinstance(one, Trend):
        low, high = one.interval(view.level)
        for i, value in enumerate(one.values):
            numbers = (one.line[0, i], one.line[-1, i], low[-1, i], high[-1, i])
            moved = (one.before[i], one.after[i])
            date = [float(part) for part in one.periods[one.change[i]].split("-")]
            date = [date[0], -date[1], -date[2]]
            yield f"{one.quantities[i]} {value}", (
                *plain(numbers), *moved, *date, one.p_value[i], one.adjusted[i],
            )  # fmt: skip
        return
    if isinstance(one, OrderedEstimate):
        mean = one.mean_interval(view.level)
        yield "mean", (mean.value, mean.low, mean.high)
        for share in QUANTILES:
            found = one.quantile(share, view.level)
            smooth = one.quantile(share, view.level, assume="smooth")
            name = "median" if share == 0.5 else f"{100 * share:g}% are at most"
            yield name, (found.value, found.low, found.high, smooth.low, smooth.high)
        return
    if isinstance(one, Regression):
        cells = expected(one, list(range(one.coefficients.size)), view)
        names = ("coefficient", "stderr", "z", "p_value", "low", "high", "odds_ratio")
        for k, term in enumerate(cells["term"]):
            yield term, [cells[name][k] for name in names]
        for test in (*one.tests, one.overall):
            yield test.term, (test.statistic, test.freedom, test.p_value)
        return
    seen = view.on_screen()
    if isinstance(one, Comparison | Combined):
        seen = View(level=view.level, order="given")
    elif isinstance(one, MeanEstimate):
        yield "", (one.mean, *one.interval(view.level), one.stderr, *one.range)
        return
    cells = expected(one, order_of(one, seen), seen)
    shown = {
        Comparison: ("first_estimate", "second_estimate", "difference"),
        Combined: ("estimate",),
        KeyValueEstimate: ("frequency", "low", "high", "mean", "mean_low", "mean_high"),
        Estimate: ("frequency", "low", "high"),
    }
    columns = list(next(names for kind, names in shown.items() if isinstance(one, kind)))
    if isinstance(one, Comparison):
        columns += ["low", "high", "p_value", "adjusted"]
    elif isinstance(one, Combined):
        columns += ["low", "high", "stderr"]
    elif isinstance(one, WordEstimate):
        columns.append("p_value")
    elif isinstance(one, Estimate):
        columns.append("stderr")
    for k, value in enumerate(cells["value"]):
        quantity = f"{cells['quantity'][k]} " if "quantity" in cells else ""
        yield f"{quantity}{value}", [cells[column][k] for column in columns]


def says(text: str, number: float | None) -> bool:
    """Whether a text is the number, to half of the last digit that it shows."""
    if number is None or not math.isfinite(number):
        return text == "none"
    if text.startswith("<"):
        return number <= 1e-12
    if text == "none":
        return False
    share = text.endswith("%")
    mantissa, _, power = text.rstrip("%").replace(",", "").partition("e")
    decimals = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(power or 0) - decimals)
    told = float(mantissa) * 10.0 ** int(power or 0)
    return abs(told - number * (100 if share else 1)) <= unit * (0.5 + 1e-6) + 1e-12


def test_tables_say_the_columns(result: Tabular) -> None:
    level = 0.6
    if isinstance(result, JointEstimate):
        return  # a cross-table, which test_a_cross_table_says_every_cell reads
    lines = [" ".join(line.split()) for line in result.table(level).splitlines()]
    place, found = 0, 0
    for name, numbers in lines_of(result, View(level=level)):
        while True:
            rest = NUMBER.findall(lines[place].removeprefix(name))
            if lines[place].startswith(name) and len(rest) >= len(numbers):
                break
            place += 1  # a line that says nothing of this row
        for text, number in zip(rest, numbers, strict=False):
            assert says(text, number), (lines[place], numbers)
        place, found = place + 1, found + 1
    assert found


@pytest.mark.parametrize("level", [0.95, 0.6])
def test_a_cross_table_says_every_cell(level: float) -> None:
    joint = RESULTS["joint-estimated"]()
    assert isinstance(joint, JointEstimate)
    (table,) = joint.tables.values()
    low, high = joint.interval(level)
    lines = joint.table(level).splitlines()
    rows, columns = table.sizes
    for i in range(rows + 1):
        shares, ends = (NUMBER.findall(line) for line in lines[1 + 2 * i : 3 + 2 * i])
        for j in range(columns + (i < rows)):
            at = i * columns + j
            if j == columns:  # the margin of the rows, which follow the cells
                at = rows * columns + i
            elif i == rows:
                at = rows * columns + rows + j
            assert says(shares[j], float(joint.frequency[at]))
            assert says(ends[2 * j] + "%", float(low[at]))
            assert says(ends[2 * j + 1] + "%", float(high[at]))
    text = " ".join(" ".join(lines).split())
    v, test = table.cramers_v(level), table.test
    statistic, degrees = NUMBER.findall(text.partition("chi-squared")[2])[:2]
    assert says(statistic, test.statistic)
    assert int(degrees.rstrip(",")) == test.degrees
    numbers = NUMBER.findall(text.partition("Cramer's V")[2])
    assert says(numbers[0], v.value)
    assert float(numbers[1].rstrip("%")) == pytest.approx(100 * level)
    assert float(numbers[2]) == pytest.approx(v.low, rel=5e-3)
    assert float(numbers[3]) == pytest.approx(v.high, rel=5e-3)
    # The cell that its ratio tells furthest from 1, by intervals that hold for all cells at once.
    each = -NormalDist().inv_cdf((1 - level ** (1 / table.shares.size)) / 2)
    bottom, top = table.ratio_interval(each)
    away = np.maximum(np.maximum(bottom - 1, 1 - top), 0.0)
    cell = int(away.argmax())
    row, column = divmod(cell, columns)
    named = f"{table.ids[0]} {table.labels[0][row]} with {table.ids[1]} {table.labels[1][column]}"
    rest = text.partition(f"furthest from independence: {named}, ")[2]
    ratio, *told = [float(x) for x in NUMBER.findall(rest.partition(", simultaneous")[0])]
    assert ratio == pytest.approx(table.ratio.ravel()[cell], abs=5e-3)
    assert told == pytest.approx([bottom[cell], top[cell]], rel=5e-3)


def test_rows_that_hold_at_once_share_the_level(result: Tabular) -> None:
    """Sidak: of m rows each holds with the m-th root of the level, and nothing else changes."""
    level = 0.8
    if isinstance(result, Estimate | Trend | Regression | MeanEstimate):
        return  # with tails of their own, or never at once
    rows = len(result.p_value) if isinstance(result, Comparison) else len(result.values)  # type: ignore[attr-defined]
    whole = result.columns(level, simultaneous=True)
    alone = result.columns(level ** (1 / rows), order="given")
    for name, column in whole.items():
        for told, value in zip(column, alone[name], strict=True):
            assert alike(told, value), name


# What a chart draws


def drawn(spec: Any) -> list[dict[str, Any]]:
    """Every row of data in a chart's specification."""
    return [row for rows in spec["datasets"].values() for row in rows]


def fields_of(part: Any) -> set[str]:
    """The columns of data that a chart's marks are placed by."""
    if isinstance(part, list):
        return set().union(*map(fields_of, part))
    if not isinstance(part, dict):
        return set()
    own = {part["field"]} if isinstance(part.get("field"), str) else set()
    return own.union(*map(fields_of, part.values()))


def rows_drawn(one: Tabular, view: View) -> list[dict[str, Any]]:
    """What a chart has to draw of a result, row by row."""
    seen = view.on_screen()
    if isinstance(one, MeanEstimate):
        low, high = one.interval(view.level)
        return [{"value": "mean", "mean": one.mean, "low": low, "high": high}]
    if isinstance(one, OrderedEstimate):
        cells = expected(one, list(range(one.scale.domain)), view)
        ends = [float(x) for x in one.scale.at(np.arange(one.scale.domain + 1))]
        bars = [
            {"low": a, "high": b, "middle": (a + b) / 2, "share": s}
            for a, b, s in zip(ends, ends[1:], one.frequency.tolist(), strict=False)
        ]
        steps = zip(ends[1:], cells["cdf"], cells["cdf_low"], cells["cdf_high"], strict=True)
        names = ("at", "cdf", "low", "high")
        marks = [{"at": one.quantile(share).value} for share in (0.25, 0.5, 0.75)]
        return [*bars, *marks, *(dict(zip(names, step, strict=True)) for step in steps)]
    if isinstance(one, JointEstimate):
        (table,) = one.tables.values()
        least, most = one.interval(view.level)
        wide = table.shares.sum(axis=0)
        left, tops = np.cumsum(wide) - wide, np.cumsum(table.shares, axis=0) / wide
        tiles = [
            {
                "row": table.labels[0][i],
                "column": table.labels[1][j],
                "share": table.shares[i, j],
                "low": least[i * len(wide) + j],
                "high": most[i * len(wide) + j],
                "ratio": table.ratio[i, j],
                "x": left[j],
                "x2": left[j] + wide[j],
                "y2": 1 - tops[i, j],
                "y": 1 - tops[i, j] + table.shares[i, j] / wide[j],
            }
            for j in range(len(wide))
            for i in range(len(tops))
        ]
        return [
            {
                **tile,
                "middle": (tile["x"] + tile["x2"]) / 2,
                "centre": (tile["y"] + tile["y2"]) / 2,
            }
            for tile in tiles
        ]
    if isinstance(one, Comparison | Combined | Trend):
        seen = View(level=view.level, order="given")
    rows = (
        list(range(one.coefficients.size)) if isinstance(one, Regression) else order_of(one, seen)
    )
    cells = expected(one, rows, seen)
    table_rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    if isinstance(one, Trend):
        moved = {
            str(value): one.periods[one.change[i]]
            for i, value in enumerate(one.values)
            if one.adjusted[i] < 0.05
        }
        for row in table_rows:
            here = moved.get(str(row["value"])) == row["period"]
            row |= {"first": row["period"], "changed": row["period"] if here else None}
        return table_rows
    if isinstance(one, Estimate):
        return [
            {key: row[key] for key in ("value", "frequency", "low", "high")} for row in table_rows
        ]
    if isinstance(one, KeyValueEstimate):
        shares = [
            {key: row[key] for key in ("value", "frequency", "low", "high")} for row in table_rows
        ]
        means = [
            {"value": r["value"], "mean": r["mean"], "low": r["mean_low"], "high": r["mean_high"]}
            for r in table_rows
        ]
        return [*shares, *means]
    point = {Comparison: "difference", Combined: "estimate", Regression: "coefficient"}
    column = next(name for kind, name in point.items() if isinstance(one, kind))
    found = []
    for row in table_rows:
        if row["low"] is None or row.get("term") == "Intercept":
            continue
        percent = isinstance(one, Comparison) and row["quantity"] in ("share", "up to")
        scale = 100.0 if percent else 1.0
        name = row["term"] if isinstance(one, Regression) else row["value"]
        found.append(
            {
                "name": str(name),
                "point": scale * row[column],
                "low": scale * row["low"],
                "high": scale * row["high"],
                "panel": panel_of(one, row),
            }
        )
    return found


def panel_of(one: Tabular, row: dict[str, Any]) -> str:
    if isinstance(one, Regression):
        return f"{row['value']} against {one.reference}"
    if isinstance(one, Combined):
        return str(row["quantity"])
    unit = row["quantity"] + (", per cent" if row["quantity"] in ("share", "up to") else "")
    return f"{row['second']} less {row['first']} ({unit})"


def test_charts_draw_the_columns(result: Tabular) -> None:
    level = 0.6
    view = View(level=level)
    spec = result.picture(view, "A title", None).to_dict(validate=False)
    rows, wanted = drawn(spec), rows_drawn(result, view)
    assert wanted
    place = 0
    for want in wanted:
        keys = [key for key in want if isinstance(want[key], str)]
        same = [
            i for i, row in enumerate(rows)
            if want.keys() <= row.keys() and all(row[key] == want[key] for key in keys)
        ]  # fmt: skip
        same = [i for i in same if i >= place] if len(same) > 1 else same
        assert any(close(rows[i], want) for i in same), (want, [rows[i] for i in same][:3])
        place = next(i for i in same if close(rows[i], want))
    assert {"low", "high"} <= fields_of(spec) <= {"part"}.union(*rows)
    title = json.dumps(spec["title"])
    assert "A title" in title
    if not isinstance(result, JointEstimate):
        assert f"{100 * level:g}%" in title


def close(row: dict[str, Any], want: dict[str, Any]) -> bool:
    return all(alike(row[key], value) for key, value in want.items())


def alike(told: object, value: object) -> bool:
    """Whether both are the same, numbers to rounding."""
    if isinstance(value, float) and isinstance(told, float):
        return bool(told == pytest.approx(value, rel=1e-9, abs=1e-12))
    return told == value
