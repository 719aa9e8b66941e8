"""One-time tokens: who may answer, without saying who answered what.

Whoever invites people makes an *invitation* for each, 16 random bytes and two that catch
slips. From it the person's device derives a token for every report it may send: of each
question its own, so that the tokens of one person's answers have nothing in common. The
collector keeps a key for each
token that was not used yet, which tells it nothing about the token; a used one is deleted
in the commit that takes the report, and nothing connects the two afterwards.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import TYPE_CHECKING

from rumor.core.errors import InputError
from rumor.core.randomness import Keyed, encode_context

if TYPE_CHECKING:
    from rumor.contract.collection import Collection

_PREFIX = "rumor-invitation-"
_BYTES, _CHECK_BYTES = 16, 2
TOKEN_BYTES = 16


def new_invitation() -> str:
    """An invitation as it is handed to a person."""
    secret = secrets.token_bytes(_BYTES)
    return _PREFIX + base64.urlsafe_b64encode(secret + _check(secret)).decode()


def _check(secret: bytes) -> bytes:
    return hashlib.sha256(b"rumor invitation" + secret).digest()[:_CHECK_BYTES]


def read_invitation(text: str) -> bytes:
    """The bytes of an invitation, or the sentence that says it is none."""
    code = text.strip()
    try:
        if code.startswith(_PREFIX) and code.isascii():
            found = base64.b64decode(code.removeprefix(_PREFIX), altchars=b"-_", validate=True)
            secret, check = found[:_BYTES], found[_BYTES:]
            if len(secret) == _BYTES and check == _check(secret):
                return secret
    except ValueError:
        pass
    # The text may be a real invitation with a slip: it is not repeated.
    raise InputError(
        f"an invitation must be {_PREFIX!r} and 24 letters, digits, - or _, just as it was sent; "
        f"got {len(code)} characters that are not"
    )


def token(invitation: bytes, series: str, question: str, number: int) -> bytes:
    """The token of a person's report of this number (from 0) to a question."""
    return Keyed(invitation, "rumor admission", series, question, number).digest()[:TOKEN_BYTES]


def admission_key(series: str, question: str, token: bytes) -> bytes:
    """What the collector keeps of a token: it fits this question alone."""
    return hashlib.sha256(encode_context("rumor admission key", series, question) + token).digest()


def admission_keys(collection: Collection, invitation: str) -> list[bytes]:
    """The keys of all reports that an invited person may send."""
    secret, series = read_invitation(invitation), collection.series
    return [
        admission_key(series, question.id, token(secret, series, question.id, number))
        for question in collection.questions
        for number in range(question.reports_in_all)
    ]
