"""Verbs on reports in memory: identities between the public functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import softmax

import rumor
from rumor.contract.collection import Collection
from rumor.kinds import KINDS
from rumor.kinds.base import Kind
from rumor.mechanisms.summary import Summary
from rumor.results.view import View
from tests.joins import oracles
from tests.joins.look import Look
from tests.joins.people import ASKED, GROUPS, PERIODS, WINDOW, Crowd, options_of
from tests.joins.running import Refused
from tests.joins.same import assert_same

NOT_LINEAR = ("text", "words", "keyvalue")
"""Kinds whose groups do not add up to the whole: each fits its own reports."""

Check = Callable[[Crowd], None]


def _kind(crowd: Crowd) -> Kind[Any]:
    return KINDS[crowd.question.kind]


def _weigh(groups: Mapping[str, Crowd], weights: Mapping[str, float]) -> Any:
    crowd = next(iter(groups.values()))
    reports = {name: some.reports for name, some in groups.items()}
    options = options_of(_kind(crowd))
    return rumor.weigh(crowd.question.mechanism, reports, weights, **options)


def _alone(crowd: Crowd) -> Any:
    """The quantities of one group by themselves."""
    return _weigh({"all": crowd}, {"all": 1.0})


def _rows(result: Any) -> list[tuple[str, str]]:
    return [(str(q), str(v)) for q, v in zip(result.quantities, result.values, strict=True)]


def close(found: Any, expected: Any) -> bool:
    """Whether numbers agree, unknown ones too."""
    return bool(np.allclose(found, expected, rtol=1e-7, atol=1e-9, equal_nan=True))


# --- What each verb keeps to ---------------------------------------------------------------


def estimate_all(crowd: Crowd) -> None:
    """The order of reports, a summary and the merged summaries of parts change nothing."""
    kind, mechanism = _kind(crowd), crowd.question.mechanism
    whole = Summary.empty(mechanism).update(crowd.reports)
    parts = [Summary.empty(mechanism).update(half.reports) for half in crowd.halves()]
    for data in (crowd.reports[::-1].copy(), whole, rumor.merge(parts)):
        found = kind.estimate(mechanism, data, "auto", options_of(kind))
        assert_same(_plain(found.to_dict(View())), oracles.estimate_of(crowd))
    by_public_name = rumor.estimate(mechanism, crowd.reports, **options_of(kind))
    if len(kind.lineage()) == 1:
        assert_same(_plain(by_public_name.to_dict(View())), oracles.estimate_of(crowd))


def estimate_methods(crowd: Crowd) -> None:
    """So it is with every method."""
    kind = _kind(crowd)
    for method in oracles.methods_of(crowd):
        backwards = crowd.where(np.arange(len(crowd)) >= 0)
        found = kind.estimate(
            crowd.question.mechanism, backwards.reports[::-1].copy(), method, options_of(kind)
        )
        assert_same(_plain(found.to_dict(View())), oracles.estimate_of(crowd, method))


def estimate_weights(crowd: Crowd) -> None:
    """A weighted estimate is the sum of the groups', and with the sample's weights the whole's."""
    groups = crowd.by("country")
    alone = {name: _alone(some) for name, some in groups.items()}
    weights = oracles.weights_for(list(groups))
    total = sum(weights.values())
    found = _weigh(groups, weights)
    linear = [i for i, quantity in enumerate(found.quantities) if quantity != "quantile"]
    added = sum(alone[name].unbiased * weights[name] / total for name in groups)
    assert close(found.unbiased[linear], np.asarray(added)[linear])
    variance = sum((alone[name].stderr * weights[name] / total) ** 2 for name in groups)
    assert close(found.stderr[linear], np.sqrt(np.asarray(variance))[linear])
    if crowd.question.kind not in NOT_LINEAR:
        kind = _kind(crowd)
        whole = kind.estimate(crowd.question.mechanism, crowd.reports, "auto", options_of(kind))
        same = _weigh(groups, {name: len(some) for name, some in groups.items()})
        unbiased: Any = getattr(whole, "unbiased")  # noqa: B009 (not every result has it)
        assert close(same.unbiased[linear], unbiased)


