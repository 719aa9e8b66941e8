"""Blind tokens: the issuer knows who is invited, and never sees the tokens it signs.

A token is a message of 64 bytes and the issuer's signature of it. The device makes the message
and has it signed blindly (rumor.core.blind_rsa): the issuer learns who asked, the collector what
was signed, and both together not who sent it. Each question has a key of its own, since the
issuer cannot see what a token is for; the keys are in the contract, so that one digest means
the same keys for everybody.

The message is 32 random bytes and the hash of a key of 16. It names the report that it admits:
a report's id is the start of SHA-256("rumor token id" || message), so that the rule that an id
is taken once is the list of spent tokens. Those 32 bytes and that key, the token's *opening*,
withdraw the report; the token alone does not.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.contract.addresses import checked_url, origin_of
from rumor.contract.admission import is_bound, read_invitation
from rumor.core.blind_rsa import KEY_BITS, PREFIX_BYTES, BlindingError, PublicKey, verify
from rumor.core.canonical import Json
from rumor.core.checks import known_keys
from rumor.core.errors import InputError, format_value
from rumor.core.randomness import Keyed

if TYPE_CHECKING:
    from rumor.contract.collection import Collection, Question

MESSAGE_BYTES = 64
SIGNATURE_BYTES = KEY_BITS // 8
CREDENTIAL_BYTES = 32
OPENING_BYTES = PREFIX_BYTES + 16
_ID_BYTES = 16
_KEYS = ("url", "keys")
_MODULUS = re.compile(f"[0-9a-f]{{{2 * SIGNATURE_BYTES}}}")
# A device fetches all of them when it enrols.
_MAX_TOKENS = 1_000


@dataclass(frozen=True)
class Issuer:
    """The issuer of blind tokens: its address, and one key for each question."""

    url: str
    keys: Mapping[str, PublicKey]

    @property
    def origin(self) -> str:
        """The origin that a page's policy must allow so that it can reach the issuer."""
        return origin_of(self.url)

    def contract(self) -> dict[str, Json]:
        """Return the issuer as a contract writes it, each modulus in hexadecimal."""
        keys: dict[str, Json] = {id: key.to_bytes().hex() for id, key in self.keys.items()}
        return {"url": self.url, "keys": keys}


def checked_issuer(given: object, admission: str, questions: Sequence[Question]) -> Issuer | None:
    """Return the issuer that a collection gives, which it must for blind admission alone."""
    if admission != "blind":
        if given is not None:
            raise InputError(f'issuer goes with admission = "blind"; got it with {admission!r}')
        return None
    if given is None:
        raise InputError(
            'admission = "blind" needs an [issuer] with its url and keys; got none '
            "(rumor issue keys makes it)"
        )
    if not isinstance(given, Mapping):
        raise InputError(f"issuer must be a table of url and keys; got {format_value(given)}")
    known_keys("issuer", given, _KEYS)
    tokens = sum(question.reports_in_all for question in questions)
    if tokens > _MAX_TOKENS:
        raise InputError(
            f'admission = "blind" takes at most {_MAX_TOKENS:,} reports of a person in all, since '
            f"a device fetches as many tokens at first; got {tokens:,}"
        )
    return Issuer(checked_url(given.get("url"), "an issuer"), _moduli(given.get("keys"), questions))


def _moduli(given: object, questions: Sequence[Question]) -> Mapping[str, PublicKey]:
    ids = [question.id for question in questions]
    if not isinstance(given, Mapping) or set(given) != set(ids):
        found = sorted(given) if isinstance(given, Mapping) else given
        raise InputError(
            f"the keys of an issuer must be one for each of {', '.join(ids)}; got "
            f"{format_value(found)}"
        )
    keys = {id: _key(id, given[id]) for id in ids}
    if len(set(keys.values())) < len(keys):
        raise InputError("every question must have a key of its own; got one key twice")
    return keys


def _key(id: str, given: object) -> PublicKey:
    what = f"the key of question {id!r}"
    if not isinstance(given, str) or not _MODULUS.fullmatch(given):
        raise InputError(
            f"{what} must be {2 * SIGNATURE_BYTES} hexadecimal digits; got {format_value(given)}"
        )
    try:
        return PublicKey.from_bytes(bytes.fromhex(given))
    except BlindingError as problem:
        raise InputError(f"{what} {problem}") from None


def new_opening() -> bytes:
    """Return the opening of a new token: a random prefix and the withdrawal key."""
    return secrets.token_bytes(OPENING_BYTES)


def token_message(opening: bytes) -> bytes:
    """Return the message of the token with this `opening`, the part shown with a report."""
    hidden = hashlib.sha256(b"rumor token key" + opening[PREFIX_BYTES:]).digest()
    return opening[:PREFIX_BYTES] + hidden


def token_id(message: bytes) -> bytes:
    """Return the id of the one report that the token with this `message` admits."""
    return hashlib.sha256(b"rumor token id" + message).digest()[:_ID_BYTES]


def admitted_id(issuer: Issuer, question: str, message: bytes, signature: bytes) -> bytes | None:
    """Return the id of the one report to `question` that a token admits, or None."""
    key = issuer.keys[question]
    if len(message) != MESSAGE_BYTES or not verify(key, message, signature):
        return None
    return token_id(message)


def credential(invitation: bytes, series: str) -> bytes:
    """Return the credential of an `invitation`, from which the invitation cannot be found."""
    return Keyed(invitation, "rumor enrolment", series).digest()


def bound_credential(invitation: bytes, series: str, url: str) -> bytes:
    """Return what the holder of a bound `invitation` shows to the issuer at `url` alone."""
    return Keyed(invitation, "rumor enrolment 2", series, url).digest()


def enrolment_credential(collection: Collection, invitation: str) -> bytes:
    """Return what the holder of `invitation` shows to the issuer of `collection`.

    The invitation says which of the two it is, and not the contract, which may be a stranger's.
    """
    assert collection.issuer is not None
    secret, series = read_invitation(invitation), collection.series
    if is_bound(invitation):
        return bound_credential(secret, series, collection.issuer.url)
    return credential(secret, series)


def credential_digest(credential: bytes) -> bytes:
    """Return what the issuer stores of a `credential`, with which nobody can enrol."""
    return hashlib.sha256(b"rumor invited person" + credential).digest()


def key_name(key: PublicKey) -> bytes:
    """Return the name of a question's `key` between device and issuer."""
    return hashlib.sha256(b"rumor token issuer" + key.to_bytes()).digest()[:_ID_BYTES]
