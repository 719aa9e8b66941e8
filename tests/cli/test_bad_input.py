"""Bad input: one clear sentence on the standard error, exit status 2, nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.cli import main
from rumor.contract import report_file as reportfile
from rumor.core import table_files as tables
from tests.flow import TOML, home_pages, made_reports, write_days, write_toml

Outputs = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_toml(tmp_path)
    Path("answers.csv").write_text("homepage,n\nnews,1\nblank,2\n")
    collection = home_pages()
    question = collection.question("homepage")
    write_days(
        tmp_path / "r.parquet", collection, question, {"2026-01-01": made_reports(question, 500)}
    )
    return tmp_path


def refused(capsys: Outputs, *arguments: str) -> str:
    """The sentence with which the command line refuses; nothing may be left behind."""
    before = {p: p.stat().st_mtime_ns for p in Path.cwd().rglob("*")}
    assert main(list(arguments)) == 2
    assert {p: p.stat().st_mtime_ns for p in Path.cwd().rglob("*")} == before
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rumor: ")
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("rumor: ").strip()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("epsilon = 2.0", "epsilon = 0", "epsilon must be a number above 0 and at most 32; got 0"),
        (
            "epsilon = 2.0",
            "epsilon = -1",
            "epsilon must be a number above 0 and at most 32; got -1",
        ),
        ("epsilon = 2.0", "epsilon = nan", "above 0 and at most 32; got nan"),
        ("epsilon = 2.0", "epsilon = inf", "above 0 and at most 32; got inf"),
        ("epsilon = 2.0", "epsilon = 32.1", "above 0 and at most 32; got 32.1"),
        ("epsilon = 2.0", 'epsilon = "one"', "above 0 and at most 32; got 'one'"),
        ("domain = 50", "domain = 1", "domain must be an integer from 2 to 100,000; got 1"),
        ("domain = 50", "domain = 2.5", "domain must be an integer from 2 to 100,000; got 2.5"),
        (
            'labels = ["blank", "news", "search", "mail", "nothing"]',
            'labels = ["blank"]',
            "domain (the number of labels) must be an integer from 2 to 1,000,000; got 1",
        ),
        ("[[questions]]", "[[question]]", "got 'question' (did you mean 'questions'?)"),
        ('"randomized-response"', '"randomised-response"', "did you mean 'randomized-response'?"),
        ("epsilon = 2.0", "epsilon = ", "must be valid TOML"),
    ],
)
@pytest.mark.parametrize(
    "command",
    [
        ["show"],
        ["vectors"],
        ["privatize", "answers.csv", "-o", "out.parquet", "-q", "homepage"],
        ["estimate", "r.parquet"],
        ["simulate", "answers.csv", "-q", "homepage"],
    ],
    ids=lambda command: command[0],
)
def test_bad_collections(
    work: Path, capsys: Outputs, old: str, new: str, sentence: str, command: list[str]
) -> None:
    write_toml(work, TOML.replace(old, new), "bad.toml")
    said = refused(capsys, command[0], "bad.toml", *command[1:])
    assert said.startswith("bad.toml: ")
    assert sentence in said


@pytest.mark.parametrize(
    ("question", "answers", "sentence"),
    [
        ("homepage", "homepage\n", "must hold at least one answer; got none"),
        ("homepage", "", "must have a header line; got an empty file"),
        ("homepage", "homepage\nnews\nnwes\n", "must be one of the domain's (blank, news, search"),
        (
            "homepage",
            'homepage\nnews\n""\n',
            "column 'homepage', row 2: an answer must not be missing",
        ),
        (
            "homepage",
            "homepage\nnews\n\nmail\n",
            "column 'homepage', row 2: an answer must not be missing",
        ),
        ("homepage", "other\nnews\n", "must have a column 'homepage' in its header; got 1 columns"),
        (
            "medicine",
            "medicine\n3\n50\n",
            "column 'medicine', row 2: values must lie in 0..49; got another",
        ),
        (
            "medicine",
            "medicine\n3\n-1\n",
            "column 'medicine', row 2: values must lie in 0..49; got another",
        ),
        (
            "medicine",
            "medicine\n3\nx\n",
            "column 'medicine', row 2: the column must hold integers; got",
        ),
        (
            "medicine",
            "medicine\n3.5\n",
            "column 'medicine', row 1: the column must hold integers; got",
        ),
        (
            "medicine",
            "medicine,b\n3,1\n,2\n",
            "column 'medicine', row 2: an answer must not be missing",
        ),
        ("nothing", "nothing\n3\n", "must be named as one of homepage, medicine; got 'nothing'"),
    ],
)
@pytest.mark.parametrize("command", ["privatize", "simulate"])
def test_bad_answers(
    work: Path, capsys: Outputs, question: str, answers: str, sentence: str, command: str
) -> None:
    Path("bad.csv").write_text(answers)
    out = ["-o", "out.parquet"] if command == "privatize" else []
    said = refused(capsys, command, "collection.toml", "bad.csv", "-q", question, *out)
    assert sentence in said


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (pa.array([0.5, 1.0]), "must be integers from 0 to 49 or labels; got dtype float64"),
        (pa.array([True, False]), "must be integers from 0 to 49 or labels; got dtype bool"),
        (pa.array(["a", "b"]), "since the domain has no labels; got a text"),
        (pa.array([1, None]), "column 'medicine', row 2: an answer must not be missing"),
        (pa.array([[1], [2]]), "column 'medicine', row 1: "),
    ],
)
def test_wrong_types_in_parquet(
    work: Path, capsys: Outputs, column: pa.Array, sentence: str
) -> None:
    pq.write_table(pa.table({"medicine": column}), "bad.parquet")
    said = refused(
        capsys, "privatize", "collection.toml", "bad.parquet", "-q", "medicine", "-o", "out.parquet"
    )
    assert sentence in said


def test_a_late_error_leaves_no_file(
    work: Path, capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last of many batches is bad: row groups already written are thrown away."""
    monkeypatch.setattr(tables, "_BLOCK_BYTES", 1 << 14)
    monkeypatch.setattr(reportfile, "_MAX_GROUP_ROWS", 1024)
    written: list[int] = []
    flush = reportfile.ReportWriter.flush

    def counted(writer: reportfile.ReportWriter) -> None:
        written.append(writer.reports)
        flush(writer)

    monkeypatch.setattr(reportfile.ReportWriter, "flush", counted)
    Path("bad.csv").write_text("homepage\n" + "news\n" * 20_000 + "nwes\n")
    said = refused(
        capsys, "privatize", "collection.toml", "bad.csv", "-q", "homepage", "-o", "out.parquet"
    )
    assert "column 'homepage', row 20,001: a label must be one of" in said
    assert "nwes" not in said
    assert len(written) > 5


