"""Simulations of open words: the words detected in a population whose words are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rumor.core.files import PathLike
from rumor.core.plain_text import (
    aligned,
    decimals_for,
    one_line,
    percent,
    rows_left_out,
    wrapped,
)
from rumor.core.randomness import System
from rumor.core.types import Vector
from rumor.kinds.reading import TableAnswers
from rumor.kinds.simulation import (
    SimulationResult,
    SimulationSettings,
    checked_trials,
    rescale_counts,
)
from rumor.kinds.word_lists import read_words_held
from rumor.kinds.words.estimate import estimate
from rumor.kinds.words.read import reader
from rumor.kinds.words.result import OpenWordEstimate
from rumor.mechanisms.open_words.code import normal
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.summary import Summary
from rumor.results.view import ROWS_SHOWN, View

_CHUNK = 1 << 20


@dataclass(frozen=True, eq=False, kw_only=True)
class OpenSimulation(SimulationResult[OpenWordEstimate]):
    """The result of several trials, over the present and the detected words.

    `found` is the share of trials that detected each word, `frequency` the mean of its estimates
    in those trials; `false_discoveries` is the mean share of detected words that nobody has,
    `recall` that of the people's words that was detected, each word counted once.
    """

    values: Sequence[str]
    truth: Vector
    frequency: Vector
    found: Vector
    false_discoveries: float
    named: float
    """The mean share of people whose word was detected."""

    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """Return the simulation as plain data for JSON."""
        cells = zip(self.values, self.truth, self.frequency, self.found, strict=True)
        return {
            **self.tried(),
            "false_discoveries": self.false_discoveries,
            "named": self.named,
            "controls": self.last.controls,
            "estimates": [
                {"value": w, "truth": float(t), "frequency": float(f), "found": float(n)}
                for w, t, f, n in cells
            ][:rows],
        }

    def table(self, rows: int = ROWS_SHOWN) -> str:
        """Return a table of the truly most frequent words, as text."""
        errors = self.last.stderr
        digits = decimals_for(float(np.median(errors))) if errors.size else 2
        body = [
            (
                one_line(self.values[i]),
                percent(self.truth[i], digits),
                percent(self.frequency[i], digits) if self.found[i] else "",
                percent(self.found[i], 0),
            )
            for i in range(len(self.values))[:rows]
        ]
        lines = [aligned(("word", "truth", "estimate, where found", "found"), body)]
        lines += rows_left_out(len(self.values) - len(body), "less frequent word")
        closing = (
            f"{self.people:,} people, {self.trials:,} trial{'s' if self.trials > 1 else ''}; "
            f"{self.last.controls}. The words found were those of {percent(self.named, 1)} of the "
            f"people; of the words found, {percent(self.false_discoveries, 1)} were held by nobody."
        )
        return "\n".join([*lines, "", wrapped(closing)])

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """Draw the last trial beside the truth into the file `path`."""
        held = dict(zip(self.values, self.truth.tolist(), strict=True))
        truth = np.array([held.get(str(word), 0.0) for word in self.last.values])
        view = View(self.level, of="people", rows=rows)
        self.last.plot(path, view, title=title, truth=truth)


def simulate_open(
    mechanism: OpenWords, histogram: Counter[str], trials: SimulationSettings
) -> OpenSimulation:
    """Privatise and decode a population with the words of `histogram`, several times."""
    count = checked_trials(trials.count)
    words, counts = list(histogram), np.array(list(histogram.values()), dtype=np.int64)
    if trials.people is not None:
        counts = rescale_counts(counts, trials.people)
    people = int(counts.sum())
    held = dict(zip(map(normal, words), (counts / people).tolist(), strict=True))
    stems, codes = mechanism.stems.table(words), np.repeat(np.arange(len(words)), counts)
    source = System() if trials.random is None else trials.random
    options = dict(trials.options)
    if trials.words is not None:
        options["candidates"] = list(trials.words)
    times: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    false, named = [], []
    for trial in range(count):
        summary = Summary.empty(mechanism)
        for start in range(0, people, _CHUNK):
            batch = codes[start : start + _CHUNK]
            summary = summary.update(mechanism.privatize_prefixes(stems, batch, random=source))
        result = estimate(mechanism, summary, trials.method, options)
        found = [str(word) for word in result.values]
        times.update(found)
        sums.update(dict(zip(found, result.frequency.tolist(), strict=True)))
        true = [word for word in found if word in held]
        false.append(1 - len(true) / max(len(found), 1) if found else 0.0)
        named.append(sum(held[word] for word in true))
        if trials.on_progress is not None:
            trials.on_progress((trial + 1) * people, count * people)
    listed = sorted({*held, *times}, key=lambda word: (-held.get(word, 0.0), -times[word], word))
    return OpenSimulation(
        values=listed,
        truth=np.array([held.get(word, 0.0) for word in listed]),
        frequency=np.array([sums[word] / max(times[word], 1) for word in listed]),
        found=np.array([times[word] / count for word in listed]),
        false_discoveries=float(np.mean(false)),
        named=float(np.mean(named)),
        people=people,
        trials=count,
        last=result,
        level=trials.level,
    )


def dry_run(mechanism: OpenWords, held: TableAnswers, trials: SimulationSettings) -> OpenSimulation:
    """Simulate the people in the table `held`."""
    return simulate_open(mechanism, read_words_held(reader(mechanism), held), trials)
