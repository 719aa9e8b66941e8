"""How an answer is asked to be shown, and that whoever shows rows listens."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.kinds.keyvalue.result import KeyValueEstimate
from rumor.results.estimate import Estimate
from rumor.results.view import View, viewed


def frequencies() -> Estimate:
    oracle = rumor.SubsetSelection(domain=60, epsilon=1.0)
    people = np.random.default_rng(3).choice(60, 3000, p=np.arange(60, 0, -1) / 1830)
    return rumor.estimate(oracle, oracle.privatize(people, random=rumor.Seeded(3)))


def keys() -> KeyValueEstimate:
    block = rumor.KeyValueBlock(keys=40, epsilon=2.0, low=0.0, high=5.0)
    rng = np.random.default_rng(4)
    table = np.where(rng.random((4000, 40)) < 1 / np.arange(2, 42), rng.random((4000, 40)), np.nan)
    return rumor.estimate(block, block.privatize(table, random=rumor.Seeded(4)))


@pytest.mark.parametrize(
    ("wishes", "rule"),
    [
        ({"level": 95}, "a level must be a number above 0 and below 1; got 95"),
        ({"of": "mars"}, 'is of "population" or "people"; got \'mars\''),
        ({"rows": 0}, "rows must be a whole number from 1 on; got 0"),
        ({"rows": True}, "rows must be a whole number from 1 on; got True"),
        ({"order": "size"}, 'an order must be "estimate" or "given"; got \'size\''),
    ],
)
def test_a_wrong_wish_is_one_sentence(wishes: dict[str, object], rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        View(**wishes)  # type: ignore[arg-type]


def test_names_and_levels_make_a_view() -> None:
    assert viewed(None, {}) == View()
    assert viewed(0.9, {"rows": 3}) == View(0.9, rows=3)
    assert viewed(View(0.9), {"of": "people"}) == View(0.9, "people")


def test_what_is_not_said_depends_on_what_is_made() -> None:
    assert View().on_screen() == View(rows=20, order="estimate")
    assert View().filed("given") == View(order="given")
    assert View(rows=5).filed("given") == View(rows=5, order="estimate")
    assert View(order="given", rows=5).filed("estimate") == View(order="given", rows=5)


def test_only_rows_that_are_seen_for_their_size_are_chosen() -> None:
    assert View(order="estimate").chosen
    assert not View(order="estimate", simultaneous=True).chosen
    assert not View(order="given").chosen


@pytest.mark.parametrize("make", [frequencies, keys])
def test_every_form_of_the_same_view_has_the_same_intervals(
    make: Callable[[], Estimate | KeyValueEstimate],
) -> None:
    result = make()
    view = View(0.9, rows=7, order="estimate")
    columns = result.columns(view)
    low, high = result.bounds(result.ranking(7), view)
    assert columns["low"] == low.tolist()
    assert columns["high"] == high.tolist()
    assert result.to_arrow(view).to_pydict() == columns
    rows = list(csv.DictReader(io.StringIO(result.to_csv(view))))
    assert [float(row["low"]) for row in rows] == columns["low"]
    plain = result.to_dict(view)
    assert [row["high"] for row in plain["estimates"]] == columns["high"]  # type: ignore[attr-defined]
    assert (plain["order"], plain["covers"]) == ("estimate", result.covers(view))
    assert str(plain["covers"]).startswith(
        "intervals adjusted for ranking: on average at least 90% of those"
    )
    assert str(plain["covers"]) in result.table(view)


@pytest.mark.parametrize("make", [frequencies, keys])
def test_the_first_rows_do_not_depend_on_how_many_are_listed(
    make: Callable[[], Estimate | KeyValueEstimate],
) -> None:
    """A chart shows twenty rows of a table that has more: both are the same numbers."""
    result = make()
    whole = result.columns(order="estimate")
    twenty = result.columns(order="estimate", rows=20)
    assert [column[:20] for column in whole.values()] == list(twenty.values())


def test_rows_in_the_order_given_have_the_intervals_of_values_named_in_advance() -> None:
    result = frequencies()
    low, high = result.interval(0.95)
    columns = result.columns()
    assert columns["value"] == list(range(60))
    assert columns["low"] == low.tolist()
    assert columns["high"] == high.tolist()
    shown = result.columns(order="estimate")
    order = result.ranking(None)
    assert shown["value"] == order
    assert (np.array(shown["low"]) <= low[order] + 1e-12).all(), "shown rows pay below"
    assert shown["high"] == pytest.approx(high[order], abs=0.01), "and hardly above"