def test_an_existing_file_survives_an_error(work: Path, capsys: Outputs) -> None:
    Path("out.parquet").write_bytes(b"precious")
    Path("bad.csv").write_text("homepage\nnwes\n")
    refused(
        capsys, "privatize", "collection.toml", "bad.csv", "-q", "homepage", "-o", "out.parquet"
    )
    assert Path("out.parquet").read_bytes() == b"precious"


def test_reports_of_another_collection(work: Path, capsys: Outputs) -> None:
    write_toml(work, TOML.replace("epsilon = 2.0", "epsilon = 2.5"), "other.toml")
    said = refused(capsys, "estimate", "other.toml", "r.parquet")
    assert said.startswith("r.parquet: the reports must be of this collection (digest ")
    main(["estimate", "collection.toml", "r.parquet", "--save-summary", "s.rumor"])
    capsys.readouterr()
    said = refused(capsys, "estimate", "other.toml", "s.rumor")
    assert said.startswith("s.rumor: the summary must be of this collection (digest ")


def test_a_truncated_reports_file(work: Path, capsys: Outputs) -> None:
    whole = Path("r.parquet").read_bytes()
    Path("cut.parquet").write_bytes(whole[: len(whole) // 2])
    said = refused(
        capsys, "estimate", "collection.toml", "cut.parquet", "--csv", "e.csv", "--plot", "e.svg"
    )
    assert said == (
        "cut.parquet: a reports file must be a complete Parquet file; "
        "this one is truncated, damaged or something else"
    )


def test_a_damaged_summary(work: Path, capsys: Outputs) -> None:
    main(["estimate", "collection.toml", "r.parquet", "--save-summary", "s.rumor"])
    capsys.readouterr()
    Path("cut.rumor").write_bytes(Path("s.rumor").read_bytes()[:-3])
    for command in (
        ["estimate", "collection.toml", "cut.rumor"],
        ["merge", "o.rumor", "cut.rumor"],
    ):
        assert refused(capsys, *command).startswith("cut.rumor: a summary")
    assert refused(capsys, "merge", "o.rumor", "no.rumor") == (
        "a summary must be a file that exists; got 'no.rumor'"
    )
    assert "must begin with" in refused(capsys, "merge", "o.rumor", "answers.csv")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "magic"], "method must be one of auto, refined, bayes"),
        (["--engine", "abacus"], "an engine must be one of local, spark, gpu; got 'abacus'"),
        (["--level", "1"], "a level must be a number above 0 and below 1; got 1.0"),
        (["--level", "many"], "Invalid value for '--level'"),
        (["--of", "everyone"], 'an interval is of "population" or "people"; got \'everyone\''),
        (["--from", "yesterday"], "--from must be a day written YYYY-MM-DD; got 'yesterday'"),
        (["--from", "2026-02-01", "--to", "2026-01-01"], "must not be after the last"),
        (["--from", "2026-02-01"], "at least one report; got none in 'r.parquet' of these days"),
        (["--by", "country"], "groups must be a public column of the reports (day); got 'country'"),
        (["--by", "day", "--save-summary", "s"], "a saved summary holds no groups; got --by day"),
        (["--question", "medicine"], "must answer question 'medicine'; got reports of 'homepage'"),
        (["--question", "x"], "must be named as one of homepage, medicine; got 'x'"),
        (["--plot", "e.gif"], "a chart's file must end in .html, .png, .svg; got 'e.gif'"),
        (["--top", "0"], "Invalid value for '--top'"),
        (["--csv", "no/such/folder.csv"], "got 'no/such/folder.csv': No such file or directory"),
    ],
)
def test_bad_options_of_estimate(
    work: Path, capsys: Outputs, arguments: list[str], sentence: str
) -> None:
    assert sentence in refused(capsys, "estimate", "collection.toml", "r.parquet", *arguments)


