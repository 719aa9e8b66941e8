"""What the program does not do, each with its sentence: every other cell has an answer.

Reviewed by hand. A cell that is refused and not listed fails, and so does one that is listed and
answered: support changes here or not at all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.joins.axes import FILES, ROWS, STORES, Cell

_OPTIONS = {
    "days": "--from",
    "groups": "--by",
    "weights": "--weights",
    "methods": "--method",
    "repeated": "--distinct-ids",
    "invalid": "--skip-invalid",
}
# Which commands lack which options; an option that one gets must be taken out here.
_LACKING = {
    "compare": ("weights", "methods"),
    "combine": ("groups", "methods"),
    "trend": ("groups", "weights", "methods"),
    "regress": ("groups", "weights", "methods", "repeated"),
    "merge": ("methods",),
    "export": tuple(_OPTIONS),
    "simulate": ("days", "groups", "weights", "repeated", "invalid"),
    "plan": tuple(_OPTIONS),
}
_NO_ENGINE = ("regress", "export")


@dataclass(frozen=True)
class Refusal:
    """Cells that are refused, by the values of axes (none for any), and what is said."""

    sentence: str
    verbs: Sequence[str] = ()
    rows: Sequence[str] = ()
    places: Sequence[str] = ()
    kinds: Sequence[str] = ()

    def covers(self, verb: str, rows: str, place: str, kind: str) -> bool:
        """Whether a cell with these values is among them."""
        asked = (self.verbs, verb), (self.rows, rows), (self.places, place), (self.kinds, kind)
        return all(not known or value in known for known, value in asked)


NO_REGRESSION = ("ordered", "set", "text", "words", "number", "keyvalue", "joint")

REFUSALS: Sequence[Refusal] = (
    # In memory there is nothing beside the reports to choose by.
    Refusal(
        r"groups, days, ids and invalid reports are chosen among reports in files; got reports in "
        r"memory",
        ["estimate"],
        ["days", "groups", "repeated", "invalid"],
        ["memory"],
    ),
    # Options that commands do not have.
    *(
        Refusal(
            rf"No such option: {_OPTIONS[row]}( .*)? \(see rumor {verb} --help\)", [verb], [row]
        )
        for verb, rows in _LACKING.items()
        for row in rows
    ),
    *(
        Refusal(rf"No such option: --engine( .*)? \(see rumor {verb} --help\)", [verb], (), [place])
        for verb in _NO_ENGINE
        for place in FILES[1:]
    ),
    # Counts have no groups, and weighted estimates no counts.
    Refusal(r"a saved summary holds no groups; got --by \w+", ["merge"], ["groups"]),
    Refusal(
        r"weighted estimates are unbiased ones and no summary; got --method, --option or "
        r"--save-summary",
        ["merge"],
        ["weights"],
    ),
    # A dry run makes counts, and no reports.
    Refusal(
        r'method "em" needs the reports, since summaries of RAPPOR count bits and not whole '
        r"reports; got a summary",
        ["simulate"],
        ["methods"],
        (),
        ["text"],
    ),
    # A store keeps no public columns, so that nothing can be explained by them.
    Refusal(
        r"a formula may name the columns .*|a formula names public columns of the reports "
        r"\(none\); got 'asked ~ country'",
        ["regress"],
        (),
        STORES,
    ),
    Refusal(
        r"a regression explains a choice by public columns; got kind '\w+'",
        ["regress"],
        (),
        ["memory", "files"],
        NO_REGRESSION,
    ),
)


def sentences(cell: Cell) -> list[str]:
    """What may be said to a cell that is refused; nothing for one that is answered."""
    return _sentences(cell.verb, cell.rows, cell.world.place, cell.world.kind)


@functools.cache
def _sentences(verb: str, rows: str, place: str, kind: str) -> list[str]:
    return [one.sentence for one in REFUSALS if one.covers(verb, rows, place, kind)]


def is_said(cell: Cell, said: str) -> bool:
    """Whether a refusal is one of those that are listed for a cell."""
    return any(re.fullmatch(sentence, said) for sentence in sentences(cell))


assert set(_OPTIONS) | {"all"} == set(ROWS)
