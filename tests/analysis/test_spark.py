"""The Spark engine: what the local engine says, it says too, whatever happens to its workers."""

from __future__ import annotations

import datetime
import functools
import json
import math
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.needs import needs

needs("java")

from pyspark import SparkContext  # noqa: E402
from pyspark.sql import SparkSession, functions  # noqa: E402

from rumor.analysis.counting import summarize  # noqa: E402
from rumor.analysis.engines.base import Engine, Fold  # noqa: E402
from rumor.analysis.engines.local import LocalEngine  # noqa: E402
from rumor.analysis.engines.spark import engine as spark  # noqa: E402
from rumor.analysis.engines.spark import launch  # noqa: E402
from rumor.analysis.engines.spark.engine import SparkEngine  # noqa: E402
from rumor.analysis.engines.spark.frame import FrameSource  # noqa: E402
from rumor.analysis.engines.spark.job import Done, Status, Watch, run  # noqa: E402
from rumor.analysis.engines.spark.session import require_java, spark_error  # noqa: E402
from rumor.analysis.estimate import Analysis, analyse  # noqa: E402
from rumor.analysis.sources import MemorySource  # noqa: E402
from rumor.cli import main  # noqa: E402
from rumor.collector.backup import export_collection  # noqa: E402
from rumor.collector.store.base import open_store  # noqa: E402
from rumor.contract import report_file as reportfile  # noqa: E402
from rumor.contract.collection import Collection, Question  # noqa: E402
from rumor.core.errors import InputError  # noqa: E402
from rumor.core.randomness import Seeded  # noqa: E402
from rumor.core.reports import Reports  # noqa: E402
from rumor.kinds.estimating import estimate  # noqa: E402
from rumor.mechanisms import REGISTRY, Mechanism  # noqa: E402
from tests import spark_tools  # noqa: E402
from tests.collector.tools import batch  # noqa: E402
from tests.collector.tools import collection as stored_collection  # noqa: E402
from tests.joins.axes import Cell, World  # noqa: E402
from tests.joins.checking import check  # noqa: E402
from tests.joins.look import Look  # noqa: E402
from tests.joins.worlds import Worlds  # noqa: E402
from tests.spark_tools import OneSpark, executors, slow_source  # noqa: E402

LOCAL = "local[2]"
WORDS = ["tea", "coffee", "maté"]
TOML = """
name = "Everything"
series = "everything"
contact = "privacy@example.org"

[[questions]]
id = "one"
kind = "choice"
domain = 20
epsilon = 2.0
mechanism = "randomized-response"

[[questions]]
id = "bits"
kind = "choice"
domain = 40
epsilon = 2.0
mechanism = "unary"

[[questions]]
id = "narrow"
kind = "choice"
domain = 12
epsilon = 2.0
mechanism = "unary"

[[questions]]
id = "subset"
kind = "choice"
domain = 40
epsilon = 2.0
mechanism = "subset-selection"

[[questions]]
id = "hash"
kind = "choice"
domain = 60
epsilon = 2.0
mechanism = "local-hashing"

[[questions]]
id = "word"
kind = "text"
epsilon = 4
cohorts = 8

[[questions]]
id = "minutes"
kind = "number"
low = 0
high = 90
epsilon = 1.0

[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["Maps", "Mail", "Camera"]
low = 0
high = 10
epsilon = 2.0
"""


@functools.cache
def everything() -> Collection:
    return Collection.from_toml(TOML)


@pytest.fixture(scope="module")
def one_spark() -> Iterator[OneSpark]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in spark_tools.ENVIRONMENT.items():
            patch.setenv(name, value)
        holder = OneSpark()
        yield holder
        holder.stop()


@pytest.fixture
def engine(one_spark: OneSpark) -> SparkEngine:
    return one_spark.engine(LOCAL)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small row groups, so that small files have several parts."""
    monkeypatch.setattr(reportfile, "_MAX_GROUP_ROWS", 2048)


@pytest.fixture
def _many_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task for every part, however few its reports."""
    monkeypatch.setattr(spark, "_TASK_ROWS", 1)


