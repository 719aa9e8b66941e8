"""Going over files again: what iterates over reports, and reports that come twice."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from rumor.analysis import counting, sources
from rumor.analysis.counting import leave_out_repeated
from rumor.analysis.engines import local
from rumor.analysis.engines.base import Batch
from rumor.analysis.engines.kept import BatchSource, PreparedSource, merge_batches
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.estimate import analyse
from rumor.analysis.sources import MemorySource, ParquetSource
from rumor.contract import report_file as reportfile
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.kinds.estimating import estimate
from tests.flow import home_pages, made_reports, write_days

DAYS = ["2026-01-30", "2026-01-31", "2026-02-01"]
COUNTRIES = ["DE", "FR", "IT"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small row groups and batches, so that small files have many of both."""
    monkeypatch.setattr(reportfile, "_MAX_GROUP_ROWS", 512)
    monkeypatch.setattr(sources, "_MIN_BATCH_ROWS", 64)
    monkeypatch.setattr(sources, "BATCH_BYTES", 700)
    monkeypatch.setattr(sources, "_SPLIT_BYTES", 1400)


@pytest.fixture
def collection() -> Collection:
    return home_pages()


@pytest.fixture
def days(collection: Collection, tmp_path: Path) -> dict[str, Reports]:
    question = collection.question("medicine")
    days = {day: made_reports(question, 1500, seed=i) for i, day in enumerate(DAYS)}
    write_days(tmp_path / "r.parquet", collection, question, days, COUNTRIES)
    return days


@pytest.mark.parametrize("memory", [1 << 30, 1000])
@pytest.mark.parametrize(("method", "options"), [("bayes", {}), ("em", {"max_iterations": 3})])
def test_files_iterate_like_reports_in_memory(
    collection: Collection,
    days: dict[str, Reports],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: int,
    method: str,
    options: dict[str, Any],
) -> None:
    """Also where the reports do not fit into memory and are read again at every pass."""
    monkeypatch.setattr(local, "_memory", lambda: memory)
    oracle = collection.question("medicine").mechanism
    path = tmp_path / "r.parquet"
    found = analyse(collection, path, method=method, options=options).estimates[None]
    alone = estimate(oracle, np.concatenate(list(days.values())), method=method, **options)
    np.testing.assert_allclose(found.frequency, alone.frequency, atol=1e-9)
    by_day = analyse(collection, path, method=method, options=options, by="day").estimates
    assert list(by_day) == DAYS
    for day, reports in days.items():
        alone = estimate(oracle, reports, method=method, **options)
        np.testing.assert_allclose(by_day[day].frequency, alone.frequency, atol=1e-9)


def test_what_is_kept_depends_on_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    source = MemorySource(np.zeros((1000, 5), dtype=np.uint8))

    def marked(batch: Batch) -> Batch:
        return Batch(batch.reports + np.uint8(1), batch.stratum, batch.origin)

    for memory, kind in ((20_000, BatchSource), (19_999, PreparedSource)):
        monkeypatch.setattr(local, "_memory", lambda memory=memory: memory)
        with LocalEngine(2).keep(source, marked) as kept:
            assert isinstance(kept, kind)
            batches = [batch for part in kept.parts() for batch in part.batches()]
        assert sum(len(batch.reports) for batch in batches) == 1000
        assert all((batch.reports == 1).all() for batch in batches)
    with LocalEngine(2).keep(MemorySource(np.zeros((0, 5), dtype=np.uint8)), marked) as kept:
        assert not kept.parts()


def test_batches_are_gathered_by_stratum() -> None:
    def batch(stratum: str, first: int) -> Batch:
        return Batch(np.arange(first, first + 4, dtype=np.uint8).reshape(2, 2), stratum)

    small = [batch("a", 0), batch("b", 10), batch("a", 20), batch("a", 30), batch("b", 40)]
    found = [(b.stratum, b.reports[:, 0].tolist()) for b in merge_batches(small, 8)]
    assert found == [("a", [0, 2, 20, 22]), ("b", [10, 12, 40, 42]), ("a", [30, 32])]


def test_whole_batches_may_be_left_out(
    collection: Collection, days: dict[str, Reports], tmp_path: Path
) -> None:
    """A window that cuts through a row group leaves some of its batches empty."""
    window = (datetime.date(2026, 1, 31), datetime.date(2026, 1, 31))
    path = tmp_path / "r.parquet"
    pq.write_table(pq.read_table(path).sort_by("day"), path, row_group_size=4500)
    whole = analyse(collection, path, window=window)
    parts = analyse(collection, path, window=window, by="country")
    assert whole.reports == parts.reports == 1500


@pytest.mark.parametrize("buckets", [1, 7])
def test_the_first_of_equal_ids_counts(
    collection: Collection,
    days: dict[str, Reports],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    buckets: int,
) -> None:
    monkeypatch.setattr(counting, "_BUCKET_BYTES", -(-24 * 6500 // buckets))
    table = pq.read_table(tmp_path / "r.parquet")
    folder = tmp_path / "both"
    folder.mkdir()
    # A later file holds some of the same ids, with the reports of others.
    other = table.slice(0, 2000).set_column(
        1, table.schema.field("report"), table.slice(2000, 2000).column("report")
    )
    pq.write_table(table, folder / "1.parquet", row_group_size=1000)
    pq.write_table(other, folder / "2.parquet", row_group_size=300)
    source = ParquetSource(folder, collection)
    assert leave_out_repeated(source, LocalEngine(2)) == 2000
    found = analyse(collection, folder, distinct_ids=True)
    alone = analyse(collection, tmp_path / "r.parquet")
    assert found.repeated == 2000
    assert found.totals == alone.totals
    assert found.table().endswith("2,000 repeated reports were left out")
    assert analyse(collection, tmp_path / "r.parquet", distinct_ids=True).repeated == 0


def test_copies_of_everything_are_refused(
    collection: Collection,
    days: dict[str, Reports],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counting, "_MAX_REPEATED", 4499)
    (tmp_path / "2.parquet").write_bytes((tmp_path / "r.parquet").read_bytes())
    with pytest.raises(InputError, match="at most 4,499 reports may be repeated; got 4,500"):
        analyse(collection, tmp_path, distinct_ids=True)


def test_a_summary_has_no_ids(
    collection: Collection, days: dict[str, Reports], tmp_path: Path
) -> None:
    analyse(collection, tmp_path / "r.parquet").summary().save(tmp_path / "s.rumor")
    with pytest.raises(InputError, match="is a summary; got --by, --from, --to or --distinct-ids"):
        analyse(collection, tmp_path / "s.rumor", distinct_ids=True)
