"""Kill -9 of relay and gateway under load: a short version; `make soak` runs the long one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tests.relay.chaos import kill_both_again_and_again


def test_killed_under_load_nothing_is_lost_or_counted_twice(tmp_path: Path) -> None:
    reports, _ = kill_both_again_and_again(tmp_path, f"sqlite:///{tmp_path / 'store.db'}", kills=2)
    assert reports > 20
    for name in ("store.db", "relay.db"):
        with sqlite3.connect(tmp_path / name) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()
