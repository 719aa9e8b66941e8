"""From stored reports to estimates: count with an engine, estimate each stratum, present all.

`analyse` does the work of the command `rumor estimate`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from rumor.analysis.counting import Totals, leave_out_repeated, summarize
from rumor.analysis.distinct_ids import require_distinct
from rumor.analysis.engines.base import Engine, QuestionSource, Stratum
from rumor.analysis.engines.kept import KeptReports
from rumor.analysis.grouping import named_columns
from rumor.analysis.sources import ParquetSource
from rumor.contract.collection import Collection, Question
from rumor.contract.sampling import check_asked_together
from rumor.core.checks import checked_choice
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.plain_text import one_line
from rumor.core.types import Days, Progress
from rumor.estimators.data import EstimationData
from rumor.kinds import KINDS
from rumor.kinds.word_lists import read_words
from rumor.mechanisms.summary import Summary
from rumor.privacy.rounds import checked_rounds, require_rounds
from rumor.results.rows import Columns, csv_text
from rumor.results.shares import Share
from rumor.results.view import View

ENGINES = {
    "local": "rumor.analysis.engines.local",
    "spark": "rumor.analysis.engines.spark.launch",
    "gpu": "rumor.analysis.engines.gpu.engine",
}
"""Engines by name, with the module whose `open_engine` starts each."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """The estimates of one question, one for each stratum, and how they are shown."""

    collection: Collection
    question: Question
    totals: Totals
    estimates: Mapping[Stratum, Any]
    by: str | None
    view: View
    together: tuple[str, ...] = ()
    """Values whose joint share is shown as well."""
    repeated: int | None = None
    """The number of reports left out since their ids had occurred; None if not asked for."""
    some_ids: tuple[str, ...] = ()
    """Hashes of a few ids of the reports, which a saved summary keeps."""

    @property
    def reports(self) -> int:
        """The number of reports counted."""
        return sum(summary.reports for summary in self.totals.summaries.values())

    def summary(self) -> Summary:
        """Return the counts behind the one estimate there is."""
        if self.by is not None:
            raise InputError(f"a saved summary holds no groups; got --by {self.by}")
        counted = self.totals.summaries[None]
        return replace(counted, some_ids=self.some_ids or counted.some_ids)

    def columns(self) -> Columns:
        """Return a row for each estimate; with strata, each names its stratum."""
        whole: Columns = {}
        for stratum, result in self.estimates.items():
            columns = result.columns(self.view)
            mark: Columns = {}
            if self.by is not None:
                mark["stratum"] = [stratum] * len(next(iter(columns.values())))
            for name, column in (mark | columns).items():
                whole.setdefault(name, []).extend(column)
        return whole

    def to_dict(self) -> dict[str, object]:
        """Return everything as plain data for JSON: {"reports": n, "estimates": [...], ...}."""
        first = next(iter(self.estimates.values()))
        view, columns = self.view.for_file(first.LISTING), self.columns()
        facts: dict[str, object] = {
            "reports": self.reports,
            "skipped": self.totals.skipped,
            **({} if self.repeated is None else {"repeated": self.repeated}),
            "collection": self.collection.digest,
            **self._names(),
            "epsilon": first.epsilon,
            "method": first.method,
            "level": view.level,
            "of": view.of,
            "simultaneous": view.simultaneous,
            "looks": view.looks,
            "order": view.order,
            "covers": first.coverage_sentence(view),
        }
        if self.by is None:
            facts |= self._extra_fields(first)
        else:
            facts["by"] = self.by
            facts["strata"] = [
                {
                    "stratum": stratum,
                    "reports": e.reports,
                    **self._extra_fields(e),
                }
                for stratum, e in self.estimates.items()
            ]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {**facts, "estimates": rows}

    def _names(self) -> dict[str, object]:
        """Return the fields that name the question."""
        return {"question": self.question.id}

    def _title(self) -> str:
        """Return the title of a chart."""
        return self.question.text or self.question.id

    def _heading(self) -> str:
        """Return the heading of the tables; empty if their rows say it all."""
        return f"{self.question.id}: {self.question.text}" if self.question.text else ""

    def _omissions(self) -> list[str]:
        """Return a sentence for each reason why reports were not counted."""
        found = []
        if self.totals.skipped:
            found.append(f"{self.totals.skipped:,} invalid reports were left out")
        if self.repeated is not None:
            found.append(f"{self.repeated:,} repeated reports were left out")
        return found

    def _extra_fields(self, result: Any) -> dict[str, object]:
        """Return the fields of an estimate beside its rows."""
        share = self._share(result)
        told: dict[str, object] = {} if share is None else {"share": share.to_dict()}
        told["explanation"] = [*result.details(self.view), *result.warnings]
        return {**result.extra_fields(self.view), **told, "diagnostics": result.diagnostics}

    def _share(self, result: Any) -> Share | None:
        if not self.together:
            return None
        # On a command line every value is text, also where values are numbers.
        named = {str(value): value for value in result.values}
        asked = [named.get(value, value) for value in self.together]
        share: Share = result.together(asked, self.view)
        return share

    def to_csv(self) -> str:
        """Return the estimates as CSV text, in full precision."""
        return csv_text(self.columns())

    def table(self, explain: bool = False) -> str:
        """Return a table for each stratum as text, with further sentences if `explain`."""
        blocks = [heading] if (heading := self._heading()) else []
        for stratum, result in self.estimates.items():
            mark = "" if self.by is None else f"{self.by} = {one_line(stratum_name(stratum))}\n"
            share = self._share(result)
            text = mark + result.table(self.view) + ("" if share is None else f"\n{share}")
            blocks.append(f"{text}\n\n{result.explain(self.view)}" if explain else text)
        return "\n\n".join([*blocks, *self._omissions()])

    def plot(self, path: PathLike, width: float | None = None) -> None:
        """Draw the estimates into a file (.html, .png or .svg), `width` millimetres wide."""
        from rumor.results.charts import save_chart

        title = self._title()
        if self.by is None:
            self.estimates[None].plot(str(path), self.view, title=title, width=width)
            return
        named = {stratum_name(stratum): result for stratum, result in self.estimates.items()}
        kind = KINDS[self.question.kind]
        save_chart(kind.strata_chart(named, self.by, self.view, title=title), path, width)


def stratum_name(stratum: Stratum) -> str:
    """Return the name of a stratum in tables and charts."""
    return "(not known)" if stratum is None else str(stratum)


class CountOptions(TypedDict, total=False):
    """The selection of reports and the engine, as options of `count`."""

    question: str | None
    engine: str | Engine | AbstractContextManager[Engine]
    by: str | None
    window: Days
    distinct_ids: bool
    skip_invalid: bool
    on_progress: Progress | None


def analyse(
    collection_file: PathLike | Collection,
    path: PathLike | QuestionSource | Summary,
    *,
    method: str = "auto",
    view: View | None = None,
    together: Sequence[str] = (),
    candidates: PathLike | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    earlier: Sequence[tuple[PathLike | Collection, PathLike | Summary]] = (),
    **chosen: Unpack[CountOptions],
) -> Analysis:
    """Estimate one question from a reports file, a folder of them or a saved summary.

    Without `question` it is the one that the reports name. `by` and `window` choose among
    reports; a summary has nothing left to choose from. `distinct_ids` counts reports of equal
    ids once. A text question needs `candidates`, words or a file of them; `view` says how the
    estimates are shown, `together` are values whose joint share is shown too, `options` are
    those of the method. `earlier` are the rounds before this one of PrivKVM, each its collection
    and its reports, which count whole. `engine` is "local", "spark" (on this machine) or an engine,
    such as a `rumor.analysis.engines.spark.engine.SparkEngine` of your session; one that has yet to
    be started is when the rest has been checked.
    """
    collection, question = as_collection(collection_file), chosen.get("question")
    if question is not None or len(collection.questions) == 1:
        asked_kind = KINDS[collection.question(question).kind]
        checked_choice("method", asked_kind.resolve_method(method), asked_kind.methods())
    words = read_words(candidates) if isinstance(candidates, (str, os.PathLike)) else candidates
    with ExitStack() as stack:
        if earlier:  # one engine counts all rounds
            engine = _as_engine(chosen.get("engine", "local"))
            chosen["engine"] = stack.enter_context(engine)
        counted = stack.enter_context(count(collection, path, **chosen))
        asked, totals = counted.question, counted.totals
        kind = KINDS[asked.kind]
        known = kind.candidate_options(asked.id, asked.mechanism, words, chosen.get("on_progress"))
        settings = {**known, **(options or {})}
        before = _earlier_rounds(collection, asked, earlier, chosen)
        estimates = {
            stratum: kind.estimate(
                asked.mechanism,
                [*(_round_of(one, stratum) for one in before), summary]
                if before
                else _estimation_data(stratum, summary, counted.kept),
                method,
                settings,
            )
            for stratum, summary in totals.summaries.items()
        }
    return Analysis(
        collection,
        asked,
        totals,
        estimates,
        chosen.get("by"),
        view or View(),
        tuple(together),
        counted.repeated,
        counted.some_ids,
    )


def _earlier_rounds(
    collection: Collection,
    asked: Question,
    earlier: Sequence[tuple[PathLike | Collection, PathLike | Summary]],
    chosen: CountOptions,
) -> list[Totals]:
    """Return the counts of the rounds before `collection`, in order; refuse gaps in the chain."""
    if not earlier:
        return []
    require_rounds(asked.mechanism)
    rounds = [(as_collection(contract), path) for contract, path in earlier]
    rounds.sort(key=lambda one: one[0].question(asked.id).mechanism.round)
    checked_rounds([*(contract for contract, _ in rounds), collection], asked.id)
    options: CountOptions = {**chosen, "question": asked.id, "window": (None, None)}
    options.pop("on_progress", None)
    found = []
    for contract, path in rounds:
        with count(contract, path, **options) as counted:
            found.append(counted.totals)
    return found


def _round_of(totals: Totals, stratum: Stratum) -> Summary:
    """Return the counts of `stratum` in an earlier round; refuse one without reports in it."""
    if stratum not in totals.summaries:
        raise InputError(
            f"every group must have reports in every round; got none of "
            f"{stratum_name(stratum)} in an earlier one"
        )
    return totals.summaries[stratum]


def as_collection(collection: PathLike | Collection) -> Collection:
    """Return `collection`, loaded if it is a file."""
    return collection if isinstance(collection, Collection) else Collection.load(collection)


@dataclass(frozen=True)
class CountedReports:
    """The counts of one question; `kept` are the reports if they can be read again."""

    question: Question
    totals: Totals
    repeated: int | None
    kept: KeptReports | None
    some_ids: tuple[str, ...] = ()
    """Hashes of a few ids of the reports, by which a summary is told from a copy."""


@contextmanager
def count(
    collection: Collection,
    path: PathLike | QuestionSource | Summary,
    *,
    question: str | None = None,
    engine: str | Engine | AbstractContextManager[Engine] = "local",
    by: str | None = None,
    window: Days = (None, None),
    distinct_ids: bool = False,
    skip_invalid: bool = False,
    on_progress: Progress | None = None,
) -> Iterator[CountedReports]:
    """Count one question's reports, stratum by stratum; see `analyse`."""
    asked = None if question is None else collection.question(question)
    if by is not None:
        for name in named_columns(by):
            check_asked_together(collection.ask, [each.id for each in collection.questions], name)
    if isinstance(engine, str):
        checked_engine(engine)
    with ExitStack() as stack:
        kept: KeptReports | None = None
        repeated: int | None = None
        some_ids: tuple[str, ...] = ()
        if isinstance(path, Summary) or (
            not isinstance(path, QuestionSource) and Summary.is_file(path)
        ):
            name = "it" if isinstance(path, Summary) else repr(str(path))
            if by is not None or window != (None, None) or distinct_ids:
                raise InputError(
                    f"groups and days are chosen when reports are counted, and {name} is a "
                    f"summary; got --by, --from, --to or --distinct-ids"
                )
            summary = path if isinstance(path, Summary) else Summary.load(path)
            asked = _question_of(summary, collection, asked, name.strip("'"))
            totals = Totals({None: summary})
        else:
            source = _source(path, collection, asked, by=by, window=window, ids=distinct_ids)
            asked = source.question
            # Everything else has been checked: starting an engine may take a while.
            runner = stack.enter_context(_as_engine(engine))
            if isinstance(source, ParquetSource):
                if distinct_ids:
                    repeated = leave_out_repeated(source, runner)
                # A source that exists was chosen, copies and all, by whoever made it.
                some_ids = () if source is path else require_distinct(source)
            totals = summarize(
                source,
                asked.mechanism,
                contract=collection.digest,
                question=asked.id,
                engine=runner,
                skip_invalid=skip_invalid,
                on_progress=on_progress,
            )
            kept = stack.enter_context(KeptReports(runner, source, asked.mechanism))
        found = {s: summary for s, summary in totals.summaries.items() if summary.reports}
        if not found:
            raise InputError(
                f"an estimate needs at least one report; got none in {str(path)!r}"
                + ("" if window == (None, None) else " of these days")
            )
        ordered = {stratum: found[stratum] for stratum in sorted(found, key=stratum_order)}
        totals = Totals(ordered, totals.skipped)
        yield CountedReports(asked, totals, repeated, kept, some_ids)


