"""Sealed envelopes: a report that only the gateway can open, and what admits it.

The device writes an admission header from the report's id and token. The gateway reads from it the
id that the store keeps and, if tokens are kept there, the key of the token that the report uses
up. A new kind of admission is an entry here.

HPKE (Barnes and others, "Hybrid Public Key Encryption", RFC 9180) in base mode with P-256,
HKDF-SHA-256 and AES-128-GCM. The plain body is the admission header and the report. The info is
"rumor envelope 1", the contract's digest (32 bytes) and the question's id, so that an envelope of
one question opens for no other. Where the contract has turns, the info is "rumor
envelope 2", the digest, the turn (8 bytes, big-endian) and the id: an envelope of one turn opens
in no other. All envelopes of a question have one size, from which a relay learns nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.contract.admission import TOKEN_BYTES, admission_key
from rumor.contract.deletion import ID_BYTES
from rumor.contract.issuing import MESSAGE_BYTES, SIGNATURE_BYTES, admitted_id
from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.hpke import Suite

    from rumor.contract.collection import Collection, Question
    from rumor.contract.relay import Relay


@dataclass(frozen=True)
class AdmittedReport:
    """The report that an admission header admits."""

    id: bytes
    """The report's name, which no other report has."""
    key: bytes | None = None
    """The key of a one-time token that the store keeps until it is used."""


@dataclass(frozen=True)
class AdmissionHeader:
    """The first bytes of an envelope, which admit its report, for one kind of admission."""

    size: int
    write: Callable[[bytes, bytes | None], bytes]
    """A function of a report's id and token that returns the header."""
    read: Callable[[bytes, Collection, str], AdmittedReport | None]
    """A function of a header, a collection and a question's id; None if it admits nothing."""


def _write_invited(id: bytes, token: bytes | None) -> bytes:
    assert token is not None, "a report of an invited person has a token"
    return id + token


def _read_invited(header: bytes, collection: Collection, question: str) -> AdmittedReport:
    id, token = header[:ID_BYTES], header[ID_BYTES:]
    return AdmittedReport(id, admission_key(collection.series, question, token))


def _write_blind(id: bytes, token: bytes | None) -> bytes:
    assert token is not None, "a report under a signed token has it"
    return token  # the id follows from it


def _read_blind(header: bytes, collection: Collection, question: str) -> AdmittedReport | None:
    assert collection.issuer is not None
    message, signature = header[:MESSAGE_BYTES], header[MESSAGE_BYTES:]
    id = admitted_id(collection.issuer, question, message, signature)
    return None if id is None else AdmittedReport(id)


ADMISSION_HEADERS: Mapping[str, AdmissionHeader] = {
    "open": AdmissionHeader(
        ID_BYTES, lambda id, token: id, lambda header, *_: AdmittedReport(header)
    ),
    "invited": AdmissionHeader(ID_BYTES + TOKEN_BYTES, _write_invited, _read_invited),
    "blind": AdmissionHeader(MESSAGE_BYTES + SIGNATURE_BYTES, _write_blind, _read_blind),
}


_INFO, _INFO_OF_TURN = b"rumor envelope 1", b"rumor envelope 2"
# The sender's ephemeral point, and the tag of the cipher.
_OVERHEAD = 65 + 16


@functools.cache
def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise InputError("envelopes need cryptography 47 or newer; got an older one") from None
    return Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


@functools.lru_cache(maxsize=64)
def public_key(point: str) -> ec.EllipticCurvePublicKey:
    """Return the public key that a contract holds as the hexadecimal `point`."""
    from cryptography.hazmat.primitives.asymmetric import ec

    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), bytes.fromhex(point))
    except ValueError:
        raise InputError(
            f"key of relay must be a point of the curve P-256; got {format_value(point)}"
        ) from None


@dataclass(frozen=True)
class EnvelopeFormat:
    """The format that all envelopes of one question share, so that none stands out."""

    digest: str
    question: str
    relay: Relay
    header: AdmissionHeader
    width: int
    """The number of bytes of a report."""
    turn: int | None = None
    """The turn, if the contract has turns; needed for everything but the size."""

    @classmethod
    def of(
        cls, collection: Collection, question: Question, turn: int | None = None
    ) -> EnvelopeFormat:
        """Return the format of the envelopes of `question` and, with turns, of one `turn`."""
        if collection.relay is None:
            raise InputError(
                f"envelopes need a collection with a relay; {collection.name!r} has none"
            )
        ticket, width = ADMISSION_HEADERS[collection.admission], question.mechanism.width
        return cls(collection.digest, question.id, collection.relay, ticket, width, turn)

    @functools.cached_property
    def size(self) -> int:
        """The number of bytes of every envelope."""
        return self.header.size + self.width + _OVERHEAD

    @functools.cached_property
    def info(self) -> bytes:
        """The bytes that bind an envelope to its contract, its question and its turn."""
        if (self.turn is None) != (self.relay.turn_hours is None):
            raise InputError(
                f"an envelope must name its turn where the contract has turns, and only there; "
                f"got {format_value(self.turn)}"
            )
        if self.turn is None:
            return _INFO + bytes.fromhex(self.digest) + self.question.encode()
        turn = self.turn.to_bytes(8, "big")
        return _INFO_OF_TURN + bytes.fromhex(self.digest) + turn + self.question.encode()

    def seal(self, id: bytes, token: bytes | None, report: bytes) -> bytes:
        """Return `report`, `id` and `token` sealed for the gateway; no two results are equal."""
        body = self.header.write(id, token) + report
        return _suite().encrypt(body, public_key(self.relay.key), self.info)

    def open(
        self, private: ec.EllipticCurvePrivateKey, sealed: bytes, collection: Collection
    ) -> tuple[AdmittedReport, bytes] | None:
        """Return the admission and the report in `sealed`; None if it is no such envelope."""
        from cryptography.exceptions import InvalidTag

        if len(sealed) != self.size:
            return None
        try:
            body = _suite().decrypt(sealed, private, self.info)
        except InvalidTag:
            return None
        head, report = body[: self.header.size], body[self.header.size :]
        admitted = self.header.read(head, collection, self.question)
        return None if admitted is None else (admitted, report)
