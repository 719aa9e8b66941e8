"""Plans: any two of people, epsilon and error give the third, and the third keeps its promise."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.privacy.plan import make_plan


def test_the_three_directions_agree() -> None:
    forward = make_plan(domain=100, users=50_000, epsilon=1.0)
    least = forward.options[0]
    people = make_plan(domain=100, epsilon=1.0, error=least.error)
    assert people.users == pytest.approx(50_000, rel=1e-3)
    epsilon = make_plan(domain=100, users=50_000, error=least.error)
    assert epsilon.epsilon == pytest.approx(1.0, rel=2e-3)
    detect = make_plan(domain=100, users=50_000, detect=least.detectable)
    assert detect.epsilon == pytest.approx(1.0, rel=2e-3)


def test_one_person_fewer_is_not_enough() -> None:
    plan = make_plan(domain=50, epsilon=1.0, error=0.002)
    fewer = make_plan(domain=50, epsilon=1.0, users=plan.users - 1)
    assert plan.options[0].error <= 0.002 < fewer.options[0].error


@pytest.mark.parametrize("domain", [2, 10, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_predicted_error_is_the_one_that_comes(domain: int, epsilon: float) -> None:
    """Absent values of many simulated runs: their spread is predicted within five per cent."""
    users = 2000
    for option in make_plan(domain=domain, users=users, epsilon=epsilon).options:
        oracle, source = option.oracle, rumor.Seeded(7)
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
    oracle, source, runs = option.oracle, rumor.Seeded(3), 400
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
    assert loaded.questions[0].mechanism == plan.best.oracle
    auto = plan.to_toml().replace(f'"{plan.best.oracle.name}"', '"auto"')
    assert rumor.Collection.from_toml(auto).digest == loaded.digest


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--domain", "1000", "--users", "1e5", "--epsilon", "1"]) == 0
    text = capsys.readouterr().out
    assert "100,000 people, 1,000 values, epsilon 1" in text
    assert "Recommended: subset-selection." in text
    chart, file = tmp_path / "plan.svg", tmp_path / "plan.toml"
    arguments = ["plan", "--domain", "50", "--users", "20000", "--detect", "0.02", "--json"]
    assert main([*arguments, "--plot", str(chart), "--write", str(file)]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["solved"] == "epsilon needed for the rest"
    assert min(option["detectable"] for option in data["options"]) <= 0.02
    assert chart.stat().st_size > 1000
    assert rumor.Collection.load(file).questions[0].epsilon <= data["epsilon"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--domain", "50"], "a plan needs two of people, epsilon and an error"),
        (["--domain", "1", "--users", "10", "--epsilon", "1"], "domain must be an integer from 2"),
        (["--domain", "9", "--users", "10", "--epsilon", "-1"], "epsilon must be a number above 0"),
        (["--domain", "9", "--users", "10", "--error", "2"], "error must be a number above 0"),
        (["--domain", "9", "--users", "10", "--error", "1e-9"], "no epsilon up to 32 gives 1e-09"),
        (["--domain", "9", "--users", "1.5", "--epsilon", "1"], "people must be a whole number"),
    ],
)
def test_bad_wishes(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *arguments]) == 2
    assert sentence in capsys.readouterr().err
