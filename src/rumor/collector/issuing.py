"""The issuer's service, apart from HTTP: it signs tokens of the invited without seeing them.

It is a process of its own with a store of its own, and best of all with an operator of its own.
It knows who is invited and who has enrolled; what it signs tells it nothing, and it learns
nothing of what was answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.problems import Problem, unavailable
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import StoreHealth
from rumor.collector.store.base import BlindedToken, Store, StoreUnavailableError
from rumor.contract.collection import Collection
from rumor.contract.issuing import CREDENTIAL_BYTES, SIGNATURE_BYTES, credential_digest, key_name
from rumor.core.blind_rsa import SecretKey, blind_sign
from rumor.core.deprecation import old_name

MOST_TOKENS = 50
"""The most tokens of one request: signing one takes milliseconds."""


@dataclass
class IssuerService:
    """The issuer of one collection, over one store."""

    store: Store
    collection: Collection
    keys: IssuerKeys
    limits: Limits = field(default_factory=lambda: Limits(requests_per_second=100))

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.bucket = RateLimiter(self.limits.requests_per_second)
        self._secrets: Mapping[bytes, tuple[SecretKey, int]] = {
            key_name(key.public): (key, self.collection.question(id).reports_in_all)
            for id, key in self.keys.of(self.collection).items()
        }
        # One at a time: integers keep the interpreter to themselves anyhow.
        self._signing = asyncio.Lock()
        self._store_health = StoreHealth(self.store)

    def app(self) -> ASGIApp:
        """Return the ASGI application of the issuer."""
        from rumor.collector.http.issuing import make_app

        return make_app(self)

    async def start(self) -> None:
        """Do nothing: the keys were read and checked before."""

    async def stop(self) -> None:
        """Let go of the store."""
        await asyncio.to_thread(self.store.close)

    async def sign(self, credential: bytes, wanted: Sequence[BlindedToken]) -> list[bytes]:
        """Return signatures of all that a person wants signed; or none, and a Problem."""
        self._check(credential, wanted)
        async with self._signing:
            try:
                return await asyncio.to_thread(self._sign, credential, wanted)
            except StoreUnavailableError:
                raise unavailable("the store cannot be written to just now; try again") from None

    def _check(self, credential: bytes, wanted: Sequence[BlindedToken]) -> None:
        if len(credential) != CREDENTIAL_BYTES:
            raise Problem("malformed", f"a credential must have {CREDENTIAL_BYTES} bytes")
        if not 0 < len(wanted) <= MOST_TOKENS:
            raise Problem(
                "too-large", f"a request must want 1 to {MOST_TOKENS} tokens; got {len(wanted)}"
            )
        if len({(one.key, one.number) for one in wanted}) < len(wanted):
            raise Problem("malformed", "a request must want each token once; got one twice")
        for one in wanted:
            if one.key not in self._secrets:
                raise Problem(
                    "unknown-collection",
                    "a key must be one of this issuer's; it has another collection, or other keys "
                    "by now",
                )
            key, most = self._secrets[one.key]
            if not 0 <= one.number < most:
                raise Problem("malformed", f"the number of a token must be from 0 to {most - 1}")
            # Before it is noted: what cannot be signed takes nobody's place.
            small = int.from_bytes(one.blinded, "big") < key.public.modulus
            if len(one.blinded) != SIGNATURE_BYTES or not small:
                raise Problem(
                    "malformed",
                    f"a blinded message must be {SIGNATURE_BYTES} bytes of a number below its key",
                )

    def _sign(self, credential: bytes, wanted: Sequence[BlindedToken]) -> list[bytes]:
        against = self.store.issue(self.collection.series, credential_digest(credential), wanted)
        if against is None:
            raise Problem(
                "not-admitted", "tokens are for those with an invitation that is known here"
            )
        if against:
            raise Problem(
                "not-admitted",
                f"an invitation gets each of its tokens once; of these, {len(against)} went to "
                f"another device",
                refused=list(against),
            )
        return [blind_sign(self._secrets[one.key][0], one.blinded) for one in wanted]

    async def is_healthy(self) -> bool:
        """Return whether the store takes writes, asked at most once a second."""
        return await self._store_health.takes_writes()


def __getattr__(name: str) -> object:
    if name == "Issuing":
        old_name("rumor.collector.issuing.Issuing", "IssuerService")
        return IssuerService
    raise AttributeError(name)
