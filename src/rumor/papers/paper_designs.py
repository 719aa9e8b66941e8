"""Published examples of designs on paper, estimated again from their printed counts.

Nothing of them is drawn: a count of words and the chances of a design go in, an estimate and its
standard error come out.

- Jann, Jerke and Krumpal, "Asking sensitive questions using the crosswise model" (Public Opinion
  Quarterly, 2012): 310 students answered the crosswise question on partial plagiarism, with a
  birthday in one of three months.
- Heck, "RRreg manual" (2018): 1,000 simulated answers to Warner's question, asked with p = 0.2.

Warner's count follows from what is printed. The crosswise count is one of four, 111 to 114, that
give the printed 22%.
"""

from __future__ import annotations

import math

import numpy as np

import rumor
from rumor.mechanisms.summary import Summary
from rumor.papers.model import Cell, Claim, Numbers, PaperTable, Parameters, Results, paper_of


def estimated(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the share of the first answer and its standard error from a count of first words.

    `stderr, n - 1` is the standard error with the sample variance in place of the maximum of the
    likelihood, as other packages print it.
    """
    design = rumor.PaperDesign(domain=2, design=parameters["design"], **parameters["options"])
    first, reports = int(parameters["first"]), int(parameters["reports"])
    said = design.spoken()
    words = np.repeat(design.words, [first, reports - first])
    summary = Summary.empty(design).update(said.transcribe(words))
    found = rumor.estimate(design, summary, method="inversion")
    stderr = float(found.stderr[0])
    return {
        "share": [float(found.unbiased[0])],
        "stderr": [stderr],
        "stderr, n - 1": [stderr * math.sqrt(reports / (reports - 1))],
        "epsilon": [design.epsilon],
    }


CELLS = (
    Cell(
        "crosswise/partial plagiarism",
        estimated,
        {"design": "crosswise", "options": {"yes": "1/4"}, "first": 112, "reports": 310},
    ),
    Cell(
        "warner/manual",
        estimated,
        {"design": "warner", "options": {"truth": "1/5"}, "first": 640, "reports": 1000},
    ),
)

CLAIMS = (
    Claim(
        "Jann, Jerke and Krumpal 2012",
        "partial plagiarism",
        "share",
        0.22,
        "crosswise/partial plagiarism",
        "share",
        rounding=0.005,
    ),
    Claim(
        "RRreg manual",
        "Warner, p = 0.2",
        "share",
        0.266667,
        "warner/manual",
        "share",
        rounding=5e-7,
    ),
    Claim(
        "RRreg manual",
        "Warner, p = 0.2",
        "standard error",
        0.025311,
        "warner/manual",
        "stderr, n - 1",
        rounding=5e-7,
        ours=("warner/manual", "stderr"),
    ),
)


def tables(results: Results) -> list[PaperTable]:
    """Return a table of the examples: counts, estimates and what each design promises."""
    rows = []
    for cell in CELLS:
        found = {name: results.mean(cell.id, name) for name in results.numbers[cell.id]}
        rows.append(
            (
                cell.id,
                f"{cell.parameters['first']:,} of {cell.parameters['reports']:,}",
                f"{found['share']:.6f}",
                f"{found['stderr']:.6f}",
                f"{found['stderr, n - 1']:.6f}",
                f"{found['epsilon']:.4g}",
            )
        )
    head = ("example", "first words", "share", "std. error", "with n - 1", "epsilon")
    return [PaperTable("examples", "Published examples, estimated again", head, rows)]


PAPER = paper_of(
    "paper-designs", cells=CELLS, claims=CLAIMS, tables=tables, figures=lambda results: ()
)
