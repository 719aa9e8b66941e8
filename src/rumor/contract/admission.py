"""One-time tokens: they decide who may answer, without telling who answered what.

The operator makes an *invitation* for each person, 16 random bytes and two that catch typing
errors. From it the person's device derives a token for every report it may send, different ones
for each question, so that the tokens of one person's answers have nothing in common. The collector
keeps a key for each unused token, which does not reveal the token. It deletes the key of a used
token in the commit that stores the report, and nothing connects the two afterwards.
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
# The credential of a bound invitation is of use to one issuer alone (rumor.contract.issuing).
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
    """Return whether the invitation `text` is bound to an issuer."""
    return text.strip().startswith(_BOUND_PREFIX)


def read_invitation(text: str) -> bytes:
    """Return the secret bytes of the invitation `text`, or refuse it in one sentence."""
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
    # The text may be a real invitation with a typing error, a secret: the error does not show it.
    raise InputError(
        f"an invitation must be {_PREFIX!r} (or {_BOUND_PREFIX!r}) and 24 letters, digits, - or "
        f"_, just as it was sent; got {len(code)} characters that are not"
    )


def token(invitation: bytes, series: str, question: str, number: int) -> bytes:
    """Return the token of a person's report `number` (from 0) to `question` of `series`."""
    return Keyed(invitation, "rumor admission", series, question, number).digest()[:TOKEN_BYTES]


def admission_key(series: str, question: str, token: bytes) -> bytes:
    """Return the key by which the collector stores `token`, which fits `question` alone."""
    return hashlib.sha256(encode_context("rumor admission key", series, question) + token).digest()


def admission_keys(collection: Collection, invitation: str) -> list[bytes]:
    """Return the keys of all reports to `collection` that the holder of `invitation` may send."""
    secret, series = read_invitation(invitation), collection.series
    return [
        admission_key(series, question.id, token(secret, series, question.id, number))
        for question in collection.questions
        for number in range(question.reports_in_all)
    ]
