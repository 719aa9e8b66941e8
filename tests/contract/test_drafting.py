"""Collections that are begun from a table: what a column looks like, at each edge."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.contract import table_columns
from rumor.contract.collection import Collection
from rumor.contract.drafting import Draft, TableDraft, draft_questions, expected_errors
from rumor.contract.table_columns import NO_ANSWER, TableColumn
from rumor.core import table_files
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.value_labels import ColumnLabels
from rumor.kinds import KINDS


def drafted(folder: Path, **columns: list[Any]) -> list[dict[str, Any]]:
    """Return the questions that are guessed from columns of one length."""
    return [dict(one) for one in draft(folder, **columns).questions]


def draft(folder: Path, only: Sequence[str] = (), **columns: list[Any]) -> TableDraft:
    """Return the draft of columns of one length."""
    return draft_questions(table_of(folder, columns), 2.0, only)


def table_of(folder: Path, columns: Mapping[str, list[Any]]) -> Path:
    """Write columns of one length to a table."""
    rows = max(map(len, columns.values()))
    cells = [[*column, *[""] * (rows - len(column))] for column in columns.values()]
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*cells, strict=True))]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def words(count: int) -> list[str]:
    return [f"w{number:02}" for number in range(count)]


GUESSED: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "two texts": (["b", "a", "b"], {"kind": "choice", "labels": ["a", "b"]}),
    "one text": (["a", "a"], {"kind": "choice", "labels": ["a", "other"]}),
    "fifty texts": (words(50) * 2, {"kind": "choice", "labels": words(50)}),
    "fifty-one texts": (words(51) * 2, {"kind": "text", "words": "open"}),
    "two numbers": ([7, 9, 7], {"kind": "choice", "labels": ["7", "9"]}),
    "two numbers far apart": ([0, 99], {"kind": "choice", "labels": ["0", "99"]}),
    "a scale": ([1, 2, 3], {"kind": "ordered", "labels": ["1", "2", "3"]}),
    "a scale of 13": (
        [0, 5, 12],
        {"kind": "ordered", "labels": [str(point) for point in range(13)]},
    ),
    "a range of 14": ([0, 5, 13], {"kind": "number", "low": 0, "high": 20, "outside": "clip"}),
    "halves": ([0.5, 1, 2], {"kind": "number", "low": 0, "high": 2, "outside": "clip"}),
    "nothing but 0": ([0], {"kind": "number", "low": -1e-09, "high": 1e-09, "outside": "clip"}),
    "tens": ([15, 41, 88], {"kind": "number", "low": 10, "high": 90, "outside": "clip"}),
    "round ends": ([10, 55, 90], {"kind": "number", "low": 10, "high": 90, "outside": "clip"}),
    "hundredths": (
        [0.123, 0.5, 0.456],
        {"kind": "number", "low": 0.1, "high": 0.5, "outside": "clip"},
    ),
}


@pytest.mark.parametrize("name", GUESSED)
def test_what_a_column_looks_like(name: str, tmp_path: Path) -> None:
    cells, expected = GUESSED[name]
    (found,) = drafted(tmp_path, asked=cells)
    assert found == {"id": "asked", "text": "asked", **expected, "epsilon": 2.0}


def test_columns_have_ids_of_their_own_and_keep_their_names(tmp_path: Path) -> None:
    columns = {"plain": ["a", "b"], "A b": ["a", "b"], "a B": ["a", "b"], "a-b": ["a", "b"]}
    found = drafted(tmp_path, **columns, empty=["", ""])
    assert [(one["id"], one["text"], one.get("column")) for one in found] == [
        ("plain", "plain", None),
        ("a-b-1", "A b", "A b"),
        ("a-b-2", "a B", "a B"),
        ("a-b-3", "a-b", "a-b"),
    ]


def test_a_draft_is_a_file_that_can_be_read(tmp_path: Path) -> None:
    draft = Draft("My table", "a@example.org", 7, drafted(tmp_path, asked=[1, 2, 3]), "# note\n")
    read = tomllib.loads(draft.text)
    assert draft.text.startswith("# note\n")
    assert (read["name"], read["series"], read["contact"]) == (
        "My table",
        "my-table",
        "a@example.org",
    )
    assert read["users"] == 7
    assert draft.check().question().id == "asked"


def test_few_distinct_numbers_become_labels(tmp_path: Path) -> None:
    brackets = [2500, 7500, 15000, 35000, 75000]
    (found,) = drafted(tmp_path, income=brackets * 20)
    assert found["kind"] == "ordered"
    assert found["labels"] == [str(value) for value in brackets]
    # In few rows anything has few values; and one number written in two ways is no label.
    assert drafted(tmp_path, income=brackets * 19)[0]["kind"] == "number"
    assert drafted(tmp_path, income=["2500.0", *brackets] * 20)[0]["kind"] == "number"


def test_cells_that_list_options_are_sets(tmp_path: Path) -> None:
    cells = ["bus|car", "car", "", "bike | bus", "bike|bus|car"] * 4
    found = draft(tmp_path, ways=cells, other=["x"] * 20)
    assert found.questions[0]["labels"] == ["bike", "bus", "car"]
    assert found.questions[0]["kind"] == "set"
    assert "ways" not in found.notes  # who chose nothing has answered


def test_blanks_become_an_answer_where_there_are_labels(tmp_path: Path) -> None:
    columns: dict[str, list[Any]] = {
        "smokes": ["yes", "no", "", ""],
        "rating": [1, 2, 5, ""],
        "spent": [1.5, 20, 7.25, ""],
        "said": ["yes", "no", "No answer", ""],
    }
    found = draft(tmp_path, (), **columns)
    assert found.questions[0]["labels"] == ["no", "yes", "no answer"]
    assert found.questions[3]["labels"] == ["No answer", "no", "yes"]
    assert "2 rows are blank" in found.notes["smokes"]
    assert '--missing "no answer"' in found.notes["smokes"]
    assert found.notes["rating"].endswith("--missing drop leaves them out")
    assert found.notes["spent"].startswith("1 row is blank")


def hexes(count: int) -> list[str]:
    return [f"{number * 2654435761 % 2**32:08x}" for number in range(1, count + 1)]


SKIPPED: dict[str, tuple[str, list[Any], str]] = {
    "an id": ("user_id", [1, 1, 2], "names people"),
    "an id in camel case": ("customerId", ["a", "b", "a"], "names people"),
    "a name": ("last name", ["Ann", "Bob"], "names people"),
    "codes": ("code", hexes(20), "another code in every row"),
    "numbers of rows": ("nr", list(range(7, 27)), "numbers the rows"),
    "dates": ("born", ["1970-01-02", "1980-03-04"], "is a time"),
    "timestamps": ("seen", ["2026-03-02T10:00:00+01:00", "2026-03-02 11:00:00Z"], "is a time"),
    "days of Europe": ("seen", ["2.3.2026", "31.12.2026"], "is a time"),
    "seconds": ("ts", [1767225600, 1767225601], "is a time"),
    "a weight": ("final_weight", [0.5, 1.25], "is a weight"),
    "addresses": ("contact", ["a@example.org", "b@example.org"], "holds addresses"),
    "free text": ("comment", [f"what I say is {w}" for w in words(60)], "is free text"),
}


@pytest.mark.parametrize("name", SKIPPED)
def test_what_is_no_answer_is_left_out_with_the_reason(name: str, tmp_path: Path) -> None:
    column, cells, reason = SKIPPED[name]
    columns = {column: cells, "asked": ["yes", "no"] * (len(cells) // 2 + 1)}
    columns["asked"] = columns["asked"][: len(cells)]
    found = draft(tmp_path, **columns)
    assert [question["id"] for question in found.questions] == ["asked"]
    assert reason in found.skipped[column]
    # Asked for by name, it is a question all the same.
    assert [question["text"] for question in draft(tmp_path, [column], **columns).questions] == [
        column
    ]


ASKED: dict[str, tuple[str, list[Any]]] = {
    "nineteen codes": ("code", hexes(19)),
    "amounts": ("paid", [3, 8, 20, *range(50, 90, 2)]),
    "a small number with the name of a time": ("day", [1, 2, 3]),
    "words": ("word", [f"{w} x" for w in words(60)]),
    "a word that has weight in it": ("weightless", ["yes", "no"]),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_may_be_an_answer_is_asked(name: str, tmp_path: Path) -> None:
    column, cells = ASKED[name]
    assert not draft(tmp_path, **{column: cells}).skipped


def test_columns_such_as_countries_are_groups_of_the_contract(tmp_path: Path) -> None:
    # Of 7,000 respondents, a hundred or more are expected in a group that is named.
    country = ["FR"] * 30 + ["DE"] * 67 + ["IT"] * 2 + ["other"]
    table = table_of(tmp_path, {"Country": country, "page": ["a", "b"] * 50})
    found = draft_questions(table, 2.0, users=7_000)
    assert [question["id"] for question in found.questions] == ["page"]
    (group,) = found.groups.values()
    assert (group.name, group.values) == ("country", ("DE", "FR", "IT", "other"))
    assert (group.smallest, group.share, found.smallest) == ("IT", 0.02, group)
    few = draft_questions(table, 2.0, users=4_999)
    assert few.groups["Country"].values == ("DE", "FR", "other")
    made = Draft("T", "a@example.org", 7, found.questions, "", {"country": group.values})
    groups = made.check().groups
    assert groups is not None
    assert groups.columns == (("country", ("DE", "FR", "IT", "other")),)


def test_groups_are_asked_for_where_there_is_nothing_else(tmp_path: Path) -> None:
    found = draft(tmp_path, country=["FR", "DE", "FR"])
    assert ([question["id"] for question in found.questions], found.groups) == (["country"], {})
    asked = draft(tmp_path, ["country"], country=["FR", "DE", "FR"], page=["a", "b", "a"])
    assert ([question["id"] for question in asked.questions], asked.groups) == (["country"], {})


def test_groups_have_no_more_combinations_than_a_contract_may(tmp_path: Path) -> None:
    many = {
        name: [f"{i % 12}x" for i in range(48)] for name in ("country", "city", "language", "os")
    }
    table = table_of(tmp_path, {"page": ["a", "b"] * 24, **many})
    found = draft_questions(table, 2.0, users=100_000)
    assert list(found.groups) == ["country", "city"]
    assert [question["id"] for question in found.questions] == ["page", "language", "os"]


def test_a_table_without_answers_says_why(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"got none \(user_id: names people.*--only"):
        draft(tmp_path, user_id=[1, 2])
    with pytest.raises(InputError, match=r"must have a column 'usr_id'.*did you mean 'user_id'"):
        draft(tmp_path, ["usr_id"], user_id=[1, 2])


@pytest.mark.parametrize("name", KINDS)
def test_a_plan_knows_the_error_of_every_kind_or_says_nothing(name: str) -> None:
    spec = {**KINDS[name].example().spec, "id": "a", "kind": name}
    head = {"name": "T", "series": "t", "contact": "nobody"}
    collection = Collection.resolve({**head, "questions": [{**spec, "epsilon": 1.0}]})
    errors = expected_errors(collection, 10_000)
    assert errors or name in ("text", "words", "keyvalue", "joint")


def test_init_ends_with_the_cost_and_the_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("user_id,page,country\n" + "1,a,DE\n1,b,FR\n2,,DE\n" * 9)
    line = ["init", "c.toml", "--from", "t.csv", "--epsilon", "0.7", "--users", "5000"]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert "c.toml: 1 question." in said
    assert "user_id is left out: it names people" in said
    assert "page: 9 rows are blank" in said
    assert "country is sent in the clear with every report, as a group: DE, FR, other" in said
    assert "a respondent who answers the question spends epsilon 0.7" in said
    # The very numbers of the plan.
    for users, start in (
        (5_000, "standard error with 5,000 respondents, as rumor plan says"),
        (1_667, "in the smallest group (country FR, about 1,667 respondents)"),
    ):
        line = ["plan", "--domain", "3", "--users", str(users), "--epsilon", "0.7", "--json"]
        assert main(line) == 0
        options = json.loads(capsys.readouterr().out)["options"]
        planned = min(one["standard_error"] for one in options)
        assert f"{start}: page {planned:.2%}" in said
    assert main(["init", "d.toml", "--from", "t.csv", "--only", "page", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["questions"], facts["skipped"]) == (["page"], {})


def test_a_table_with_a_country_becomes_estimates_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("Country,page\n" + "DE,a\nFR,b\nDE,b\n" * 200)
    assert main(["init", "c.toml", "--from", "t.csv"]) == 0
    assert "rumor privatize --column country=Country" in capsys.readouterr().out
    given = ["--column", "country=Country", "--seed", "1"]
    assert main(["privatize", "c.toml", "t.csv", "-o", "r.parquet", *given]) == 0
    capsys.readouterr()
    assert main(["estimate", "c.toml", "r.parquet", "--by", "country", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["strata"]
    assert {one["stratum"]: one["reports"] for one in found} == {"DE": 400, "FR": 200}


def test_init_without_anybody_at_the_terminal_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["init"]) == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "reads a table (--from TABLE); got the end of the input" in said
    assert "bug" not in said
    assert not list(tmp_path.iterdir())


# --- One step from every edge ------------------------------------------------------------------


def column(*cells: object, name: str = "asked", blanks: int = 0) -> TableColumn:
    return TableColumn(name, tuple(map(str, cells)), blanks)


EDGES: dict[str, tuple[TableColumn, str | None]] = {
    "three words to a cell": (column(*(f"a b {w}" for w in words(51))), None),
    "a word more": (column(*(f"a b {w}" for w in words(50)), "a b c d"), "is free text"),
    "few long texts": (column(*(f"a b c d {w}" for w in words(50))), None),
    "a small number of seconds": (column(10**8, 10**8 + 9, name="seen-time"), None),
    "seconds": (column(10**8 + 1, 10**8 + 9, name="seen-time"), "is a time"),
    "half of them addresses": (column("a@b", "c"), None),
    "most of them addresses": (column("a@b", "a@b", "c"), "holds addresses"),
    "twenty in a row": (column(*range(7, 27)), "numbers the rows"),
    "nineteen in a row": (column(*range(7, 26)), None),
    "one left out": (column(*range(7, 26), 27), None),
    "codes but one": (column(*hexes(19), hexes(1)[0]), None),
    "codes": (column(*hexes(20)), "has another code in every row"),
    "a weight that is none": (column("a", name="weight"), None),
    "a weight": (column("1,5".replace(",", "."), name="weight"), "is a weight of the rows"),
}


@pytest.mark.parametrize("name", EDGES)
def test_a_column_is_left_out_beyond_an_edge(name: str) -> None:
    one, start = EDGES[name]
    reason = one.reason_to_skip()
    assert (reason is None) == (start is None)
    assert start is None or str(reason).startswith(start)


KINDS_OF: dict[str, tuple[TableColumn, dict[str, object]]] = {
    "twenty numbers in 400 rows": (
        column(*(100 * n for n in range(20) for _ in range(20))),
        {"kind": "ordered", "labels": [str(100 * n) for n in range(20)]},
    ),
    "twenty numbers in 399 rows": (
        column(*[100 * n for n in range(20) for _ in range(20)][1:]),
        {"kind": "number", "low": 0, "high": 2_000, "outside": "clip"},
    ),
    "21 numbers in 420 rows": (
        column(*(100 * n for n in range(21) for _ in range(20))),
        {"kind": "number", "low": 0, "high": 2_000, "outside": "clip"},
    ),
    "two options": (column("b|a", "a"), {"kind": "set", "labels": ["a", "b"]}),
    "one option and a mark": (column("a|", "a"), {"kind": "choice", "labels": ["a", "a|"]}),
    "fifty options": (column("|".join(words(50))), {"kind": "set", "labels": words(50)}),
    "51 options": (
        column("|".join(words(51))),
        {"kind": "choice", "labels": ["|".join(words(51)), "other"]},
    ),
    "one text and blanks": (
        column("a", blanks=1),
        {"kind": "choice", "labels": ["a", NO_ANSWER]},
    ),
    "a label for no answer": (
        column("a", "No Answer", blanks=1),
        {"kind": "choice", "labels": ["No Answer", "a"]},
    ),
    "below 0": (
        column(-12.5, -3, 4.25),
        {"kind": "number", "low": -20, "high": 10, "outside": "clip"},
    ),
    "a small range far away": (
        column(1000.5, 1000.75, 1000.625),
        {"kind": "number", "low": 1000.5, "high": 1000.8, "outside": "clip"},
    ),
    "a scale below 0": (
        column(-1, 0, 1),
        {"kind": "ordered", "labels": ["-1", "0", "1"]},
    ),
}


@pytest.mark.parametrize("name", KINDS_OF)
def test_a_column_has_the_kind_of_its_side_of_an_edge(name: str) -> None:
    one, kind = KINDS_OF[name]
    assert one.guess_kind() == kind


def test_labels_of_the_file_come_before_what_cells_look_like() -> None:
    for count, is_ordered, blanks, kind in (
        (3, False, 0, "choice"), (3, True, 0, "ordered"), (3, True, 2, "choice"),
        (50, False, 0, "choice"), (51, False, 0, "choice"), (0, True, 0, "choice"),
    ):  # fmt: skip
        known = ColumnLabels(values=tuple(words(count)), is_ordered=is_ordered)
        found = TableColumn("c", ("w00", "w01"), blanks, known).guess_kind()
        assert found["kind"] == kind
        shown = words(count) if 0 < count <= 50 else ["w00", "w01"]
        assert found["labels"] == [*shown, *([NO_ANSWER] if blanks else [])]
    assert TableColumn("c", ("a",), 0, ColumnLabels(text="Why?")).text == "Why?"
    assert column("a").text == "asked"


def test_groups_are_two_to_twenty_with_enough_people() -> None:
    def group(counts: Mapping[str, int], blanks: int = 0, users: int = 1_000) -> object:
        cells = [value for value, count in counts.items() for _ in range(count)]
        found = column(*cells, name="App-Version", blanks=blanks).as_group(users)
        return None if found is None else (found.name, found.values, found.smallest, found.share)

    assert group({"a": 10}) is None
    assert group({"a": 9, "b": 1}) == ("app_version", ("a", "b", "other"), "b", 0.1)
    # A hundred of a thousand, of rows without a group too.
    assert group({"a": 9, "b": 1}, users=999) == ("app_version", ("a", "other"), "a", 0.9)
    assert group({"a": 9, "b": 1}, blanks=10) == ("app_version", ("a", "other"), "a", 0.45)
    assert group({"a": 1, "b": 1}, blanks=20) is None
    assert group({"a": 5, "other": 5}) == ("app_version", ("a", "other"), "a", 0.5)
    for count, is_group in ((20, True), (21, False)):
        found = group(dict.fromkeys(words(count), 1), users=100 * count)
        assert (found is not None) == is_group
    assert column("a", "b", name="page").as_group(1_000) is None


def test_the_first_rows_of_a_long_table_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_BATCH_ROWS", 4)
    table = AnswerTable.of({"c": ["a", None, " b ", "", "c", "d", "e", "f"]})
    assert table_columns._text(float("nan")) == table_columns._text(None) == ""
    assert table_columns._text(["x", None, " y"]) == "x|y"
    for most, cells_read, blanks in ((8, "abcdef", 2), (7, "abcde", 2), (4, "ab", 2), (3, "ab", 1)):
        monkeypatch.setattr(table_columns, "_READ_ROWS", most)
        found = table_columns.read_column(table, "c")
        assert (found.cells, found.blanks) == (tuple(cells_read), blanks)
    monkeypatch.setattr(table_columns, "_READ_ROWS", 100)
    numbers = AnswerTable.of({"c": ["1,5", "2", "", "-3,25"]})
    assert table_columns.read_column(numbers, "c").cells == ("1.5", "2", "-3.25")
    mixed = AnswerTable.of({"c": ["1,5", "2.0"]})
    assert table_columns.read_column(mixed, "c").cells == ("1,5", "2.0")
