"""The laws fail mechanisms that are wrong: three classic mistakes, each caught by name.

A law that nothing can break proves nothing. Each mistake here was made somewhere in the
wild; it leaves estimates looking plausible while the promise of privacy is void.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rumor.core.exact import WORD
from rumor.core.randomness import Draws, RandomSource, Seeded, StreamDraws
from rumor.core.reports import Reports
from rumor.mechanisms import Mechanism, RandomizedResponse, UnaryEncoding
from tests.laws import laws, oracle_laws
from tests.laws.laws import (
    LAWS,
    Law,
    law_audit,
    law_bulk_compiled_agrees,
    law_bulk_plain_agrees,
    law_draw_is_the_channel,
    law_epsilon_is_exact,
    law_people_are_independent,
    law_reports_are_recognised,
    law_rows_sum_to_one,
    law_scalar_agrees,
)
from tests.laws.oracle_laws import (
    ORACLE_LAWS,
    law_forward_and_adjoint,
    law_hit_and_miss,
    law_unbiased,
)


def one_by_one(mechanism: Mechanism, values: object, source: RandomSource) -> Reports:
    """A bulk randomiser made of reference draws, so that both forms have the same mistake."""
    draws = StreamDraws(source.stream())
    reports = [mechanism.draw(value, draws) for value in values]  # type: ignore[attr-defined]
    return np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(-1, mechanism.width)


class NeverCleared(UnaryEncoding):
    """A client that adds noise to the true bit's report but never clears the bit itself."""

    def draw(self, value: object, draws: Draws) -> bytes:
        code = self.code(value)
        noisy = bytearray(super().draw(value, draws))
        noisy[code >> 3] |= 1 << (code & 7)
        return bytes(noisy)

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        reports, codes = super()._privatize(values, source), self.encode(values)
        reports[np.arange(codes.size), codes >> 3] |= np.left_shift(1, codes & 7).astype(np.uint8)
        return reports


class NeverClearedAndAdmitted(NeverCleared):
    """The same, with a model that tells the truth about it, and the old claim of epsilon."""

    def probability(self, report: bytes, value: object) -> Fraction:
        cleared = not int.from_bytes(report, "little") >> self.code(value) & 1
        return Fraction(0) if cleared else super().probability(report, value) / self.exact_hit


class OffByOne(RandomizedResponse):
    """Lies skip the value before the true one instead of the true one."""

    def draw(self, value: object, draws: Draws) -> bytes:
        code = self.code(value)
        if not draws.coin(self.truth):
            other = draws.below(self.domain - 1)
            code = other + (other >= code - 1)
        return code.to_bytes(self.width, "little")

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        return one_by_one(self, values, source)


class OffByOneInBulk(RandomizedResponse):
    """The reference draw is right; the bulk form alone has the mistake."""

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        return one_by_one(OffByOne.from_parameters(self.parameters()), values, source)


class FloatThresholds(RandomizedResponse):
    """The threshold from a double's 53 bits, and epsilon as it was asked for."""

    def __init__(self, *, domain: int, epsilon: float) -> None:
        super().__init__(domain=domain, epsilon=epsilon)
        power = math.exp(epsilon)
        self.truth = round(power / (power + domain - 1) * WORD)
        self.__dict__["epsilon"] = epsilon


class Repeating(RandomizedResponse):
    """Every block of 1000 people gets the same noise."""

    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes, stream = self.encode(values), source.stream()
        draws = [
            (bool(truth), int(other))
            for truth, other in zip(
                stream.words(1000) < np.uint64(self.truth),
                stream.below(self.domain - 1, 1000),
                strict=True,
            )
        ]
        kept = [
            code if truth else other + (other >= code)
            for code, (truth, other) in zip(codes.tolist(), draws * codes.size, strict=False)
        ]
        return np.array(kept, dtype=np.uint8).reshape(-1, 1)


class SharesPadding(UnaryEncoding):
    """Validation that forgets the padding bits: a covert channel, and counts that overflow."""

    def validate(self, reports: object) -> object:  # type: ignore[override]
        verdict = super().validate(reports)
        object.__setattr__(verdict, "valid", np.ones_like(verdict.valid))
        return verdict


class ForgetsABit(UnaryEncoding):
    """An adjoint that loses the weight of the last value."""

    def adjoint(self, reports: Reports, w: np.ndarray) -> np.ndarray:
        weights = super().adjoint(reports, w).copy()
        weights[-1] = 0.0
        return weights


NEVER_CLEARED = NeverCleared(domain=3, epsilon=1.0)
ADMITTED = NeverClearedAndAdmitted(domain=3, epsilon=1.0)
OFF_BY_ONE = OffByOne(domain=7, epsilon=1.0)
IN_BULK = OffByOneInBulk(domain=7, epsilon=1.0)

