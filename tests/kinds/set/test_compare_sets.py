"""Sets and joint answers beside each other: unbiased shares, their differences as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rumor
from rumor.analysis.compare.result import Comparison
from rumor.core.errors import InputError
from rumor.mechanisms import SetBlock, SetMechanism, SetSelect
from rumor.mechanisms.mixed.mixed import Mixed

PEOPLE = 6_000


def rows_of(found: Comparison) -> list[dict[str, Any]]:
    rows = found.to_dict()["estimates"]
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize(
    "mechanism",
    [
        SetSelect(domain=5, epsilon=3.0, cap=3, size=2),
        SetBlock(domain=5, epsilon=3.0, block=2),
    ],
    ids=["select", "block"],
)
def test_the_option_that_changed_is_told(mechanism: SetMechanism) -> None:
    """6,000 people: option 0 by .4 more, within 4.5 standard errors; the others by nothing."""
    rng = np.random.default_rng(24)
    crowds = []
    for first in (0.2, 0.6):
        chosen = rng.random((PEOPLE, 3)) < (first, 0.3, 0.3)
        crowds.append([np.flatnonzero(row).tolist() for row in chosen])
    reports = [mechanism.privatize(crowd, random=rumor.Seeded(24)) for crowd in crowds]
    found = rows_of(rumor.compare(mechanism, *reports))
    assert [row["value"] for row in found] == [0, 1, 2, 3, 4]
    for row, truth in zip(found, (0.4, 0.0, 0.0, 0.0, 0.0), strict=True):
        assert abs(row["difference"] - truth) < 4.5 * row["stderr"]
        assert row["low"] < row["difference"] < row["high"]
    assert found[0]["p_value"] < 1e-6 < min(row["p_value"] for row in found[1:])


def test_cells_and_margins_are_compared() -> None:
    """Who has 1 in the first part has it nowhere in the second group."""
    mechanism = Mixed(parts=(2, 3), epsilon=2.0)
    rng = np.random.default_rng(25)
    crowd = [(int(a), int(b)) for a, b in rng.integers(0, (2, 3), (PEOPLE, 2))]
    other = [(0, b) for _, b in crowd]
    reports = [mechanism.privatize(each, random=rumor.Seeded(25)) for each in (crowd, other)]
    rows = {row["value"]: row for row in rows_of(rumor.compare(mechanism, *reports))}
    assert rows["0 1"]["difference"] == pytest.approx(-0.5, abs=4.5 * rows["0 1"]["stderr"])
    assert rows["0 1, 1 2"]["difference"] == pytest.approx(-1 / 6, abs=0.1)
    assert rows["1 2"]["p_value"] > 1e-4 > rows["0 0"]["p_value"]
    with pytest.raises(InputError, match='compared of the "population" only'):
        rumor.compare(mechanism, *reports, of="people")
