"""The local engine: whatever the files, workers and batches, the same counts come out."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.analysis import sources
from rumor.analysis.counting import Totals, summarize
from rumor.analysis.engines.base import Batch, Fold, Partition, Stratum
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.sources import MemorySource, ParquetSource, batch_rows
from rumor.contract import report_file as reportfile
from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError
from rumor.core.reports import Reports
from rumor.core.types import Vector
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.summary import Summary, merge
from tests.flow import home_pages, made_reports, write_days

DAYS = ["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"]
COUNTRIES = ["DE", "FR", "IT"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small row groups and batches, so that small files have many of both."""
    monkeypatch.setattr(reportfile, "_MAX_GROUP_ROWS", 2048)
    monkeypatch.setattr(sources, "_MIN_BATCH_ROWS", 64)
    monkeypatch.setattr(sources, "BATCH_BYTES", 700)
    monkeypatch.setattr(sources, "_SPLIT_BYTES", 1400)


@dataclass(frozen=True)
class Written:
    collection: Collection
    question: Question
    path: Path
    days: dict[str, Reports]

    @property
    def reports(self) -> Reports:
        return np.concatenate(list(self.days.values()))

    def summary(self, reports: Reports) -> Summary:
        return Summary.empty(
            self.question.mechanism, contract=self.collection.digest, question=self.question.id
        ).update(reports)

    def totals(
        self, source: ParquetSource, *, workers: int = 2, skip_invalid: bool = False
    ) -> Totals:
        return summarize(
            source,
            self.question.mechanism,
            contract=self.collection.digest,
            question=self.question.id,
            engine=LocalEngine(workers),
            skip_invalid=skip_invalid,
        )