CAUGHT: list[tuple[Mechanism, Law]] = [
    # A bit never cleared: the code is not its model, and an attacker sees it.
    (NEVER_CLEARED, law_draw_is_the_channel),
    (NEVER_CLEARED, law_bulk_plain_agrees),
    (NEVER_CLEARED, law_bulk_compiled_agrees),
    (NEVER_CLEARED, law_scalar_agrees),
    (NEVER_CLEARED, law_audit),
    # Had the model been honest about it, the privacy it claims would be refuted.
    (ADMITTED, law_rows_sum_to_one),
    (ADMITTED, law_epsilon_is_exact),
    # An off-by-one among the other values: one of them can never come out.
    (OFF_BY_ONE, law_draw_is_the_channel),
    (OFF_BY_ONE, law_bulk_plain_agrees),
    (OFF_BY_ONE, law_scalar_agrees),
    (OFF_BY_ONE, law_audit),
    (IN_BULK, law_bulk_plain_agrees),
    (IN_BULK, law_audit),
    # Others that show what the remaining laws are for.
    (Repeating(domain=5, epsilon=1.0), law_people_are_independent),
    (SharesPadding(domain=3, epsilon=1.0), law_reports_are_recognised),
]


@pytest.mark.parametrize(
    ("mechanism", "law"), CAUGHT, ids=lambda item: getattr(item, "__name__", type(item).__name__)
)
def test_a_broken_mechanism_is_caught(mechanism: Mechanism, law: Law) -> None:
    with pytest.raises(AssertionError):
        law(mechanism)


def test_admitting_a_cleared_bit_is_an_infinite_loss() -> None:
    """The model of the broken client still sums to 1: only the privacy law can refuse it."""
    row = [ADMITTED.probability(bytes([y]), 0) for y in range(8)]
    assert sum(row) == 1
    with pytest.raises(AssertionError, match="tells values apart"):
        law_epsilon_is_exact(ADMITTED)


@pytest.mark.parametrize("broken", [OFF_BY_ONE, IN_BULK], ids=["everywhere", "in-bulk"])
def test_the_value_before_never_comes_out(broken: Mechanism) -> None:
    """What the laws saw: the mistake is real in these mechanisms, not in the laws."""
    reports = one_by_one(OFF_BY_ONE, [3] * 2000, Seeded(1))
    assert 2 not in reports
    assert set(reports.ravel().tolist()) == {0, 1, 3, 4, 5, 6}
    assert broken.epsilon == RandomizedResponse(domain=7, epsilon=1.0).epsilon


def test_thresholds_from_floats_break_their_claim() -> None:
    """Sampling cannot see the 54th bit; exact arithmetic can.

    Of a hundred epsilons, a good part round upwards and exceed what was promised; every
    one of those is refused, and the exact threshold never is.
    """
    refused = 0
    for k in range(1, 101):
        epsilon = k / 10
        law_epsilon_is_exact(RandomizedResponse(domain=3, epsilon=epsilon))
        broken = FloatThresholds(domain=3, epsilon=epsilon)
        honest = RandomizedResponse(domain=3, epsilon=epsilon)
        assert abs(broken.truth - honest.truth) < 1 << 12, "a difference far below sampling"
        if broken.truth > honest.truth:
            with pytest.raises(AssertionError, match="exceeds the claim"):
                law_epsilon_is_exact(broken)
            refused += 1
    assert 20 <= refused <= 80


def test_an_oracle_that_forgets_a_bit_is_caught() -> None:
    with pytest.raises(AssertionError):
        law_forward_and_adjoint(ForgetsABit(domain=5, epsilon=1.0))


def test_an_oracle_with_a_wrong_rate_is_caught() -> None:
    class WrongMiss(UnaryEncoding):
        @property
        def exact_miss(self) -> Fraction:
            return super().exact_miss + Fraction(1, WORD)

        def probability(self, report: bytes, value: object) -> Fraction:
            right = UnaryEncoding.from_parameters(self.parameters())
            return right.probability(report, value)

    class Biased(UnaryEncoding):
        def unbiased(self, tally: np.ndarray, reports: int) -> np.ndarray:
            return super().unbiased(tally, reports) + 1e-9

    with pytest.raises(AssertionError):
        law_hit_and_miss(WrongMiss(domain=4, epsilon=1.0))
    with pytest.raises(AssertionError):
        law_unbiased(Biased(domain=4, epsilon=1.0))


def test_what_is_not_broken_passes_the_laws_that_caught_the_rest() -> None:
    """The mistakes are the only difference between these and their parents."""
    for parent in (UnaryEncoding(domain=3, epsilon=1.0), RandomizedResponse(domain=7, epsilon=1.0)):
        for law in {law for _, law in CAUGHT}:
            law(parent)
        for oracle_law in ORACLE_LAWS:
            oracle_law(parent)


def test_every_law_is_listed() -> None:
    """A law that is written but not run is a law that nobody keeps."""

    def written(module: object) -> set[object]:
        return {
            item
            for name, item in vars(module).items()
            if name.startswith("law_") and item.__module__ == getattr(module, "__name__", "")
        }

    called_by_class = {law_draw_is_the_channel, oracle_laws.law_epsilon_is_a_ceiling}
    assert written(laws) | written(oracle_laws) == {*LAWS, *ORACLE_LAWS} | called_by_class
