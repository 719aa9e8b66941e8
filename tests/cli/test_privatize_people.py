"""`rumor privatize --person`: tables in which one person has several rows, and what each spends."""

from __future__ import annotations

import datetime
import hashlib
import json
import random
import sqlite3
import stat
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rumor.cli import main
from rumor.contract import person_ledger
from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import People
from rumor.core.exact import round_up

Outputs = pytest.CaptureFixture[str]
HEAD = 'name = "App"\nseries = "app"\ncontact = "nobody"\n'
# With an epsilon of 30 a report is the answer itself, but for one in 10^13.
PAGE = (
    '[[questions]]\nid = "page"\nkind = "choice"\nlabels = ["a", "b", "c"]\nepsilon = 30\n'
    'mechanism = "randomized-response"\nreports_per_person = 3\n'
)
SPENT = (
    '[[questions]]\nid = "spent"\nkind = "number"\nlow = 0\nhigh = 60\nepsilon = 0.7\n'
    "reports_per_person = 2\n"
)
EVENTS = [
    ("ann", "2026-03-02", "DE", "a", "1"),
    ("bob", "2026-03-02", "FR", "b", "2"),
    ("ann", "2026-03-03", "DE", "b", "3"),
    ("ann", "2026-03-09", "DE", "b", "5"),
    ("cy", "2026-03-10", "FR", "c", "7"),
    ("bob", "2026-03-17", "FR", "c", "9"),
]


def write_events(events: Sequence[tuple[str, ...]], path: str = "t.csv") -> None:
    lines = [",".join(event) for event in events]
    Path(path).write_text("user_id,time,country,page,spent\n" + "\n".join(lines) + "\n")


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(HEAD + PAGE)
    write_events(EVENTS)
    return tmp_path


def run(capsys: Outputs, *arguments: str) -> tuple[int, str]:
    code = main(["privatize", "c.toml", *arguments])
    said = capsys.readouterr()
    return code, " ".join((said.out + said.err).split())


def rows(path: str = "r.parquet") -> list[tuple[str, str, int]]:
    """Return the day, the country and the report of each row, sorted."""
    table = pq.read_table(path).to_pylist()
    return sorted((str(r["day"]), r.get("country", ""), r["report"][0]) for r in table)


def test_one_row_of_each_person_becomes_a_report(capsys: Outputs) -> None:
    keep = ["-o", "r.parquet", "--person", "user_id", "--day-column", "time", "--keep", "country"]
    code, said = run(capsys, "t.csv", *keep)
    assert code == 0
    assert "6 rows of 3 people: the first row of each person" in said
    assert "a person spends at most epsilon 30 here and 30 with earlier files" in said
    first = [("2026-03-02", "DE", 0), ("2026-03-02", "FR", 1), ("2026-03-10", "FR", 2)]
    assert rows() == first


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (["--each", "last"], [("2026-03-09", 1), ("2026-03-10", 2), ("2026-03-17", 2)]),
        # The answer is the most frequent one; the day is that of the first row, which says nothing.
        (["--each", "most"], [("2026-03-02", 1), ("2026-03-02", 1), ("2026-03-10", 2)]),
        (
            ["--cap", "2"],
            [
                ("2026-03-02", 0),
                ("2026-03-02", 1),
                ("2026-03-03", 1),
                ("2026-03-10", 2),
                ("2026-03-17", 2),
            ],
        ),
        (
            ["--cap", "2", "--each", "last"],
            [
                ("2026-03-02", 1),
                ("2026-03-03", 1),
                ("2026-03-09", 1),
                ("2026-03-10", 2),
                ("2026-03-17", 2),
            ],
        ),
        (
            ["--cap", "3", "--every", "week"],
            [
                ("2026-03-02", 0),
                ("2026-03-02", 1),
                ("2026-03-09", 1),
                ("2026-03-10", 2),
                ("2026-03-17", 2),
            ],
        ),
        (
            ["--cap", "1", "--every", "week", "--each", "last"],
            [("2026-03-09", 1), ("2026-03-10", 2), ("2026-03-17", 2)],
        ),
        (
            ["--cap", "2", "--every", "month", "--each", "most"],
            [("2026-03-02", 1), ("2026-03-02", 1), ("2026-03-10", 2)],
        ),
    ],
)
def test_a_rule_says_which_rows_of_a_person_count(
    rule: list[str], wanted: list[tuple[str, int]], capsys: Outputs
) -> None:
    command = ["t.csv", "-o", "r.parquet", "--person", "user_id", "--day-column", "time"]
    assert run(capsys, *command, *rule)[0] == 0
    assert [(day, report) for day, _, report in rows()] == wanted


