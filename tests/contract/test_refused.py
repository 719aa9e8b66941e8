"""What tables, reports files and folders are refused for, with the exact sentence."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis.sources import ParquetSource
from rumor.contract import envelope, person_rows
from rumor.contract.collection import Collection
from rumor.contract.groups import LEAST_SHOWN
from rumor.contract.person_rows import People, PersonRule, repeated_id_column
from rumor.contract.privatize import privatize_questions
from rumor.contract.report_parts import PartsFolder
from rumor.contract.table_columns import GroupColumn, TableColumn, read_column
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.option_sets import MARK

QUESTION = """
[[questions]]
id = "{}"
kind = "choice"
labels = ["a", "b", "c"]
epsilon = 30
"""
HEAD = 'name = "App"\nseries = "app"\ncontact = "nobody"\n'
COLUMNS: dict[str, list[Any]] = {
    "user": ["ann", "bob", "ann"],
    "page": ["a", "b", "c"],
}


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + QUESTION.format("page"))
    Path("asked.toml").write_text(
        f"{HEAD}ask = {{questions = 1}}\n{QUESTION.format('page')}{QUESTION.format('other')}"
    )
    pq.write_table(pa.table(COLUMNS), "t.parquet")
    return tmp_path


def refused(give: Callable[[], object]) -> str:
    with pytest.raises(InputError) as found:
        give()
    return str(found.value)


def privatize(**given: Any) -> object:
    said = {"collection": "c.toml", "table": "t.parquet", "out": "r.parquet", **given}
    return rumor.privatize(said.pop("collection"), said.pop("table"), said.pop("out"), **said)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"ledger": "l"}, "--ledger is for tables with --person COLUMN; got it alone"),
        ({"day": "today"}, "--day must be a day written YYYY-MM-DD; got 'today'"),
        ({"day": "2026-02-29"}, "--day must be a day written YYYY-MM-DD; got '2026-02-29'"),
        (
            {"person": "user", "ledger": "./t.parquet"},
            "--ledger must not replace what is read or written; got 't.parquet' for both",
        ),
        (
            {"person": "user", "ledger": "r.parquet"},
            "--ledger must not replace what is read or written; got 'r.parquet' for both",
        ),
        (
            {"out": "t.parquet", "replace": True},
            "--out must not replace what is read; got 't.parquet' for both",
        ),
        ({"out": "c.toml/"}, "a folder of reports must be a folder; 'c.toml' is a file"),
        (
            {"collection": "asked.toml", "question": "page"},
            "who is asked which questions is drawn for all of them at once; leave --question out",
        ),
        (
            {"table": {**COLUMNS, "user": [["ann"], ["bob"], ["ann"]]}, "person": "user"},
            "table, column 'user': every row must say whose it is, as a text or a number; got a "
            "column of list<item: string>",
        ),
        (
            {"table": {**COLUMNS, "user": ["ann", " ", "ann"]}, "person": "user"},
            "table, column 'user', row 2: every row must say whose it is; got nothing",
        ),
        (
            {"table": {**COLUMNS, "user": ["ann", None, "ann"]}, "person": "user"},
            "table, column 'user', row 2: every row must say whose it is; got nothing",
        ),
    ],
)
def test_a_table_is_refused_in_one_sentence(
    work: Path, given: dict[str, Any], sentence: str
) -> None:
    before = {path.name for path in work.iterdir()}
    assert refused(functools.partial(privatize, **given)) == sentence
    assert {path.name for path in work.iterdir()} == before


def test_people_may_be_categories() -> None:
    plain = AnswerTable.of(pa.table(COLUMNS))
    coded = AnswerTable.of(
        pa.table({**COLUMNS, "user": pa.array(COLUMNS["user"]).dictionary_encode()})
    )
    for table in (plain, coded):
        people = People.of(table, PersonRule("user"))
        assert people.names.to_pylist() == ["ann", "bob"]
        assert people.codes.tolist() == [0, 1, 0]


def test_a_column_that_names_people_is_looked_for_in_the_first_rows_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(**columns: list[Any]) -> str | None:
        return repeated_id_column(AnswerTable.of(pa.table(columns)), ["page"])

    assert found(page=["a", "a"], user_id=["1", "1"]) == "user_id"
    assert found(page=["a", "a"], user_id=["1", "2"]) is None
    # What no text can be made of is passed over, and the next column is looked at.
    assert found(user_id=[["1"], ["1"]], page=["a", "a"]) is None
    assert found(user_id=[["1"], ["1"]], person_id=["1", "1"]) == "person_id"
    monkeypatch.setattr(person_rows, "_LOOKED_AT", 3)
    monkeypatch.setattr("rumor.core.table_files._BATCH_ROWS", 3)
    late = {"user_id": ["1", "2", "3", "3"]}
    pq.write_table(pa.table(late), "late.parquet", row_group_size=3)
    assert repeated_id_column(AnswerTable.open("late.parquet"), []) is None
    monkeypatch.setattr(person_rows, "_LOOKED_AT", 4)
    assert repeated_id_column(AnswerTable.open("late.parquet"), []) == "user_id"


def test_ids_of_another_size_are_refused() -> None:
    privatize()
    held = pq.read_table("r.parquet")
    for size in (8, 15, 17):
        ids = pa.array([bytes(size)] * len(held), pa.binary(size))
        at = held.schema.get_field_index("id")
        other = held.set_column(at, pa.field("id", ids.type), ids)
        pq.write_table(other.replace_schema_metadata(held.schema.metadata), "other.parquet")
        assert refused(lambda: ParquetSource("other.parquet", Collection.load("c.toml"))) == (
            f"other.parquet: the column id must hold 16 bytes in each row; got "
            f"fixed_size_binary[{size}]"
        )


RECORD = "the record of a folder of reports must be as rumor privatize wrote it"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({}, None),
        ({"version": 99}, f"{RECORD}; this one is damaged or of another version"),
        ({"day": "May"}, f"{RECORD}; this one is damaged or of another version"),
        ({"parts": {"page": [[1]]}}, f"{RECORD}; this one is damaged or of another version"),
    ],
)
def test_the_record_of_a_folder_is_of_this_version(
    change: dict[str, Any], sentence: str | None
) -> None:
    privatize(out="reports/")
    (record,) = (path for path in Path("reports").iterdir() if path.suffix == ".json")
    record.write_text(json.dumps({**json.loads(record.read_text()), **change}))
    if sentence is None:
        assert PartsFolder._read(Path("reports")).path == Path("reports")
    else:
        assert refused(lambda: PartsFolder._read(Path("reports"))) == f"{record}: {sentence}"
    record.write_bytes(b"\xff")
    assert refused(lambda: PartsFolder._read(Path("reports"))) == (
        f"the record of a folder of reports must be readable UTF-8 text; {str(record)!r} is not "
        f"('utf-8' codec can't decode byte 0xff in position 0: invalid start byte)"
    )


def test_a_run_of_two_questions_that_ends_at_once_leaves_no_folder(work: Path) -> None:
    table = {"page": ["a", "z"], "other": ["a", "z"]}
    said = refused(lambda: privatize(collection="asked.toml", table=table, out="reports/"))
    assert said.endswith("row 2: a label must be one of the domain's (a, b, c); got another text")
    assert not Path("reports").exists()


def test_who_is_asked_what_needs_a_file_for_each_question() -> None:
    asked, table = Collection.load("asked.toml"), AnswerTable.of(pa.table(COLUMNS))
    said = refused(lambda: privatize_questions(asked, table, {"page": "r.parquet"}))
    assert said == (
        "respondents are assigned questions for all of them at once, so each of page, other "
        "needs a file; got page"
    )


def test_old_packages_cannot_seal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.hpke", None)
    assert refused(envelope._suite.__wrapped__) == (
        "envelopes need cryptography 47 or newer; got an older one"
    )


def test_few_people_make_no_public_group() -> None:
    def group(counts: dict[str, int], users: int) -> Any:
        cells = tuple(name for name, count in counts.items() for _ in range(count))
        return TableColumn("country", cells, 0).as_group(users)

    # A half of the people must be as many as are shown at least, and not one less.
    assert group({"DE": 5, "FR": 5}, 2 * LEAST_SHOWN - 1) is None
    assert group({"DE": 5, "FR": 5}, 2 * LEAST_SHOWN) == GroupColumn(
        "country", ("DE", "FR", "other"), "DE", 0.5
    )
    assert group({"other": 5, "FR": 5}, 2 * LEAST_SHOWN).values == ("FR", "other")
    assert group({"DE": 6, "FR": 4}, 2 * LEAST_SHOWN).values == ("DE", "other")


def test_cells_that_are_lists_are_read_as_their_options() -> None:
    table = AnswerTable.of(pa.table({"pets": [["cat", " dog "], [], None, ["emu", None]]}))
    column = read_column(table, "pets")
    assert column.cells == (f"cat{MARK}dog", "emu")
    assert column.blanks == 2
