"""The contracts that the machine plays with: four of one series, and their answers."""

from __future__ import annotations

import functools
from contextlib import ExitStack

from rumor.collector.issuer_keys import Keys
from rumor.contract.collection import Collection
from tests.issuers import SECRETS
from tests.machine.front import Front

SERIES = "series"
QUESTIONS = ("colour", "many")
COLOURS = ("red", "green", "blue")


_LISTENING = ExitStack()
KEYS = Keys(SERIES, dict(zip(QUESTIONS, SECRETS, strict=True)))
"""The issuer's."""


@functools.cache
def issuer_front() -> Front:
    """Where devices find the issuer, as long as this process lasts: contracts say so."""
    return _LISTENING.enter_context(Front().listening())


@functools.cache
def contracts() -> tuple[Collection, ...]:
    """Kept for three days; for ever; for invited people, five days; for those with blind tokens.

    Each is a revision of the one before, and promises as much.
    """
    days = _contract("Kept for days", 1000, retention_days=3)
    ever = _contract("Kept for ever", 1000, after=days)
    invited = _contract("For the invited", 2, admission="invited", retention_days=5, after=ever)
    return days, ever, invited, _contract("Untraceable", 2, admission="blind", after=invited)


INVITED, BLIND = 2, 3
"""The places of the ones that ask for invitations, and for tokens of the issuer."""


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
    public = {id: key.public.to_bytes().hex() for id, key in KEYS.secrets.items()}
    issuer = {"url": issuer_front().url, "keys": public} if admission == "blind" else None
    return Collection.resolve(
        {
            "name": name,
            "series": SERIES,
            "contact": "nobody@example.org",
            "admission": admission,
            "series_epsilon": 1e6,
            **({} if issuer is None else {"issuer": issuer}),
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
