"""What a relay does by itself: release classes on a schedule, and hand them to the gateway.

A class is released whole, in one commit, before anything of it is handed over: a relay that is
stopped meanwhile goes on with the very same envelopes, and never with a few that came since.
They go in the order of their bytes, a shuffle that needs no randomness.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable

from rumor.client.transport import Refused, Transport, Unreachable
from rumor.collector.metrics import Metrics
from rumor.collector.relay.store import Class, RelayStore
from rumor.collector.turns import Turns

# Handed over at a time: less than a request of a gateway may have (rumor.collector.http.limits),
# so that a slow gateway, or one that is restarted again and again, answers before anybody has
# waited too long. What it has answered for is not handed over again.
_MOST_ENVELOPES, _MOST_BYTES = 1_000, 4 << 20

_log = logging.getLogger("rumor.relay")


class Releaser(Turns):
    """Looks every few seconds whether a turn of the schedule has come, and what is under way."""

    what = "envelopes could not be passed on"

    def __init__(
        self,
        store: RelayStore,
        gateway: Transport,
        token: Callable[[], str],
        metrics: Metrics,
        every: float,
        seconds: float = 5.0,
    ) -> None:
        """`every` is the length of the schedule's turns, `seconds` that of a look."""
        self._store, self._gateway, self._token = store, gateway, token
        self._metrics, self._every = metrics, every
        self._tidied: datetime.date | None = None
        self._trouble = ""
        super().__init__(seconds)

    def turn(self, day: datetime.date) -> None:
        """Release and drop if it is time; then deliver what is released."""
        for turned in self._store.turn(int(time.time() // self._every), day):
            self._metrics.reports["released"] += turned.released
            if turned.dropped:
                kind = turned.of
                self._drop(
                    turned.dropped,
                    kind,
                    f"too few for {kind.days} days (the contract waits for {kind.crowd:,})",
                )
        self._deliver(day)
        self._store.tidy(thorough=self._tidied != day)
        self._tidied = day

    def _deliver(self, day: datetime.date) -> None:
        for kind in self._store.classes():
            most = max(1, min(_MOST_ENVELOPES, _MOST_BYTES // kind.size))
            try:
                while envelopes := self._store.under_way(kind, most):
                    self._gateway.hand_over(
                        kind.digest,
                        kind.question,
                        b"".join(envelopes),
                        len(envelopes),
                        self._token(),
                    )
                    self._store.delivered(kind, envelopes, day)
                    self._metrics.reports["delivered"] += len(envelopes)
                    self._trouble = ""
            except Refused as refusal:
                if refusal.type == "closed":
                    self._drop(self._store.give_up(kind), kind, "the collection is closed")
                else:
                    self._say(f"the gateway refuses envelopes, which wait: {refusal}")
            except Unreachable as problem:
                self._say(f"the gateway cannot be reached, and envelopes wait: {problem}")
                return

    def _drop(self, count: int, kind: Class, why: str) -> None:
        self._metrics.reports["dropped"] += count
        _log.warning(
            "dropped %d envelopes of question %r (%s...): %s",
            *(count, kind.question, kind.digest[:16], why),
        )

    def _say(self, trouble: str) -> None:
        """Once, not at every look."""
        if trouble != self._trouble:
            _log.warning("%s", trouble)
        self._trouble = trouble
