"""Dry runs of a text question: which words would be found in a crowd whose words are known.

Bit counts are drawn directly (rumor.mechanisms.rappor.simulation), so a crowd of a billion
takes as long as one of a thousand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.files import PathLike
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    one_line,
    percent,
    rows_left_out,
    wrapped,
)
from rumor.core.types import Tally, Vector
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import SimulationResult, SimulationSettings, checked_trials, rescaled
from rumor.kinds.text.estimate import decode
from rumor.kinds.text.fit.candidates import candidate_map
from rumor.kinds.text.read import reader
from rumor.kinds.word_estimate import WordEstimate
from rumor.kinds.word_lists import checked_words, read_words_held
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.results.view import ROWS_SHOWN, View


@dataclass(frozen=True, eq=False, kw_only=True)
class WordSimulation(SimulationResult[WordEstimate]):
    """What came of some trials; vectors are over the candidates.

    `found` is how often each was detected, `frequency` the mean of its estimates, `error` their
    root mean square error; `false_discoveries` is the mean share of words found that nobody
    held, `recall` that of the words held and listed that were found.
    """

    values: Sequence[str]
    truth: Vector
    frequency: Vector
    error: Vector
    found: Vector
    unlisted: float
    false_discoveries: float
    recall: float

    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """The simulation as plain data for JSON: the words held or ever found."""
        names = ("value", "truth", "frequency", "error", "found")
        vectors = (self.truth, self.frequency, self.error, self.found)
        return {
            **self.tried(),
            "candidates": len(self.values),
            "unlisted": self.unlisted,
            "false_discoveries": self.false_discoveries,
            "recall": self.recall,
            "controls": self.last.controls,
            "estimates": [
                dict(zip(names, (self.values[i], *(float(v[i]) for v in vectors)), strict=True))
                for i in self.order(rows)
            ],
        }

    def order(self, rows: int | None = None) -> list[int]:
        """The words held or ever found, those most frequent in truth first."""
        there = np.flatnonzero((self.truth > 0) | (self.found > 0))
        ranked = there[np.argsort(-self.truth[there], kind="stable")]
        return [int(i) for i in ranked[:rows]]

    def table(self, rows: int = ROWS_SHOWN) -> str:
        """The words that are most frequent in truth, as text."""
        order = self.order(rows)
        digits = decimals_for(float(np.median(self.last.stderr)))
        vectors = (self.truth, self.frequency, self.error)
        body = [
            (
                one_line(self.values[i]),
                *(percent(vector[i], digits) for vector in vectors),
                percent(self.found[i], 0),
            )
            for i in order
        ]
        many = self.trials > 1
        head = ("word", "truth", "mean estimate" if many else "estimate", "error", "found")
        lines = [aligned(head, body)]
        lines += rows_left_out(len(self.order()) - len(order), "less frequent word")
        closing = (
            f"{self.people:,} people, {self.trials:,} {'trials' if many else 'trial'}, "
            f"{len(self.values):,} candidates; method {self.last.method} "
            f"({self.last.controls}). Of the words held, {percent(self.recall, 1)} were found; of "
            f"the words found, {percent(self.false_discoveries, 1)} were false. "
            f"{percent(self.unlisted, 1)} of the people held a word that is no candidate."
        )
        return "\n".join([*lines, "", wrapped(closing)])

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""
        view = View(self.level, of="people", rows=rows)
        self.last.plot(path, view, title=title, truth=self.truth)


def simulate_words(
    rappor: Rappor, histogram: Counter[str], trials: SimulationSettings
) -> WordSimulation:
    """Simulate a crowd that holds these words, one report each, and decode it, some times.

    The candidates are the words of the histogram unless others are given.
    """
    count = checked_trials(trials.count)
    words, counts = list(histogram), np.array(list(histogram.values()), dtype=np.int64)
    if trials.people is not None:
        counts = rescaled(counts, trials.people)
    listed = checked_words(words if trials.words is None else trials.words)
    dictionary = candidate_map(rappor.bloom, listed, cache=trials.cache)
    truth = _truth(dictionary.words, words, counts)
    held = truth > 0
    total, squares, found = (np.zeros(len(listed)) for _ in range(3))
    rates: list[tuple[float, float]] = []
    for trial in range(count):
        summary = simulate_counts(rappor, words, counts, random=trials.random)
        result = decode(summary, dictionary, method=trials.method, **trials.options)
        total += result.frequency
        squares += (result.frequency - truth) ** 2
        found += result.detected
        rates.append(_rates(result.detected, held))
        if trials.on_progress is not None:
            trials.on_progress(trial + 1, count)
    false, recall = np.mean(rates, axis=0).tolist()
    return WordSimulation(
        values=dictionary.words,
        truth=truth,
        frequency=total / count,
        error=np.sqrt(squares / count),
        found=found / count,
        unlisted=float(max(0.0, 1.0 - truth.sum())),
        false_discoveries=false,
        recall=recall,
        people=int(counts.sum()),
        trials=count,
        last=result,
        level=trials.level,
    )


def dry_run(rappor: Rappor, held: TableAnswers, trials: SimulationSettings) -> WordSimulation:
    """A dry run with the words of a table."""
    return simulate_words(rappor, read_words_held(reader(rappor), held), trials)


def _truth(candidates: Sequence[str], words: Sequence[str], counts: Tally) -> Vector:
    """The share of people who hold each candidate."""
    normal = dict(zip(checked_words(words), counts.tolist(), strict=True))
    held = np.array([normal.get(word, 0) for word in candidates], dtype=np.float64)
    return np.asarray(held / counts.sum())


def _rates(detected: NDArray[np.bool_], held: NDArray[np.bool_]) -> tuple[float, float]:
    """The share of words found that are false, and of words held that are found."""
    false, true = int((detected & ~held).sum()), int((detected & held).sum())
    return false / max(false + true, 1), true / max(int(held.sum()), 1)