def answers_to(question: Question, count: int, seed: int) -> object:
    """Values that some hold more often than others."""
    chance = np.random.default_rng(seed)
    if question.kind == "text":
        return chance.choice(WORDS, count, p=[0.6, 0.3, 0.1]).tolist()
    if question.kind == "number":
        return chance.uniform(10, 60, count)
    if question.kind == "keyvalue":
        table = chance.uniform(0, 10, (count, 3))
        table[chance.random((count, 3)) < [0.2, 0.5, 0.9]] = np.nan
        return table
    return chance.geometric(0.3, count) % len(question.mechanism.inputs())


def written(folder: Path, id: str, count: int = 5000, days: int = 2) -> Path:
    """A file for each day, with countries; some of them are not known."""
    question = everything().question(id)
    place = folder / id
    place.mkdir()
    strata = pa.schema([("country", pa.string())])
    for day in range(days):
        reports = question.mechanism.without_labels().privatize(
            answers_to(question, count, day), random=Seeded(day)
        )
        countries = pa.array([["DE", "FR", None][i % 3] for i in range(count)])
        with reportfile.write_reports(
            place / f"{day}.parquet", everything(), question, strata=strata, random=Seeded(day)
        ) as writer:
            writer.write(reports, datetime.date(2026, 1, 1 + day), {"country": countries})
    return place


def both(engine: SparkEngine, path: Path, **options: object) -> tuple[Analysis, Analysis]:
    """The same analysis on Spark and on threads."""
    engines: list[Engine] = [engine, LocalEngine(2)]
    found = [
        analyse(everything(), path, engine=which, **options)  # type: ignore[arg-type]
        for which in engines
    ]
    return found[0], found[1]


