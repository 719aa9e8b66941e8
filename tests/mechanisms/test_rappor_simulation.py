"""Bit counts drawn directly have the law of bit counts of reports."""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.mechanisms.rappor.simulation import simulate_counts

RAPPOR = rumor.Rappor(bits=16, hashes=3, cohorts=2, f=0.25, p=0.4, q=0.8, key=b"simulation")
WORDS = [f"word {i}" for i in range(5)]
COUNTS = np.array([300, 200, 0, 100, 50])


def tables(summary: rumor.Summary) -> np.ndarray:
    return summary.tally.reshape(RAPPOR.cohorts, RAPPOR.bits + 1)


@pytest.mark.slow
def test_counts_have_the_mean_and_variance_of_privatised_reports() -> None:
    """Means and variances of 2,000 simulated and 2,000 privatised crowds, bit by bit.

    With 34 numbers on each side, z-scores stay below 4.5 except once in 2,000 tests; the
    variance of a sample variance of nearly normal counts is 2 var^2 / 1,999.
    """
    runs, source = 2_000, rumor.Seeded(1)
    values = np.repeat(WORDS, COUNTS)
    drawn = np.array(
        [tables(simulate_counts(RAPPOR, WORDS, COUNTS, random=source)) for _ in range(runs)]
    )
    made = np.array(
        [
            RAPPOR.tally(RAPPOR.privatize(values, random=source)).reshape(drawn.shape[1:])
            for _ in range(runs)
        ]
    )
    spread = np.sqrt((drawn.var(axis=0) + made.var(axis=0)) / runs)
    assert np.abs((drawn.mean(axis=0) - made.mean(axis=0)) / spread).max() < 4.5
    ratio = drawn.var(axis=0, ddof=1) / made.var(axis=0, ddof=1)
    assert np.abs(np.log(ratio)).max() < 4.5 * np.sqrt(4 / (runs - 1))


def test_bits_of_one_cohort_are_independent_given_the_cohorts() -> None:
    """Given the people of each cohort, two bits of one word are uncorrelated (2,000 runs)."""
    spread = np.zeros((1, 2), dtype=np.int64)
    spread[0] = (400, 100)
    runs, source = 2_000, rumor.Seeded(2)
    drawn = np.array(
        [tables(simulate_counts(RAPPOR, ["word 1"], spread, random=source)) for _ in range(runs)]
    )
    assert (drawn[:, :, 0] == (400, 100)).all()
    correlations = np.corrcoef(drawn[:, 0, 1:].T)
    largest = np.abs(correlations[np.triu_indices(16, 1)]).max()
    assert largest < 4.5 / np.sqrt(runs)  # 120 pairs


def test_summaries_decode_and_repeat() -> None:
    first = simulate_counts(RAPPOR, WORDS, COUNTS, random=rumor.Seeded(3))
    again = simulate_counts(RAPPOR, WORDS, COUNTS, random=rumor.Seeded(3))
    assert first == again
    assert first.reports == 650
    assert rumor.Summary.from_bytes(first.to_bytes()) == first


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([1, 2], "counts must be an integer of 0 or more for each of the 5 words"),
        ([1, 2, 3, 4, -5], "counts must be an integer of 0 or more"),
        ([0.5] * 5, "counts must be an integer of 0 or more"),
        ([0] * 5, "a simulation needs at least one person; got none"),
    ],
)
def test_bad_counts_are_refused(counts: object, sentence: str) -> None:
    with pytest.raises(rumor.InputError, match=sentence):
        simulate_counts(RAPPOR, WORDS, counts)
