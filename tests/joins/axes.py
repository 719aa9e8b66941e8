"""The axes of the matrix of joins, read from the registries, and the cells that make sense.

A cell is one way in which features meet: a question of a kind, asked through a client and a way,
with a history, kept at a place, looked at by a verb that chooses some rows. A new kind, command,
engine or store adds its cells by itself; a test fails until a new command or option is said to be
a part of the matrix (test_joins.py).
"""

from __future__ import annotations

import itertools
import pkgutil
from collections.abc import Iterator
from dataclasses import astuple, dataclass

from rumor.analysis.estimate import ENGINES
from rumor.cli.app import GROUPS
from rumor.collector.store import dialects
from rumor.kinds import NAMES
from tests.joins import memory
from tests.joins.look import FORMS, SPANS, TROUBLES, Look

COMMANDS = tuple(one.__name__.rstrip("_") for group in GROUPS.values() for one in group)

NO_VERBS = {
    "demo": "tests/demo runs it",
    "init": "it writes a collection, before there is a question of a kind",
    "show": "it reads a contract alone",
    "statement": "it reads a contract alone",
    "privatize": "tests/contract and the laws make reports by it; here people have fixed keys",
    "serve": "the collector is a part of every world with a store",
    "answer": "the clients are an axis",
    "withdraw": "a withdrawal is a history",
    "relay": "the relay is a way",
    "token": "it makes a secret",
    "key": "it makes a secret",
    "modules": "it copies files",
    "invite": "tests/collector/test_admission.py",
    "issue": "tests/collector/test_issue_command.py",
    "import": "the verb export reads back by it",
    "collections": "it lists and closes; a revision is a history",
    "repair": "tests/collector/test_damage.py",
    "advance": "PrivKVM's alone: tests/collector/test_modes.py",
    "audit": "it reads a contract alone",
    "account": "it reads a contract alone",
    "attack": "it reads a contract alone",
    "poisoning": "it reads a contract alone",
    "vectors": "it reads a contract alone",
    "papers": "tests/papers",
}
"""Commands that are no verb of the matrix, and why."""

VERBS = tuple(name for name in COMMANDS if name not in NO_VERBS)
BEFOREHAND = ("plan", "simulate")
"""Verbs that need nobody's report."""

FILES = tuple("files" if name == "local" else name for name in ENGINES)
"""Reports files, counted by each engine."""
_NO_STORES = ("connection", "dialect")
STORES = tuple(
    one.name for one in pkgutil.iter_modules(dialects.__path__) if one.name not in _NO_STORES
)
PLACES = ("memory", *FILES, *STORES)

HISTORIES = ("plain", "looks", "revision", "withdrawal")
WAYS = ("direct", "relay")
CLIENTS = ("python", "javascript")

SLOW_PLACES = FILES[1:]
"""Places that only `make soak` goes to: engines that take long to start, or need a card."""


@dataclass(frozen=True, order=True)
class World:
    """Reports of one kind, how they came about and where they are."""

    kind: str
    history: str
    place: str
    way: str
    client: str

    @property
    def makes_sense(self) -> bool:
        """Whether there is such a world.

        Only a collector has clients, a relay and withdrawals; that browsers draw the very bytes
        that Python draws is a test of its own.
        """
        if self.place in STORES:
            return True
        if (self.way, self.client) != ("direct", "python") or self.history == "withdrawal":
            return False
        # Memory does not grow; and other engines read what the local one reads.
        known = {"memory": ("plain", "revision"), "files": HISTORIES}
        return self.history in known.get(self.place, ("plain",))


@dataclass(frozen=True, order=True)
class Cell:
    """A look at a world."""

    look: Look
    world: World

    def __str__(self) -> str:
        return "-".join([*astuple(self.look), *astuple(self.world)])

    @property
    def makes_sense(self) -> bool:
        """Whether the cell is one: what needs no report has no history."""
        if not self.world.makes_sense:
            return False
        if self.look.verb in BEFOREHAND:
            return (self.world.place, self.world.history) == ("files", "plain")
        if self.world.place == "memory":
            return memory.makes_sense(self.look)
        # Methods that go over reports many times are tests/analysis/test_spark.py's.
        if self.world.place in FILES[1:] and self.look.form == "methods":
            return False
        # A store takes no report twice and none that is invalid: see worlds.py.
        return self.world.place not in STORES or self.look.trouble == "none"


def cells() -> list[Cell]:
    """Every cell, in a fixed order."""
    return list(_cells())


def _cells() -> Iterator[Cell]:
    axes = (NAMES, HISTORIES, PLACES, WAYS, CLIENTS)
    worlds = [World(*values) for values in itertools.product(*axes)]
    looks = [Look(*values) for values in itertools.product(VERBS, FORMS, SPANS, TROUBLES)]
    for world in worlds:
        for look in looks:
            cell = Cell(look, world)
            if cell.makes_sense:
                yield cell