@pytest.fixture(params=["homepage", "medicine"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Written:
    collection = home_pages()
    question = collection.question(request.param)
    days = {day: made_reports(question, 1500 + 7 * i, seed=i) for i, day in enumerate(DAYS)}
    path = tmp_path / "r.parquet"
    write_days(path, collection, question, days, COUNTRIES)
    return Written(collection, question, path, days)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_file_counts_like_its_reports_in_memory(written: Written, workers: int) -> None:
    source = ParquetSource(written.path, written.collection, written.question)
    assert source.reports == len(written.reports)
    assert len(source.parts()) == 3
    totals = written.totals(source, workers=workers)
    assert totals.skipped == 0
    assert totals.summaries == {None: written.summary(written.reports)}


def test_the_question_is_the_one_that_the_file_names(written: Written) -> None:
    assert ParquetSource(written.path, written.collection).question == written.question


def test_a_folder_counts_like_one_file(written: Written, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    for day, reports in written.days.items():
        write_days(folder / f"{day}.parquet", written.collection, written.question, {day: reports})
    totals = written.totals(ParquetSource(folder, written.collection))
    assert totals.summaries == {None: written.summary(written.reports)}


def test_every_stratum_is_counted_apart(written: Written) -> None:
    totals = written.totals(ParquetSource(written.path, written.collection, by="country"))
    expected: dict[Stratum, Summary] = {
        name: written.summary(np.concatenate([r[i::3] for r in written.days.values()]))
        for i, name in enumerate(COUNTRIES)
    }
    assert dict(totals.summaries) == expected


def test_days_are_strata_too(written: Written) -> None:
    totals = written.totals(ParquetSource(written.path, written.collection, by="day"))
    assert dict(totals.summaries) == {
        day: written.summary(reports) for day, reports in written.days.items()
    }


@pytest.mark.parametrize(
    ("first", "last", "inside"),
    [
        (None, None, DAYS),
        ("2026-01-31", None, DAYS[1:]),
        (None, "2026-01-31", DAYS[:2]),
        ("2026-01-31", "2026-02-01", DAYS[1:3]),
        ("2026-02-02", "2026-02-02", DAYS[3:]),
        ("2026-02-03", None, []),
    ],
)
@pytest.mark.parametrize("by", [None, "country"])
def test_windows_of_days_include_both_ends(
    written: Written, first: str | None, last: str | None, inside: list[str], by: str | None
) -> None:
    window = tuple(None if d is None else datetime.date.fromisoformat(d) for d in (first, last))
    source = ParquetSource(written.path, written.collection, by=by, window=window)  # type: ignore[arg-type]
    totals = written.totals(source)
    if not inside:
        assert not totals.summaries
        return
    expected = written.summary(np.concatenate([written.days[day] for day in inside]))
    assert merge(totals.summaries.values()) == expected


def test_row_groups_outside_the_window_are_not_read(written: Written) -> None:
    def parts(first: str, last: str) -> list[object]:
        window = (datetime.date.fromisoformat(first), datetime.date.fromisoformat(last))
        source = ParquetSource(written.path, written.collection, window=window)
        return [part.window for part in source.parts()]

    assert parts("2025-01-01", "2025-12-31") == []
    assert parts("2026-01-01", "2026-12-31") == [None] * 3  # all inside: days are not looked at
    assert len(parts("2026-02-02", "2026-02-02")) == 1


def test_a_window_must_be_in_order(written: Written) -> None:
    window = (datetime.date(2026, 2, 1), datetime.date(2026, 1, 1))
    with pytest.raises(InputError, match="must not be after the last; got 2026-02-01 and 2026-01"):
        ParquetSource(written.path, written.collection, window=window)


def test_strata_must_be_a_public_column(written: Written) -> None:
    for column in ["city", "id", "report"]:
        with pytest.raises(InputError, match=rf"public column .*\(day, country\); got '{column}'"):
            ParquetSource(written.path, written.collection, by=column)


def test_unknown_strata_are_a_stratum_of_their_own(tmp_path: Path) -> None:
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("homepage")
    reports = made_reports(question, 300)
    schema = pa.schema([("version", pa.int32()), ("beta", pa.bool_()), ("share", pa.float64())])
    with reportfile.write_reports(path, collection, question, strata=schema) as writer:
        kept = {
            "version": pa.array([1, 2, None] * 100, pa.int32()),
            "beta": pa.array([True, False, None] * 100),
            "share": pa.array([0.5] * 300),
        }
        writer.write(reports, datetime.date(2026, 1, 1), kept)
    strata: dict[str, list[Stratum]] = {"version": [1, 2, None], "beta": [True, False, None]}
    for by, names in strata.items():
        totals = summarize(ParquetSource(path, collection, by=by), question.mechanism)
        expected = {
            name: Summary.empty(question.mechanism).update(reports[i::3])
            for i, name in enumerate(names)
        }
        assert dict(totals.summaries) == expected
    with pytest.raises(InputError, match="texts, integers, booleans or dates; got 'share' of dou"):
        ParquetSource(path, collection, by="share")


def test_too_many_strata_are_refused(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    from rumor.analysis import counting as module

    monkeypatch.setattr(module, "_MAX_COUNTERS", 2 * written.question.mechanism.tally_size)
    with pytest.raises(
        InputError, match="groups must be few enough to count side by side: at most 2"
    ):
        written.totals(ParquetSource(written.path, written.collection, by="country"))


@pytest.fixture
def spoiled(tmp_path: Path) -> Written:
    """A file in which every tenth report is invalid."""
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("homepage")
    reports = made_reports(question, 3000)
    reports[::10] = 200
    write_days(path, collection, question, {"2026-01-01": reports})
    return Written(collection, question, path, {"2026-01-01": reports})


def test_one_invalid_report_refuses_the_file(spoiled: Written) -> None:
    with pytest.raises(
        InputError,
        match=r"r.parquet: every report must be valid \(a report is an integer from 0 to 4\); "
        r"got at least \d+ that (is|are) not \(--skip-invalid",
    ):
        spoiled.totals(ParquetSource(spoiled.path, spoiled.collection))


def test_invalid_reports_can_be_left_out_and_are_counted(spoiled: Written) -> None:
    totals = spoiled.totals(ParquetSource(spoiled.path, spoiled.collection), skip_invalid=True)
    valid = spoiled.reports[spoiled.reports[:, 0] < 5]
    assert totals.skipped == 300
    assert totals.summaries == {None: spoiled.summary(valid)}


def test_progress_only_grows_and_ends_at_everything(written: Written) -> None:
    seen: list[tuple[int, int]] = []
    source = ParquetSource(written.path, written.collection)
    summarize(
        source,
        written.question.mechanism,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    count = len(written.reports)
    assert [total for _, total in seen] == [count] * 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == count


def test_reports_in_memory_count_alike(written: Written) -> None:
    totals = summarize(MemorySource(written.reports), written.question.mechanism)
    expected = Summary.empty(written.question.mechanism).update(written.reports)
    assert totals.summaries == {None: expected}
    none = np.zeros((0, 1), dtype=np.uint8)
    assert not summarize(MemorySource(none), written.question.mechanism).summaries


def test_a_shared_state_goes_to_every_batch(written: Written) -> None:
    """Expectation-maximisation as folds: the same from files as from memory, to rounding."""
    oracle = written.question.mechanism
    assert isinstance(oracle, FrequencyOracle)

    def expected_counts(batch: Batch, frequency: Vector) -> Vector:
        boost = oracle.odds - 1
        total = 1 + boost * oracle.forward(batch.reports, frequency)
        weights = oracle.adjoint(batch.reports, 1 / total)
        return np.asarray(frequency * ((1 / total).sum() + boost * weights))

    def em(source: ParquetSource | MemorySource, workers: int) -> Vector:
        frequency = np.full(oracle.domain, 1 / oracle.domain)
        for _ in range(5):
            fold = Fold(expected_counts, frequency, np.add, np.zeros(oracle.domain))
            counts = LocalEngine(workers).fold(source, fold)
            np.testing.assert_allclose(counts.sum(), len(written.reports))
            frequency = counts / counts.sum()
        return frequency

    source = ParquetSource(written.path, written.collection)
    np.testing.assert_allclose(em(source, 2), em(MemorySource(written.reports), 1), rtol=1e-12)
    # Merged in the order of the parts: the same to the last bit, however threads race.
    np.testing.assert_array_equal(em(source, 1), em(source, 4))


class _Watched:
    """A source that counts how many of its parts are being read at once."""

    def __init__(self, count: int, work: Callable[[int], None] = lambda i: None) -> None:
        self._count, self._work = count, work
        self._lock, self._now = threading.Lock(), 0
        self.most, self.started = 0, 0

    def parts(self) -> list[Partition]:
        return [_WatchedPart(self, i) for i in range(self._count)]

    def read(self, index: int) -> Iterator[Batch]:
        with self._lock:
            self._now += 1
            self.started += 1
            self.most = max(self.most, self._now)
        self._work(index)
        yield Batch(np.full((1, 1), index % 251, dtype=np.uint8))
        with self._lock:
            self._now -= 1


@dataclass(frozen=True)
class _WatchedPart:
    source: _Watched
    index: int
    rows: int = 1

    def batches(self) -> Iterator[Batch]:
        return self.source.read(self.index)


def _add(batch: Batch, state: int) -> list[int]:
    return [int(batch.reports[0, 0]) + state]


def _listed(state: int) -> Fold[int, list[int]]:
    return Fold(_add, state, lambda a, b: a + b, [])


@pytest.mark.parametrize("workers", [1, 3])
def test_only_as_many_parts_as_workers_are_read_at_once(workers: int) -> None:
    source = _Watched(50)
    result = LocalEngine(workers).fold(source, _listed(1000))
    assert result == [1000 + i for i in range(50)]
    assert source.most <= workers


def test_an_error_stops_the_rest() -> None:
    def work(index: int) -> None:
        if index == 3:
            raise InputError("part 3 is bad")

    source = _Watched(1000, work)
    with pytest.raises(InputError, match="part 3 is bad"):
        LocalEngine(2).fold(source, _listed(0))
    assert source.started < 50


def test_workers_must_be_a_positive_number() -> None:
    with pytest.raises(InputError, match="workers must be an integer from 1 to 1,024; got 0"):
        LocalEngine(0)


def test_batches_are_alike_aligned_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_MIN_BATCH_ROWS", 1024)
    for rows in [1, 63, 64, 1000, 524_288, 3_000_001]:
        for width in [1, 2, 125, 12_500]:
            size = batch_rows(rows, width, 1 << 23)
            assert size % 64 == 0
            assert size * width <= max((1 << 23) + 64 * width, (1024 + 64) * width)
            batches = -(-rows // size)
            assert size * batches < rows + 64 * batches + 64


def test_large_row_groups_are_read_in_pieces(tmp_path: Path) -> None:
    """A foreign file with one huge row group costs no more memory than one of ours."""
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("medicine")
    reports = made_reports(question, 5000)
    write_days(path, collection, question, {"2026-01-01": reports})
    table = pq.read_table(path)
    pq.write_table(table, path, row_group_size=5000)
    (part,) = ParquetSource(path, collection).parts()
    sizes = [len(batch.reports) for batch in part.batches()]
    assert sum(sizes) == 5000
    assert max(sizes) <= 128