def test_sums_are_those_of_a_person(capsys: Outputs) -> None:
    import numpy as np

    import rumor

    Path("c.toml").write_text(HEAD + SPENT.replace("0.7", "20"))
    many = [(f"p{i}", "2026-03-02", "DE", "a", str(n)) for i in range(2_000) for n in (3, 0, i % 3)]
    random.Random(1).shuffle(many)
    write_events(many)
    command = ["t.csv", "-o", "r.parquet", "--person", "user_id", "--each", "sum", "--seed", "1"]
    assert run(capsys, *command)[0] == 0
    found = rumor.estimate("c.toml", "r.parquet")
    wanted = np.mean([3 + i % 3 for i in range(2_000)])
    assert found.reports == 2_000
    # Epsilon 20 reports an end of the range with its probability: six standard errors of 60/2.
    assert abs(found.mean - wanted) < 6 * 30 / np.sqrt(2_000)


@pytest.mark.parametrize("seed", range(6))
def test_the_stated_loss_is_the_exact_one_over_several_files(seed: int, capsys: Outputs) -> None:
    """An oracle of its own: the reports of each person in each file, counted in plain Python."""
    Path("c.toml").write_text(HEAD + PAGE.replace("30", "1.1") + SPENT)
    chance = random.Random(seed)
    price, limit = {"page": Fraction(1.1), "spent": Fraction(0.7)}, {"page": 3, "spent": 2}
    spent: dict[str, Counter[str]] = defaultdict(Counter)
    for number in range(3):
        events = [
            (f"p{chance.randrange(9)}", "2026-03-02", "DE", "a", "1")
            for _ in range(chance.randrange(1, 25))
        ]
        write_events(events)
        cap = chance.randrange(1, 4)
        here: dict[str, Counter[str]] = {}
        for person, count in Counter(event[0] for event in events).items():
            here[person] = Counter(
                {q: min(count, cap, limit[q] - spent[person][q]) for q in ("page", "spent")}
            )
        out = f"r{number}.parquet"
        left = {q: any(one[q] for one in here.values()) for q in price}
        code, said = run(
            capsys, "t.csv", "-o", out, "--person", "user_id", "--cap", str(cap), "--json"
        )
        if not all(left.values()):
            assert code == 2
            assert "may still answer" in said
            continue
        assert code == 0
        people: dict[str, Any] = json.loads(said)["people"]
        for person, one in here.items():
            spent[person] += one
        exact = max(sum(price[q] * n for q, n in one.items()) for one in here.values())
        series = max(sum(price[q] * n for q, n in spent[p].items()) for p in here)
        # The mechanisms' own losses are a little below the epsilons of the file.
        assert people["epsilon_most"] == pytest.approx(float(exact), rel=1e-9)
        assert people["epsilon_series"] == pytest.approx(float(series), rel=1e-9)
        for one in json.loads(said)["questions"]:
            made = sum(each[one["question"]] for each in here.values())
            assert one["reports"] == made == len(pq.read_table(one["out"]))


def test_the_loss_is_rounded_up_from_the_exact_sum(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + PAGE.replace("30", "0.1"))
    write_events([("ann", "2026-03-02", "DE", "a", "1")] * 5)
    code, said = run(
        capsys, "t.csv", "-o", "r.parquet", "--person", "user_id", "--cap", "3", "--json"
    )
    assert code == 0
    facts = json.loads(said)
    assert facts["people"]["epsilon_most"] == round_up(3 * Fraction(facts["epsilon"]))


