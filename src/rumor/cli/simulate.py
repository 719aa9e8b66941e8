"""`rumor simulate`: a dry run on numbers that are known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import print_json, progress, warn
from rumor.cli.estimate import Assume
from rumor.cli.methods import Method, MethodOptions, read_options
from rumor.cli.options import (
    AsJson,
    CollectionFile,
    Level,
    QuestionId,
    TableReading,
    Top,
    argument,
    opt,
    opt_count,
    option,
)
from rumor.core.exact import CONFIDENCE

if TYPE_CHECKING:
    from rumor.contract.collection import Question
    from rumor.core.types import Progress
    from rumor.kinds.reading import TableAnswers
    from rumor.kinds.simulation import SimulationSettings

Histogram = Annotated[
    str,
    argument(
        "HISTOGRAM",
        "A table (.csv, .parquet, ...): columns value and count, or one row per respondent; "
        "for key-value questions also columns key, frequency and mean.",
    ),
]
Column = Annotated[
    str | None,
    option(
        "--column -c NAME",
        "The column of answers, if a row is a respondent (default: the question's id).",
    ),
]
Plot = Annotated[
    str | None,
    option("--plot FILE", "Draw the last trial and the truth (.html, .png, .svg)."),
]


@dataclass(frozen=True)
class TrueValues:
    """Options for true answers from a table."""

    column: Column = None
    reading: TableReading = field(default_factory=TableReading)

    def answers_in(self, path: str, asked: Question) -> TableAnswers:
        """Return the true answers to `asked`, read from the table at `path`."""
        from rumor.kinds.reading import TableAnswers

        table, column = self.reading.open(path), self.column
        if column is None and asked.column in table.schema.names:
            column = asked.column
        return TableAnswers(table, asked.id, column)


@dataclass(frozen=True)
class TrialOptions:
    """Options for the simulated trials."""

    candidates: str | None = opt(
        "--candidates FILE",
        "For text questions: the candidate words (default: those of the histogram).",
    )
    people: int | None = opt_count(
        "--people -n N", "Rescale to a crowd of N, with the same shares.", min=1
    )
    trials: int = opt_count("--trials -t N", "How often to repeat it.", default=1, min=1)
    seed: int | None = opt("--seed N", "Make the run repeatable.")
    method: Method = "auto"
    option: MethodOptions = None
    level: Level = CONFIDENCE
    assume: Assume = None

    def as_trials(self, on_progress: Progress) -> SimulationSettings:
        """Return `SimulationSettings` with these options, the candidates and the seed."""
        from rumor.core.randomness import Seeded
        from rumor.kinds.simulation import SimulationSettings
        from rumor.kinds.word_lists import default_cache, read_words

        return SimulationSettings(
            count=self.trials,
            people=self.people,
            method=self.method,
            options=read_options(self.option, self.assume),
            level=self.level,
            random=None if self.seed is None else Seeded(self.seed),
            words=None if self.candidates is None else read_words(self.candidates),
            cache=None if self.candidates is None else default_cache(),
            on_progress=on_progress,
        )


def simulate(
    collection: CollectionFile,
    histogram: Histogram,
    question: QuestionId = None,
    *,
    whose: TrueValues,
    tried: TrialOptions,
    top: Top = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a collection on your own numbers before you ask.

    Simulated respondents have the answers of the histogram, and each sends a report. The
    estimate is compared with the true shares: its error, the error that theory predicts, and
    how often the intervals contained the true shares.

    \b
    Example:
      rumor simulate examples/browser.toml examples/homepages.csv --people 100000
    """
    from rumor.contract.collection import Collection
    from rumor.core.plain_text import wrapped
    from rumor.kinds import KINDS
    from rumor.privacy.promise import question_promise
    from rumor.results.view import ROWS_SHOWN

    if plot is not None:
        from rumor.results.charts import checked_chart_path

        checked_chart_path(plot)
    asked = Collection.load(collection).question(question)
    kind = KINDS[asked.kind]
    kind.check_missing(asked.mechanism, whose.reading.missing)
    if tried.candidates is not None:
        kind.check_accepts_candidates(asked.id)
    with progress("simulating") as update:
        trials = tried.as_trials(update)
        held = whose.answers_in(histogram, asked)
        result = kind.simulate(asked.mechanism, held, trials)
    counted = "value" if {"value", "count"} <= set(held.table.schema.names) else asked.id
    if (
        advice := kind.table_advice(asked.mechanism, held.table, held.column or counted)
    ) is not None:
        warn(advice)
    if plot is not None:
        result.plot(plot, rows=top, title=asked.text or asked.id)
    words = question_promise(asked).in_words()
    if as_json:
        found = {
            "question": asked.id,
            "missing": held.table.missing_rule.affected_rows,
            "privacy": words,
        }
        print_json({**found, **result.to_dict(top)})
    else:
        print(f"{asked.id}: {asked.text}\n")
        if (said := held.table.missing_rule.sentence()) is not None:
            print(f"{said}\n")
        print(result.table(top or ROWS_SHOWN))
        print(wrapped(words))