def test_a_summary_has_no_strata_or_days_left(work: Path, capsys: Outputs) -> None:
    main(["estimate", "collection.toml", "r.parquet", "--save-summary", "s.rumor"])
    capsys.readouterr()
    for option in (["--by", "day"], ["--from", "2026-01-01"]):
        said = refused(capsys, "estimate", "collection.toml", "s.rumor", *option)
        assert said.startswith("groups and days are chosen when reports are counted")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["estimat"], "No such command 'estimat'"),
        (["estimate"], "Missing argument 'COLLECTION' (see rumor estimate --help)"),
        (["estimate", "collection.toml"], "Missing argument 'REPORTS'"),
        (["estimate", "collection.toml", "r.parquet", "--colour"], "No such option: --colour"),
        (["estimate", "collection.toml", "no.parquet"], "must exist; got 'no.parquet'"),
        (["estimate", "no.toml", "r.parquet"], "a collection file must exist; got 'no.toml'"),
        (["estimate", "answers.csv", "r.parquet"], "must end in .toml or .json"),
        (["estimate", "collection.toml", "."], "got reports of"),
        (
            ["privatize", "collection.toml", "answers.csv", "-o", "o.parquet"],
            "must have a column 'medicine' in its header",
        ),
        (["privatize", "collection.toml", "answers.csv", "-q", "homepage"], "Missing option"),
        (
            ["privatize", "collection.toml", "answers.csv", "-q", "homepage", "-o", "no/o.parquet"],
            "got 'no/o.parquet': No such file or directory",
        ),
        (
            ["privatize", "collection.toml", "answers.csv", "-q", "homepage", "-o", "o.parquet",
             "--keep", "homepage"],
            "as it is, so it must hold no answers; got 'homepage', which holds the answers",
        ),
        (
            ["privatize", "collection.toml", "answers.csv", "-q", "homepage", "-o", "o.parquet",
             "--day", "5 May"],
            "--day must be a day written YYYY-MM-DD; got '5 May'",
        ),
        (["simulate", "collection.toml", "answers.csv", "--people", "0"], "Invalid value"),
        (["demo", "--people", "1000", "--out", "demo.txt"], "must be written to an .html file"),
        (["demo", "--people", "3"], "Invalid value for '--people'"),
        (["demo", "--people", "1000", "--out", "no/demo.html"], "got 'no/demo.html'"),
    ],
)  # fmt: skip
def test_bad_commands(work: Path, capsys: Outputs, arguments: list[str], sentence: str) -> None:
    if "." in arguments:  # a folder that also holds another question's reports
        collection = home_pages()
        other = collection.question("medicine")
        write_days(work / "z.parquet", collection, other, {"2026-01-01": made_reports(other, 10)})
    assert sentence in refused(capsys, *arguments)