def assert_alike(ours: object, theirs: object) -> None:
    """The same data; numbers to 1e-9."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_alike(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)) and isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_alike(one, other)
    elif isinstance(theirs, float) and isinstance(ours, float):
        assert math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9) or ours is theirs
    else:
        assert ours == theirs


def valid_reports(mechanism: Mechanism, count: int) -> Reports:
    """Any valid reports: counting does not care how likely they are."""
    every = np.concatenate([mechanism.outputs(public) for public in mechanism.publics()])
    return every[np.random.default_rng(3).integers(0, len(every), count)]


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_every_mechanism_is_counted_alike(engine: SparkEngine, kind: type[Mechanism]) -> None:
    mechanism = kind.examples()[0]
    source = MemorySource(valid_reports(mechanism, 3000))
    ours = summarize(source, mechanism, engine=engine)
    theirs = summarize(source, mechanism, engine=LocalEngine(1))
    assert ours.summaries[None].reports == 3000
    assert ours.summaries[None].to_bytes() == theirs.summaries[None].to_bytes()


@pytest.mark.parametrize("by", [None, "country", "day"])
def test_strata_and_windows(engine: SparkEngine, tmp_path: Path, by: str | None) -> None:
    path = written(tmp_path, "bits", days=3)
    window = (datetime.date(2026, 1, 2), None)
    for chosen in ((None, None), window):
        ours, theirs = both(engine, path, by=by, window=chosen, method="projection")
        assert ours.totals == theirs.totals  # to the last byte
        assert ours.reports == (15_000 if chosen is not window else 10_000)
        assert ours.to_dict() == theirs.to_dict()


@pytest.mark.parametrize(
    ("id", "method", "options"),
    [
        ("one", "bayes", {}),
        ("bits", "bayes", {}),
        ("bits", "em", {"max_iterations": 4}),
        pytest.param(
            "bits", "em", {"max_iterations": 2, "likelihood": "probability"}, marks=pytest.mark.slow
        ),
        pytest.param(
            "bits", "em", {"max_iterations": 2, "likelihood": "scaled"}, marks=pytest.mark.slow
        ),
        pytest.param("narrow", "bayes", {}, marks=pytest.mark.slow),
        ("subset", "bayes", {}),
        ("subset", "refined", {}),
        ("hash", "em", {"max_iterations": 2}),
    ],
)
def test_passes_over_reports_estimate_alike(
    engine: SparkEngine, tmp_path: Path, id: str, method: str, options: dict[str, object]
) -> None:
    path = written(tmp_path, id)
    ours, theirs = both(engine, path, method=method, options=options)
    assert_alike(ours.to_dict(), theirs.to_dict())
    # And as from reports in memory, with no engine at all.
    table = pa.concat_tables([pq.read_table(file) for file in sorted(path.glob("*.parquet"))])
    reports = reportfile.report_bytes(table.column("report").combine_chunks())
    alone = estimate(everything().question(id).mechanism, reports, method=method, **options)  # type: ignore[call-overload]
    np.testing.assert_allclose(ours.estimates[None].frequency, alone.frequency, atol=1e-9)
    assert np.ptp(alone.frequency) > 0.01


def test_passes_go_stratum_by_stratum(engine: SparkEngine, tmp_path: Path) -> None:
    options = {"max_iterations": 2}
    path = written(tmp_path, "bits")
    ours, theirs = both(engine, path, method="em", by="country", options=options)
    assert list(ours.estimates) == ["DE", "FR", None]
    assert_alike(ours.to_dict(), theirs.to_dict())


@pytest.mark.parametrize("id", ["word", "minutes", "apps"])
def test_words_means_and_pairs(
    engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, id: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    listed = tmp_path / "words.txt"
    listed.write_text("\n".join([*WORDS, "water", "wine"]), encoding="utf-8")
    candidates = listed if id == "word" else None
    ours, theirs = both(engine, written(tmp_path, id), by="country", candidates=candidates)
    assert ours.totals == theirs.totals
    assert_alike(ours.to_dict(), theirs.to_dict())
    if id == "word":
        columns = ours.columns()
        found = {v for v, s in zip(columns["value"], columns["stratum"], strict=True) if s == "DE"}
        assert {"tea", "coffee"} <= found


def spoil(path: Path, step: int) -> None:
    """Make every so many reports of a file invalid."""
    table = pq.read_table(path)
    reports = np.array(reportfile.report_bytes(table.column("report").combine_chunks()))
    reports[::step] = 255
    column = table.schema.get_field_index("report")
    table = table.set_column(column, table.schema.field("report"), reportfile.fixed_binary(reports))
    pq.write_table(table, path, row_group_size=2048)


def test_invalid_reports_are_refused_with_the_same_words(
    engine: SparkEngine, tmp_path: Path
) -> None:
    path = written(tmp_path, "one")
    spoil(path / "1.parquet", 10)
    sentences = []
    for which in (engine, LocalEngine(2)):
        with pytest.raises(InputError, match=r"1.parquet: every report must be valid") as refused:
            analyse(everything(), path, engine=which)
        sentences.append(str(refused.value))
    assert sentences[0] == sentences[1]


@pytest.mark.parametrize("method", ["auto", "em"])
def test_invalid_reports_are_left_out_and_counted(
    engine: SparkEngine, tmp_path: Path, method: str
) -> None:
    path = written(tmp_path, "subset")
    spoil(path / "1.parquet", 10)
    options = {"max_iterations": 2} if method == "em" else {}
    ours, theirs = both(engine, path, method=method, skip_invalid=True, options=options)
    assert ours.totals == theirs.totals
    assert (ours.reports, ours.totals.skipped) == (9500, 500)
    assert_alike(ours.to_dict(), theirs.to_dict())


@pytest.mark.usefixtures("_many_tasks")
def test_cells_of_the_matrix_of_joins(
    engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two cells of tests/joins, all of whose cells with Spark run in `make soak`."""
    monkeypatch.setattr(launch, "open_engine", lambda master, on_status: nullcontext(engine))
    worlds = Worlds(tmp_path, str)
    for kind, look in (
        ("choice", Look("estimate", "groups", "window", "repeated")),
        ("number", Look("trend", trouble="invalid")),
    ):
        world = World(kind, "plain", "spark", "direct", "python")
        check(Cell(look, world), worlds, tmp_path / "out")
    worlds.close()


