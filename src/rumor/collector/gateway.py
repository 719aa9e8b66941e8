"""The gateway: envelopes of a relay become reports, each on its own, and bad ones are dropped.

Nobody is told which envelope was bad: the relay hears how many it handed over, and a device
nothing. The private keys are in a file of PEM blocks; which one opens an envelope its contract
says, so that a contract with a new key can follow one whose envelopes are still under way.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rumor.collector.http.problems import Problem
from rumor.collector.store.base import ReportBatch, StoredCollection
from rumor.collector.tokens import Tokens
from rumor.contract.collection import Collection, Question
from rumor.contract.envelope import EnvelopeFormat
from rumor.core.errors import InputError
from rumor.core.files import PathLike, append_for_owner, readable

_BLOCK = re.compile(b"-----BEGIN PRIVATE KEY-----.+?-----END PRIVATE KEY-----", re.DOTALL)

Keys = Mapping[str, ec.EllipticCurvePrivateKey]
"""Private keys by their public ones, as contracts write these."""


def read_keys(path: PathLike) -> Keys:
    """Return the keys of a file."""
    rule = f"a gateway's key file must hold private keys that rumor key made; {os.fspath(path)!r}"
    with readable("a gateway's key file", Path(path)):
        blocks = _BLOCK.findall(Path(path).read_bytes())
    if not blocks:
        raise InputError(f"{rule} holds none")
    found = {}
    for block in blocks:
        try:
            key = serialization.load_pem_private_key(block, None)
        except ValueError:
            raise InputError(f"{rule} holds something else") from None
        if not isinstance(key, ec.EllipticCurvePrivateKey) or key.curve.name != "secp256r1":
            raise InputError(f"{rule} holds a key of another kind")
        found[public_of(key)] = key
    return found


def public_of(key: ec.EllipticCurvePrivateKey) -> str:
    """Return the public key as contracts write it."""
    point = key.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    return point.hex()


def add_key(path: PathLike) -> str:
    """Make a key, add it to a file that only its owner can read, and return the public one."""
    if Path(path).exists():
        read_keys(path)  # a slip must not spoil some other file
    key = ec.generate_private_key(ec.SECP256R1())
    block = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    append_for_owner(path, block)
    return public_of(key)


class Gateway:
    """The private keys of envelopes, and the tokens of the relays that may deliver them."""

    def __init__(self, keys: Keys, tokens: Tokens) -> None:
        self._keys, self.tokens = keys, tokens

    def check(self, collection: Collection) -> None:
        """Refuse to serve a collection whose envelopes nobody here could open."""
        if collection.relay is not None and collection.relay.key not in self._keys:
            raise InputError(
                f"the gateway's key file must hold the key that the contract names, "
                f"{collection.relay.key[:16]}...; it does not"
            )

    def key_of(self, collection: Collection) -> ec.EllipticCurvePrivateKey:
        """Return the key that opens a collection's envelopes."""
        relay = collection.relay
        if relay is None or relay.key not in self._keys:
            raise Problem(
                "forbidden",
                f"envelopes are taken for a collection with a relay whose key this collector has; "
                f"{collection.name!r} is none",
            )
        return self._keys[relay.key]

    def open_envelopes(
        self, entry: StoredCollection, question: Question, envelopes: bytes, turn: int | None = None
    ) -> tuple[list[ReportBatch], int]:
        """Return the reports in valid envelopes, one batch for each, and the number of bad ones."""
        collection, mechanism = entry.collection, question.mechanism
        kind, key = EnvelopeFormat.of(collection, question, turn), self.key_of(collection)
        found = []
        for at in range(0, len(envelopes), kind.size):
            plain = kind.open(key, envelopes[at : at + kind.size], collection)
            if plain is not None:
                found.append(plain)
        count = len(envelopes) // kind.size
        if not found:
            return [], count
        flat = b"".join(admitted.id + report for admitted, report in found)
        rows = np.frombuffer(flat, dtype=np.uint8).reshape(len(found), -1)
        reports = np.ascontiguousarray(rows[:, -mechanism.width :])
        valid = mechanism.validate(reports).valid
        number = entry.questions[question.id]
        batches = [
            ReportBatch(number, rows[i : i + 1], admitted.key)
            for i, (admitted, _) in enumerate(found)
            if valid[i]
        ]
        return batches, count - len(batches)
