"""Folders of parts: runs that are stopped and resumed make each answer into one report."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import shutil
import stat
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

import rumor
from rumor.cli import main
from rumor.cli.app import app
from rumor.cli.common import amount_done
from rumor.contract import report_parts, table_reports
from rumor.contract.collection import Collection
from rumor.contract.person_rows import People
from rumor.contract.report_file import find_files
from rumor.core import table_files
from rumor.core.answer_table import AnswerTable
from rumor.core.files import held_alone

ROWS, PART = 20_000, 3_000
DAY = "2026-03-02"
# With an epsilon of 30 a report is the answer itself, but for one in 10^8.
CODE = """
[[questions]]
id = "code"
kind = "choice"
domain = 20000
epsilon = 30
mechanism = "randomized-response"
reports_per_person = 3
"""
HEAD = 'name = "App"\nseries = "app"\ncontact = "nobody"\n'
ASKED = HEAD + "ask = {questions = 1}\n" + CODE + CODE.replace('"code"', '"other"')
PRIVATIZE: Any = get_command(app).commands["privatize"]  # type: ignore[attr-defined]
Outputs = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table in which every person has another answer, read in small batches."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_files, "_BLOCK_BYTES", 10_000)
    monkeypatch.setattr(report_parts, "group_rows", lambda width: PART)
    Path("c.toml").write_text(HEAD + CODE)
    Path("asked.toml").write_text(ASKED)
    lines = [f"u{i},{i},{i},{('DE', 'FR')[i % 2]}" for i in range(ROWS)]
    text = "user,code,other,country\n" + "\n".join(lines) + "\n"
    Path("t.csv").write_text(text)
    Path("t.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def stop_at(reports: int) -> Callable[[int, int | None, str], None]:
    """Return a progress function that presses Ctrl-C when so many reports are made."""

    def update(done: int, total: int | None, note: str) -> None:
        if not note and done >= reports:
            raise KeyboardInterrupt

    return update


def stopped(reports: int, *given: Any, **options: Any) -> str:
    """Run until Ctrl-C; return what it says."""
    with pytest.raises(KeyboardInterrupt) as raised:
        rumor.privatize(*given, **options, on_progress=stop_at(reports))
    return str(raised.value)


def reports(folder: str) -> pa.Table:
    return pa.concat_tables(
        [pq.read_table(file) for file in sorted(Path(folder).glob("*.parquet"))]
    )


def codes(folder: str) -> list[int]:
    """Return the answers that the reports give away, sorted."""
    column = reports(folder).column("report").to_pylist()
    return sorted(int.from_bytes(report, "little") for report in column)


def bytes_of(folder: str) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes() for file in Path(folder).rglob("*.parquet")
    }


WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "every row a person": ("c.toml", "t.csv", {}),
    "packed": ("c.toml", "t.csv.gz", {}),
    "people": ("c.toml", "t.csv", {"person": "user", "keep": ["country"]}),
    "some questions": ("asked.toml", "t.csv", {}),
    "some questions of people": ("asked.toml", "t.csv", {"person": "user"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_stopped_twice_makes_the_same_reports(way: str) -> None:
    contract, table, options = WAYS[way]
    given = {**options, "day": DAY}
    whole = rumor.privatize(contract, table, "whole/", random=rumor.Seeded(5), **given)
    assert whole.reports == ROWS
    assert len(bytes_of("whole")) >= ROWS // PART
    first = stopped(7_000, contract, table, "r/", random=rumor.Seeded(5), **given)
    assert "reports are in 'r'; the same command with --resume makes the others" in first
    stopped(15_000, contract, table, "r/", random=rumor.Seeded(5), resume=True, **given)
    some = bytes_of("r")
    made = rumor.privatize(contract, table, "r/", random=rumor.Seeded(5), resume=True, **given)
    assert made.reports == ROWS
    assert {name: one.reports for name, one in made.questions.items()} == {
        name: one.reports for name, one in whole.questions.items()
    }
    assert len(some) < len(bytes_of("r"))
    assert bytes_of("r") == bytes_of("whole")


@pytest.mark.parametrize("way", WAYS)
def test_no_person_and_no_id_is_there_twice(way: str) -> None:
    contract, table, options = WAYS[way]
    given = {**options, "day": DAY}
    stopped(7_000, contract, table, "r/", **given)
    stopped(15_000, contract, table, "r/", resume=True, **given)
    made = rumor.privatize(contract, table, "r/", resume=True, **given)
    assert made.reports == ROWS
    found = [code for folder in made.files.values() for code in codes(str(folder))]
    assert sorted(found) == list(range(ROWS))
    ids = [id for folder in made.files.values() for id in reports(str(folder))["id"].to_pylist()]
    assert len(set(ids)) == ROWS
    if "person" in options:
        assert made.people is not None
        assert made.people.epsilon == made.people.epsilon_series == pytest.approx(30)
        ledger = pq.read_table("app.people")
        assert (sum(sum(ledger[name].to_pylist()) for name in ledger.schema.names[1:])) == ROWS
    left = {file.name for file in Path("r").iterdir()} - set(made.questions)
    assert {name for name in left if name.startswith(("_", "."))} == {"_run.json", "_run.lock"}


def test_parts_are_those_of_the_limit_and_are_shuffled() -> None:
    made = rumor.privatize("c.toml", "t.csv", "r/")
    assert made.files == {"code": Path("r")}
    files = find_files("r")
    for number, file in enumerate(files):
        assert file.path.name == f"part-{number:05}.parquet"
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        ids = pq.read_table(file.path)["id"].to_pylist()
        assert len(ids) >= PART or number == len(files) - 1
        group = file.footer.row_group(0).num_rows
        # The eight bytes that decide the order are numbers of this machine.
        order = [int.from_bytes(id[:8], "little") for id in ids[:group]]
        assert order == sorted(order)


def test_a_rule_for_missing_answers_holds_across_parts() -> None:
    text = Path("t.csv").read_text().replace(",7,7,", ",,,").replace(",19999,19999,", ",,,")
    Path("t.csv").write_text(text)
    stopped(9_000, "c.toml", "t.csv", "r/", missing="drop")
    made = rumor.privatize("c.toml", "t.csv", "r/", missing="drop", resume=True)
    assert (made.reports, made.questions["code"].missing.affected_rows) == (ROWS - 2, 2)
    assert codes("r") == [code for code in range(ROWS) if code not in (7, 19_999)]


def test_an_earlier_file_of_the_series_counts_once() -> None:
    rumor.privatize("c.toml", "t.csv", "1.parquet", person="user", keep=["country"])
    given: dict[str, Any] = {"person": rumor.PersonRule("user", cap=2)}
    Path("t.csv").write_text(Path("t.csv").read_text() + "u0,1,1,DE\n")
    said = stopped(7_000, "c.toml", "t.csv", "r/", **given)
    assert said.endswith("until then people are charged the most that they can spend")
    spent = Counter(pq.read_table("app.people").column(1).to_pylist())
    assert spent == {3: ROWS}  # two more each, as far as anybody knows
    # Another file meanwhile: it finds nobody who may still answer.
    with pytest.raises(rumor.InputError, match="a report needs a person who may still answer"):
        rumor.privatize("c.toml", "t.csv", "2.parquet", person="user")
    made = rumor.privatize("c.toml", "t.csv", "r/", resume=True, **given)
    assert made.reports == ROWS + 1
    assert made.people is not None
    assert (made.people.epsilon, made.people.epsilon_series) == pytest.approx((60, 90))
    spent = Counter(pq.read_table("app.people").column(1).to_pylist())
    assert spent == {2: ROWS - 1, 3: 1}


def test_a_run_that_is_stopped_before_its_first_part_leaves_nothing() -> None:
    rumor.privatize("c.toml", "t.csv", "1.parquet", person="user")
    before = pq.read_table("app.people")
    said = stopped(1_000, "c.toml", "t.csv", "r/", person="user")
    assert said == "no reports were written, and nobody is charged in the ledger"
    assert not Path("r").exists()
    assert pq.read_table("app.people").equals(before, check_metadata=True)


def test_a_wrong_answer_in_a_late_row_leaves_nothing() -> None:
    Path("t.csv").write_text(Path("t.csv").read_text().replace(",19990,19990,", ",20000,1,"))
    Path("r").mkdir()
    with pytest.raises(rumor.InputError, match=r"t\.csv, column 'code', row 19,991: "):
        rumor.privatize("c.toml", "t.csv", "r/", person="user")
    assert list(Path("r").iterdir()) == []
    assert sum(pq.read_table("app.people").column(1).to_pylist()) == 0


OTHERS: dict[str, dict[str, Any]] = {
    "the table": {"table": "other.csv"},
    "the collection": {"collection": "two.toml"},
    "--question": {"question": "other"},
    "--keep": {"keep": ["country"]},
    "--weight-column": {"weight": "other"},
    "--randomised": {"randomised": True},
    "--ledger": {"ledger": "elsewhere.people"},
    "--mark": {"mark": ";"},
    "--day": {"day": "2026-03-03"},
    "--missing": {"missing": "drop"},
    "--seed": {"random": rumor.Seeded(1)},
    "--person": {"person": rumor.PersonRule("user", each="last")},
    "--column": {"columns": {"code": "other"}},
}


def test_only_the_same_run_is_resumed() -> None:
    text = Path("t.csv").read_text()
    Path("other.csv").write_text(text.replace("u1,1,1,FR\n", "u1,1,1,FR\nu1,1,1,FR\n"))
    two = HEAD + CODE + CODE.replace('"code"', '"other"')
    Path("both.toml").write_text(two)
    Path("two.toml").write_text(two.replace("App", "Application"))
    given: dict[str, Any] = {
        "collection": "both.toml",
        "question": "code",
        "table": "t.csv",
        "out": "r/",
        "day": DAY,
        "person": "user",
    }
    stopped(7_000, **given)
    # Every input of the record has a case here, in the name that the command line gives it.
    inputs = json.loads(Path("r/_run.json").read_text())["inputs"]
    assert set(inputs) == set(OTHERS)
    options = {name for one in PRIVATIZE.params for name in one.opts}
    assert {name for name in inputs if name.startswith("--")} <= options
    before = bytes_of("r")
    for name, other in OTHERS.items():
        wanted = f"the same table, .*; {name} is not that of the run that was stopped in 'r'"
        with pytest.raises(rumor.InputError, match=wanted):
            rumor.privatize(**{**given, **other}, resume=True)
    assert bytes_of("r") == before
    rumor.privatize(**given, resume=True)
    assert codes("r") == list(range(ROWS))


def test_a_folder_is_never_written_over(capsys: Outputs) -> None:
    line = ["privatize", "c.toml", "t.csv", "-o", "r/"]
    assert main(line) == 0
    assert "20,000 reports of 2 bytes each to 'r' (question 'code'" in capsys.readouterr().out
    before = bytes_of("r")
    Path("some").mkdir()
    Path("some/notes.txt").write_text("mine")
    for more, sentence in (
        ([], "'r' has reports (--resume goes on with a run that was stopped)"),
        (["--resume"], "the reports in 'r' are complete (20,000): nothing is left to make"),
        (["--replace"], "--replace writes over a file; a folder of reports is removed by hand"),
        (["-o", "some"], "'some' has other files"),
        (["-o", "r.parquet", "--resume"], "--resume goes on with a folder of parts"),
        (["-o", "out.csv"], "--out must be a .parquet file, or a folder for several (reports/)"),
    ):
        assert main([*line, *more]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
    assert bytes_of("r") == before
    assert [file.name for file in Path("some").iterdir()] == ["notes.txt"]
    (Path("r") / "_run.json").write_text("{}")
    assert main([*line, "--resume"]) == 2
    assert "this one is damaged or of another version" in capsys.readouterr().err


def test_one_run_at_a_time_writes_to_a_folder() -> None:
    stopped(7_000, "c.toml", "t.csv", "r/", day=DAY)
    refused = pytest.raises(rumor.InputError, match="another run writes to this folder")
    with held_alone(Path("r/_run.lock")), refused:
        rumor.privatize("c.toml", "t.csv", "r/", day=DAY, resume=True)
    rumor.privatize("c.toml", "t.csv", "r/", day=DAY, resume=True)
    assert codes("r") == list(range(ROWS))


def test_parts_may_be_taken_away_before_the_run_goes_on() -> None:
    stopped(7_000, "c.toml", "t.csv", "r/", day=DAY)
    shutil.move("r/part-00000.parquet", "warehouse.parquet")
    made = rumor.privatize("c.toml", "t.csv", "r/", day=DAY, resume=True)
    assert made.reports == ROWS
    shutil.move("warehouse.parquet", "r/part-00000.parquet")
    assert codes("r") == list(range(ROWS))


def test_tables_in_memory_and_from_the_standard_input_are_resumed(
    monkeypatch: pytest.MonkeyPatch, capsys: Outputs
) -> None:
    monkeypatch.setattr(table_files, "_BATCH_ROWS", 1_000)
    columns = {"code": list(range(ROWS))}
    stopped(7_000, "c.toml", columns, "memory/", day=DAY)
    rumor.privatize("c.toml", columns, "memory/", day=DAY, resume=True)
    assert codes("memory") == list(range(ROWS))
    stopped(7_000, "c.toml", columns, "again/", day=DAY)
    with pytest.raises(rumor.InputError, match="the table is not that of the run"):
        rumor.privatize("c.toml", {"code": columns["code"][::-1]}, "again/", day=DAY, resume=True)


def test_every_reader_takes_a_folder(capsys: Outputs) -> None:
    """As it takes one file: the seed's parts together have the rows of no other file."""
    Path("c.toml").write_text(HEAD + CODE.replace("20000", "2").replace("30", "1"))
    days = [f"2026-03-{2 + i * 20 // ROWS:02}" for i in range(ROWS)]
    lines = [f"{i % 2},{day},{('DE', 'FR')[i // 7 % 2]}" for i, day in enumerate(days)]
    Path("t.csv").write_text("code,day,country\n" + "\n".join(lines) + "\n")
    given = ["--day-column", "day", "--keep", "country", "--seed", "3"]
    assert main(["privatize", "c.toml", "t.csv", "-o", "r/", *given]) == 0
    pq.write_table(reports("r"), "one.parquet")
    capsys.readouterr()
    for command in (
        "estimate --by week,country --json",
        "estimate --json",
        "compare --by country --json",
        "trend --every week --different-people --json",
    ):
        verb, *options = command.split()
        found = []
        for source in ("r/", "one.parquet"):
            assert main([verb, "c.toml", source, *options]) == 0, capsys.readouterr().err
            found.append(json.loads(capsys.readouterr().out))
        assert found[0] == found[1]
    for name, source in (("some", "r/"), ("one", "one.parquet")):
        assert main(["estimate", "c.toml", source, "--save-summary", f"{name}.rumor"]) == 0
        assert main(["merge", f"{name}-merged.rumor", f"{name}.rumor"]) == 0
    assert Path("some-merged.rumor").read_bytes() == Path("one-merged.rumor").read_bytes()


