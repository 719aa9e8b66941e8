"""Reports files: every byte comes back, shuffled, and nothing else is taken for one."""

from __future__ import annotations

import datetime
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.analysis.sources import ParquetSource
from rumor.contract import report_file as reportfile
from rumor.contract.collection import Collection
from rumor.contract.report_file import (
    ReportFile,
    find_files,
    fixed_binary,
    group_rows,
    report_bytes,
    write_reports,
)
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from tests.flow import TOML, home_pages, made_reports, write_days

DAY = datetime.date(2026, 1, 5)


def _rows(path: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(path).to_pylist()
    return rows


def test_what_is_written_comes_back_with_its_day_and_stratum(tmp_path: Path) -> None:
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("medicine")
    reports = made_reports(question, 500)
    # A stratum that names the report proves that rows stay together when shuffled.
    names = pa.array([row.tobytes().hex() for row in reports])
    with write_reports(
        path, collection, question, strata=pa.schema([("name", pa.string())])
    ) as writer:
        writer.write(reports[:200], DAY, {"name": names[:200]})
        writer.write(reports[200:], DAY + datetime.timedelta(days=1), {"name": names[200:]})
    assert writer.reports == 500
    rows = _rows(path)
    assert Counter(row["report"] for row in rows) == Counter(row.tobytes() for row in reports)
    assert all(row["name"] == row["report"].hex() for row in rows)  # type: ignore[attr-defined]
    assert Counter(row["day"] for row in rows) == {DAY: 200, DAY + datetime.timedelta(days=1): 300}
    assert len({row["id"] for row in rows}) == 500

    schema = pq.read_schema(path)
    assert schema.names == ["id", "report", "day", "name", "contract", "question"]
    assert schema.types[:4] == [pa.binary(16), pa.binary(7), pa.date32(), pa.string()]
    written = pq.read_table(path)
    assert set(written.column("contract").to_pylist()) == {collection.digest}
    assert set(written.column("question").to_pylist()) == {"medicine"}
    # A file that was written before these columns were is read as well.
    older = written.drop_columns(["contract", "question"])
    pq.write_table(older, tmp_path / "older.parquet")
    reportfile.ReportFile.open(tmp_path / "older.parquet").require(collection, question)
    assert schema.metadata[b"rumor.version"] == b"1"
    assert schema.metadata[b"rumor.contract"].decode() == collection.digest
    assert schema.metadata[b"rumor.question"] == b"medicine"


def test_rows_are_in_the_order_of_random_ids_not_of_people(tmp_path: Path) -> None:
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("medicine")
    numbered = np.zeros((1000, 7), dtype=np.uint8)
    numbered[:, :2] = np.arange(1000, dtype="<u2").view(np.uint8).reshape(-1, 2)
    with write_reports(path, collection, question) as writer:
        writer.write(numbered, DAY)
    rows = _rows(path)
    assert [row["id"] for row in rows] == sorted(
        (row["id"] for row in rows),
        key=lambda i: int.from_bytes(i[:8], "little"),  # type: ignore[index]
    )
    order = [int.from_bytes(row["report"][:2], "little") for row in rows]  # type: ignore[index]
    assert sorted(order) == list(range(1000))
    # A shuffled order is uncorrelated with the people's: |r| < 5 / sqrt(n).
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 5 / 1000**0.5


def test_row_groups_are_bounded_and_gather_small_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reportfile, "_MAX_GROUP_ROWS", 1024)
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("homepage")
    reports = made_reports(question, 2500)
    with write_reports(path, collection, question) as writer:
        for start in range(0, 2500, 100):
            writer.write(reports[start : start + 100], DAY)
    footer = pq.read_metadata(path)
    sizes = [footer.row_group(i).num_rows for i in range(footer.num_row_groups)]
    assert sizes == [1024, 1024, 452]
    table = pq.read_table(path, columns=["report"])
    assert Counter(table["report"].to_pylist()) == Counter(r.tobytes() for r in reports)


@pytest.mark.parametrize(
    ("width", "rows"),
    [
        (1, 3_195_660),
        (16, 1_864_135),
        (125, 462_819),
        (12_500, 5_360),
        (65_516, 1_024),
        (10**6, 1_024),
    ],
)
def test_a_row_group_is_about_64_megabytes(width: int, rows: int) -> None:
    """With ids of 16 bytes and days of 4; never fewer rows than hide a person."""
    assert group_rows(width) == rows
    if rows > 1_024:
        assert rows * (width + 20) <= 64 * 2**20 < (rows + 1) * (width + 20)


