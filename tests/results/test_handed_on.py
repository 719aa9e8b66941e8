"""Files that people hand on: whatever a label, a word or a column says, no file runs it."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import altair as alt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rumor
from rumor.cli import main
from rumor.collector.chart_rendering import picture
from rumor.core.plain_text import drawable, no_text, one_line
from rumor.results.chart_files import chart_page, chart_svg, fit_to_draw, specification
from rumor.results.rows import csv_text

ATTACK = "</script><svg onload=alert(1)>"
UGLY = ["NUL \0", "ESC \x1b[31m", "VT \x0b", "U+FFFE \ufffe", "U+FFFF \uffff", "DEL \x7f", ATTACK]
FORMULAS = ["=cmd|' /C calc'!A1", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1+1"]

# Every character that Unicode has, halves of pairs left out, and those that do harm more often.
TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=["Cs"]), st.sampled_from("<>&\"'/\0\x1b\ufffe=-\u2028")
    ),
    min_size=1,
    max_size=12,
)


class _Scripts(HTMLParser):
    """What a browser would see: scripts with their contents, and every other tag."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        named = dict(attrs)
        if tag == "script":
            self.scripts.append((named, ""))
        if named.get("http-equiv") == "Content-Security-Policy":
            self.policy = named["content"] or ""

    def handle_data(self, data: str) -> None:
        if self.lasttag == "script" and self.scripts:
            attributes, before = self.scripts[-1]
            self.scripts[-1] = attributes, before + data


def _seen(page: str) -> _Scripts:
    parser = _Scripts()
    parser.feed(page)
    parser.close()
    return parser


def _chart(*texts: str) -> Any:
    rows = [{"value": text, text: i} for i, text in enumerate(texts)]
    base = alt.Chart(alt.InlineData(values=rows)).mark_bar()
    return base.encode(y="value:N").properties(title=alt.Title(texts[0], subtitle=list(texts)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3))
@example([ATTACK])
@example(["<!--<script>"])
@example(["]]>&\u2028"])
def test_a_page_holds_any_text_as_data(texts: list[str]) -> None:
    chart = _chart(*texts)
    page = chart_page(specification(chart))
    seen = _seen(page)
    assert seen.tags == ["html", "meta", "meta", "title", "body", "div", "script", "script"]
    (attributes, data), (_, _) = seen.scripts
    assert attributes["type"] == "application/json"
    assert json.loads(data) == fit_to_draw(chart.to_dict())


