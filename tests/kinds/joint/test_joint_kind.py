"""Joint answers end to end: by name, as text, as rows, as pictures, before and after asking."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import AnswerError, InputError
from rumor.kinds import KINDS
from rumor.kinds.joint.result import JointEstimate
from rumor.kinds.joint.simulate import true_rows
from rumor.kinds.planning.plan import make_plan
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.results.intervals import EqualTails

PARTS = [
    {"id": "smokes", "labels": ["yes", "no"]},
    {"id": "drinks", "labels": ["never", "some, at most", "much"]},
]
TRUTH = np.array([0.03, 0.10, 0.12, 0.27, 0.33, 0.15])


def collection(parts: object = PARTS, **more: object) -> Collection:
    asked = {"id": "habits", "kind": "joint", "parts": parts, "epsilon": 1.0, **more}
    spec = {"name": "N", "series": "s", "contact": "a@b.example", "questions": [asked]}
    return Collection.resolve(spec)


@pytest.fixture(scope="module")
def result() -> JointEstimate:
    mixed = Mixed(parts=PARTS, epsilon=1.0)
    people = np.random.default_rng(1).choice(6, size=40_000, p=TRUTH)
    return rumor.estimate(mixed, mixed.privatize(people, random=rumor.Seeded(9)))


def test_shares_are_asked_by_name(result: JointEstimate) -> None:
    both = result.share({"drinks": "much", "smokes": "yes"})
    assert both.low < 0.12 < both.high
    assert both.value == result.pair("drinks", "smokes").shares[0, 2]
    smokers = result.share({"smokes": "yes"}, level=0.99)
    assert smokers.low < 0.25 < smokers.high
    assert smokers.value == pytest.approx(result.pair().shares[0].sum(), abs=1e-12)
    wide, narrow = (result.share({"smokes": "yes"}, level=level) for level in (0.99, 0.8))
    assert wide.high - wide.low > narrow.high - narrow.low
    for wrong, said in (
        ({}, "one or two of the parts smokes, drinks"),
        ({"age": "1"}, "one or two of the parts"),
        ({"smokes": "yes", "age": "1"}, "got ['smokes', 'age']"),
        ({"smokes": "often"}, "a share of 'smokes' is of one of its values; got 'often'"),
    ):
        with pytest.raises(InputError) as problem:
            result.share(wrong)
        assert said in str(problem.value)
    with pytest.raises(InputError, match="a table is of two of the parts smokes, drinks"):
        result.pair("smokes", "age")


def test_rows_of_one_table_are_added_up(result: JointEstimate) -> None:
    names = [f"smokes yes, drinks {name}" for name in ("never", "some, at most", "much")]
    share, whole = (
        result.together(names, rumor.View()),
        result.together(["smokes yes"], rumor.View()),
    )
    assert share.unbiased == pytest.approx(whole.unbiased)
    assert share.stderr == pytest.approx(whole.stderr)
    assert share.low < 0.25 < share.high
    for wrong in (["tea"], ["smokes yes", "drinks much"], ["smokes yes", "smokes yes"], []):
        with pytest.raises(InputError, match="a share is of rows of one table"):
            result.together(wrong, rumor.View())


def test_how_the_answers_go_together(result: JointEstimate) -> None:
    table = result.pair()
    assert table.test.p_value < 1e-6
    assert table.test.degrees == 2
    assert table.independence < 1e-3
    strength = table.cramers_v()
    assert strength.low < 0.31 < strength.high
    odds = table.odds_ratio(columns=("much", "never"))
    assert odds.low < 0.12 * 0.27 / (0.03 * 0.15) < odds.high
    assert odds.value == pytest.approx(1 / table.odds_ratio(columns=("never", "much")).value)
    for wrong in (None, ("much", "much"), ("much", "tea")):
        with pytest.raises(InputError, match="an odds ratio is of two values of 'drinks'"):
            table.odds_ratio(columns=wrong)
    low, high = table.ratio_interval(1.959964)
    truth = TRUTH.reshape(2, 3)
    ratio = truth / np.outer(truth.sum(axis=1), truth.sum(axis=0))
    # Six intervals of 95 %: five of them hold the truth, on this seed all.
    assert ((low <= ratio.ravel()) & (ratio.ravel() <= high)).all()
    assert ((low <= table.ratio.ravel()) & (table.ratio.ravel() <= high)).all()


def test_rows_have_a_key_for_each_part_and_margins_leave_the_other_null(
    result: JointEstimate,
) -> None:
    told: Any = result.to_dict()
    rows = told["estimates"]
    assert [(row["smokes"], row["drinks"]) for row in rows] == [
        *((a, b) for a in ("yes", "no") for b in ("never", "some, at most", "much")),
        ("yes", None),
        ("no", None),
        *((None, b) for b in ("never", "some, at most", "much")),
    ]
    assert sum(row["frequency"] for row in rows[:6]) == pytest.approx(1)
    assert rows[6]["ratio"] is None
    assert all(row["low"] <= row["frequency"] <= row["high"] for row in rows)
    assert told["asked"][0]["parts"] == ["smokes", "drinks"]
    assert sum(one["reports"] for one in told["asked"]) == 40_000
    (table,) = told["tables"]
    assert set(table) == {
        "parts",
        "looks",
        "independence",
        "cramers_v",
        "odds_ratio",
        "weight_of_independence",
    }
    json.dumps(told, allow_nan=False)
    read = list(csv.DictReader(io.StringIO(result.to_csv())))
    assert read[1]["drinks"] == "some, at most"
    assert read[6]["drinks"] == ""
    assert result.to_arrow().column("smokes").null_count == 3
    everything = result.columns(simultaneous=True)
    assert everything["low"][4] < result.columns()["low"][4]  # type: ignore[operator]
    with pytest.raises(InputError, match='intervals of the "population" only'):
        result.columns(of="people")


def test_the_text_is_a_cross_table(result: JointEstimate) -> None:
    lines = result.table().split("\n")
    assert lines[0].split() == [
        "smokes",
        "\\",
        "drinks",
        "never",
        "some,",
        "at",
        "most",
        "much",
        "all",
    ]
    assert lines[1].split()[0] == "yes"
    share = result.share({"smokes": "yes"})
    assert lines[1].split()[-1] == f"{100 * share.value:.2f}%"
    assert lines[2].split()[-3:] == [f"{100 * share.low:.2f}", "to", f"{100 * share.high:.2f}"]
    assert lines[5].split()[-1] == "100%"
    text = result.table()
    for said in ("chi-squared", "Cramer's V", "furthest from independence: smokes yes with drinks"):
        assert said in text
    assert "odds ratio" not in text


def test_two_by_two_has_its_odds_ratio_and_it_may_have_no_end() -> None:
    mixed = Mixed(parts=(2, 2), epsilon=1.0)
    people = np.array([0, 0, 0, 3, 3, 1] * 20)
    found = rumor.estimate(mixed, mixed.privatize(people, random=rumor.Seeded(3)))
    assert "or more)" in found.table()
    told: Any = found.to_dict()
    assert told["tables"][0]["odds_ratio"]["high"] is None
    json.dumps(told, allow_nan=False)


def test_both_methods_are_tables_and_share_their_intervals() -> None:
    mixed = Mixed(parts=(3, 3), epsilon=1.0)
    people = np.random.default_rng(4).choice(9, size=2_000)
    reports = mixed.privatize(people, random=rumor.Seeded(5))
    bayes, linear = (rumor.estimate(mixed, reports, method=m) for m in ("auto", "linear"))
    assert (bayes.method, linear.method) == ("bayes", "linear")
    np.testing.assert_array_equal(bayes.unbiased, linear.unbiased)
    flat = np.abs(bayes.pair().shares - 1 / 9).max()
    assert flat < np.abs(linear.pair().shares - 1 / 9).max(), "drawn towards independence"
    for one in (bayes, linear):
        assert one.frequency.min() >= 0
        assert one.pair().shares.sum() == pytest.approx(1)


def test_three_parts_have_consistent_tables_and_four_are_asked_by_pairs() -> None:
    mixed = Mixed(parts=(3, 3, 3), epsilon=1.0)
    people = np.random.default_rng(6).choice(27, size=5_000)
    found = rumor.estimate(mixed, mixed.privatize(people, random=rumor.Seeded(7)))
    assert list(found.tables) == [(0, 1), (0, 2), (1, 2)]
    for pair, table in found.tables.items():
        np.testing.assert_allclose(table.shares.sum(axis=1), found.margins[pair[0]], atol=1e-6)
        np.testing.assert_allclose(table.shares.sum(axis=0), found.margins[pair[1]], atol=1e-6)
    rows: Any = found.to_dict()["estimates"]
    assert len(rows) == 3 * 9 + 3 * 3
    assert [rows[9][key] for key in "012"] == ["0", None, "0"]
    assert found.plot().to_dict()["vconcat"][2]
    with pytest.raises(InputError, match="a table is of two of the parts 0, 1, 2"):
        found.pair()
    four = Mixed(parts=(2, 3, 2, 3), epsilon=0.5)
    few = rumor.estimate(four, four.privatize(np.arange(36), random=rumor.Seeded(8)))
    assert few.reports == 36
    assert np.isfinite(few.frequency).all()


def test_pictures_are_mosaics_where_cells_are_few(result: JointEstimate, tmp_path: Path) -> None:
    spec = result.plot(tmp_path / "table.svg", title="Habits").to_dict()
    (panel,) = spec["vconcat"]
    assert len(panel["layer"]) == 4
    tiles = next(iter(spec["datasets"].values())) if "datasets" in spec else None
    tiles = tiles or panel["layer"][0]["data"]["values"]
    area = sum((t["x2"] - t["x"]) * (t["y"] - t["y2"]) for t in tiles)
    assert area == pytest.approx(1)
    for tile in tiles:
        assert (tile["x2"] - tile["x"]) * (tile["y"] - tile["y2"]) == pytest.approx(tile["share"])
        assert tile["low"] <= tile["share"] <= tile["high"]
    assert "Habits" in (tmp_path / "table.svg").read_text()
    mixed = Mixed(parts=(3, 4), epsilon=2.0)
    larger = rumor.estimate(
        mixed, mixed.privatize(np.arange(12).repeat(50), random=rumor.Seeded(1))
    )
    truth = true_rows(mixed.parts, np.full(12, 1 / 12))
    layers = larger.plot(truth=truth).to_dict()["vconcat"][0]["layer"]
    assert [layer["mark"]["type"] for layer in layers] == ["rect", "text", "text", "text"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"parts": [{"id": "a", "labels": ["x", "y"]}]}, "2 to 4 of them"),
        ({"parts": [2, 2]}, "each part must have an id and labels"),
        ({"parts": [{**PARTS[0], "id": "frequency"}, PARTS[1]]}, "a column of results"),
        ({"mechanism": "wave"}, "a mechanism must be one of auto, mixed; got 'wave'"),
        ({"mechanism": {"name": "mixed", "pairs": 1}}, "did you mean 'pair'?"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
    ],
)
def test_wishes_that_break_a_rule_are_refused(more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as problem:
        collection(**{"parts": PARTS, **more})
    assert said in str(problem.value)


def test_a_question_needs_parts_and_epsilon() -> None:
    kind = KINDS["joint"]
    for spec, said in (
        ({"epsilon": 1.0}, "must have parts"),
        ({"parts": PARTS}, "needs an epsilon"),
    ):
        with pytest.raises(InputError, match=said):
            kind.resolve(spec, None)


def test_typed_answers(result: JointEstimate) -> None:
    kind, mixed = KINDS["joint"], Mixed(parts=PARTS, epsilon=1.0)
    typed = kind.parse_answer(mixed, "drinks = some, at most, smokes=no")
    assert typed == {"drinks": "some, at most", "smokes": "no"}
    for text, said in (
        ("yes", "PART=LABEL, PART=LABEL...; got one without ="),
        ("smokes=yes", "every part (smokes, drinks); got none for 'drinks'"),
        ("smokes=yes, smokes=no", "each part must be answered once; got one twice"),
        ("smokes=yes, drinks=tea", "'drinks' of an answer must be one of its labels"),
    ):
        with pytest.raises(AnswerError) as problem:
            kind.parse_answer(mixed, text)
        assert said in str(problem.value)
        assert "tea" not in str(problem.value)


class Desk:
    """A collection and the command line over it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.contract = folder / "habits.json"
        self.contract.write_bytes(collection().canonical())

    def write(self, name: str, text: str) -> Path:
        (self.folder / name).write_text(text)
        return self.folder / name

    def run(self, *arguments: object) -> tuple[int, str]:
        self._capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        said = self._capsys.readouterr()
        return status, said.err if status else said.out


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("smokes\nyes\n", "the table must have a column 'drinks' in its header"),
        (
            "smokes,drinks\nyes,much\nno,\n",
            "column 'drinks', row 2: an answer must not be missing",
        ),
        ("smokes,drinks\nyes,much\nmaybe,much\n", "column 'smokes', row 2: the part 'smokes'"),
    ],
)
def test_a_part_that_is_missing_is_refused_in_one_sentence(
    desk: Desk, table: str, said: str
) -> None:
    answers = desk.write("answers.csv", table)
    status, told = desk.run("privatize", desk.contract, answers, "-o", desk.folder / "r.parquet")
    assert status == 2
    assert said in told
    assert "maybe" not in told
    assert len(told.strip().split("\n")) == 1


