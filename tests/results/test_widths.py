"""Intervals of shares have a width at every level, however few and however alike the reports."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import rumor
from rumor.core.checks import checked_method
from rumor.core.errors import InputError
from rumor.kinds import KINDS
from rumor.mechanisms import RandomizedResponse
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.registry import mechanisms_of_kind
from rumor.results.intervals import Bounds

LEVELS = (0.1, 0.5, 0.95)


def shares_of(mechanism: Mechanism, people: object, n: int) -> Iterator[tuple[str, float, Bounds]]:
    """Every interval of shares that an estimate of n reports has, by every method."""
    reports = mechanism.privatize([people] * n, random=rumor.Seeded(n))
    for method in ("auto", "inversion", "mle"):
        try:
            found = rumor.estimate(mechanism, reports, method=method)
        except InputError:  # a mechanism need not have every method
            continue
        for level in LEVELS:
            yield method, level, found.interval(level)
            pairs = getattr(found, "pairs", None)
            if pairs is not None:
                yield f"pairs by {method}", level, pairs.interval(level)


@pytest.mark.parametrize(("kind", "people"), [("set", [0]), ("keyvalue", {0: 1.0})])
def test_options_pairs_and_keys_have_intervals_with_a_width(kind: str, people: object) -> None:
    tried = set()
    for made in mechanisms_of_kind(kind):
        for mechanism in made.examples():
            for n in (1, 10):
                for method, level, (low, high) in shares_of(mechanism, people, n):
                    tried.add(method)
                    assert (high > low).all(), (mechanism, n, method, level)
    assert {"auto", "inversion"} <= tried
    assert ("mle" in tried) == (kind == "keyvalue")


@pytest.mark.parametrize("method", ["auto", "inversion", "em"])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_channels_have_intervals_with_a_width(n: int, method: str) -> None:
    """Reports that all agree have no error to be seen, and few of them say little."""
    oracle = RandomizedResponse(domain=10, epsilon=1.0)
    channel = np.full((10, 10), oracle.miss) + oracle.gain * np.eye(10)
    seen = np.zeros(10)
    seen[0] = n
    for level in LEVELS:
        low, high = rumor.estimate(channel, seen, method=method).interval(level)
        assert (high - low > 0.01).all()


def test_a_channel_without_an_inverse_has_no_intervals_and_says_so() -> None:
    found = rumor.estimate(np.array([[0.6, 0.4], [0.6, 0.4], [0.1, 0.9]]), [30, 40])
    text = found.table()
    assert "nan" not in text
    assert text.splitlines()[1].split()[:4] == ["2", "34.29%", "none", "none"]
    assert "no intervals: the channel has no inverse, so other shares fit as well" in text


@pytest.mark.parametrize("kind", KINDS)
def test_what_intervals_assume_is_said_of_ordered_questions_alone(kind: str) -> None:
    known = KINDS[kind].options()
    if any("assume" in options for options in known.values()):
        assert kind == "ordered"
        assert checked_method("auto", {"assume": "smooth"}, known) == "auto"
        return
    rule = r"assume \(--assume\) is for ordered questions; got 'smooth' for a question of another"
    with pytest.raises(InputError, match=rule):
        checked_method("auto", {"assume": "smooth"}, known)
