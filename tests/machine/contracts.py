"""The contracts that the machine plays with: six of one series, and their answers."""

from __future__ import annotations

import functools
import os

from rumor.collector.http.server import free_port
from rumor.collector.issuer_keys import IssuerKeys
from rumor.contract.collection import Collection
from tests.issuers import SECRETS
from tests.relay.tools import PUBLIC

SERIES = "series"
QUESTIONS = ("colour", "many")
COLOURS = ("red", "green", "blue")
CROWD = 4
"""How many envelopes of a question the relay waits for: more than one person may send."""


KEYS = IssuerKeys(SERIES, dict(zip(QUESTIONS, SECRETS, strict=True)))
"""The issuer's."""


@functools.cache
def contracts() -> tuple[Collection, ...]:
    """Of one series, and of which kinds.

    Kept for three days; for ever; for invited people, five days; for those with blind tokens;
    through a relay, for ever; for blind tokens of the same keys, two days.

    Each is a revision of another, the last one of the first, and promises as much.
    """
    days = _contract("Kept for days", 1000, retention_days=3)
    relayed = _contract("By relay", CROWD - 1, after=days, relay=_relay())
    ever = _contract("Kept for ever", 1000, after=relayed)
    invited = _contract("For the invited", 2, admission="invited", retention_days=5, after=ever)
    blind = _contract("Untraceable", 2, admission="blind", after=invited)
    again = _contract("Once more", 2, admission="blind", retention_days=2, after=blind)
    return (days, ever, invited, blind, relayed, again)


INVITED, BLIND, RELAYED, AGAIN = 2, 3, 4, 5
"""The places of the ones for invitations, for tokens of the issuer, through a relay, and for the
same tokens."""


def takes_tokens(contract: Collection) -> bool:
    """Whether tokens of the issuer admit to it."""
    return contract.issuer is not None


def _port(name: str) -> int:
    """Of this process and of those that it starts: the address is part of contracts."""
    return int(os.environ.setdefault(f"RUMOR_TEST_{name}_PORT", str(free_port())))


ISSUER_PORT, RELAY_PORT = _port("ISSUER"), _port("RELAY")


def _relay() -> dict[str, object]:
    """A few are a crowd, and none is ever dropped."""
    return {"url": f"http://127.0.0.1:{RELAY_PORT}", "key": PUBLIC, "crowd": CROWD, "days": 3650}


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
    public = {id: key.public.to_bytes().hex() for id, key in KEYS.secrets.items()}
    issuer = (
        {"url": f"http://127.0.0.1:{ISSUER_PORT}", "keys": public} if admission == "blind" else None
    )
    return Collection.resolve(
        {
            "name": name,
            "series": SERIES,
            "contact": "nobody@example.org",
            "admission": admission,
            "series_epsilon": 1e6,
            **({} if issuer is None else {"issuer": issuer}),
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
