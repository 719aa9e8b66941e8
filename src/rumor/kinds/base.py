"""The base class of all kinds of questions: keys, mechanisms, estimates, plans and charts.

A kind owns its keys in a collection, the mechanisms it resolves to, how an answer is read from a
cell or a keyboard, what is estimated and by which methods, its simulation, its plan, and what its
control on a page must know. Code outside a kind's folder asks the kind and never branches on it.

Each kind is a folder. Its `question` file is what a device needs and is light. Its further parts
are files with fixed names, each loaded at the first use:

    read.py       ABOUT and ASKS: what `rumor init` asks about a question;
                  reader(mechanism): how a column of answers is read; where an answer takes
                  several columns, read_people(mechanism, table, keep)
    estimate.py   OPTIONS of each method, and estimate(mechanism, data, method, options)
    simulate.py   dry_run(mechanism, held, trials)
    plan.py       planned(size)
    compare.py    measures(mechanism, summary, of, options): the quantities that are compared,
                  weighted and followed over time; omnibus_test(first, second): the test that
                  two groups differ in nothing; scores(mechanism, reports): what each report
                  says of these quantities, where people have weights
    regress.py    models(mechanism): the models of a regression; and, but for a linear one,
                  report_likelihoods(mechanism, reports): P(report | value) of every report
"""

from __future__ import annotations

import abc
import importlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from rumor.core.canonical import Json
from rumor.core.checks import checked_choice, known_keys, nearest
from rumor.core.errors import InputError, format_value
from rumor.core.types import Progress, Rows, Target, Vector
from rumor.kinds import NAMES
from rumor.kinds.method_aliases import aliases_of, resolve_method
from rumor.mechanisms.aliases import resolve_alias, unknown_mechanism
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.registry import mechanisms_of_kind

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

    from rumor.core.answer_table import AnswerTable
    from rumor.core.files import PathLike
    from rumor.core.reports import Reports
    from rumor.estimators.groups import OmnibusTest
    from rumor.kinds.measures import Measures, ScoredReports
    from rumor.kinds.planning.learned_cap import LearnedCap
    from rumor.kinds.planning.planned import PlannedQuestion, Size
    from rumor.kinds.reading import Reader, TableAnswers
    from rumor.kinds.simulation import SimulationResult, SimulationSettings
    from rumor.mechanisms.summary import Summary
    from rumor.results.rows import Tabular
    from rumor.results.view import View

M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True)
class Example:
    """A small question of a kind with respondents' answers, on which the shared tests try
    the kind.
    """

    spec: Mapping[str, object]
    """The question as a collection asks it, without its id."""
    typed_answers: Sequence[str]
    """Answers as people type them."""
    table: str
    """The respondents' answers as a CSV table, for a question with the id "asked"."""
    plan: Mapping[str, object]
    """The size of the question, as the keyword arguments of `Size`."""
    words: Sequence[str] | None = None
    """Candidate words, where answers are words."""

    @classmethod
    def of_one_column(cls, people: Sequence[str], **rest: Any) -> Self:
        """Return an example whose table has one column with the answers of `people` as typed."""
        return cls(typed_answers=people, table="\n".join(["asked", *people, ""]), **rest)


@dataclass(frozen=True)
class KindSwitch:
    """A key with two values, the second of which (`other`) turns the question into one of
    `kind`.
    """

    key: str
    own: str
    other: str
    kind: str