@pytest.mark.usefixtures("_many_tasks")
def test_a_refusal_stops_the_rest(engine: SparkEngine, tmp_path: Path) -> None:
    mechanism = everything().question("one").mechanism
    reports = valid_reports(mechanism, 400)
    source = slow_source(tmp_path / "marks", reports, count=40, seconds=0.5, bad=3)
    with pytest.raises(InputError, match="every report must be valid"):
        summarize(source, mechanism, engine=engine)
    assert len(list((tmp_path / "marks").iterdir())) < 40


@pytest.mark.parametrize("by", [None, "day"])
def test_reports_of_the_same_id_count_once(
    engine: SparkEngine, tmp_path: Path, by: str | None
) -> None:
    path = written(tmp_path, "bits", days=2)
    table = pq.read_table(path / "0.parquet")
    again = pa.concat_tables([table.slice(100, 1500), table.slice(4000, 300)])
    pq.write_table(again, path / "2.parquet", row_group_size=512)
    ours, theirs = both(engine, path, by=by, distinct_ids=True, method="projection")
    assert (ours.reports, ours.repeated) == (10_000, 1800)
    assert ours.totals == theirs.totals
    assert ours.to_dict() == theirs.to_dict()
    (path / "2.parquet").unlink()
    once = analyse(everything(), path, by=by, method="projection")
    assert ours.totals == once.totals


def test_the_first_of_equal_ids_counts_within_the_window(
    engine: SparkEngine, tmp_path: Path
) -> None:
    path = written(tmp_path, "one", count=300)
    first, second = (pq.read_table(path / f"{day}.parquet") for day in (0, 1))
    ids = second.set_column(0, second.schema.field("id"), first.column("id"))
    pq.write_table(ids, path / "1.parquet")
    for window, kept in (((None, None), 0), ((datetime.date(2026, 1, 2), None), 1)):
        ours, theirs = both(engine, path, window=window, distinct_ids=True, method="clip")
        (path / "kept").mkdir(exist_ok=True)
        pq.write_table((first, ids)[kept], path / "kept" / "r.parquet")
        alone = analyse(everything(), path / "kept")
        (path / "kept" / "r.parquet").unlink()
        assert ours.totals == theirs.totals == alone.totals
        assert ours.repeated == (0 if kept else 300)


def test_a_dataframe_counts_like_its_files(engine: SparkEngine, tmp_path: Path) -> None:
    path = written(tmp_path, "bits")
    session = SparkSession(engine.context)
    # Planning takes longer than these few rows.
    session.conf.set("spark.sql.shuffle.partitions", 1)
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    frame = session.read.parquet(str(path))
    window = (datetime.date(2026, 1, 2), datetime.date(2026, 1, 2))
    source = FrameSource(frame, everything(), "bits", by="country", window=window)
    ours = analyse(everything(), source, engine=engine)
    theirs = analyse(everything(), path, by="country", window=window)
    assert ours.totals == theirs.totals
    for stratum, found in theirs.estimates.items():
        np.testing.assert_allclose(ours.estimates[stratum].frequency, found.frequency, atol=1e-9)
    twice = FrameSource(frame.union(frame), everything(), "bits", distinct_ids=True)
    once = analyse(everything(), path)
    assert analyse(everything(), twice, engine=engine).totals == once.totals


@pytest.mark.slow
def test_a_dataframe_goes_through_its_reports_again(engine: SparkEngine, tmp_path: Path) -> None:
    path, options = written(tmp_path, "bits"), {"max_iterations": 1}
    frame = SparkSession(engine.context).read.parquet(str(path))
    source = FrameSource(frame, everything(), "bits", by="country")
    ours = analyse(everything(), source, engine=engine, method="em", options=options)
    theirs = analyse(everything(), path, by="country", method="em", options=options)
    for stratum, found in theirs.estimates.items():
        np.testing.assert_allclose(ours.estimates[stratum].frequency, found.frequency, atol=1e-9)


