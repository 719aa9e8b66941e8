"""Open words: all laws of mechanisms, their stems and hashes, and what contracts may say.

They are no line of the registry until a kind of question asks for them, so their laws run here.
"""

from __future__ import annotations

import numpy as np
import pytest

from rumor.core.errors import AnswerError, InputError
from rumor.core.randomness import Keyed, Seeded
from rumor.kinds.words.code_tables import shipped_code
from rumor.mechanisms.open_words.open_words import OpenWords


def latin(**changed: object) -> OpenWords:
    usual = {"epsilon": 4.0, "step": 7, "weights": (3, 2, 1), "key": b"key"}
    return OpenWords(**{"code": shipped_code("latin"), **usual, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.5, 1, 2, 3.3, 5, 8, 20])
def test_epsilon_is_a_ceiling_that_is_reached(epsilon: float) -> None:
    mechanism = latin(epsilon=epsilon)
    assert mechanism.epsilon <= epsilon
    assert mechanism.epsilon == pytest.approx(epsilon, rel=1e-9)


def test_a_report_has_two_or_three_bytes() -> None:
    widths = {
        epsilon: latin(epsilon=epsilon, weights=[1] * 10).width for epsilon in (1, 3, 4, 5, 8)
    }
    assert widths == {1: 2, 3: 2, 4: 3, 5: 3, 8: 3}
    assert latin(epsilon=4).buckets in (55, 56)


def test_words_with_one_beginning_share_stems_until_they_differ() -> None:
    stems = latin(weights=[1] * 9).stems
    one, other = stems.fingerprints("internet"), stems.fingerprints("interns")
    same = [x == y for x, y in zip(one, other, strict=True)]
    bits = [stems.code.write(word) for word in ("internet", "interns")]
    texts = [format(w.bits, f"0{w.length}b").ljust(56, "0") for w in bits]
    assert same == [texts[0][: 7 * n] == texts[1][: 7 * n] for n in range(1, 9)] + [False]
    assert same[:3] == [True] * 3


def test_an_ended_word_is_its_own_stem_at_deeper_levels() -> None:
    stems = latin(weights=[1] * 9).stems
    assert stems.code.write("the").length == 16  # three levels
    found = stems.fingerprints("the")
    assert len(set(found[2:8])) == 1
    assert len(set(found)) == 4
    assert found[8] == stems.word_fingerprint("the")
    # Longer words with the same bits so far, and as many zeros as there are, are others.
    assert found[2] not in stems.fingerprints("thee")


def test_what_a_code_cannot_write_shares_no_stem_from_there_on() -> None:
    stems = OpenWords.examples()[3].stems
    one, other = stems.fingerprints("wordx"), stems.fingerprints("wordy")
    assert one[:2] == other[:2], "the code writes 'word' in 4 bits, two levels"
    assert not set(one[2:]) & set(other[2:])


def test_many_words_have_the_fingerprints_of_each() -> None:
    for mechanism in (*OpenWords.examples(), latin(), latin(weights=[1] * 9)):
        words = [*map(str, mechanism.inputs()), "internet", "a" * 99, "\u0007", "e\u0301"]
        one_by_one = [mechanism.stems.fingerprints(word) for word in words]
        assert mechanism.stems.table(words).tolist() == one_by_one


def test_long_words_take_part_and_are_the_same_in_any_form() -> None:
    mechanism = latin()
    long = "very long " * 1000
    assert mechanism.validate([mechanism.report(long)]).all
    assert mechanism.stems.fingerprints("cafe\u0301") == mechanism.stems.fingerprints("café")
    assert mechanism.identity("cafe\u0301") == mechanism.identity("café")
    assert mechanism.stems.fingerprints("\ud800")[-1] == mechanism.stems.word_fingerprint("\ufffd")


def test_extended_stems_are_those_of_words() -> None:
    stems = latin(weights=[1] * 9).stems
    parents = np.array([stems.root], dtype=np.uint64)
    chunks = stems.chunks(stems.code.write("nothing", stems.bits))
    for level, chunk in enumerate(chunks):
        parents = stems.extend(parents, np.array([chunk]))
        assert int(parents[0]) == stems.fingerprints("nothing")[level]


