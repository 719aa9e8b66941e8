"""Estimates of words, as people and programs read them."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.kinds.word_estimate import WordEstimate
from rumor.mechanisms.rappor.simulation import simulate_counts

WORDS = ["alpha", "béta", "gamma", *(f"nobody {i}" for i in range(40))]


def estimate(**options: Any) -> WordEstimate:
    rappor = rumor.Rappor(bits=64, hashes=1, cohorts=16, f=0, p=0.2, q=0.5, key=b"words")
    words = ["alpha", "béta", "gamma", "a secret"]
    summary = simulate_counts(rappor, words, [5_000, 3_000, 1_000, 1_000], random=rumor.Seeded(4))
    return rumor.estimate(rappor, summary, candidates=WORDS, **options)


RESULT = estimate()


def test_words_are_found_with_their_shares() -> None:
    assert list(RESULT.found()) == ["alpha", "béta", "gamma"]
    truth = np.array([0.5, 0.3, 0.1])
    assert (np.abs(RESULT.frequency[:3] - truth) < 4 * RESULT.stderr[:3]).all()
    assert RESULT.frequency[3:].sum() == 0
    assert RESULT.other == pytest.approx(0.1, abs=4 * RESULT.other_stderr)
    assert RESULT.words == WORDS
    assert RESULT.values[1] == "béta"


def test_intervals_hold_the_answer_and_grow() -> None:
    low, high = RESULT.interval(0.95)
    assert ((low <= RESULT.frequency) & (RESULT.frequency <= high)).all()
    for wider in (
        RESULT.interval(0.99),
        RESULT.interval(0.95, simultaneous=True),
    ):
        assert (wider[0] <= low).all()
        assert (wider[1] >= high).all()
    people = RESULT.interval(0.95, of="people")
    assert (people[1] <= high + 1e-12).all()
    with pytest.raises(rumor.InputError, match='an interval is of "population" or "people"'):
        RESULT.interval(0.95, of="somebody")


def test_the_table_says_what_was_found_and_what_is_controlled() -> None:
    text = RESULT.table()
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["alpha", "béta", "gamma"]
    assert "everything else: " in text
    assert "3 of 43 candidates detected; false discovery rate at most 5%" in text
    assert "10,000 reports" in text
    assert "2 less frequent words not shown" in RESULT.table(rows=1)
    assert str(RESULT) == text


def test_a_table_of_nothing_says_so() -> None:
    nothing = estimate(level=1e-12)
    assert "no candidate was detected" in nothing.table()
    assert nothing.other == 1.0
    assert nothing.to_csv().count("\n") == 1
    assert nothing.plot() is not None


def test_csv_json_and_arrow_agree() -> None:
    rows = list(csv.DictReader(io.StringIO(RESULT.to_csv())))
    assert [row["value"] for row in rows] == ["alpha", "béta", "gamma"]
    plain = RESULT.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert [row["value"] for row in plain["estimates"]] == ["alpha", "béta", "gamma"]  # type: ignore[attr-defined]
    assert plain["other"] == RESULT.other
    assert plain["controls"] == "false discovery rate at most 5%"
    assert float(rows[0]["frequency"]) == RESULT.frequency[0]
    table = RESULT.to_arrow(order="given")
    assert table.num_rows == 43
    assert table.column("detected").to_pylist() == RESULT.detected.tolist()
    assert RESULT.to_arrow().num_rows == 3
    assert len(RESULT.to_csv(order="given").splitlines()) == 44


def test_it_plots_itself(tmp_path: Path) -> None:
    RESULT.plot(tmp_path / "words.svg")
    assert "alpha" in (tmp_path / "words.svg").read_text(encoding="utf-8")


def test_the_decode_of_the_literature_does_not_claim_what_it_does_not_do() -> None:
    result = estimate(method="lasso-ols")
    assert "no error rate is controlled" in result.table()
    dropped = np.isinf(result.stderr)
    assert dropped.any()
    low, high = result.interval(0.95)
    assert (low[dropped] == 0).all()
    assert (high[dropped] == 1).all()
    assert math.isfinite(result.other_stderr)


def test_words_found_pay_below_for_having_been_found() -> None:
    """The lower tail is half of alpha/2 times the part of the candidates found beside each."""
    order = RESULT.ranking(None)
    low, high = RESULT.bounds(order, rumor.View(order="estimate"))
    below = -NormalDist().inv_cdf(0.025 * 0.5 * 2 / 43)
    assert low == pytest.approx(RESULT.unbiased[order] - below * RESULT.stderr[order])
    assert high == pytest.approx(RESULT.unbiased[order] + 1.959964 * RESULT.stderr[order])
    assert "on average at least 95% of those shown contain the true share" in RESULT.table()
    alone = RESULT.columns(order="given")
    assert alone["low"] == RESULT.interval(0.95)[0].tolist()
