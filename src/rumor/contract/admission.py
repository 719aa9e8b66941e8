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
# What a bound invitation shows to an issuer is of no use to another (rumor.contract.issuing).
_BOUND_PREFIX = "rumor-bound-invitation-"
_BYTES, _CHECK_BYTES = 16, 2
TOKEN_BYTES = 16


def new_invitation(*, bound: bool = False) -> str:
    """Return a new invitation as it is handed to a person, `bound` to an issuer or not."""
    secret, prefix = secrets.token_bytes(_BYTES), _BOUND_PREFIX if bound else _PREFIX
    return prefix + base64.urlsafe_b64encode(secret + _check(secret, bound)).decode()


def _check(secret: bytes, bound: bool) -> bytes:
    context = b"rumor bound invitation" if bound else b"rumor invitation"
    return hashlib.sha256(context + secret).digest()[:_CHECK_BYTES]


def is_bound(text: str) -> bool:
    """Whether an invitation is bound to an issuer."""
    return text.strip().startswith(_BOUND_PREFIX)


def read_invitation(text: str) -> bytes:
    """The bytes of an invitation, or the sentence that says it is none."""
    code, bound = text.strip(), is_bound(text)
    prefix = _BOUND_PREFIX if bound else _PREFIX
    try:
        if code.startswith(prefix) and code.isascii():
            found = base64.b64decode(code.removeprefix(prefix), altchars=b"-_", validate=True)
            secret, check = found[:_BYTES], found[_BYTES:]
            if len(secret) == _BYTES and check == _check(secret, bound):
                return secret
    except ValueError:
        pass
    # The text may be a real invitation with a slip: it is not repeated.
    raise InputError(
        f"an invitation must be {_PREFIX!r} (or {_BOUND_PREFIX!r}) and 24 letters, digits, - or "
        f"_, just as it was sent; got {len(code)} characters that are not"
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