def compare_all(crowd: Crowd) -> None:
    """A difference is the second's estimate less the first's; from itself nothing differs."""
    first, second = crowd.halves()
    mechanism, options = crowd.question.mechanism, options_of(_kind(crowd))
    found = rumor.compare(mechanism, first.reports, second.reports, **options)
    one, two = _alone(first), _alone(second)
    assert _rows(found) == _rows(one)
    assert close(found.difference, two.unbiased - one.unbiased)
    assert found.groups == {"first": len(first), "second": len(second)}
    back = rumor.compare(mechanism, second.reports, first.reports, **options)
    assert close(back.difference, -found.difference)
    assert close(back.p_value, found.p_value)
    itself = rumor.compare(mechanism, first.reports, first.reports[::-1].copy(), **options)
    assert close(itself.difference, np.zeros(len(itself.values)))
    assert close(itself.p_value, np.ones(len(itself.values)))


def _compare_each(groups: Mapping[str, Crowd]) -> None:
    """Each pair of several groups is what the two say alone, its p-values raised by Holm's rule."""
    crowd = next(iter(groups.values()))
    mechanism, options = crowd.question.mechanism, options_of(_kind(crowd))
    reports = {name: some.reports for name, some in groups.items()}
    found = rumor.compare(mechanism, reports, **options)
    names = list(groups)
    expected = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    assert [(pair.first, pair.second) for pair in found.pairs] == expected
    for pair in found.pairs:
        alone = rumor.compare(mechanism, reports[pair.first], reports[pair.second], **options)
        assert close(pair.difference, alone.difference)
        assert close(pair.p_value, alone.p_value)
    ordered = sorted(range(len(found.p_value)), key=lambda i: (found.p_value[i], i))
    raised, most = [0.0] * len(ordered), 0.0
    for rank, place in enumerate(ordered):
        most = max(most, min(1.0, found.p_value[place] * (len(ordered) - rank)))
        raised[place] = most
    assert close(found.adjusted, raised)


def compare_groups(crowd: Crowd) -> None:
    _compare_each(crowd.by("country"))


def compare_periods(crowd: Crowd) -> None:
    _compare_each({str(days[0]): crowd.within(days) for days in PERIODS})


def combine_all(crowd: Crowd) -> None:
    """A source twice says what it says once, with less doubt; one alone, what its weight says."""
    first, _ = crowd.halves()
    mechanism, options = crowd.question.mechanism, options_of(_kind(crowd))
    alone = _alone(first)
    once = rumor.combine([(mechanism, first.reports)], **options)
    twice = rumor.combine([(mechanism, first.reports)] * 2, **options)
    linear = [i for i, quantity in enumerate(once.quantities) if quantity != "quantile"]
    for found in (once, twice):
        assert close(found.unbiased[linear], alone.unbiased[linear])
    assert close(twice.stderr[linear] * math.sqrt(2), once.stderr[linear])
    assert twice.reports == 2 * len(first)


def trend_all(crowd: Crowd) -> None:
    """Each day's estimate is the day's own, and each week's that of its days together."""
    mechanism, options = crowd.question.mechanism, options_of(_kind(crowd))
    days = crowd.by("day")
    found = rumor.trend(mechanism, {day: some.reports for day, some in days.items()}, **options)
    assert list(found.periods) == list(days)
    assert list(found.counts) == [len(some) for some in days.values()]
    for period, some in enumerate(days.values()):
        alone = _alone(some)
        known = dict(zip(_rows(alone), alone.unbiased, strict=True))
        rows = [(i, row) for i, row in enumerate(_rows(found)) if row[0] != "up to"]
        assert rows
        for place, row in rows:
            assert close(found.unbiased[period][place], known[row]), (period, row)


