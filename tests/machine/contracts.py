"""The contracts that the machine plays with: three of one series, and their answers."""

from __future__ import annotations

import functools

from rumor.contract.collection import Collection

SERIES = "series"
QUESTIONS = ("colour", "many")
COLOURS = ("red", "green", "blue")


@functools.cache
def contracts() -> tuple[Collection, ...]:
    """Kept for three days; kept for ever; for invited people, kept for five days.

    Each is a revision of the one before, and promises as much.
    """
    days = _contract("Kept for days", 1000, retention_days=3)
    ever = _contract("Kept for ever", 1000, after=days)
    return (
        days,
        ever,
        _contract("For the invited", 2, admission="invited", retention_days=5, after=ever),
    )


INVITED = 2
"""The place of the one that asks for invitations."""


def _contract(
    name: str,
    per_person: int,
    *,
    admission: str = "open",
    retention_days: int | None = None,
    after: Collection | None = None,
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
            "questions": [{**rules, **colour}, {**rules, **many}],
        }
    )


def answer(question: str, value: int) -> object:
    """An answer to one of the questions."""
    return COLOURS[value % 3] if question == "colour" else value % 30


def width(question: str) -> int:
    """The bytes of a report."""
    return contracts()[0].question(question).mechanism.width
