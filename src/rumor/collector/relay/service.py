"""What a relay does, apart from HTTP: keep envelopes durably, release and hand them over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from rumor.client.transport import Transport
from rumor.collector.group_commit import Writer
from rumor.collector.http.limits import Bucket, Limits
from rumor.collector.http.problems import Problem
from rumor.collector.metrics import Metrics
from rumor.collector.pulse import Pulse
from rumor.collector.relay.release import Releaser
from rumor.collector.relay.store import Arrived, Class, RelayStore
from rumor.collector.running import Running

OUTCOMES = ("kept", "repeated", "released", "delivered", "dropped")
_SECONDS_TO_TAKE = 120.0


@dataclass
class RelayService(Running):
    """Envelopes in, whole classes of them out."""

    store: RelayStore
    gateway: str
    token: Callable[[], str]
    every: float = 86_400.0
    """The seconds between two turns of the schedule."""
    look_seconds: float = 5.0
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        self.metrics = Metrics(OUTCOMES, "envelopes")
        self.bucket = Bucket(self.limits.requests_per_second)
        self._gateway = Transport(self.gateway, _SECONDS_TO_TAKE)
        self._classes = {(kind.digest, kind.question): kind for kind in self.store.classes()}
        self._writer: Writer[Arrived, bool] | None = None
        self._pulse = Pulse(self.store)

    def app(self) -> ASGIApp:
        """Its HTTP face."""
        from rumor.collector.relay.app import make_relay

        return make_relay(self)

    async def start(self) -> None:
        """Begin to take envelopes."""
        self._writer = Writer(self.store.keep, self.metrics, self.limits.waiting_reports)
        self._turns = Releaser(
            self.store, self._gateway, self.token, self.metrics, self.every, self.look_seconds
        )

    def kind(self, digest: str, question: str) -> Class:
        """The class that an envelope is said to be of."""
        found = self._classes.get((digest, question))
        if found is None:
            raise Problem(
                "not-found",
                "an envelope must be of a collection and a question that this relay serves; it "
                "does not know these",
            )
        return found

    async def take(self, kind: Class, sealed: bytes) -> None:
        """Make an envelope durable; whether it was there before nobody is told."""
        assert self._writer is not None
        if len(sealed) != kind.size:
            raise Problem(
                "malformed",
                f"an envelope of question {kind.question!r} must have {kind.size} bytes; "
                f"got {len(sealed)}",
            )
        (new,) = await self._writer.submit(Arrived(kind.number, sealed))
        self.metrics.reports["kept" if new else "repeated"] += 1

    async def healthy(self) -> bool:
        """Whether envelopes can be kept now, asked at most once a second."""
        return await self._pulse.well()