def test_people_make_no_more_reports_than_the_collection_allows(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + PAGE.replace("reports_per_person = 3", ""))
    assert run(capsys, "t.csv", "-o", "1.parquet", "--person", "user_id")[0] == 0
    code, said = run(capsys, "t.csv", "-o", "2.parquet", "--person", "user_id")
    assert code == 2
    assert "all 3 made the 1 reports that the collection allows in earlier files" in said
    assert not Path("2.parquet").exists()
    write_events([*EVENTS, ("dee", "2026-03-18", "DE", "a", "1")])
    code, said = run(capsys, "t.csv", "-o", "3.parquet", "--person", "user_id")
    assert code == 0
    assert "1 reports of 1 byte each" in said
    assert (
        "3 people had made all reports allowed of one person for 'page', and were left out" in said
    )
    code, said = run(capsys, "t.csv", "-o", "4.parquet", "--person", "user_id", "--cap", "2")
    assert code == 2
    assert "--cap must be at most the reports that the collection allows of one person, 1" in said


def test_the_limit_of_the_series_holds(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + "series_epsilon = 2.5\n" + PAGE.replace("30", "1"))
    assert run(capsys, "t.csv", "-o", "1.parquet", "--person", "user_id")[0] == 0
    code, said = run(
        capsys, "t.csv", "-o", "2.parquet", "--person", "user_id", "--cap", "3", "--json"
    )
    assert code == 0
    # ann has three rows, bob two, cy one: each may make one more report within 2.5.
    assert json.loads(said)["reports"] == 3
    assert json.loads(said)["people"]["epsilon_series"] <= 2.5


def test_the_ledger_names_nobody_and_is_its_owners(capsys: Outputs) -> None:
    run(capsys, "t.csv", "-o", "r.parquet", "--person", "user_id")
    for name in ("app.people", "app.people.key"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
        assert not any(person in Path(name).read_bytes() for person in (b"ann", b"bob"))
    key = Path("app.people.key").rename("kept")
    code, said = run(capsys, "t.csv", "-o", "2.parquet", "--person", "user_id")
    assert code == 2
    assert "needs the key by which it names people" in said
    key.rename("app.people.key")
    Path("app.people").write_text("something else")
    code, said = run(capsys, "t.csv", "-o", "2.parquet", "--person", "user_id")
    assert (code, "damaged or something else" in said) == (2, True)


def test_a_ledger_is_of_one_series(capsys: Outputs) -> None:
    command = ["t.csv", "-o", "r.parquet", "--person", "user_id", "--ledger", "all.people"]
    assert run(capsys, *command)[0] == 0
    Path("c.toml").write_text((HEAD + PAGE).replace('"app"', '"other"'))
    code, said = run(capsys, *command, "--replace")
    assert code == 2
    assert "a ledger of people belongs to one series; got that of 'app' for 'other'" in said


def test_what_fails_is_not_charged_and_what_is_stopped_is(
    capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "t.csv", "-o", "1.parquet", "--person", "user_id")
    before = Path("app.people").read_bytes()
    write_events([*EVENTS, ("dee", "2026-03-18", "DE", "no label", "1")])
    code, said = run(capsys, "t.csv", "-o", "2.parquet", "--person", "user_id")
    assert (code, "t.csv, column 'page', row 7" in said) == (2, True)
    assert Path("app.people").read_bytes() == before
    # Where the process ends without a word, the ledger says the most that may have been spent.
    import rumor.contract.privatize as module

    charged: list[int] = []

    def look(*given: object, **rest: object) -> int:
        charged.append(sum(pq.read_table("app.people").column(1).to_pylist()))
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "privatize_table", look)
    code, said = run(capsys, "t.csv", "-o", "2.parquet", "--person", "user_id", "--cap", "2")
    assert code == 130
    assert said == "rumor: stopped: no reports were written, and nobody is charged in the ledger"
    # Three people with one report each, who may make two more, and a fourth.
    assert charged == [3 + 3 * 2 + 2]
    assert Path("app.people").read_bytes() == before