@pytest.mark.parametrize("table", ["t.csv", "t.csv.gz", "-"])
@pytest.mark.parametrize("options", [{}, {"person": "user"}])
def test_progress_knows_about_how_much_there_is(
    table: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    data = Path("t.csv.gz").read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    told: dict[str, list[tuple[int, int | None]]] = {}
    rumor.privatize(
        "c.toml",
        table,
        "r.parquet",
        **options,
        on_progress=lambda done, total, note: told.setdefault(note, []).append((done, total)),
    )
    assert set(told) == ({"", "(whose rows)"} if options else {""})
    for steps in told.values():
        assert [done for done, _ in steps] == sorted(done for done, _ in steps)
        assert steps[-1][0] == ROWS
        totals = {total for _, total in steps}
        assert all(total == pytest.approx(ROWS, rel=0.02) for total in totals), totals


def test_an_unknown_amount_is_a_rate() -> None:
    assert amount_done(1_000, 4_000, 2.0) == "1,000 of 4,000 (25%)"
    assert amount_done(1_000, None, 2.0) == "1,000 (500 per second)"
    assert amount_done(0, None, 0.0) == "0"


RECORD: dict[str, Any] = {
    "version": "rumor parts 1",
    "run": "0" * 32,
    "stage": "writing",
    "day": DAY,
    "inputs": {"--seed": "None"},
    "parts": {"code": [[2, 3_100, ".part-a"], [1, 7, ".part-b"]]},
}


def test_a_record_is_read_as_it_is_written() -> None:
    Path("r").mkdir()
    file = Path("r/_run.json")
    file.write_text(json.dumps(RECORD))
    found = report_parts.PartsFolder._read(Path("r"))
    assert (found.run, found.stage, found.day.isoformat()) == ("0" * 32, "writing", DAY)
    assert found.inputs == {"--seed": "None"}
    assert found.parts == {
        "code": [report_parts.Part(2, 3_100, ".part-a"), report_parts.Part(1, 7, ".part-b")]
    }
    assert found.sentence() == (
        "2 parts with 3,107 reports are in 'r'; the same command with --resume makes the others"
    )
    del found.parts["code"][0]
    assert found.sentence().startswith("1 part with 7 reports are in 'r'")
    found._save()
    wanted = {**RECORD, "parts": {"code": RECORD["parts"]["code"][1:]}}
    assert json.loads(file.read_text()) == wanted
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "change",
    [
        *({name: None} for name in RECORD),
        {"version": "rumor parts 2"},
        {"day": "yesterday"},
        {"parts": []},
        {"parts": {"code": [[1, 2]]}},
        {"parts": {"code": [["many", 2, "a"]]}},
        {"inputs": []},
    ],
    ids=str,
)
def test_a_record_that_is_damaged_is_refused(change: dict[str, Any]) -> None:
    Path("r").mkdir()
    said = {key: value for key, value in {**RECORD, **change}.items() if value is not None}
    Path("r/_run.json").write_text(json.dumps(said))
    with pytest.raises(rumor.InputError, match=r"_run\.json: the record of a folder of reports "):
        report_parts.PartsFolder._read(Path("r"))


