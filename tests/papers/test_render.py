"""A run of a paper of two numbers, written: each file held to its whole text."""

from __future__ import annotations

from pathlib import Path

import pytest

from rumor import __version__
from rumor.papers.charts import picture
from rumor.papers.model import ChecklistItem, Claim, Figure, Paper, PaperTable, Point
from rumor.papers.render import RULE, counts_sentence, number, write
from rumor.papers.runner import as_text, results

# Eight trials: the fewest with which a run is read alone, not beside the full one.
KEPT = {
    "a": {"id": "a", "version": "v", "numbers": {"x": [0.5, 0.5, 8], "y": [2.0, 0.0, 1]}},
    "b": {"id": "b", "code": "c", "numbers": {"x": [4.0, 0.0, 1]}},
}
MADE = {"version": "9", "commit": "abc", "command": "rumor papers run made"}
FIGURE = Figure("curve", "A <curve>", "x axis", "y axis", [Point("s", 1, 2), Point("s", 3, 5)])
PAPER = Paper(
    name="made",
    title="Made & up",
    source="By <nobody>",
    checklist=[
        ChecklistItem("Item 1", "says *so*", ("m:f", "cell:a"), "a remark", "rumor | x"),
        ChecklistItem("Item 2", "says no"),
    ],
    cells=(),
    claims=[
        Claim("Part", "one", "c|1", 0.95, "a", "x", trials=1, ours=("a", "y")),
        Claim("Part", "two", "c2", 4.5, "b", "x", explanation="Unresolved: nobody *knows* it."),
    ],
    tables=lambda found: [
        PaperTable.of_rows("own", "Own", [{"h": "1", "k": f"{found.mean('a', 'y'):g}"}])
    ],
    figures=lambda found: [FIGURE],
)
MARKDOWN = f"""# Made & up

By <nobody>

## Summary

Of 2 published numbers, 1 are reproduced as printed, 0 after a stated re-reading, and 1 are \
unexplained.

{RULE}

2 cells, 8 trials each where chance plays; made by `rumor papers run made`, version 9, commit abc.

## Part

| row | column | published | reproduced | ours | ratio | distance | fits |
|---|---|---|---|---|---|---|---|
| one | c\\|1 | 0.95 | 0.5 ± 0.18 | 2 | 1.900 | 0.8 | yes |
| two | c2 | 4.5 | 4 |  | 1.125 |  | no |

## Not reproduced

| number | published | reproduced | why |
|---|---|---|---|
| Part, two, c2 | 4.5 | 4 | Unresolved: nobody \\*knows\\* it. |

## Own

| h | k |
|---|---|
| 1 | 2 |

## A <curve>

![A <curve>](curve.svg)

## Everything the document contains

| item | what it is | command | code | remark |
|---|---|---|---|---|
| Item 1 | says \\*so\\* | `rumor | x` | `m:f`, `cell:a` | a remark |
| Item 2 | says no |  |  |  |
"""


def body(page: str) -> str:
    """The lines of an HTML page after its style."""
    return page.partition("</style>\n")[2]


def cells(tag: str, *texts: str) -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for text in texts)


