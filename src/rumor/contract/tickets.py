"""What stands before the report in an envelope, by the collection's admission: always one size.

A ticket is written by the device from the report's id and what admits it, and read by the
gateway, which gets back the id that the store keeps and, where tokens are kept there, the key of
the token that the report uses up. A new kind of admission is an entry here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.contract.admission import TOKEN_BYTES, admission_key
from rumor.contract.issuing import MESSAGE_BYTES, SIGNATURE_BYTES, admitted_id
from rumor.contract.withdrawal import ID_BYTES

if TYPE_CHECKING:
    from rumor.contract.collection import Collection


@dataclass(frozen=True)
class Admitted:
    """What a ticket says once it is read."""

    id: bytes
    """The report's name: exactly one report has it."""
    key: bytes | None = None
    """The key of a one-time token that the store keeps until it is used."""


@dataclass(frozen=True)
class Ticket:
    """How one kind of admission travels."""

    size: int
    write: Callable[[bytes, bytes | None], bytes]
    """The ticket of a report's id and token."""
    read: Callable[[bytes, Collection, str], Admitted | None]
    """What a ticket of this size says to a question of a collection; None: it admits nothing."""


def _write_invited(id: bytes, token: bytes | None) -> bytes:
    assert token is not None, "a report of an invited person has a token"
    return id + token


def _read_invited(ticket: bytes, collection: Collection, question: str) -> Admitted:
    id, token = ticket[:ID_BYTES], ticket[ID_BYTES:]
    return Admitted(id, admission_key(collection.series, question, token))


def _write_blind(id: bytes, token: bytes | None) -> bytes:
    assert token is not None, "a report under a signed token has it"
    return token  # the id follows from it


def _read_blind(ticket: bytes, collection: Collection, question: str) -> Admitted | None:
    assert collection.issuer is not None
    message, signature = ticket[:MESSAGE_BYTES], ticket[MESSAGE_BYTES:]
    id = admitted_id(collection.issuer, question, message, signature)
    return None if id is None else Admitted(id)


TICKETS: Mapping[str, Ticket] = {
    "open": Ticket(ID_BYTES, lambda id, token: id, lambda ticket, *_: Admitted(ticket)),
    "invited": Ticket(ID_BYTES + TOKEN_BYTES, _write_invited, _read_invited),
    "blind": Ticket(MESSAGE_BYTES + SIGNATURE_BYTES, _write_blind, _read_blind),
}
