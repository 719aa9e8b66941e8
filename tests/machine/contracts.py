"""The contracts that the machine plays with: four of one series, and their answers."""

from __future__ import annotations

import functools
import os

from rumor.collector.http.server import free_port
from rumor.contract.collection import Collection
from tests.relay.tools import PUBLIC

SERIES = "series"
QUESTIONS = ("colour", "many")
COLOURS = ("red", "green", "blue")


@functools.cache
def contracts() -> tuple[Collection, ...]:
    """Kept for three days; for ever; for invited people, five days; through a relay, for ever.

    Each is a revision of another, the last one of the first, and promises as much.
    """
    days = _contract("Kept for days", 1000, retention_days=3)
    relayed = _contract("By relay", 1000, after=days, relay=_relay())
    ever = _contract("Kept for ever", 1000, after=relayed)
    invited = _contract("For the invited", 2, admission="invited", retention_days=5, after=ever)
    return (days, ever, invited, relayed)


INVITED = 2
"""The place of the one that asks for invitations."""


RELAYED = 3
"""The place of the one that is answered through a relay."""


# Of this process and of those that it starts: the address is part of contracts that all know.
_PORT = os.environ.setdefault("RUMOR_TEST_RELAY_PORT", str(free_port()))


def _relay() -> dict[str, object]:
    """Two are a crowd, and none is ever dropped."""
    return {"url": f"http://127.0.0.1:{_PORT}", "key": PUBLIC, "crowd": 2, "days": 3650}


def _contract(
    name: str,
    per_person: int,
    *,
    admission: str = "open",
    retention_days: int | None = None,
    after: Collection | None = None,
    relay: dict[str, object] | None = None,
) -> Collection:
    limits: dict[str, object] = {"reports_per_person": per_person}
    if retention_days is not None:
        limits["retention_days"] = retention_days
    rules: dict[str, object] = {"kind": "choice", "epsilon": 1.0, **limits}
    colour = {"id": "colour", "labels": list(COLOURS), "mechanism": "randomized-response"}
    many = {"id": "many", "domain": 30, "mechanism": "unary"}
    return Collection.resolve(
        {
            "name": name,
            "series": SERIES,
            "contact": "nobody@example.org",
            "admission": admission,
            "series_epsilon": 1e6,
            **({} if after is None else {"revision": after.revision + 1, "previous": after.digest}),
            **({} if relay is None else {"relay": relay}),
            "questions": [{**rules, **colour}, {**rules, **many}],
        }
    )


def answer(question: str, value: int) -> object:
    """An answer to one of the questions."""
    return COLOURS[value % 3] if question == "colour" else value % 30


def width(question: str) -> int:
    """The bytes of a report."""
    return contracts()[0].question(question).mechanism.width
