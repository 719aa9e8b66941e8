"""The options of every verb: which of them cells are made of, and where the others are tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

IN_ROWS: Mapping[str, Sequence[str]] = {
    "estimate": (
        "--by",
        "--weights",
        "--from",
        "--to",
        "--distinct-ids",
        "--skip-invalid",
        "--method",
        "--save-summary",
    ),
    "compare": ("--by", "--period", "--from", "--to", "--distinct-ids", "--skip-invalid"),
    "combine": ("--weights", "--from", "--to", "--distinct-ids", "--skip-invalid"),
    "trend": ("--by", "--from", "--to", "--distinct-ids", "--skip-invalid"),
    "regress": ("--weights", "--from", "--to", "--distinct-ids", "--skip-invalid"),
    "simulate": ("--method",),
    "export": ("--store", "--digest"),
    "plan": ("--kind", "--users", "--epsilon", "--domain", "--low", "--high", "--cap", "--parts"),
}
"""Options that choose rows, or that every cell of the verb is asked with."""

ELSEWHERE: Mapping[str, Sequence[str]] = {
    # How an answer is shown and written, and options that every cell has.
    "any": (
        "--json",
        "--markdown",
        "--latex",
        "--question",
        "--candidates",
        "--engine",
        "--master",
        "--plot",
        "--plot-width",
        "--csv",
        "--level",
        "--confidence",
        "--of",
        "--simultaneous",
        "--looks",
        "--users",
        "--top",
        "--assume",
        "--different-people",
        "--explain",
        "--help",
    ),
    # tests/engines and tests/cli
    "estimate": (
        "--option",
        "--fdr",
        "--detection-level",
        "--counts",
        "--linked",
        "--on",
        "--earlier",
        "--share",
        # tests/analysis/test_weighted_people.py
        "--weight-column",
        "--strata",
        "--cluster",
    ),
    "compare": (
        # tests/analysis/test_cheating.py
        "--cheating",
        "--against",
        "--other",
        "--watch",
        "--users",
        "--weights",
        "--weight-column",
        "--strata",
        "--cluster",
    ),
    "combine": ("--chosen",),
    "trend": ("--every", "--watch", "--horizon", "--false-alarms"),
    "regress": (
        "--reference",
        "--linear",
        "--predict",
        "--margins",
        "--weight-column",
        "--strata",
        "--cluster",
    ),
    "merge": ("--force",),
    "simulate": (
        "--column",
        "--mark",
        "--missing",
        "--separator",
        "--people",
        "--trials",
        "--seed",
        "--option",
    ),
    # tests/kinds/test_plan.py
    "plan": (
        "--people",
        "--error",
        "--detect",
        "--reports",
        "--lifetime",
        "--difference",
        "--share",
        "--power",
        "--groups",
        "--deviation",
        "--named",
        "--watch",
        "--crowd",
        "--delta",
        "--cap-from",
        "--questions",
        "--regress",
        "--simulate",
        "--write",
    ),
}
"""Options that are tested for themselves."""
