"""What runs of the machine share: the nursery, and a database server for the whole session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.collector.postgres import Postgres
from tests.machine.nursery import Nursery
from tests.machine.quick import quick_folder
from tests.old.kept import unpacked


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with quick_folder("nursery") as folder:
        started = Nursery(folder)
        yield started
        started.close()


@pytest.fixture(scope="session")
def older(nursery: Nursery) -> Iterator[Nursery]:
    """One of the release before, whose children live by the same clock."""
    with quick_folder("older") as folder:
        started = Nursery(folder, source=unpacked(folder), clock=nursery.clock)
        yield started
        started.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    # To the end of the session: other tests of this process use the same server.
    server = Postgres.shared()
    yield server
    server.release()
