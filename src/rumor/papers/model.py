"""The parts of a reproduced paper: a checklist, cells and claims.

The rule by which a published number counts as reproduced: it lies within three standard errors
of the difference. The published number is a mean over the paper's own number of trials, so its
standard error is the spread that we see between trials over the root of that number; ours is
the same over the root of our own. Half a unit of the last printed digit is added. A number
without chance in it must agree to its last printed digit.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Quantities, each with a value for every trial (one alone where there is no chance in it).
Numbers = Mapping[str, Sequence[float]]
Parameters = Mapping[str, Any]
Experiment = Callable[[Parameters, int, int], Numbers]
"""A pure function of parameters, trials and a seed. It must be importable by name."""

STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class PaperTable:
    """A table beyond the list of claims."""

    name: str
    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    @classmethod
    def of_rows(cls, name: str, title: str, rows: Sequence[Mapping[str, str]]) -> PaperTable:
        """Return a table whose rows are mappings from column names to cells."""
        return cls(name, title, tuple(rows[0]), [tuple(row.values()) for row in rows])


@dataclass(frozen=True)
class Point:
    """A point of a figure; low and high are the ends of its error bar."""

    series: str
    x: float
    y: float
    facet: str = ""
    low: float | None = None
    high: float | None = None
    text: str = ""
    """The text in a cell of a grid."""
    column: str = ""
    """The heading of a cell's column in a grid, where `x` is its place."""


@dataclass(frozen=True)
class Figure:
    """A chart of points, with a panel for each facet."""

    name: str
    title: str
    x: str
    y: str
    points: Sequence[Point]
    kind: str = "line"
    """"line", "bar", "tick", or "grid": a matrix, whose rows are series and columns x."""
    log_x: bool = False
    log_y: bool = False
    columns: int = 3
    shared: bool = True
    """Whether all panels have one vertical scale."""
    note: str = ""


@dataclass(frozen=True)
class Cell:
    """One measurement: an experiment, its parameters and its number of trials."""

    id: str
    experiment: Experiment
    parameters: Parameters = field(default_factory=dict)
    trials: int = 1
    quick: int = 1
    lighter: Parameters = field(default_factory=dict)
    """Parameters that a quick run replaces."""

    @property
    def seed(self) -> int:
        """Follows from the name alone, so that other cells do not change it."""
        return int.from_bytes(hashlib.sha256(self.id.encode()).digest()[:6], "little")

    @property
    def code(self) -> str:
        """A digest of what runs, so that a changed experiment is run again."""
        source = inspect.getsource(self.experiment)
        return hashlib.sha256(source.encode()).hexdigest()[:12]

    def asked(self, *, trials: int | None, quick: bool) -> tuple[dict[str, Any], int]:
        """Return the parameters and the number of trials of a run."""
        settings = {**self.parameters, **(self.lighter if quick else {})}
        if self.trials == 1:  # no chance in it, or too long to repeat
            return settings, 1
        return settings, trials or (self.quick if quick else self.trials)


@dataclass(frozen=True)
class TrialMean:
    """The mean of a quantity over trials, their spread (standard deviation) and number."""

    mean: float
    spread: float
    trials: int

    @property
    def stderr(self) -> float:
        """The standard error of the mean."""
        return self.spread / math.sqrt(self.trials)


@dataclass(frozen=True)
class Results:
    """Measured means, by cell and quantity, and the run that they come from."""

    numbers: Mapping[str, Mapping[str, TrialMean]]
    made: Mapping[str, str]
    """Version, commit and command."""

    def __contains__(self, cell: str) -> bool:
        return cell in self.numbers

    def get(self, cell: str, quantity: str) -> TrialMean:
        """Return one quantity of one cell."""
        return self.numbers[cell][quantity]

    def mean(self, cell: str, quantity: str) -> float:
        """Return the mean of one quantity of one cell."""
        return self.get(cell, quantity).mean

    def shown(self, cell: str, forms: Mapping[str, tuple[str, str]]) -> dict[str, str]:
        """Return means of a cell as text: under each heading that of a quantity, in a format."""
        return {
            heading: format(self.mean(cell, quantity), form)
            for heading, (quantity, form) in forms.items()
        }


