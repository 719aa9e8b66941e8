"""Decoys: the law of a made-up word's score, and the rejection rule."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rumor.estimators.multiple_testing import benjamini_hochberg
from rumor.kinds.text.fit import decoys as decode_decoys
from rumor.kinds.text.fit.decoys import decoy_law, decoys_of, sample_decoys
from rumor.mechanisms.rappor.bloom import BloomFilter


def pulls(bits: int, cohorts: int, hot: float = 0.0) -> np.ndarray:
    table = np.random.default_rng(bits).normal(size=(cohorts, bits))
    table[:, 0] += hot
    return np.asarray(table - table.mean(axis=1, keepdims=True))


@pytest.mark.parametrize(
    ("bits", "hashes", "cohorts"), [(4, 1, 2), (4, 2, 2), (4, 3, 1), (2, 4, 2)]
)
def test_the_law_is_that_of_every_possible_word(bits: int, hashes: int, cohorts: int) -> None:
    """All filters enumerated: p-values are the exact tail, or more by what rounding allows."""
    table = pulls(bits, cohorts)
    law = decoy_law(BloomFilter(bits, hashes, cohorts, b"law"), table)
    assert law is not None
    ways = list(itertools.product(range(bits), repeat=hashes))
    sums = [[sum(row[bit] for bit in set(way)) for way in ways] for row in table]
    scores = np.array([sum(parts) for parts in itertools.product(*sums)])
    asked = np.unique(scores.round(9))
    exact = np.array([(scores >= score - 1e-9).mean() for score in asked])
    slack = 2 * law.slack * law.step
    loose = np.array([(scores >= score - slack).mean() for score in asked])
    found = law.p_values(asked)
    assert (found >= exact - 1e-9).all()
    assert (found <= loose + 1e-9).all()


@pytest.mark.parametrize(
    ("bits", "hashes", "cohorts", "hot"),
    [(128, 1, 8, 0.0), (128, 2, 16, 8.0), (64, 8, 4, 0.0), (32, 16, 8, 3.0)],
)
def test_sampled_decoys_follow_the_law(bits: int, hashes: int, cohorts: int, hot: float) -> None:
    """200,000 of them, at six quantiles; within 5 standard deviations of a binomial share."""
    bloom, table = BloomFilter(bits, hashes, cohorts, b"sample"), pulls(bits, cohorts, hot)
    law, sample = decoy_law(bloom, table), sample_decoys(bloom, table, 200_000)
    assert law is not None
    at = np.quantile(sample.scores, [0.02, 0.5, 0.9, 0.99, 0.999, 0.9999]).astype(np.float64)
    ours, theirs = law.p_values(at), sample.p_values(at)
    # A law's p-value may also be larger by rounding, a hundredth of a standard deviation or so.
    assert np.abs(ours - theirs).max() < 0.01
    allowed = 5 * np.sqrt(theirs * (1 - theirs) / 200_000) + 0.06 * theirs
    assert (np.abs(ours - theirs) < allowed).all()


def test_a_filter_too_large_for_its_law_has_sampled_decoys_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert decoy_law(BloomFilter(2, 1, 1 << 15, b"many cohorts"), pulls(2, 1 << 15)) is None
    monkeypatch.setattr(decode_decoys, "decoy_law", lambda *_: None)
    bloom, table = BloomFilter(16, 2, 2, b"a"), pulls(16, 2)
    for words, decoys in ((10, 100_000), (10_000, 200_000)):
        lone = decoys_of(bloom, table, words, 0.05).p_values(np.array([1e9]))
        assert lone[0] == pytest.approx(1 / (decoys + 1))


def test_decoys_repeat_and_depend_on_the_key() -> None:
    table = pulls(16, 2)
    first, again, other = (
        sample_decoys(BloomFilter(16, 2, 2, key), table, 1_000) for key in (b"a", b"a", b"b")
    )
    assert np.array_equal(first.scores, again.scores)
    assert not np.array_equal(first.scores, other.scores)


def test_benjamini_and_hochberg_on_their_own_example() -> None:
    """The fifteen p-values of Benjamini and Hochberg 1995, section 3.2: four are rejected."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    values = np.array(p)[::-1].copy()
    assert benjamini_hochberg(values, 0.05).tolist() == [False] * 11 + [True] * 4
    assert not benjamini_hochberg(np.array([0.04, 0.9]), 0.05).any()
    assert benjamini_hochberg(np.array([0.02, 0.02, 0.9]), 0.05).tolist() == [True, True, False]


def test_a_law_on_more_places_than_are_transformed_together_is_the_same() -> None:
    """Of a fine lattice, one cohort at a time; of a coarse one, all of them at once."""
    table, bloom = pulls(16, 4), BloomFilter(16, 2, 4, b"law")
    coarse, fine = decoy_law(bloom, table), decoy_law(bloom, table, steps=1 << 15)
    assert coarse is not None
    assert fine is not None
    assert fine.tail.size > decode_decoys._TOGETHER > coarse.tail.size
    # Where rounding has room on both sides, the tail of one lies between those of the other.
    scores, room = np.linspace(-2.0, 4.0, 13), 4 * coarse.slack * coarse.step
    within = fine.p_values(scores)
    assert (coarse.p_values(scores + room) <= within + 1e-9).all()
    assert (within <= coarse.p_values(scores) + 1e-9).all()
