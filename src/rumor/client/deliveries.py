"""Vectors of what goes along with a report: its id, what admits it, and its envelope for a relay.

Keys, openings and salts are random on a device; here they follow from the question, so that a port
can make the same bytes. Sealing an envelope and signing a token need keys that nobody has here:
RFC 9180 and RFC 9474 have vectors of their own.
"""

from __future__ import annotations

import hashlib
from typing import Any

from rumor.contract.admission import read_invitation, token
from rumor.contract.collection import Collection, Question
from rumor.contract.deletion import KEY_BYTES, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.issuing import (
    OPENING_BYTES,
    enrolment_credential,
    key_name,
    token_id,
    token_message,
)
from rumor.core.blind_rsa import blind

_SALT_BYTES = 48
_DAY = 86_400  # seconds


def deliveries(collection: Collection, invitation: str, day: int) -> list[dict[str, Any]]:
    """Return the vector of each question: the first report of the holder of `invitation`.

    `day` is counted from 1970, and decides the turn of a relay.
    """
    return [_delivery(collection, each, invitation, day) for each in collection.questions]


def _delivery(
    collection: Collection, question: Question, invitation: str, day: int
) -> dict[str, Any]:
    key = _bytes(collection, question, "key", KEY_BYTES)
    found: dict[str, Any] = {"question": question.id, "key": key.hex(), "id": report_id(key).hex()}
    admitted: bytes | None = None
    if collection.issuer is not None:
        return {
            **found,
            **_unsigned(collection, question, invitation),
            **_sealed(collection, question, day),
        }
    if collection.admission == "invited":
        admitted = token(read_invitation(invitation), collection.series, question.id, 0)
        found |= {"invitation": invitation, "token": admitted.hex()}
    found |= _sealed(collection, question, day)
    if collection.relay is not None:
        report = bytes(question.mechanism.width)
        header = EnvelopeFormat.of(collection, question).header
        found["plain"] = (header.write(report_id(key), admitted) + report).hex()
    return found


def _sealed(collection: Collection, question: Question, day: int) -> dict[str, Any]:
    """Return what binds the envelope of a report, if there is a relay."""
    if collection.relay is None:
        return {}
    turn = collection.relay.turn_at(day * _DAY)
    form = EnvelopeFormat.of(collection, question, turn)
    return {"turn": turn, "info": form.info.hex(), "size": form.size}


def _unsigned(collection: Collection, question: Question, invitation: str) -> dict[str, Any]:
    """Return a token that the issuer has not signed, blinded for it, and the id that it gives."""
    assert collection.issuer is not None
    key = collection.issuer.keys[question.id]
    opening = _bytes(collection, question, "opening", OPENING_BYTES)
    salt = _bytes(collection, question, "salt", _SALT_BYTES)
    factor = int.from_bytes(_bytes(collection, question, "factor", key.size), "big") % key.modulus
    message = token_message(opening)
    made = blind(key, message, salt=salt, factor=factor)
    return {
        "invitation": invitation,
        "credential": enrolment_credential(collection, invitation).hex(),
        "issuer key": key_name(key).hex(),
        "key": opening.hex(),
        "salt": salt.hex(),
        "factor": f"{factor:x}",
        "message": message.hex(),
        "id": token_id(message).hex(),
        "blinded": made.message.hex(),
        "inverse": f"{made.inverse:x}",
    }


def _bytes(collection: Collection, question: Question, what: str, size: int) -> bytes:
    name = f"rumor delivery vector: {collection.digest} {question.id} {what}"
    return hashlib.shake_256(name.encode()).digest(size)
