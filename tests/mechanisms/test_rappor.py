"""RAPPOR: its filters, its noise, and its exact privacy over time."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Unpack

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rumor
from rumor.core.mixing import mix64
from rumor.mechanisms.rappor.bloom import BloomFilter
from rumor.mechanisms.rappor.rappor import FilterShape
from rumor.mechanisms.rappor.two_stage import TwoStageNoise

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "bloom.json").read_text("utf-8"))


def rappor(h: int, f: float, p: float, q: float, *, bits: int = 128) -> rumor.Rappor:
    return rumor.Rappor(bits=bits, hashes=h, cohorts=1, f=f, p=p, q=q, key=b"key")


class TestFilters:
    def test_the_mixer_is_splitmix64s(self) -> None:
        # The first outputs of SplitMix64 seeded with 1234567, as its authors' code gives them.
        gamma, state = 0x9E3779B97F4A7C15, 1234567
        outputs = [mix64(state + gamma * (i + 1)) for i in range(3)]
        assert outputs == [6457827717110365317, 3203168211198807973, 9817491932198370423]

    @pytest.mark.parametrize("vector", VECTORS)
    def test_published_vectors(self, vector: dict[str, object]) -> None:
        bloom = BloomFilter(
            vector["bits"],  # type: ignore[arg-type]
            vector["hashes"],  # type: ignore[arg-type]
            vector["cohorts"],  # type: ignore[arg-type]
            bytes.fromhex(str(vector["key"])),
        )
        word = str(vector["word"])
        assert [str(s) for s in bloom.seed(word)] == vector["seed"]
        cohorts = range(bloom.cohorts)
        assert [bloom.positions(word, c) for c in cohorts] == vector["positions"]
        assert [bloom.filter(word, c).hex() for c in cohorts] == vector["filters"]

    def test_bulk_forms_agree_with_the_scalar_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bloom = BloomFilter(1024, 3, 5, b"another key")
        words = [f"wörd {i}" for i in range(200)]
        expected = np.array([[bloom.positions(w, c) for c in range(5)] for w in words])
        for small in (0, 1 << 60):  # compiled and plain
            monkeypatch.setattr("rumor.core.loops.SMALL_BYTES", small)
            table = bloom.map(bloom.seeds(words))
            assert np.array_equal(table.reshape(200, 5, 3), expected)
        cohorts = np.arange(200) % 5
        rows = bloom.rows(bloom.seeds(words), cohorts)
        assert np.array_equal(rows, expected[np.arange(200), cohorts])

    def test_composed_and_decomposed_letters_are_one_word(self) -> None:
        bloom = BloomFilter(64, 2, 1, b"key")
        assert bloom.seed("caf\u00e9") == bloom.seed("cafe\u0301")

    @pytest.mark.parametrize("bits", [3, 100, 128, 60_001, 65_536])
    def test_any_number_of_bits_is_a_modulus(self, bits: int) -> None:
        bloom = BloomFilter(bits, 3, 4, b"key")
        seeds = bloom.seeds(["one", "two"])
        table = bloom.map(seeds).reshape(2, 4, 3)
        for row, word in enumerate(("one", "two")):
            s0, s1 = bloom.seed(word)
            for cohort in range(4):
                own = [mix64(s0 ^ mix64(s1 + 3 * cohort + i)) % bits for i in range(3)]
                assert bloom.positions(word, cohort) == own
                assert table[row, cohort].tolist() == own
                assert bloom.rows(seeds[row : row + 1], np.array([cohort]))[0].tolist() == own
                packed = int.from_bytes(bloom.filter(word, cohort), "little")
                assert packed == sum({1 << bit for bit in own})

    def test_positions_are_uniform(self) -> None:
        # 60,000 positions on 64 bits: chi-squared with 63 degrees of freedom has mean 63 and
        # standard deviation 11.2; five of them above is 119.
        bloom = BloomFilter(64, 2, 3, b"key")
        table = bloom.map(bloom.seeds([str(i) for i in range(10_000)]))
        counts = np.bincount(table.ravel(), minlength=64)
        expected = table.size / 64
        assert ((counts - expected) ** 2 / expected).sum() < 119

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ((131072, 1, 1, b"k"), "bits must be an integer from 2 to 65,536; got 131,072"),
            ((1024, 1, 65536, b"k"), r"cohorts times bits must be at most 2\^24; got 67,108,864"),
            ((64, 0, 1, b"k"), "hashes must be an integer from 1 to 64; got 0"),
            ((64, 1, 1, b""), "key must be a non-empty bytes object; got b''"),
        ],
    )
    def test_bad_shapes_are_refused(
        self, arguments: tuple[int, int, int, bytes], sentence: str
    ) -> None:
        with pytest.raises(rumor.InputError, match=sentence):
            BloomFilter(*arguments)


class TestPrivacyOverTime:
    # h, f, p, q: epsilon after 1, 2, 3, 5, 10, 20, 50 reports, and for ever.
    PUBLISHED = (
        ((2, 0.5, 0.5, 0.75), (1.074, 2.017, 2.756, 3.656, 4.299, 4.393, 4.394), 4.394),
        ((2, 0.75, 0.5, 0.75), (0.534, 0.990, 1.334, 1.734, 2.005, 2.043, 2.043), 2.043),
        ((4, 0.5, 0.5, 0.75), (2.149, 4.034, 5.511, 7.312, 8.599, 8.786, 8.789), 8.789),
        ((1, 0.5, 0.25, 0.75), (1.022, 1.695, 2.011, 2.175, 2.197, 2.197, 2.197), 2.197),
        ((2, 0.45, 0.39, 0.61), (0.973, 1.881, 2.672, 3.816, 4.806, 4.945, 4.947), 4.947),
        ((2, 0.5, 0.25, 0.75), (2.043, 3.389, 4.022, 4.351, 4.394, 4.394, 4.394), 4.394),
    )

    @pytest.mark.parametrize(("setting", "curve", "forever"), PUBLISHED)
    def test_known_numbers(
        self, setting: tuple[int, float, float, float], curve: tuple[float, ...], forever: float
    ) -> None:
        mechanism = rappor(*setting)
        counts = (1, 2, 3, 5, 10, 20, 50)
        assert [round(mechanism.epsilon_after(n), 3) for n in counts] == pytest.approx(curve)
        assert round(mechanism.epsilon_permanent, 3) == forever
        assert mechanism.epsilon_after(1) == mechanism.epsilon
        assert mechanism.epsilon_after(100_000) <= mechanism.epsilon_permanent

    def test_without_permanent_noise_every_report_costs_as_much_again(self) -> None:
        mechanism = rappor(1, 0, 0.5, 0.75)
        assert mechanism.epsilon_after(7) == pytest.approx(7 * math.log(3), rel=1e-15)
        assert mechanism.epsilon_permanent == math.inf

    def test_expected_loss(self) -> None:
        mechanism = rappor(2, 0.5, 0.5, 0.75)
        found = [round(mechanism.expected_loss(n), 3) for n in (1, 2, 3, 5, 10)]
        assert found == [0.134, 0.256, 0.366, 0.561, 0.940]
        assert mechanism.expected_loss(5000) == pytest.approx(math.log(3) * 2, abs=1e-3)

    @pytest.mark.parametrize(
        ("bits", "hashes", "one", "forever"),
        [
            (4, 1, 0.5371, 2.1972),
            (2, 1, 0.5371, 2.1972),
            (8, 2, 1.0743, 4.3944),
            (4, 3, 1.2101, 4.3944),
        ],
    )
    def test_brute_force_over_all_filters_and_reports(
        self, bits: int, hashes: int, one: float, forever: float
    ) -> None:
        """Every pair of filters of 1 to h bits, every report: the formula is the maximum."""
        mechanism = rappor(hashes, 0.5, 0.5, 0.75, bits=bits)
        noise, worst, permanent = mechanism.noise, Fraction(1), Fraction(1)
        p, q = noise.exact_p_star, noise.exact_q_star
        flip = Fraction(noise.flip, 1 << 64)
        filters = [s for w in range(1, hashes + 1) for s in itertools.combinations(range(bits), w)]
        for first, second in itertools.product(filters, repeat=2):
            # Bits are independent, so the worst report takes the worst of each bit.
            ratio = kept = Fraction(1)
            for bit in set(first) ^ set(second):
                chances = (q, p) if bit in first else (p, q)
                ratio *= max(chances[0] / chances[1], (1 - chances[0]) / (1 - chances[1]))
                kept *= (1 - flip) / flip
            worst, permanent = max(worst, ratio), max(permanent, kept)
        assert mechanism.epsilon == pytest.approx(math.log(worst), rel=1e-14)
        assert round(mechanism.epsilon, 4) == pytest.approx(one, abs=1.01e-4)
        assert mechanism.epsilon_permanent == pytest.approx(math.log(permanent), rel=1e-14)
        assert round(mechanism.epsilon_permanent, 4) == pytest.approx(forever, abs=1.01e-4)

    @pytest.mark.parametrize("reports", [1, 2, 3])
    def test_brute_force_over_all_transcripts(self, reports: int) -> None:
        """All sequences of reports of one bit, permanent answer shared: R_n is their extreme."""
        noise = TwoStageNoise.of(0.5, 0.25, 0.75)
        flip, p, q = (Fraction(t, 1 << 64) for t in (noise.flip, noise.low, noise.high))

        def chance(bit: int, sequence: tuple[int, ...]) -> Fraction:
            total = Fraction(0)
            for permanent in (0, 1):
                one = q if permanent else p
                weight = flip if permanent != bit else 1 - flip
                for report in sequence:
                    weight *= one if report else 1 - one
                total += weight
            return total

        ratios = [chance(1, s) / chance(0, s) for s in itertools.product((0, 1), repeat=reports)]
        assert noise.loss_after(reports, 1, 0) == pytest.approx(math.log(max(ratios)), rel=1e-14)
        assert noise.loss_after(reports, 0, 1) == pytest.approx(-math.log(min(ratios)), rel=1e-14)

    def test_overlapping_words_lose_less(self) -> None:
        mechanism = rappor(2, 0.5, 0.5, 0.75, bits=8)
        words = [f"word {i}" for i in range(60)]
        losses = {
            (w, v): mechanism.pair_epsilon(w, v, 0) for w, v in itertools.combinations(words, 2)
        }
        assert max(losses.values()) == mechanism.epsilon
        assert min(losses.values()) == 0.0  # two words with the same filter cannot be told apart
        one_shared = rappor(1, 0.5, 0.5, 0.75).epsilon
        assert any(loss == pytest.approx(one_shared, rel=1e-12) for loss in losses.values())

    def test_changing_values_add_up(self) -> None:
        mechanism = rappor(2, 0.5, 0.5, 0.75)
        forever = mechanism.epsilon_permanent
        assert mechanism.epsilon_for_values(3) == pytest.approx(3 * forever, rel=1e-15)
        assert mechanism.epsilon_for_values(3) >= 3 * Fraction(forever)
        assert mechanism.epsilon_for_values(2, reports=5) == 2 * mechanism.epsilon_after(5)

    def test_the_two_meanings_of_one_time(self) -> None:
        paper = rumor.Rappor.one_time(f=0.5, key=b"key", hashes=2)
        simulated = rappor(2, 0, 0.25, 0.75)
        assert paper.epsilon == pytest.approx(4 * math.log(3), rel=1e-15)
        assert paper.epsilon == simulated.epsilon
        assert paper.epsilon_after(9) == paper.epsilon  # nothing new in a second report
        assert rappor(2, 0, 0.5, 0.75).epsilon == pytest.approx(2 * math.log(3), rel=1e-15)

    @given(
        st.integers(1, 4),
        st.floats(0.01, 0.99),
        st.floats(0.01, 0.98),
        st.floats(0.01, 0.99),
        st.integers(2, 60),
    )
    def test_more_reports_never_cost_less_and_never_more_than_for_ever(
        self, h: int, f: float, p: float, q: float, n: int
    ) -> None:
        if q <= p + 1e-6:
            return
        mechanism = rappor(h, f, p, q)
        before, after = mechanism.epsilon_after(n - 1), mechanism.epsilon_after(n)
        assert before <= after * (1 + 1e-15)
        assert after <= mechanism.epsilon_permanent * (1 + 1e-15)


class TestBadInput:
    @pytest.mark.parametrize(
        ("f", "p", "q", "sentence"),
        [
            (1.0, 0.5, 0.75, "f must be a number at least 0 and below 1; got 1.0"),
            (-0.1, 0.5, 0.75, "f must be a number at least 0 and below 1; got -0.1"),
            (0.5, 0.75, 0.5, "q must be above p"),
            (0.5, 0.5, 0.5, "q must be above p"),
            (0.5, math.nan, 0.75, "p must be a number at least 0 and below 1; got nan"),
            (0.5, 0.5, 1.5, "q must be a number above 0 and at most 1; got 1.5"),
            (0.0, 0.0, 1.0, r"without permanent noise \(f = 0\) a report must be noisy"),
        ],
    )
    def test_noise_out_of_range(self, f: float, p: float, q: float, sentence: str) -> None:
        with pytest.raises(rumor.InputError, match=sentence):
            rappor(1, f, p, q)

    def test_values_must_be_words(self) -> None:
        with pytest.raises(rumor.InputError, match="values must be texts; got dtype int64"):
            rappor(1, 0.5, 0.5, 0.75).privatize(np.array([1, 2]))
        with pytest.raises(rumor.InputError, match="a word must be a text; got a number"):
            rappor(1, 0.5, 0.5, 0.75).report(5)

    def test_a_cohort_out_of_range_is_refused(self) -> None:
        mechanism = rumor.Rappor(bits=8, hashes=1, cohorts=3, f=0.5, p=0.5, q=0.75, key=b"key")
        validity = mechanism.validate([bytes([2, 255]), bytes([3, 0])])
        assert validity.valid.tolist() == [True, False]
        assert validity.explain(1) == "a report has a cohort from 0 to 2 and 8 bits"


def test_named_constructors_are_the_variants() -> None:
    full = rumor.Rappor.full(key=b"key")
    assert (full.bits, full.hashes, full.cohorts) == (128, 2, 64)
    assert (full.noise.f, full.noise.p, full.noise.q) == (0.5, 0.5, 0.75)
    basic = rumor.Rappor.basic(labels=["male", "female"])
    assert basic.epsilon == pytest.approx(rappor(1, 0.5, 0.5, 0.75).epsilon, rel=1e-15)
    simulated = rumor.Rappor.basic_one_time(labels=1000, p=0.5, q=0.75)
    assert simulated.parameters() == rumor.Rappor.basic(labels=1000, f=0).parameters()
    assert simulated.epsilon == pytest.approx(math.log(3), rel=1e-15)
    none = rumor.Rappor.basic_one_time(labels=1000, f=0, p=0.5, q=0.75)
    assert none.parameters() == simulated.parameters()
    for f, p, q in ((None, None, None), (0.5, 0.5, 0.75), (None, 0.5, None), (0.5, None, 0.75)):
        with pytest.raises(rumor.InputError, match="needs f, or p and q; got f"):
            rumor.Rappor.basic_one_time(labels=2, f=f, p=p, q=q)
    once = rumor.Rappor.basic_one_time(labels=1000, f=0.5)
    assert once.epsilon == pytest.approx(2 * math.log(3), rel=1e-15)
    assert once.width == 125


class TestNamesOfThePaper:
    """k, h and m are bits, hashes and cohorts; epsilon_1 and epsilon_infinity are exact losses."""

    @staticmethod
    def shaped(**shape: Unpack[FilterShape]) -> rumor.Rappor:
        return rumor.Rappor(**shape, f=0.5, p=0.5, q=0.75, key=b"key")

    def test_the_letters_of_the_paper_are_our_names(self) -> None:
        ours = self.shaped(bits=32, hashes=3, cohorts=8)
        assert self.shaped(k=32, h=3, m=8) == ours
        assert self.shaped(bits=32, h=3, m=8, cohorts=8) == ours
        made = rumor.mechanism("rappor", k=32, h=3, m=8, f=0.5, p=0.5, q=0.75, key=b"key")
        assert made == ours
        assert (ours.bits, ours.hashes, ours.cohorts) == (32, 3, 8)

    @pytest.mark.parametrize(
        ("make", "f"), [(rumor.Rappor.full, 0.5), (rumor.Rappor.one_time, 0.25)]
    )
    def test_named_constructors_take_either_and_default_to_the_paper(
        self, make: Callable[..., rumor.Rappor], f: float
    ) -> None:
        usual = make(key=b"key", f=f)
        assert make(key=b"key", f=f, bits=128, hashes=2, cohorts=64) == usual
        assert make(key=b"key", f=f, k=128, h=2, m=64) == usual
        assert make(key=b"key", f=f, k=256) == make(key=b"key", f=f, bits=256) != usual

    @pytest.mark.parametrize(
        ("shape", "sentence"),
        [
            ({"bits": 32, "k": 64, "h": 2, "m": 4}, "bits and k are one number; got bits 32 and k"),
            ({"k": 32, "hashes": 1, "h": 2, "m": 4}, "hashes and h are one number; got hashes 1"),
            (
                {"k": 32, "h": 2, "m": 4, "cohorts": 8},
                "cohorts and m are one number",
            ),
            ({"h": 2, "m": 4}, r"Rappor needs bits \(or k\); got none"),
            ({"k": 32, "m": 4}, r"Rappor needs hashes \(or h\); got none"),
            ({"k": 32, "h": 2}, r"Rappor needs cohorts \(or m\); got none"),
        ],
    )
    def test_two_numbers_or_none_are_refused(self, shape: FilterShape, sentence: str) -> None:
        with pytest.raises(rumor.InputError, match=f"^{sentence}"):
            self.shaped(**shape)

    def test_a_contradiction_is_refused_by_named_constructors_too(self) -> None:
        with pytest.raises(rumor.InputError, match=r"^bits and k are one number"):
            rumor.Rappor.full(key=b"key", bits=128, k=64)
        with pytest.raises(rumor.InputError, match=r"^cohorts and m are one number"):
            rumor.Rappor.one_time(key=b"key", f=0.5, cohorts=2, m=4)

    def test_repr_shows_noise_and_shape(self) -> None:
        assert repr(rumor.Rappor.full(key=b"key")).startswith(
            "Rappor(f=0.5, p=0.5, q=0.75, k=128, h=2, m=64; epsilon 1.07429"
        )

    @pytest.mark.parametrize(
        "mechanism", [rumor.Rappor.full(key=b"key"), rumor.Rappor.basic(labels=3)]
    )
    def test_epsilon_1_is_one_report_and_epsilon_infinity_any_number(
        self, mechanism: rumor.Rappor
    ) -> None:
        assert mechanism.epsilon_1 == mechanism.epsilon == mechanism.epsilon_after(1)
        assert mechanism.epsilon_infinity == mechanism.epsilon_permanent
        bits = 4 if mechanism.name == "rappor" else 2
        assert mechanism.epsilon_infinity == pytest.approx(bits * math.log(3), rel=1e-12)


def test_basic_rappor_is_estimated_like_any_oracle() -> None:
    basic = rumor.Rappor.basic(labels=["a", "b", "c", "d", "e"])
    truth = np.array([0.5, 0.25, 0.15, 0.1, 0.0])
    values = np.repeat(np.arange(5), (truth * 40_000).astype(int))
    result = rumor.estimate(basic, basic.without_labels().privatize(values, random=rumor.Seeded(1)))
    assert result.values == ("a", "b", "c", "d", "e")
    spread = np.sqrt(basic.variance(truth, 40_000, "people"))
    assert np.all(abs(result.unbiased - truth) < 5 * spread)


def test_tally_counts_cohorts_and_bits() -> None:
    mechanism = rumor.Rappor(bits=16, hashes=2, cohorts=3, f=0.5, p=0.5, q=0.75, key=b"key")
    reports = mechanism.privatize([f"w{i % 7}" for i in range(500)], random=rumor.Seeded(2))
    sizes, counts = mechanism.cohort_counts(mechanism.tally(reports))
    for cohort in range(3):
        rows = reports[reports[:, 0] == cohort]
        lanes = np.unpackbits(rows[:, 1:], axis=1, bitorder="little")
        assert sizes[cohort] == len(rows)
        assert np.array_equal(counts[cohort], lanes.sum(axis=0))
