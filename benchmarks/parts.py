"""A table to a folder of parts, against one file: at once, and interrupted twice and resumed.

A CSV of labels and countries becomes reports of one byte. Parts cost a record and a file each, and
a digest of the table, by which a run that is resumed knows it. A run that is interrupted reads
again what it has done, and makes again what was not in a part yet. All three make as many reports;
with a seed, the parts of both folders are the same bytes, and no id is there twice: a run in which
they were not would fail here.

With --full the table has 20 million rows, and batches and parts are as large as ever; otherwise
they are smaller, so that there are as many.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

import rumor
from benchmarks.harness import Contender, Row, Scale, race
from rumor.contract import report_parts
from rumor.contract.collection import Collection
from rumor.contract.report_file import group_rows
from rumor.core import table_files

_STOPS = (0.3, 0.65)
_FULL = 20_000_000
_LABELS = [f"page-{i}" for i in range(20)]


def run(scale: Scale) -> Iterable[Row]:
    """Race folders against a file over the same table."""
    rows = _FULL if scale.full else scale.pick(4_000_000, 2_000_000)
    turns = Scale(scale.quick, scale.full, scale.turns or (1 if scale.full else 3))
    size = group_rows(1) * rows // _FULL
    block = table_files._BLOCK_BYTES * rows // _FULL
    with (
        tempfile.TemporaryDirectory(prefix="rumor-bench-") as folder,
        mock.patch.object(report_parts, "group_rows", return_value=size),
        mock.patch.object(table_files, "_BLOCK_BYTES", block),
    ):
        place = Path(folder)
        runs = _Runs(place, rows)
        yield from race(
            f"privatize {rows:,} rows to parts",
            " rows/s",
            Contender("folder", runs.at_once, rows),
            [Contender("one file", runs.file, rows)],
            turns,
            {"one file": 0.9},
        )
        yield from race(
            f"privatize {rows:,} rows, stopped twice",
            " rows/s",
            Contender("folder, resumed", runs.resumed, rows),
            [Contender("one file", runs.file, rows)],
            turns,
        )
        runs.check()


class _Runs:
    """A table, and the ways to privatize it."""

    def __init__(self, place: Path, rows: int) -> None:
        self._place, self._rows, self._numbers = place, rows, itertools.count()
        self._collection = Collection.resolve(
            {
                "name": "Bench",
                "series": "bench",
                "contact": "bench@example.org",
                "questions": [
                    {
                        "id": "page",
                        "kind": "choice",
                        "labels": _LABELS,
                        "epsilon": 1.0,
                        "mechanism": "randomized-response",
                    }
                ],
            }
        )
        chance = np.random.default_rng(1)
        columns = {
            "page": pa.array(_LABELS).take(pa.array(chance.integers(0, len(_LABELS), rows))),
            "country": pa.array(["DE", "FR"]).take(pa.array(chance.integers(0, 2, rows))),
        }
        pa_csv.write_csv(pa.table(columns), place / "table.csv")

    def _privatize(
        self,
        out: Path,
        *,
        seed: int | None = None,
        resume: bool = False,
        stop: float | None = None,
    ) -> None:
        made = rumor.privatize(
            self._collection,
            self._place / "table.csv",
            out,
            keep=["country"],
            day="2026-03-02",
            random=None if seed is None else rumor.Seeded(seed),
            resume=resume,
            on_progress=None if stop is None else self._stop_at(stop),
        )
        assert made.reports == self._rows, made.reports

    def _stop_at(self, share: float) -> Callable[[int, int | None, str], None]:
        def update(done: int, total: int | None, note: str) -> None:
            if done >= share * self._rows:
                raise KeyboardInterrupt

        return update

    def file(self) -> None:
        """Write one file."""
        out = self._place / "one.parquet"
        self._privatize(out)
        out.unlink()

    def at_once(self) -> None:
        """Write a folder of parts."""
        out = self._place / f"folder-{next(self._numbers)}"
        self._privatize(out)
        shutil.rmtree(out)

    def _in_pieces(self, out: Path, seed: int | None = None) -> None:
        for number, stop in enumerate((*_STOPS, None)):
            with contextlib.suppress(KeyboardInterrupt):
                self._privatize(out, seed=seed, resume=number > 0, stop=stop)

    def resumed(self) -> None:
        """Write a folder of parts, stopped twice."""
        out = self._place / f"folder-{next(self._numbers)}"
        self._in_pieces(out)
        shutil.rmtree(out)

    def check(self) -> None:
        """Fail unless a folder that was stopped twice has the bytes of one that was not."""
        whole, pieces = self._place / "whole", self._place / "pieces"
        self._privatize(whole, seed=1)
        self._in_pieces(pieces, seed=1)
        names = [file.name for file in sorted(whole.glob("*.parquet"))]
        assert names == [file.name for file in sorted(pieces.glob("*.parquet"))]
        assert all((whole / one).read_bytes() == (pieces / one).read_bytes() for one in names)
        ids = pq.ParquetDataset(pieces).read(["id"]).column("id")
        assert len(ids) == pc.count_distinct(ids).as_py() == self._rows
