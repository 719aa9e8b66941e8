"""The PostgreSQL server that tests share: it comes and goes beside other processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

LIVES = """
import os
from tests.collector.postgres import Postgres

for life in range(3):
    server = Postgres.shared()
    print(server.new_database()[:13])
    server.release()
"""


@pytest.mark.slow
def test_a_worker_may_end_the_server_as_another_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last worker that uses the server deletes its folder: others may be about to enter."""
    monkeypatch.setenv("PYTEST_XDIST_TESTRUNUID", "lives-of-a-server")
    workers = [
        subprocess.Popen([sys.executable, "-c", LIVES], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [worker.communicate()[0].count("postgresql://") for worker in workers] == [3] * 4
