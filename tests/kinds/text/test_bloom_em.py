"""The iterative Bayesian update on Bloom filters, beside the exact channel."""

from __future__ import annotations

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.kinds.text.fit import iterative
from rumor.kinds.text.fit.candidates import candidate_map

WORDS = [f"word {i}" for i in range(7)]


def rappor() -> rumor.Rappor:
    # Few bits and three hashes: some words set a bit twice, and words share bits.
    return rumor.Rappor(bits=8, hashes=3, cohorts=3, f=0.25, p=0.25, q=0.75, key=b"k")


def reports(people: int = 400) -> np.ndarray:
    held = [WORDS[0]] * (people // 2) + [WORDS[1]] * (people // 4) + [WORDS[2]] * (people // 4)
    return rappor().privatize(held, random=rumor.Seeded(2))


def test_iterations_are_bayes_rule_on_the_exact_channel() -> None:
    """Equation 9, from the mechanism's own probabilities of whole reports."""
    seen = reports()
    exact = np.array(
        [[float(rappor().probability(bytes(r), w)) for w in WORDS] for r in np.unique(seen, axis=0)]
    )
    often = np.unique(seen, axis=0, return_counts=True)[1]
    h = np.full(len(WORDS), 1 / len(WORDS))
    for _ in range(5):
        h = h * ((often / (exact @ h)) @ exact) / often.sum()
    found = rumor.estimate(rappor(), seen, method="em", candidates=WORDS, max_iterations=5)
    np.testing.assert_allclose(found.frequency, h, rtol=1e-5)
    # A start of one's own is in the order of the words, not of their map.
    start = np.arange(1.0, 8.0)
    once = start / 28 * ((often / (exact @ start * 28 / 28)) @ exact) * 28 / often.sum()
    moved = rumor.estimate(
        rappor(), seen, method="em", candidates=WORDS, start=start, max_iterations=1
    )
    np.testing.assert_allclose(moved.frequency, once / once.sum(), rtol=1e-5)


def test_passes_add_up_to_what_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    words, seen = candidate_map(rappor().bloom, WORDS), reports()
    h = np.full(len(WORDS), 1 / len(WORDS))
    kept = iterative.bloom_likelihood(rappor(), words, seen).update(h)
    monkeypatch.setattr(iterative, "_KEPT", 0)
    monkeypatch.setattr(iterative, "_CHUNK", 37)
    passed = iterative.bloom_likelihood(rappor(), words, seen).update(h)
    np.testing.assert_allclose(passed.gradient, kept.gradient, rtol=1e-12)
    assert passed.log_likelihood == pytest.approx(kept.log_likelihood)


def test_it_finds_the_shares_and_claims_no_test() -> None:
    found = rumor.estimate(rappor(), reports(40_000), method="em", candidates=WORDS)
    # Noise of a share is near 1 % here: five of it.
    np.testing.assert_allclose(found.frequency[:3], [0.5, 0.25, 0.25], atol=0.05)
    assert found.frequency.sum() == pytest.approx(1)
    assert np.isinf(found.stderr).all()
    assert "no error rate is controlled" in str(found)
    summary = rumor.Summary.empty(rappor()).update(reports())
    with pytest.raises(InputError, match='method "em" needs the reports'):
        rumor.estimate(rappor(), summary, method="em", candidates=WORDS)
    with pytest.raises(InputError, match="got 'level'"):
        rumor.estimate(rappor(), reports(), method="em", candidates=WORDS, level=0.1)
