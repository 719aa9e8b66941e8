"""Long lists, other libraries and pages without charts: what a result says of itself there."""

from __future__ import annotations

import sys

import numpy as np
import pyarrow.interchange
import pytest

import rumor
from rumor.results import notebook
from rumor.results.view import View

HELD, VALUES, EACH = 150, 400, 200


@pytest.fixture(scope="module")
def long() -> rumor.Estimate:
    """An estimate of many values, of which more than a hundred are held, all by as many people."""
    mechanism = rumor.RandomizedResponse(domain=VALUES, epsilon=9.0)
    answers = np.repeat(np.arange(HELD), EACH)
    reports = mechanism.privatize(answers, random=rumor.Seeded(1))
    return rumor.estimate(mechanism, reports)


def test_values_above_noise_are_counted_in_long_lists_too(long: rumor.Estimate) -> None:
    # Reports of 1 in 21 people are of another value: some 4 for each, and 191 of its own.
    found = long.above_noise(View())
    assert found is not None
    assert HELD <= found <= HELD + 2


def test_other_libraries_read_the_rows(long: rumor.Estimate) -> None:
    read = pyarrow.interchange.from_dataframe(long)
    own = long.to_arrow()
    assert read.column_names == own.column_names
    assert read.num_rows == own.num_rows
    for name in read.column_names:
        assert read[name].to_pylist() == own[name].to_pylist()


def test_a_notebook_without_charts_has_a_table(
    long: rumor.Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert notebook._picture(long, View()).startswith("<")
    monkeypatch.setitem(sys.modules, "rumor.results.chart_files", None)
    assert notebook._picture(long, View()) == ""
    assert "<table" in long._repr_html_()
