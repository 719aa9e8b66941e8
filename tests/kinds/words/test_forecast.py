"""What a plan says of open words: shares that are found, and refusals."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rumor.core.errors import InputError
from rumor.kinds.planning.planned import Size
from rumor.kinds.words.code_tables import shipped_code
from rumor.kinds.words.fit.forecast import (
    Course,
    fakes_to_invent,
    forecast,
    needed_share,
    require_enough,
)
from rumor.kinds.words.fit.found import discover
from rumor.kinds.words.fit.search import search_prefixes
from rumor.kinds.words.plan import planned, word_bits
from rumor.mechanisms.open_words.code import PrefixCode, Symbol
from rumor.mechanisms.open_words.design import levels_for, open_words
from rumor.mechanisms.open_words.open_words import OpenWords
from tests.kinds.words.test_found import crowd

LATIN = shipped_code("latin")


def asked(epsilon: float = 4.0, longest: int = 8, cohorts: int = 64) -> OpenWords:
    return open_words(epsilon=epsilon, code=LATIN, longest=longest, key=b"k", cohorts=cohorts)


def test_shares_fall_with_people_and_epsilon_and_grow_with_length() -> None:
    def half(users: int, epsilon: float, bits: int) -> float:
        return needed_share(asked(epsilon), users, bits, 0.5)

    by_people = [half(users, 2.0, 25) for users in (10**4, 10**5, 10**6)]
    # As the root of the people, and a little faster while the word's own supports are noise.
    assert all(10**0.5 < a / b < 4 for a, b in itertools.pairwise(by_people))
    assert half(10**5, 4.0, 25) < half(10**5, 2.0, 25) < half(10**5, 1.0, 25)
    assert half(10**5, 2.0, 13) < half(10**5, 2.0, 25) < half(10**5, 2.0, 39)
    assert needed_share(asked(), 10**5, 500, 0.5) == math.inf
    assert needed_share(asked(0.1), 100, 25, 0.5) == math.inf


def test_half_and_most_are_what_they_say() -> None:
    mechanism = asked()
    told = forecast(mechanism, 50_000, 25)
    course = Course(mechanism, 50_000, 25)
    assert course.chance(told.half) == pytest.approx(0.5, abs=1e-4)
    assert course.chance(told.most) == pytest.approx(0.9, abs=1e-4)
    # Nobody has it: the levels before the last each let one in seventy through.
    assert course.chance(0.0) < 1e-7
    assert told.half < told.most


def test_the_trust_of_what_passes_by_chance_is_what_is_drawn() -> None:
    """Eight crowds whose words are all rare: their sums vary by a tenth about the mean."""
    found = []
    for run in range(8):
        mechanism, tally = crowd({}, 20_000, 3.0, 70 + run)
        found.append(sum(search_prefixes(mechanism, mechanism.table(tally)).pool.trust))
    assert Course(mechanism, 20_000, 25).trusted == pytest.approx(np.mean(found), rel=0.15)


@pytest.mark.slow
def test_a_word_at_these_shares_is_found_as_often() -> None:
    """Of 24 crowds, 12 and 21.6 are expected: binomial, to three standard deviations."""
    word = "sunny"
    bits = LATIN.write(word).length
    for chance in (0.5, 0.9):
        share = needed_share(asked(), 20_000, bits, chance)
        found = 0
        for run in range(24):
            mechanism, tally = crowd({word: share}, 20_000, 4.0, 700 + run)
            found += word in discover(mechanism, tally).words
        assert abs(found - 24 * chance) < 3 * math.sqrt(24 * chance * (1 - chance)) + 1


@pytest.mark.slow
def test_fakes_invent_a_word_at_the_share_that_is_told() -> None:
    """Ten crowds, at the share of 90 %: six or fewer found have the chance 1.3 %."""
    word, people = "sunny", 20_000
    bits, found = LATIN.write(word).length, 0
    part = fakes_to_invent(asked(), people, bits, 0.9)
    assert part < needed_share(asked(), people, bits, 0.9)
    fakes = round(part * people)
    for run in range(10):
        mechanism, tally = crowd({}, people - fakes, 4.0, 900 + run)
        table, rng = mechanism.table(tally.copy()), np.random.default_rng(run)
        weights = np.array(mechanism.weights) / sum(mechanism.weights)
        levels = rng.choice(mechanism.levels, size=fakes, p=weights)
        cohorts = rng.integers(0, mechanism.cohorts, size=fakes)
        stems = np.array(mechanism.stems.fingerprints(word), dtype=np.uint64)[levels]
        np.add.at(table, (levels, cohorts, mechanism.stems.places(stems, levels, cohorts)), 1)
        found += word in discover(mechanism, table.reshape(-1)).words
    assert found > 6


def test_too_few_people_are_refused() -> None:
    require_enough(asked(), 20_000, 25)
    with pytest.raises(InputError, match=r"need more people or a larger .*got 1,000 people"):
        require_enough(asked(1.0), 1000, 25)


def test_levels_leave_room_for_the_longest_and_weigh_early_ones_most() -> None:
    weights = levels_for(LATIN, 12)
    mean, variance = LATIN.bits_per_character()
    assert 7 * (len(weights) - 1) >= 12 * mean + 2 * math.sqrt(12 * variance) + 3
    assert list(weights[:-1]) == sorted(weights[:-1], reverse=True)
    assert min(weights) >= 1
    assert weights[-1] == 14
    assert len(levels_for(LATIN, 256)) == 64, "no more levels than a contract may have"
    assert levels_for(LATIN, 12, typical=12).count(20) > weights.count(20)
    for longest, typical in ((0, None), (257, None), (5, 6)):
        with pytest.raises(InputError, match=r"longest|typical"):
            levels_for(LATIN, longest, typical)


def test_levels_of_one_length_are_as_full_as_the_others() -> None:
    """26 letters have five bits at most: six of them need 30, and have no end mark."""
    letters: dict[Symbol, int] = dict.fromkeys("abcdefghijklmnopqrstuvwxyz", 1)
    # Six digits of three bits or four: room for all, and not only for most.
    digits = [[3, *"012345"], [4, *"6789"]]
    made = open_words(epsilon=1.0, code={"length": 6, "rows": digits}, key=b"k")
    assert made.stems.bits == 24
    # Rare letters of Latin text have many bits: levels are those of words of any length.
    latin = open_words(epsilon=1.0, code=LATIN.of_length(6), key=b"k")
    assert latin.step == 7
    assert len(set(latin.weights)) > 2
    for length, step, weights in ((3, 15, 2), (5, 13, 3), (6, 15, 3), (7, 12, 4)):
        code = PrefixCode.from_weights(letters, length)
        made = open_words(epsilon=1.0, code=code, key=b"k")
        assert (made.step, made.weights) == (step, (20,) * weights)
        with pytest.raises(InputError, match="longest and typical must be left out; got 9 and"):
            open_words(epsilon=1.0, code=code, longest=9, key=b"k")


def test_words_up_to_the_longest_can_be_written() -> None:
    """Words of letters as often as the table has them, nine in ten of them at full length."""
    rng = np.random.default_rng(5)
    letters = [symbol for symbol, (_, size) in LATIN.words.items() if symbol and size <= 8]
    texts = [symbol for symbol in letters if isinstance(symbol, str)]
    chances = np.array([2.0 ** -LATIN.words[symbol][1] for symbol in texts])
    room = asked(longest=12).stems.bits
    fits = [
        LATIN.write("".join(rng.choice(texts, size=12, p=chances / chances.sum()))).length <= room
        for _ in range(300)
    ]
    assert np.mean(fits) > 0.9


@pytest.mark.parametrize("users", [20_000, 10**6])
def test_the_linear_error_of_a_plan_is_that_of_a_count_of_the_reports_that_tell(users: int) -> None:
    """Reports of every level at which the word has ended, at the share that is detected."""
    mechanism, topic = asked(), planned(Size())
    whole, gain = sum(mechanism.weights), mechanism.gain
    ended = [
        n for n in range(mechanism.levels) if (n + 1) * mechanism.step >= word_bits(mechanism, 7)
    ]
    telling = users * sum(mechanism.weights[n] for n in ended) / whole
    rate = 1 / mechanism.buckets + gain * topic.detectable(mechanism, users)
    deviation = math.sqrt(telling * rate * (1 - rate))
    assert topic.linear(mechanism, users) == pytest.approx(deviation / telling / gain, rel=1e-9)
