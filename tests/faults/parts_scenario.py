"""A run that writes a folder of parts, which is struck at one of its writes, and what must hold.

A table of people with two rows each becomes reports of one row each; the ledger has what an
earlier file cost some of them. Whatever stops the run, no person has two reports of this table,
the ledger never says too little, and the run that is resumed makes all that are missing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest

import rumor
from rumor.contract import report_parts
from rumor.contract.collection import Collection
from rumor.core import table_files
from tests.faults import shim

PEOPLE, EARLIER = 60, 20
_COLLECTION = Collection.resolve(
    {
        "name": "Parts",
        "series": "parts",
        "contact": "nobody@example.org",
        "questions": [
            {
                "id": "code",
                "kind": "choice",
                "domain": PEOPLE,
                # A report is the answer itself, but for one in 10^11.
                "epsilon": 30.0,
                "mechanism": "randomized-response",
                "reports_per_person": 2,
            }
        ],
    }
)
_DAY = "2026-03-02"


def _table(people: int) -> dict[str, list[Any]]:
    return {"who": [*range(people), *range(people)], "code": [*range(people), *([0] * people)]}


def prepare(folder: Path) -> None:
    """The ledger of an earlier file."""
    rumor.privatize(_COLLECTION, _table(EARLIER), folder / "0.parquet", day=_DAY, person="who")


def _write(folder: Path, *, resume: bool) -> int:
    """Make the parts, a few rows at a time."""
    with (
        mock.patch.object(table_files, "_BATCH_ROWS", 10),
        mock.patch.object(report_parts, "group_rows", return_value=15),
    ):
        table, out = _table(PEOPLE), f"{folder / 'reports'}/"
        made = rumor.privatize(_COLLECTION, table, out, day=_DAY, person="who", resume=resume)
    return made.reports


def run(folder: str, at: int, mode: int) -> int:
    """In a child: the scenario, struck at a call. Whoever is told of a failure resumes."""
    shim.arm(folder, at, mode)
    for resume in (False, True):
        try:
            print(f"done {_write(Path(folder), resume=resume)}", flush=True)
            break
        except OSError as problem:
            print(f"failed: {problem}", flush=True)
    print(f"calls {shim.calls()}", flush=True)
    return 0


def verify(folder: Path, said: str) -> None:
    """After the process has ended: what is there now, and once the run was resumed."""
    there, shown = _codes(folder), _ids(folder)
    assert len(set(there)) == len(there), "a person has two reports"
    charged = _charged(folder)
    assert charged >= EARLIER + len(there), "the ledger says too little"
    is_complete = '"complete"' in _record(folder)
    if is_complete:
        with pytest.raises(rumor.InputError, match="nothing is left to make"):
            _write(folder, resume=True)
    else:
        assert "done" not in said, "a run that is done is complete"
        assert _write(folder, resume=True) == PEOPLE
    found = _codes(folder)
    assert sorted(found) == list(range(PEOPLE))
    assert shown <= _ids(folder), "a report that could be seen was made again"
    assert _charged(folder) == EARLIER + PEOPLE
    left = {file.name for file in (folder / "reports").iterdir()}
    assert {name for name in left if not name.startswith("part-")} <= {
        "_run.json", "_run.lock", "_before.people"
    }  # fmt: skip


def _record(folder: Path) -> str:
    record = folder / "reports" / "_run.json"
    return record.read_text() if record.exists() else ""


def _codes(folder: Path) -> list[int]:
    files = (folder / "reports").glob("part-*.parquet")
    return [report[0] for file in files for report in pq.read_table(file)["report"].to_pylist()]


def _ids(folder: Path) -> set[bytes]:
    files = (folder / "reports").glob("part-*.parquet")
    return {id for file in files for id in pq.read_table(file)["id"].to_pylist()}


def _charged(folder: Path) -> int:
    return int(sum(pq.read_table(folder / "parts.people").column(1).to_pylist()))
