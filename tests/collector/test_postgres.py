"""The PostgreSQL server that tests share: it comes and goes beside other processes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import psycopg
import pytest

from rumor.collector.store.base import open_store
from tests.collector.postgres import Postgres
from tests.collector.tools import batch, collection

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


def test_the_space_of_deleted_reports_is_given_back(postgres: Postgres) -> None:
    """Else the rows of a collection that is gone stay in the server's files until others come."""
    url = postgres.clean_database()
    store = open_store(url)
    entry = store.register(collection())
    store.write([batch(entry, "colour", np.arange(500) % 3)])
    store.delete_collection(entry.collection.digest)
    with psycopg.connect(url) as connection:
        dead = "SELECT relpages FROM pg_class WHERE oid = 'rumor.report'::regclass"
        assert connection.execute(dead).fetchone() == (0,)
        held = "SELECT pg_relation_size('rumor.report'::regclass)"
        assert connection.execute(held).fetchone() == (0,)
    store.close()
