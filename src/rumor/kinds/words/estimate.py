"""Open words out of a summary: searched, tested and, where there is a list, tested from the
list.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rumor.core.checks import checked_method, checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.types import Progress, Vector
from rumor.estimators.data import as_summary
from rumor.kinds.word_lists import checked_words
from rumor.kinds.words.fit.found import LEVEL, Discovered, Listed, discover, look_for
from rumor.kinds.words.result import OpenWordEstimate
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import NormalIntervals

_MOST_KEPT = 1 << 30

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "auto": ("level", "beam", "candidates", "on_progress"),
    "grown": ("level", "beam", "candidates", "on_progress"),
}
"""The methods, each with the names of its options."""


def estimate(
    mechanism: OpenWords, data: object, method: str, options: Mapping[str, Any]
) -> OpenWordEstimate:
    """Return the words that people have, from reports or a summary of them."""
    checked_method(method, options, OPTIONS)
    return decode_open(as_summary(mechanism, data), **options)


def decode_open(
    summary: Summary,
    *,
    level: float = LEVEL,
    beam: int | None = None,
    candidates: Sequence[str] | None = None,
    on_progress: Progress | None = None,
) -> OpenWordEstimate:
    """Detect words at a false discovery rate of at most about `level`.

    `candidates` are further words to test. The rate is then shared: half of it for the words of
    the search, half for the words of the list.
    """
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise InputError(f"level must be a number above 0 and below 1; got {format_value(level)}")
    if beam is not None:
        checked_size("beam", beam, 1, _MOST_KEPT)
    mechanism = summary.made_by(OpenWords)
    each = level if candidates is None else level / 2
    grown = discover(mechanism, summary.tally, level=each, beam=beam, on_progress=on_progress)
    words, p_value = list(grown.words), grown.p_value
    share, stderr = grown.share, grown.stderr
    listed: list[str] = []
    if candidates is not None:
        known = set(words)
        listed = [word for word in checked_words(candidates) if word not in known]
        tested = look_for(mechanism, summary.tally, listed, level=each) if listed else None
        words, share, stderr, p_value = _joined(grown, listed, tested)
    return _estimate(summary, grown, words, (share, stderr, p_value), len(listed), level)


def _joined(
    grown: Discovered, listed: Sequence[str], tested: Listed | None
) -> tuple[list[str], Vector, Vector, Vector]:
    """Return the words of the search, and the detected words of the list that the search missed."""
    if tested is None:
        return list(grown.words), grown.share, grown.stderr, grown.p_value
    there = np.flatnonzero(tested.found)
    return (
        [*grown.words, *(listed[int(i)] for i in there)],
        np.concatenate([grown.share, tested.share[there]]),
        np.concatenate([grown.stderr, tested.stderr[there]]),
        np.concatenate([grown.p_value, tested.p_value[there]]),
    )


def _estimate(
    summary: Summary,
    grown: Discovered,
    words: list[str],
    known: tuple[Vector, Vector, Vector],
    listed: int,
    level: float,
) -> OpenWordEstimate:
    mechanism = summary.made_by(OpenWords)
    share, stderr, p_value = known
    frequency = np.clip(share, 0.0, 1.0)
    named = float(frequency.sum())
    return OpenWordEstimate(
        values=words,
        frequency=frequency,
        unbiased=share,
        stderr=stderr,
        reports=summary.reports,
        epsilon=mechanism.epsilon,
        method="grown",
        intervals=NormalIntervals(share, stderr, stderr),
        diagnostics={"fake_clients": bound_poisoning(mechanism, summary.reports).to_dict()},
        detected=np.ones(len(words), dtype=np.bool_),
        p_value=p_value,
        other=max(0.0, 1.0 - named),
        other_stderr=math.sqrt(float((stderr**2).sum())),
        level=level,
        controls=f"false discovery rate at most about {100 * level:g}%",
        pool=grown.pool + listed,
        looked_for=listed,
        longer=grown.longer,
        looked_at=grown.candidates,
    )
