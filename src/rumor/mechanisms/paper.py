"""Designs on paper: a die, a card or a birthday randomises an answer in the person's own hand.

Warner 1965 and its successors (`DESIGNS`). A design asks for one of two answers and is answered by
one of two words: "yes" and "no", the colour of a card, "same" or "different". Dice have equally
likely faces, so the chances are exact fractions and no threshold is rounded.

Model, with n faces, h of them for people with the first answer and o for all others:
    P(first word | first answer) = h / n
    P(first word | second answer) = o / n
A report is the answer that the word speaks for: 0 where h > o and the word is the first, or where
h < o and the word is the second, else 1. With p and q the chances of report 0 given either answer:
Privacy: the loss is the larger of ln(p / q) and ln((1 - q) / (1 - p)). It is infinite where p = 1
(nobody with the first answer gives report 1) or q = 0: one of the words then proves an answer.
Report: one byte, 0 or 1.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import NDArray

from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, checked_size, known_keys
from rumor.core.errors import InputError, format_value
from rumor.core.exact import checked_epsilon, worst_log_ratio
from rumor.core.randomness import Draws, RandomSource
from rumor.core.reports import Reports, little_endian
from rumor.core.types import Codes, Tally, Target, Vector
from rumor.core.typing import override
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.blanket import Blanket, distributions_blanket
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.randomized_response import RandomizedResponse
from rumor.mechanisms.shapes import exact_parameters
from rumor.mechanisms.support import Score

MAX_FACES = 1 << 32
_MAX_DENOMINATOR = 10_000

Chances = tuple[Fraction, Fraction]
"""The chance of the first word given the first answer, and given the second."""


@dataclass(frozen=True)
class Design:
    """A way to answer with a randomiser in the person's hand."""

    options: tuple[str, ...]
    """The chances that a collection gives."""
    chances: Callable[..., Chances]
    """The chances of the first word that these options make."""
    options_of: Callable[[Fraction, Fraction], tuple[Fraction, ...]]
    """The options that make these chances of the first word."""
    words: tuple[str, str] | None = None
    """The words of an interviewer's table; None where they are the answers themselves."""

    def holds(self, chances: Chances) -> bool:
        """Return whether this design can make these `chances` of the first word."""
        options = self.options_of(*chances)
        return all(0 <= one < 1 for one in options) and self.chances(*options) == chances


_ONE = Fraction(1)

DESIGNS: Mapping[str, Design] = {
    # The spinner points to "I do" with chance `truth` and to "I do not" else; say whether it is so.
    "warner": Design(("truth",), lambda truth: (truth, 1 - truth), lambda h, o: (h,)),
    # The die orders a "yes" or a "no" with these chances, which leave some for the truth.
    "forced-response": Design(
        ("yes", "no"),
        lambda yes, no: (1 - no, yes),
        lambda h, o: (o, 1 - h) if h > o else (_ONE, _ONE),
    ),
    # The die asks the question with chance `ask`; else one that a share `yes` of people affirm.
    "unrelated-question": Design(
        ("ask", "yes"),
        lambda ask, yes: (ask + (1 - ask) * yes, (1 - ask) * yes),
        lambda h, o: (h - o, o / (1 - h + o)),
    ),
    # Are the answers to both questions the same? A share `yes` affirms the harmless one.
    "crosswise": Design(
        ("yes",), lambda yes: (1 - yes, yes), lambda h, o: (o,), ("different", "same")
    ),
    # Circle: no to both questions. Triangle: yes to at least one.
    "triangular": Design(
        ("yes",), lambda yes: (_ONE, yes), lambda h, o: (o,), ("triangle", "circle")
    ),
    # A pack of cards for each answer: name the colour of the card drawn from your own.
    "kuk": Design(("yes", "no"), lambda yes, no: (yes, no), lambda h, o: (h, o), ("red", "black")),
    # Whoever must say yes says yes; all others answer as in Warner's design.
    "mangat": Design(("truth",), lambda truth: (_ONE, 1 - truth), lambda h, o: (1 - o,)),
}


