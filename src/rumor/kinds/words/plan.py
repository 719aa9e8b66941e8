"""The plan of open words: the share that a word needs to be detected, by its length."""

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

# The lengths, in letters, of the words that a plan shows.
LENGTHS = (4, 7, 12)
MIDDLE = 7
_CODE = "latin"
# The share at which the standard error is shown.
_SHARE = 0.01
# The number of other words in the simulated population.
_TAIL = 30_000
# Two characters as people see them: a grinning face, and a family of four in seven code points.
_EMOJI = "\U0001f600"
_FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


class PlannedWords(PlannedQuestion[OpenWords]):
    """Words of up to twenty letters without a list, as a plan works with them."""

    sized = f"words of up to {LONGEST} letters"
    truth = f"a word of {MIDDLE} letters in a tail of others"
    error_of = "the share of a word of 1% of respondents"
    default_of = "method auto, equal to the linear estimate"
    detects = f"the smallest detectable share of a word of {MIDDLE} letters"
    simulated = 1_000_000

    def candidates(self, budget: BudgetSpec) -> list[MechanismChoice[OpenWords]]:
        """Return the only mechanism, which follows from epsilon and the length."""
        made = open_words(
            epsilon=budget.epsilon, code=shipped_code(_CODE), longest=LONGEST, key=b"plan"
        )
        shape = {"levels": made.levels, "buckets": made.buckets}
        return [MechanismChoice(made.name, made, {"epsilon": budget.epsilon}, shape)]

    def error(self, mechanism: OpenWords, users: int) -> float:
        """Return the error from all levels after the third, where words of a middling
        length end.
        """
        return _error(mechanism, users, _SHARE, sum(mechanism.weights[3:]))

    def default(self, mechanism: OpenWords, users: int) -> None:
        """Return None: no estimate differs from the linear one."""
        return

    def detectable(self, mechanism: OpenWords, users: int) -> float:
        """Return the share at which a word is detected nine times in ten."""
        return min(1.0, needed_share(mechanism, users, word_bits(mechanism, MIDDLE), 0.9))

    def choose(
        self, candidates: Sequence[MechanismChoice[OpenWords]], users: int, budget: BudgetSpec
    ) -> MechanismChoice[OpenWords]:
        """Return the only candidate."""
        return candidates[0]

    def notes(self, mechanism: OpenWords, users: int) -> list[str]:
        """Return the shares at which words of other lengths are detected, and the effect of
        fakes.
        """
        bits = {length: word_bits(mechanism, length) for length in LENGTHS}
        found = ", ".join(
            f"{length} letters {_said(needed_share(mechanism, users, size, 0.5))}"
            for length, size in bits.items()
        )
        fakes = fakes_to_invent(mechanism, users, bits[MIDDLE])
        return [
            f"Poisoning: fake reports that are {_said(fakes)} of all get a made-up word of "
            f"{MIDDLE} letters detected with probability 50%.",
            f"Share detected with probability 50%: {found}. Words of more than {LONGEST} letters "
            f"are counted and not named. One emoji takes {_letters(mechanism, _EMOJI)} letters, a "
            f"family of four {_letters(mechanism, _FAMILY)}: name some in `fits`.",
        ]

    def question(self) -> Mapping[str, object]:
        """Return the keys of an open question of this length."""
        return {"words": "open", "longest": LONGEST}

    def linear(self, mechanism: OpenWords, users: int) -> float:
        """Return the error of the simulated word, from every level at which it has ended."""
        ended = -(-word_bits(mechanism, MIDDLE) // mechanism.step) - 1
        share = self.detectable(mechanism, users)
        return _error(mechanism, users, share, sum(mechanism.weights[ended:]))

    def trials(self, mechanism: OpenWords, users: int, seed: int) -> Iterator[Squares]:
        """Yield squared errors for one word among a tail of others."""
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
    """Return the standard error of a `share`, from levels with these `weights`."""
    part, rate = weights / sum(mechanism.weights), 1 / mechanism.buckets + mechanism.gain * share
    return float(np.sqrt(rate * (1 - rate) / (users * part)) / mechanism.gain)


def word_bits(mechanism: OpenWords, letters: int) -> int:
    """Return the expected bits of a word of `letters` letters in the code, end mark included."""
    mean, _ = mechanism.code.bits_per_character()
    return round(letters * mean + mechanism.code.end_bits)


def _letters(mechanism: OpenWords, word: str) -> int:
    """Return the number of average letters that take as many bits as `word`."""
    mean, _ = mechanism.code.bits_per_character()
    return math.ceil((mechanism.code.write(word).length - mechanism.code.end_bits) / mean)


def _said(share: float) -> str:
    return "never" if share >= 1 else f"{100 * share:.2g}%"


def planned(size: Size) -> PlannedWords:
    """Return a question on open words, whose length is the usual one."""
    return PlannedWords(size)
