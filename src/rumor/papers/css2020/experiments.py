"""Generalised iterative Bayes for frequencies (Computer Security Symposium 2020).

The printed header of Tables 1 and 2 groups columns by epsilon; the numbers are grouped by people.
Both readings are compared; claims are held to the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rumor.papers.css2020.cells import LAWS, ROWS, cells, name_of
from rumor.papers.css2020.tables import figures, tables
from rumor.papers.frequency import published_tables
from rumor.papers.model import Claim, paper_of

EXPLANATIONS: Mapping[tuple[str, str, str], str] = {
    ("Table 1", "Rappor", "epsilon 2, 10,000 people"): "Unresolved: probably chance. All other "
    "numbers of the row fit, and of more than 200 numbers one or so lies beyond three standard "
    "errors by luck.",
}
_TEXT = {
    "times, Table 1, 10000 people, epsilon 4": "The quotient of the two rounded differences, "
    "0.006 / 0.001; of the printed errors it is larger.",
    "gain of subset selection, Table 2, 10000 people, epsilon 2": "Cut off, not rounded: the "
    "printed errors differ by 0.0037.",
    "gain of the proposal, Table 2, 10000 people, epsilon 2": "Cut off, not rounded: the printed "
    "errors differ by 0.066.",
    "times, Table 2, 10000 people, epsilon 2": "The quotient of the two cut-off differences, "
    "0.06 / 0.003.",
    "gain of the proposal, Table 1, 100000 people, epsilon 1": "0.007 is the distance to Subset "
    "Selection; the sentence speaks of the distance to RAPPOR, which is 0.010.",
    "times, Table 1, 100000 people, epsilon 1": "Of 0.007 and 0.003, which are not distances from "
    "the same row; from RAPPOR it is 3.3.",
}


def claims() -> Sequence[Claim]:
    """Return every number of the tables and the text."""
    table = published_tables("css2020")
    made = []
    for law, (part, _) in LAWS.items():
        for row in ROWS:
            labels = zip(table["columns"], table["printed_columns"], table[law][row], strict=True)
            for (epsilon, people), printed, value in labels:
                place = (part, row, f"epsilon {epsilon}, {people:,} people")
                made.append(
                    Claim(
                        *place,
                        value,
                        name_of(law, row, epsilon, people),
                        "error",
                        table["trials"],
                        ours=(name_of(law, "Rumor's default", epsilon, people), "error"),
                        explanation=EXPLANATIONS.get(place, ""),
                        printed=(name_of(law, row, *printed), "error"),
                    )
                )
    rounding = {"cells won": 0.0, "gain": 0.0005, "times": 0.5}
    for what, value in table["text"].items():
        half = (
            0.005
            if value == 0.06
            else 0.05
            if value == 2.5
            else rounding[what.split(",")[0].split(" of ")[0]]
        )
        made.append(
            Claim(
                "Text",
                what,
                "",
                value,
                "arithmetic",
                what,
                rounding=half,
                explanation=_TEXT.get(what, ""),
            )
        )
    for epsilon, domain in ((1, 764), (4, 350)):
        cell = f"limits/epsilon {epsilon}"
        where = f"epsilon {epsilon}"
        made.append(Claim("Section 3.3", "largest domain", where, domain, cell, "largest domain"))
        made.append(
            Claim("Section 3.3", "least probability", where, 5e-324, cell, "smallest probability")
        )
    made.append(
        Claim(
            "Section 3.4.2",
            "least scaled entry",
            "epsilon 1, D = 10,000",
            1.17e-183,
            "limits/epsilon 1",
            "smallest scaled",
            rounding=0.005e-183,
        )
    )
    for deviations, printed, half in (
        (2, 95.0, 0.5),
        (4, 99.993666, 5e-7),
        (6, 99.9999998027, 5e-11),
    ):
        what = f"within {deviations} standard deviations"
        made.append(
            Claim("Section 3.4.2", what, "per cent", printed, "arithmetic", what, rounding=half)
        )
    made.append(
        Claim(
            "Section 3.4.2",
            "a million within 6",
            "",
            0.998,
            "arithmetic",
            "a million within 6",
            rounding=0.0005,
        )
    )
    return made


PAPER = paper_of("css2020", cells=cells(), claims=claims(), tables=tables, figures=figures)
