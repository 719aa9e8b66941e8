"""An attacker's knowledge of one person who is asked again and again.

The attacker sees every report of one person, knows the collection and a list of words the
person might hold, all equally likely, and guesses the most likely one. Three devices:

- "fresh": every report is drawn anew, as if one-time RAPPOR were asked repeatedly. Averaging
  removes the noise: n reports cost n times as much.
- "memoised": the permanent bits alone are sent. A second report says nothing new, but the
  reports of one person are all alike and can be linked.
- "full": permanent bits behind fresh noise, as RAPPOR is meant.

No attacker can be right more often than e**epsilon / (e**epsilon + words - 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.core.types import Progress
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.rappor.two_stage import TwoStageNoise

if TYPE_CHECKING:
    import altair as alt

Floats = NDArray[np.float64]
DEVICES = ("fresh", "memoised", "full")
REPORTS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class GuessRate:
    """The success of an attacker against one device after some reports."""

    device: str
    reports: int
    success: float
    """The share of people whose word was guessed."""
    bound: float
    """The success that no attacker can exceed at this epsilon."""
    epsilon: float


@dataclass(frozen=True)
class Attack:
    """An attacker's success rates, and what was attacked."""

    rappor: Rappor
    words: int
    people: int
    guesses: tuple[GuessRate, ...]

    def table(self) -> str:
        """Return the success rates as text, a line for each number of reports."""
        head = ["reports"] + [f"{d}: guessed (epsilon)" for d in DEVICES]
        cells = {(g.device, g.reports): f"{g.success:.0%} ({g.epsilon:.3g})" for g in self.guesses}
        counts = sorted({g.reports for g in self.guesses})
        rows = [[str(n), *(cells[d, n] for d in DEVICES)] for n in counts]
        widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
        lines = [
            "  ".join(x.rjust(w) for x, w in zip(row, widths, strict=True)) for row in [head, *rows]
        ]
        lines.append(
            f"{self.people:,} people, each with one of {self.words:,} words; "
            f"a blind guess is right in {1 / self.words:.1%}"
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Return the success rates as plain data."""
        return {
            "words": self.words,
            "people": self.people,
            "guesses": [vars(guess) for guess in self.guesses],
        }

    def plot(self, path: str | None = None) -> alt.HConcatChart:
        """Draw success and epsilon against the number of reports, side by side."""
        import altair as alt

        from rumor.results.chart_parts import SERIES, framed
        from rumor.results.charts import save_chart

        data = alt.InlineData(values=[vars(guess) for guess in self.guesses])
        devices = list(DEVICES)
        lines = alt.Scale(domain=devices, range=list(SERIES[: len(devices)]))
        colour = alt.Color("device:N", sort=devices, title="device", scale=lines)
        x = alt.X("reports:Q", scale=alt.Scale(type="log"), title="reports of one person")
        base = alt.Chart(data).properties(width=300, height=240)
        success = base.mark_line(point=True).encode(
            x=x,
            y=alt.Y("success:Q", axis=alt.Axis(format="%"), title="people whose word is guessed"),
            color=colour,
        )
        epsilon = base.mark_line(point=True).encode(
            x=x,
            y=alt.Y("epsilon:Q", scale=alt.Scale(type="log"), title="epsilon, worst case"),
            color=colour,
        )
        facts = [f"{self.people:,} simulated people, each with one of {self.words:,} words"]
        chart = framed(alt.HConcatChart(hconcat=[success, epsilon]), "Guessed words", facts)
        if path is not None:
            save_chart(chart, path)
        return chart


def attack(
    rappor: Rappor,
    *,
    words: int = 100,
    people: int = 1000,
    reports: Sequence[int] = REPORTS,
    seed: int = 1,
    on_progress: Progress | None = None,
) -> Attack:
    """Attack simulated `people`, each in a random cohort with one of `words` words."""
    checked_size("words", words, 2, 100_000)
    checked_size("people", people, 1, 1_000_000)
    if not reports or any(n < 1 for n in reports):
        raise InputError(f"reports must be counts from 1; got {list(reports)}")
    if not rappor.noise.permanent:
        raise InputError("the attack compares devices with permanent noise; got f = 0")
    rng = np.random.default_rng(seed)
    filters = _filters(rappor, words, min(rappor.cohorts, 16))
    right: dict[tuple[str, int], int] = {}
    for person in range(people):
        own = int(rng.integers(words))
        candidates = filters[int(rng.integers(len(filters)))]
        settled = candidates[own] ^ (rng.random(rappor.bits) < rappor.noise.flip / 2**64)
        for device in DEVICES:
            for n in reports:
                evidence = _log_likelihood_ratio(
                    rappor.noise, device, candidates[own], settled, n, rng
                )
                score = candidates @ evidence
                best = np.flatnonzero(score >= score.max() - 1e-9)
                right[device, n] = right.get((device, n), 0) + int(rng.choice(best) == own)
        if on_progress is not None:
            on_progress(person + 1, people)
    costs = _costs(rappor, reports)
    guesses = [
        GuessRate(d, n, right[d, n] / people, guess_bound(costs[d, n], words), costs[d, n])
        for d in DEVICES
        for n in reports
    ]
    return Attack(rappor, words, people, tuple(guesses))


def guess_bound(epsilon: float, words: int) -> float:
    """Return the best success of any attacker at `epsilon`, if all words are equally likely."""
    return 1 / (1 + (words - 1) * math.exp(-epsilon))


def _filters(rappor: Rappor, words: int, cohorts: int) -> list[Floats]:
    """Return the filters of all words as rows of bits, for each of `cohorts` cohorts."""
    names = [f"word {i}" for i in range(words)]
    table = rappor.bloom.map(rappor.bloom.seeds(names)).reshape(words, -1, rappor.hashes)
    out = []
    for cohort in range(cohorts):
        bits = np.zeros((words, rappor.bits), dtype=np.bool_)
        np.put_along_axis(bits, table[:, cohort].astype(np.int64), True, axis=1)
        out.append(bits)
    return out  # type: ignore[return-value]


def _log_likelihood_ratio(
    noise: TwoStageNoise,
    device: str,
    own: NDArray[np.bool_] | Floats,
    settled: NDArray[np.bool_] | Floats,
    n: int,
    rng: np.random.Generator,
) -> Floats:
    """Return each bit's log-likelihood ratio of being set, from `n` simulated reports."""
    if device == "memoised":
        weight = math.log((1 - noise.f / 2) / (noise.f / 2))
        return np.where(settled, weight, -weight)
    if device == "fresh":
        p, q = float(noise.exact_p_star), float(noise.exact_q_star)
        ones = rng.binomial(n, np.where(own, q, p))
        return ones * math.log(q / p) + (n - ones) * math.log((1 - q) / (1 - p))
    p, q, flip = noise.p, noise.q, noise.f / 2
    ones = rng.binomial(n, np.where(settled, q, p))
    with np.errstate(divide="ignore"):
        set_ = _log_likelihood(ones, n, q)
        clear = _log_likelihood(ones, n, p)
    keep, turn = math.log1p(-flip), math.log(flip)
    return np.logaddexp(keep + set_, turn + clear) - np.logaddexp(turn + set_, keep + clear)


def _log_likelihood(ones: NDArray[np.int64], n: int, chance: float) -> Floats:
    """Return the log-likelihood of `ones` ones in `n` draws, with 0 log 0 = 0."""
    up = np.where(ones > 0, ones * np.log(chance), 0.0)
    return np.asarray(up + np.where(n - ones > 0, (n - ones) * np.log1p(-chance), 0.0))


def _costs(rappor: Rappor, reports: Sequence[int]) -> Mapping[tuple[str, int], float]:
    """Return the epsilon of each device after each number of reports."""
    costs: dict[tuple[str, int], float] = {}
    for n in reports:
        costs["fresh", n] = n * rappor.epsilon
        costs["memoised", n] = rappor.epsilon_permanent
        costs["full", n] = rappor.epsilon_after(n)
    return costs
