"""The relay's service, apart from HTTP: keep envelopes durably, release and hand them over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from rumor.client.transport import Transport
from rumor.collector.admission import accepted_turn
from rumor.collector.group_commit import Writer
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.problems import Problem
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import StoreHealth, WriterService
from rumor.collector.relay.release import Releaser, ReleaseWatch
from rumor.collector.relay.store import ArrivedEnvelope, EnvelopeBatch, QuestionQueue, RelayStore

OUTCOMES = ("kept", "repeated", "released", "delivered", "dropped")
_SECONDS_TO_TAKE = 120.0


@dataclass
class RelayService(WriterService):
    """A relay over one store: it takes envelopes and releases whole batches."""

    store: RelayStore
    gateway: str
    token: Callable[[], str]
    every: float = 86_400.0
    """The seconds between two releases of classes without turns."""
    look_seconds: float = 5.0
    limits: Limits = field(default_factory=Limits)
    overdue_seconds: float = 60.0
    """How late a release may be before the health check fails."""

    def __post_init__(self) -> None:
        self.metrics = Metrics(OUTCOMES, "envelopes")
        self.bucket = RateLimiter(self.limits.requests_per_second)
        self._gateway = Transport(self.gateway, _SECONDS_TO_TAKE)
        self._classes = {(kind.digest, kind.question): kind for kind in self.store.classes()}
        self._writer: Writer[ArrivedEnvelope, bool] | None = None
        self._store_health = StoreHealth(self.store)
        self._watch: ReleaseWatch | None = None

    def app(self) -> ASGIApp:
        """Return the ASGI application of the relay."""
        from rumor.collector.relay.app import make_relay

        return make_relay(self)

    async def start(self) -> None:
        """Begin to take envelopes."""
        self._writer = Writer(self.store.keep, self.metrics, self.limits.waiting_reports)
        self._task = Releaser(
            self.store, self._gateway, self.token, self.metrics, self.every, self.look_seconds
        )
        # In a thread of its own: one that waits for a gateway would not notice its own delay.
        self._watch = ReleaseWatch(self.store, self.overdue_seconds, self.look_seconds)

    async def stop(self) -> None:
        """Stop the watch and the releases, write what is waiting, and let go."""
        if self._watch is not None:
            await asyncio.to_thread(self._watch.stop)
        await super().stop()

    def kind(self, digest: str, question: str) -> QuestionQueue:
        """Return the class of envelopes with this `digest` and `question`."""
        found = self._classes.get((digest, question))
        if found is None:
            raise Problem(
                "not-found",
                "an envelope must be of a collection and a question that this relay serves; it "
                "does not know these",
            )
        return found

    def batch(self, kind: QuestionQueue, turn: str | None) -> EnvelopeBatch:
        """Return the batch of a class and the `turn` that a sender names, or refuse the turn."""
        return EnvelopeBatch(kind, accepted_turn(kind.turn_hours, turn))

    async def take(self, batch: EnvelopeBatch, sealed: bytes) -> None:
        """Make an envelope durable; whether it was there before nobody is told."""
        assert self._writer is not None
        kind = batch.kind
        if len(sealed) != kind.size:
            raise Problem(
                "malformed",
                f"an envelope of question {kind.question!r} must have {kind.size} bytes; "
                f"got {len(sealed)}",
            )
        (new,) = await self._writer.submit(ArrivedEnvelope(kind.number, sealed, batch.turn))
        self.metrics.reports["kept" if new else "repeated"] += 1

    async def is_healthy(self) -> bool:
        """Return whether envelopes can be kept now, asked at most once a second."""
        if self._watch is not None and self._watch.is_overdue:
            raise Problem("unavailable", "releases must keep to their schedule; one is overdue")
        return await self._store_health.takes_writes()
