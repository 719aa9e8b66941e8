"""Collections that are begun from a table: what a column looks like, at each edge."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from rumor.contract.drafting import Draft, draft_questions


def drafted(folder: Path, **columns: list[Any]) -> list[dict[str, Any]]:
    """Return the questions that are guessed from columns of one length."""
    rows = max(map(len, columns.values()))
    cells = [[*column, *[""] * (rows - len(column))] for column in columns.values()]
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*cells, strict=True))]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [dict(one) for one in draft_questions(path, 2.0)]


def words(count: int) -> list[str]:
    return [f"w{number:02}" for number in range(count)]


GUESSED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "two texts": (["b", "a", "b"], {"kind": "choice", "labels": ["a", "b"]}),
    "one text": (["a", "a"], {"kind": "choice", "labels": ["a", "other"]}),
    "fifty texts": (words(50), {"kind": "choice", "labels": words(50)}),
    "fifty-one texts": (words(51), {"kind": "text", "words": "open"}),
    "two numbers": ([7, 9, 7], {"kind": "choice", "labels": ["7", "9"]}),
    "two numbers far apart": ([0, 99], {"kind": "choice", "labels": ["0", "99"]}),
    "a scale": ([1, 2, 3], {"kind": "ordered", "low": 1, "high": 3}),
    "a scale of 13": ([0, 5, 12], {"kind": "ordered", "low": 0, "high": 12}),
    "a range of 14": ([0, 5, 13], {"kind": "number", "low": 0, "high": 20, "outside": "clip"}),
    "halves": ([0.5, 1, 2], {"kind": "number", "low": 0, "high": 2, "outside": "clip"}),
    "nothing but 0": ([0], {"kind": "number", "low": -1e-09, "high": 1e-09, "outside": "clip"}),
    "tens": ([15, 41, 88], {"kind": "number", "low": 10, "high": 90, "outside": "clip"}),
    "round ends": ([10, 55, 90], {"kind": "number", "low": 10, "high": 90, "outside": "clip"}),
    "hundredths": (
        [0.123, 0.5, 0.456],
        {"kind": "number", "low": 0.1, "high": 0.5, "outside": "clip"},
    ),
}


@pytest.mark.parametrize("name", GUESSED)
def test_what_a_column_looks_like(name: str, tmp_path: Path) -> None:
    cells, expected = GUESSED[name]
    (found,) = drafted(tmp_path, asked=cells)
    assert found == {"id": "asked", "text": "asked", **expected, "epsilon": 2.0}


def test_columns_have_ids_of_their_own_and_keep_their_names(tmp_path: Path) -> None:
    columns = {"plain": ["a", "b"], "A b": ["a", "b"], "a B": ["a", "b"], "a-b": ["a", "b"]}
    found = drafted(tmp_path, **columns, empty=["", ""])
    assert [(one["id"], one["text"], one.get("column")) for one in found] == [
        ("plain", "plain", None),
        ("a-b-1", "A b", "A b"),
        ("a-b-2", "a B", "a B"),
        ("a-b-3", "a-b", "a-b"),
    ]


def test_a_draft_is_a_file_that_can_be_read(tmp_path: Path) -> None:
    draft = Draft("My table", "a@example.org", 7, drafted(tmp_path, asked=[1, 2, 3]), "# note\n")
    read = tomllib.loads(draft.text)
    assert draft.text.startswith("# note\n")
    assert (read["name"], read["series"], read["contact"]) == (
        "My table",
        "my-table",
        "a@example.org",
    )
    assert read["users"] == 7
    assert draft.check().question().id == "asked"
