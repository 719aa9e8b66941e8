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
    argument("COLLECTION REPORTS...", "A collection and its reports, for each of the sources."),
]


@dataclass(frozen=True)
class SourceWeights:
    """What each source counts for."""

    chosen: bool = opt(
        "--chosen",
        "Say that people chose their source; then --weights are needed.",
        default=False,
    )
    weights: str | None = opt(
        "--weights FILE", "A CSV: each source's file name and its part of the population."
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
    """Estimate from several collections that ask the same.

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
