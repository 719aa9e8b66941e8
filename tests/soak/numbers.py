"""What a soak did, in numbers: said as it goes on, and summed up at its end."""

from __future__ import annotations

from collections import Counter

DONE: Counter[str] = Counter()
"""Operations, kills, faults, bodies and so on, over all tests of a run."""
SENTENCES: list[str] = []
"""What each test has to say for itself."""


def done(sentence: str, **numbers: int) -> None:
    """Note what a test did, once it has passed."""
    SENTENCES.append(sentence)
    DONE.update(numbers)