def test_strata_are_told_apart_and_drawn(desk: Desk) -> None:
    rows = "".join(
        f"{a},{b},{c}\n" for a, b, c in [("yes", "much", "n"), ("no", "never", "s")] * 200
    )
    answers = desk.write("answers.csv", "smokes,drinks,place\n" + rows)
    reports, chart = desk.folder / "r.parquet", desk.folder / "by.svg"
    made = desk.run("privatize", desk.contract, answers, "-o", reports, "--keep", "place")
    assert made[0] == 0, made
    status, told = desk.run(
        "estimate", desk.contract, reports, "--by", "place", "--plot", chart, "--json"
    )
    assert status == 0, told
    found = json.loads(told)
    assert {row["stratum"] for row in found["estimates"]} == {"n", "s"}
    most = max((r for r in found["estimates"] if r["stratum"] == "n"), key=lambda r: r["frequency"])
    assert (most["smokes"], most["drinks"]) in {("yes", "much"), ("yes", None), (None, "much")}
    assert "200 reports" in chart.read_text()
    status, told = desk.run(
        "privatize", desk.contract, answers, "-o", desk.folder / "again.parquet", "--keep", "drinks"
    )
    assert status == 2
    assert "which answers question 'habits'" in told


def test_a_cross_table_is_simulated(desk: Desk) -> None:
    rows = ["yes,never,3", "yes,much,12", "no,never,27", 'no,"some, at most",58']
    crowd = desk.write("crowd.csv", "\n".join(["smokes,drinks,count", *rows, ""]))
    options = ("--people", 20_000, "--trials", 3, "--seed", 1)
    status, told = desk.run("simulate", desk.contract, crowd, *options, "--json")
    assert status == 0, told
    cells = {row["value"]: row for row in json.loads(told)["estimates"]}
    assert cells["smokes yes, drinks much"]["frequency_truth"] == pytest.approx(0.12)
    assert cells["smokes yes"]["frequency_truth"] == pytest.approx(0.15)
    # Cells of 20,000 people have a standard error of 1.2 points.
    assert all(row["frequency_error"] < 0.05 for row in cells.values())
    wrong = desk.write("wrong.csv", "smokes,drinks,count\nyes,much,-1\n")
    status, told = desk.run("simulate", desk.contract, wrong)
    assert "counts must be integers of 0 or more" in told
    status, told = desk.run("simulate", desk.contract, crowd, "--column", "smokes")
    assert "a column for each part, so none is named" in told


