"""Planning open words: how frequent a word must be to be found, by its length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.code_tables import shipped_code
from rumor.core.randomness import Seeded
from rumor.core.types import Progress
from rumor.estimators.discover.forecast import fakes_to_invent, needed_share
from rumor.kinds.planning.planned import Candidate, Forecast, PlannedQuestion, Size, Wish
from rumor.mechanisms.open_words import OpenWords
from rumor.mechanisms.open_words_design import open_words

# Characters of the words that a plan speaks of, and of the longest that it makes room for.
LENGTHS = (4, 7, 12)
MIDDLE, _LONGEST = 7, 20
_CODE = "latin"
# A share that the error of an estimate is told for.
_SHARE = 0.01


@dataclass(frozen=True)
class PlannedWords(PlannedQuestion[OpenWords]):
    """Words of up to twenty letters that nobody listed."""

    kind = "words"
    error_of = "the share of a word that 1% hold, from the levels that did not choose it"
    default_of = "the default, which is no other estimate here"
    detects = f"the share at which a word of {MIDDLE} letters is found"
    simulated = 1_000_000

    def size(self) -> str:
        """How long words may be."""
        return f"words of up to {_LONGEST} letters"

    def candidates(self, wish: Wish) -> list[Candidate[OpenWords]]:
        """The one mechanism: everything about it follows from epsilon and the length."""
        made = open_words(
            epsilon=wish.epsilon, code=shipped_code(_CODE), longest=_LONGEST, key=b"plan"
        )
        shape = {"levels": made.levels, "buckets": made.buckets}
        return [Candidate(made.name, made, {"epsilon": wish.epsilon}, shape)]

    def error(self, mechanism: OpenWords, users: int) -> float:
        """From all levels after the third: where words of a middling length end."""
        later = sum(mechanism.weights[3:]) / sum(mechanism.weights)
        chance = 1 / mechanism.buckets
        rate = chance + mechanism.gain * _SHARE
        return float(np.sqrt(rate * (1 - rate) / (users * later)) / mechanism.gain)

    def default(self, mechanism: OpenWords, users: int) -> None:
        """Shares come as they are: there is no other estimate."""
        return

    def detectable(self, mechanism: OpenWords, users: int) -> float:
        """The share at which it is found nine times in ten."""
        return min(1.0, needed_share(mechanism, users, word_bits(mechanism, MIDDLE), 0.9))

    def choose(
        self, candidates: Sequence[Candidate[OpenWords]], users: int, wish: Wish
    ) -> Candidate[OpenWords]:
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
            f"{_LONGEST} letters takes part and is counted, and the word is not named.",
        ]

    def question(self) -> Mapping[str, object]:
        """Open, of this length."""
        return {"words": "open", "longest": _LONGEST}

    def simulate(
        self,
        mechanism: OpenWords,
        users: int,
        trials: int,
        seed: int,
        on_progress: Progress | None,
    ) -> Forecast:
        """One word at the share that is found nine times in ten, in a tail of others."""
        from rumor.kinds.dry_run import Trials
        from rumor.kinds.words.simulate import simulate_open

        share = self.detectable(mechanism, users)
        rng = np.random.default_rng(seed)
        letters = np.array(list("etaoinsrhldcumfpgwyb"))
        tail = ["".join(rng.choice(letters, MIDDLE)) for _ in range(min(users, 30_000))]
        word = "".join(rng.choice(letters, MIDDLE))
        crowd = Counter({word: max(1, round(share * users))})
        for other in rng.choice(len(tail), size=users - crowd[word]).tolist():
            crowd[tail[other]] += 1
        done = simulate_open(
            mechanism, crowd, Trials(trials, random=Seeded(seed), on_progress=on_progress)
        )
        place = list(done.values).index(word)
        off = abs(done.frequency[place] - share) if done.found[place] else share
        return Forecast(
            users,
            trials,
            f"a word of {MIDDLE} letters at the share that is found nine times in ten: it was "
            f"found in {done.found[place]:.0%} of trials",
            (self.error(mechanism, users), float(off)),
            None,
        )


def word_bits(mechanism: OpenWords, letters: int) -> int:
    """The bits of a word of so many letters, as the code expects them, with its end."""
    mean, _ = mechanism.code.bits_per_character()
    return round(letters * mean + mechanism.code.words[""][1])


def _said(share: float) -> str:
    return "never" if share >= 1 else f"{100 * share:.2g}%"


def planned(size: Size) -> PlannedWords:
    """Words have no size but their length, which is the usual one."""
    return PlannedWords()
