"""People, operators and misfortunes in any order: a short run; `make soak` has the long one."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collector.postgres import Postgres
from tests.machine.contracts import AGAIN, BLIND, QUESTIONS, RELAYED, contracts
from tests.machine.machine import DEVICES, Machine, machine
from tests.machine.nursery import Nursery
from tests.machine.world import Tally

pytestmark = [
    pytest.mark.one_store,
    pytest.mark.skipif(
        sys.platform != "linux", reason="processes are stopped and looked at as Linux does it"
    ),
]
SHORT = settings(
    max_examples=3,
    stateful_step_count=40,
    suppress_health_check=list(HealthCheck),
    # A run takes seconds: what failed is reported as it was, not made smaller.
    phases=[Phase.generate],
)
# A command has two dozen transactions and reads at most; each is entered and left.
BRAKES = range(1, 49)


@pytest.fixture(params=["sqlite", "postgresql"])
def new_store(request: pytest.FixtureRequest) -> Callable[[Path], str]:
    if request.param == "sqlite":
        return lambda folder: f"sqlite:///{folder / 'store.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return lambda folder: server.clean_database()


def test_what_was_acknowledged_stays(new_store: Callable[[Path], str], nursery: Nursery) -> None:
    tally = Tally()
    run_state_machine_as_test(machine(new_store, nursery, tally), settings=SHORT)
    assert tally.acknowledged > 50, tally
    assert tally.kills > 4, tally


def test_collectors_of_the_release_before_are_upgraded_while_people_go_on(
    new_store: Callable[[Path], str], nursery: Nursery, older: Nursery
) -> None:
    tally = Tally()
    one = machine(new_store, nursery, tally, older)()
    people = [("post", 0), ("answer", 1), ("withdraw", 2), ("post", RELAYED), ("count", 0)]
    try:
        one.crowd(1)
        one.upgrade(before=people, beside=people, transactions=0, kill=False)
        one.answer(0, "colour", 1)
        one.upgrade(before=people[:2], beside=people[1:3], transactions=3, kill=True)
        one.repeat(0, fresh=True)
        one.count(0, "colour")
    finally:
        one.teardown()
    assert tally.upgrades == 2


@pytest.mark.slow
def test_what_people_do_between_any_two_transactions_of_a_command(
    new_store: Callable[[Path], str], nursery: Nursery
) -> None:
    tally = Tally()
    one = machine(new_store, nursery, tally)()
    try:
        _sweep(one, tally)
    finally:
        one.teardown()


def _sweep(one: Machine, tally: Tally) -> None:
    """Stop a backup and a restoring at each of their transactions, and let people go on."""
    deeds = itertools.cycle(["post", "withdraw", "answer"])
    one.crowd(1)
    one.export(which=0, brake=0, kill=False, during="post", starve=False)
    for brake in BRAKES:
        before = tally.interrupted
        one.import_(which=0, replace=True, brake=brake, kill=False, during="post", starve=False)
        if tally.interrupted == before:
            break  # it has no more transactions than that
    for brake in BRAKES:
        before = tally.interrupted
        one.export(which=0, brake=brake, kill=False, during=next(deeds), starve=False)
        if tally.interrupted == before:
            break
    assert tally.interrupted > 20, tally


def test_an_issuer_that_is_killed_at_any_transaction(nursery: Nursery) -> None:
    """Devices enrol, lose what was signed, ask again, answer, and senders spend tokens twice."""
    tally = Tally()
    one = machine(lambda folder: f"sqlite:///{folder / 'store.db'}", nursery, tally)()
    try:
        for which in range(1, BLIND + 1):
            one.revise(which=which, brake=0, kill=False, during="post")
        one.seconds_pass()
        one.issue_invite(count=2, brake=0, kill=False)
        assert len(one.signed) == 4
        for transactions in range(1, 5):
            one.issue_invite(count=1, brake=0, kill=False)
            one.restart_device(which=transactions % DEVICES, code=len(one.codes) - 1)
            if transactions % 2:
                one.lose_tokens(requests=0, answers=1)
            one.kill_issuer_while_enrolling(transactions, transactions % DEVICES)
            one.answer(transactions % DEVICES, "colour", transactions)
        # Three devices with three reports of a person each at most, and at least one of each.
        enrolled = one.books.reports(contracts()[BLIND].digest, "colour")
        assert enrolled is not None
        assert enrolled >= DEVICES
        for question in QUESTIONS:
            one.post(BLIND, question, [1], fresh=True)
            one.repeat(0, fresh=True)
            one.conflict(0, elsewhere=False)
        assert one.world.front.minutes == []
        now = one.books.reports(contracts()[BLIND].digest, "colour")
        assert now == enrolled + 1
        assert tally.kills >= 4
        assert len(one.books.signed) >= 4 * (1 + DEVICES)
    finally:
        one.teardown()


@pytest.mark.slow
def test_a_token_that_was_withdrawn_expired_or_exported_stays_spent(
    new_store: Callable[[Path], str], nursery: Nursery
) -> None:
    """Senders show each token to both blind contracts, whatever happens to the first."""
    one = machine(new_store, nursery, Tally())()
    quiet: dict[str, Any] = {"brake": 0, "kill": False, "during": "count"}
    try:
        for which in (1, 2, BLIND, AGAIN):
            one.revise(which=which, **quiet)
        one.seconds_pass()
        one.issue_invite(count=2, brake=0, kill=False)
        one.issue_invite(count=2, brake=0, kill=False)
        for which in (BLIND, AGAIN):
            for question in QUESTIONS:
                one.post(which, question, [1], fresh=True)
        tokens = dict(one.books.tokens)
        assert len(tokens) == 4

        def refused() -> None:
            for number, question in itertools.product(range(2), QUESTIONS):
                one.spend_again(number, question)
            assert one.books.tokens == tokens

        refused()
        one.days_pass(3, work=True)  # those of the second contract are deleted
        refused()
        one.export(which=BLIND, starve=False, **quiet)
        one.close(which=BLIND, **quiet)
        refused()
        one.import_(which=0, replace=True, starve=False, **quiet)
        refused()
        one.delete(which=BLIND, **quiet)
        refused()
    finally:
        one.teardown()


@pytest.mark.slow
def test_quiet_days_are_merged_while_people_go_on(
    new_store: Callable[[Path], str], nursery: Nursery
) -> None:
    one = machine(new_store, nursery, Tally())()
    days = contracts()[0].digest
    try:
        one.crowd(1)
        one.days_pass(4, work=True)
        kept = one.books.held[days].questions["many"]
        assert kept.dropped == len(kept.spent) > 60  # too few, and nothing to join
        for seed in (1, 3, 5):
            one.crowd(seed)
        one.days_pass(1, work=True)
        one.post(0, "many", [1], fresh=True)
        one.days_pass(2, work=True)
        one.days_pass(2, work=True)
        one.export(which=0, brake=0, kill=False, during="post", starve=False)
        one.import_(which=0, replace=True, brake=0, kill=False, during="post", starve=False)
        store = one.world.store
        (span,) = store.spans(store.find(days), "many").items()
        assert (span[1] - span[0]).days == 1
        one.count(0, "many")
    finally:
        one.teardown()
