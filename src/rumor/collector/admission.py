"""What admits a report at the collector: the key of a one-time token, or a signed one.

A token of an invitation is looked up in the store, which deletes its key with the commit that
takes the report. A token of an issuer needs no looking up: its signature shows that somebody
invited had it signed, and the id of the report follows from it, so that the store, which takes
an id once, takes the token once.
"""

from __future__ import annotations

from rumor.collector.http.problems import Problem
from rumor.contract.admission import TOKEN_BYTES, admission_key
from rumor.contract.collection import Collection, Question
from rumor.contract.issuing import MESSAGE_BYTES, SIGNATURE_BYTES, token_id
from rumor.core.blind_rsa import verify
from rumor.core.reports import Reports

_BLIND_BYTES = MESSAGE_BYTES + SIGNATURE_BYTES


def admitted_id(
    collection: Collection, question: Question, message: bytes, signature: bytes
) -> bytes | None:
    """The id of the one report that a token of the issuer admits; None where it admits none."""
    assert collection.issuer is not None
    key = collection.issuer.keys[question.id]
    if len(message) != MESSAGE_BYTES or not verify(key, message, signature):
        return None
    return token_id(message)


def admission_of(
    collection: Collection, question: Question, rows: Reports, token: str
) -> bytes | None:
    """The key that the store must know for these rows, or None where they need none.

    `token` is what came with them, in hexadecimal. A Problem where it does not admit them.
    """
    if collection.admission == "open":
        return None
    blind = collection.admission == "blind"
    shown = _read(token, _BLIND_BYTES if blind else TOKEN_BYTES, collection.admission)
    if len(rows) != 1:
        raise Problem("not-admitted", f"a token admits one report; got {len(rows)} in the body")
    if not blind:
        return admission_key(collection.series, question.id, shown)
    id = admitted_id(collection, question, shown[:MESSAGE_BYTES], shown[MESSAGE_BYTES:])
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
