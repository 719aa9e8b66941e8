"""The referee: every check of it runs, and a promise that is not kept is called missed."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks import referee
from benchmarks.referee_kinds import Outcome


@pytest.mark.parametrize("name", referee.CHECKS)
def test_every_check_gives_figures_that_are_judged(name: str) -> None:
    found = referee.batch(name, 5, 0, 2)
    assert found
    for outcome in found:
        assert np.isfinite(outcome.figure), outcome
    assert all(verdict.trials >= 1 for verdict in referee.judged(found))


def test_a_trial_follows_from_the_seed_and_its_number() -> None:
    both = [referee.batch("number", 5, 0, 4), referee.batch("number", 5, 0, 4)]
    assert both[0] == both[1]
    assert both[0][2:] == referee.batch("number", 5, 2, 4)


@pytest.mark.parametrize(("held", "kept"), [(380, True), (372, True), (355, False)])
def test_a_block_is_missed_where_chance_does_not_explain_it(held: int, kept: bool) -> None:
    figures = [1.0] * held + [0.0] * (400 - held)
    found = [Outcome("covered", "shown", figure) for figure in figures]
    assert [verdict.kept for verdict in referee.judged(found)][:1] == [kept]


def test_many_blocks_that_are_each_a_little_low_are_missed_together() -> None:
    found = [Outcome("covered", f"block {i % 20}", float(i % 100 < 94)) for i in range(8_000)]
    verdicts = referee.judged(found)
    assert not verdicts[-1].kept


@pytest.mark.parametrize(("alarms", "kept"), [(20, True), (28, True), (45, False)])
def test_false_finds_above_five_percent_are_missed(alarms: int, kept: bool) -> None:
    found = [Outcome("false", "test", float(i < alarms)) for i in range(400)]
    assert [verdict.kept for verdict in referee.judged(found)] == [kept]


def test_shares_of_false_words_are_judged_by_their_mean() -> None:
    low = [Outcome("false", "words", 0.1 * (i % 2)) for i in range(400)]
    high = [Outcome("false", "words", 0.2 * (i % 2)) for i in range(400)]
    assert referee.judged(low)[0].kept
    assert not referee.judged(high)[0].kept


def test_each_limit_of_an_error_can_be_missed() -> None:
    assert all(verdict.kept for verdict in referee.few_values([0.5] * 84))
    assert [v.kept for v in referee.few_values([0.6] * 70 + [1.2] * 14)] == [False, False, True]
    assert [v.kept for v in referee.few_values([0.5] * 83 + [1.5])] == [True, True, False]
    assert [v.kept for v in referee.leader([0.9, 1.5])] == [False]
    assert [v.kept for v in referee.one_more([0.9, 1.01])] == [False]


def test_the_program_prints_a_line_for_each_promise(capsys: pytest.CaptureFixture[str]) -> None:
    status = referee.main(["--seed", "3", "--only", "one-more", "--trials", "20"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(("pass  one more report", "MISS  one more report"))
    assert lines[-1].startswith("seed 3: ")
    assert status == int("0 missed" not in lines[-1])


def test_a_trial_that_raises_is_a_promise_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rng: object, number: int) -> Iterator[Outcome]:
        yield Outcome("covered", "shown", 1.0)
        raise ZeroDivisionError("nobody answered")

    monkeypatch.setitem(referee.CHECKS, "broken", referee.Check(broken, 1))
    verdicts = referee.judged(referee.batch("broken", 5, 0, 1))
    assert "ZeroDivisionError: nobody answered" in verdicts[0].promise
    assert not verdicts[0].kept
