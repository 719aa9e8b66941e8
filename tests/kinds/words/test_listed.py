"""Words of a list on the reports of an open question."""

from __future__ import annotations

import numpy as np
import pytest

from rumor.kinds.words.fit.found import discover, look_for
from tests.kinds.words.test_found import crowd

LONG = "overlong " * 9
ABSENT = [f"absent{i}" for i in range(100)]


def test_listed_words_are_found_long_ones_too() -> None:
    shares = {"news": 0.2, "the": 0.1, LONG: 0.15, "検索": 0.1}
    mechanism, tally = crowd(shares, 40_000, 4.0, 21)
    listed = look_for(mechanism, tally, [*shares, *ABSENT])
    assert listed.found[:4].all()
    assert listed.found[4:].sum() <= 1
    assert (np.abs(listed.share[:4] - list(shares.values())) < 4 * listed.stderr[:4]).all()
    # Only whole words know the long one: its share is the least certain.
    assert listed.stderr[2] > 2 * listed.stderr[1]


def test_a_long_word_is_not_found_by_its_beginning() -> None:
    mechanism, tally = crowd({LONG: 0.8}, 100_000, 4.0, 24)
    assert look_for(mechanism, tally, [LONG]).found.all()
    assert not look_for(mechanism, tally, [LONG + "indeed"]).found.any()


def test_a_list_finds_what_is_too_rare_to_be_grown() -> None:
    mechanism, tally = crowd({"sunny": 0.015}, 20_000, 4.0, 22)
    assert "sunny" not in discover(mechanism, tally, beam=80).words
    listed = look_for(mechanism, tally, ["sunny", *ABSENT[:20]])
    assert listed.found[0]


def test_p_values_of_absent_words_are_uniform() -> None:
    """2,000 of them: the share below x is x, to four standard deviations."""
    p = np.concatenate(
        [look_for(*crowd({"news": 0.2}, 5_000, 3.0, 60 + r), ABSENT).p_value for r in range(20)]
    )
    for x in (0.5, 0.1, 0.01):
        assert abs(float((p <= x).mean()) - x) < 4 * np.sqrt(x * (1 - x) / p.size)


def test_few_reports_leave_no_word_certain() -> None:
    """A share is no surer than chance lets the people of all levels together be."""
    words = ["news", "sunny", "absent"]
    for people in (1, 2, 5, 12, 30):
        for seed in range(6):
            mechanism, tally = crowd({"news": 0.7, "sunny": 0.3}, people, 4.0, 80 + seed)
            chance = 1 / mechanism.buckets
            least = np.sqrt(chance * (1 - chance) / people) / mechanism.gain
            assert (look_for(mechanism, tally, words).stderr > least / 2).all(), (people, seed)


def test_one_word_written_twice_is_one() -> None:
    mechanism, tally = crowd({}, 1_000, 2.0, 23)
    assert look_for(mechanism, tally, ["café", "cafe\u0301"]).words == ["café"]
    assert look_for(mechanism, np.zeros_like(tally), ["a"]).p_value == pytest.approx([0.5])
