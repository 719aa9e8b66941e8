"""`rumor simulate`: a dry run on numbers that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from rumor.cli.common import (
    AsJson,
    CollectionFile,
    Level,
    Method,
    QuestionId,
    Top,
    print_json,
    progress,
)
from rumor.core.errors import InputError

if TYPE_CHECKING:
    from rumor.contract.collection import Question


def simulate(
    collection: CollectionFile,
    histogram: Annotated[
        str,
        typer.Argument(
            metavar="HISTOGRAM",
            help="A .csv or .parquet table: columns value and count, or one row per person; "
            "for key-value questions also columns key, frequency and mean.",
        ),
    ],
    question: QuestionId = None,
    column: Annotated[
        str | None,
        typer.Option(
            "--column",
            "-c",
            metavar="NAME",
            help="The column of answers, where a row is a person (the question's id unless said).",
        ),
    ] = None,
    candidates: Annotated[
        str | None,
        typer.Option(
            "--candidates",
            metavar="FILE",
            help="For text questions: the words to look for (those of the histogram unless said).",
        ),
    ] = None,
    people: Annotated[
        int | None,
        typer.Option(
            "--people",
            "-n",
            min=1,
            metavar="N",
            help="Rescale to a crowd of N, with the same shares.",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option("--trials", "-t", min=1, metavar="N", help="How often to repeat it.")
    ] = 1,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Make the run repeatable.")
    ] = None,
    method: Method = "auto",
    level: Level = 0.95,
    top: Top = None,
    plot: Annotated[
        str | None,
        typer.Option(
            "--plot", metavar="FILE", help="Draw the last trial beside the truth (html, png, svg)."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try a collection on your own numbers before asking anyone.

    Simulated people hold the answers of the histogram, each sends a report, and the
    estimate is set beside the truth: its error, what error theory expects, and how often
    the intervals held the truth.

    \b
    Example:
      rumor simulate examples/browser.toml examples/homepages.csv --people 100000
    """
    from rumor.contract.collection import Collection
    from rumor.core.answer_table import Table
    from rumor.core.plain_text import wrapped
    from rumor.core.randomness import Seeded
    from rumor.kinds.choice.simulate import read_histogram, rescaled
    from rumor.kinds.choice.simulate import simulate as run
    from rumor.privacy.promise import question_promise

    if plot is not None:
        from rumor.results.charts import checked_chart_path

        checked_chart_path(plot)
    asked = Collection.load(collection).question(question)
    if asked.kind == "text":
        _simulate_text(
            asked,
            histogram,
            column,
            candidates,
            people,
            trials,
            seed,
            method,
            level,
            top,
            plot,
            as_json,
        )
        return
    if candidates is not None:
        raise InputError(
            f"candidates are for text questions; got --candidates for {asked.id!r}, "
            f"whose kind is {asked.kind!r}"
        )
    if asked.kind in ("number", "keyvalue"):
        from rumor.kinds.keyvalue.simulate import read_crowd, simulate_numeric

        crowd = read_crowd(asked, Table.open(histogram), column, people)
        with progress("simulating") as update:
            numeric = simulate_numeric(
                asked,
                crowd,
                trials=trials,
                method=method,
                level=level,
                random=None if seed is None else Seeded(seed),
                on_progress=update,
            )
        if plot is not None:
            numeric.plot(plot, rows=top or 20, title=asked.text or asked.id)
        words = question_promise(asked).in_words()
        if as_json:
            print_json({"question": asked.id, "privacy": words, **numeric.to_dict()})
        else:
            print(f"{asked.id}: {asked.text}\n")
            print(numeric.table(top or 20))
            print(wrapped(words))
        return
    counts = read_histogram(asked, Table.open(histogram), column)
    if people is not None:
        counts = rescaled(counts, people)
    with progress("simulating") as update:
        result = run(
            asked,
            counts,
            trials=trials,
            method=method,
            level=level,
            random=None if seed is None else Seeded(seed),
            on_progress=update,
        )
    if plot is not None:
        from rumor.results.charts import frequency_chart, save_chart
        from rumor.results.view import View

        view, title = View(level, of="people", rows=top), asked.text or asked.id
        save_chart(frequency_chart(result.last, view, title=title, truth=result.truth), plot)
    if as_json:
        print_json(
            {
                "question": asked.id,
                "privacy": question_promise(asked).in_words(),
                **result.to_dict(),
            }
        )
    else:
        print(f"{asked.id}: {asked.text}\n")
        print(result.table(top or 20))
        print(wrapped(question_promise(asked).in_words()))


def _simulate_text(
    asked: Question,
    histogram: str,
    column: str | None,
    candidates: str | None,
    people: int | None,
    trials: int,
    seed: int | None,
    method: str,
    level: float,
    top: int | None,
    plot: str | None,
    as_json: bool,
) -> None:
    """A text question: its bit counts are drawn directly."""
    from rumor.core.answer_table import Table
    from rumor.core.plain_text import wrapped
    from rumor.core.randomness import Seeded
    from rumor.estimators.decode.candidates import default_cache, read_words
    from rumor.kinds.text.simulate import read_words_held, simulate_words
    from rumor.privacy.promise import question_promise

    words = None if candidates is None else read_words(candidates)
    held = read_words_held(asked, Table.open(histogram), column)
    with progress("simulating") as update:
        result = simulate_words(
            asked,
            held,
            candidates=words,
            people=people,
            trials=trials,
            method=method,
            random=None if seed is None else Seeded(seed),
            cache=None if candidates is None else default_cache(),
            on_progress=update,
        )
    if plot is not None:
        from rumor.results.charts import frequency_chart, save_chart
        from rumor.results.view import View

        view, title = View(level, of="people", rows=top), asked.text or asked.id
        save_chart(frequency_chart(result.last, view, title=title, truth=result.truth), plot)
    if as_json:
        print_json(
            {
                "question": asked.id,
                "privacy": question_promise(asked).in_words(),
                **result.to_dict(top),
            }
        )
    else:
        print(f"{asked.id}: {asked.text}\n")
        print(result.table(top or 20))
        print(wrapped(question_promise(asked).in_words()))
