"""Which reports are counted, against rows that are picked by hand.

A folder of files with several row groups holds every kind of public column, reports that occur
twice and reports that are none. Whatever days, groups and ids are asked for, counts are those of
the rows that plain Python picks; and what is then estimated, compared, weighed, combined, followed
or regressed is handed exactly these.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis.combine import method as combining
from rumor.analysis.compare import method as comparing
from rumor.analysis.compare.method import Counting, ReportSelection
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.estimate import analyse, count
from rumor.analysis.regress import method as regressing
from rumor.analysis.sources import ParquetSource
from rumor.analysis.trend import method as following
from rumor.contract.report_file import write_reports
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.types import Days
from rumor.mechanisms.summary import Summary
from rumor.results.view import View
from tests.flow import home_pages, made_reports
from tests.recorded import Collaborators

FIRST = datetime.date(2026, 1, 5)
DAYS = [FIRST + datetime.timedelta(days=n) for n in range(4)]
BETWEEN = FIRST - datetime.timedelta(days=10), FIRST + datetime.timedelta(days=10)
WINDOWS: list[Days] = [
    (None, None),
    (DAYS[1], None),
    (None, DAYS[1]),
    (DAYS[1], DAYS[2]),
    (DAYS[3], DAYS[3]),
    BETWEEN,
]
COLUMNS = pa.schema(
    [
        ("country", pa.string()),
        ("age", pa.int64()),
        ("paid", pa.bool_()),
        ("since", pa.date32()),
        ("coded", pa.dictionary(pa.int8(), pa.string())),
    ]
)
GROUPS = [None, "day", *COLUMNS.names]
CONTRACT = home_pages()
QUESTION = CONTRACT.question("homepage")
INVALID = bytes([9])


@dataclass(frozen=True)
class Row:
    """One row of a file."""

    id: bytes
    report: bytes
    kept: dict[str, Any]

    @property
    def is_valid(self) -> bool:
        return self.report != INVALID


def written(path: Path) -> pa.Table:
    """A reports file with all kinds of columns, none of them known of every row."""
    countries = ["DE", "FR", None]
    with write_reports(path, CONTRACT, QUESTION, strata=COLUMNS, random=Seeded(3)) as writer:
        for number, day in enumerate(DAYS):
            reports = made_reports(QUESTION, 15, seed=number)
            rows = range(15)
            coded = pa.array([["x", "y"][(i + number) % 2] for i in rows]).dictionary_encode()
            kept = {
                "country": pa.array([countries[i % 3] for i in rows]),
                "age": pa.array([None if i == 4 else i % 4 for i in rows], pa.int64()),
                "paid": pa.array([None if i == 5 else i % 2 == 0 for i in rows]),
                "since": pa.array([DAYS[i % 2] for i in rows]),
                "coded": coded.cast(COLUMNS.field("coded").type),
            }
            writer.write(reports, day, kept)
    return pq.read_table(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files whose rows overlap, with small row groups and a few invalid reports."""
    place = tmp_path_factory.mktemp("selection")
    table = written(place / "whole.parquet")
    (place / "whole.parquet").unlink()
    chance = np.random.default_rng(1)
    reports = table.column("report").to_pylist()
    for spoiled in range(3, 60, 7):
        reports[spoiled] = INVALID
    at = table.schema.get_field_index("report")
    table = table.set_column(
        at, table.schema.field("report"), pa.array(reports, table.schema.field("report").type)
    )
    sorted_by_day = table.sort_by("day")
    picked = sorted_by_day.take([*range(45), 2, 2, 30])
    again = table.take(chance.permutation(60)[:35])
    for name, part in (("a.parquet", picked), ("b.parquet", again)):
        pq.write_table(part, place / name, row_group_size=8)
    return place


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[Row]:
    """All rows of the folder, in the order of files and rows."""
    found = []
    for path in sorted(folder.glob("*.parquet")):
        for row in pq.read_table(path).to_pylist():
            kept = {name: row[name] for name in ("day", *COLUMNS.names)}
            found.append(Row(row["id"], row["report"], kept))
    return found


def picked(rows: Sequence[Row], window: Days, distinct: bool) -> list[Row]:
    """The rows within the days, each id once if it is to be."""
    first, last = window
    inside = [
        row
        for row in rows
        if (first is None or row.kept["day"] >= first) and (last is None or row.kept["day"] <= last)
    ]
    if not distinct:
        return inside
    return list({row.id: row for row in reversed(inside)}.values())[::-1]