@pytest.mark.parametrize(
    ("is_over", "is_charged", "parts", "sentence"),
    [
        (False, False, 0, "no reports were written"),
        (False, True, 0, "no reports were written, and nobody is charged in the ledger"),
        (True, False, 0, "files that were there are as they were"),
        (True, True, 0, "files that were there are as they were, and nobody is charged in the "
         "ledger"),
        (False, False, 1, "1 part with 9 reports are in 'r'; the same command with --resume makes "
         "the others"),
        (False, True, 1, "1 part with 9 reports are in 'r'; the same command with --resume makes "
         "the others; until then people are charged the most that they can spend"),
    ],
)  # fmt: skip
def test_who_stops_a_run_is_told_what_is_there(
    is_over: bool, is_charged: bool, parts: int, sentence: str
) -> None:
    made = {"code": [report_parts.Part(1, 9, "a")] * parts}
    folder = report_parts.PartsFolder(Path("r"), {}, datetime.date(2026, 3, 2), made)
    for where in [folder] if parts else [folder, None]:
        with (
            pytest.raises(KeyboardInterrupt) as raised,
            table_reports._saying_what_is_there(is_over, is_charged, where),
        ):
            raise KeyboardInterrupt
        assert str(raised.value) == sentence


def test_how_many_reports_there_will_be_is_told_before() -> None:
    """Of 20,000 rows of as many people: by questions, by the design, and by what people may."""
    for contract, asked, reports in (("c.toml", 1, ROWS), ("asked.toml", 2, ROWS)):
        collection = Collection.load(contract)
        table = AnswerTable.of({"user": [f"u{i // 4}" for i in range(ROWS)]})
        questions = collection.questions
        assert len(questions) == asked
        expected = table_reports._expected_reports
        assert expected(collection, questions, table, None) == reports
        for cap, wanted in ((1, ROWS // 4), (3, ROWS * 3 // 4), (9, ROWS)):
            people = People.of(table, rumor.PersonRule("user", cap=cap))
            assert expected(collection, questions, table, people) == wanted
    both = Collection.from_toml(ASKED.replace("ask = {questions = 1}\n", ""))
    assert expected(both, both.questions, table, None) == 2 * ROWS
    assert expected(both, both.questions[:1], table, None) == ROWS


def test_parts_that_wait_are_put_in_their_place_and_the_rest_is_removed() -> None:
    """As a run leaves them that is killed between the record and the new name."""
    stopped(10_000, "c.toml", "t.csv", "r/", day=DAY)
    parts = json.loads(Path("r/_run.json").read_text())["parts"]["code"]
    assert len(parts) > 1
    made = bytes_of("r")
    for number, (*_, name) in enumerate(parts[1:], 1):
        Path(f"r/part-{number:05}.parquet").rename(Path("r", name))
    for name in (".part-of-nobody", "._half"):
        Path("r", name).write_text("x")
    rumor.privatize("c.toml", "t.csv", "r/", day=DAY, resume=True)
    assert codes("r") == list(range(ROWS))
    assert made.items() <= bytes_of("r").items()
    assert {file.name for file in Path("r").iterdir() if file.name[0] in "._"} == {
        "_run.json",
        "_run.lock",
    }
