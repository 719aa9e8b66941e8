"""Tables for papers have the cells of the table on the screen, and nothing of a label is markup."""

from __future__ import annotations

import re
import string
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markdown_it import MarkdownIt

import rumor
from rumor import InputError
from rumor.core.plain_text import TextTable, one_line, text_and_tables
from rumor.results.publication import as_latex, as_markdown, as_summary, escape_latex

HOSTILE = (
    r"\input{/etc/passwd}",
    r"\end{tabular}",
    "a & b \\\\ c",
    "50% off_all $x^2$ #1 ~tilde",
    "[x](javascript:alert(1))",
    "<script>alert(1)</script>",
    "www.example.org|cell",
    "*bold* `code` _it_",
    "https://a.example/?q=1@b",
    '"- {x}"',
    "-5",
    "--",
    "1. one",
    "[optional] after a row",
    "日本語 中文 é",
)


@pytest.fixture(scope="module")
def estimate() -> Any:
    mechanism = rumor.SubsetSelection(domain=list(HOSTILE), epsilon=4.0)
    rng = np.random.default_rng(3)
    people = rng.choice(HOSTILE, 3000)
    return rumor.estimate(mechanism, mechanism.privatize(people, random=rumor.Seeded(3)))


@pytest.fixture(scope="module")
def comparison() -> Any:
    mechanism = rumor.RandomizedResponse(domain=["yes|no", "no"], epsilon=2.0)
    groups = {
        name: mechanism.privatize(["yes|no"] * yes + ["no"] * (900 - yes), random=rumor.Seeded(yes))
        for name, yes in (("a_b", 300), ("c&d", 500), ("e", 400))
    }
    return rumor.compare(mechanism, groups)


def tables_of(result: Any) -> list[TextTable]:
    return [part for part in text_and_tables(result.table) if isinstance(part, TextTable)]


def read_markdown(text: str) -> tuple[list[list[list[str]]], list[str]]:
    """Return the cells of all tables, and the kinds of all tokens within lines."""
    tables: list[list[list[str]]] = []
    kinds: list[str] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline":
            children = token.children or []
            kinds += [child.type for child in children]
            if token.level >= 4 and tables:  # within a cell
                tables[-1][-1].append("".join(child.content for child in children))
        else:
            kinds.append(token.type)
    return tables, kinds


def test_markdown_has_the_cells_of_the_table(estimate: Any, comparison: Any) -> None:
    for result in (estimate, comparison):
        found, kinds = read_markdown(result.to_markdown())
        shown = tables_of(result)
        assert len(found) == len(shown)
        for cells, table in zip(found, shown, strict=True):
            bars = table.head[-1] == ""
            width = len(table.head) - bars
            assert cells == [list(row[:width]) for row in (table.head, *table.body)]
        assert {
            kind for kind in kinds if kind.startswith(("text", "link", "html", "em", "st"))
        } <= {
            "text",
            "text_special",
        }
    assert {row[0] for row in read_markdown(estimate.to_markdown())[0][0][1:]} == set(HOSTILE)


