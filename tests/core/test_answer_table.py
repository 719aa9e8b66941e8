"""Tables in: columns of CSV and Parquet, and one clear sentence for everything else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.core import table_files as tables
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError


def _table(folder: Path, text: str | bytes, name: str = "t.csv") -> AnswerTable:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return AnswerTable.open(path)


def _columns(
    table: AnswerTable, columns: list[str], cells: list[str] | None = None
) -> dict[str, object]:
    batches = list(table.batches(columns, cells))
    return {name: [v for b in batches for v in b.column(name).to_pylist()] for name in columns}


def test_csv_cells_are_read_as_they_are_asked_for(tmp_path: Path) -> None:
    table = _table(tmp_path, 'a,b,c\n1,x,1.5\n2,"NA, null",2\n')
    assert table.schema.names == ["a", "b", "c"]
    assert _columns(table, ["b", "a", "c"], ["text", "integer", "number"]) == {
        "b": ["x", "NA, null"],
        "a": [1, 2],
        "c": [1.5, 2.0],
    }
    assert _columns(table, ["a"]) == {"a": ["1", "2"]}


def test_text_is_never_taken_for_missing_or_for_a_number(tmp_path: Path) -> None:
    table = _table(tmp_path, 'a,b\nNA,1\n,2\nnull,3\n007,4\ntrue,5\n"line\nbreak",6\n')
    assert _columns(table, ["a"]) == {"a": ["NA", "", "null", "007", "true", "line\nbreak"]}


def test_a_byte_order_mark_is_not_part_of_the_name(tmp_path: Path) -> None:
    assert _table(tmp_path, "\ufeffa\n1\n").schema.names == ["a"]


def test_parquet_keeps_its_types_and_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "_BATCH_ROWS", 10)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": range(25), "b": ["x"] * 25, "c": [0.5] * 25}), path)
    batches = list(AnswerTable.open(path).batches(["b", "a"]))
    assert [len(batch) for batch in batches] == [10, 10, 5]
    assert batches[0].schema.names == ["b", "a"]
    assert batches[0].schema.types == [pa.string(), pa.int64()]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must have a header line; got an empty file"),
        ("a,a\n1,2\n", r"columns must have distinct names; got one name twice"),
        ("b,c\n1,2\n", "must have a column 'a' in its header; got 2 columns of other names$"),
        ("a,b\n1\n", "must be well-formed CSV .*; got a row of 1 cells for 2 columns$"),
        ("a\n7\nx\n", "column 'a', row 2: the column must hold integers; got something else$"),
        ("a\n1.5\n", "the column must hold integers; got something else$"),
        ("a\n99999999999999999999\n", "the column must hold integers; got something else$"),
        (b"a\n\xff\xfe\n", "must be well-formed CSV .*; got invalid UTF-8 in column 1$"),
    ],
)
def test_bad_csv_is_one_sentence(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    def read() -> object:
        return _columns(_table(tmp_path, text), ["a"], ["integer"])

    with pytest.raises(InputError, match=sentence) as problem:
        read()
    assert "\n" not in str(problem.value)
    assert str(tmp_path / "t.csv") in str(problem.value)


def test_text_that_is_not_unicode_is_refused(tmp_path: Path) -> None:
    table = _table(tmp_path, b"a\n\xff\xfe\n")
    with pytest.raises(
        InputError, match=r"well-formed CSV \(UTF-8, with a header\).*invalid UTF-8"
    ):
        _columns(table, ["a"])


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must be a .csv, .parquet, .* or .xlsx file; got"):
        AnswerTable.open(tmp_path / "t.ods")
    with pytest.raises(InputError, match="must be a file that exists"):
        AnswerTable.open(tmp_path / "t.csv")
    with pytest.raises(InputError, match="must be a complete Parquet file; this one is truncated"):
        _table(tmp_path, "something", "t.parquet")


def test_rows_are_expected_before_they_are_read(tmp_path: Path) -> None:
    rows = 30_000
    text = "a,b\n" + "".join(f"{row % 90 + 10},word\n" for row in range(rows))
    expected = _table(tmp_path, text).expected_rows()
    assert expected is not None
    assert abs(expected - rows) <= 2
    assert AnswerTable.of({"a": [1, 2, 3]}).with_names({"b": "a"}).expected_rows() == 3
