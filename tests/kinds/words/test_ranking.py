"""The order of found words: beginnings count where they agree with the words, and only there."""

from __future__ import annotations

import numpy as np
import pytest

from rumor.kinds.words.fit.found import PrefixShares, ranking_shares

SHARE, STDERR = np.array([0.10, 0.08, 0.05]), np.full(3, 0.01)


def looks(share: list[float], stems: tuple[int, ...] = (1, 2, 3), rows: int = 3) -> PrefixShares:
    return PrefixShares(
        np.arange(rows), np.array(stems, dtype=np.uint64), np.array(share), np.full(rows, 0.01)
    )


def test_levels_that_agree_are_averaged() -> None:
    found = ranking_shares(SHARE, STDERR, [looks([0.09, 0.10, 0.06])])
    assert found == pytest.approx([0.095, 0.09, 0.055])
    # The second level says nothing of the last word, which ended before it.
    found = ranking_shares(
        SHARE, STDERR, [looks([0.09, 0.10, 0.06]), looks([0.11, 0.09], (4, 5), 2)]
    )
    assert found == pytest.approx([0.10, 0.09, 0.055])


def test_a_level_of_fewer_people_counts_for_less() -> None:
    level = looks([0.13, 0.08, 0.05])
    rough = PrefixShares(level.rows, level.stems, level.share, np.full(3, 0.02))
    assert ranking_shares(SHARE, STDERR, [rough]) == pytest.approx([0.106, 0.08, 0.05])


def test_others_with_the_same_beginning_are_taken_off() -> None:
    """Two words begin alike: their beginning is 0.20, which is 0.02 more than both have."""
    found = ranking_shares(SHARE, STDERR, [looks([0.20, 0.20, 0.05], (1, 1, 3))])
    # As sure as the beginning and the other word together: half of a word's own weight.
    assert found == pytest.approx([0.10 + 0.02 / 3, 0.08 + 0.02 / 3, 0.05])


def test_beginnings_that_hold_more_than_the_words_say_nothing() -> None:
    assert ranking_shares(SHARE, STDERR, [looks([0.14, 0.13, 0.09])]).tolist() == SHARE.tolist()
    assert ranking_shares(SHARE, STDERR, []).tolist() == SHARE.tolist()
    assert ranking_shares(np.zeros(0), np.zeros(0), []).size == 0
