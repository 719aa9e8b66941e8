"""What an attacker learns: averaging breaks fresh noise and stops at permanent noise."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

import rumor
from rumor.privacy.attack import attack, guess_bound


def test_the_bound_is_that_of_guessing_between_equally_likely_words() -> None:
    assert guess_bound(0.0, 10) == pytest.approx(0.1)
    assert guess_bound(math.log(9), 10) == pytest.approx(0.5)
    assert guess_bound(math.inf, 10) == 1.0


def test_averaging_breaks_fresh_reports_and_not_permanent_ones() -> None:
    rappor = rumor.Rappor.full(key=b"key")
    people = 300
    record = attack(rappor, words=50, people=people, reports=(1, 20, 500), seed=3)
    success = {(g.device, g.reports): g.success for g in record.guesses}
    assert success["fresh", 500] > 0.97
    # Guessed shares of 300 people have a standard deviation of at most 0.029.
    forever = success["memoised", 1]
    assert abs(success["full", 500] - forever) < 5 * 0.029
    assert success["full", 1] < forever
    for guess in record.guesses:
        spread = math.sqrt(guess.bound * (1 - guess.bound) / people)
        assert guess.success <= guess.bound + 5 * spread
    costs = {(g.device, g.reports): g.epsilon for g in record.guesses}
    assert costs["fresh", 20] == pytest.approx(20 * rappor.epsilon)
    assert costs["full", 20] == rappor.epsilon_after(20)
    assert costs["memoised", 1] == rappor.epsilon_permanent


def test_the_record_is_repeatable_and_shows_every_device() -> None:
    rappor = rumor.Rappor.full(key=b"key")
    first = attack(rappor, words=10, people=20, reports=(1, 5), seed=1)
    assert first.to_dict() == attack(rappor, words=10, people=20, reports=(1, 5), seed=1).to_dict()
    table = first.table()
    assert "a blind guess is right in 10.0%" in table
    assert len(table.splitlines()) == 4


def test_bad_input() -> None:
    rappor = rumor.Rappor.full(key=b"key")
    with pytest.raises(rumor.InputError, match="words must be an integer from 2"):
        attack(rappor, words=1)
    with pytest.raises(rumor.InputError, match="reports must be counts from 1"):
        attack(rappor, reports=(0,))
    once = rumor.Rappor(bits=64, hashes=1, cohorts=1, f=0, p=0.5, q=0.75, key=b"key")
    with pytest.raises(rumor.InputError, match="got f = 0"):
        attack(once)


def test_the_chart_has_every_guess_on_axes_that_say_what_it_is(tmp_path: Path) -> None:
    rappor = rumor.Rappor.full(key=b"key")
    record = attack(rappor, words=10, people=20, reports=(1, 5), seed=1)
    file = tmp_path / "attack.html"
    drawn = record.plot(str(file)).to_dict()
    assert list(drawn["datasets"].values()) == [record.to_dict()["guesses"]]
    success, epsilon = (one["encoding"] for one in drawn["hconcat"])
    assert (success["x"]["field"], success["y"]["field"]) == ("reports", "success")
    assert (epsilon["x"]["field"], epsilon["y"]["field"]) == ("reports", "epsilon")
    assert success["y"]["axis"]["format"] == "%"
    assert "scale" not in success["y"]
    for axis in (success["x"], epsilon["x"], epsilon["y"]):
        assert axis["scale"] == {"type": "log"}
    assert success["color"]["sort"] == ["fresh", "memoised", "full"]
    assert "people whose word is guessed" in file.read_text()