def name_of(value: Any) -> Any:
    return str(value) if isinstance(value, datetime.date) else value


def expected(rows: Sequence[Row], by: str | None) -> dict[Any, list[Row]]:
    """The valid rows of each group."""
    groups: dict[Any, list[Row]] = {}
    for row in rows:
        if row.is_valid:
            groups.setdefault(None if by is None else name_of(row.kept[by]), []).append(row)
    return groups


def tally(rows: Sequence[Row]) -> list[int]:
    flat = np.frombuffer(b"".join(row.report for row in rows), np.uint8).reshape(len(rows), -1)
    return [int(one) for one in QUESTION.mechanism.tally(flat)]


def check_summary(summary: Summary, rows: Sequence[Row]) -> None:
    assert summary.reports == len(rows)
    assert summary.tally.tolist() == tally(rows)
    assert (summary.contract, summary.question) == (CONTRACT.digest, "homepage")


# All days and ids with and without groups; of the other columns, some.
EVERY = list(itertools.product(WINDOWS, (False, True)))
SOME = [((None, None), False), (WINDOWS[3], True)]


@pytest.mark.parametrize(
    ("by", "workers", "choices"),
    [(None, 1, EVERY), ("country", 1, EVERY), *((by, 3, SOME) for by in GROUPS[1:])],
)
def test_counts_are_those_of_the_rows_that_were_meant(
    folder: Path, rows: list[Row], by: str | None, workers: int, choices: list[tuple[Days, bool]]
) -> None:
    for window, distinct in choices:
        mine = picked(rows, window, distinct)
        wanted = expected(mine, by)
        engine = LocalEngine(workers)
        told: list[tuple[int, int | None]] = []
        # Copies are counted only where a source is handed over, which was chosen so.
        chosen: Any = (
            {"path": folder, "by": by, "window": window, "distinct_ids": True}
            if distinct
            else {"path": ParquetSource(folder, CONTRACT, QUESTION, by=by, window=window)}
        )
        with count(
            CONTRACT,
            engine=engine,
            skip_invalid=True,
            on_progress=lambda done, total: told.append((done, total)),  # noqa: B023
            **chosen,
        ) as counted:
            totals = counted.totals
            assert counted.question == QUESTION
            assert counted.kept is not None
            left_out = len(picked(rows, window, False)) - len(mine)
            assert counted.repeated == (left_out if distinct else None)
            for stratum, group in wanted.items():
                passes = counted.kept.passes(stratum, len(group))
                again = passes.total(lambda reports, state: np.array([len(reports) * state]), 2)
                assert again.tolist() == [2 * len(group)]
        assert totals.skipped == sum(not row.is_valid for row in mine)
        assert set(totals.summaries) == set(wanted)
        for stratum, group in wanted.items():
            check_summary(totals.summaries[stratum], group)
        assert told == sorted(told)
        assert told[-1][0] == told[-1][1]


def in_order(groups: Iterator[Any]) -> list[Any]:
    """Groups as they are shown: numbers, then names, the unknown one last."""
    return sorted(
        groups, key=lambda one: (one is None, isinstance(one, str), one if one is not None else 0)
    )


