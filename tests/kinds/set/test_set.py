"""Sets from the question and the table to the shares of options and pairs."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError
from rumor.core.option_sets import OptionSets
from rumor.core.randomness import Seeded
from rumor.kinds import KINDS
from rumor.kinds.set.choose import (
    SelectRates,
    Wanted,
    best_block,
    best_select,
    block_rates,
    choose_sets,
)
from rumor.mechanisms import SetBlock, SetMechanism, SetSelect

WAYS = ["bus", "bicycle", "car", "train"]
SETS = KINDS["set"]


def collection(**question: Any) -> Collection:
    asked = {"id": "ways", "kind": "set", "text": "Which?", "epsilon": 2.0, **question}
    base = {"name": "Law", "series": "law", "contact": "a@b.example"}
    return Collection.resolve({**base, "questions": [asked]})


def resolved(**question: Any) -> SetMechanism:
    found = collection(**question).question("ways").mechanism
    assert isinstance(found, SetMechanism)
    return found


# The question


def test_auto_has_the_least_variance_of_every_size_of_both() -> None:
    """All blocks and all sizes of select, written out: nothing is better than what is taken."""
    for domain, cap, epsilon, pairs in (
        (5, 5, 1.0, False),
        (20, 3, 2.0, False),
        (20, 7, 4.0, False),
        (100, 3, 0.5, False),
        (20, 3, 2.0, True),
        (20, 20, 1.0, True),
    ):
        wanted = Wanted(domain, epsilon, cap, cap / 2, pairs)
        made, power = choose_sets(wanted), math.exp(epsilon)
        tables = SelectRates(domain, cap, power)
        tried = [block_rates(domain, b, power) for b in range(1 + pairs, min(domain, 8) + 1)]
        tried += [
            tables.at(size, least)
            for size in range(1 + pairs, domain + 1)
            for least in range(1, min(size, cap, 6) + 1)
        ]
        own = made.pair_variance(wanted.usual[0], 1) if pairs else None
        if own is None:
            mean, spread = wanted.usual
            own = float(made.variance(mean, 1)) - spread / made.share
        assert own <= min(map(wanted.noise, tried)) * (1 + 1e-9)


def test_closed_forms_of_the_plan_are_those_of_the_mechanism() -> None:
    tables = SelectRates(30, 5, math.exp(1.5))
    made = SetSelect(domain=30, cap=5, size=7, least=2, epsilon=1.5, counted="pairs")
    rates = tables.at(7, 2)
    assert (rates.hit, rates.miss) == pytest.approx((made.hit, made.miss), rel=1e-12)
    assert rates.pairs == pytest.approx(made.pair_rates, rel=1e-10)
    block = SetBlock(domain=30, block=3, epsilon=1.5, counted="pairs")
    planned = block_rates(30, 3, math.exp(1.5))
    assert (planned.hit, planned.miss) == pytest.approx((block.hit, block.miss), rel=1e-12)
    assert planned.pairs == pytest.approx(block.pair_rates, rel=1e-12)
    assert (planned.share, planned.pair_share) == (block.share, block.pair_share)


def test_a_question_names_its_mechanism_and_its_shape() -> None:
    select = resolved(labels=WAYS, mechanism={"name": "select", "cap": 2, "size": 3, "least": 2})
    assert isinstance(select, SetSelect)
    assert (select.cap, select.size, select.least) == (2, 3, 2)
    block = resolved(labels=WAYS, mechanism={"name": "block", "block": 3})
    assert isinstance(block, SetBlock)
    assert block.block == 3
    assert resolved(labels=WAYS, pairs=True, cap=2).pairs
    assert resolved(domain=300).name == "block"  # select takes no such cap
    given = best_select(Wanted(50, 1.0, 4), least=2)
    assert (given.least, given.size >= 2) == (2, True)
    assert best_block(Wanted(50, 4.0)).block == 3
    sampled = resolved(labels=WAYS, cap=2, over_cap="sample")
    assert isinstance(sampled, SetSelect)
    assert sampled.over_cap == "sample"


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "either labels or a domain size; got neither"),
    ({"labels": WAYS, "epsilon": None}, "epsilon must be a number"),
    ({"labels": ["a", "b|c"]}, "must not hold '|', which stands between options; got 'b|c'"),
    ({"labels": ["a", "a"]}, "labels must be distinct; got 'a' more than once"),
    ({"labels": WAYS, "cap": 5}, "cap must be an integer from 1 to 4; got 5"),
    (
        {"labels": WAYS, "cap": 2, "mean_size": 3},
        "mean_size must be a number above 0 and at most 2",
    ),
    ({"labels": WAYS, "mean_size": True}, "mean_size must be a number"),
    ({"labels": WAYS, "pairs": "yes"}, "pairs must be true or false; got 'yes'"),
    ({"labels": WAYS, "pairs": True, "cap": 1}, "cap must be an integer from 2 to 4; got 1"),
    ({"domain": 300, "pairs": True}, "domain must be an integer from 2 to 256; got 300"),
    ({"labels": WAYS, "cap": 2, "mechanism": "block"}, "mechanism 'block' takes no cap; got 2"),
    ({"labels": WAYS, "mechanism": "unary"}, "one of auto, select, block; got 'unary'"),
    ({"labels": WAYS, "over_cap": "keep"}, "over_cap must be one of refuse, sample; got 'keep'"),
]


@pytest.mark.parametrize(("wish", "sentence"), REFUSED)
def test_wishes_that_cannot_be_get_one_sentence(wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        collection(**wish)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_contracts_that_cannot_be_get_one_sentence() -> None:
    plain: Any = json.loads(collection(labels=WAYS).canonical())
    (question,) = plain["questions"]
    for changes, sentence in (
        ({"labels": ["bus|car", *WAYS[1:]]}, "an option's label must not hold '|'"),
        ({"mechanism": {**question["mechanism"], "domain": WAYS}}, "domain must be an integer"),
    ):
        with pytest.raises(InputError, match=re.escape(sentence)):
            Collection.from_contract({**plain, "questions": [{**question, **changes}]})


def test_answers_are_typed_with_bars() -> None:
    mechanism = resolved(labels=WAYS, cap=2)
    assert SETS.parse_answer(mechanism, "car | bus") == ["bus", "car"]
    assert SETS.parse_answer(mechanism, "none") == SETS.parse_answer(mechanism, "") == []
    named_none = resolved(labels=["none", "some"], cap=1)
    assert SETS.parse_answer(named_none, "none") == ["none"]
    assert SETS.parse_answer(resolved(domain=12, cap=2), "11|3") == [3, 11]
    assert SETS.hint(mechanism).startswith("OPTION|OPTION... (up to 2) or none; options bus, ")
    for text, rule in (("car|car", "each option once"), ("boat", "one of the domain's")):
        with pytest.raises(InputError, match=rule) as refused:
            SETS.parse_answer(mechanism, text)
        assert "boat" not in str(refused.value)


# Tables

PEOPLE = [["bus", "car"], [], ["train"], ["bicycle", "bus"]]


def read(mechanism: SetMechanism, path: Path, mark: str = "|") -> list[list[int]]:
    table = AnswerTable.open(path, mark)
    parts = [sets for sets, _ in SETS.read("ways", mechanism, table, None)]
    assert all(isinstance(part, OptionSets) for part in parts)
    rows = [part.table(0, part.people) for part in parts]
    return [np.flatnonzero(row).tolist() for row in np.concatenate(rows)]


def test_the_same_people_in_every_form_of_a_table(tmp_path: Path) -> None:
    mechanism = resolved(labels=WAYS, cap=2)
    csv, marked, wide, lists, flags, numbers = (
        tmp_path / name for name in ("a.csv", "b.csv", "c.csv", "d.parquet", "e.parquet", "f.csv")
    )
    csv.write_text("ways,town\nbus|car,x\n,y\ntrain,x\nbicycle | bus,y\n")
    marked.write_text('ways\n"bus, car"\n""\ntrain\n"bicycle,bus"\n')
    said = {way: ["yes" if way in ways else "No" for ways in PEOPLE] for way in WAYS}
    wide.write_text("\n".join([",".join(WAYS), *map(",".join, zip(*said.values(), strict=True))]))
    pq.write_table(pa.table({"ways": PEOPLE}), lists)
    booleans = {way: [way in ways for ways in PEOPLE] for way in WAYS}
    pq.write_table(pa.table(booleans), flags)
    wanted = [[0, 2], [], [3], [0, 1]]
    assert read(mechanism, csv) == read(mechanism, wide) == read(mechanism, lists) == wanted
    assert read(mechanism, marked, ",") == read(mechanism, flags) == wanted
    numbers.write_text('ways\n0|2\n""\n3\n1|0\n')
    assert read(resolved(domain=4, cap=2), numbers) == wanted


BAD = [
    ("ways\nbus\nbus|boat\n", "column 'ways', row 2: a label must be one of the domain's"),
    ('ways\nbus\n""\nbus|car|bus\n', "row 3: an answer must name each option once; got one twice"),
    ("ways\nbus|car|train\n", "row 1: a person must choose at most 2 options (the cap); got more"),
    ("town\nx\n", "a column 'ways' of sets, or a column of yes and no for each option; got none"),
    (
        "bus,bicycle,car,train\nyes,no,no,no\nyes,no,maybe,no\n",
        "'car', row 2: a column of an option",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), BAD)
def test_bad_tables_get_one_sentence(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, contract = tmp_path / "table.csv", tmp_path / "law.json"
    table.write_text(text)
    contract.write_bytes(collection(labels=WAYS, cap=2).canonical())
    assert main(["privatize", str(contract), str(table), "-o", str(tmp_path / "r.parquet")]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert "boat" not in said
    assert "maybe" not in said


@pytest.mark.parametrize("mechanism", [{"labels": WAYS}, {"domain": 4}], ids=str)
def test_an_option_of_a_list_must_not_be_missing(mechanism: dict[str, Any], tmp_path: Path) -> None:
    """A list without options is an answer; a list of nothing named is not."""
    made, table = resolved(**mechanism), tmp_path / "lists.parquet"
    one = "car" if made.labels is not None else 2
    pq.write_table(pa.table({"ways": [[one], []]}), table)
    assert read(made, table) == [[2], []]
    pq.write_table(pa.table({"ways": [[one], [one, None]]}), table)
    with pytest.raises(
        InputError, match=r"column 'ways'.*: values must not be missing; got 1 null"
    ):
        read(made, table)


ODD = {
    "list": pa.array([["yes"], []]),
    "struct": pa.array([{"a": 1}, {"a": 2}]),
    "map": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"yes", b"no"]),
    "timestamp": pa.array([0, 1], pa.timestamp("s")),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD.keys())
def test_an_option_in_a_column_of_an_odd_type_gets_one_sentence(
    odd: pa.Array, tmp_path: Path
) -> None:
    table = tmp_path / "odd.parquet"
    pq.write_table(pa.table({way: odd if way == "car" else ["yes", "no"] for way in WAYS}), table)
    rule = "'car': a column of an option must hold yes or no; got "
    with pytest.raises(InputError, match=rf"^[^\n]*{rule}[^\n]*$"):
        read(resolved(labels=WAYS), table)


def test_yes_and_no_may_be_of_any_plain_type(tmp_path: Path) -> None:
    plain = [
        pa.array([1, 0, 1], pa.uint8()),
        pa.array([1.0, 0.0, 1.0]),
        pa.array(["Yes", "no", "true"]).dictionary_encode(),
        pa.array([1, 0, 1]).dictionary_encode(),
    ]
    table = tmp_path / "plain.parquet"
    pq.write_table(pa.table(dict(zip(WAYS, plain, strict=True))), table)
    assert read(resolved(labels=WAYS), table) == [[0, 1, 2, 3], [], [0, 1, 2, 3]]


def test_a_kept_column_must_hold_no_option(tmp_path: Path) -> None:
    from rumor.contract.privatize import privatize_table

    made = collection(labels=WAYS, cap=2)
    wide = tmp_path / "wide.csv"
    wide.write_text("bus,bicycle,car,train,town\nyes,no,no,no,x\n")
    question, table, out = made.question("ways"), AnswerTable.open(wide), tmp_path / "r.parquet"
    assert privatize_table(made, question, table, out, keep=["town"]) == 1
    with pytest.raises(InputError, match="must hold no answers; got 'car'"):
        privatize_table(made, question, table, tmp_path / "no.parquet", keep=["car"])


# Estimates


def crowd(people: int) -> list[tuple[int, ...]]:
    """Half chose both of the first two, a quarter the third, the rest nothing."""
    return [(0, 1)] * (people // 2) + [(2,)] * (people // 4) + [()] * (people // 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(
            SetSelect(domain=12, cap=3, size=4, least=2, epsilon=2.0, counted="pairs"),
            marks=pytest.mark.slow,
        ),
        SetBlock(domain=12, block=3, epsilon=2.0, counted="pairs"),
    ],
    ids=lambda m: m.name,
)
def test_intervals_of_options_and_pairs_cover_as_they_say(mechanism: SetMechanism) -> None:
    """Of 60 crowds of 2,000: 95 % of the population's and the people's, by a binomial at 1e-6.

    People are drawn from the population anew each time for the first, and stay for the second.
    """
    rng, source, trials = np.random.default_rng(4), rumor.Seeded(4), 60
    kinds, chances = [(0, 1), (2,), (0, 3), ()], [0.3, 0.2, 0.1, 0.4]
    options = np.zeros(12)
    options[:4] = 0.4, 0.3, 0.2, 0.1
    pairs = {0: 0.3, 1: 0.0, 2: 0.1}  # the first option with the second, third and fourth
    fixed = np.repeat(np.arange(4), [600, 400, 200, 800])
    held = {"population": 0, "people": 0}
    together = dict(held)
    for _ in range(trials):
        for of in ("population", "people"):
            drawn = rng.choice(4, size=2000, p=chances) if of == "population" else fixed
            reports = mechanism.privatize([kinds[i] for i in drawn], random=source)
            found = rumor.estimate(mechanism, reports, method="inversion")
            low, high = found.interval(0.95, of=of)
            held[of] += int(((low <= options + 1e-12) & (options <= high + 1e-12))[:6].sum())
            assert found.pairs is not None
            low, high = found.pairs.interval(0.95, of=of)
            together[of] += sum(low[i] <= f <= high[i] for i, f in pairs.items())
    for of in held:
        # Options of one crowd are a little dependent: five standard deviations of a binomial.
        for covered, count in ((held[of], 6 * trials), (together[of], 3 * trials)):
            assert covered / count > 0.95 - 5 * math.sqrt(0.95 * 0.05 / count), of


def test_shares_and_pairs_of_expected_counts_are_the_truth() -> None:
    """What a large crowd adds up to is estimated as what it holds, by every method."""
    people = 40_000
    for mechanism in (
        SetSelect(domain=["a", "b", "c"], cap=2, size=2, epsilon=4.0, counted="pairs"),
        SetBlock(domain=["a", "b", "c"], block=2, epsilon=4.0, counted="pairs"),
    ):
        named = [mechanism.named(options) for options in crowd(people)]
        summary = rumor.Summary.empty(mechanism)
        summary = summary.update(mechanism.privatize(named, random=rumor.Seeded(3)))
        for method in SETS.methods():
            found = rumor.estimate(mechanism, summary, method=method)
            assert np.abs(found.frequency - [0.5, 0.5, 0.25]).max() < 5 * found.stderr.max()
        pairs = found.pairs
        assert pairs is not None
        assert pairs.members == [("a", "b"), ("a", "c"), ("b", "c")]
        assert np.abs(pairs.frequency - [0.5, 0.0, 0.0]).max() < 5 * pairs.stderr.max()
        data: Any = found.to_dict(order="estimate", rows=2)
        top = data["pairs"][0]
        assert (top["first"], top["second"]) == ("a", "b")
        assert "a + b" in found.table()
        assert "2 were kept at random" in found.table() or mechanism.cap == 3


def test_an_option_that_no_report_is_about_may_have_any_share() -> None:
    """One report of a block: nothing is known of the others, and everything stays finite."""
    mechanism = SetBlock(domain=9, block=1, epsilon=1.0)
    found = rumor.estimate(mechanism, mechanism.outputs()[:1])
    low, high = found.interval()
    assert (low[1:] == 0).all()
    assert (high[1:] == 1).all()
    assert np.isfinite(found.frequency).all()
    assert json.dumps(found.to_dict(), allow_nan=False)


@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_very_few_reports_of_many_options_give_finite_shares(epsilon: float) -> None:
    """A law that lies beyond all shares says nothing, and spoils nothing."""
    mechanism = SetBlock(domain=300, block=1, epsilon=epsilon)
    for seed in range(4):
        reports = mechanism.privatize([[]], random=Seeded(seed))
        found = rumor.estimate(mechanism, reports).frequency
        assert ((found >= 0) & (found <= 1)).all()


def test_groups_are_estimated_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, contract, reports = (tmp_path / n for n in ("t.csv", "law.json", "r.parquet"))
    contract.write_bytes(collection(labels=WAYS, cap=2, epsilon=8.0).canonical())
    table.write_text("ways,town\n" + "bus|car,x\n" * 500 + "train,y\n" * 500)
    files = [str(contract), str(table), "-o", str(reports), "--keep", "town", "--seed", "1"]
    assert main(["privatize", *files]) == 0
    capsys.readouterr()
    assert main(["estimate", str(contract), str(reports), "--by", "town", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = {(row["stratum"], row["value"]): row["frequency"] for row in found["estimates"]}
    assert rows["x", "bus"] > 0.9 > 0.1 > rows["y", "bus"]
    assert rows["y", "train"] > 0.9


def test_a_dry_run_sees_how_a_cap_shrinks_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everybody chose three and two are kept: two thirds of every share, beside the truth."""
    table, contract = tmp_path / "t.csv", tmp_path / "law.json"
    wish = {"labels": WAYS, "cap": 2, "over_cap": "sample", "epsilon": 8.0}
    contract.write_bytes(collection(**wish, mechanism="select").canonical())
    table.write_text("ways\nbus|car|train\n")
    run = ["simulate", str(contract), str(table), "--people", "20000", "--seed", "1", "--json"]
    assert main(run) == 0
    rows = {row["value"]: row for row in json.loads(capsys.readouterr().out)["estimates"]}
    assert rows["bus"]["truth"] == 1.0
    assert rows["bus"]["frequency"] == pytest.approx(2 / 3, abs=0.03)
    assert rows["bicycle"]["frequency"] == pytest.approx(0, abs=0.03)
