"""A test whether labels look ordered, so that `rumor check` can advise the kind "ordered"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

_LEAST = 3
# A number, perhaps the first of a range or with a sign of "and more": 18-24, 65+, under 18, < 5.
_NUMBER = re.compile(
    r"(?P<below>under|below|less than|up to|<)?(?:over|above|more than|from|[<>]?=|>)?\s*"
    r"[$€£¥]?\s*(?P<number>-?\d[\d,]*(?:\.\d+)?)"
)
# Words for the places on a scale, from one end to the other.
_SCALES = (
    (
        "never",
        "hardly ever",
        "rarely",
        "seldom",
        "occasionally",
        "sometimes",
        "regularly",
        "often",
        "frequently",
        "usually",
        "very often",
        "daily",
        "almost always",
        "always",
    ),
    (
        "strongly disagree",
        "disagree",
        "rather disagree",
        "neither agree nor disagree",
        "neutral",
        "rather agree",
        "agree",
        "strongly agree",
    ),
    (
        "very poor",
        "very bad",
        "poor",
        "bad",
        "fair",
        "so so",
        "okay",
        "ok",
        "average",
        "good",
        "well",
        "very good",
        "excellent",
    ),
    (
        "none",
        "very low",
        "low",
        "a little",
        "little",
        "some",
        "medium",
        "moderate",
        "much",
        "a lot",
        "high",
        "very high",
    ),
    (
        "very dissatisfied",
        "dissatisfied",
        "rather dissatisfied",
        "neutral",
        "rather satisfied",
        "satisfied",
        "very satisfied",
    ),
    ("very unlikely", "unlikely", "neutral", "likely", "very likely"),
    ("primary", "secondary", "bachelor", "master", "doctorate"),
)


def looks_ordered(labels: Sequence[str]) -> str | None:
    """Return what makes `labels` look ordered; None where nothing does.

    Labels that decline to answer are outside of any order and are passed over.
    """
    told = [label.strip().lower() for label in labels]
    kept = [label for label in told if label not in ("no answer", "don't know", "other", "n/a")]
    if len(kept) < _LEAST:
        return None
    numbers = [_NUMBER.match(label) for label in kept]
    if all(numbers):
        found = [_worth(match) for match in numbers if match]
        return "numbers that rise or fall" if _monotone(found) else None
    for scale in _SCALES:
        if all(label in scale for label in kept) and _monotone([scale.index(x) for x in kept]):
            return "places on a scale"
    return None


def _worth(match: re.Match[str]) -> float:
    """Return the number that a label begins with; "under 18" sorts before "18 to 24"."""
    return float(match["number"].replace(",", "")) - (0.5 if match["below"] else 0.0)


def _monotone(numbers: Sequence[float]) -> bool:
    steps = [b - a for a, b in itertools.pairwise(numbers)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)
