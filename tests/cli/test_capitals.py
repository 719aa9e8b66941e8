"""Endings of files and words that people type are read in capitals too, as other programs do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import altair as alt
import pytest

import rumor
from rumor.cli.statement import StatementFiles
from rumor.core.errors import InputError
from rumor.core.table_files import STATISTICS, open_file, table_ending
from rumor.demo import page as demo_page
from rumor.kinds.choice.order_advice import looks_ordered
from rumor.mechanisms.aliases import unknown_mechanism
from rumor.results.chart_files import save_chart

STARTS = {"HTML": b"<!doctype html>", "SVG": b"<svg", "PNG": b"\x89PNG\r\n"}


@pytest.mark.parametrize("ending", STARTS)
def test_a_chart_has_the_format_of_its_ending(ending: str, tmp_path: Path) -> None:
    chart = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_point().encode(x="x:Q")
    widths = (None, 80.0) if ending != "HTML" else (None,)
    for width in widths:
        save_chart(chart, tmp_path / f"A.{ending}", width)
        assert (tmp_path / f"A.{ending}").read_bytes().startswith(STARTS[ending])


@pytest.mark.parametrize(
    ("option", "ending"),
    [("html", ".HTML"), ("pdf", ".Pdf"), ("registry", ".JSON"), ("sheet", ".Html")],
)
def test_files_of_a_statement_end_as_they_should(option: str, ending: str) -> None:
    given: dict[str, Any] = {option: f"Statement{ending}"}
    files = StatementFiles(**{"html": None, "pdf": None, "registry": None, "sheet": None, **given})
    files.check("contract.json")
    assert files.named() == [f"Statement{ending}"]
    other = StatementFiles(**{**vars(files), option: f"statement{ending}.txt"})
    with pytest.raises(InputError) as refused:
        other.check()
    said = f"this file must end in {ending.lower()}; got 'statement{ending}.txt'"
    assert str(refused.value) == said


@pytest.mark.parametrize("ending", [".HTM", ".Html"])
def test_the_page_of_the_demo(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_page, "page", lambda demo: f"page of {demo}")
    demo: Any = "some demo"
    written = demo_page.write_page(demo, tmp_path / f"Demo{ending}")
    assert written.read_text(encoding="utf-8") == "page of some demo"
    with pytest.raises(InputError, match=r"a page must be written to an \.html file"):
        demo_page.write_page(demo, tmp_path / f"Demo{ending}.txt")


def test_a_file_of_reports_needs_its_collection_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "R.PARQUET").write_bytes(b"PAR1")
    for path in (tmp_path / "R.PARQUET", tmp_path):
        with pytest.raises(InputError, match=r"reports need their collection: rumor\.load"):
            rumor.load(path)


@pytest.mark.parametrize("name", ["T.CSV", "t.Csv.GZ", "T.TSV", "T.Txt", "T.TXT.gz"])
def test_a_table_is_read_by_its_ending(name: str, tmp_path: Path) -> None:
    separator = "\t" if "TSV" in name else ","
    text = separator.join(("a", "b")) + "\n" + separator.join(("1", "x")) + "\n"
    packed = gzip.compress(text.encode()) if name.lower().endswith(".gz") else text.encode()
    (tmp_path / name).write_bytes(packed)
    rows = [batch.to_pylist() for batch in open_file(tmp_path / name).batches({"b": "text"})]
    assert rows == [[{"b": "x"}]]
    assert table_ending(tmp_path / name) == name[1:].lower()


@pytest.mark.parametrize("ending", STATISTICS)
def test_a_file_of_a_statistics_program_is_known_by_its_ending(ending: str) -> None:
    assert table_ending(Path(f"T{ending.upper()}")) == ending


def test_a_word_in_capitals_is_nearly_right() -> None:
    mechanism = rumor.RandomizedResponse(domain=3, epsilon=1.0)
    for typed, meant in (("BAYES", "bayes"), ("Mle", "mle")):
        with pytest.raises(InputError, match=rf"got '{typed}' \(did you mean '{meant}'\?\)"):
            rumor.estimate(mechanism, [0, 1, 2], method=typed)
    for typed in ("OLH", "Unary"):
        said = str(unknown_mechanism(typed, ["unary", "local-hashing"]))
        assert said.endswith(f"got {typed!r} (did you mean {typed.lower()!r}?)")


def test_scales_are_known_in_capitals_and_between_spaces() -> None:
    assert looks_ordered([" NEVER", "Sometimes ", "Always"]) == "places on a scale"
    assert looks_ordered(["Never", "Sometimes", "Always", "No Answer "]) == "places on a scale"
    assert looks_ordered(["UNDER 18", "18-24", "25+"]) == "numbers that rise or fall"