@pytest.mark.parametrize("fails", [False, True])
def test_what_another_run_charges_meanwhile_stays(
    fails: bool, capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rumor.contract.privatize as module

    write_events([("ann", "2026-03-02", "DE", "a", "1"), ("eve", "2026-03-02", "DE", "b", "1")])
    Path("other.csv").write_text("user_id,page\nann,a\nzoe,b\n")
    real = module.privatize_table

    def meanwhile(*given: Any, **rest: Any) -> int:
        monkeypatch.setattr(module, "privatize_table", real)
        line = "privatize c.toml other.csv -o other.parquet --person user_id"
        assert main(line.split()) == 0
        if fails:
            raise KeyboardInterrupt
        return real(*given, **rest)

    monkeypatch.setattr(module, "privatize_table", meanwhile)
    code, _ = run(capsys, "t.csv", "-o", "r.parquet", "--person", "user_id", "--cap", "2")
    assert code == (130 if fails else 0)
    counts = pq.read_table("app.people").column(1).to_pylist()
    # ann in both runs, eve in the first and zoe in the second.
    assert sorted(counts) == ([0, 1, 1] if fails else [1, 1, 2])


def test_two_runs_do_not_both_make_the_last_report_of_a_person(
    capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second to charge is refused: it had read the ledger before the first one's charge."""
    write_events([("ann", "2026-03-02", "DE", "a", "1")])
    real = PersonLedger.read
    once = iter([True])

    def read_then_another_run(ledger: PersonLedger, people: People) -> None:
        real(ledger, people)
        if next(once, False):
            assert (
                main(["privatize", "c.toml", "t.csv", "-o", "first.parquet", "--person", "user_id"])
                == 0
            )

    monkeypatch.setattr(PersonLedger, "read", read_then_another_run)
    code, said = run(capsys, "t.csv", "-o", "second.parquet", "--person", "user_id")
    assert code == 2
    assert "another run charged some of these people while the table was read" in said
    assert not Path("second.parquet").exists()
    assert pq.read_table("app.people").column(1).to_pylist() == [1]
    # Where nothing was read anew, a lock that another process holds is waited for, not for ever.
    monkeypatch.setattr(person_ledger, "_PATIENCE_S", 0.0)
    with closing(sqlite3.connect("app.people.lock", isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        code, said = run(capsys, "t.csv", "-o", "second.parquet", "--person", "user_id")
    assert (code, "another run keeps charging it; run again" in said) == (2, True)


def test_simulated_reports_leave_no_ledger(capsys: Outputs) -> None:
    command = ["t.csv", "-o", "r.parquet", "--person", "user_id", "--seed", "3", "--replace"]
    assert "no ledger is kept of simulated reports" in run(capsys, *command)[1]
    first = Path("r.parquet").read_bytes()
    run(capsys, *command)
    assert Path("r.parquet").read_bytes() == first
    assert not list(Path().glob("app.people*"))


def test_missing_answers_of_a_person(capsys: Outputs) -> None:
    write_events(
        [
            ("ann", "2026-03-02", "DE", "", "1"),
            ("ann", "2026-03-03", "DE", "b", "1"),
            ("bob", "2026-03-02", "DE", "", "1"),
            ("cy", "2026-03-02", "DE", "c", "1"),
            ("cy", "2026-03-02", "DE", "", "1"),
        ]
    )
    command = ["t.csv", "-o", "r.parquet", "--person", "user_id", "--replace", "--seed", "1"]
    for each in ("first", "most"):
        code, said = run(capsys, *command, "--missing", "drop", "--each", each)
        assert code == 0
        assert "1 row had no answer and was left out" in said  # bob's
        assert [report for *_, report in rows()] == [1, 2]
    code, said = run(capsys, *command)
    assert (code, "row 1: an answer must not be missing" in said) == (2, True)
    assert run(capsys, *command, "--each", "last", "--missing", "a")[0] == 0
    assert sorted(report for *_, report in rows()) == [0, 0, 1]
    code, said = run(capsys, *command, "--each", "most")
    assert (code, "row 1: an answer must not be missing" in said) == (2, True)
    assert run(capsys, *command, "--each", "most", "--missing", "a")[0] == 0
    assert sorted(report for *_, report in rows()) == [0, 0, 2]


def test_a_bad_answer_is_found_where_it_is(capsys: Outputs) -> None:
    write_events([*EVENTS[:2], *[("dee", "2026-03-02", "DE", page, "1") for page in "axx"]])
    for each, row in (("last", 5), ("most", 4)):
        code, said = run(capsys, "t.csv", "-o", "r.parquet", "--person", "user_id", "--each", each)
        assert code == 2
        assert f"column 'page', row {row}:" in said


def test_tables_without_rows_of_people_are_refused(capsys: Outputs) -> None:
    write_events([])
    code, said = run(capsys, "t.csv", "-o", "r.parquet", "--person", "user_id")
    assert (code, "must hold at least one answer; got none" in said) == (2, True)
    keyed = '[[questions]]\nid = "k"\nkind = "keyvalue"\nkeys = ["m", "n"]\nlow = 0\nhigh = 1\n'
    Path("c.toml").write_text(f"{HEAD}{keyed}epsilon = 2\n")
    Path("t.csv").write_text("person,key,value\nann,m,1\nann,n,0.5\n")
    code, said = run(capsys, "t.csv", "-o", "r.parquet", "--person", "person")
    assert (code, "say whose each row is already" in said) == (2, True)
    Path("t.csv").write_text("user,m,n\nann,1,\nann,,0.5\nbob,0.2,0.3\n")
    code, said = run(capsys, "t.csv", "-o", "r.parquet", "--person", "user")
    assert (code, "2 reports" in said) == (0, True)
    more = ["-o", "2.parquet", "--person", "user", "--ledger", "other", "--each", "most"]
    code, said = run(capsys, "t.csv", *more)
    assert (code, "needs the answers in one column" in said) == (2, True)
    assert not Path("other").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--person", "nobody"], "the table must have a column 'nobody'"),
        (["--person", "user_id", "--each", "best"], "--each must be one of first, last, most, sum"),
        (["--person", "user_id", "--each", "most", "--cap", "2"], "makes one report of all rows"),
        (["--person", "user_id", "--every", "week"], "say how many at most (--cap N)"),
        (["--person", "user_id", "--every", "week", "--cap", "2"], "need the days of the rows"),
        (["--each", "first"], "--each is for tables with --person COLUMN"),
        (["--cap", "2"], "--cap is for tables with --person COLUMN"),
        (["--person", "user_id", "--each", "sum"], "--each sum adds up numbers"),
        (["--day-column", "country"], "column 'country', row 1: a day must be a date"),
        (["--day-column", "time", "--day", "2026-03-02"], "say --day or --day-column; got both"),
        (["--day-column", "page"], "which holds the answers"),
        (["--time-zone", "UTC"], "--time-zone is that of --day-column"),
        (["--day-column", "time", "--time-zone", "Mars"], "a time zone must be UTC or a name"),
        (["--person", "user_id", "--ledger", "t.csv"], "--ledger must not replace what is read"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    options: list[str], sentence: str, capsys: Outputs
) -> None:
    code, said = run(capsys, "t.csv", "-o", "r.parquet", *options)
    assert code == 2
    assert sentence in said
    assert not Path("r.parquet").exists()
    assert not Path("app.people").exists()


def test_a_column_that_names_people_twice_brings_a_warning(capsys: Outputs) -> None:
    code, said = run(capsys, "t.csv", "-o", "r.parquet")
    assert code == 0
    assert "WARNING: column 'user_id' has the same value in several rows" in said
    assert "--person user_id" in said
    write_events([event for event in EVENTS if event[0] == "cy"])
    assert "WARNING" not in run(capsys, "t.csv", "-o", "r.parquet", "--replace")[1]


def test_days_are_those_of_the_zone(capsys: Outputs) -> None:
    times = ["2026-03-01T23:30:00Z", "2026-03-01 23:30", "2026-03-02T00:30:00+02:00", "2026-03-01"]
    write_events([(f"p{i}", time, "DE", "a", "1") for i, time in enumerate(times)])
    command = ["t.csv", "-o", "r.parquet", "--replace", "--day-column", "time"]
    assert run(capsys, *command)[0] == 0
    assert [day for day, *_ in rows()] == ["2026-03-01"] * 4
    assert run(capsys, *command, "--time-zone", "Europe/Berlin")[0] == 0
    # Only a moment has another day elsewhere: 23:30 UTC is half past midnight in Berlin.
    assert Counter(day for day, *_ in rows()) == {"2026-03-01": 3, "2026-03-02": 1}
    stamps = pa.array([datetime.datetime(2026, 3, 1, 23, 30)] * 2, pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"page": ["a", "b"], "time": stamps}), "t.parquet")
    command[0] = "t.parquet"
    assert run(capsys, *command, "--time-zone", "Asia/Tokyo")[0] == 0
    assert [day for day, *_ in rows()] == ["2026-03-02"] * 2
    ahead = datetime.date.today() + datetime.timedelta(days=3)
    write_events([("ann", str(ahead), "DE", "a", "1")])
    command[0] = "t.csv"
    code, said = run(capsys, *command)
    assert (code, "a day must not lie in the future" in said) == (2, True)


def test_a_person_is_asked_the_same_questions_in_every_file(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + "ask = {questions = 1}\n" + PAGE + SPENT)
    people = 300
    asked: list[int] = []
    for number in range(2):
        write_events([(f"p{i}", "2026-03-02", "DE", "a", "1") for i in range(people)] * 2)
        out = f"r{number}.parquet"
        code, said = run(capsys, "t.csv", "-o", out, "--person", "user_id", "--json")
        assert code == 0
        facts = json.loads(said)
        made = {one["question"]: one["reports"] for one in facts["questions"]}
        assert sum(made.values()) == people
        asked.append(made["page"])
        # A half each: six deviations of a binomial.
        assert abs(made["page"] - people / 2) < 6 * (people / 4) ** 0.5
    assert asked[0] == asked[1]
    # After two files nobody has answered both questions: the most is two reports of the first.
    assert facts["people"]["epsilon_series"] == pytest.approx(60)


def test_groups_of_the_contract_are_those_of_the_chosen_row(capsys: Outputs) -> None:
    Path("c.toml").write_text(HEAD + 'groups = {country = ["DE", "other"]}\n' + PAGE)
    for each, wanted in (
        (
            "first",
            [("2026-03-02", "DE", 0), ("2026-03-02", "other", 1), ("2026-03-10", "other", 2)],
        ),
        ("most", [("2026-03-02", "DE", 1), ("2026-03-02", "other", 1), ("2026-03-10", "other", 2)]),
    ):
        command = ["t.csv", "-o", f"{each}.parquet", "--person", "user_id", "--each", each]
        assert run(capsys, *command, "--day-column", "time")[0] == 0
        assert rows(f"{each}.parquet") == wanted


def test_events_become_estimates_of_weeks_and_countries_in_four_commands(capsys: Outputs) -> None:
    """200,000 events of 20,000 people over three weeks, against a count in plain Python."""
    chance, people = random.Random(5), 20_000
    country = {f"u{n}": chance.choice(["DE", "FR", "FR"]) for n in range(people)}
    weeks: dict[tuple[str, str], set[str]] = defaultdict(set)
    lines = ["user_id,time,country,page"]
    for _ in range(200_000):
        user, day = f"u{chance.randrange(people)}", chance.randrange(21)
        week = datetime.date(2026, 3, 2) + datetime.timedelta(days=day - day % 7)
        weeks[str(week), country[user]].add(user)
        page = chance.choice("aab")
        lines.append(f"{user},2026-03-{day + 2:02}T10:00:00Z,{country[user]},{page}")
    Path("events.csv").write_text("\n".join(lines) + "\n")
    start = ["init", "app.toml", "--from", "events.csv", "--only", "page", "--reports", "3"]
    assert main(start) == 0
    assert "each 3 times, spends epsilon 3" in capsys.readouterr().out
    make = ["privatize", "app.toml", "events.csv", "-o", "r.parquet", "--keep", "country", "--json"]
    by_week = ["--person", "user_id", "--day-column", "time", "--every", "week", "--cap", "3"]
    assert main([*make, *by_week]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["reports"] == sum(map(len, weeks.values()))
    assert facts["people"]["people"] == len(set().union(*weeks.values()))
    assert facts["people"]["epsilon_most"] == round_up(3 * Fraction(facts["epsilon"]))
    assert main(["estimate", "app.toml", "r.parquet", "--by", "week,country", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["strata"]
    assert {one["stratum"]: one["reports"] for one in found} == {
        ", ".join(key): len(users) for key, users in weeks.items()
    }
    assert main(["trend", "app.toml", "r.parquet", "--every", "week"]) == 0


def test_hashes_of_people_stay_what_they_are(capsys: Outputs) -> None:
    """A ledger is read for years: with other hashes everybody could report anew."""
    assert run(capsys, "t.csv", "-o", "r.parquet", "--person", "user_id", "--ledger", "l")[0] == 0
    key, names = PersonLedger.open("l", "app").key, (b"ann", b"bob", b"cy")
    hashes = [hashlib.blake2b(name, key=key, digest_size=16).digest() for name in names]
    assert sorted(pq.read_table("l")["person"].to_pylist()) == sorted(hashes)