def test_a_plan_says_who_is_asked_what_and_what_it_will_be_worth(desk: Desk) -> None:
    made = make_plan(kind="joint", parts="5x5", users=100_000, epsilon=1.0)
    best = made.best
    assert list(best.shape) == ["share of 1+2", "share of 1", "share of 2"]
    assert sum(best.shape.values()) == pytest.approx(1)
    # Linear and default as simulated: 16 trials of 25 cells know an error to some 4 %.
    found = made.simulate(trials=16)
    assert found.linear[1] == pytest.approx(found.linear[0], rel=0.2)
    assert found.default is not None
    assert found.default[1] == pytest.approx(found.default[0], rel=0.25)
    assert best.second_error is not None
    assert best.second_error == pytest.approx(1.3 * half_asked(5, 1.0, 100_000), rel=1e-6)
    loaded = Collection.from_toml(made.to_toml())
    assert loaded.question().mechanism == best.mechanism
    needed = make_plan(kind="joint", parts="2x2", epsilon=1.0, error=0.01)
    assert needed.best.error <= 0.01
    for parts, said in (
        ("5", "2 to 4 of them"),
        ("five", "such as 5x4; got 'five'"),
        (None, "5x4"),
    ):
        with pytest.raises(InputError, match=said):
            make_plan(kind="joint", parts=parts, users=1000, epsilon=1.0)
    with pytest.raises(InputError, match="planned by its parts"):
        make_plan(kind="joint", parts="2x2", domain=4, users=1000, epsilon=1.0)
    with pytest.raises(InputError, match="parts are for joint questions"):
        make_plan(kind="choice", parts="2x2", domain=4, users=1000, epsilon=1.0)