def test_a_run_is_written_whole(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    folder = tmp_path / "new" / "folder"
    found = results(KEPT, MADE)
    files = write(PAPER, found, folder)
    assert files == {kind: str(folder / f"made.{kind}") for kind in ("md", "html", "parquet")}
    assert sorted(file.name for file in folder.iterdir()) == [
        "curve.svg",
        "made.html",
        "made.md",
        "made.parquet",
    ]
    svg = (folder / "curve.svg").read_text(encoding="utf-8")
    assert svg == picture(FIGURE)
    assert 'role="img" aria-label="A &lt;curve&gt;"' in svg
    assert svg.count("role=") == svg.count("aria-") == 1
    assert (folder / "made.md").read_text(encoding="utf-8") == MARKDOWN
    page = (folder / "made.html").read_text(encoding="utf-8")
    assert page.startswith('<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n')
    assert "<title>Made &amp; up</title>\n<style>" in page
    head = cells("th", "row", "column", "published", "reproduced", "ours", "ratio")
    assert body(page).replace(svg, "SVG") == "\n".join(
        [
            "<body>",
            "<h1>Made &amp; up</h1>\n<p>By &lt;nobody&gt;</p>",
            "<h2>Summary</h2>",
            "<p>Of 2 published numbers, 1 are reproduced as printed, 0 after a stated re-reading, "
            "and 1 are unexplained.</p>",
            f"<p>{RULE.replace(chr(39), '&#x27;')}</p>",
            "<p>2 cells, 8 trials each where chance plays; made by "
            "<code>rumor papers run made</code>, version 9, commit abc.</p>",
            "<h2>Part</h2>",
            '<div class="wide"><table><tr>',
            head + cells("th", "distance", "fits") + "</tr>",
            "<tr>"
            + cells("td", "one", "c|1", "0.95", "0.5 ± 0.18", "2", "1.900", "0.8", "yes")
            + "</tr>",
            "<tr>" + cells("td", "two", "c2", "4.5", "4", "", "1.125", "", "no") + "</tr>",
            "</table></div>",
            "<h2>Not reproduced</h2>",
            '<div class="wide"><table><tr>',
            cells("th", "number", "published", "reproduced", "why") + "</tr>",
            "<tr>"
            + cells("td", "Part, two, c2", "4.5", "4", "Unresolved: nobody *knows* it.")
            + "</tr>",
            "</table></div>",
            "<h2>Own</h2>",
            '<div class="wide"><table><tr>',
            cells("th", "h", "k") + "</tr>",
            "<tr>" + cells("td", "1", "2") + "</tr>",
            "</table></div>",
            "<h2>A &lt;curve&gt;</h2>",
            "<figure>SVG</figure>",
            "<h2>Everything the document contains</h2>",
            '<div class="wide"><table><tr>',
            cells("th", "item", "what it is", "command", "code", "remark") + "</tr>",
            "<tr>"
            + cells(
                "td",
                *("Item 1", "says *so*", "<code>rumor | x</code>"),
                *("<code>m:f</code>, <code>cell:a</code>", "a remark"),
            )
            + "</tr>",
            "<tr>" + cells("td", "Item 2", "says no", "", "", "") + "</tr>",
            "</table></div>",
            "</body>\n</html>\n",
        ]
    )
    table = pq.read_table(folder / "made.parquet")
    kept = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    assert kept == MADE
    names = ("paper", "cell", "quantity", "mean", "spread", "stderr", "trials", "published")
    assert [tuple(row.values()) for row in table.to_pylist()] == [
        ("made", "a", "x", 0.5, 0.5, pytest.approx(0.5 / 8**0.5), 8, 0.95),
        ("made", "a", "y", 2.0, 0.0, 0.0, 1, None),
        ("made", "b", "x", 4.0, 0.0, 0.0, 1, 4.5),
    ]
    assert tuple(table.column_names) == names


def test_results_are_a_line_for_each_cell() -> None:
    """Without the version and the code of a cell: the run says them once."""
    assert as_text(KEPT, {"version": __version__}) == (
        f'{{"made": {{"version": "{__version__}"}},\n"cells": [\n'
        '{"id": "a", "numbers": {"x": [0.5, 0.5, 8], "y": [2.0, 0.0, 1]}},\n'
        '{"id": "b", "numbers": {"x": [4.0, 0.0, 1]}}\n]}\n'
    )


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 4, "0"),
        (float("inf"), 4, "inf"),
        (0.000123456, 4, "0.0001235"),
        (0.0001, 4, "0.0001"),
        (0.00009999, 4, "9.999e-05"),
        (-0.5, 4, "-0.5"),
        (9999.4, 4, "9999"),
        (9999.4, 7, "9999.4"),
        (10_000.4, 7, "10,000"),
        (9_999_999.0, 4, "9,999,999"),
        (1e7, 4, "1.000e+07"),
        (-1e7, 4, "-1.000e+07"),
        (1e-300, 4, "1.000e-300"),
        (4.9e-324, 4, "5e-324"),
    ],
)
def test_a_number_has_the_digits_that_a_table_needs(value: float, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("published", "exact", "few", "silent", "said"),
    [
        (1, 1, 0, 0, "The one published number is reproduced as printed."),
        (2, 2, 0, 0, "All 2 published numbers are reproduced as printed."),
        (
            *(9, 3, 1, 2),
            "Of 9 published numbers, 3 are reproduced as printed, 2 after a stated re-reading, and "
            "1 are unexplained; 1 differ in this run of few trials and are reproduced by the full "
            "one that comes with Rumor; 2 differ in this run and have no explanation.",
        ),
    ],
)
def test_counts_are_a_sentence(
    published: int, exact: int, few: int, silent: int, said: str
) -> None:
    number = {"published": published, "as_printed": exact, "re_read": 2, "unexplained": 1}
    assert counts_sentence({**number, "few trials": few, "without explanation": silent}) == said
