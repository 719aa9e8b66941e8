"""Plans: any two of people, epsilon and error give the third, and the third keeps its promise."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from benchmarks import plan_calibrate
from benchmarks.plan_table import SETTINGS, topic_and_mechanism
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.kinds import KINDS, NAMES
from rumor.kinds.planning import calibration
from rumor.kinds.planning.forecast import (
    default_error,
    drawn_estimates,
    drawn_tally,
    holders,
    linear_error,
    typical_law,
)
from rumor.kinds.planning.plan import make_plan
from rumor.kinds.planning.planned import Option, permanent_noise
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.rappor.simulation import simulate_counts
from rumor.mechanisms.summary import Summary


def oracle_of(option: Option[Any]) -> FrequencyOracle:
    assert isinstance(option.mechanism, FrequencyOracle)
    return option.mechanism


def test_the_three_directions_agree() -> None:
    forward = make_plan(domain=100, users=50_000, epsilon=1.0)
    least = forward.best
    people = make_plan(domain=100, epsilon=1.0, error=least.error)
    assert people.users == pytest.approx(50_000, rel=1e-3)
    epsilon = make_plan(domain=100, users=50_000, error=least.error)
    assert epsilon.epsilon == pytest.approx(1.0, rel=2e-3)
    detect = make_plan(domain=100, users=50_000, detect=least.detectable)
    assert detect.epsilon == pytest.approx(1.0, rel=2e-3)


def test_one_person_fewer_is_not_enough() -> None:
    plan = make_plan(domain=50, epsilon=1.0, error=0.002)
    fewer = make_plan(domain=50, epsilon=1.0, users=plan.users - 1)
    assert plan.best.error <= 0.002 < fewer.best.error


@pytest.mark.parametrize("domain", [pytest.param(2, marks=pytest.mark.slow), 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_predicted_error_is_the_one_that_comes(domain: int, epsilon: float) -> None:
    """Absent values of many simulated runs: their spread is predicted within five per cent."""
    users = 2000
    for option in make_plan(domain=domain, users=users, epsilon=epsilon).options:
        oracle, source = oracle_of(option), rumor.Seeded(7)
        runs = 3000 // domain + 30
        values = np.zeros(users, dtype=np.int64)
        errors = [
            oracle.unbiased(oracle.tally(oracle.privatize(values, random=source)), users)[1:]
            for _ in range(runs)
        ]
        # Everyone holds value 0; the plan assumes that a rare value's block is as full as
        # any, so only oracles whose noise does not depend on the others are compared here.
        if oracle.name == "hadamard":
            continue
        found = float(np.sqrt(np.mean(np.square(errors))))
        noise = 1 / np.sqrt(2 * len(errors) * (domain - 1))
        assert found == pytest.approx(option.error, rel=0.02 + 5 * noise)


def test_what_is_called_detectable_is_detected_with_the_stated_power() -> None:
    plan = make_plan(domain=20, users=5000, epsilon=1.0)
    option = plan.options[0]
    oracle, source, runs = oracle_of(option), rumor.Seeded(3), 400
    held = round(option.detectable * plan.users)
    values = np.concatenate([np.ones(held, np.int64), np.zeros(plan.users - held, np.int64)])
    found = 0
    for _ in range(runs):
        estimate = oracle.unbiased(
            oracle.tally(oracle.privatize(values, random=source)), plan.users
        )
        found += estimate[1] > 1.6449 * option.error
    # 90 % of 400 runs, within 4 standard deviations (1.5 %), and the people are fixed here,
    # so the power is a little above what sampled people would give.
    assert 0.84 < found / runs < 0.97


def test_the_recommendation_is_what_auto_resolves_to(tmp_path: Path) -> None:
    plan = make_plan(domain=1000, users=100_000, epsilon=1.0)
    file = tmp_path / "collection.toml"
    file.write_text(plan.to_toml())
    loaded = rumor.Collection.load(file)
    assert loaded.questions[0].mechanism == plan.best.mechanism
    auto = plan.to_toml().replace(f'"{plan.best.mechanism.name}"', '"auto"')
    assert rumor.Collection.from_toml(auto).digest == loaded.digest


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--domain", "1000", "--users", "1e5", "--epsilon", "1"]) == 0
    text = capsys.readouterr().out
    assert "1,000 values, 100,000 respondents, epsilon 1" in text
    assert "Recommended: projective:" in text
    chart, file = tmp_path / "plan.svg", tmp_path / "plan.toml"
    arguments = ["plan", "--domain", "50", "--users", "20000", "--detect", "0.02", "--json"]
    assert main([*arguments, "--plot", str(chart), "--write", str(file)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["solved"] == "epsilon needed for the rest"
    assert min(option["detectable"] for option in data["options"]) <= 0.02
    assert chart.stat().st_size > 1000
    assert rumor.Collection.load(file).questions[0].epsilon <= data["epsilon"]


# --- Every kind of question -----------------------------------------------------------------

LIFETIME = ["--lifetime", "2"]
WISHES: dict[str, Mapping[str, object]] = {
    **{kind.name: kind.example().plan for kind in KINDS.values()},
    "choice": {"domain": 30},
    "text": {"domain": 500},
    "number": {"low": 0.0, "high": 120.0},
    "keyvalue": {"domain": 20, "low": 0.0, "high": 5.0, "cap": 3},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_collection_asks_what_was_planned(kind: str) -> None:
    plan = make_plan(kind=kind, users=50_000, epsilon=1.5, **WISHES[kind])  # type: ignore[arg-type]
    question = rumor.Collection.from_toml(plan.to_toml()).questions[0]
    assert question.kind == kind
    assert question.mechanism.width == plan.best.mechanism.width
    assert question.epsilon == plan.best.mechanism.epsilon <= 1.5
    if kind not in ("text", "words"):  # the key of hashes is the collection's own
        assert question.mechanism == plan.best.mechanism


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_both_ways(kind: str) -> None:
    plan = make_plan(kind=kind, users=50_000, epsilon=1.5, **WISHES[kind])  # type: ignore[arg-type]
    wanted = {"error": plan.best.error, **WISHES[kind]}
    people = make_plan(kind=kind, epsilon=1.5, **wanted)  # type: ignore[arg-type]
    assert people.users == pytest.approx(50_000, rel=1e-3)
    epsilon = make_plan(kind=kind, users=50_000, **wanted)  # type: ignore[arg-type]
    # The tables for means change at every eighth of epsilon, and the error by a percent with them.
    steps = {"number": 1e-2}.get(kind, 2e-3)
    assert epsilon.epsilon == pytest.approx(1.5, rel=steps)
    assert [option.error for option in plan.options] == sorted(o.error for o in plan.options)


def test_the_largest_domain() -> None:
    plan = make_plan(users=100_000, epsilon=1.0, error=0.005)
    size = plan.to_dict()["domain"]
    assert isinstance(size, int)
    assert plan.options[0].error <= 0.005
    assert make_plan(domain=size + 1, users=100_000, epsilon=1.0).options[0].error > 0.005


def test_one_hash_is_best_and_the_plan_says_so() -> None:
    plan = make_plan(kind="text", domain=1000, users=200_000, epsilon=2.0)
    assert [option.name.split(", ")[1] for option in plan.options] == [
        "1 hash",
        "2 hashes",
        "4 hashes",
    ]
    assert "one hash is best at a fixed epsilon" in plan.reason
    rappor = plan.best.mechanism
    assert isinstance(rappor, rumor.Rappor)
    assert (rappor.noise.f, rappor.q_star) == (0.0, 0.5)


@pytest.mark.slow
def test_a_word_that_is_called_detectable_is_found_with_the_stated_power() -> None:
    """Everybody but the planned share holds one word; a lone other one is looked for."""
    domain, people, runs = 100, 50_000, 40
    best = make_plan(kind="text", domain=domain, users=people, epsilon=2.0).best
    rappor, words = best.mechanism, [f"word {i}" for i in range(domain)]
    assert isinstance(rappor, rumor.Rappor)
    held = np.zeros(domain, dtype=np.int64)
    held[1] = round(best.detectable * people)
    held[0] = people - held[1]
    found = 0
    for run in range(runs):
        counts = simulate_counts(rappor, words, held, random=rumor.Seeded(run))
        found += bool(rumor.estimate(rappor, counts, candidates=words).detected[1])
    # 90 % of 40 runs, within 4 standard deviations (4.7 %).
    assert found / runs > 0.9 - 4 * math.sqrt(0.09 / runs)


# --- Over time ------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
@pytest.mark.parametrize("times", [1.0, 1.2, 2.0, 4.0])
@pytest.mark.parametrize("hashes", [1, 2])
def test_permanent_noise_keeps_both_losses(epsilon: float, times: float, hashes: int) -> None:
    noise = permanent_noise(epsilon, times * epsilon, hashes)
    rappor = rumor.Rappor(bits=32, hashes=hashes, cohorts=1, key=b"key", **vars(noise))
    assert epsilon - 1e-4 < rappor.epsilon <= epsilon
    assert times * epsilon - 1e-3 < rappor.epsilon_permanent <= times * epsilon
    assert rappor.epsilon_after(1000) <= times * epsilon
    if times >= 2 and hashes == 1:  # nothing is lost against a single report of this epsilon
        once = rumor.UnaryEncoding(domain=32, epsilon=epsilon)
        kept = rumor.Rappor.basic(labels=32, **vars(noise))
        assert float(kept.variance(0.0, 1)) == pytest.approx(float(once.variance(0.0, 1)), rel=1e-3)


def test_asked_again_the_total_stays_finite() -> None:
    plan = make_plan(domain=20, users=100_000, reports=365, lifetime=2.0)
    assert plan.epsilon == 1.0
    assert plan.best.name == "basic-rappor"
    assert plan.best.epsilon_total <= plan.best.mechanism.permanence.epsilon_permanent <= 2.0
    assert "fresh noise cost epsilon 365" in plan.reason
    question = rumor.Collection.from_toml(plan.to_toml()).questions[0]
    assert question.epsilon_total <= 2.0
    assert question.reports_per_person == 365
    fresh = make_plan(kind="number", users=10_000, reports=4, lifetime=2.0)
    assert fresh.epsilon == 0.5
    assert fresh.best.epsilon_total <= 2.0
    counted = make_plan(kind="number", users=10_000, epsilon=0.5, lifetime=2.0)
    assert counted.budget.reports == 4


# --- What is foretold -----------------------------------------------------------------------

# Rows of the table of benchmarks/plan_table.py that cost little, with fewer trials.
FORETOLD = {1: 400, 3: 300, 10: 40, 16: 8, 32: 15, 35: 400, 36: 400, 38: 15}


@pytest.mark.parametrize("wanted", [{"error": 0.01}, {"detect": 0.02}])
def test_nothing_that_is_given_is_ignored(wanted: dict[str, Any]) -> None:
    """People, epsilon and an error give the largest domain; with a domain one is too many."""
    with pytest.raises(InputError, match="got all three: leave one out"):
        make_plan(kind="choice", domain=50, users=10**5, epsilon=1.0, **wanted)
    with pytest.raises(InputError, match="got all three: leave one out"):
        make_plan(kind="number", users=10**5, epsilon=1.0, error=0.01)
    assert make_plan(kind="choice", users=10**5, epsilon=1.0, **wanted).users == 10**5
    # A difference is told with its power, whatever else is given.
    make_plan(kind="choice", domain=50, users=10**5, epsilon=1.0, difference=0.02, share=0.2)


@pytest.mark.parametrize(
    "number", [pytest.param(n, marks=[pytest.mark.slow] if n == 32 else []) for n in FORETOLD]
)
def test_errors_are_as_foretold(number: int) -> None:
    name, size, epsilon, people, _ = SETTINGS[number - 1]
    topic, mechanism = topic_and_mechanism(name, size, epsilon, people)
    trials = FORETOLD[number]
    found = topic.simulate(mechanism, people, trials, 5, None)
    # A root mean square of `freedom` errors varies by 1 / sqrt(2 freedom) of itself; the few
    # frequent values of Zipf's law count for most, so a trial has some ten of them at most.
    freedom = trials * min(10, max(1, size - 1))
    chance = 4 / math.sqrt(2 * freedom)
    assert found.linear[1] == pytest.approx(found.linear[0], rel=0.05 + chance)
    assert found.default is not None
    assert found.default[1] == pytest.approx(found.default[0], rel=0.15 + chance)


@pytest.mark.parametrize(
    "oracle",
    [
        rumor.RandomizedResponse(domain=4, epsilon=1.0),
        rumor.SubsetSelection(domain=5, epsilon=1.0),
        rumor.SubsetSelection(domain=6, epsilon=1.0, size=3),
        rumor.HadamardResponse(domain=6, epsilon=1.0),
        rumor.UnaryEncoding(domain=7, epsilon=1.0),
    ],
    ids=lambda oracle: f"{oracle.name}-{oracle.domain}",
)
def test_drawn_counts_have_the_law_of_reports(oracle: FrequencyOracle) -> None:
    law, people, crowds = typical_law(oracle.domain), 500, 4000
    drawn = drawn_estimates(oracle, law, people, crowds, np.random.default_rng(1))
    variance = oracle.variance(law, people)
    assert np.abs(drawn.mean(axis=0) - law).max() < 5 * math.sqrt(variance.max() / crowds)
    # A variance from that many draws is right to sqrt(2 / crowds) = 2.2 per cent.
    np.testing.assert_allclose(drawn.var(axis=0), variance, rtol=5 * math.sqrt(2 / crowds))


def test_the_default_gains_and_never_promises_more_than_everything() -> None:
    for domain in (5, 70, 2000, 50_000):
        law = typical_law(domain)
        worst = math.sqrt(float(np.mean((law - 1 / domain) ** 2)))
        for users in (100, 10_000, 10**9):
            oracle = rumor.UnaryEncoding(domain=domain, epsilon=1.0)
            found = default_error(oracle, users)
            assert found is not None
            assert found <= 1.02 * linear_error(oracle, users)
            assert found <= 1.3 * worst


def test_simulated_people_hold_keys_as_often_as_they_should() -> None:
    frequency = np.array([0.5, 1 / 3, 0.25, 0.05])
    held = holders(frequency, 20_000, np.random.default_rng(1))
    assert set(held.sum(axis=1).tolist()) == {1, 2}
    assert np.abs(held.mean(axis=0) - frequency).max() < 5 * math.sqrt(0.25 / 20_000)


@pytest.mark.slow
def test_the_command_plans_words_and_simulates(capsys: pytest.CaptureFixture[str]) -> None:
    wish = ["plan", "--kind", "text", "--domain", "50", "--users", "1e5", "--epsilon", "2"]
    assert main(wish) == 0
    text = capsys.readouterr().out
    assert "50 candidate words, 100,000 respondents, epsilon 2, 1 report each" in text
    assert "One hash is best at a fixed epsilon" in text
    tried = make_plan(kind="text", domain=50, users=100_000, epsilon=2).simulate(trials=2)
    assert tried.default is not None
    assert tried.default[1] == pytest.approx(tried.default[0], rel=0.5)
    wish = ["plan", "--kind", "keyvalue", "--domain", "9", "--users", "1e5", "--epsilon", "2"]
    assert main([*wish, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    wish = ["plan", "--domain", "100", "--users", "1e4", "--epsilon", "2", "--simulate"]
    assert main(wish) == 0
    assert "Simulated with 10,000 people, 10 times" in capsys.readouterr().out
    assert data["recommended"] == "keyvalue-block"
    assert {option["epsilon_permanent"] for option in data["options"]} == {None}
    assert all(option["epsilon"] <= 2 for option in data["options"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--domain", "50"], "a plan needs two of people, epsilon and an error"),
        (["--domain", "1", "--users", "10", "--epsilon", "1"], "domain must be an integer from 2"),
        (["--domain", "9", "--users", "10", "--epsilon", "-1"], "epsilon must be a number above 0"),
        (["--domain", "9", "--users", "10", "--error", "2"], "error must be a number above 0"),
        (["--domain", "9", "--users", "10", "--error", "1e-9"], "no epsilon up to 32 gives 1e-09"),
        (
            ["--domain", "9", "--users", "1.5", "--epsilon", "1"],
            "must be a whole number",
        ),
        (["--users", "10", "--epsilon", "1"], "a plan needs a domain"),
        (["--kind", "poem", "--users", "10", "--epsilon", "1"], "kind must be one of choice, "),
        (["--domain", "9", "--users", "10", "--lifetime", "2"], "a lifetime needs the number"),
        (
            ["--domain", "9", "--users", "10", "--epsilon", "3", "--lifetime", "2"],
            "the lifetime must be at least the epsilon of one report, 3; got 2",
        ),
        (
            ["--kind", "number", "--users", "9", "--epsilon", "1", "--reports", "5", *LIFETIME],
            "must cost at most the lifetime of 2; got 5",
        ),
        (
            ["--domain", "9", "--users", "9", "--epsilon", "1", "--cap", "2"],
            "a cap is for keyvalue and set questions; got one for a choice",
        ),
    ],
)
def test_bad_wishes(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *arguments]) == 2
    assert sentence in capsys.readouterr().err


def test_the_range_holds_crowds_of_other_shapes() -> None:
    """Of four laws that are not among the nine, each error lies in the range (4 crowds each)."""
    oracle, people = rumor.Projective(domain=100, epsilon=1.0), 5000
    rng = np.random.default_rng(9)
    plan = make_plan(domain=100, users=people, epsilon=1.0)
    assert plan.best.mechanism == oracle
    assert plan.range is not None
    assert plan.range.low < plan.range.zipf < plan.range.high
    rank = np.arange(1.0, 101)
    almost_even = 1 + 0.004 * (50 - rank)
    for raw in (np.exp(-np.sqrt(rank)), (rank + 4) ** -1.2, 1 + (rank <= 10) * 8.0, almost_even):
        law = raw / raw.sum()
        squares = 0.0
        for _ in range(4):
            summary = Summary(oracle, people, drawn_tally(oracle, law, people, rng))
            squares += float(((rumor.estimate(oracle, summary).frequency - law) ** 2).mean()) / 4
        assert plan.range.low <= math.sqrt(squares) <= plan.range.high
    advice = " ".join(plan.table().split())
    assert f"Plan for {plan.range.high:.3%}." in advice
    assert f"{plan.range.zipf:.3%} under Zipf's law" in advice
    assert plan.to_dict()["default_range"] == vars(plan.range)


def test_drawn_tallies_have_the_law_of_real_ones() -> None:
    """Means and variances of drawn tallies beside the exact ones, five standard errors each."""
    people, runs = 400, 3000
    for oracle in (
        rumor.SubsetSelection(domain=5, epsilon=1.0, size=2),
        rumor.SubsetSelection(domain=12, epsilon=1.0),
        rumor.RandomizedResponse(domain=12, epsilon=1.0),
        rumor.HadamardResponse(domain=12, epsilon=3.0),
        rumor.UnaryEncoding(domain=12, epsilon=1.0),
    ):
        rng, law = np.random.default_rng(3), typical_law(oracle.domain)
        drawn = [drawn_tally(oracle, law, people, rng) for _ in range(runs)]
        found = np.array([oracle.unbiased(tally, people) for tally in drawn])
        exact = oracle.variance(law, people)
        assert (np.abs(found.mean(axis=0) - law) < 5 * np.sqrt(exact / runs)).all()
        # Counts whose sum is fixed have one degree of freedom less.
        room = 5 * math.sqrt(2 / ((oracle.domain - 1) * runs))
        assert found.var(axis=0).mean() / exact.mean() == pytest.approx(1, abs=room)


def test_too_many_values_have_no_range() -> None:
    plan = make_plan(domain=30_000, users=10_000, epsilon=1.0)
    assert plan.range is None
    assert "Plan for" not in plan.table()


COMPARED = {"choice", "set", "number", "ordered"}


@pytest.mark.parametrize("named", [["--named"], []])
@pytest.mark.parametrize("kind", [name for name in NAMES if name not in COMPARED])
def test_what_has_no_plan_of_differences_says_so(
    kind: str, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether or not the row is named in advance, and whichever of the three is asked for."""
    size = [
        x for key, value in KINDS[kind].example().plan.items() for x in (f"--{key}", str(value))
    ]
    for given in (["--epsilon", "1"], ["--users", "1e4"], ["--epsilon", "1", "--users", "1e4"]):
        asked = ["--difference", "0.1"] if len(given) == 2 else ["--groups", "3"]
        assert main(["plan", "--kind", kind, *size, *given, *asked, *named]) == 2
        said = capsys.readouterr().err
        assert "differences are planned for choices, sets, numbers and ordered" in said


def test_the_calibration_is_what_its_program_writes() -> None:
    """Nobody edits it by hand: axes and digits are those of benchmarks/plan_calibrate.py."""
    written = plan_calibrate.TARGET.read_text(encoding="utf-8")
    tables = np.array(calibration.RATIOS), np.array(calibration.KEY_RATIOS)
    assert plan_calibrate.module(*tables) == written