def test_a_file_is_written_as_its_schema_says(tmp_path: Path) -> None:
    """Noise is not compressed, and what repeats is; nothing can be missing."""
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("homepage")
    strata = pa.schema([pa.field("country", pa.string())])
    with write_reports(path, collection, question, strata=strata) as writer:
        writer.write(made_reports(question, 50), DAY, {"country": pa.array(["DE"] * 50)})
    assert (writer.reports, writer.batches) == (50, 1)
    schema = pq.read_schema(path)
    assert [(field.name, field.nullable) for field in schema] == [
        ("id", False), ("report", False), ("day", False), ("country", True), ("contract", False),
        ("question", False),
    ]  # fmt: skip
    group = pq.read_metadata(path).row_group(0)
    columns = {c.path_in_schema: c for c in map(group.column, range(group.num_columns))}
    told = {
        name: (c.compression, "RLE_DICTIONARY" in c.encodings, c.is_stats_set)
        for name, c in columns.items()
    }
    noise, known = ("UNCOMPRESSED", False, False), ("ZSTD", True, True)
    assert told == {
        "id": noise, "report": noise, "day": known, "country": known, "contract": known,
        "question": known,
    }  # fmt: skip


def test_a_seed_repeats_the_file_and_nothing_else_does(tmp_path: Path) -> None:
    collection = home_pages()
    question = collection.question("homepage")
    reports = made_reports(question, 100)

    def written(name: str, seed: int | None) -> bytes:
        path = tmp_path / name
        random = None if seed is None else Seeded(seed)
        with write_reports(path, collection, question, random=random) as writer:
            writer.write(reports, DAY)
        return path.read_bytes()

    assert written("a", 1) == written("b", 1)
    assert len({written("c", 2), written("d", None), written("e", None), written("f", 1)}) == 4


@pytest.mark.parametrize("problem", [RuntimeError, KeyboardInterrupt])
def test_an_error_leaves_no_file(tmp_path: Path, problem: type[BaseException]) -> None:
    collection = home_pages()
    question = collection.question("homepage")

    def fail() -> None:
        with write_reports(tmp_path / "r.parquet", collection, question) as writer:
            writer.write(made_reports(question, 100), DAY)
            writer.flush()
            raise problem

    with pytest.raises(problem):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_strata_must_not_take_the_names_of_our_columns(tmp_path: Path) -> None:
    collection = home_pages()
    with (
        pytest.raises(InputError, match=r"must not be named id, report, day.*got 'day'"),
        write_reports(
            tmp_path / "r.parquet",
            collection,
            collection.question("homepage"),
            strata=pa.schema([("day", pa.string())]),
        ),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_arrow_and_numpy_share_the_bytes() -> None:
    rows = np.arange(60, dtype=np.uint8).reshape(20, 3)
    column = fixed_binary(rows)
    assert column.buffers()[1].address == rows.ctypes.data
    for offset, length in [(0, 20), (7, 5), (19, 1), (3, 0)]:
        view = report_bytes(column.slice(offset, length))
        np.testing.assert_array_equal(view, rows[offset : offset + length])
        assert view.shape == (length, 3)
        assert length == 0 or np.shares_memory(view, rows)


def test_missing_reports_are_refused() -> None:
    with pytest.raises(InputError, match="must not be missing; got 1 nulls"):
        report_bytes(pa.array([b"ab", None], type=pa.binary(2)))


@pytest.fixture
def whole(tmp_path: Path) -> tuple[Collection, Path]:
    collection, path = home_pages(), tmp_path / "r.parquet"
    question = collection.question("homepage")
    write_days(path, collection, question, {"2026-01-05": made_reports(question, 3000)})
    return collection, path


def test_truncated_files_are_refused_at_any_length(
    whole: tuple[Collection, Path], tmp_path: Path
) -> None:
    collection, path = whole
    data = path.read_bytes()
    cut = tmp_path / "cut.parquet"
    for size in [0, 1, 4, 100, len(data) // 2, len(data) - 100, len(data) - 8, len(data) - 1]:
        cut.write_bytes(data[:size])
        with pytest.raises(InputError, match=r"cut.parquet: a reports file must be a complete"):
            ParquetSource(cut, collection)


def test_damage_inside_is_refused_while_reading(
    whole: tuple[Collection, Path], tmp_path: Path
) -> None:
    collection, path = whole
    data = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(0).column(1)
    assert column.path_in_schema == "report"
    start = column.data_page_offset
    data[start : start + 20] = b"\xff" * 20  # the header of the page
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(data)
    (part,) = ParquetSource(broken, collection).parts()
    with pytest.raises(InputError, match=r"broken.parquet: a reports file must be a complete"):
        list(part.batches())


def test_something_else_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.parquet"
    text.write_text("not Parquet at all, but long enough to look like something")
    with pytest.raises(InputError, match="truncated, damaged or something else"):
        ReportFile.open(text)
    with pytest.raises(InputError, match="a reports file must exist; got"):
        ReportFile.open(tmp_path / "no.parquet")
    plain = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"id": [b"x"], "report": [b"y"]}), plain)
    with pytest.raises(
        InputError,
        match=r"columns id, report, day .*; got the columns id, report and no collection",
    ):
        ReportFile.open(plain)


