"""Paths of tables, days, files and texts that few inputs take: exact results, exact sentences."""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, nextafter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.core import loops, plain_text
from rumor.core.answer_table import AnswerTable
from rumor.core.day_columns import DayColumn
from rumor.core.deprecation import old_names
from rumor.core.errors import AnswerError, InputError
from rumor.core.exact import log_up
from rumor.core.extras import explain_missing_extra, missing_extra_message
from rumor.core.files import held_alone
from rumor.core.loops.plain import decode as plain_decode
from rumor.core.number_range import NumberGrid
from rumor.core.pairs import NOT_HELD, LongTable
from rumor.core.plain_text import toml_text
from rumor.core.secret import read_secret

DAYS = ["2026-03-02", "2026-02-28"]
RULE = "a day must be a date (2026-03-02) or a timestamp (2026-03-02T09:30:00)"


def refused(give: Callable[[], object], kind: type[Exception] = InputError) -> str:
    with pytest.raises(kind) as found:
        give()
    return str(found.value)


# --- Tables -------------------------------------------------------------------------------------


def test_a_label_for_missing_answers_changes_no_column_without_any() -> None:
    table = AnswerTable.of(pa.table({"a": ["x", None], "b": [1, 2]}), missing="none")
    (batch,) = table.answered_batches(["a", "b"], ["text", "integer"], 2)
    assert batch.column(0).to_pylist() == ["x", "none"]
    assert batch.column(1).to_pylist() in ([1, 2], ["1", "2"])
    assert refused(lambda: AnswerTable.of({"a": ["x"]}, mark="")) == (
        "a mark between answers must be a text; got an empty one"
    )


def test_an_error_of_no_row_is_located_in_its_column() -> None:
    table = AnswerTable.of({"a": ["x"]})

    def fail() -> None:
        with table.locate_errors("a", 5):
            raise AnswerError("an answer must be known", None, "none")

    assert refused(fail) == "table, column 'a': an answer must be known; got none"


def test_a_table_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": ["x"]}), file)
    digest = hashlib.sha256(file.read_bytes()).digest()
    table = AnswerTable.open(file)
    assert [one.digest() for one in table.files] == [digest]
    assert [one.digest() for one in table.with_names({"b": "a"}).files] == [digest]
    held = bytearray(file.read_bytes())
    held[4:40] = bytes(36)  # the footer stays: the rows are damaged
    file.write_bytes(held)
    assert refused(lambda: list(table.batches(["a"]))) == (
        f"{file}: a table must be a complete Parquet file; this one is truncated, damaged or "
        f"something else"
    )


@pytest.mark.parametrize(
    "cells",
    [
        pa.array(DAYS),
        pa.array(DAYS, pa.large_string()),
        pa.array([f" {DAYS[0]} ", DAYS[1]]).dictionary_encode(),
        pa.array([datetime.date.fromisoformat(day) for day in DAYS]),
        pa.array([datetime.datetime.fromisoformat(f"{day}T23:59:59") for day in DAYS]),
    ],
)
def test_days_are_read_from_every_type_of_column(cells: pa.Array) -> None:
    assert [str(day) for day in DayColumn("day").days(cells)] == DAYS


@pytest.mark.parametrize(
    ("cells", "place", "got"),
    [
        (pa.array([DAYS[0], None]), 1, "nothing"),
        (pa.array([DAYS[0], "  "]), 1, "nothing"),
        (pa.array([DAYS[0], DAYS[1], "May"]), 2, None),
        (pa.array([f"{DAYS[0]}T10:00Z", "2026-02-30T10:00Z"]), 1, None),
    ],
)
def test_the_first_row_without_a_day_is_named(cells: pa.Array, place: int, got: str | None) -> None:
    with pytest.raises(AnswerError) as found:
        DayColumn("day").days(cells)
    assert found.value.row == place
    assert found.value.rule.startswith("a day must be a date")
    if got is not None:
        assert found.value.got == got


def test_numbers_are_no_days() -> None:
    said = refused(lambda: DayColumn("day").days(pa.array([20_000])))
    assert said.endswith("; got a column of int64")


