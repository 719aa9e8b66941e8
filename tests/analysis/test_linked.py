"""Reports of two linked questions, joined person by person."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from rumor.analysis.linked import analyse_linked
from rumor.cli import main
from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import write_reports
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.kinds.joint.linked import estimate_linked
from tests.contract.test_linking import TOML

Outputs = pytest.CaptureFixture[str]
DAY = datetime.date(2026, 1, 1)
PEOPLE = 4_000
LINKED = Collection.from_toml(TOML)
UNLINKED = Collection.from_toml(TOML.replace("linked =", "# linked ="))


def reports_of(question: Question, seed: int) -> Reports:
    codes = np.random.default_rng(seed).integers(0, 2, PEOPLE)
    return question.mechanism.without_labels().privatize(codes, random=Seeded(seed))


SMOKES, DRINKS = (
    reports_of(LINKED.question(id), seed) for id, seed in (("smokes", 1), ("drinks", 2))
)


def write(
    name: str,
    id: str,
    reports: Reports,
    whose: object,
    collection: Collection = LINKED,
    kind: pa.DataType | None = None,
) -> str:
    """A reports file with a column `person`."""
    column = pa.array(whose, pa.int64() if kind is None else kind)
    strata = pa.schema([pa.field("person", column.type)])
    with write_reports(name, collection, collection.question(id), strata=strata) as writer:
        writer.write(reports, DAY, {"person": column})
    return name


@pytest.fixture(autouse=True)
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the same people; 5 more smoke or not, and 7 drink or not, of whom 2 are nobody."""
    monkeypatch.chdir(tmp_path)
    Path("c.toml").write_text(TOML)
    people = list(range(PEOPLE))
    write("smokes.parquet", "smokes", SMOKES, [*people[:-5], *range(-5, 0)])
    write("drinks.parquet", "drinks", DRINKS, [None, None, *people[2:]])


def expected() -> tuple[Reports, Reports]:
    """Those of people 2 to PEOPLE - 6, who are in both."""
    return SMOKES[2:-5], DRINKS[2:-5]


def test_the_joined_estimate_is_that_of_aligned_reports() -> None:
    found = analyse_linked("c.toml", "smokes.parquet", "drinks.parquet", on="person")
    smokes, drinks = expected()
    mechanisms = [LINKED.question(id).mechanism for id in ("smokes", "drinks")]
    same = estimate_linked({"smokes": (mechanisms[0], smokes), "drinks": (mechanisms[1], drinks)})  # type: ignore[dict-item]
    estimate = found.estimates[None]
    np.testing.assert_array_equal(estimate.frequency, same.frequency)
    np.testing.assert_array_equal(estimate.stderr, same.stderr)
    assert estimate.pair("smokes", "drinks").shares.shape == (2, 3)
    assert found.reports == PEOPLE - 7
    # Those without a partner, and those who are nobody.
    assert found.alone == {"smokes": 7, "drinks": 7}
    other_way = analyse_linked(LINKED, "drinks.parquet", "smokes.parquet", on="person")
    np.testing.assert_array_equal(other_way.estimates[None].frequency, same.frequency)
    assert found.to_dict() == other_way.to_dict()


