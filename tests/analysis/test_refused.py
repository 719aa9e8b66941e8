"""What comparisons, weights, regressions, trends and sources refuse, with the exact sentence."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis import counted_table, survey
from rumor.analysis.combine.method import combine_reports
from rumor.analysis.compare import method as comparing
from rumor.analysis.compare.result import format_p_value
from rumor.analysis.estimate import analyse
from rumor.analysis.linked import _source
from rumor.analysis.sources import ParquetSource, _question_of_file, _share_inside
from rumor.contract.collection import Collection
from rumor.contract.report_file import ReportFile, write_reports
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.mechanisms.summary import Summary
from tests.limits import Rule, cases, check, whole

COIN = rumor.RandomizedResponse(domain=2, epsilon=1.0)
TEN = COIN.privatize([0, 1] * 5, random=rumor.Seeded(1))
DESIGN = rumor.SurveyDesign(weights=[1.0] * 10)
DAY = datetime.date(2026, 3, 2)
SIDES = ["a", "b"] * 5
TWO: list[dict[str, Any]] = [
    {"id": "page", "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0},
    {"id": "age", "kind": "number", "low": 0, "high": 10, "epsilon": 1.0},
]


def refused(give: Callable[[], object]) -> str:
    with pytest.raises(InputError) as found:
        give()
    return str(found.value)


PEOPLE = (
    "people with weights are compared as one column of reports and one of their groups, first and "
    "second; got something else"
)
BY_NAME = "groups by name must be the only reports; got second or other as well"


@pytest.mark.parametrize(
    ("give", "sentence"),
    [
        (lambda: rumor.compare(COIN, TEN, design=DESIGN), PEOPLE),
        (lambda: rumor.compare(COIN, {"a": TEN}, SIDES, design=DESIGN), PEOPLE),
        (lambda: rumor.compare(COIN, TEN, SIDES, other=COIN, design=DESIGN), PEOPLE),
        (lambda: rumor.compare(COIN, TEN, SIDES, design=DESIGN, level=0.9), PEOPLE),
        (lambda: rumor.compare(COIN, {"a": TEN, "b": TEN}, TEN), BY_NAME),
        (lambda: rumor.compare(COIN, {"a": TEN, "b": TEN}, other=COIN), BY_NAME),
        (lambda: rumor.compare(COIN, TEN), "a comparison needs two groups of reports; got one"),
        (
            lambda: rumor.compare(COIN, TEN, SIDES[:9], design=DESIGN),
            "groups must have a row for each of the 10 reports; got 9",
        ),
        (
            lambda: rumor.weigh(COIN, [TEN, TEN], {"a": 1, "b": 1}),
            "weights of groups are for reports by group; got 'list'",
        ),
        (
            lambda: rumor.weigh(COIN, TEN[:0], DESIGN),
            "an estimate needs at least one report; got none",
        ),
        (
            lambda: rumor.regress(COIN, TEN, {}, "age"),
            "a regression needs a public column at least; got none",
        ),
    ],
)
def test_it_is_refused_in_one_sentence(give: Callable[[], object], sentence: str) -> None:
    assert refused(give) == sentence


def test_a_comparison_has_no_more_rows_than_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = dict.fromkeys("abc", TEN)  # three pairs, of two values each
    monkeypatch.setattr(comparing, "_MAX_ROWS", 6)
    assert len(rumor.compare(COIN, groups).groups) == 3
    monkeypatch.setattr(comparing, "_MAX_ROWS", 5)
    assert refused(lambda: rumor.compare(COIN, groups)) == (
        "a comparison has at most 5 rows; got 3 pairs of groups with 2 each (name one to compare "
        "with: --against)"
    )
    assert len(rumor.compare(COIN, groups, against="a").groups) == 3


def test_weights_of_people_take_what_fits_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey, "_MOST_CELLS", 20)
    assert rumor.weigh(COIN, TEN, DESIGN).unbiased.size == 2
    monkeypatch.setattr(survey, "_MOST_CELLS", 19)
    assert refused(lambda: rumor.weigh(COIN, TEN, DESIGN)) == (
        "individual weights take at most 19 reports times values; got 10 reports of 2 values"
    )


def test_people_of_whom_the_population_is_unknown_are_left_out_of_every_kind() -> None:
    places = np.array(["DE", "IT", "FR", "DE", "IT", "DE", "FR", "DE", "DE", "FR"] * 10)
    there, sizes = np.flatnonzero(places != "IT"), {"DE": 70.0, "FR": 30.0}

    def design(column: Any) -> rumor.SurveyDesign:
        return rumor.SurveyDesign(margins={"place": (column.tolist(), sizes)})

    numbers = rumor.Window(low=0, high=10, epsilon=4.0)
    scale = rumor.Wave(labels=["x", "y", "z"], epsilon=2.0)
    made: dict[Any, Any] = {
        COIN: COIN.privatize([0, 1] * 50, random=rumor.Seeded(1)),
        numbers: numbers.privatize([1.0, 9.0] * 50, random=rumor.Seeded(2)),
        scale: scale.privatize(["x", "z"] * 50, random=rumor.Seeded(3)),
    }
    for mechanism, reports in made.items():
        some = rumor.weigh(mechanism, reports, design(places))
        alone = rumor.weigh(mechanism, reports[there], design(places[there]))
        assert some.reports == alone.reports == len(there)
        for own, theirs in (
            (some.unbiased, alone.unbiased),
            (some.stderr, alone.stderr),
            (some.interval(), alone.interval()),
        ):
            np.testing.assert_allclose(own, theirs, rtol=1e-9)


def test_a_tiny_p_value_is_bounded_and_none_is_said() -> None:
    assert format_p_value(None) == "none"
    assert format_p_value(0.25, "p = ") == "p = 0.25"


# --- Files --------------------------------------------------------------------------------------


@pytest.fixture
def contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Collection:
    """A collection of two questions of two kinds, with a file of each."""
    monkeypatch.chdir(tmp_path)
    head = {"name": "A", "series": "a", "contact": "nobody"}
    found = Collection.resolve({**head, "questions": TWO})
    for id, answers in (("page", ["x", "y"] * 20), ("age", [1.0, 9.0] * 20)):
        question = found.question(id)
        with write_reports(f"{id}.parquet", found, question) as writer:
            reports = question.mechanism.privatize(answers, random=rumor.Seeded(1))
            writer.write(reports, DAY)
    return found


def test_files_of_other_questions_and_kinds_are_refused(contract: Collection) -> None:
    pair = [(contract, "page.parquet"), (contract, "age.parquet")]
    assert refused(lambda: combine_reports(pair, different_people=True)) == (
        "all sources must be of one kind; got choice, number"
    )
    page, age = (contract.question(id) for id in ("page", "age"))
    summary = analyse(contract, "age.parquet").summary()
    summary.save("age.summary")
    assert refused(lambda: analyse(contract, "age.summary", question="page")) == (
        "age.summary: the summary must be of question 'page'; got 'age'"
    )
    source = ParquetSource("age.parquet", contract, age)
    assert refused(lambda: analyse(contract, source, question="page")) == (
        "the source must be of question 'page'; got 'age'"
    )
    assert refused(lambda: _source("age.summary", contract, (None, None))) == (
        "linking needs the single reports of both questions; got the summary 'age.summary'"
    )
    assert page != age


def test_every_report_has_a_weight(contract: Collection) -> None:
    chosen = survey.DesignColumns(weight="w")
    held = pa.table({"w": [1.0, None] * 20})
    assert refused(lambda: chosen.design(held)) == (
        "every report needs a weight; 'w' has none for 20 of them"
    )


def test_a_file_that_goes_away_is_named(contract: Collection) -> None:
    source = ParquetSource("page.parquet", contract)
    (part,) = source.parts()
    Path("page.parquet").unlink()
    said = refused(lambda: list(part.batches()))
    assert said.startswith(
        "page.parquet: a reports file must stay where every worker can read it; on "
    )
    assert said.endswith(" it is not there")


def test_a_file_of_another_collection_is_of_none_of_its_questions(contract: Collection) -> None:
    other = Collection.resolve(
        {"name": "B", "series": "b", "contact": "nobody", "questions": [{**TWO[0], "id": "other"}]}
    )
    said = refused(lambda: _question_of_file(ReportFile.open("page.parquet"), other, "page"))
    assert said == (
        f"page.parquet: the reports must be of this collection (digest {other.digest[:16]}...); "
        f"got reports of {contract.digest[:16]}..."
    )


def test_days_without_statistics_are_looked_at(contract: Collection) -> None:
    held = pq.read_table("page.parquet")
    pq.write_table(held, "plain.parquet", write_statistics=False)
    day = held["day"][0].as_py()
    group = pq.ParquetFile("plain.parquet").metadata.row_group(0)
    counted = pq.ParquetFile("page.parquet").metadata.row_group(0)
    late = day + datetime.timedelta(1)
    assert _share_inside(group, (None, None)) == "all"
    assert _share_inside(group, (day, None)) == "some"
    assert _share_inside(counted, (day, day)) == "all"
    assert _share_inside(counted, (late, None)) == "none"


def test_counts_of_a_table_are_whole_and_few_enough(
    contract: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, reports = contract.question("page"), [b"\x00".hex(), b"\x01".hex()]

    def counted(*counts: Any) -> Summary:
        table = AnswerTable.of(pa.table({"report": reports, "count": list(counts)}))
        return counted_table.summary_of_counts(contract, question, table)

    found = counted(3, 4)
    assert (found.reports, found.tally.tolist()) == (7, [3, 4])
    for counts in ((3, -1), (3, None), (3, 2**62 + 1)):
        assert refused(functools.partial(counted, *counts)) == (
            "table: counts must be integers of 0 or more; got one that is not"
        )
    assert refused(functools.partial(counted, 2**62, 2**62)) == (
        f"a summary counts at most 2^62 reports; got {2**63:,}"
    )


def test_what_intervals_assume_is_for_kinds_that_assume_something(contract: Collection) -> None:
    told: dict[str, Any] = {"different_people": True, "periods": [(DAY, DAY), (None, DAY)]}
    for id in ("page", "age"):
        counting = comparing.Counting(assume="smooth")
        said = refused(
            functools.partial(
                comparing.compare_reports, contract, f"{id}.parquet", counting=counting, **told
            )
        )
        assert "assume" in said


def watched(horizon: object) -> object:
    days: Any = {"2026-03-02": TEN, "2026-03-03": TEN}
    return rumor.watch(COIN, days, every="day", horizon=horizon)  # type: ignore[arg-type]


@pytest.mark.parametrize("rule", cases([whole("a horizon", 2, 10_000, watched)]))
def test_numbers_are_refused_one_off_their_edges(rule: Rule) -> None:
    check(rule)
