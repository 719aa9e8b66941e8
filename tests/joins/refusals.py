"""What the program does not do, each with its sentence: every other cell has an answer.

Reviewed by hand. A cell that is refused and not listed fails, and so does one that is listed and
answered: support changes here or not at all.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from tests.joins.axes import FILES, STORES, Cell
from tests.joins.look import FORMS, SPANS, TROUBLES, Look

_OPTIONS = {
    "groups": "--by",
    "weights": "--weights",
    "periods": "--period",
    "methods": "--method",
    "window": "--from",
    "repeated": "--distinct-ids",
    "invalid": "--skip-invalid",
}
# Which commands lack which options; an option that one gets must be taken out here.
_LACKING = {
    "estimate": ("periods",),
    "compare": ("methods",),
    "combine": ("groups", "periods", "methods"),
    "trend": ("weights", "periods", "methods"),
    "regress": ("groups", "periods", "methods"),
    "merge": ("periods", "methods"),
    "export": tuple(_OPTIONS),
    "simulate": ("groups", "weights", "periods", "window", "repeated", "invalid"),
    "plan": tuple(_OPTIONS),
}
_NO_ENGINE = ("regress", "export")


@dataclass(frozen=True)
class Refusal:
    """Cells that are refused, by the values of axes (none for any), and what is said."""

    sentence: str
    verbs: Sequence[str] = ()
    rows: Sequence[str] = ()
    """Of which one at least must be asked for: a form, a span or a trouble."""
    places: Sequence[str] = ()
    kinds: Sequence[str] = ()
    also: Sequence[str] = ()
    """Of which one must be asked for too."""

    def covers(self, look: Look, place: str, kind: str) -> bool:
        """Whether a cell with these values is among them."""
        asked = {look.form, look.span, look.trouble}
        return (
            all(not some or not asked.isdisjoint(some) for some in (self.rows, self.also))
            and (not self.verbs or look.verb in self.verbs)
            and (not self.places or place in self.places)
            and (not self.kinds or kind in self.kinds)
        )


NO_REGRESSION = ("text", "words", "keyvalue", "joint")

REFUSALS: Sequence[Refusal] = (
    # In memory there is nothing beside the reports to choose by.
    Refusal(
        r"groups, days, ids and invalid reports are chosen among reports in files; got reports in "
        r"memory",
        ["estimate"],
        ["window", "groups", "repeated", "invalid"],
        ["memory"],
    ),
    # Periods are windows themselves.
    Refusal(
        r"periods choose the days already; got --from or --to as well",
        ["compare"],
        ["periods"],
        also=["window"],
    ),
    # Options that commands do not have.
    *(
        Refusal(rf"No such option: {_OPTIONS[row]}( .*)? \(see rumor \w+ --help\)", [verb], [row])
        for verb, rows in _LACKING.items()
        for row in rows
    ),
    *(
        Refusal(r"No such option: --engine( .*)? \(see rumor \w+ --help\)", [verb], (), [place])
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
    # People with weights are compared in groups (tests/analysis/test_weighted_people.py).
    Refusal(
        r"people with weights are compared by a public column of one file \(--by\); got --weights "
        r"without",
        ["compare"],
        ["weights"],
    ),
    # A store keeps no public columns, so that nothing can be explained by them.
    Refusal(
        r"a formula may name the columns .*|a formula names public columns of the reports "
        r"\(none\); got 'asked ~ country'",
        ["regress"],
        (),
        STORES,
    ),
    # Nor have its reports other groups than days here, which are the periods of a trend.
    Refusal(
        r"groups of a trend must be of public columns, since --every says its periods; got 'day'",
        ["trend"],
        ["groups"],
        STORES,
    ),
    Refusal(
        r"a regression explains a choice, a set, a number or ordered answers by public columns; "
        r"got kind '\w+'",
        ["regress"],
        (),
        ["memory", "files"],
        NO_REGRESSION,
    ),
)


def sentences(cell: Cell) -> list[str]:
    """What may be said to a cell that is refused; nothing for one that is answered."""
    return _sentences(cell.look, cell.world.place, cell.world.kind)


@functools.cache
def _sentences(look: Look, place: str, kind: str) -> list[str]:
    return [one.sentence for one in REFUSALS if one.covers(look, place, kind)]


def is_said(cell: Cell, said: str) -> bool:
    """Whether a refusal is one of those that are listed for a cell."""
    return any(re.fullmatch(sentence, said) for sentence in sentences(cell))


assert {*_OPTIONS, "all", "every", "none"} == {*FORMS, *SPANS, *TROUBLES}
