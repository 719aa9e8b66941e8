"""Issuers for tests: keys that everybody knows, collections with them, and people's tokens."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from rumor.collector.http.server import background, listen
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.issuing import IssuerService
from rumor.collector.store.base import Store
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.contract.issuing import (
    credential_digest,
    enrolment_credential,
    new_opening,
    token_id,
    token_message,
)
from rumor.core.blind_rsa import SecretKey, blind, blind_sign, finalize

VECTORS = json.loads((Path(__file__).parent / "vectors" / "blind.json").read_text())
SECRETS = [SecretKey(int(first, 16), int(second, 16)) for first, second in VECTORS["keys"]]
KEYS = IssuerKeys("series", dict(zip(("colour", "home"), SECRETS, strict=True)))
WISH: dict[str, object] = {
    "name": "Members only",
    "series": "series",
    "contact": "nobody@example.org",
    "admission": "blind",
    "questions": [
        {"id": "colour", "kind": "choice", "labels": ["red", "green"], "epsilon": 1.0},
        {
            "id": "home",
            "kind": "choice",
            "labels": ["blank", "news", "mail"],
            "epsilon": 1.0,
            "reports_per_person": 2,
        },
    ],
}


def blind_wish(url: str = "http://127.0.0.1:9", **more: object) -> dict[str, object]:
    """A collection with the known keys, as TOML would hold it."""
    keys = {id: key.public.to_bytes().hex() for id, key in KEYS.secrets.items()}
    return {**WISH, "issuer": {"url": url, "keys": keys}, **more}


def blind_collection(url: str = "http://127.0.0.1:9", **more: object) -> Collection:
    """The same, resolved."""
    return Collection.resolve(blind_wish(url, **more))


def invite(store: Store, *codes: str, series: str = "series", url: str = "") -> list[str]:
    """Let people enrol, a new one unless their invitations are given; bound ones at an address."""
    made = list(codes) or [new_invitation()]
    collection = blind_collection(url or "http://127.0.0.1:9", series=series)
    people = [credential_digest(enrolment_credential(collection, code)) for code in made]
    store.invite(series, people)
    return made


@contextlib.contextmanager
def issuing(store: Store, **more: object) -> Iterator[Collection]:
    """While this lasts, an issuer works over a store; its collection."""
    listener = listen("127.0.0.1", 0)
    contract = blind_collection(f"http://127.0.0.1:{listener.getsockname()[1]}", **more)
    with background(IssuerService(store, contract, KEYS), listener=listener):
        yield contract


def made_token(question: str, secrets: Mapping[str, SecretKey] = KEYS.secrets) -> tuple[bytes, str]:
    """The id of a report and the token that admits it, in hexadecimal."""
    key, message = secrets[question], token_message(new_opening())
    hidden = blind(key.public, message)
    signature = finalize(key.public, message, blind_sign(key, hidden.message), hidden.inverse)
    return token_id(message), (message + signature).hex()