@dataclass(frozen=True)
class Claim:
    """A published number, what reproduces it, and why it may not be reproduced."""

    part: str
    row: str
    column: str
    published: float
    cell: str
    quantity: str
    trials: int | None = None
    """The number of trials in the paper; None for a number without chance."""
    rounding: float = 0.0
    """Half a unit of the last printed digit."""
    ours: tuple[str, str] | None = None
    """Cell and quantity of Rumor's own answer to the same question."""
    explanation: str = ""
    """What the number is consistent with, where it is not reproduced. "Unresolved: ..." says that
    we do not know."""
    printed: tuple[str, str] | None = None
    """Cell and quantity by the document's own labels, where `cell` reads them otherwise."""
    formula: bool = False
    """Whether the number is a formula of the document, evaluated here, and not a printed one."""

    @property
    def name(self) -> str:
        """Part, row and column."""
        return ", ".join(text for text in (self.part, self.row, self.column) if text)


@dataclass(frozen=True)
class Verdict:
    """A claim with the measured number."""

    claim: Claim
    reproduced: TrialMean
    ours: TrialMean | None
    printed: TrialMean | None = None
    """The number by the document's own labels, where `reproduced` reads them otherwise."""

    @property
    def stderr(self) -> float:
        """The standard error of the difference."""
        return _stderr(self.claim, self.reproduced)

    @property
    def distance(self) -> float:
        """The difference in its standard errors, beyond rounding."""
        return _distance(self.claim, self.reproduced)

    @property
    def holds(self) -> bool:
        """Whether the published number is reproduced, by the reading of its labels given here."""
        return self.distance <= STANDARD_ERRORS

    @property
    def holds_as_printed(self) -> bool:
        """Whether the published number is reproduced by the document's own labels."""
        if self.printed is None:
            return self.holds
        return _distance(self.claim, self.printed) <= STANDARD_ERRORS

    @property
    def ratio(self) -> float:
        """Published over reproduced."""
        mean = self.reproduced.mean
        return self.claim.published / mean if mean else math.nan


def _stderr(claim: Claim, found: TrialMean) -> float:
    if claim.trials is None:
        return 0.0
    return math.sqrt(found.spread**2 / claim.trials + found.spread**2 / found.trials)


def _distance(claim: Claim, found: TrialMean) -> float:
    """Return |published - found| in standard errors of the difference, beyond rounding."""
    off, stderr = abs(claim.published - found.mean), _stderr(claim, found)
    # Printing is decimal and we compute in doubles: a hair more than half a unit.
    beyond = max(0.0, off - claim.rounding * (1 + 1e-9) - 1e-12 * abs(off))
    if beyond == 0:
        return 0.0
    return beyond / stderr if stderr > 0 else math.inf


@dataclass(frozen=True)
class ChecklistItem:
    """An item of a document: an equation, table, figure, parameter or percentage.

    `code` names what computes it, as "package.module:name" or "cell:beginning of an id"; `shown`
    is a command that shows it (one that takes more than seconds is `slow`) and `prints` are texts
    in what it prints; `note` says what there is to say, and why there is no command where there is
    none. An item that is Rumor's own lies `beyond` the document.
    """

    what: str
    says: str
    code: tuple[str, ...] = ()
    note: str = ""
    shown: str = ""
    prints: tuple[str, ...] = ()
    slow: bool = False
    beyond: bool = False


@dataclass(frozen=True)
class Paper:
    """A document and everything that reproduces it."""

    name: str
    title: str
    source: str
    checklist: Sequence[ChecklistItem]
    cells: Sequence[Cell]
    claims: Sequence[Claim] = ()
    tables: Callable[[Results], Sequence[PaperTable]] = lambda results: ()
    figures: Callable[[Results], Sequence[Figure]] = lambda results: ()

    def verdicts(self, results: Results) -> list[Verdict]:
        """Return every claim whose cell has been run."""
        return [
            Verdict(
                claim,
                results.get(claim.cell, claim.quantity),
                *(None if place is None else results.get(*place) for place in others),
            )
            for claim in self.claims
            for others in [(claim.ours, claim.printed)]
            if all(place[0] in results for place in others if place is not None)
            and claim.cell in results
        ]


def paper_of(
    document: str,
    *,
    cells: Sequence[Cell],
    claims: Sequence[Claim] = (),
    tables: Callable[[Results], Sequence[PaperTable]],
    figures: Callable[[Results], Sequence[Figure]],
) -> Paper:
    """Return a document, reproduced by these cells."""
    file = Path(__file__).parent / "documents" / f"{document}.toml"
    said = tomllib.loads(file.read_text(encoding="utf-8"))
    checklist = [_entry(**entry) for entry in said["entry"]]
    made = cells, claims, tables, figures
    return Paper(document, said["title"], said["source"], checklist, *made)


def _entry(
    what: str, says: str, code: Sequence[str] = (), prints: Sequence[str] = (), **rest: Any
) -> ChecklistItem:
    return ChecklistItem(what, says, tuple(code), prints=tuple(prints), **rest)
