"""People with weights: their reports' scores, weighted by the design by which they were drawn.

Reports are read row by row here, whichever engine counts, each report once: a weight, a stratum
and a cluster belong to one report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rumor.analysis.compare.quantities import Differences, QuantileDifferences, WithQuantiles
from rumor.analysis.distinct_ids import require_distinct
from rumor.analysis.engines.base import Stratum
from rumor.analysis.estimate import stored_reports
from rumor.analysis.grouping import Grouping
from rumor.analysis.sources import as_stratum, days_within
from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import DAMAGE, RESERVED_COLUMNS, damaged_file_error, report_bytes
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.reports import Mask, Reports, as_reports
from rumor.core.types import Days, Vector
from rumor.estimators.groups import Bounds, Sample
from rumor.estimators.survey import (
    Scores,
    Survey,
    SurveyDesign,
    WeightedMeans,
    student_p_value,
    student_quantile,
    weighted_means,
)
from rumor.kinds.base import Kind
from rumor.kinds.measures import Quantiles, ScoredReports
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.summary import Summary

_MOST_CELLS = 1 << 25


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Reports of one question, with public columns beside each."""

    question: Question
    reports: Reports
    columns: pa.Table

    def strata(self, by: str) -> list[Stratum]:
        """Return the group of each report, `by` a public column or a period."""
        [batch] = self.columns.combine_chunks().to_batches()
        column = Grouping.read(by, batch.schema.names).strata(batch)
        return [as_stratum(value) for value in column.to_pylist()]


def read_rows(
    collection: Collection,
    path: PathLike,
    question: str | None,
    window: Days,
    chosen: Callable[[Sequence[str]], Sequence[str]],
    *,
    skip_invalid: bool = False,
    distinct_ids: bool = False,
    what: str,
) -> ReportRows:
    """Return the reports of a file or folder with those public columns that are `chosen`.

    `what` is the analysis that needs them, in words. An id that occurs twice is refused, or its
    first report alone is taken (`distinct_ids`).
    """
    if Summary.is_file(path):
        raise InputError(f"{what} needs reports with their columns; {str(path)!r} is a summary")
    source = stored_reports(path, collection, question, window)
    asked = source.question
    public = [name for name in source.files[0].schema.names if name not in RESERVED_COLUMNS]
    names = list(dict.fromkeys(chosen(public)))
    if not distinct_ids:
        require_distinct(source, f"{what} takes no copies: --distinct-ids counts each id once")
    parts, ids, kept = [], [], []
    for file in source.files:
        try:
            rows = pq.read_table(file.path, columns=["report", "id", "day", *names])
        except DAMAGE:
            raise damaged_file_error(file.path) from None
        if window != (None, None):
            rows = rows.filter(days_within(rows.column("day"), window))
        parts.append(report_bytes(rows.column("report").combine_chunks()))
        ids.append(report_bytes(rows.column("id").combine_chunks()))
        kept.append(rows.select(list(dict.fromkeys(["day", *names]))))
    reports = np.concatenate(parts)
    columns = pa.concat_tables(kept, promote_options="permissive")
    if not len(reports):
        raise InputError(f"{what} needs at least one report; got none in {str(path)!r}")
    if distinct_ids:
        first = np.sort(np.unique(np.concatenate(ids), axis=0, return_index=True)[1])
        reports, columns = reports[first], columns.take(pa.array(first))
    if skip_invalid and not (valid := asked.mechanism.validate(reports)).all:
        reports, columns = reports[valid.valid], columns.filter(pa.array(valid.valid))
    return ReportRows(asked, reports, columns)


@dataclass(frozen=True)
class DesignColumns:
    """The public columns of a reports file that hold a survey design, and tables of margins."""

    weight: str | None = None
    strata: str | None = None
    cluster: str | None = None
    margins: tuple[tuple[str, dict[str, float]], ...] = ()
    """Columns of which the population is known, each with the size of its values."""

    def names(self, public: Sequence[str]) -> list[str]:
        """Return the columns to read, all of them `public` columns of the reports."""
        options = {
            "--weight-column": self.weight,
            "--strata": self.strata,
            "--cluster": self.cluster,
            **{f"--weights {name!r}": name for name, _ in self.margins},
        }
        for option, name in options.items():
            if name is not None and name not in public:
                raise InputError(
                    f"{option} must be a public column of the reports "
                    f"({', '.join(public) or 'none'}); got {format_value(name)}"
                )
        return list(dict.fromkeys(name for name in options.values() if name is not None))

    def design(self, columns: pa.Table) -> SurveyDesign:
        """Return the design that `columns` of reports hold."""

        def column(name: str | None) -> object:
            return None if name is None else columns.column(name).to_pylist()

        weights = column(self.weight)
        if isinstance(weights, list) and None in weights:
            raise InputError(
                f"every report needs a weight; {self.weight!r} has none for "
                f"{weights.count(None):,} of them"
            )
        return SurveyDesign(
            weights,
            column(self.strata),
            column(self.cluster),
            {name: (column(name), sizes) for name, sizes in self.margins},
        )


