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
from rumor.contract.issuing import MESSAGE_BYTES, SIGNATURE_BYTES, admitted_id
from rumor.core.reports import Reports

_BLIND_BYTES = MESSAGE_BYTES + SIGNATURE_BYTES


def admission_of(
    collection: Collection, question: Question, rows: Reports, token: str
) -> bytes | None:
    """The key that the store must know for these rows, or None where they need none.

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