def half_asked(size: int, epsilon: float, people: int) -> float:
    oracle = rumor.SubsetSelection(domain=size, epsilon=epsilon)
    return math.sqrt(float(oracle.variance(1 / size, people // 2)))


def test_the_example_passes_its_audit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "examples/habits.toml", "--samples", "4000", "--seed", "2"]) == 0
    assert "Habits: audit passed" in capsys.readouterr().out


def test_fakes_are_bounded_by_the_table_that_fewest_are_asked_for() -> None:
    mixed = Mixed(parts=(5, 5), epsilon=1.0)
    pair = mixed.components[0]
    alone = pair.oracle.poisoning.gain(1000, 10)
    assert mixed.poisoning.gain(1000, 10) == pytest.approx(
        alone * 1000 / (990 * float(pair.share) + 10)
    )


@pytest.mark.parametrize("people", [1, 2, 30])
@pytest.mark.parametrize("mixed", Mixed.examples(), ids=str)
def test_few_reports_have_intervals_however_many_parts_are_asked_at_once(
    mixed: Mixed, people: int
) -> None:
    """Three parts in one report among them, as a large epsilon asks them."""
    answers = [mixed.inputs()[i % len(mixed.inputs())] for i in range(people)]
    found = rumor.estimate(mixed, mixed.privatize(answers, random=rumor.Seeded(people)))
    low, high = found.interval()
    assert (low < high).all()
    assert ((low <= found.frequency) & (found.frequency <= high)).all()


def test_ends_of_three_parts_are_those_of_the_cells_that_share_a_value() -> None:
    """A rare cell of a pair and a margin, seen by few who were asked for all three at once."""
    three = [{"id": name, "labels": ["yes", "no"]} for name in "abc"]
    mixed = Mixed(parts=three, epsilon=4.0)
    assert [len(one.asks) for one in mixed.components] == [3]
    nobody = rumor.estimate(
        mixed, mixed.privatize([["no", "no", "no"]] * 30, random=rumor.Seeded(5))
    )
    # Nobody says "yes" to a and b: of 30 people, about a tenth may all the same.
    cells = nobody.pair("a", "b").interval(EqualTails.of(0.95))
    assert cells[1][0] > 0.08
    margin = nobody.share({"a": "yes"})
    assert margin.high > 0.08