def test_a_table_of_pairs_without_any_holds_nothing() -> None:
    none, grid = np.zeros(0, dtype=np.int64), NumberGrid(0.0, 1.0, 2, "error")
    table = LongTable(
        starts=np.zeros(3, dtype=np.int64), keys=none, steps=none.astype(np.int32), width=4,
        grid=grid,
    )  # fmt: skip
    found = table.at(0, np.array([[0, 3], [1, 2]]))
    assert found.tolist() == [[NOT_HELD] * 2] * 2


# --- Names and packages -------------------------------------------------------------------------


class Dynamic:
    def __getattr__(self, name: str) -> str:
        if name == "lazy":
            return "found"
        raise AttributeError(name)


@old_names(before="after")
class Renamed(Dynamic):
    after = 7


def test_old_names_leave_other_lookups_alone() -> None:
    held: Any = Renamed()
    with pytest.warns(DeprecationWarning, match="before"):
        assert held.before == 7
    assert held.lazy == "found"
    with pytest.raises(AttributeError, match="nothing"):
        _ = held.nothing


def test_only_packages_of_others_are_explained() -> None:
    own = ModuleNotFoundError("No module named 'rumor.nothing'", name="rumor.nothing")
    assert missing_extra_message(own) is None
    assert missing_extra_message(ModuleNotFoundError("gone")) is None
    other = ModuleNotFoundError("No module named 'strange'", name="strange.inner")
    assert missing_extra_message(other, "this") == (
        "this needs strange (pip install strange); it is not installed"
    )

    def fail() -> None:
        with explain_missing_extra("this"):
            raise own

    with pytest.raises(ModuleNotFoundError) as found:
        fail()
    assert found.value is own

    def inner() -> None:
        with explain_missing_extra("outer"), explain_missing_extra("inner"):
            raise other

    said = refused(inner)
    assert said == "inner needs strange (pip install strange); it is not installed"


def test_loops_are_plain_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "_has_numba", lambda: False)
    assert loops.discover_loops.__wrapped__() is plain_decode
    assert loops.decode_loops.__wrapped__() is plain_decode


def test_a_factor_is_that_of_a_positive_definite_matrix() -> None:
    good = np.array([[4.0, 0.0], [2.0, 5.0]])
    assert plain_decode.factor(good)
    assert good.tolist() == [[2.0, 0.0], [1.0, 2.0]]
    for diagonal in (-1.0, 0.999, 1.0):  # below, or not above, what the rest needs
        bad = np.array([[4.0, 0.0], [2.0, diagonal]])
        before = bad.copy()
        assert not plain_decode.factor(bad)
        assert np.array_equal(bad, before)


# --- Texts and files ----------------------------------------------------------------------------


def test_width_is_counted_without_rich_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.cells", None)
    width = plain_text._cells()
    assert [width(text) for text in ("abc", "", "検", "e\u0301", "\uff57")] == [3, 0, 2, 1, 2]


def test_toml_has_its_own_words() -> None:
    said = toml_text({"a": True, "b": [False, 1, "x\x7f"]})
    assert said == '{ a = true, b = [false, 1, "x\\u007f"] }'


def test_a_secret_is_text(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"\xff" * 64)
    path.chmod(0o600)
    said = refused(lambda: read_secret(path))
    assert said.startswith(f"a secret file must be readable text; {str(path)!r} is not (")
    missing = tmp_path / "none"
    said = refused(lambda: read_secret(missing))
    assert said.startswith(f"a secret file must be readable text; {str(missing)!r} is not (")


def test_a_lock_that_cannot_be_written_is_no_lock_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        def execute(self, statement: str) -> None:
            problem = sqlite3.OperationalError("database or disk is full")
            problem.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise problem

        def close(self) -> None:
            pass

    lock = tmp_path / "lock"
    lock.touch()

    def hold() -> None:
        with held_alone(lock):
            raise AssertionError("held")

    monkeypatch.setattr(sqlite3, "connect", lambda *_, **__: Full())
    with pytest.raises(OSError, match="database or disk is full") as found:
        hold()
    assert not isinstance(found.value, BlockingIOError)
    assert found.value.filename == str(lock)


def test_logarithms_are_the_smallest_doubles_that_are_not_below() -> None:
    for ratio in (Fraction(3), Fraction(2**64 + 1, 2**64), Fraction(10**30), Fraction(1, 3)):
        found = log_up(ratio)
        with localcontext() as context:
            context.prec = 100
            exact = (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()
            assert Decimal(nextafter(found, -inf)) < exact <= Decimal(found)