@pytest.mark.slow
def test_a_dataframe_of_another_question_is_refused(engine: SparkEngine, tmp_path: Path) -> None:
    """Reports of the same width say nothing of what they answer."""
    session = SparkSession(engine.context)
    frame = session.read.parquet(str(written(tmp_path, "bits")))
    others = {
        "contract": frame.withColumn("contract", functions.lit("0" * 64)),
        "nothing": frame.withColumn("question", functions.lit(None).cast("string")),
        "one": frame.limit(1).withColumn("question", functions.lit("others")).union(frame),
    }
    rule = "must hold reports of this collection's question 'bits' alone"
    for name in ("contract", "one"):
        with pytest.raises(InputError, match=rule):
            analyse(everything(), FrameSource(others[name], everything(), "bits"), engine=engine)
    for name in ("nothing", "one"):  # of "one", a right row has the same id
        twice = FrameSource(others[name], everything(), "bits", distinct_ids=True)
        with pytest.raises(InputError, match=rule):
            analyse(everything(), twice, engine=engine)


def test_a_dataframe_must_hold_reports(engine: SparkEngine, tmp_path: Path) -> None:
    session = SparkSession(engine.context)
    bare = session.createDataFrame([(b"123", 0.5), (b"12345", 1.0)], "report binary, share double")
    with pytest.raises(InputError, match=r"must say what they answer, in the columns contract "):
        FrameSource(bare, everything(), "bits")
    frame = bare.selectExpr("*", f"'{everything().digest}' AS contract", "'bits' AS question")
    with pytest.raises(InputError, match="must hold 5 bytes in each row; got 3 bytes"):
        analyse(everything(), FrameSource(frame, everything(), "bits"), engine=engine)
    with pytest.raises(InputError, match=r"must have the column 'id'; got \['report', 'share', "):
        FrameSource(frame, everything(), "bits", distinct_ids=True)
    with pytest.raises(InputError, match=r"'share' must hold texts, integers, .*; got double"):
        FrameSource(frame, everything(), "bits", by="share")
    with pytest.raises(InputError, match="is for the Spark engine; got another engine"):
        analyse(everything(), FrameSource(frame, everything(), "bits"))
    with pytest.raises(InputError, match="groups, days and ids are chosen where a source is made"):
        analyse(everything(), FrameSource(frame, everything(), "bits"), by="day")


