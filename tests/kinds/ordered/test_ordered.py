"""Ordered answers from the question to the number that an analyst asks for by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.types import Tally
from rumor.kinds import KINDS
from rumor.kinds.choice.order_advice import looks_ordered
from rumor.kinds.ordered.result import OrderedEstimate
from rumor.mechanisms.wave.wave import Wave

OFTEN = ["never", "rarely", "sometimes", "often", "always"]
PEOPLE = 100_000


def collection(**question: Any) -> Collection:
    asked = {"id": "asked", "kind": "ordered", "text": "How?", "epsilon": 1.0, **question}
    base = {"name": "Law", "series": "law", "contact": "a@b.example"}
    return Collection.resolve({**base, "questions": [asked]})


def expected_counts(wave: Wave, law: np.ndarray[Any, Any], people: int = PEOPLE) -> Tally:
    """What the outputs of a crowd add up to on average: chance has no part in it."""
    return np.rint(people * wave.band.forward(law)).astype(np.int64)


def estimated(
    wave: Wave, law: np.ndarray[Any, Any], method: str = "auto", **options: Any
) -> OrderedEstimate:
    counts = expected_counts(wave, law)
    summary = rumor.Summary(wave, int(counts.sum()), counts)
    found: OrderedEstimate = rumor.estimate(wave, summary, method=method, **options)
    return found


def bell(domain: int, middle: float = 0.4, width: float = 0.15) -> np.ndarray[Any, Any]:
    x = (np.arange(domain) + 0.5) / domain
    law = np.exp(-0.5 * ((x - middle) / width) ** 2)
    return np.asarray(law / law.sum())


# The question


def test_a_contract_carries_labels_and_round_numbers() -> None:
    made = collection(low=0, high=100, round=5)
    said = made.questions[0].contract()
    assert (said["labels"], said["round"]) == (None, [5.0])
    again = Collection.from_json(made.canonical())
    assert again.digest == made.digest
    wave = again.question("asked").mechanism
    assert isinstance(wave, Wave)
    assert wave.marks == ((5, 0),)
    labelled = collection(labels=OFTEN).questions[0].contract()
    assert (labelled["labels"], labelled["round"]) == (tuple(OFTEN), None)


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"labels": ["a", "a"]}, "labels must be distinct"),
        ({"labels": "never"}, "labels must be a list of strings"),
        ({"labels": OFTEN, "round": 5}, "round is for a range of numbers"),
        ({"low": 3, "high": 3}, "low must be below high"),
        ({"low": 0, "high": 3, "bins": 1}, "bins must be an integer from 2"),
        ({"low": 0, "high": float("nan")}, "high must be a finite number"),
        ({"low": 0, "high": 9, "estimate": "mean"}, "estimate must be one of distribution"),
        ({"low": 0, "high": 9, "mechanism": "harmony"}, "a mechanism must be one of auto, wave"),
        ({"low": 0, "high": 9, "mechanism": {"name": "wave", "windw": 1}}, "windw"),
    ],
)
def test_a_question_that_cannot_be_is_refused_in_a_sentence(
    wish: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError) as refused:
        collection(**wish)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("spoiled", [[], "5", [0], [5, 5, 5, 5], 5])
def test_a_contract_with_odd_round_numbers_is_refused(spoiled: object) -> None:
    contract = json.loads(collection(low=0, high=100, round=5).canonical())
    contract["questions"][0]["round"] = spoiled
    with pytest.raises(InputError, match="round must be"):
        Collection.from_contract(contract)


def test_a_number_whose_distribution_is_wanted_is_an_ordered_answer() -> None:
    wish = {"low": 0, "high": 60, "bins": 30, "epsilon": 2.0}
    number = collection(kind="number", estimate="distribution", **wish)
    assert number.question("asked").kind == "ordered"
    assert number.digest == collection(**wish).digest
    mean = collection(kind="number", estimate="mean", low=0, high=60)
    assert mean.digest == collection(kind="number", low=0, high=60).digest
    with pytest.raises(InputError, match="estimate must be one of mean, distribution"):
        collection(kind="number", estimate="mode", low=0, high=60)
    with pytest.raises(InputError, match="bins"):
        collection(kind="number", bins=30, low=0, high=60)


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        (["1", "2", "3", "4", "5"], True),
        (["5 stars", "4 stars", "3 stars"], True),
        (["under 18", "18-24", "25-64", "65+"], True),
        (["$0 to $1,000", "$1,000 to $5,000", "$5,000 and more"], True),
        (["never", "rarely", "often", "always", "no answer"], True),
        (["Strongly agree", "agree", "neutral", "disagree", "strongly disagree"], True),
        (["red", "green", "blue"], False),
        (["3", "1", "2"], False),
        (["always", "never", "often"], False),
        (["yes", "no"], False),
        (["1", "2", "many"], False),
    ],
)
def test_labels_that_look_like_an_order_are_recognised(labels: list[str], order: bool) -> None:
    assert (looks_ordered(labels) is not None) == order
    choice = rumor.RandomizedResponse(domain=labels, epsilon=1.0)
    advice = KINDS["choice"].advice(choice)
    assert (advice is not None) == order
    assert advice is None or 'kind = "ordered"' in advice


# The estimate


def test_what_is_asked_by_name_of_a_range() -> None:
    wave = Wave(low=0.0, high=24.0, bins=96, epsilon=1.0)
    law = bell(96)
    found = estimated(wave, law)
    middles = wave.scale.middles
    # Without chance in the counts, only the curve itself may be off, by a small part of a range.
    assert found.mean == pytest.approx(law @ middles, abs=0.02)
    # Counts are whole: each is off by at most half a report, which moves the mean by little.
    assert found.unbiased == pytest.approx(law @ middles, abs=5e-3)
    sums = np.concatenate([[0.0], np.cumsum(law)])
    edges = np.linspace(0, 24, 97)
    for share in (0.1, 0.5, 0.9):
        one = found.quantile(share)
        assert one.value == pytest.approx(np.interp(share, sums, edges), abs=0.05)
        assert one.low < one.value < one.high
    assert found.cdf(9.1).value == pytest.approx(np.interp(9.1, edges, sums), abs=0.005)
    assert found.share(6, 12).value == pytest.approx(
        np.interp(12, edges, sums) - np.interp(6, edges, sums), abs=0.005
    )
    assert found.cdf(-5).value == 0.0
    assert found.cdf(99).value == pytest.approx(1.0)
    assert found.density.sum() * 0.25 == pytest.approx(1.0)
    assert float(found.quantile(0.5)) == found.quantile(0.5).value
    for assume in ("smooth", "nothing"):
        half, most = (found.quantile(0.5, level, assume=assume) for level in (0.5, 0.99))
        assert most.low < half.low < half.high < most.high
    with pytest.raises(InputError, match="from a lower value to a higher one"):
        found.share(12, 6)
    with pytest.raises(InputError, match="must be a number"):
        found.cdf("noon")


def test_whole_numbers_and_labels_hold_nothing_between_them() -> None:
    ages = estimated(Wave(low=0, high=99, epsilon=2.0), bell(100))
    assert ages.quantile(0.5).value == round(ages.quantile(0.5).value)
    assert ages.cdf(40).value == ages.cdf(40.9).value < ages.cdf(41).value
    assert ages.share(40).value == pytest.approx(ages.frequency[40])
    assert ages.share(18, 64).value == pytest.approx(ages.frequency[18:65].sum())
    law = np.array([0.1, 0.2, 0.35, 0.25, 0.1])
    often = estimated(Wave(labels=OFTEN, epsilon=2.0), law)
    assert often.label(often.quantile(0.5).value) == "sometimes"
    assert often.share("often", "always").value == pytest.approx(0.35, abs=0.01)
    assert often.cdf("rarely").value == pytest.approx(0.3, abs=0.01)
    assert often.mean == pytest.approx(float(law @ np.arange(1, 6)), abs=0.01)


@pytest.mark.parametrize("method", ["em", "ems"])
def test_published_methods_answer_and_keep_the_intervals(method: str) -> None:
    wave = Wave(low=0.0, high=1.0, bins=64, epsilon=2.0)
    ours, theirs = estimated(wave, bell(64)), estimated(wave, bell(64), method)
    assert theirs.method == method
    assert not np.array_equal(ours.frequency, theirs.frequency)
    assert theirs.frequency.sum() == pytest.approx(1.0)
    for at in (0.2, 0.4, 0.6):
        one, other = ours.cdf(at), theirs.cdf(at)
        assert other.low <= min(one.low, other.value)
        assert other.high >= max(one.high, other.value)
    with pytest.raises(InputError, match="method must be one of auto, ordered, em, ems"):
        estimated(wave, bell(64), "clip")


def test_single_bins_have_the_intervals_of_their_shares() -> None:
    free = Wave(low=0, high=50, epsilon=1.0)
    for wave in (free, Wave(low=0, high=50, epsilon=1.0, round_to=5)):
        found = estimated(wave, bell(51))
        columns = found.columns()
        for place in (0, 20, 37, 50):
            share = found.share(place)
            ends = [columns[name][place] for name in ("low", "frequency", "high")]
            assert ends == pytest.approx([share.low, share.value, share.high])
        wider = found.columns(simultaneous=True)
        for name in ("low", "cdf_low"):
            assert all(w <= p for w, p in zip(wider[name], columns[name], strict=True))  # type: ignore[operator]
        assert "interval" not in found.explain()


def test_very_many_bins_are_bounded_by_their_blocks() -> None:
    wave = Wave(low=0.0, high=1.0, bins=2000, epsilon=2.0)
    found = estimated(wave, bell(2000))
    columns = found.columns()
    assert set(columns["low"]) == {0.0}
    block = found.share(800 / 2000, 802 / 2000)
    assert columns["high"][800] == columns["high"][801] == pytest.approx(block.high)
    assert len(set(columns["high"])) > 100


def test_single_bins_assume_nothing_where_people_may_round() -> None:
    """One number holds a third of the people, which no smooth distribution has."""
    law = 0.7 * bell(20) + 0.3 * (np.arange(20) == 10)
    wave = Wave(low=0, high=19, epsilon=1.0)
    free, smooth = estimated(wave, law), estimated(wave, law, assume="smooth")
    for name in ("low", "high"):
        assert smooth.columns()[name] == free.columns()[name]
        assert [bar[name] for bar in smooth.histogram()] == smooth.columns()[name]
    assert "intervals of single bins hold whatever the distribution" in " ".join(
        smooth.explain().split()
    )
    declared = estimated(Wave(low=0, high=19, epsilon=1.0, round_to=10), law, assume="smooth")
    assert "single bins" not in declared.explain()
    assert declared.columns()["low"] != free.columns()["low"]
    assert smooth.columns()["low"][10] <= law[10] <= smooth.columns()["high"][10]


def test_an_estimate_is_told_in_a_table_as_data_and_as_a_picture(tmp_path: Path) -> None:
    often = estimated(Wave(labels=OFTEN, epsilon=2.0), np.array([0.1, 0.2, 0.35, 0.25, 0.1]))
    table = often.table()
    for word in (*OFTEN, "median", "mean place", "up to it"):
        assert word in table
    told = often.to_dict()
    assert [row["label"] for row in told["quantiles"]][2] == "sometimes"  # type: ignore[attr-defined]
    assert [bar["value"] for bar in told["histogram"]] == OFTEN  # type: ignore[attr-defined]
    ages = estimated(Wave(low=0, high=99, epsilon=1.0, round_to=5), bell(100))
    assert "what lies outside the range" in ages.table()
    bars = ages.histogram()
    assert [bars[0]["value"], bars[-1]["value"], len(bars)] == ["0 to 4", "95 to 99", 20]
    assert sum(bar["frequency"] for bar in bars) == pytest.approx(1.0)
    for name, found in (("often.svg", often), ("ages.svg", ages)):
        found.plot(tmp_path / name, truth=found.frequency)
        assert (tmp_path / name).read_text().startswith("<svg")


def test_the_noise_is_a_floor_of_the_standard_error() -> None:
    wave = Wave(low=0.0, high=10.0, bins=20, epsilon=1.0)
    one = rumor.estimate(wave, wave.privatize([5.0], random=rumor.Seeded(1)))
    # The variance of one output given the position, at the position where it is smallest.
    outputs = np.arange(wave.alphabet)
    least = (
        min(float(row @ outputs**2 - (row @ outputs) ** 2) for row in wave.channel().matrix())
        / float(wave.line[1]) ** 2
    )
    assert one.stderr == pytest.approx(0.5 * np.sqrt(least))


def test_groups_are_compared_and_a_change_is_noticed() -> None:
    wave = Wave(low=0.0, high=1.0, bins=64, epsilon=1.0)
    first, second = estimated(wave, bell(64, 0.5)), estimated(wave, bell(64, 0.4))
    change = first.minus(second)
    mean = change.mean()
    assert mean.value == pytest.approx(first.unbiased - second.unbiased)
    assert mean.stderr == pytest.approx(np.hypot(first.stderr, second.stderr))
    assert mean.low > 0
    assert change.quantile(0.5).value == pytest.approx(0.1, abs=0.01)
    assert change.cdf(0.45).high < 0
    assert change.share(0.0, 0.45).high < 0
    assert change.p_value < 1e-10
    assert first.minus(first).p_value == pytest.approx(1.0)
    with pytest.raises(InputError, match="over the same positions"):
        first.minus(estimated(Wave(labels=5, epsilon=1.0), np.full(5, 0.2)))
    other = estimated(Wave(low=0.0, high=1.0, bins=64, epsilon=2.0), bell(64))
    with pytest.raises(InputError, match="reports of one mechanism"):
        _ = first.minus(other).p_value


def test_shares_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    contract, answers, reports = (tmp_path / n for n in ("c.json", "a.csv", "r.parquet"))
    collection(low=0, high=99).save(contract)
    ages = np.clip(np.random.default_rng(1).normal(40, 12, 3000).round(), 0, 99)
    answers.write_text("asked\n" + "\n".join(f"{age:.0f}" for age in ages) + "\n")
    assert main(["privatize", str(contract), str(answers), "-o", str(reports)]) == 0
    asked = ["estimate", str(contract), str(reports), "--json", "--share"]
    capsys.readouterr()
    assert main([*asked, "18..64"]) == 0
    share = json.loads(capsys.readouterr().out)["share"]
    # Some 97 in a hundred; three thousand reports of epsilon 1 leave a few points of error.
    assert share["low"] <= np.mean((ages >= 18) & (ages <= 64)) <= share["high"]
    for wrong in ("noon", "64..18"):
        assert main([*asked, wrong]) == 2
        assert "a share is of" in capsys.readouterr().err


@pytest.mark.parametrize("labels", [20, 21])
def test_each_of_up_to_twenty_labels_has_its_share_in_the_table(labels: int) -> None:
    names = [f"step {number}" for number in range(labels)]
    text = estimated(Wave(labels=names, epsilon=2.0), np.full(labels, 1 / labels)).table()
    listed = [
        name for name in names if any(line.startswith(f"{name} ") for line in text.split("\n"))
    ]
    assert listed == (names if labels == 20 else [])
