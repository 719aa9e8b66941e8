"""The long versions: relay and gateway killed in turn; a dishonest relay, and jumping clocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.collector.postgres import Postgres
from tests.relay import test_schedule as schedule
from tests.relay.chaos import kill_both_again_and_again
from tests.relay.dishonest import play
from tests.soak.numbers import done

ROUNDS = int(os.environ.get("RUMOR_SOAK_RELAY_ROUNDS", "600"))
LIVES = int(os.environ.get("RUMOR_SOAK_RELAY_LIVES", "600"))
KILLS = int(os.environ.get("RUMOR_SOAK_RELAY_KILLS", "60"))


@contextmanager
def store_of(kind: str, folder: Path) -> Iterator[str]:
    """The address of an empty store, as long as the block lasts."""
    if kind == "SQLite":
        yield f"sqlite:///{folder / 'store.db'}"
        return
    server = Postgres(Path("/tmp") / f"rumor-relay-{os.getpid()}")
    try:
        yield server.new_database()
    finally:
        server.release()


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_a_dishonest_relay_and_clocks_that_jump(tmp_path: Path, kind: str) -> None:
    with store_of(kind, tmp_path) as url:
        did = play(tmp_path, url, ROUNDS, people=30, seed=22)
    said = ", ".join(f"{count:,} {what}" for what, count in sorted(did.items()))
    done(
        f"{ROUNDS:,} rounds of a dishonest relay before a gateway on {kind}, both clocks jumping: "
        f"{said}; none counted twice, none in a wrong turn",
        jumps=did["jumps of a clock"],
        acknowledged=did["reports stored"],
    )


def test_a_relay_whose_clock_and_period_change() -> None:
    run_state_machine_as_test(
        schedule.ScheduleMachine,
        settings=settings(
            schedule.TestScheduleMachine.settings, max_examples=LIVES, stateful_step_count=60
        ),
    )
    done(
        f"{LIVES} lives of a relay of up to 60 steps, its clock set forwards and back and its "
        f"period changed: releases went on, in batches of one turn, and the books balanced",
        lives=LIVES,
    )


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_relay_and_gateway_are_killed_in_turn(tmp_path: Path, kind: str) -> None:
    with store_of(kind, tmp_path) as url:
        reports, repeated = kill_both_again_and_again(tmp_path, url, KILLS, seed=21)
    done(
        f"{KILLS} kills of a relay and a gateway on {kind} under load: {reports:,} reports, "
        f"{repeated:,} sent again, none lost, none twice",
        kills=KILLS,
        acknowledged=reports,
    )