def test_a_page_admits_its_own_script_and_nothing_else() -> None:
    seen = _seen(chart_page(specification(_chart("a"))))
    rules = dict(rule.strip().split(" ", 1) for rule in seen.policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", rules["script-src"])
    assert "unsafe-eval" not in seen.policy


@pytest.mark.parametrize("text", UGLY, ids=lambda text: text.split(" ")[0])
def test_pictures_survive_any_text(text: str) -> None:
    chart = _chart(text, "plain")
    svg = chart_svg(chart)
    assert "<script" not in svg
    root = xml.etree.ElementTree.fromstring(svg)
    assert any(drawable(text).strip() in (part.text or "") for part in root.iter())


def test_the_collectors_pictures_survive_any_text() -> None:
    assert picture("png", _chart(*UGLY).to_dict()).startswith(b"\x89PNG")


@given(TEXTS)
def test_what_is_refused_in_labels_covers_what_cannot_be_drawn(text: str) -> None:
    if no_text(text) is None:
        assert drawable(text) == text
        assert rumor.RandomizedResponse(domain=[text, "zz" + text], epsilon=1.0).labels
    else:
        with pytest.raises(ValueError, match=r"control characters; got U\+"):
            rumor.RandomizedResponse(domain=[text, "other"], epsilon=1.0)
    assert one_line(text).isprintable()


@given(st.lists(TEXTS, min_size=1, max_size=4, unique=True))
@example(FORMULAS)
def test_no_cell_of_a_csv_is_a_formula(texts: list[str]) -> None:
    columns: dict[str, list[object]] = {
        **{text: [text] for text in texts},
        "number\0": [-0.5],
    }
    names, cells = csv.reader(io.StringIO(csv_text(columns), newline=""))
    assert cells[-1] == "-0.5"
    for text, name, cell in zip(texts, names, cells[:-1], strict=False):
        assert name == cell
        assert not re.match("[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]", cell) or re.fullmatch(
            r"[+-]\d+([.,]\d+)?", cell
        )
        assert cell in (text, f"'{text}")


def test_numbers_among_labels_stay_as_they_are() -> None:
    labels = ["-2", "-1", "0", "+1", "-0.5", "-", "-x"]
    read = list(csv.reader(io.StringIO(csv_text({"value": list(labels)}))))
    assert [cell for (cell,) in read[1:]] == ["-2", "-1", "0", "+1", "-0.5", "'-", "'-x"]


def test_a_kept_column_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From answers with a hostile column to every file that is written of them."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(
        'name = "c"\nseries = "c"\ncontact = "a@example.org"\n[[questions]]\nid = "q"\n'
        'kind = "choice"\ntext = "?"\nlabels = ["a", "=b"]\nepsilon = 2.0\n'
    )
    strata = [ATTACK, "=1+1", "NUL \0", "plain"]
    answers = {"q": ["a", "=b"] * 40, "where": [strata[i % 4] for i in range(80)]}
    pq.write_table(pa.table(answers), "answers.parquet")
    seeded = ["--seed", "1", "--day", "2026-01-05"]
    out = ["-o", "r.parquet", "--keep", "where", *seeded]
    assert main(["privatize", "c.toml", "answers.parquet", *out]) == 0
    command = ["estimate", "c.toml", "r.parquet", "--by", "where"]
    for chart_file in ("p.html", "p.svg", "p.png"):
        assert main([*command, "--plot", chart_file, "--csv", "e.csv"]) == 0
    page = Path("p.html").read_text(encoding="utf-8")
    assert ATTACK not in page
    assert "svg" not in _seen(page).tags
    assert "<svg onload" not in Path("p.svg").read_text(encoding="utf-8")
    with Path("e.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["stratum"] for row in rows} == {ATTACK, "'=1+1", "NUL \0", "plain"}
    assert {row["value"] for row in rows} == {"a", "'=b"}


def test_pages_escape_what_they_show() -> None:
    from rumor.demo.crowd import run
    from rumor.demo.page import page
    from rumor.privacy.audit.certificate import certify

    text = page(run(2000, seed=1))
    assert "default-src 'none'" in _seen(text).policy
    wish = {"id": "q", "kind": "choice", "text": "?", "labels": ["a", "b"], "epsilon": 1.0}
    whole = {"name": ATTACK, "series": "c", "contact": "a@example.org", "questions": [wish]}
    certificate = certify(rumor.Collection.resolve(whole), samples=1000, seed=1).to_html()
    assert html.escape(ATTACK) in certificate
    assert "svg" not in _seen(certificate).tags
    assert "default-src 'none'" in _seen(certificate).policy


# What every JavaScript object has (ECMAScript: Object.prototype, annex B): charts are drawn by it.
OF_EVERY_OBJECT = [
    *("constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"),
    *("toLocaleString", "toString", "valueOf", "__proto__", "__defineGetter__"),
    *("__defineSetter__", "__lookupGetter__", "__lookupSetter__"),
]
DAYS = ("2026-01-05", "2026-01-06", "2026-01-07")
HOSTILE = f"""
name = "c"
series = "c"
contact = "a@example.org"
[[questions]]
id = "choice"
kind = "choice"
text = "?"
labels = {OF_EVERY_OBJECT}
epsilon = 4.0
[[questions]]
id = "set"
kind = "set"
text = "?"
labels = {OF_EVERY_OBJECT}
epsilon = 4.0
[[questions]]
id = "keyvalue"
kind = "keyvalue"
text = "?"
keys = {OF_EVERY_OBJECT}
low = 0
high = 1
epsilon = 4.0
"""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a contract of such labels, and reports of three days."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "c.toml").write_text(HOSTILE)
    names = [OF_EVERY_OBJECT[i % len(OF_EVERY_OBJECT)] for i in range(600)]
    keys = {key: [0.5 if key == name else None for name in names] for key in OF_EVERY_OBJECT}
    table = pa.table({"choice": names, "set": [[name] for name in names], **keys})
    pq.write_table(table, folder / "answers.parquet")
    for day in DAYS:
        place = [str(folder / name) for name in ("c.toml", "answers.parquet")]
        out = ["-o", str(folder / "day.parquet"), "--seed", day[-1], "--day", day]
        assert main(["privatize", *place, *out]) == 0
        for question in ("choice", "set", "keyvalue"):
            (folder / question).mkdir(exist_ok=True)
            (folder / f"day-{question}.parquet").rename(folder / question / f"{day}.parquet")
    return folder


@pytest.mark.parametrize("verb", ["estimate", "compare", "trend"])
@pytest.mark.parametrize("question", ["choice", "set", "keyvalue"])
def test_labels_that_every_object_has_are_drawn(hostile: Path, verb: str, question: str) -> None:
    """As a picture, and in a notebook, where the chart's own specification is drawn."""
    days = [str(hostile / question / f"{day}.parquet") for day in DAYS]
    path = hostile / f"{verb}-{question}.svg"
    of = {"estimate": days[:1], "compare": days[:2], "trend": [str(hostile / question)]}[verb]
    command = [verb, str(hostile / "c.toml"), *of, "--question", question, "--top", "24"]
    assert main([*command, "--plot", str(path)]) == 0
    svg = path.read_text(encoding="utf-8")
    drawn = set(re.findall(r">(?:share: |mean: )?([^<>]+?)\u2060?<", svg))
    # A trend has twelve panels, and two for each key.
    assert len(drawn & set(OF_EVERY_OBJECT)) >= (6 if verb == "trend" else len(OF_EVERY_OBJECT))


def test_a_notebook_draws_such_labels() -> None:
    import vl_convert

    oracle = rumor.RandomizedResponse(domain=OF_EVERY_OBJECT, epsilon=4.0)
    reports = oracle.privatize(OF_EVERY_OBJECT * 50, random=rumor.Seeded(1))
    chart = rumor.estimate(oracle, reports).plot(rows=12)
    svg = vl_convert.vegalite_to_svg(chart.to_dict())
    assert all(f">{name}" in svg for name in OF_EVERY_OBJECT)
