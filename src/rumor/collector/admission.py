"""Who may hand in a report, and for which turn of a relay.

A token of an invitation is looked up in the store, which deletes its key with the commit that
takes the report. A token of an issuer needs no looking up: its signature shows that somebody
invited had it signed, and the id of the report follows from it, so that the store, which takes
an id once, takes the token once.
"""

from __future__ import annotations

import re

from rumor.collector import clock
from rumor.collector.http.problems import Problem
from rumor.contract.admission import TOKEN_BYTES, admission_key
from rumor.contract.collection import Collection, Question
from rumor.contract.issuing import MESSAGE_BYTES, SIGNATURE_BYTES, admitted_id
from rumor.contract.relay import turn_at
from rumor.core.errors import format_value
from rumor.core.reports import Reports

_TURN = re.compile("0|[1-9][0-9]{0,14}")


def accepted_turn(turn_hours: int | None, given: str | None) -> int | None:
    """Return the turn that a request names, of a contract with such `turn_hours`, or refuse it."""
    if turn_hours is None:
        if given is not None:
            raise Problem(
                "wrong-turn",
                "envelopes of a contract without turns must name no turn; got "
                f"{format_value(given)}",
            )
        return None
    current = turn_at(clock.now(), turn_hours)
    rule = (
        f"envelopes of a contract with turns must name turn {current}, which is the current one, "
        f"or turn {current - 1}"
    )
    if given is None:
        raise Problem("wrong-turn", f"{rule}; got none")
    if not _TURN.fullmatch(given) or int(given) not in (current, current - 1):
        raise Problem("wrong-turn", f"{rule}; got {format_value(given)}")
    return int(given)


_BLIND_BYTES = MESSAGE_BYTES + SIGNATURE_BYTES


def admission_of(
    collection: Collection, question: Question, rows: Reports, token: str
) -> bytes | None:
    """Return the key that the store must know for these rows, or None if they need none.

    `token` is what came with them, in hexadecimal. A Problem where it does not admit them.
    """
    if collection.admission == "open":
        return None
    issuer = collection.issuer
    size = TOKEN_BYTES if issuer is None else _BLIND_BYTES
    shown = _read(token, size, collection.admission)
    if len(rows) != 1:
        raise Problem("not-admitted", f"a token admits one report; got {len(rows)} in the body")
    if issuer is None:
        return admission_key(collection.series, question.id, shown)
    id = admitted_id(issuer, question.id, shown[:MESSAGE_BYTES], shown[MESSAGE_BYTES:])
    if id is None:
        raise Problem(
            "not-admitted",
            f"a token must be signed by the issuer's key of question {question.id!r}; this one "
            f"is not",
        )
    if rows[0, : len(id)].tobytes() != id:
        raise Problem("not-admitted", "the id of a report must be its token's; this one is not")
    return None


def _read(token: str, size: int, admission: str) -> bytes:
    try:
        found = bytes.fromhex(token)
    except ValueError:
        found = b""
    if len(found) != size:
        raise Problem(
            "not-admitted",
            f"reports of a collection with admission {admission!r} need the header Rumor-Token "
            f"with {2 * size} hexadecimal digits; got {len(token)} characters",
        )
    return found
