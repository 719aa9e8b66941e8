"""The issuer's secret keys: one for each question, in a file that only its owner can read.

The file is JSON: {"rumor": 1, "series": ..., "keys": {question: [prime, prime]}}, the primes in
hexadecimal. Whoever has it makes tokens at will; whoever has a copy of an old one traces nobody.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rumor.contract.collection import Collection
from rumor.core.blind_rsa import KEY_BITS, SecretKey, new_key
from rumor.core.deprecation import old_name
from rumor.core.errors import InputError
from rumor.core.files import PathLike, readable, write_whole

_VERSION = 1


@dataclass(frozen=True)
class IssuerKeys:
    """An issuer's keys for a series, by question."""

    series: str
    secrets: Mapping[str, SecretKey]

    def with_new(self, ids: Sequence[str]) -> IssuerKeys:
        """Return these keys with a new key added for each question of `ids` that has none."""
        more = {id: new_key() for id in ids if id not in self.secrets}
        return IssuerKeys(self.series, {**self.secrets, **more})

    def of(self, collection: Collection) -> Mapping[str, SecretKey]:
        """Return the secret keys of `collection`, which must match its contract's public keys."""
        if collection.issuer is None:
            raise InputError(
                f'an issuer needs a collection with admission = "blind"; {collection.name!r} has '
                f"{collection.admission!r}"
            )
        for id, promised in collection.issuer.keys.items():
            if id not in self.secrets or self.secrets[id].public != promised:
                raise InputError(
                    f"an issuer must have the keys that the contract promises; that of question "
                    f"{id!r} is another"
                )
        return {id: self.secrets[id] for id in collection.issuer.keys}

    def save(self, path: PathLike) -> None:
        """Write the file, whole or not at all."""
        keys = {id: [f"{key.first:x}", f"{key.second:x}"] for id, key in self.secrets.items()}
        text = json.dumps({"rumor": _VERSION, "series": self.series, "keys": keys}, indent=1)
        write_whole(path, f"{text}\n".encode(), mode=0o600)

    @classmethod
    def load(cls, path: PathLike) -> IssuerKeys:
        """Return the keys in a file, or the sentence that says why they cannot be trusted."""
        with readable("a key file", path):
            text = Path(path).read_text(encoding="utf-8")
            mode = Path(path).stat().st_mode & 0o777
        if os.name == "posix" and mode & 0o077:
            raise InputError(
                f"a key file must be readable by its owner only (mode 600); {str(path)!r} has "
                f"mode {mode:o}"
            )
        try:
            read = json.loads(text)
            if read["rumor"] != _VERSION:
                raise ValueError
            secrets = {
                str(id): SecretKey(int(first, 16), int(second, 16))
                for id, (first, second) in read["keys"].items()
            }
            series = str(read["series"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # Not the reason: it may show some of a key.
            raise InputError(
                f"a key file must be as rumor issue keys makes it; {str(path)!r} is not"
            ) from None
        if any(key.public.modulus.bit_length() != KEY_BITS for key in secrets.values()):
            raise InputError(f"a key must have {KEY_BITS} bits; one of {str(path)!r} has not")
        return cls(series, secrets)


def __getattr__(name: str) -> object:
    if name == "Keys":
        old_name("rumor.collector.issuer_keys.Keys", "IssuerKeys")
        return IssuerKeys
    raise AttributeError(name)
