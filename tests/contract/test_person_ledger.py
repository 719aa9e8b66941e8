"""The ledger of people against sums in plain Python, through runs that end, fail and go on."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import Counts, People, PersonRule, QuestionCosts
from rumor.core.answer_table import AnswerTable
from rumor.core.errors import InputError

KEYS: list[QuestionCosts] = [("a", 1, 1.0), ("b", 1, 0.1), ("a", 2, 0.5)]


def people_of(names: list[str]) -> People:
    return People.of(AnswerTable.of({"who": names}), PersonRule("who"))


def counts(chance: random.Random, people: int, most: int = 3) -> Counts:
    """Return some reports of people, of some questions."""
    return {
        key: np.array([chance.randrange(most + 1) for _ in range(people)])
        for key in chance.sample(KEYS, chance.randrange(1, 3))
    }


def part_of(chance: random.Random, most: Counts) -> Counts:
    return {key: np.array([chance.randrange(n + 1) for n in row]) for key, row in most.items()}


def added(spent: Counter[tuple[str, QuestionCosts]], names: list[str], made: Counts) -> None:
    for key, row in made.items():
        for name, n in zip(names, row.tolist(), strict=True):
            spent[name, key] += n


@pytest.mark.parametrize("seed", range(6))
def test_what_people_spent_is_the_sum_of_what_was_made(seed: int, tmp_path: Path) -> None:
    """Runs of overlapping people: some end, some fail, some are settled later, one is lost."""
    chance = random.Random(seed)
    ledger = PersonLedger.open(tmp_path / "s.people", "s")
    spent: Counter[tuple[str, QuestionCosts]] = Counter()
    open_runs: dict[str, tuple[list[str], Counts]] = {}
    for step in range(25):
        names = chance.sample([f"p{i}" for i in range(8)], chance.randrange(1, 6))
        people = people_of(names)
        ledger.read(people)
        for key, row in people.before.items():
            assert row.tolist() == [spent[name, key] for name in names]
        assert {key for name, key in spent if name in names and spent[name, key]} <= {
            *people.before
        }
        most = counts(chance, len(names))
        way = chance.choice(["ends", "fails", "opens", "settles"])
        if way == "ends":
            with ledger.charging(people, most):
                people.made = part_of(chance, most)
            added(spent, names, people.made)
        elif way == "fails":
            file = ledger.path.read_bytes() if ledger.path.exists() else None
            with pytest.raises(RuntimeError), ledger.charging(people, most):
                raise RuntimeError
            assert (ledger.path.read_bytes() if ledger.path.exists() else None) == file
        elif way == "opens":
            run = f"run{step}"
            ledger.charge(people, most, run)
            added(spent, names, most)
            open_runs[run] = names, most
        elif open_runs:
            run, (names, most) = open_runs.popitem()
            people, made = people_of(names), part_of(chance, most)
            for _ in range(2):  # the second time nothing is open
                ledger.settle(people, most, made, run)
            added(spent, names, {key: made[key] - row for key, row in most.items()})
        assert [ledger.is_open(run) for run in ("nobody", *open_runs)] == [False] + [True] * len(
            open_runs
        )
    # A copy has what the people of a table had made, and names them by the same key.
    people = people_of([f"p{i}" for i in range(8)])
    ledger.read(people)
    place = tmp_path / "before"
    place.write_bytes(b"older")
    ledger.copy_before(people, place)
    again = people_of(["p7", "stranger", "p0"])
    ledger.at(place).read(again)
    for key, row in again.before.items():
        assert row.tolist() == [spent["p7", key], 0, spent["p0", key]]
    assert set(again.before) == set(people.before)


def test_a_run_whose_people_were_charged_meanwhile_is_refused(tmp_path: Path) -> None:
    ledger = PersonLedger.open(tmp_path / "s.people", "s")
    people, other = people_of(["p", "q"]), people_of(["q"])
    ledger.read(people)
    one: Counts = {KEYS[0]: np.array([1])}
    ledger.charge(other, one, "other")
    two: Counts = {KEYS[1]: np.array([1, 2])}
    refused = pytest.raises(InputError, match="another run charged some of these people while")
    with refused:
        ledger.charge(people, two, "mine")
    with refused, ledger.charging(people, two):
        raise AssertionError
    assert not ledger.is_open("mine")
    # A run that was charged in a ledger that is lost knows what it read.
    ledger.charge(people, two, "mine", again=True)
    assert ledger.is_open("mine")
    ledger.read(people)
    assert {key: row.tolist() for key, row in people.before.items()} == {
        KEYS[0]: [0, 1],
        KEYS[1]: [1, 2],
    }
    # People whom nobody charged meanwhile are not in its way.
    stranger = people_of(["r"])
    ledger.read(stranger)
    ledger.charge(people_of(["s"]), one, "third")
    ledger.charge(stranger, one, "fourth")
    names = pq.read_table(ledger.path).column("person").to_pylist()
    assert len(set(names)) == len(names) == 4


def test_who_fails_takes_back_their_own_charge_alone(tmp_path: Path) -> None:
    ledger = PersonLedger.open(tmp_path / "s.people", "s")
    people, other = people_of(["p"]), people_of(["q", "p"])
    two: Counts = {KEYS[0]: np.array([2])}

    def stopped() -> None:
        with ledger.charging(people, two):
            ledger.charge(other, {KEYS[0]: np.array([1, 1])}, "other", again=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    found = people_of(["p", "q"])
    ledger.read(found)
    assert {key: row.tolist() for key, row in found.before.items()} == {KEYS[0]: [1, 1]}
    assert ledger.is_open("other")


def test_a_design_asks_people_the_same_in_every_file(tmp_path: Path) -> None:
    ledger = PersonLedger.open(tmp_path / "s.people", "s")
    names, questions = [f"p{i}" for i in range(300)], ["a", "b", "c", "d"]
    for count in range(1, 5):
        drawn = ledger.assign(people_of(names), questions, count)
        assert (drawn.sum(axis=1) == count).all()
        backwards = ledger.assign(people_of(names[::-1]), questions[::-1], count)
        assert (backwards[::-1, ::-1] == drawn).all()
        # Each question is asked of its part: six deviations around it.
        part = count / 4
        assert abs(drawn.mean(axis=0) - part).max() <= 6 * (part * (1 - part) / 300) ** 0.5
    other = PersonLedger.open(tmp_path / "t.people", "t")
    assert (other.assign(people_of(names), questions, 1) != ledger.assign(
        people_of(names), questions, 1)).any()  # fmt: skip
