"""`rumor combine`: several sources of the same question, one estimate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rumor.cli.analyst_options import CountingOptions, DifferentPeople, OutputFiles
from rumor.cli.estimate import IntervalOptions
from rumor.cli.options import QuestionId, argument, opt
from rumor.core.errors import InputError

Sources = Annotated[
    list[str],
    argument("COLLECTION REPORTS...", "For each source: its collection and its reports."),
]


@dataclass(frozen=True)
class SourceWeights:
    """Options that weight the sources."""

    chosen: bool = opt(
        "--chosen",
        "State that respondents chose their source; --weights is then required.",
        default=False,
    )
    weights: str | None = opt(
        "--weights FILE",
        "A CSV file: the file name of each source and its share of the population.",
    )


def combine(
    sources: Sources,
    question: QuestionId = None,
    *,
    weighing: SourceWeights,
    different_people: DifferentPeople = False,
    counted: CountingOptions,
    shown: IntervalOptions,
    written: OutputFiles,
) -> None:
    """Combine several collections that ask the same question.

    Revisions with another epsilon, a second service: each source has the weight of its own noise.

    \b
    Example:
      rumor combine first.toml first.parquet second.toml second.rumor
    """
    from rumor.analysis.combine.method import combine_reports, read_weights
    from rumor.results.view import View

    if len(sources) % 2:
        raise InputError(f"sources are pairs of a collection and reports; got {len(sources)} files")
    view = View(*vars(shown).values())
    written.check(*sources, weighing.weights)
    known = None if weighing.weights is None else read_weights(weighing.weights)[1]
    with counted.counting() as counting:
        found = combine_reports(
            list(zip(sources[::2], sources[1::2], strict=True)),
            question=question,
            chosen=weighing.chosen,
            weights=known,
            different_people=different_people,
            of=view.of,
            counting=counting,
        )
    written.deliver(found, view, title=found.heading)
