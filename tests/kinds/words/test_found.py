"""Words grown out of reports: found where they are, with shares and intervals that hold."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.types import Tally
from rumor.kinds.words.code_tables import shipped_code
from rumor.kinds.words.fit import prefixes
from rumor.kinds.words.fit.found import Discovered, discover, interval
from rumor.kinds.words.fit.prefixes import Grammar
from rumor.kinds.words.fit.search import POOL, pool_by_level, search_prefixes
from rumor.mechanisms.open_words.design import open_words
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.open_words.prefix_hashes import Pieces
from rumor.mechanisms.summary import Summary, merge

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@functools.cache
def _rare() -> tuple[str, ...]:
    """2,000 words, all rare."""
    rng = np.random.default_rng(99)
    drawn = rng.choice(list(LETTERS), size=(2000, 6))
    return tuple("".join(row[: 3 + i % 4]) for i, row in enumerate(drawn))


def crowd(
    shares: dict[str, float],
    people: int,
    epsilon: float,
    run: int,
    longest: int | None = 8,
    length: int | None = None,
) -> tuple[OpenWords, Tally]:
    """People who hold these words, and for the rest one of 2,000 that are rare."""
    words = list(dict.fromkeys([*shares, *_rare()]))
    left = (1 - sum(shares.values())) / (len(words) - len(shares))
    law = np.array([shares.get(word, left) for word in words])
    mechanism = open_words(
        epsilon=epsilon,
        code=shipped_code("latin") if length is None else shipped_code("latin").of_length(length),
        longest=longest if length is None else None,
        key=f"test {run}".encode(),
        cohorts=64,
    )
    codes = np.random.default_rng([99, run]).choice(len(words), size=people, p=law / law.sum())
    table = mechanism.stems.table(words, _pieces(mechanism, tuple(words)))
    return mechanism, mechanism.tally(
        mechanism.privatize_prefixes(table, codes, random=Seeded(run))
    )


_known: dict[tuple[int, int | None, tuple[str, ...]], Pieces] = {}


def _pieces(mechanism: OpenWords, words: tuple[str, ...]) -> Pieces:
    key = mechanism.levels, mechanism.code.length, words
    if key not in _known:
        _known[key] = mechanism.stems.pieces(words)
    return _known[key]


WORDS = {"news": 0.2, "the": 0.12, "Straße": 0.08, "検索": 0.1, "": 0.06}


@pytest.fixture(scope="module")
def known() -> tuple[OpenWords, Tally, Discovered]:
    mechanism, tally = crowd(WORDS, 60_000, 4.0, 3)
    return mechanism, tally, discover(mechanism, tally)


def test_frequent_words_are_found_and_come_first(
    known: tuple[OpenWords, Tally, Discovered],
) -> None:
    _, _, found = known
    # One in 25 of the words found may be false: a further word is there in every fifth crowd.
    assert set(found.words[:5]) == set(WORDS)
    assert len(found.words) <= 6
    assert found.words[0] == "news"
    assert (np.diff(found.ranked_by) <= 0).all()
    assert (found.p_value[:5] < 1e-6).all()


@pytest.mark.slow
def test_shares_lie_within_their_intervals(known: tuple[OpenWords, Tally, Discovered]) -> None:
    """Fifty intervals that hold in 95 %: seven or more fail with the chance 1.2 %."""
    _, _, found = known
    missed = 0
    for run in range(10):
        other = discover(*crowd(WORDS, 20_000, 4.0, 40 + run))
        true = np.array([WORDS.get(word, 0.0) for word in other.words])
        missed += int(((true < other.low) | (true > other.high)).sum())
        assert (np.abs(other.share - true) < 4.5 * other.stderr).all()
    assert missed < 7
    # "the" ends at 16 bits, level 3; its share comes from the later levels alone.
    assert found.chosen_at[found.words.index("the")] == 3


def test_shares_do_not_look_at_the_level_that_chose_the_word(
    known: tuple[OpenWords, Tally, Discovered],
) -> None:
    mechanism, tally, found = known
    table = mechanism.table(tally).copy()
    place = found.words.index("the")
    fingerprint = np.array([mechanism.stems.fingerprints("the")[2]], dtype=np.uint64)
    table[2, np.arange(64), mechanism.stems.rows(fingerprint, 2)[0]] += 40  # a third of all there
    again = discover(mechanism, table.reshape(-1))
    assert again.share[again.words.index("the")] == pytest.approx(found.share[place], rel=0.02)
    assert again.ranked_by[again.words.index("the")] > found.ranked_by[place]


def test_trust_looks_at_earlier_levels_alone(
    known: tuple[OpenWords, Tally, Discovered],
) -> None:
    mechanism, tally, _ = known
    table = mechanism.table(tally).copy()
    before = search_prefixes(mechanism, table).pool
    fingerprint = np.array([mechanism.stems.fingerprints("the")[2]], dtype=np.uint64)
    table[2, np.arange(64), mechanism.stems.rows(fingerprint, 2)[0]] += 40
    trust = [
        {pool.words[i]: pool.trust[i] for i, level in enumerate(pool.level) if level == 2}
        for pool in (before, search_prefixes(mechanism, table).pool)
    ]
    both = trust[0].keys() & trust[1].keys()
    assert len(both) > 10
    assert all(trust[0][word] == trust[1][word] for word in both)


def test_where_all_words_have_one_length_only_those_are_found_and_more_of_them() -> None:
    """Eight words of four letters, at a share where most of them are missed otherwise.

    What begins like one of them and is longer is held by many, and is not taken for it.
    """
    words = ["rain", "snow", "tree", "moss", "lake", "hill", "dune", "reed"]
    shares = {**dict.fromkeys(words, 0.017), "stoplight": 0.04}
    plain, known = 0, 0
    for run in range(3):
        mechanism, tally = crowd(shares, 20_000, 3.0, 40 + run)
        plain += len(set(words) & set(discover(mechanism, tally).words))
        mechanism, tally = crowd(shares, 20_000, 3.0, 40 + run, length=4)
        found = discover(mechanism, tally).words
        assert all(len(word) == 4 for word in found)
        assert "stop" not in found
        known += len(set(words) & set(found))
    assert plain < known


def test_words_that_pass_by_chance_are_as_many_as_is_said() -> None:
    """1,200 over all levels; crowds without a frequent word, five deviations of their mean."""
    for length in (None, 4):
        sizes = []
        for run in range(4):
            mechanism, tally = crowd({}, 20_000, 3.0, 60 + run, length=length)
            sizes.append(len(search_prefixes(mechanism, mechanism.table(tally)).pool.words))
        # The first levels have fewer words than might pass.
        assert 0.6 * POOL < np.mean(sizes) < POOL + 5 * math.sqrt(POOL / 4)
    growth = Grammar(mechanism.code).growth(mechanism.step, mechanism.levels - 1)
    allowed = pool_by_level(growth[1])
    assert allowed.sum() == pytest.approx(POOL)
    assert allowed[0] == 0, "no four letters have as few bits"


def test_the_same_reports_in_any_order_and_split_give_the_same_words() -> None:
    mechanism, _ = crowd({"one": 0.5}, 10, 2.0, 2)
    reports = mechanism.privatize(["one", "two"] * 2000, random=Seeded(3))
    whole = Summary.empty(mechanism).update(reports)
    parts = [Summary.empty(mechanism).update(reports[i::3]) for i in (2, 0, 1)]
    assert merge(parts).tally.tobytes() == whole.tally.tobytes()
    assert discover(mechanism, merge(parts).tally).words == discover(mechanism, whole.tally).words


@pytest.mark.slow
def test_words_that_nobody_holds_are_rarely_found() -> None:
    """Forty crowds without a frequent word: at 4 % each, six or more have the chance 0.5 %."""
    false = 0
    for run in range(40):
        mechanism, tally = crowd({}, 4_000, 3.0, run)
        false += bool(discover(mechanism, tally, beam=60).words)
    assert false < 6


def test_p_values_of_absent_words_are_uniform_where_supports_are_few() -> None:
    """Well over 1,000 absent words, 6 supports each at a level: shares below x to four deviations.

    The deviates of a normal law fail here: they are far too often large.
    """
    from rumor.kinds.words.fit.found import _p_values

    found: list[float] = []
    for run in range(20):
        mechanism, tally = crowd({}, 3_000, 4.0, 500 + run)
        found += _p_values(search_prefixes(mechanism, mechanism.table(tally), beam=200)).tolist()
    p = np.array(found)
    assert p.size > 1000
    for x in (0.2, 0.05, 0.01):
        assert (p <= x).mean() < x + 4 * np.sqrt(x / p.size)
    assert (p <= 0.2).mean() > 0.1


def test_a_frequent_string_that_is_too_long_is_no_word_and_is_told() -> None:
    long = "overlong " * 9
    mechanism, tally = crowd({long: 0.3, "news": 0.1}, 40_000, 4.0, 4)
    found = discover(mechanism, tally)
    assert found.words == ["news"]
    assert 0.2 < found.longer < 0.3
    nothing = discover(*crowd({"news": 0.1}, 40_000, 4.0, 5))
    assert nothing.longer < 0.01


def test_frequent_words_do_not_hide_rare_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """With two words at a third each, their collisions are most of the noise: without taking them
    out, those at 2 % drown."""
    shares = {"big": 0.33, "large": 0.33, "small": 0.02, "tiny": 0.02, "rare": 0.02}
    mechanism, tally = crowd(shares, 40_000, 4.0, 6)
    assert set(discover(mechanism, tally).words) == set(shares)
    monkeypatch.setattr(prefixes, "_ROUNDS", 0)
    assert not set(shares) <= set(discover(mechanism, tally).words)


def test_no_reports_give_no_words() -> None:
    mechanism, tally = crowd({"one": 0.5}, 10, 2.0, 7)
    found = discover(mechanism, np.zeros_like(tally))
    assert found.words == []
    assert found.longer == 0
    assert discover(mechanism, tally).low.size == len(discover(mechanism, tally).words)


def test_thresholds_let_as_many_pass_as_the_beam_says() -> None:
    mechanism, tally = crowd({}, 20_000, 2.0, 8)
    grown = search_prefixes(mechanism, mechanism.table(tally), beam=100)
    # About 100 of each level pass by chance and most of those go on; all have 128 extensions.
    later: NDArray[np.int64] = grown.candidates[2:-1] // 128
    assert (later > 30).all()
    assert (later < 150).all()


def test_a_search_that_is_too_wide_is_refused() -> None:
    mechanism = OpenWords(
        epsilon=1.0, code=[[1, "a", ""]], step=16, weights=(1, 1), cohorts=4096, key=b"k"
    )
    tally = np.zeros(mechanism.tally_size, dtype=np.int64)
    with pytest.raises(InputError, match="must be at most 1e10"):
        discover(mechanism, tally)


def test_progress_is_told() -> None:
    mechanism, tally = crowd({"one": 0.5}, 100, 2.0, 9)
    told: list[tuple[int, int]] = []
    discover(mechanism, tally, on_progress=lambda done, of: told.append((done, of)))
    assert told == [(n, mechanism.levels) for n in range(1, mechanism.levels + 1)]


def test_lower_ends_reach_as_far_as_selection_asks() -> None:
    """Of few found in a large pool, lower tails are (alpha / 2) found / pool; upper ones not."""
    share, stderr = np.array([0.5, 0.4]), np.array([0.01, 0.02])
    low, high = interval(share, stderr, 0.95, 2, 200)
    np.testing.assert_allclose((high - share) / stderr, 1.95996, atol=1e-4)
    np.testing.assert_allclose((share - low) / stderr, 3.4808, atol=1e-3)
    assert [end.size for end in interval(np.zeros(0), np.zeros(0), 0.95, 0, 0)] == [0, 0]