def _source(
    path: PathLike | QuestionSource,
    collection: Collection,
    asked: Question | None,
    *,
    by: str | None,
    window: Days,
    ids: bool,
) -> QuestionSource:
    """Return the source at `path`; one that exists makes its own selection."""
    if not isinstance(path, QuestionSource):
        place = _question_folder(path, collection, asked)
        return ParquetSource(place, collection, asked, by=by, window=window)
    if by is not None or window != (None, None) or ids:
        raise InputError(
            "groups, days and ids are chosen where a source is made; "
            "got by, window or distinct_ids beside one"
        )
    if asked is not None and path.question != asked:
        raise InputError(f"the source must be of question {asked.id!r}; got {path.question.id!r}")
    return path


def stored_reports(
    path: PathLike, collection: Collection, question: str | None, window: Days
) -> ParquetSource:
    """Return the reports of a question in a file or folder, within the days of `window`."""
    asked = None if question is None else collection.question(question)
    return ParquetSource(
        _question_folder(path, collection, asked), collection, asked, window=window
    )


def _question_folder(path: PathLike, collection: Collection, asked: Question | None) -> PathLike:
    """Return the folder of a question's reports in a folder that `rumor export` wrote."""
    if asked is None and len(collection.questions) == 1:
        asked = collection.questions[0]
    exported = None if asked is None else Path(path) / f"question={asked.id}"
    return path if exported is None or not exported.is_dir() else exported