def test_buckets_one_at_a_time_and_many_are_the_same_and_even() -> None:
    mechanism = latin(cohorts=64)
    stems = mechanism.stems
    table = stems.table([f"w{i}" for i in range(300)])
    rows = stems.rows(table[:, 2], 2)
    levels, cohorts = np.full(300, 2), np.arange(300) % 64
    assert (stems.places(table[:, 2], levels, cohorts) == rows[np.arange(300), cohorts]).all()
    assert mechanism.bucket("w7", 2, 5) == rows[7, 5]
    # 19,200 draws from some 55 buckets: the variance of a bucket is that of a fair one, to 4 sd.
    counts = np.bincount(rows.reshape(-1), minlength=mechanism.buckets)
    chi = ((counts - rows.size / mechanism.buckets) ** 2).sum() / (rows.size / mechanism.buckets)
    freedom = mechanism.buckets - 1
    assert abs(chi - freedom) < 4 * np.sqrt(2 * freedom)


def test_collisions_of_one_level_say_nothing_of_another() -> None:
    stems = latin(cohorts=64, buckets=4).stems
    table = stems.table([f"w{i}" for i in range(200)])
    same = [stems.rows(table[:, -1], level) for level in (1, 2)]
    hits = [rows[0] == rows[1:] for rows in same]
    both = float((hits[0] & hits[1]).mean())
    # 12,736 pairs, each by chance 1/16, to 4 standard deviations.
    assert abs(both - 1 / 16) < 4 * np.sqrt(1 / 16 * 15 / 16 / hits[0].size)


def test_level_and_cohort_stay_whatever_the_word_is() -> None:
    mechanism = latin()
    secret = bytes(range(32))
    reports: set[bytes] = set()
    for word in ("one", "two", "three", "one"):
        person = Keyed(secret, "rumor permanent answer 2", "series", "question")
        reports.add(mechanism.report_memoised(word, permanent=person, random=Seeded(len(reports))))
    assert len({mechanism.split(report)[:2] for report in reports}) == 1
    person = Keyed(secret, "rumor permanent answer 2", "series", "question")
    again = {mechanism.report_memoised("one", permanent=person, random=Seeded(n)) for n in range(9)}
    assert len(again) == 1, "a word has one report"
    assert mechanism.epsilon_after(1000) == mechanism.epsilon == mechanism.epsilon_permanent


def test_people_fall_on_levels_as_the_weights_say() -> None:
    mechanism = latin(weights=(5, 3, 2), cohorts=4)
    reports = mechanism.privatize(["a"] * 40_000, random=Seeded(1))
    people = mechanism.table(mechanism.tally(reports)).sum(axis=(1, 2))
    expected = 40_000 * np.array([0.5, 0.3, 0.2])
    # Each binomial, to 4 standard deviations.
    assert (np.abs(people - expected) < 4 * np.sqrt(expected * (1 - expected / 40_000))).all()


def test_coded_crowds_are_those_of_words() -> None:
    mechanism, words = latin(), ["one", "two", "three"]
    codes = np.arange(3000) % 3
    plain = mechanism.privatize([words[code] for code in codes], random=Seeded(4))
    coded = mechanism.privatize_coded(words, codes, random=Seeded(4))
    assert plain.tobytes() == coded.tobytes()


def test_what_breaks_a_rule_is_refused() -> None:
    for changed, sentence in (
        ({"step": 17}, "step must be an integer from 1 to 16"),
        ({"weights": (1,)}, "2 to 64 of them; got 1"),
        ({"weights": "11"}, "weights must be a list"),
        ({"weights": (1, 0)}, "a weight must be an integer from 1"),
        ({"cohorts": 0}, "cohorts must be an integer from 1"),
        ({"buckets": 1}, "buckets must be an integer from 2"),
        ({"key": b""}, "key must be a non-empty bytes object"),
        ({"code": [[1, "a", "b"]]}, "a code must have an end mark"),
        ({"weights": [1] * 64, "cohorts": 4096, "buckets": 65}, "at most 2\\^24"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
    ):
        with pytest.raises(InputError, match=sentence):
            latin(**changed)
    with pytest.raises(AnswerError, match="a word must be a text; got a number"):
        latin().report(3)