class Kind(abc.ABC, Generic[M]):
    """One kind of question, whose mechanisms are of the family M."""

    name: ClassVar[str]
    keys: ClassVar[tuple[str, ...]]
    """The keys that a question of this kind may have beyond those of every question."""
    contract_names: ClassVar[tuple[str, ...]] = ()
    """The members of the contract beyond the mechanism."""
    family: type[M]
    """The base class of the mechanisms of this kind."""
    family_rule: ClassVar[str]
    """The sentence that refuses a contract whose mechanism is outside `family`."""
    kind_switch: ClassVar[KindSwitch | None] = None
    """The key by which a question of this kind may become one of another kind."""
    memoises: ClassVar[bool] = False
    """Whether a mechanism of this kind memoises permanent answers, which are paid once."""
    has_domain: ClassVar[bool] = True
    """Whether a question has a number of answers, candidate words or keys."""
    least_domain: ClassVar[int] = 2
    """The smallest number of answers, candidate words or keys of a question."""
    any_look: ClassVar[bool] = True
    """Whether its estimates have intervals that hold at any look."""
    estimates_shares: ClassVar[bool] = True
    """Whether an estimate is a share for each value, and not numbers."""
    has_cap: ClassVar[bool] = False
    """Whether a question may have a cap on the number of items of one person."""
    linked_kind: ClassVar[str | None] = None
    """The kind of the table that two linked questions of this kind make."""

    many_columns_reason: ClassVar[str | None] = None
    """The reason why no single column of a table holds the whole answer, where none does."""

    # The question: light.

    def effective_kind(self, spec: Mapping[str, object]) -> str:
        """Return the name of the kind that answers `spec`: this one, unless its switch names
        another.
        """
        if self.kind_switch is None:
            return self.name
        key, known = self.kind_switch.key, [self.kind_switch.own]
        if self.kind_switch.kind in NAMES:
            known.append(self.kind_switch.other)
        wanted = checked_choice(key, spec.get(key, self.kind_switch.own), known)
        return self.name if wanted == self.kind_switch.own else self.kind_switch.kind

    @classmethod
    def lineage(cls) -> tuple[str, ...]:
        """Return the name of this kind, then those of the kinds whose classes this kind extends.

        What its own folder lacks is taken from theirs, and their mechanisms are its own too.
        """
        return tuple(vars(each)["name"] for each in cls.__mro__ if "name" in vars(each))

    @abc.abstractmethod
    def resolve(self, spec: Mapping[str, object], users: int | None) -> M:
        """Return the mechanism that the question `spec` asks for, with `users` people expected."""

    def contract_fields(self, mechanism: M) -> dict[str, Json]:
        """Return the members of the contract that this kind adds for `mechanism`."""
        return {name: getattr(mechanism, name) for name in self.contract_names}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> M:
        """Return `mechanism` with the names of answers that `contract` carries."""
        return self.check_family(mechanism)

    def columns(self, id: str, mechanism: M) -> Sequence[str]:
        """Return the columns of a table that hold answers to the question called `id`."""
        return [id]

    def parse_answer(self, mechanism: M, text: str) -> object:
        """Return the typed answer `text` as `mechanism` takes it, or raise an AnswerError."""
        return text

    def choice_limit_text(self, mechanism: M) -> str:
        """Return, in words, how many options one answer may list; "" where an answer is one
        option.
        """
        return ""

    @abc.abstractmethod
    def hint(self, mechanism: M) -> str:
        """Return a short text that says what a person may type."""

    @abc.abstractmethod
    def example(self) -> Example:
        """Return a small question, which the shared tests carry from the device to the chart."""

    def answer_domain(self, mechanism: M) -> dict[str, Json]:
        """Return what pages show of the domain: the number of answers, or the range of numbers."""
        return {"answers": None, "range": None}

    def advice(self, mechanism: M) -> str | None:
        """Return a sentence of advice for the author of the question, or None."""
        return None

    # Answers in a table.

    def answer_column(self, id: str, column: str | None, table: AnswerTable) -> str | None:
        """Return the column of `table` with the answers, checked; None where several hold them."""
        if self.many_columns_reason is not None:
            if column is not None:
                raise InputError(f"{self.many_columns_reason}, so none is named; got {column!r}")
            return None
        name = id if column is None else column
        table.require(name)
        return name

    def check_missing(self, mechanism: M, rule: str) -> None:
        """Refuse a `rule` for missing answers that this question cannot have."""
        if rule in ("error", "drop"):
            return
        labels = self.labels_for_missing(mechanism)
        if labels is not None and rule not in labels:
            those = f" or a label of the question ({abbreviate_list(labels, 5)})" if labels else ""
            near = nearest(rule, ["drop", "error", *labels])
            raise InputError(f"--missing must be drop, error{those}; got {near}")

    def labels_for_missing(self, mechanism: M) -> Sequence[str] | None:
        """Return the labels that a missing answer may count as; None where any text may."""
        return mechanism.labels or ()

    def table_advice(self, mechanism: M, table: AnswerTable, column: str) -> str | None:
        """Return a sentence about answers in `column` of `table` that contradict the question, or
        None.
        """
        return None

    def has_row_per_person(self, table: AnswerTable) -> bool:
        """Return whether each row of `table` is a different person."""
        return True

    def read(
        self,
        id: str,
        mechanism: M,
        table: AnswerTable,
        column: str | None,
        keep: Sequence[str] = (),
    ) -> Iterator[tuple[Any, pa.RecordBatch | None]]:
        """Yield people's answers as `mechanism` takes them, batch by batch, with the columns
        `keep`.
        """
        if self.many_columns_reason is not None:
            people: Iterator[tuple[Any, pa.RecordBatch | None]]
            people = self._part("read").read_people(mechanism, table, keep)
            return people
        return self.reader(mechanism).read(table, column or id, keep)

    def reader(self, mechanism: M) -> Reader:
        """Return how a column of answers is read as `mechanism` takes them."""
        found: Reader = self._part("read").reader(mechanism)
        return found

    # Estimates.

    def methods(self) -> tuple[str, ...]:
        """Return the names of the methods that estimate reports of this kind."""
        return tuple(self.options())

    def options(self) -> Mapping[str, tuple[str, ...]]:
        """Return the names of each method's options, by method."""
        found: Mapping[str, tuple[str, ...]] = self._part("estimate").OPTIONS
        return found

    def resolve_method(self, method: str) -> str:
        """Return our name of `method`, which may be an alias from the literature."""
        return resolve_method(method, self.methods(), aliases_of(self.lineage()))

    def estimate(
        self, mechanism: M, data: object, method: str, options: Mapping[str, Any]
    ) -> Tabular:
        """Return the estimate by `method` from `data`: reports, a summary or both."""
        chosen = self.resolve_method(method)
        found: Tabular = self._part("estimate").estimate(mechanism, data, chosen, options)
        return found

    def estimate_rounds(self, rounds: Sequence[Summary], method: str) -> Tabular:
        """Return the estimate of all `rounds` together, where a mechanism works in rounds."""
        raise InputError(f"only PrivKVM has rounds; got {rounds[0].mechanism.name!r}")

    def estimate_round(self, mechanism: M, summary: Summary) -> Any:
        """Return the estimate of one round, whose means the next round's contract publishes."""
        raise InputError(f"only PrivKVM has rounds; got {mechanism.name!r}")

    def check_linked(self, mechanisms: Mapping[str, Mechanism]) -> None:
        """Refuse `mechanisms`, by question, whose linked reports make no table of this kind."""
        raise InputError(f"a question of kind {self.name!r} is no table of linked questions")

    def estimate_linked(
        self, asked: Mapping[str, tuple[Any, object]], method: str = "auto"
    ) -> Tabular:
        """Return the table of two questions from `asked`: each question's mechanism and reports."""
        raise InputError(f"a question of kind {self.name!r} is no table of linked questions")

    def candidate_options(
        self, id: str, mechanism: M, words: Sequence[str] | None, on_progress: Progress | None
    ) -> dict[str, Any]:
        """Return the options of an estimate that the candidate `words` of the question `id`
        give.
        """
        if words is not None:
            self.check_accepts_candidates(id)
        return {}

    def check_accepts_candidates(self, id: str) -> None:
        """Refuse candidate words for the question `id`, where this kind has no use for them."""
        raise InputError(
            f"candidates are for text questions; got --candidates for {id!r}, "
            f"whose kind is {self.name!r}"
        )

    def collector_options(self, words: Sequence[str] | None) -> dict[str, Any]:
        """Return a collector's options of an estimate from `words`, the candidates of all
        questions.
        """
        return {}

    def strata_chart(
        self, estimates: Mapping[str, Any], by: str, view: View, *, title: str
    ) -> alt.FacetChart | alt.LayerChart | alt.VConcatChart:
        """Return one chart with a panel for the estimate of each stratum in `estimates`."""
        from rumor.results.charts import strata_chart

        if not self.estimates_shares:
            raise InputError(f"charts of numbers have no groups; got --by {by}")
        return strata_chart(estimates, by, view, title=title)

    # Analyses of several groups.

    def measures(
        self, mechanism: M, summary: Summary, of: Target, options: Mapping[str, Any]
    ) -> Measures:
        """Return the unbiased quantities of the group that `summary` counts, for comparisons."""
        self._check_comparable()
        found: Measures = self._part("compare").measures(mechanism, summary, of, options)
        return found

    def omnibus_test(self, first: Summary, second: Summary) -> OmnibusTest | None:
        """Return the test that the groups `first` and `second` differ in nothing; None where none
        exists.
        """
        self._check_comparable()
        test = getattr(self._part("compare"), "omnibus_test", None)
        found: OmnibusTest | None = None if test is None else test(first, second)
        return found

    def scores(self, mechanism: M, reports: Reports) -> ScoredReports:
        """Return what each report says of the quantities of `measures`, for people with weights."""
        self._check_comparable()
        read = getattr(self._part("compare"), "scores", None)
        if read is None:
            raise InputError(
                f"people have weights in questions of kind choice, set, number, ordered and joint; "
                f"got kind {self.name!r}"
            )
        found: ScoredReports = read(mechanism, reports)
        return found

    def _check_comparable(self) -> None:
        if not self._has("compare"):
            raise InputError(f"questions of kind {self.name!r} cannot be compared; got one")

    def regression_models(self, mechanism: M) -> tuple[str, ...]:
        """Return the names of the models of a regression, the usual one first."""
        if not self._has("regress"):
            return ()
        found: tuple[str, ...] = self._part("regress").models(mechanism)
        return found

    def report_likelihoods(
        self, mechanism: M, reports: Reports
    ) -> tuple[Vector, Rows | None, Vector | None]:
        """Return P(report | value) for a regression: rows, each report's row, and P of every
        output.
        """
        found: tuple[Vector, Rows | None, Vector | None]
        found = self._part("regress").report_likelihoods(mechanism, reports)
        return found

    def _has(self, part: str) -> bool:
        return any(
            importlib.util.find_spec(f"rumor.kinds.{name}.{part}") for name in self.lineage()
        )

    # Before the first report.

    def simulate(
        self, mechanism: M, held: TableAnswers, trials: SimulationSettings
    ) -> SimulationResult[Any]:
        """Return a simulation of `trials` on the people in the table `held`."""
        trials = replace(trials, method=self.resolve_method(trials.method))
        run: SimulationResult[Any] = self._part("simulate").dry_run(mechanism, held, trials)
        return run

    def check_size(self, size: Size) -> None:
        """Refuse a `size` that a question of this kind cannot have."""
        if size.cap is not None and not self.has_cap:
            raise InputError(f"a cap is for keyvalue and set questions; got one for a {self.name}")
        if size.parts is not None:
            raise InputError(f"parts are for joint questions; got some for a {self.name}")
        if size.domain is not None:
            size.checked(self.least_domain)

    def learned_cap(self, path: PathLike, summary: Summary) -> LearnedCap:
        """Return the cap for another question that the `summary` in the file `path` suggests."""
        raise InputError(
            f"{path}: a cap is taken from an ordered question, how many things people hold; got "
            f"reports of {summary.mechanism.name}"
        )

    def largest_error(self, size: Size) -> float:
        """Return the bound that no error exceeds: 1 for shares."""
        return 1.0

    def plan_question(self, size: Size) -> PlannedQuestion[M]:
        """Return the question of this kind and `size` that a plan works with."""
        known = size.checked(self.least_domain) if self.has_domain else size.without_domain()
        planned: PlannedQuestion[M] = self._part("plan").planned(known)
        return planned

    def interview(self) -> Any:
        """Return the module that says what `rumor init` asks about a question of this kind."""
        return self._part("read")

    def _part(self, name: str) -> Any:
        """Return the file `name` of this kind's folder, or of the nearest that it extends."""
        files = [f"rumor.kinds.{kind}.{name}" for kind in self.lineage()]
        return importlib.import_module(next(filter(importlib.util.find_spec, files), files[0]))

    # Parsing of a question's keys.

    def check_family(self, mechanism: Mechanism) -> M:
        """Return `mechanism`, checked to be of this kind's family."""
        if not isinstance(mechanism, self.family):
            raise InputError(f"{self.family_rule}; got {mechanism!r}")
        return mechanism

    def mechanisms(self) -> dict[str, type[M]]:
        """Return the registered mechanisms that answer this kind, by name."""
        made = (mechanism for kind in self.lineage() for mechanism in mechanisms_of_kind(kind))
        return {m.name: m for m in made if issubclass(m, self.family)}

    def chosen_mechanism(self, spec: Mapping[str, object]) -> tuple[str, dict[str, object]]:
        """Return the name and the options of the mechanism that `spec` names, aliases resolved."""
        typed, options = mechanism_spec(spec)
        name, options = resolve_alias(typed, options)
        if name != typed and name not in self.mechanisms():
            raise unknown_mechanism(typed, tuple(self.mechanisms()))
        return name, options

    def mechanism_named(
        self, name: str, options: Mapping[str, object], extra: tuple[str, ...] = ()
    ) -> type[M] | None:
        """Return the class of the mechanism `name`, its `options` checked; None for "auto"."""
        if name == "auto":
            known_keys('mechanism "auto"', options, ())
            return None
        known = self.mechanisms()
        if name not in known:
            raise unknown_mechanism(name, tuple(known))
        known_keys(f"mechanism {name!r}", options, (*known[name].OPTIONS, *extra))
        return known[name]


