"""The relay's schedule: release classes when they are due, and hand them to the gateway.

A class is released whole, in one commit, before anything of it is handed over: a relay that is
stopped meanwhile goes on with the very same envelopes, and never with a few that came since.
They go in the order of their bytes, a shuffle that needs no randomness.

Without turns a class is released once in a period. Where a contract has turns, a batch is of one
turn and goes at moments of its own (rumor.collector.relay.release_times), whatever the period is.
What is left of a turn that is over is dropped: the gateway would not take it.
"""

from __future__ import annotations

import datetime
import logging
import time
from collections.abc import Callable
from typing import ClassVar

from rumor.client.transport import Refused, Transport, Unreachable
from rumor.collector import clock
from rumor.collector.metrics import Metrics
from rumor.collector.periodic import PeriodicTask
from rumor.collector.relay.store import EnvelopeBatch, RelayStore
from rumor.contract.relay import DAYS_TO_DELIVER

# Handed over at a time: less than a request of a gateway may have (rumor.collector.http.limits),
# so that a slow gateway, or one that is restarted again and again, answers before anybody has
# waited too long. What it has answered for is not handed over again.
_MOST_ENVELOPES, _MOST_BYTES = 1_000, 4 << 20

_log = logging.getLogger("rumor.relay")


class Releaser(PeriodicTask):
    """The periodic task that releases due batches and delivers released envelopes."""

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
        """`every` is the period of classes without turns, `seconds` that of a look."""
        self._store, self._gateway, self._token = store, gateway, token
        self._metrics, self._every = metrics, every
        self._tidied: datetime.date | None = None
        self._trouble = ""
        super().__init__(seconds)

    def run_once(self, day: datetime.date) -> None:
        """Release and drop if it is time; then deliver what is released."""
        self._release(day)
        for over in self._store.drop_over(clock.now()):
            crowd = over.of.kind.crowd
            few = f"too few or too late when it was over (the contract waits for {crowd:,})"
            self._drop(over.waiting, over.of, few)
            self._drop(over.under_way, over.of, "not delivered before it was over")
        for late in self._store.drop_undelivered(day):
            days = late.of.kind.days + DAYS_TO_DELIVER
            self._drop(late.dropped, late.of, f"not delivered within {days} days")
        self._deliver(day)
        self._store.tidy(thorough=self._tidied != day)
        self._tidied = day

    def _release(self, day: datetime.date) -> None:
        last = self._store.last_release()
        found = self._store.release(clock.now(), self._every, day)
        if found is None and last is not None:
            _log.warning(
                "the schedule of releases starts anew: its period is %g s (it was %g s), or the "
                "clock went backwards",
                *(self._every, last.every),
            )
        for one in [*(found or []), *self._store.release_turns(clock.now())]:
            self._metrics.reports["released"] += one.released
            kind = one.of.kind
            why = f"not released within {kind.days} days (the contract waits for {kind.crowd:,})"
            self._drop(one.dropped, one.of, why)

    def _deliver(self, day: datetime.date) -> None:
        for batch in self._store.batches_under_way():
            kind = batch.kind
            most = max(1, min(_MOST_ENVELOPES, _MOST_BYTES // kind.size))
            try:
                while envelopes := self._store.under_way(batch, most):
                    self._gateway.hand_over(
                        kind.digest,
                        kind.question,
                        b"".join(envelopes),
                        len(envelopes),
                        self._token(),
                        batch.turn,
                    )
                    self._store.delivered(batch, envelopes, day)
                    self._metrics.reports["delivered"] += len(envelopes)
                    self._trouble = ""
            except Refused as refusal:
                # One whose turn is over there waits until it is over here, by our own clock.
                if refusal.type == "closed":
                    self._drop(self._store.give_up(batch), batch, "the collection is closed")
                else:
                    self._say(f"the gateway refuses envelopes, which wait: {refusal}")
            except Unreachable as problem:
                self._say(f"the gateway cannot be reached, and envelopes wait: {problem}")
                return

    def _drop(self, count: int, batch: EnvelopeBatch, why: str) -> None:
        if not count:
            return
        self._metrics.reports["dropped"] += count
        kind, turn = batch.kind, "" if batch.turn is None else f", turn {batch.turn}"
        _log.warning(
            "dropped %d envelopes of question %r (%s...%s): %s",
            *(count, kind.question, kind.digest[:16], turn, why),
        )

    def _say(self, trouble: str) -> None:
        """Log `trouble` once, not at every look."""
        if trouble != self._trouble:
            _log.warning("%s", trouble)
        self._trouble = trouble


class ReleaseWatch(PeriodicTask):
    """The periodic task that checks for overdue releases.

    One of the schedule, when the last is longer ago than its period, or a moment of a turn.
    """

    what: ClassVar[str] = "the schedule of releases could not be read"

    def __init__(self, store: RelayStore, grace: float, seconds: float = 5.0) -> None:
        """`grace` is how many seconds late a release may be, `seconds` the period of a look."""
        self._store, self._grace = store, grace
        self._late_since: float | None = None
        self.is_overdue = False
        super().__init__(seconds)

    def run_once(self, day: datetime.date) -> None:
        """Notice a release that is overdue, and say so once."""
        last, now = self._store.last_release(), clock.now()
        on_schedule = last is not None and last.time <= now < last.time + last.every
        if on_schedule and not self._store.is_turn_due(now):
            self._late_since, self.is_overdue = None, False
            return
        # Measured by a clock that nobody sets: the wall clock may have jumped a moment ago.
        if self._late_since is None:
            self._late_since = time.monotonic()
        if not self.is_overdue and time.monotonic() - self._late_since >= self._grace:
            self.is_overdue = True
            _log.error(
                "a release is overdue: none within %g s after it was due; envelopes wait",
                self._grace,
            )
