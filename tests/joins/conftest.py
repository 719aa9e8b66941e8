"""One set of worlds for all cells of a file: each is made when it is first asked for."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import typer.main

from rumor.analysis.engines.spark import launch as spark_launch
from rumor.kinds.words.fit import search
from tests.collector.postgres import Postgres
from tests.joins.worlds import Worlds
from tests.needs import needs

_BEAM = 20


class _SharedSpark:
    """One Spark for all commands that ask for the engine, started by the first."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._one: Any = None

    @contextmanager
    def started(self, master: object, on_status: object) -> Iterator[Any]:
        if self._one is None:
            needs("java")
            from tests.spark_tools import ENVIRONMENT, OneSpark

            for name, value in ENVIRONMENT.items():
                self._patch.setenv(name, value)
            self._one = OneSpark()
        yield self._one.engine("local[2]")

    def stop(self) -> None:
        if self._one is not None:
            self._one.stop()


@pytest.fixture(scope="module")
def worlds(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Worlds]:
    folder = tmp_path_factory.mktemp("joins")

    def store_url(place: str) -> str:
        if place == "sqlite":
            return f"sqlite:///{folder / f'{secrets.token_hex(4)}.db'}"
        server: Postgres = request.getfixturevalue(place)
        return server.new_database()

    with pytest.MonkeyPatch.context() as patch:
        # Nothing here must outlive a loss of power, and nobody's words are hard to find.
        patch.setattr(os, "fsync", lambda file: None)
        patch.setattr(search, "usual_beam", lambda mechanism: _BEAM)
        # The commands are put together once, not at every call.
        patch.setattr(typer.main, "get_command", functools.cache(typer.main.get_command))
        spark = _SharedSpark(patch)
        patch.setattr(spark_launch, "open_engine", spark.started)
        made = Worlds(folder, store_url)
        yield made
        made.close()
        spark.stop()
