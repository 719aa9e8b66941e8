"""The long version: relay and gateway are killed in turn under load, on each kind of store."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.collector.postgres import Postgres
from tests.relay.chaos import kill_both_again_and_again
from tests.soak.numbers import done

KILLS = int(os.environ.get("RUMOR_SOAK_RELAY_KILLS", "60"))


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_relay_and_gateway_are_killed_in_turn(tmp_path: Path, kind: str) -> None:
    server = None if kind == "SQLite" else Postgres(Path("/tmp") / f"rumor-relay-{os.getpid()}")
    try:
        url = f"sqlite:///{tmp_path / 'store.db'}" if server is None else server.new_database()
        reports, repeated = kill_both_again_and_again(tmp_path, url, KILLS, seed=21)
    finally:
        if server is not None:
            server.release()
    done(
        f"{KILLS} kills of a relay and a gateway on {kind} under load: {reports:,} reports, "
        f"{repeated:,} sent again, none lost, none twice",
        kills=KILLS,
        acknowledged=reports,
    )