# Every sign with a meaning of its own stands in one of these.
_PIECES = re.compile(
    r"\\(?P<name>textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar"
    r"|textasciigrave)\{\}|\\(?P<sign>[{}$&#%_])|(?P<quote>\\symbol\{34\})|\{(?P<row>[\[*])\}"
    r"|(?P<minus>\$-\$)|(?P<dash>-\{\})|(?P<plain>-(?!-)|[^-\\{}$&#%_~^<>|\"`\[*])"
)
_NAMED = {
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textasciigrave": "`",
}


def read_latex(text: str) -> str:
    """Return what LaTeX would set; fail at a sign that it would run."""
    found, place = "", 0
    while place < len(text):
        piece = _PIECES.match(text, place)
        assert piece is not None, (text, place)
        named = piece.groupdict()
        if named["name"]:
            found += _NAMED[named["name"]]
        elif named["quote"]:
            found += '"'
        elif named["minus"] or named["dash"]:
            found += "-"
        else:
            found += named["sign"] or named["row"] or named["plain"]
        place = piece.end()
    return found


@pytest.mark.parametrize("label", HOSTILE)
def test_latex_runs_nothing_of_a_label(label: str) -> None:
    assert read_latex(escape_latex(label)) == label


@pytest.mark.parametrize("sign", [sign for sign in string.printable if sign.isprintable()])
def test_latex_runs_no_sign_wherever_it_stands(sign: str) -> None:
    for text in (sign, sign * 3, f"{sign}a", f"a{sign}", f"a {sign} b", f"{sign}1"):
        assert read_latex(escape_latex(text)) == text


def test_latex_has_the_cells_of_the_table(estimate: Any, comparison: Any) -> None:
    for result in (estimate, comparison):
        text = result.to_latex()
        blocks = re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n(.*?)\\end\{tabular\}", text, re.S)
        shown = tables_of(result)
        assert len(blocks) == len(shown)
        for (columns, body), table in zip(blocks, shown, strict=True):
            lines = [line for line in body.split("\n") if line.endswith(r" \\")]
            cells = [
                [read_latex(cell) for cell in re.split(r" (?<!\\)& ", line[:-3])] for line in lines
            ]
            width = len(table.head) - (table.head[-1] == "")
            assert len(columns) == width
            assert cells == [list(row[:width]) for row in (table.head, *table.body)]
            assert body.split("\n")[0] == r"\toprule"
            assert body.count(r"\midrule") == body.count(r"\bottomrule") == 1
        rest = re.sub(r"\\begin\{tabular\}.*?\\end\{tabular\}", "", text, flags=re.S)
        for line in rest.split("\n")[1:]:
            assert read_latex(line.removesuffix(r"\par")) is not None


def test_negative_numbers_have_a_minus_and_dashes_stay_dashes() -> None:
    assert escape_latex("-3.4% to -1.1%") == r"$-$3.4\% to $-$1.1\%"
    assert escape_latex("2026-01-02, p-value") == "2026-01-02, p-value"
    assert escape_latex("--- --5") == "-{}-{}- -{}-5"


def test_a_text_that_looks_like_the_mark_of_a_table_is_a_text() -> None:
    parts = text_and_tables(lambda: "\0" + "0\0\nnothing")
    assert parts == ["\0" + "0\0", "nothing"]
    assert "\0" not in as_markdown(lambda: "\0" + "0\0")
    assert "\0" not in as_latex(lambda: "\0" + "0\0")


def test_a_line_of_text_begins_no_list_and_no_code() -> None:
    text = as_markdown(lambda: "- a\n1. b\n+ c\n    d\n# e\n> f\n2) g\n=== h")
    kinds = {token.type for token in MarkdownIt("commonmark").parse(text)}
    assert kinds == {"paragraph_open", "inline", "paragraph_close"}
    assert as_markdown(lambda: "South 1.56, elsewhere 1.14.") == "South 1.56, elsewhere 1.14.\n"


def test_a_summary_has_facts_between_rules(estimate: Any) -> None:
    text = estimate.summary(level=0.9)
    lines = text.split("\n")
    rules = [i for i, line in enumerate(lines) if set(line) == {"="}]
    assert len(rules) == 3
    facts = " ".join(lines[rules[0] : rules[1]])
    assert f"{estimate.reports:,}" in facts
    assert re.search(r"Confidence level +90%", facts)
    for row in tables_of(estimate)[0].body:
        assert any(one_line(row[0]) in line for line in lines[rules[1] : rules[2]])
    assert "90% interval" in lines[rules[1] + 1]
    assert max(map(len, lines[: rules[2]])) == len(lines[rules[0]])


def test_facts_fill_two_columns_from_above() -> None:
    """The first column has one more where they are odd; each column is as wide as it must be."""
    facts = [("a", "1"), ("name", "22"), ("b", "333"), ("c", "4"), ("other", "55")]
    text = as_summary(lambda: "Nothing", facts)
    assert text.split("\n")[2:5] == [
        "a       1    c       4",
        "name   22    other  55",
        "b     333",
    ]
    assert as_summary(lambda: "", facts[:2]).split("\n")[2] == "a  1    name  22"


def test_any_library_takes_the_rows(estimate: Any) -> None:
    assert estimate.__dataframe__()._allow_copy is True
    assert estimate.__dataframe__(allow_copy=False)._allow_copy is False
    assert estimate.__dataframe__().num_rows() == len(estimate.values)
    with pytest.raises(RuntimeError, match="nan_as_null"):
        estimate.__dataframe__(nan_as_null=True)


def test_the_screen_is_unchanged_after_a_table_for_a_paper(estimate: Any) -> None:
    before = estimate.table()
    estimate.to_latex()
    with pytest.raises(InputError):
        estimate.to_latex(level=2.0)
    assert estimate.table() == before


def test_a_picture_has_the_width_of_a_column(estimate: Any, tmp_path: Path) -> None:
    estimate.plot(tmp_path / "plain.svg", rows=3)
    estimate.plot(tmp_path / "wide.svg", rows=3, width=85)
    plain, wide = (
        ElementTree.parse(tmp_path / name).getroot() for name in ("plain.svg", "wide.svg")
    )
    assert wide.get("width") == "85mm"
    high = 85 * float(plain.get("height", "")) / float(plain.get("width", ""))
    assert wide.get("height") == f"{high:.2f}mm"
    assert wide.get("viewBox") == plain.get("viewBox")
    estimate.plot(tmp_path / "wide.png", rows=3, width=85)
    data = (tmp_path / "wide.png").read_bytes()
    pixels = int.from_bytes(data[16:20], "big")
    assert abs(pixels - 85 / 25.4 * 300) <= 2
    rule = "a width in millimetres is for a chart's .png or .svg file"
    for path in (None, tmp_path / "c.html"):
        with pytest.raises(InputError, match=rule):
            estimate.plot(path, width=85)
    for width in (19, 501, float("nan")):
        with pytest.raises(InputError, match="a chart must be 20 to 500 mm wide"):
            estimate.plot(tmp_path / "c.svg", width=width)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plain.svg", "wide.png", "wide.svg"]
