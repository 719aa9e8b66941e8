"""Weights and several sources: what they estimate, how often they cover, what they refuse."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.analysis.combine.method import read_weights
from rumor.analysis.compare.quantities import Sum
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.estimators.groups import Sample
from rumor.mechanisms.oracle import FrequencyOracle
from tests.flow import made_reports, write_days, write_toml

Outputs = pytest.CaptureFixture[str]


def counted(oracle: FrequencyOracle, size: int, share: float, trials: int, seed: int) -> Sample:
    """The share of one value in many trials, from its count alone."""
    gain = oracle.hit - oracle.miss
    seen = np.random.default_rng(seed).binomial(size, oracle.miss + gain * share, trials) / size
    v0, v1, v2 = oracle.score(np.array([0, size]), size).spread["population"]
    spread = tuple(np.full(trials, float(v) / gain**2) for v in (v0, v1, v2))
    return Sample((seen - oracle.miss) / gain, spread, size, (0.0, 1.0))  # type: ignore[arg-type]


def test_weighted_estimates_cover_where_plain_ones_are_biased() -> None:
    """Three groups, the smallest the most willing: 10,000 trials, to 4 standard deviations."""
    oracle, trials = rumor.RandomizedResponse(domain=2, epsilon=1.0), 10_000
    shares, weights, sizes = (0.05, 0.2, 0.6), (0.5, 0.3, 0.2), (400, 600, 3000)
    truth = sum(w * f for w, f in zip(weights, shares, strict=True))
    samples = [
        counted(oracle, n, f, trials, seed)
        for seed, (n, f) in enumerate(zip(sizes, shares, strict=True))
    ]
    found = Sum(samples, weights)
    low, high = found.bounds(1.959964)
    covered = np.mean((low <= truth) & (truth <= high))
    assert covered == pytest.approx(0.95, abs=0.005 + 4 * math.sqrt(0.05 * 0.95 / trials))
    assert found.mean.mean() == pytest.approx(truth, abs=4 * found.mean.std() / math.sqrt(trials))
    assert found.stderr.mean() == pytest.approx(found.mean.std(), rel=0.03)


def test_groups_count_for_as_many_as_they_are() -> None:
    mechanism = rumor.RandomizedResponse(domain=["no", "yes"], epsilon=20.0)
    groups = {
        "a": mechanism.privatize(["yes"] * 300, random=rumor.Seeded(1)),
        "b": mechanism.privatize(["no"] * 100, random=rumor.Seeded(2)),
        "c": mechanism.privatize(["no"] * 10, random=rumor.Seeded(3)),
    }
    found = rumor.weigh(mechanism, groups, {"a": 10, "b": 30, "d": 60})
    np.testing.assert_allclose(found.unbiased, [0.75, 0.25], atol=1e-6)
    assert [part.weight for part in found.parts.values()] == [0.25, 0.75]
    assert found.reports == 400
    assert found.notes == (
        "no reports of 'd', 60.0% of the population: the estimate is of the rest.",
        "without a weight, and left out: 'c'.",
    )
    # A group that is there and empty is a group without reports.
    empty = rumor.weigh(mechanism, {**groups, "d": groups["a"][:0]}, {"a": 10, "b": 30, "d": 60})
    assert empty.notes == found.notes
    low, high = found.interval()
    assert ((low >= 0) & (high <= 1)).all()
    assert found.picture(rumor.View(), None, None).to_dict()
    for weights, sentence in (
        ({"x": 1}, "weights must be for groups that have reports"),
        ({"a": -1}, "numbers from 0 on; got -1 for 'a'"),
        ({"a": math.nan}, "numbers from 0 on"),
        ({"a": True}, "numbers from 0 on"),
    ):
        with pytest.raises(InputError, match=sentence):
            rumor.weigh(mechanism, groups, weights)


def test_sources_of_any_noise_are_one_estimate() -> None:
    sources = [
        (rumor.RandomizedResponse(domain=3, epsilon=3.0), 2000),
        (rumor.HadamardResponse(domain=3, epsilon=0.5), 20_000),
    ]
    rng, law = np.random.default_rng(1), [0.5, 0.3, 0.2]
    data = [(m, m.privatize(rng.choice(3, n, p=law), random=rumor.Seeded(n))) for m, n in sources]
    found = rumor.combine(data)
    assert (np.abs(found.unbiased - law) < 4 * found.stderr).all()
    alone = [rumor.estimate(m, reports, method="inversion") for m, reports in data]
    assert (found.stderr < np.minimum(alone[0].stderr, alone[1].stderr)).all()
    assert found.notes == ()
    assert (found.reports, found.epsilon) == (22_000, sources[0][0].epsilon)
    # One source is itself, and sources that differ are said to.
    one = rumor.combine({"only": data[0]})
    np.testing.assert_allclose(one.unbiased, alone[0].unbiased)
    other = sources[0][0].privatize(np.zeros(2000, dtype=int), random=rumor.Seeded(5))
    assert "differ by more than chance" in rumor.combine([data[0], (sources[0][0], other)]).notes[0]
    with pytest.raises(InputError, match="at least one source; got none"):
        rumor.combine([])


def test_sources_are_said_to_differ_below_a_p_value_of_one_percent() -> None:
    oracle, told = rumor.RandomizedResponse(domain=3, epsilon=1.0), {}
    for shift in range(40, 140, 4):
        groups = [
            (oracle, rumor.Summary.from_counts(oracle, [400 + more, 300 - more, 300], 1000))
            for more in (0, shift)
        ]
        first, second = (summary for _, summary in groups)
        (pair,) = rumor.compare(oracle, first, second).pairs
        p_value = min(float(pair.adjusted.min()), float(pair.overall_adjusted or 1.0))
        told[p_value] = any("differ by more" in note for note in rumor.combine(groups).notes)
    assert told == {p_value: p_value < 0.01 for p_value in told}
    assert any(0.005 < p_value < 0.01 for p_value in told)
    assert any(0.01 < p_value < 0.02 for p_value in told)


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    text = Path(write_toml(tmp_path)).read_text()
    write_toml(tmp_path, text.replace("epsilon = 2.0", "epsilon = 1.0"), "other.toml")
    for name in ("collection", "other"):
        contract = Collection.load(f"{name}.toml")
        asked = contract.question("homepage")
        days = {"2026-03-01": made_reports(asked, 3000, 1)}
        write_days(tmp_path / f"{name}.parquet", contract, asked, days, ["DE", "FR", "IT"])
    Path("w.csv").write_text("country,people\nDE,80\nFR,20\nES,100\n")
    return tmp_path


def test_the_commands(work: Path, capsys: Outputs) -> None:
    arguments = ["estimate", "collection.toml", "collection.parquet", "-q", "homepage"]
    assert main([*arguments, "--weights", "w.csv", "--csv", "x.csv", "--plot", "x.svg"]) == 0
    table = capsys.readouterr().out
    assert "no reports of 'ES', 50.0% of the population" in table
    assert "without a weight, and left out: 'IT'." in table
    assert len(Path("x.csv").read_text().splitlines()) == 6
    assert main([*arguments, "--weights", "w.csv", "--json"]) == 0
    weighted: Any = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--by", "country", "--method", "inversion", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["estimates"]
    plain = {(row["stratum"], row["value"]): row["unbiased"] for row in rows}
    for row in weighted["estimates"]:
        expected = 0.8 * plain["DE", row["value"]] + 0.2 * plain["FR", row["value"]]
        assert row["estimate"] == pytest.approx(expected)
    both = ["combine", "collection.toml", "collection.parquet", "other.toml", "other.parquet"]
    assert main([*both, "-q", "homepage", "--json"]) == 0
    combined = json.loads(capsys.readouterr().out)
    assert [part["epsilon"] for part in combined["parts"]] == pytest.approx([2.0, 1.0])
    Path("parts.csv").write_text("source,part\ncollection,1\nother,3\n")
    assert main([*both, "--chosen", "--weights", "parts.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["parts"][1]["weight"] == 0.75


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["estimate", "--weights", "w.csv", "--by", "day"], "column that groups are by, 'day'"),
        (
            ["estimate", "--weights", "w.csv", "--method", "em"],
            "got --method, --option or --save-summary",
        ),
        (["estimate", "--weights", "nope.csv"], "nope.csv"),
        (["estimate", "--weights", "collection.toml"], "a CSV with two columns"),
        (["combine"], "several sources are combined; got 1"),
        (["combine", "other.toml"], "pairs of a collection and reports; got 3 files"),
        (["combine", "collection.toml", "collection.parquet"], "must be different files"),
        (["combine", "other.toml", "other.parquet", "--chosen"], "may answer differently"),
    ],
)
def test_what_is_refused(work: Path, capsys: Outputs, arguments: list[str], sentence: str) -> None:
    command, *rest = arguments
    assert main([command, "collection.toml", "collection.parquet", *rest]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert sentence in said.err


def test_tables_of_weights(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("age,n\nold,1.5\nyoung,2\n")
    assert read_weights(path) == ("age", {"old": 1.5, "young": 2.0})
    for text, sentence in (
        ("age,n\n", "two columns, groups and their weights; got something else"),
        ("age,n\nold,many\n", "got the weight 'many'"),
        ("age,n\nold,1\nold,2\n", "each group once; got 'old' twice"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=sentence):
            read_weights(path)