def test_the_command_says_what_was_left_out_and_warns(capsys: Outputs) -> None:
    command = ["estimate", "c.toml", "smokes.parquet", "--linked", "drinks.parquet", "--on"]
    assert main([*command, "person", "--csv", "t.csv", "--plot", "t.svg"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "7 reports of smokes and 7 reports of drinks had no partner and were left out" in said
    assert "asking for the pair (kind joint) at the same cost would have made the error" in said
    assert "Cramer's V" in said
    assert Path("t.csv").read_text().startswith("smokes,drinks,frequency")
    assert "smokes and drinks" in Path("t.svg").read_text()
    assert main([*command, "person", "--method", "linear", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["questions"], facts["on"]) == (["smokes", "drinks"], "person")
    assert (facts["reports"], facts["alone"]) == (PEOPLE - 7, {"smokes": 7, "drinks": 7})
    assert (facts["method"], facts["epsilon"]) == ("linear", pytest.approx(2.5))
    assert facts["diagnostics"]["pair_sharper"] > 1.5


def test_what_was_not_declared_is_not_joined() -> None:
    people = list(range(PEOPLE))
    write("s.parquet", "smokes", SMOKES, people, UNLINKED)
    write("d.parquet", "drinks", DRINKS, people, UNLINKED)
    with pytest.raises(InputError, match=r"only if the collection declares it .*'Habits' does not"):
        analyse_linked(UNLINKED, "s.parquet", "d.parquet", on="person")
    # Nor by another contract, which says so afterwards.
    with pytest.raises(InputError, match="the reports must be of this collection"):
        analyse_linked(LINKED, "s.parquet", "d.parquet", on="person")


def test_reports_that_cannot_be_joined_are_refused() -> None:
    people = list(range(PEOPLE))
    write("again.parquet", "drinks", DRINKS, [*people[:-3], 0, 0, 1])
    write("texts.parquet", "drinks", DRINKS, [str(one) for one in people], kind=pa.string())
    write("others.parquet", "drinks", DRINKS, [-100 - one for one in people])
    write("none.parquet", "drinks", DRINKS[:0], [])
    write("real.parquet", "drinks", DRINKS, [float(one) for one in people], kind=pa.float64())
    for file, sentence in {
        "again": "each person must have one report of 'drinks', .*; got 3 more with one that came",
        "texts": "must be of one type in both files; got int64 .* 'smokes' and string beside",
        "others": "must have people in common; no 'person' is in both files",
        "none": "joining needs reports of these days; got none of 'drinks'",
        "real": "what reports are joined on must be texts, integers, .*; got 'person' of double",
        "smokes": "must be of 'smokes' and 'drinks', .*; got reports of 'smokes' and 'smokes'",
        "missing": "a reports file must exist",
    }.items():
        with pytest.raises(InputError, match=sentence):
            analyse_linked(LINKED, "smokes.parquet", f"{file}.parquet", on="person")
    with pytest.raises(InputError, match=r"must be a public column .*\(day, person\); got 'persn'"):
        analyse_linked(LINKED, "smokes.parquet", "drinks.parquet", on="persn")
    with pytest.raises(InputError, match="method must be one of auto, bayes, linear; got 'em'"):
        analyse_linked(LINKED, "smokes.parquet", "drinks.parquet", on="person", method="em")
    days = (datetime.date(2026, 1, 2), None)
    with pytest.raises(InputError, match="needs reports of these days; got none of 'smokes'"):
        analyse_linked(LINKED, "smokes.parquet", "drinks.parquet", on="person", window=days)


def test_invalid_reports_are_refused_or_left_out_and_counted() -> None:
    spoiled = SMOKES.copy()
    spoiled[[0, 9]] = 2
    write("spoiled.parquet", "smokes", spoiled, list(range(PEOPLE)))
    with pytest.raises(InputError, match=r"reports of 'smokes' must be valid: .*; got 2 that are"):
        analyse_linked(LINKED, "spoiled.parquet", "drinks.parquet", on="person")
    found = analyse_linked(
        LINKED, "spoiled.parquet", "drinks.parquet", on="person", skip_invalid=True
    )
    assert found.totals.skipped == 2
    # Person 0 drinks as nobody, person 9 is left alone.
    assert (found.reports, found.alone) == (PEOPLE - 3, {"smokes": 1, "drinks": 3})
    with pytest.raises(InputError, match="a saved summary holds one question"):
        found.summary()


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--linked", "drinks.parquet"], "--linked and --on go together"),
        (["--on", "person"], "--linked and --on go together"),
        (["--by", "day"], "got --by beside it"),
        (["--weights", "w.csv"], "got --weights beside it"),
        (["--engine", "spark"], "got --engine beside it"),
        (["--save-summary", "s.json"], "got --save-summary beside it"),
        (["--question", "smokes"], "got --question beside it"),
    ],
)
def test_options_that_do_not_go_along_are_refused(
    more: list[str], sentence: str, capsys: Outputs
) -> None:
    both = ["--linked", "drinks.parquet", "--on", "person"]
    given = more if more[0] in both else [*both, *more]
    assert main(["estimate", "c.toml", "smokes.parquet", *given]) == 2
    assert sentence in capsys.readouterr().err