def test_reports_of_another_collection_or_question_are_refused(
    whole: tuple[Collection, Path],
) -> None:
    collection, path = whole
    other = Collection.from_toml(TOML.replace("epsilon = 2.0", "epsilon = 2.5"))
    with pytest.raises(InputError) as problem:
        ParquetSource(path, other)
    assert str(problem.value) == (
        f"{path}: the reports must be of this collection (digest {other.digest[:16]}...); "
        f"got reports of {collection.digest[:16]}..."
    )
    with pytest.raises(
        InputError, match=r"must answer question 'medicine'; got reports of 'homepage'"
    ):
        ParquetSource(path, collection, collection.question("medicine"))


def _forged(path: Path, collection: Collection, **changes: object) -> None:
    """A file whose metadata is right and whose columns are not."""
    columns: dict[str, object] = {
        "id": pa.array([b"i" * 16], pa.binary(16)),
        "report": pa.array([b"\x01"], pa.binary(1)),
        "day": pa.array([DAY]),
        **changes,
    }
    metadata = {
        "rumor.version": "1",
        "rumor.contract": collection.digest,
        "rumor.question": "homepage",
    }
    columns = {name: column for name, column in columns.items() if column is not None}
    pq.write_table(pa.table(columns).replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"report": pa.array([b"ab"], pa.binary(2))}, "must hold 1 bytes in each row; got fixed_s"),
        ({"report": pa.array(["x"])}, "must hold 1 bytes in each row; got string"),
        ({"day": pa.array(["x"])}, "the column day must hold dates; got string"),
        ({"day": None}, "must have the columns id, report, day"),
    ],
)
def test_wrong_columns_are_refused(
    tmp_path: Path, changes: dict[str, object], sentence: str
) -> None:
    collection, path = home_pages(), tmp_path / "r.parquet"
    _forged(path, collection)
    ParquetSource(path, collection)
    _forged(path, collection, **changes)
    with pytest.raises(InputError, match=sentence):
        ParquetSource(path, collection)


def test_another_format_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    _forged(path, home_pages())
    table = pq.read_table(path)
    metadata = {**table.schema.metadata, b"rumor.version": b"2"}
    pq.write_table(table.replace_schema_metadata(metadata), path)
    with pytest.raises(InputError, match=r"must be of format version 1; got '2'"):
        ReportFile.open(path)


def test_a_folder_is_all_its_files_in_order(tmp_path: Path) -> None:
    collection = home_pages()
    question = collection.question("homepage")
    (tmp_path / "march").mkdir()
    for name in [
        "b.parquet",
        "a.parquet",
        "march/c.parquet",
        ".hidden.parquet",
        "_temporary.parquet",
    ]:
        write_days(
            tmp_path / name, collection, question, {"2026-01-05": made_reports(question, 10)}
        )
    (tmp_path / "_SUCCESS").touch()
    names = [str(file.path.relative_to(tmp_path)) for file in find_files(tmp_path)]
    assert names == ["a.parquet", "b.parquet", "march/c.parquet"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"must hold .parquet files; .* has none"):
        find_files(tmp_path / "empty")