@pytest.mark.slow
@pytest.mark.usefixtures("_many_tasks")
def test_many_tasks_are_merged_on_workers_in_order(
    engine: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_MERGED", 3)
    path = written(tmp_path, "subset")
    ours, theirs = both(engine, path, by="country", method="projection")
    assert ours.totals == theirs.totals
    spoil(path / "0.parquet", 100)
    with pytest.raises(InputError, match=r"0.parquet: every report must be valid"):
        analyse(everything(), path, engine=engine)


@pytest.mark.slow
@pytest.mark.usefixtures("_many_tasks")
def test_progress_grows_and_ends_at_everything(engine: SparkEngine, tmp_path: Path) -> None:
    mechanism = everything().question("one").mechanism
    source = slow_source(tmp_path / "marks", valid_reports(mechanism, 800), 8, 0.25)
    seen: list[tuple[int, int]] = []
    told: list[Status] = []
    watched = SparkEngine(engine.context, on_status=told.append)
    summarize(
        source, mechanism, engine=watched, on_progress=lambda done, all: seen.append((done, all))
    )
    assert seen == sorted(seen)
    assert seen[-1] == (800, 800)
    assert len(seen) > 2
    assert [status.reports for status in told] == [done for done, _ in seen]
    last = told[-1]
    assert (last.stages, last.tasks, last.tasks_done, last.tasks_failed) == (1, 8, 8, 0)
    assert last.bytes_read == 800 * mechanism.width
    assert any(status.tasks_running for status in told)
    status = Status(2, 10, 3, 2, 1, 2_500_000, 9_000_000, 40_000_000, 2.0)
    assert str(status) == "2 stages, 3/10 tasks (1 failed), 1.25 M reports/s, 40 MB"


def test_a_failing_worker_is_one_sentence(engine: SparkEngine) -> None:
    source = MemorySource(np.zeros((10, 1), dtype=np.uint8))
    with pytest.raises(InputError) as broken:
        engine.fold(source, Fold(spark_tools.break_down, None, spark_tools.add, 0))
    assert str(broken.value) == (
        "Spark could not finish the work: ZeroDivisionError: no reports, no shares"
    )
    with pytest.raises(InputError) as refused:
        engine.fold(source, Fold(spark_tools.refuse, "x", spark_tools.add, 0))
    assert str(refused.value) == "a state must be a colour; got 'x'"
    with pytest.raises(InputError, match="ZeroDivisionError"):
        engine.regroup([1], lambda part, buckets: [b"1"], lambda pieces: 1 // 0, 1)
    # And the next job is none the worse for it.
    total = engine.fold(source, Fold(spark_tools.count_rows, 3, spark_tools.add, 0))
    assert total == 30


def test_workers_must_have_the_same_rumor(
    engine: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = functools.partial(spark.SentFold, version="0.0.1")
    monkeypatch.setattr(spark, "SentFold", old)
    source = MemorySource(np.zeros((10, 1), dtype=np.uint8))
    with pytest.raises(InputError, match=r"have the Rumor of this process, 0.0.1; got \d"):
        engine.fold(source, Fold(spark_tools.count_rows, 1, spark_tools.add, 0))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("java.lang.IllegalStateException: Cannot call methods on a stopped SparkContext.\n at x",
         "the cluster cannot be reached, or it has ended the work"),
        ("org.apache.spark.SparkException: Job aborted: no space\n\tat org.apache.spark.x",
         "Job aborted: no space"),
        ("x\nTraceback (most recent call last):\n  File 'a'\nOSError: disk\n\n\tat org.apache",
         "OSError: disk"),
        ("", "no reason was given"),
    ],
)  # fmt: skip
def test_failures_are_told_without_traces(said: str, told: str) -> None:
    assert str(spark_error(RuntimeError(said))) == f"Spark could not finish the work: {told}"


def test_nothing_is_counted_of_nothing(engine: SparkEngine) -> None:
    source = MemorySource(np.zeros((0, 1), dtype=np.uint8))
    assert not summarize(source, everything().question("one").mechanism, engine=engine).summaries
    assert engine.regroup([], lambda part, buckets: [], len, 2) == [0, 0]


def test_files_must_be_where_workers_are(engine: SparkEngine, tmp_path: Path) -> None:
    path = written(tmp_path, "one", count=10)
    from rumor.analysis.sources import ParquetSource

    source = ParquetSource(path, everything())
    parts = source.parts()
    (path / "1.parquet").unlink()
    source.parts = lambda: parts  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"1.parquet: a reports file must stay where every worker"):
        summarize(source, source.question.mechanism, engine=engine)


def test_an_engine_needs_a_session() -> None:
    with pytest.raises(InputError, match="needs a SparkSession with a SparkContext; got 'local'"):
        SparkEngine("local")


def test_java_is_asked_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match="needs Java 17 or newer; none is on the path and JAVA_H"):
        require_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=f"needs Java 17 or newer; JAVA_HOME is '{tmp_path}'"):
        require_java()


def test_pyspark_is_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "one", count=10)
    (tmp_path / "c.toml").write_text(TOML)
    script = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from rumor.cli import main\n"
        f"sys.exit(main(['estimate', {str(tmp_path / 'c.toml')!r}, {str(path)!r}, "
        "'--engine', 'spark']))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "rumor: the Spark engine needs PySpark (pip install 'rumor[spark]'); it is not installed\n"
    )


