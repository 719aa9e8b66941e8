"""A cap from other people's private answers: the point where nine in ten are, and its cost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.kinds.ordered.cap import suggest_cap
from rumor.mechanisms import Wave
from rumor.mechanisms.summary import Summary

HOW_MANY = Wave(low=0, high=60, epsilon=1.0)


def held(people: int, seed: int) -> np.ndarray:
    """How many things people hold: 16 on average, 32 at the point that nine in ten do not pass."""
    return np.minimum(np.random.default_rng(seed).negative_binomial(2, 2 / 18, people), 60)


def summary(people: int, seed: int, mechanism: Wave = HOW_MANY) -> Summary:
    reports = mechanism.privatize(held(people, seed), random=rumor.Seeded(seed))
    return Summary(mechanism, people, mechanism.tally(reports))


def test_the_cap_is_where_nine_in_ten_are() -> None:
    crowd = held(1_000_000, 0)
    truth = np.quantile(crowd, 0.9)
    lost = 1 - np.minimum(crowd, truth).sum() / crowd.sum()
    found = [suggest_cap(rumor.estimate(HOW_MANY, summary(5000, seed))) for seed in range(1, 9)]
    # Intervals of 95 % all miss at most one of eight, but for six crowds of a hundred.
    assert sum(one.low <= truth <= one.high for one in found) >= 7
    # One cap strays by 3 or so: the median of eight by 1.4, and four times that is allowed.
    assert abs(np.median([one.cap for one in found]) - truth) <= 5
    assert np.median([one.lost for one in found]) == pytest.approx(lost, abs=0.02)
    assert {one.people for one in found} == {5000}


def test_a_plan_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "how-many.summary"
    summary(5000, 1).save(file)
    asked = ["plan", "--kind", "keyvalue", "--domain", "1000", "--users", "1e5", "--epsilon", "1"]
    assert main([*asked, "--cap-from", str(file), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    cap = told["cap"]["cap"]
    assert main([*asked, "--cap", str(cap), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {**told, "cap": None} == {**said, "cap": None}
    assert main([*asked, "--cap-from", str(file)]) == 0
    assert f"Cap {cap}: the 90% quantile of" in capsys.readouterr().out
    assert main([*asked, "--cap-from", str(file), "--cap", "3"]) == 2
    assert "got both" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mechanism", "sentence"),
    [
        (Wave(labels=["rarely", "often", "always"], epsilon=1.0), "how many things people hold"),
        (Wave(low=-20, high=20, epsilon=1.0), "how many things people hold"),
        (Wave(low=0, high=12, epsilon=1.0), "ask with a longer range"),
    ],
)
def test_what_says_nothing_of_a_cap_is_refused(mechanism: Wave, sentence: str) -> None:
    inputs = mechanism.inputs()
    reports = mechanism.privatize([inputs[-1]] * 3000, random=rumor.Seeded(2))
    with pytest.raises(InputError, match=sentence):
        suggest_cap(rumor.estimate(mechanism, reports))


def test_other_questions_are_no_caps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    oracle = rumor.RandomizedResponse(domain=5, epsilon=1.0)
    Summary(oracle, 5, np.ones(5, dtype=np.int64)).save(tmp_path / "r.summary")
    asked = ["plan", "--kind", "set", "--domain", "50", "--users", "1e5", "--epsilon", "1"]
    assert main([*asked, "--cap-from", str(tmp_path / "r.summary")]) == 2
    assert "got reports of randomized-response" in capsys.readouterr().err
    assert main([*asked, "--cap-from", str(tmp_path / "none.summary")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