def abbreviate_list(names: Sequence[str], most: int = 12) -> str:
    """Return the `names` as one line, abbreviated after the first `most`."""
    rest = f", ... ({len(names):,} in all)" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def mechanism_spec(spec: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """Return the name and the options of the mechanism in `spec`; the name defaults to "auto"."""
    choice = spec.get("mechanism", "auto")
    table = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(
            f"a mechanism must be a name or a table with a name; got {format_value(choice)}"
        )
    return table["name"], {key: value for key, value in table.items() if key != "name"}


def domain_of(spec: Mapping[str, object]) -> object:
    """Return the labels or the number of answers in `spec`, which must have exactly one of them."""
    if ("labels" in spec) == ("domain" in spec):
        given = "both" if "labels" in spec else "neither"
        raise InputError(f"a question must have either labels or a domain size; got {given}")
    domain = spec.get("labels", spec.get("domain"))
    if "labels" in spec and not isinstance(domain, list):
        raise InputError(f"labels must be a list of strings; got {format_value(domain)}")
    return domain


def labels_of(contract: Mapping[str, object]) -> Sequence[object] | None:
    """Return the labels in a `contract`, as a list, a tuple or None."""
    labels = contract["labels"]
    if labels is not None and not isinstance(labels, (list, tuple)):
        raise InputError(f"labels must be a list or null; got {format_value(labels)}")
    return labels
