"""Tokens of an issuer, as Python makes them: for the client in JavaScript, and for tests.

python -m tests.vectors.make_blind > tests/vectors/blind.json
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence

from rumor.contract.admission import read_invitation
from rumor.contract.issuing import (
    bound_credential,
    credential,
    credential_digest,
    key_name,
    token_id,
    token_message,
)
from rumor.core.blind_rsa import EXPONENT, SecretKey, _is_prime, blind, blind_sign, finalize

_INVITATIONS = ("rumor-invitation-AAAAAAAAAAAAAAAAAAAAABn3",)
_SERIES = ("series", "grün")
_BOUND = "rumor-bound-invitation-AAAAAAAAAAAAAAAAAAAAAI3N"
_URLS = ("https://issue.example.org", "https://issue.example.org/a")


def _bytes(name: str, size: int) -> bytes:
    """Bytes that a name stands for."""
    return hashlib.shake_256(f"rumor blind vectors: {name}".encode()).digest(size)


def _prime(name: str) -> int:
    number = int.from_bytes(_bytes(name, 128), "big") | 3 << 1022 | 1
    while (number - 1) % EXPONENT == 0 or not _is_prime(number):
        number += 2
    return number


def keys() -> list[SecretKey]:
    """Two keys that everybody knows: for tests alone."""
    return [SecretKey(_prime(f"{i} first"), _prime(f"{i} second")) for i in range(2)]


def _token(key: SecretKey, name: str) -> dict[str, object]:
    public, opening, salt = key.public, _bytes(f"{name} opening", 48), _bytes(f"{name} salt", 48)
    factor = int.from_bytes(_bytes(f"{name} factor", 256), "big") % public.modulus
    message = token_message(opening)
    made = blind(public, message, salt=salt, factor=factor)
    answer = blind_sign(key, made.message)
    return {
        "key": public.to_bytes().hex(),
        "name": key_name(public).hex(),
        "opening": opening.hex(),
        "salt": salt.hex(),
        "factor": f"{factor:x}",
        "message": message.hex(),
        "id": token_id(message).hex(),
        "blinded": made.message.hex(),
        "inverse": f"{made.inverse:0512x}",
        "answer": answer.hex(),
        "signature": finalize(public, message, answer, made.inverse).hex(),
    }


def vectors(made: Sequence[SecretKey]) -> dict[str, object]:
    """Everything that follows from two keys."""
    people = [
        {
            "invitation": invitation,
            "series": series,
            "credential": (shown := credential(read_invitation(invitation), series)).hex(),
            "person": credential_digest(shown).hex(),
        }
        for invitation in _INVITATIONS
        for series in _SERIES
    ]
    people += [
        {
            "invitation": _BOUND,
            "series": series,
            "url": url,
            "credential": (shown := bound_credential(read_invitation(_BOUND), series, url)).hex(),
            "person": credential_digest(shown).hex(),
        }
        for series in _SERIES
        for url in _URLS
    ]
    return {
        "keys": [[f"{key.first:x}", f"{key.second:x}"] for key in made],
        "people": people,
        "tokens": [_token(key, f"{i} {j}") for i, key in enumerate(made) for j in range(3)],
    }


if __name__ == "__main__":
    json.dump(vectors(keys()), sys.stdout, indent=1)
    print()