def regress_all(crowd: Crowd) -> None:
    """With a coefficient for every group, the shares of groups are the most likely ones.

    The penalised likelihood is written out here, and its maximum searched for without derivatives.
    """
    mechanism = crowd.question.mechanism
    columns = {"country": [GROUPS[group] for group in crowd.groups]}
    try:
        found = rumor.regress(mechanism, crowd.reports, columns, "country")
    except rumor.InputError as problem:
        raise Refused(str(problem)) from None
    if not found.is_odds:  # least squares give each group its own estimate
        added = np.vstack([found.coefficients[:1], found.coefficients[:1] + found.coefficients[1:]])
        for own, some in zip(added, crowd.by("country").values(), strict=True):
            alone = _alone(some)
            rows = [i for i, name in enumerate(alone.quantities) if name in ("mean", "share")]
            assert close(own, alone.unbiased[rows])
        return
    chances, _, _ = _kind(crowd).report_likelihoods(mechanism, crowd.reports)
    names = sorted(set(columns["country"]))
    inside = np.array([[one == name for one in columns["country"]] for name in names])
    parts = inside.mean(axis=1)[1:]

    def shares(coefficients: Any) -> Any:
        """Return the shares of the groups, and those at the middle of all columns."""
        rows = np.reshape(coefficients, (len(names), -1))
        scores = np.vstack([rows[0], rows[0] + rows[1:], rows[0] + parts @ rows[1:]])
        return softmax(np.column_stack([np.zeros(len(scores)), scores]), axis=1)

    def loss(coefficients: Any) -> float:
        *groups, middle = shares(coefficients)
        told = sum(
            np.log(chances[rows] @ each).sum() for rows, each in zip(inside, groups, strict=True)
        )
        slopes = np.reshape(coefficients, (len(names), -1))[1:]
        scaled = np.abs(slopes * np.sqrt(parts * (1 - parts))[:, None])
        penalty = (scaled + 2 * np.log1p(np.exp(-scaled))).sum()
        return float(penalty - told - 0.5 * np.log(middle).sum())

    best = minimize(loss, np.zeros(found.coefficients.size), tol=1e-10)
    apart = np.abs(shares(found.coefficients) - shares(best.x)).max()
    assert apart < 1e-4, apart
    assert loss(found.coefficients) < best.fun + 1e-6


def merge_all(crowd: Crowd) -> None:
    """Summaries add up to the summary of everything, in any order; other questions' do not."""
    mechanism = crowd.question.mechanism
    empty = Summary.empty(mechanism, contract="c" * 64, question=ASKED)
    parts = [empty.update(some.reports) for some in crowd.by("day").values()]
    whole = empty.update(crowd.reports).to_bytes()
    assert rumor.merge(parts).to_bytes() == rumor.merge(parts[::-1]).to_bytes() == whole
    other = Summary.empty(mechanism, contract="c" * 64, question="other").update(crowd.reports)
    try:
        rumor.merge([*parts, other])
    except rumor.InputError:
        return
    raise AssertionError("summaries of two questions were added up")


CHECKS: Mapping[tuple[str, str], Check] = {
    ("estimate", "all"): estimate_all,
    ("estimate", "methods"): estimate_methods,
    ("estimate", "weights"): estimate_weights,
    ("compare", "all"): compare_all,
    ("compare", "groups"): compare_groups,
    ("compare", "periods"): compare_periods,
    ("combine", "all"): combine_all,
    ("trend", "all"): trend_all,
    ("regress", "all"): regress_all,
    ("merge", "all"): merge_all,
}

CHOSEN_IN_FILES: Mapping[Look, Mapping[str, Any]] = {
    Look("estimate", span="window"): {"window": WINDOW},
    Look("estimate", "groups"): {"by": "country"},
    Look("estimate", trouble="repeated"): {"distinct_ids": True},
    Look("estimate", trouble="invalid"): {"skip_invalid": True},
}
"""What `rumor.estimate` can be told of files alone."""


def makes_sense(look: Look) -> bool:
    """Whether Python has the verb for these rows in memory."""
    return look in CHOSEN_IN_FILES or (
        (look.span, look.trouble) == ("every", "none") and (look.verb, look.form) in CHECKS
    )


def check(look: Look, contract: Collection, crowd: Crowd) -> None:
    """Hold a verb to its identity; `Refused` where these rows cannot be chosen in memory."""
    if look in CHOSEN_IN_FILES:
        options = {**options_of(_kind(crowd)), **CHOSEN_IN_FILES[look]}
        try:
            rumor.estimate(contract, crowd.reports, question=ASKED, **options)
        except rumor.InputError as problem:
            raise Refused(str(problem)) from None
        raise AssertionError("rows were chosen among reports in memory")
    CHECKS[look.verb, look.form](crowd)


def _plain(data: Any) -> Any:
    """What JSON makes of it: numbers that are not finite are unknown."""
    if isinstance(data, Mapping):
        return {str(key): _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    if hasattr(data, "tolist"):
        return _plain(data.tolist())
    return None if isinstance(data, float) and not math.isfinite(data) else data
