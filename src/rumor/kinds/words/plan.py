"""Planning open words: how frequent a word must be to be found, by its length."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rumor.core.randomness import Seeded
from rumor.kinds.planning.planned import BudgetSpec, MechanismChoice, PlannedQuestion, Size, Squares
from rumor.kinds.words.code_tables import shipped_code
from rumor.kinds.words.fit.forecast import fakes_to_invent, needed_share
from rumor.kinds.words.fit.found import look_for
from rumor.mechanisms.open_words.design import LONGEST, open_words
from rumor.mechanisms.open_words.open_words import OpenWords

# Characters of the words that a plan speaks of.
LENGTHS = (4, 7, 12)
MIDDLE = 7
_CODE = "latin"
# A share that the error of an estimate is told for.
_SHARE = 0.01
# Other words of a simulated crowd.
_TAIL = 30_000
# What people see as one character: a grinning face, and a family of four in seven code points.
_EMOJI = "\U0001f600"
_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


class PlannedWords(PlannedQuestion[OpenWords]):
    """Words of up to twenty letters that nobody listed."""

    sized = f"words of up to {LONGEST} letters"
    truth = f"a word of {MIDDLE} letters in a tail of others"
    error_of = "the share of a word that 1% of respondents hold"
    default_of = "method auto, here the same"
    detects = f"the share at which a word of {MIDDLE} letters is found"
    simulated = 1_000_000

    def candidates(self, wish: BudgetSpec) -> list[MechanismChoice[OpenWords]]:
        """The one mechanism: everything about it follows from epsilon and the length."""
        made = open_words(
            epsilon=wish.epsilon, code=shipped_code(_CODE), longest=LONGEST, key=b"plan"
        )
        shape = {"levels": made.levels, "buckets": made.buckets}
        return [MechanismChoice(made.name, made, {"epsilon": wish.epsilon}, shape)]

    def error(self, mechanism: OpenWords, users: int) -> float:
        """From all levels after the third: where words of a middling length end."""
        return _error(mechanism, users, _SHARE, sum(mechanism.weights[3:]))

    def default(self, mechanism: OpenWords, users: int) -> None:
        """Shares come as they are: there is no other estimate."""
        return

    def detectable(self, mechanism: OpenWords, users: int) -> float:
        """The share at which it is found nine times in ten."""
        return min(1.0, needed_share(mechanism, users, word_bits(mechanism, MIDDLE), 0.9))

    def choose(
        self, candidates: Sequence[MechanismChoice[OpenWords]], users: int, wish: BudgetSpec
    ) -> MechanismChoice[OpenWords]:
        """There is one."""
        return candidates[0]

    def notes(self, mechanism: OpenWords, users: int) -> list[str]:
        """What words of other lengths need."""
        bits = {length: word_bits(mechanism, length) for length in LENGTHS}
        found = ", ".join(
            f"{length} letters {_said(needed_share(mechanism, users, size, 0.5))}"
            for length, size in bits.items()
        )
        fakes = fakes_to_invent(mechanism, users, bits[MIDDLE])
        return [
            f"Fakes who are {_said(fakes)} of all reports can have a word of {MIDDLE} letters "
            f"found, half of the time, that nobody holds.",
            f"Found half of the time, by length: {found}. Whoever holds a longer word than "
            f"{LONGEST} letters takes part and is counted, and the word is not named. One emoji "
            f"takes the room of {_letters(mechanism, _EMOJI)} letters, a family of four that of "
            f"{_letters(mechanism, _FAMILY)}: name some in `fits`.",
        ]

    def question(self) -> Mapping[str, object]:
        """Open, of this length."""
        return {"words": "open", "longest": LONGEST}

    def linear(self, mechanism: OpenWords, users: int) -> float:
        """Of the simulated word, from every level at which it has ended."""
        ended = -(-word_bits(mechanism, MIDDLE) // mechanism.step) - 1
        share = self.detectable(mechanism, users)
        return _error(mechanism, users, share, sum(mechanism.weights[ended:]))

    def trials(self, mechanism: OpenWords, users: int, seed: int) -> Iterator[Squares]:
        """One word, looked for in a tail of others."""
        source, rng = Seeded(seed), np.random.default_rng(seed)
        letters, share = np.array(list("etaoinsrhldcumfpgwyb")), self.detectable(mechanism, users)
        tail = ["".join(rng.choice(letters, MIDDLE)) for _ in range(min(users, _TAIL))]
        words = ["".join(rng.choice(letters, MIDDLE)), *tail]
        stems = mechanism.stems.table(words)
        while True:
            held = rng.integers(1, len(words), size=users)
            held[: round(share * users)] = 0
            reports = mechanism.privatize_prefixes(stems, held, random=source)
            found = look_for(mechanism, mechanism.tally(reports), words[:1])
            yield float(found.share[0] - round(share * users) / users) ** 2, 0.0


def _error(mechanism: OpenWords, users: int, share: float, weights: int) -> float:
    """Of a share, from levels of so much weight."""
    part, rate = weights / sum(mechanism.weights), 1 / mechanism.buckets + mechanism.gain * share
    return float(np.sqrt(rate * (1 - rate) / (users * part)) / mechanism.gain)


def word_bits(mechanism: OpenWords, letters: int) -> int:
    """The bits of a word of so many letters, as the code expects them, with its end."""
    mean, _ = mechanism.code.bits_per_character()
    return round(letters * mean + mechanism.code.end_bits)


def _letters(mechanism: OpenWords, word: str) -> int:
    """Return how many letters, as the code expects them, take as many bits as a word does."""
    mean, _ = mechanism.code.bits_per_character()
    return math.ceil((mechanism.code.write(word).length - mechanism.code.end_bits) / mean)


def _said(share: float) -> str:
    return "never" if share >= 1 else f"{100 * share:.2g}%"


def planned(size: Size) -> PlannedWords:
    """Words have no size but their length, which is the usual one."""
    return PlannedWords(size)