def _run(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rumor", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload,no-any-return]


def test_the_real_command_refuses_alike(work: Path) -> None:
    done = _run("estimate", "collection.toml", "answers.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "rumor: answers.csv: a reports file must be a complete Parquet file; "
        "this one is truncated, damaged or something else\n"
    )


def test_the_real_command_prints_labels_on_any_terminal(work: Path) -> None:
    write_toml(work, TOML.replace('"mail"', '"почта"'), "names.toml")
    done = _run("show", "names.toml", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 0
    assert "search, ?????, nothing" in done.stdout


def test_an_interrupt_leaves_nothing_and_says_so(work: Path) -> None:
    code = (
        "import sys, os, signal\n"
        "import rumor.contract.privatize as p\n"
        "def interrupted(*a, **k):\n"
        "    with p.write_reports('out.parquet', a[0], a[1]) as writer:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        import time; time.sleep(30)\n"
        "p.privatize_table = interrupted\n"
        "from rumor.cli import main\n"
        "sys.exit(main(['privatize', 'collection.toml', 'answers.csv', '-q', 'homepage',"
        " '-o', 'out.parquet']))\n"
    )
    start = time.monotonic()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert (done.stdout, done.stderr) == ("", "rumor: stopped: no reports were written\n")
    assert time.monotonic() - start < 25
    assert sorted(p.name for p in work.iterdir()) == ["answers.csv", "collection.toml", "r.parquet"]


def test_a_closed_pipe_is_quiet(work: Path) -> None:
    command = f"{sys.executable} -m rumor show collection.toml --json | head -c 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout == "{"
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["privatize", "c.toml", "answers.csv", "-o", "answers.csv"], "--out must not replace"),
        (["privatize", "c.toml", "answers.csv", "-o", "out.csv"], "--out must be a .parquet file"),
        (["estimate", "c.toml", "r.parquet", "--csv", "./r.parquet"], "--csv must not replace"),
        (["estimate", "c.toml", "r.parquet", "--save-summary", "c.toml"], "--save-summary must"),
        (
            ["plan", "--domain", "9", "--users", "9", "--epsilon", "1", "--write", "c.toml"],
            "exists",
        ),
        (["merge", "x.rumor", "a.rumor", "./a.rumor"], "different files; got 'a.rumor' more than"),
        (["token", "c.toml", "--name", "x"], "64 hexadecimal digits"),
        (["collections", "list", "--store", "sqlite:///nope.db"], "there is none at"),
        (["export", "x", "--store", "sqlite:///nope.db"], "there is none at"),
    ],
)
def test_a_slip_spoils_no_file(
    work: Path, capsys: Outputs, arguments: list[str], sentence: str
) -> None:
    collection = next(work.glob("*.toml"))
    collection.rename(work / "c.toml")
    assert sentence in refused(capsys, *arguments)