class PaperDesign(RandomizedResponse):
    """A yes-or-no question whose answer the person randomises with dice, cards or a birthday."""

    name = "paper"
    FROM_EPSILON = False
    OPTIONS = ("design", "truth", "ask", "yes", "no")
    REQUIRED = ("design",)
    MAX_DOMAIN = 2
    # A report is the answer that the word speaks for. The other answer may be the likelier one.
    report_is_value = False
    by_hand = True

    def __init__(
        self,
        *,
        domain: int | Sequence[str] | None = None,
        design: str,
        truth: object = None,
        ask: object = None,
        yes: object = None,
        no: object = None,
        epsilon: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        """Make a `design`, with the chances that it needs as fractions such as "1/6".

        The first of two labels is the answer that `yes` and `truth` speak of. An `epsilon` is a
        ceiling on the loss that the design must keep.
        """
        FrequencyOracle.__init__(self, domain, labels)
        made = DESIGNS[checked_choice("design", design, tuple(DESIGNS))]
        said = {"truth": truth, "ask": ask, "yes": yes, "no": no}
        given = {name: value for name, value in said.items() if value is not None}
        known_keys(f"design {design!r}", given, made.options)
        missing = [name for name in made.options if name not in given]
        if missing:
            raise InputError(
                f"design {design!r} needs {' and '.join(made.options)}; "
                f"got no {' and no '.join(missing)}"
            )
        holders, others = made.chances(*(checked_chance(o, given[o]) for o in made.options))
        faces = math.lcm(holders.denominator, others.denominator)
        self._load_shape(design, faces, int(holders * faces), int(others * faces))
        if epsilon is not None and self.epsilon > checked_epsilon(epsilon):
            raise InputError(
                f"the chances of a design must keep the loss within epsilon {epsilon!r}; "
                f"got a loss of {self.epsilon:.6g}"
            )

    @override
    def parameters(self) -> dict[str, Json]:
        return {
            "domain": self.domain,
            "design": self.design,
            "faces": self.faces,
            "holders": self.holders,
            "others": self.others,
        }

    @classmethod
    @override
    def from_parameters(cls, parameters: Mapping[str, object]) -> Self:
        names = ("domain", "design", "faces", "holders", "others")
        domain, *shape = exact_parameters(cls.name, parameters, *names)
        self = cls.__new__(cls)
        self._load_domain(domain)
        self._load_shape(*shape)
        return self

    @override
    def _load_shape(self, design: object, faces: object, holders: object, others: object) -> None:
        self.design = checked_choice("design", design, tuple(DESIGNS))
        self.faces = checked_size("faces", faces, 2, MAX_FACES)
        self.holders = checked_size("holders", holders, 0, self.faces)
        self.others = checked_size("others", others, 0, self.faces)
        said = f"{self.holders} and {self.others} of {self.faces} faces"
        if self.holders == self.others or {self.holders, self.others} == {0, self.faces}:
            raise InputError(
                f"the words of a design must depend on the answer and not tell it; got {said}"
            )
        if math.gcd(self.faces, self.holders, self.others) != 1:
            raise InputError(f"the faces of a design must be as few as can be; got {said}")
        if not DESIGNS[self.design].holds(self._chances):
            raise InputError(
                f"the chances of a design must be those of {self.design!r}; got {said}"
            )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Return instances of equal and of unequal chances, and one of which "no" speaks for."""
        return [
            cls(domain=2, design="forced-response", yes="1/4", no="1/12"),
            cls(domain=2, design="crosswise", yes="1/4"),
            cls(domain=2, design="unrelated-question", ask="2/3", yes="1/6"),
            cls(domain=2, design="warner", truth="1/6"),
            cls(domain=2, design="kuk", yes="1/5", no="7/10"),
        ]

    @property
    def _chances(self) -> Chances:
        return Fraction(self.holders, self.faces), Fraction(self.others, self.faces)

    @property
    def options(self) -> dict[str, Fraction]:
        """The chances that a collection gives for this design."""
        made = DESIGNS[self.design]
        return dict(zip(made.options, made.options_of(*self._chances), strict=True))

    @property
    @override
    def title(self) -> str:
        chances = ", ".join(f"{name} {chance}" for name, chance in self.options.items())
        return f"{self.name} ({self.design}: {chances})"

    @property
    def is_reversed(self) -> bool:
        """Whether the first word speaks for the second answer."""
        return self.holders < self.others

    @property
    def proved(self) -> str | None:
        """The word that proves an answer, or None where every word leaves both possible."""
        first, second = self._chances
        if 0 in (first, second):
            return self.words[0]
        return self.words[1] if 1 in (first, second) else None

    @property
    def has_own_words(self) -> bool:
        """Whether people say words of the design instead of their answers."""
        return DESIGNS[self.design].words is not None

    @property
    def words(self) -> tuple[str, str]:
        """The words that people say: the design's own, or the two answers."""
        own = DESIGNS[self.design].words
        if own is not None:
            return own
        return ("0", "1") if self.labels is None else (self.labels[0], self.labels[1])

    @override
    def spoken(self) -> Self:
        first, second = self.words
        return self.with_labels((second, first) if self.is_reversed else (first, second))

    @override
    def transcribe(self, values: object) -> Reports:
        return little_endian(self.encode(values), self.width)

    @property
    @override
    def warning(self) -> str | None:
        if self.proved is None:
            return None
        return (
            f"the design {self.design!r} promises nothing: whoever says {self.proved!r} proves "
            f"the answer, so its epsilon is infinite"
        )

    @functools.cached_property
    def _zeros(self) -> tuple[int, int]:
        """The faces of report 0 given either answer."""
        if self.is_reversed:
            return self.faces - self.holders, self.faces - self.others
        return self.holders, self.others

    @functools.cached_property
    def _supported(self) -> tuple[Fraction, Fraction]:
        """The chances of report 0 given either answer, the larger one first."""
        own, other = self._zeros
        return Fraction(own, self.faces), Fraction(other, self.faces)

    @functools.cached_property
    def rates(self) -> tuple[float | Vector, float | Vector]:
        """The chances that each answer is supported by its own people and by the others."""
        own, other = map(float, self._supported)
        return np.array([own, 1 - other]), np.array([other, 1 - own])

    @property
    def exact_hit(self) -> Fraction:
        """The mean over both answers of the chance that its own people support it."""
        own, other = self._supported
        return (1 + own - other) / 2

    @property
    def exact_miss(self) -> Fraction:
        """The mean over both answers of the chance that others support it."""
        own, other = self._supported
        return (1 - own + other) / 2

    @property
    def exact_odds(self) -> Fraction:
        """The exact odds of the report that tells most; there are none where a word proves."""
        own, other = self._supported
        if self.proved is not None:
            raise InputError(f"odds must be finite; {self.warning}")
        return max(own / other, (1 - other) / (1 - own))

    @functools.cached_property
    def odds(self) -> float:
        """The odds of the report that tells most."""
        return math.inf if self.proved is not None else float(self.exact_odds)

    @functools.cached_property
    def epsilon(self) -> float:
        """The exact loss, infinite where one of the words proves an answer."""
        return math.inf if self.proved is not None else worst_log_ratio([self.exact_odds])

    @override
    def blanket(self) -> Blanket:
        if self.proved is not None:
            raise InputError(f"a crowd hides reports of a finite epsilon only; {self.warning}")
        return distributions_blanket([(chance, 1 - chance) for chance in self._supported])

    @override
    def probability(self, report: bytes, value: object) -> Fraction:
        zero = self._supported[self.code(value)]
        return 1 - zero if report[0] else zero

    @override
    def log_likelihood_ratio(
        self, reports: Reports, first: object, second: object
    ) -> NDArray[np.float64]:
        return Mechanism.log_likelihood_ratio(self, reports, first, second)

    @override
    def likelihood_rows(self, reports: Reports) -> Vector:
        own, other = map(float, self._supported)
        return np.array([[own, other], [1 - own, 1 - other]])[reports[:, 0]]

    @override
    def output_chances(self, law: Vector) -> Vector:
        zero = float(law @ np.array([float(chance) for chance in self._supported]))
        return np.array([zero, 1 - zero])

    def draw(self, value: object, draws: Draws) -> bytes:
        """Draw below(faces): report 0 on the first faces, as many as the answer has for it."""
        return bytes([draws.below(self.faces) >= self._zeros[self.code(value)]])

    @override
    def _privatize(self, values: object, source: RandomSource) -> Reports:
        codes: Codes = self.encode(values)
        fallen = source.stream().below(self.faces, codes.size)
        limits = np.array(self._zeros, dtype=np.uint64)
        return little_endian((fallen >= limits[codes]).astype(np.int64), self.width)

    @override
    def rare_rates(self, reports: int) -> tuple[float, float, float]:
        """Return the rates of the first answer."""
        return float(reports), float(self._supported[1]), self.gain

    @property
    @override
    def _largest_contribution(self) -> float:
        return float((1 - np.asarray(self.rates[1])).max()) / self.gain

    @property
    @override
    def _smallest_contribution(self) -> float:
        return -float(np.max(self.rates[1])) / self.gain

    @override
    def variance(
        self, frequency: Vector | float, reports: int, of: Target = "population"
    ) -> Vector:
        """Return the exact variance of the unbiased estimates; of a single number, that of the
        first answer with this frequency.
        """
        shares = np.asarray(frequency, dtype=np.float64)
        if shares.ndim:
            return super().variance(shares, reports, of)
        return np.asarray(super().variance(np.array([shares, 1 - shares]), reports, of)[0])

    @override
    def group_score(self, tally: Tally, reports: int, members: NDArray[np.intp]) -> Score:
        if members.size != 1:
            return super().group_score(tally, reports, members)
        whole, miss = self.score(tally, reports), np.asarray(self.rates[1])[members]
        return Score(
            excess=whole.excess[members],
            gain=whole.gain,
            spread={
                of: (np.asarray(v0)[members], np.asarray(v1)[members], v2)
                for of, (v0, v1, v2) in whole.spread.items()
            },
            ends=(-float(miss[0]), 1 - float(miss[0])),
        )


def checked_chance(name: str, value: object) -> Fraction:
    """Return an option's chance as an exact fraction: "1/6" and 0.25 are both exact."""
    rule = f'{name} must be a chance of at least 0 and below 1, such as "1/6" or 0.25'
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Fraction)):
        raise InputError(f"{rule}; got {format_value(value)}")
    try:
        # A decimal is taken as it is written: 0.3 is 3/10, and not the double next to it.
        exact = Fraction(repr(value) if isinstance(value, float) else value)
    except (ValueError, ZeroDivisionError):
        raise InputError(f"{rule}; got {format_value(value)}") from None
    if not 0 <= exact < 1:
        raise InputError(f"{rule}; got {format_value(value)}")
    if exact.denominator > _MAX_DENOMINATOR:
        raise InputError(
            f"{name} must be a fraction whose denominator is at most {_MAX_DENOMINATOR:,}; "
            f"got {format_value(value)}"
        )
    return exact