def _estimation_data(
    stratum: Stratum, summary: Summary, kept: KeptReports | None
) -> Summary | EstimationData:
    """Return the counts and, if they are kept, the reports behind them."""
    return (
        summary if kept is None else EstimationData(summary, kept.passes(stratum, summary.reports))
    )


def checked_engine(name: str) -> str:
    """Return `name` if an engine has it."""
    return checked_choice("an engine", name, tuple(ENGINES))


def _as_engine(
    engine: str | Engine | AbstractContextManager[Engine],
) -> AbstractContextManager[Engine]:
    if isinstance(engine, str):
        return open_engine(engine)
    return engine if isinstance(engine, AbstractContextManager) else nullcontext(engine)


@contextmanager
def open_engine(
    name: str,
    master: str | None = None,
    on_status: Callable[[Any], None] | None = None,
) -> Iterator[Engine]:
    """Yield the engine called `name`; Spark starts at `master` and ends with the block."""
    module = importlib.import_module(ENGINES[checked_engine(name)])
    with module.open_engine(master, on_status) as engine:
        yield engine


def _question_of(
    summary: Summary, collection: Collection, asked: Question | None, path: PathLike
) -> Question:
    if summary.contract != collection.digest:
        theirs = "none" if summary.contract is None else f"{summary.contract[:16]}..."
        raise InputError(
            f"{path}: the summary must be of this collection "
            f"(digest {collection.digest[:16]}...); got {theirs}"
        )
    if asked is not None and summary.question != asked.id:
        raise InputError(
            f"{path}: the summary must be of question {asked.id!r}; got "
            f"{format_value(summary.question)}"
        )
    return collection.question(summary.question)


def stratum_order(stratum: Stratum) -> tuple[bool, bool, int, str]:
    """Return a sort key for strata: by number or name, the unknown one last."""
    number = stratum if isinstance(stratum, int) else 0
    return stratum is None, isinstance(stratum, str), number, str(stratum)