@pytest.mark.slow
def test_the_command_on_an_exported_folder(
    one_spark: OneSpark, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """One flag is all that changes, nothing of Spark is printed, and nothing of it stays."""
    one_spark.stop()
    before = {name: os.environ.get(name) for name in ("SPARK_LOCAL_IP", "PYSPARK_PYTHON")}
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(stored_collection())
    store.write([batch(entry, "colour", [0] * 60 + [1] * 30), batch(entry, "many", [3] * 50)])
    export_collection(store, entry.collection.digest, tmp_path / "out")
    store.close()
    command = ["estimate", str(tmp_path / "out" / "contract.json"), str(tmp_path / "out")]
    command += ["--question", "many", "--method", "bayes", "--distinct-ids", "--json"]
    printed = []
    for more in ([], ["--engine", "spark", "--master", LOCAL]):
        assert main([*command, *more]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        printed.append(json.loads(out))
    assert printed[0]["reports"] == 50
    assert printed[0]["repeated"] == 0
    assert_alike(printed[1], printed[0])
    assert before == {name: os.environ.get(name) for name in before}
    assert SparkContext._active_spark_context is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            ["--engine", "spark", "--master", "moon://base"],
            "with master 'moon://base': ",
        ),
        (["--master", LOCAL], "a master is for the Spark engine; got 'local[2]' for local"),
    ],
)
def test_a_wrong_master_is_one_sentence(
    one_spark: OneSpark,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    more: list[str],
    words: str,
) -> None:
    one_spark.stop()
    path = written(tmp_path, "one", count=10)
    (tmp_path / "c.toml").write_text(TOML)
    assert main(["estimate", str(tmp_path / "c.toml"), str(path), *more]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1
    assert "Exception" not in err
    assert main(["estimate", str(tmp_path / "c.toml"), "nowhere", "--engine", "spark"]) == 2
    assert capfd.readouterr().err == "rumor: a reports file must exist; got 'nowhere'\n"


@pytest.mark.slow
@pytest.mark.usefixtures("_many_tasks")
def test_a_killed_executor_loses_nothing(one_spark: OneSpark, tmp_path: Path) -> None:
    """Two executors, one of which is killed amid the first pass over kept reports."""
    engine = one_spark.engine("local-cluster[2,1,1024]")
    question = everything().question("bits")
    reports = question.mechanism.without_labels().privatize(
        answers_to(question, 6000, 1), random=Seeded(1)
    )
    marks = tmp_path / "marks"
    source = slow_source(marks, reports, count=12, seconds=0.4)
    killed: list[int] = []

    def kill() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            # Both executors are at work, and most parts are still to come.
            if len({mark.name.split("-")[1] for mark in marks.iterdir()}) >= 2:
                victim = executors()[0]
                victim.kill()
                killed.append(victim.pid)
                return
            time.sleep(0.05)

    theirs = summarize(MemorySource(reports), question.mechanism)
    with engine.keep(source, spark_tools.unchanged) as kept:
        killer = threading.Thread(target=kill)
        killer.start()
        assert summarize(kept, question.mechanism, engine=engine) == theirs
        killer.join()
        # It was killed amid its work: another one read its parts again.
        assert killed
        assert len(list(marks.iterdir())) > 12
        # What it had kept is lost with it, and not missed.
        assert summarize(kept, question.mechanism, engine=engine) == theirs
    assert killed[0] not in {process.pid for process in executors()}


@pytest.mark.parametrize("failed", [0, 2])
def test_a_status_in_words(failed: int) -> None:
    told = f"1 stage, 3/4 tasks{' (2 failed)' if failed else ''}, 0 reports/s, 999B"
    assert str(Status(1, 4, 3, 1, failed, 5, 9, 999, 0.0)) == told


def test_a_job_that_ends_before_anybody_looks_is_told_of_once(engine: SparkEngine) -> None:
    """Its last status comes after its end, whatever was seen on the way."""
    watch, told = Watch(engine.context, 30), list[Status]()

    def work() -> int:
        watch.progress.add([Done(watch.job, 0, 30, 120)])
        return 7

    assert run(engine.context, "quick", work, watch, told.append) == 7
    (last,) = told
    assert (last.reports, last.all_reports, last.bytes_read, last.tasks) == (30, 30, 120, 0)
