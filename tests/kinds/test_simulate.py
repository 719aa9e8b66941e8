"""Dry runs: the crowd is the one asked for, and the numbers are what theory says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.kinds.choice import simulate as module
from rumor.kinds.choice.read import reader
from rumor.kinds.choice.simulate import simulate
from rumor.kinds.reading import TableAnswers, read_histogram
from rumor.kinds.simulation import SimulationSettings, rescaled
from rumor.mechanisms import FrequencyOracle
from tests.flow import home_pages

COUNTS = np.array([500, 300, 150, 50, 0])


def oracle(id: str) -> FrequencyOracle:
    mechanism = home_pages().question(id).mechanism
    assert isinstance(mechanism, FrequencyOracle)
    return mechanism


def _histogram(folder: Path, text: str, column: str | None = None) -> list[int]:
    path = folder / "h.csv"
    path.write_text(text)
    asked = oracle("homepage")
    counts = read_histogram(
        asked, reader(asked), TableAnswers(AnswerTable.open(path), "homepage", column)
    )
    return [int(count) for count in counts]


def test_a_histogram_adds_up_and_missing_values_are_nobody(tmp_path: Path) -> None:
    text = "value,count\nnews,3\nblank,2\nnews,4\n"
    assert _histogram(tmp_path, text) == [2, 7, 0, 0, 0]


def test_raw_answers_are_counted(tmp_path: Path) -> None:
    assert _histogram(tmp_path, "homepage,x\nnews,1\nblank,2\nnews,3\n") == [1, 2, 0, 0, 0]
    assert _histogram(tmp_path, "answer\nmail\n", "answer") == [0, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("value,count\nnews,-1\n", "counts must be integers of 0 or more; got one that is not"),
        ("value,count\nnews,1.5\n", "must hold integers; got something else"),
        ("value,count\nnews,\n", "counts must be integers of 0 or more; got one that is not"),
        ("value,count\nnwes,1\n", "a label must be one of the domain's .*; got another text"),
        ("value,count\n", "must hold at least one answer; got none"),
        ("value,count\nnews,0\n", "must hold at least one answer; got none"),
        ("a,b\n1,2\n", "must have a column 'homepage' in its header; got 2 columns"),
    ],
)
def test_bad_histograms_are_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        _histogram(tmp_path, text)


@pytest.mark.parametrize("people", [1, 7, 1000, 123_457])
def test_a_rescaled_crowd_has_the_same_shares(people: int) -> None:
    counts = rescaled(COUNTS, people)
    assert counts.sum() == people
    assert (np.abs(counts - COUNTS / COUNTS.sum() * people) < 1).all()
    np.testing.assert_array_equal(rescaled(COUNTS, int(COUNTS.sum())), COUNTS)


def test_the_crowd_is_the_same_in_any_chunks() -> None:
    for size in [1, 3, 999, 5000]:
        chunks = list(module._crowd(COUNTS, size))
        assert all(len(chunk) <= size for chunk in chunks)
        np.testing.assert_array_equal(np.concatenate(chunks), np.repeat(np.arange(5), COUNTS))


@pytest.mark.slow
@pytest.mark.parametrize("id", ["homepage", "medicine"])
def test_errors_and_coverage_are_what_theory_expects(id: str) -> None:
    asked = oracle(id)
    counts = rescaled(np.bincount(np.arange(50) % 7) if id == "homepage" else np.arange(50), 2000)
    counts = counts[:5] if id == "homepage" else counts
    result = simulate(asked, counts, SimulationSettings(200, method="inversion", random=Seeded(3)))
    people = int(counts.sum())
    assert (result.people, result.trials) == (people, 200)
    np.testing.assert_allclose(result.truth, counts / people)
    # The mean of 200 unbiased estimates lies within 5 of its standard errors.
    assert (np.abs(result.frequency - result.truth) < 5 * result.expected / 200**0.5).all()
    # A root mean square over 200 trials has a relative error of about 1 / sqrt(400).
    np.testing.assert_allclose(result.error, result.expected, rtol=0.3)
    assert 0.92 <= result.coverage.mean() <= 0.98


def test_a_seed_repeats_and_chunks_do_not_matter_to_the_total() -> None:
    asked = oracle("homepage")
    first, again, other = (
        simulate(asked, COUNTS, SimulationSettings(random=Seeded(seed))).frequency
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_it_prints_the_most_frequent_and_exports_all() -> None:
    asked = oracle("homepage")
    result = simulate(asked, COUNTS, SimulationSettings(2, random=Seeded(1)))
    lines = result.table(3).splitlines()
    assert lines[0].split() == [
        "value", "truth", "mean", "estimate", "RMS", "error", "expected", "s.e.", "covered",
    ]  # fmt: skip
    assert [line.split()[0] for line in lines[1:4]] == ["blank", "news", "search"]
    assert lines[4] == "2 less frequent values not shown"
    data = result.to_dict()
    assert data["reports"] == 1000
    rows = data["estimates"]
    assert isinstance(rows, list)
    assert [row["truth"] for row in rows] == [0.5, 0.3, 0.15, 0.05, 0.0]


def test_nobody_cannot_be_simulated() -> None:
    asked = oracle("homepage")
    with pytest.raises(InputError, match="at least one person; got none"):
        simulate(asked, np.zeros(5, dtype=np.int64), SimulationSettings())
    with pytest.raises(InputError, match="at least one trial; got 0"):
        simulate(asked, COUNTS, SimulationSettings(0))