@pytest.mark.parametrize(
    ("by", "method"),
    [(None, "auto"), (None, "em"), ("country", "em"), ("paid", "inversion")],
)
def test_an_analysis_is_that_of_its_rows(
    folder: Path, rows: list[Row], by: str | None, method: str
) -> None:
    window, view = WINDOWS[3], View(0.9, "people", True, 3)
    found = analyse(
        CONTRACT, folder, method=method, view=view, by=by, window=window, distinct_ids=True,
        skip_invalid=True, question="homepage", together=("news", "mail"),
    )  # fmt: skip
    mine = picked(rows, window, distinct=True)
    groups = expected(mine, by)
    told: Any = found.to_dict()
    assert told["reports"] == found.reports == sum(map(len, groups.values()))
    assert told["skipped"] == sum(not row.is_valid for row in mine) > 0
    assert told["repeated"] == len(picked(rows, window, False)) - len(mine)
    assert (told["collection"], told["question"]) == (CONTRACT.digest, "homepage")
    assert (told["level"], told["of"], told["simultaneous"]) == (0.9, "people", True)
    assert told["epsilon"] == pytest.approx(2.0)
    order = in_order(iter(groups))
    assert list(found.estimates) == order
    for stratum in order:
        alone = Summary(
            QUESTION.mechanism,
            len(groups[stratum]),
            np.array(tally(groups[stratum])),
            CONTRACT.digest,
            "homepage",
        )
        check_summary(found.totals.summaries[stratum], groups[stratum])
        if method != "em":
            same = analyse(CONTRACT, alone, method=method, view=view).estimates[None]
            assert found.estimates[stratum].columns(view) == same.columns(view)
    if by is None:
        assert "by" not in told
        assert told["share"]
        assert len(told["estimates"]) == 3
    else:
        assert told["by"] == by
        assert [(one["stratum"], one["reports"]) for one in told["strata"]] == [
            (stratum, len(groups[stratum])) for stratum in order
        ]
        assert all("share" in one and "diagnostics" in one for one in told["strata"])
        assert [row["stratum"] for row in told["estimates"]] == [s for s in order for _ in range(3)]
        shown = [f"{by} = {'(not known)' if one is None else one}\n" for one in order]
        assert all(line in found.table() for line in shown)
    text = found.table()
    assert text.startswith("homepage: What opens when you start the browser?\n\n")
    assert f"\n\n{told['skipped']} invalid reports were left out" in text
    assert text.endswith(f"\n\n{told['repeated']} repeated reports were left out")
    assert found.to_csv().splitlines()[0].split(",")[0] == ("value" if by is None else "stratum")


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an id twice": ({}, r"a\.parquet: every report must have an id of its own; got 3"),
    "an invalid report": ({"distinct_ids": True}, "every report must be valid"),
    "a column that is not there": ({"by": "size"}, r"public column of the reports \(day, country"),
    "an id": ({"by": "id"}, "public column of the reports"),
    "a report": ({"by": "report"}, "public column of the reports"),
    "days that are turned round": ({"window": (DAYS[1], DAYS[0])}, "must not be after the last"),
    "no days": (
        {"window": (DAYS[3] + datetime.timedelta(days=1), None)},
        "got none in .* of these days",
    ),
    "another question": ({"question": "medicine"}, "must answer question 'medicine'"),
    "no question": ({"question": "size"}, "size"),
    "no engine": ({"engine": "abacus"}, "an engine must be one of"),
    "no method": ({"method": "guessing", "question": "homepage"}, "guessing"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_refused(folder: Path, what: str) -> None:
    given, sentence = REFUSED[what]
    with pytest.raises(InputError, match=sentence):
        analyse(CONTRACT, folder, **given)


@pytest.mark.parametrize(
    "given", [{"by": "country"}, {"window": (DAYS[0], None)}, {"distinct_ids": True}]
)
def test_a_summary_has_nothing_left_to_choose(given: dict[str, Any], tmp_path: Path) -> None:
    summary = Summary.empty(QUESTION.mechanism, contract=CONTRACT.digest, question="homepage")
    summary.save(tmp_path / "s.rumor")
    for place in (summary, tmp_path / "s.rumor"):
        with pytest.raises(InputError, match="is a summary; got --by, --from, --to or --distinct"):
            analyse(CONTRACT, place, **given)


# What is handed on


def groups_of(notes: dict[str, Any]) -> dict[str, Summary]:
    return {group.name: group.summary for group in notes["groups"]}


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Collaborators:
    found = Collaborators(monkeypatch)
    for module in (comparing, combining):
        for name in ("compare_groups", "weigh_groups", "combine_groups"):
            if hasattr(module, name):
                found.stand(f"{module.__name__}:{name}")
    found.stand("rumor.analysis.trend.method:estimate_trend")
    found.stand("rumor.analysis.regress.method:regress_kind")
    return found


COUNTING = Counting(LocalEngine(2), WINDOWS[3], True, True)


def handed(held: Collaborators) -> tuple[str, dict[str, Any]]:
    """The one call that was made."""
    ((name, given),) = held.book.calls
    return name, dict(given)


def check_groups(found: dict[str, Summary], wanted: dict[str, list[Row]]) -> None:
    assert list(found) == list(wanted)
    for name, group in wanted.items():
        check_summary(found[name], group)
        assert found[name].mechanism is QUESTION.mechanism


def named(groups: dict[Any, list[Row]]) -> dict[str, list[Row]]:
    order = in_order(iter(groups))
    return {"(not known)" if one is None else str(one): groups[one] for one in order}


HEADING = "homepage: What opens when you start the browser?"


def test_groups_are_compared(folder: Path, rows: list[Row], held: Collaborators) -> None:
    comparing.compare_reports(
        CONTRACT, folder, by="country", against="DE", of="people", counting=COUNTING
    )
    name, given = handed(held)
    assert name == "compare_groups"
    mine = expected(picked(rows, WINDOWS[3], distinct=True), "country")
    check_groups(groups_of(given), named(mine))
    told = (given["kind"].name, given["against"], given["of"], given["options"], given["heading"])
    assert told == ("choice", "DE", "people", {}, HEADING)


def test_periods_are_compared(folder: Path, rows: list[Row], held: Collaborators) -> None:
    periods = [(DAYS[0], DAYS[1]), (DAYS[2], DAYS[2]), (DAYS[3], None)]
    everything = replace(COUNTING, window=(None, None))
    comparing.compare_reports(
        CONTRACT, folder, periods=periods, different_people=True, counting=everything
    )
    _, given = handed(held)
    names = [f"{DAYS[0]}..{DAYS[1]}", str(DAYS[2]), f"{DAYS[3]}.."]
    wanted = {
        name: expected(picked(rows, period, distinct=True), None)[None]
        for name, period in zip(names, periods, strict=True)
    }
    check_groups(groups_of(given), wanted)
    assert given["against"] is None
    assert [comparing.read_period(name) for name in names] == periods
    for day in DAYS[0], None:
        beside = replace(COUNTING, window=(day, DAYS[1]))
        with pytest.raises(InputError, match="got --from or --to as well"):
            comparing.compare_reports(CONTRACT, folder, periods=periods, counting=beside)


def test_files_are_compared(folder: Path, rows: list[Row], held: Collaborators) -> None:
    paths = sorted(folder.glob("*.parquet"))
    size = len(pq.read_table(paths[0]))
    comparing.compare_reports(CONTRACT, *paths, different_people=True, counting=COUNTING)
    _, given = handed(held)
    parts = {"a": rows[:size], "b": rows[size:]}
    wanted = {
        name: expected(picked(part, WINDOWS[3], distinct=True), None)[None]
        for name, part in parts.items()
    }
    check_groups(groups_of(given), wanted)
    for wrong in (
        {},
        {"by": "country", "periods": [WINDOWS[1]]},
        {"other": CONTRACT, "by": "country"},
    ):
        with pytest.raises(InputError, match=r"got [02] of these|got none"):
            comparing.compare_reports(CONTRACT, paths[0], **wrong)
    with pytest.raises(InputError, match="must be different files"):
        comparing.compare_reports(CONTRACT, paths[0], paths[0])


def test_groups_are_weighed(
    folder: Path, rows: list[Row], held: Collaborators, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text("country,people\nDE,3\nFR,1.5\n")
    stored = ReportSelection(CONTRACT, folder, "homepage", counting=COUNTING)
    combining.weigh_reports(stored, weights, of="people")
    name, given = handed(held)
    assert name == "weigh_groups"
    mine = expected(picked(rows, WINDOWS[3], distinct=True), "country")
    check_groups(groups_of(given), named(mine))
    assert (given["weights"], given["of"]) == ({"DE": 3.0, "FR": 1.5}, "people")
    with pytest.raises(
        InputError, match="the column that groups are by, 'age'; got one of 'country'"
    ):
        combining.weigh_reports(stored, weights, by="age")


@pytest.mark.parametrize("weights", [None, {"a": 1.0, "b": 2.0}])
def test_sources_are_combined(
    folder: Path, rows: list[Row], held: Collaborators, weights: dict[str, float] | None
) -> None:
    paths = sorted(folder.glob("*.parquet"))
    size = len(pq.read_table(paths[0]))
    combining.combine_reports(
        [(CONTRACT, path) for path in paths], weights=weights, chosen=weights is not None,
        different_people=True, of="people", counting=COUNTING,
    )  # fmt: skip
    name, given = handed(held)
    assert name == ("combine_groups" if weights is None else "weigh_groups")
    parts = {"a": rows[:size], "b": rows[size:]}
    wanted = {
        key: expected(picked(part, WINDOWS[3], distinct=True), None)[None]
        for key, part in parts.items()
    }
    check_groups(groups_of(given), wanted)
    assert (given["of"], given["heading"]) == ("people", HEADING)
    assert given.get("weights") == weights
    with pytest.raises(InputError, match="give each source's share of the population"):
        combining.combine_reports([(CONTRACT, path) for path in paths], chosen=True)
    with pytest.raises(InputError, match="several sources are combined; got 1"):
        combining.combine_reports([(CONTRACT, paths[0])])


def test_days_are_followed(folder: Path, rows: list[Row], held: Collaborators) -> None:
    counting = Counting(LocalEngine(2), distinct_ids=True, skip_invalid=True)
    following.follow_reports(ReportSelection(CONTRACT, folder, None, True, counting), "week")
    name, given = handed(held)
    mine = expected(picked(rows, (None, None), distinct=True), "day")
    found = given["days"]
    assert list(found) == DAYS
    check_groups({str(day): one for day, one in found.items()}, named(mine))
    assert (name, given["every"], given["heading"]) == ("estimate_trend", "week", HEADING)


def test_columns_explain_what_they_stand_beside(
    folder: Path, rows: list[Row], held: Collaborators
) -> None:
    counting = Counting(window=WINDOWS[3], distinct_ids=True, skip_invalid=True)
    stored = ReportSelection(CONTRACT, folder, "homepage", counting=counting)
    regressing.regress_reports(stored, "homepage ~ age + coded", "news")
    name, given = handed(held)
    chosen = [row for row in picked(rows, WINDOWS[3], distinct=True) if row.is_valid]
    mine = sorted(chosen, key=rows.index)
    assert given["reports"].tobytes() == b"".join(row.report for row in mine)
    columns = given["columns"].to_pydict()
    assert columns == {key: [row.kept[key] for row in mine] for key in ("age", "coded")}
    told = (name, given["formula"], given["reference"], given["heading"])
    assert told == (
        "regress_kind",
        "homepage ~ age + coded",
        "news",
        f"{HEADING}\nhomepage ~ age + coded",
    )
    with pytest.raises(InputError, match="a formula names public columns"):
        regressing.regress_reports(stored, "homepage ~ 1")
    copied = replace(stored, counting=replace(counting, distinct_ids=False))
    with pytest.raises(InputError, match="a regression takes no copies: --distinct-ids"):
        regressing.regress_reports(copied, "homepage ~ age")


@pytest.mark.parametrize("layout", ["files", "folders", "exported", "parts"])
def test_a_folder_of_several_questions_says_where_those_of_one_are(
    tmp_path: Path, layout: str
) -> None:
    contract = tmp_path / "two.toml"
    head = 'name = "Two"\nseries = "two"\ncontact = "privacy@example.org"\nusers = 20\n'
    each = '[[questions]]\nid = "{}"\nkind = "choice"\ntext = "?"\ndomain = 2\nepsilon = 1.0\n'
    contract.write_text(head + each.format("saves") + each.format("age"))
    (tmp_path / "answers.csv").write_text("saves,age\n" + "0,1\n" * 20)
    rumor.privatize(contract, tmp_path / "answers.csv", tmp_path / "r.parquet")
    folder = tmp_path / "all"
    places = {
        "files": ("r-age.parquet", "r-saves.parquet"),
        "folders": ("of age/r.parquet", "of saves/r.parquet"),
        "exported": ("question=age/r.parquet", "question=saves/r.parquet"),
        "parts": ("of age/1/r.parquet", "r.parquet"),
    }[layout]
    for question, place in zip(("age", "saves"), places, strict=True):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"r-{question}.parquet").rename(folder / place)
    named = {"files": places[0], "parts": "of age/1"}.get(layout, places[0].partition("/")[0])
    ending = f"got reports of 'age', 'saves' (name those of 'age' alone: {folder / named})"
    with pytest.raises(InputError) as problem:
        rumor.estimate(contract, folder)
    assert str(problem.value) == f"{folder}: the reports must answer one question; {ending}"
    if layout == "exported":
        assert rumor.estimate(contract, folder, question="age").reports == 20
    else:
        with pytest.raises(InputError) as problem:
            rumor.estimate(contract, folder, question="age")
        assert str(problem.value) == f"{folder}: the reports must answer question 'age'; {ending}"
    assert rumor.estimate(contract, folder / named).reports == 20
    if layout in ("files", "parts"):  # a folder that holds the others too is not named
        with pytest.raises(InputError) as problem:
            rumor.estimate(contract, folder, question="saves")
        assert str(problem.value).endswith(f"of 'saves' alone: {folder / places[1]})")