def check_design_target(of: str) -> None:
    """Refuse intervals for the respondents alone: weights are about a population."""
    if of != "population":
        raise InputError(
            f'people with weights are estimated for the "population" only; got {format_value(of)}'
        )


@dataclass(frozen=True)
class Student:
    """Quantities whose variances are estimated: Student's quantiles in place of normal ones."""

    normal: Any
    freedom: float

    @property
    def mean(self) -> Vector:
        """The estimates of the quantities."""
        return np.asarray(self.normal.mean)

    @property
    def stderr(self) -> Vector:
        """The standard errors of the quantities."""
        return np.asarray(self.normal.stderr)

    def bounds(self, z: float) -> Bounds:
        """Return both ends, at Student's quantile for the normal one `z`."""
        found: Bounds = self.normal.bounds(student_quantile(z, self.freedom))
        return found

    @property
    def p_value(self) -> Vector:
        """The chance of so large a difference without an effect, for each quantity by itself."""
        return student_p_value(self.normal.p_value, self.freedom)


@dataclass(frozen=True, eq=False)
class WeightedGroup:
    """The quantities of a group of people with weights."""

    people: int
    means: WeightedMeans
    sample: Sample
    """All rows; those of quantiles are 0."""
    quantiles: Quantiles | None
    effect: Vector
    """The design effect of each row; of quantiles it is not known."""
    weights_effect: float

    @property
    def combination(self) -> Student:
        """The quantities with Student's intervals."""
        normal: Any = self.sample
        if self.quantiles is not None:
            normal = WithQuantiles(self.sample, self.quantiles)
        return Student(normal, self.means.freedom)


def scored(kind: Kind[Any], mechanism: Mechanism, reports: object) -> ScoredReports:
    """Return what each report says, refused where that is more than fits in memory."""
    mechanism.validate(reports).require()
    rows = as_reports(reports, mechanism.width)
    if not len(rows):
        raise InputError("an estimate needs at least one report; got none")
    one = kind.scores(mechanism, rows[:1])
    places = 0 if one.quantiles is None else one.quantiles.function.shape[1]
    if len(rows) * (one.scores.hits.shape[1] + places) > _MOST_CELLS:
        raise InputError(
            f"individual weights take at most {_MOST_CELLS:,} reports times values; got "
            f"{len(rows):,} reports of {one.scores.hits.shape[1] + places:,} values"
        )
    return kind.scores(mechanism, rows)


def kept_scores(found: ScoredReports, survey: Survey) -> ScoredReports:
    """Return the scores of those people who have a weight."""
    if survey.kept.all():
        return found
    scores, rows = found.scores, survey.kept
    trials = None if scores.trials is None else scores.trials[rows]
    quantiles = found.quantiles
    return replace(
        found,
        scores=replace(scores, hits=scores.hits[rows], trials=trials),
        quantiles=quantiles and replace(quantiles, function=quantiles.function[rows]),
    )


def weigh_scores(survey: Survey, found: ScoredReports, inside: Mask | None = None) -> WeightedGroup:
    """Return the quantities of the people `inside`, by default of all."""
    means = weighted_means(survey, found.scores, inside)
    people = survey.people if inside is None else int(inside.sum())
    effect = survey.effect(inside)
    if found.quantiles is None:
        return WeightedGroup(people, means, means.sample, None, means.effect, effect)
    function = weighted_means(survey, Scores(found.quantiles.function), inside).sample
    curve = found.quantiles.curve(function.mean, function.stderr)
    count = len(found.quantiles.shares)
    rows = np.arange(means.effect.size, means.effect.size + count)
    first, second, third = (np.append(v, np.zeros(count)) for v in means.sample.spread)
    sample = replace(
        means.sample,
        mean=np.append(means.sample.mean, np.zeros(count)),
        spread=(first, second, third),
    )
    quantiles = Quantiles(rows, found.quantiles.shares, curve)
    unknown = np.append(means.effect, np.full(count, np.nan))
    return WeightedGroup(people, means, sample, quantiles, unknown, effect)


def weighted_difference(survey: Survey, first: WeightedGroup, second: WeightedGroup) -> Student:
    """Return the second group's quantities less the first's; they may share clusters or margins.

    Quantiles are taken for independent, which is too careful where groups share clusters.
    """
    linear = replace(
        Differences.between(first.sample, second.sample),
        correlation=_correlation(survey, first, second),
    )
    normal: Any = linear
    if first.quantiles is not None and second.quantiles is not None:
        normal = QuantileDifferences(linear, first.quantiles, second.quantiles)
    return Student(normal, min(first.means.freedom, second.means.freedom))


def _correlation(survey: Survey, first: WeightedGroup, second: WeightedGroup) -> Vector:
    one, other = first.means.deviations, second.means.deviations
    apart = [survey.variance(each) for each in (one, other)]
    product = np.sqrt(apart[0] * apart[1])
    covariance = (apart[0] + apart[1] - survey.variance(other - one)) / 2
    found = np.divide(covariance, product, out=np.zeros_like(product), where=product > 0)
    rows = np.zeros(first.sample.mean.size)
    rows[: found.size] = np.clip(found, -1.0, 1.0)
    return rows
