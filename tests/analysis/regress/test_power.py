"""The power of a coefficient before the first report: closed forms, a simulation, refusals."""

from __future__ import annotations

import json
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.special import expit, logit

import rumor
from rumor.analysis.regress.power import COLUMNS, ODDS_RATIOS, plan_regression
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.mechanisms import BY_NAME

COIN = rumor.RandomizedResponse(domain=2, epsilon=1.0)


def test_power_is_that_of_two_groups() -> None:
    """A report's information about a log-odds is the square of its slope over its variance."""
    found = plan_regression(COIN, 0.3, 4000)
    assert found.people == (1000, 2000, 4000, 8000, 16_000)
    normal = NormalDist()
    for column, powers in zip(COLUMNS, found.power, strict=True):
        for ratio, power in zip(ODDS_RATIOS, powers[2], strict=True):
            variance = 0.0
            for share, people in ((0.3, 1 - column), (expit(logit(0.3) + math.log(ratio)), column)):
                seen = COIN.miss + COIN.gain * share
                slope = COIN.gain * share * (1 - share)
                variance += seen * (1 - seen) / slope**2 / (4000 * people)
            away = math.log(ratio) / math.sqrt(variance)
            expected = normal.cdf(away - 1.959964) + normal.cdf(-away - 1.959964)
            assert power == pytest.approx(expected, abs=1e-6)
    assert (np.diff(found.power, axis=1) >= 0).all()  # more people
    assert (np.diff(found.power, axis=2) >= 0).all()  # larger effects


@pytest.mark.parametrize("name", ["randomized-response", "unary", "subset-selection"])
def test_every_listed_mechanism_has_a_power(name: str) -> None:
    mechanism = BY_NAME[name](domain=4, epsilon=2.0)  # type: ignore[call-arg]
    found = plan_regression(mechanism, 0.2, 2000)
    assert ((found.power > 0.05) & (found.power <= 1)).all()


@pytest.mark.slow
def test_regressions_reject_as_often_as_planned() -> None:
    """300 regressions of 2,500 people, odds ratio 1.5: within 4 standard deviations (11 %)."""
    planned = plan_regression(COIN, 0.3, 2500).power[0, 2, 1]
    rejected = 0
    for trial in range(300):
        rng = np.random.default_rng(trial)
        column = rng.integers(0, 2, 2500)
        held = rng.random(2500) < expit(logit(0.3) + math.log(1.5) * column)
        reports = COIN.privatize(held.astype(int), random=rumor.Seeded(trial))
        rejected += int(rumor.regress(COIN, reports, {"x": column}).p_value[1, 0] < 0.05)
    assert abs(rejected / 300 - planned) < 0.115


def test_what_has_no_power_table_is_refused() -> None:
    with pytest.raises(InputError, match="is planned for a choice; got kind 'number'"):
        plan_regression(rumor.Harmony(epsilon=1.0), 0.3, 100)
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="--regress must be a share between 0 and 1; got"):
            plan_regression(COIN, share, 100)
    hashed = BY_NAME["local-hashing"](domain=4, epsilon=1.0)  # type: ignore[call-arg]
    with pytest.raises(InputError, match="outputs can be listed; local-hashing has too many"):
        plan_regression(hashed, 0.3, 100)


def test_the_command_prints_the_power(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["plan", "--domain", "2", "--users", "4000", "--epsilon", "1", "--regress", "0.3"]
    assert main(arguments) == 0
    told = capsys.readouterr().out
    assert "power of a coefficient in rumor regress (randomized-response)" in told
    assert "a column that 10% of respondents have" in told
    assert main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["regression"]["rows"]
    known = plan_regression(COIN, 0.3, 4000)
    assert len(rows) == known.power.size
    assert [row["power"] for row in rows] == pytest.approx(known.power.reshape(-1).tolist())
