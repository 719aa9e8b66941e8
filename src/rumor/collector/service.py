"""The collector's service, apart from HTTP: it knows contracts, takes reports, gives estimates."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import math
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.types import ASGIApp

from rumor.collector.admission import accepted_turn, admission_of
from rumor.collector.gateway import Gateway
from rumor.collector.group_commit import Writer
from rumor.collector.http.limits import Limits, RateLimiter
from rumor.collector.http.problems import Problem, unavailable
from rumor.collector.metrics import Metrics
from rumor.collector.next_round import chain
from rumor.collector.overview import overview
from rumor.collector.periodic import StoreHealth, StoreMaintenance, WriterService
from rumor.collector.store.base import (
    BatchAccepted,
    CollectionClosed,
    CollectionUnknown,
    EarlyWithdrawalsRefused,
    IdConflict,
    Outcome,
    ReportBatch,
    Store,
    StoreDamagedError,
    StoredCollection,
    StoreUnavailableError,
    Strata,
    TokenRefused,
    stored_name,
)
from rumor.collector.tokens import Tokens
from rumor.contract.collection import Collection, Question
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.groups import LEAST_SHOWN, read_groups
from rumor.core.errors import InputError, format_value
from rumor.core.reports import Reports
from rumor.core.types import Days
from rumor.results.view import View

if TYPE_CHECKING:
    from rumor.collector.estimating import KeptEstimates

# Whether a collection was closed or revised is asked of the store at most this often.
_FRESH_SECONDS = 1.0
_ILL_SECONDS = 5.0
_LATER = {"Retry-After": "60"}
_MUCH_LATER = {"Retry-After": "3600"}
_NO_LIMIT = sys.maxsize
# How many of the newest reports the test for crafted ones looks at.
_TESTED = 20_000


@dataclass(frozen=True)
class EstimateQuery:
    """An analyst's request for an estimate."""

    question: str
    collection: str | None = None
    method: str = "auto"
    view: View = field(default_factory=View)
    window: Days = (None, None)
    format: str = "json"
    groups: Sequence[str] = ()
    """Groups that the respondents are in, each NAME=GROUP; none for everybody."""
    find: str | None = None
    """The text that the values of the rows contain; None for all values."""


@dataclass
class Service(WriterService):
    """One series of collections over one store."""

    store: Store
    series: str
    tokens: Tokens | None = None
    dictionary: Sequence[str] | None = None
    limits: Limits = field(default_factory=Limits)
    summarize_seconds: float = 10.0
    gateway: Gateway | None = None

    def __post_init__(self) -> None:
        self.metrics = Metrics()
        self.bucket = RateLimiter(self.limits.requests_per_second)
        self.withdrawals = RateLimiter(self.limits.withdrawals_per_second)
        self._early = RateLimiter(
            self.limits.early_withdrawals_per_second, burst=self.limits.early_withdrawals_at_once
        )
        self._entries: dict[str, StoredCollection] = {}
        self._current: StoredCollection | None = None
        self._checked = -math.inf
        self._trouble: StoreUnavailableError | None = None
        self._store_health = StoreHealth(self.store)
        self._writer: Writer[ReportBatch, Outcome] | None = None
        self._estimating = asyncio.Lock()
        self._estimates: KeptEstimates | None = None
        self._tested: dict[tuple[str, str], tuple[bytes, Mapping[str, Any]]] = {}
        self._looking = asyncio.Lock()
        self._withdrawing = asyncio.Lock()

    def app(self) -> ASGIApp:
        """Return the ASGI application of the collector."""
        from rumor.collector.http.app import make_app

        return make_app(self)

    async def start(self) -> None:
        """Begin to take reports."""
        await asyncio.to_thread(self._warm_up)
        await self._refresh()
        self._writer = Writer(self.store.write, self.metrics, self.limits.waiting_reports)
        self._task = StoreMaintenance(self.store, self.summarize_seconds)
        # Analysts wait less for their first answer; reports do not wait for this.
        threading.Thread(target=_load_estimators, name="rumor-loader", daemon=True).start()

    def _warm_up(self) -> None:
        """Load and compile what the first report would otherwise wait for."""
        for entry in self.store.collections():
            for question in entry.collection.questions:
                mechanism = question.mechanism
                rows = np.zeros((1, mechanism.width), dtype=np.uint8)
                if mechanism.validate(rows).all:
                    mechanism.tally(rows)

    # Contracts

    async def _refresh(self) -> None:
        try:
            known = await asyncio.to_thread(self.store.collections)
        except StoreUnavailableError as trouble:
            self._trouble = trouble
            if not self._entries:
                raise
            return  # what was known a moment ago still serves
        self._trouble = None
        mine = [entry for entry in known if entry.collection.series == self.series]
        self._entries = {entry.collection.digest: entry for entry in mine}
        self._current = next((entry for entry in mine if entry.current), None)
        self._checked = time.monotonic()

    async def _fresh(self) -> None:
        """Look again after a second, or at once where the last look failed."""
        if self._trouble is not None or time.monotonic() - self._checked > _FRESH_SECONDS:
            self._checked = time.monotonic()
            await self._refresh()

    async def current(self) -> StoredCollection:
        """Return the newest contract of the series."""
        await self._fresh()
        if self._current is None:
            raise Problem(
                "unknown-collection",
                f"a collector must know a collection of series {self.series!r}; this one does "
                f"not just now, try again later",
                headers=_LATER,
            )
        return self._current

    async def entry(self, digest: str) -> StoredCollection:
        """Return the contract that a sender names for its reports."""
        entry = self._entries.get(digest)
        if entry is None:
            await self._fresh()
            entry = self._entries.get(digest)
        if entry is None:
            raise self._unknown(digest)
        return entry

    def _unknown(self, digest: str) -> Problem | StoreUnavailableError:
        """Return the refusal of a collection that is not in the store now.

        It may be put back, so devices are not told to give up. If the store could not be read,
        the refusal is the store's.
        """
        if self._trouble is not None:
            return self._trouble
        return Problem(
            "unknown-collection",
            "the header Rumor-Collection must be the digest of a contract that this collector "
            f"knows; it does not know {format_value(digest)} just now, keep the reports and try "
            "later",
            headers=_LATER,
            current=None if self._current is None else self._current.collection.digest,
        )

    def question(self, collection: Collection, id: str) -> Question:
        """Return a question of a contract."""
        for question in collection.questions:
            if question.id == id:
                return question
        ids = ", ".join(question.id for question in collection.questions)
        raise Problem("not-found", f"a question must be one of {ids}; got another name")

    # Reports

    async def take(
        self,
        entry: StoredCollection,
        question: Question,
        rows: Reports,
        token: str = "",
        stratum: int | None = None,
    ) -> BatchAccepted:
        """Make reports durable; all of them, or none with a problem that says why.

        `stratum` is the groups of all `rows`, where the contract has groups.
        """
        if entry.collection.relay is not None:
            raise Problem(
                "forbidden",
                f"reports of {entry.collection.name!r} come through its relay; got one directly",
            )
        key = admission_of(entry.collection, question, rows, token)
        name = stored_name(question.id, stratum)
        batch = ReportBatch(entry.questions[name], rows, key)
        entry, (outcome,) = await self._written(entry, name, [batch])
        counts = self.metrics.reports
        if isinstance(outcome, BatchAccepted):
            counts["accepted"] += outcome.new
            counts["duplicate"] += outcome.duplicates
            return outcome
        counts["refused"] += len(rows)
        if isinstance(outcome, IdConflict):
            raise Problem(
                "id-conflict",
                f"a report's id must not have been used with other bytes; got "
                f"{len(outcome.indices)} such reports, the first at index {outcome.indices[0]}, "
                f"and took none of this body",
                refused=list(outcome.indices),
            )
        if isinstance(outcome, TokenRefused):
            raise Problem(
                "not-admitted",
                "a report must come with the token of an invitation that is known here and not "
                "used yet; this one does not",
            )
        raise self._shut(entry, outcome)

    async def _written(
        self, entry: StoredCollection, name: str, batches: Sequence[ReportBatch]
    ) -> tuple[StoredCollection, list[Outcome]]:
        """Write `batches` under a stored name in one commit; return collection and outcomes."""
        assert self._writer is not None
        outcomes = await self._writer.submit(*batches)
        if any(isinstance(outcome, CollectionUnknown) for outcome in outcomes):
            # Deleted; and perhaps put back since, under other numbers.
            entry = await self._again(entry)
            number = entry.questions[name]
            again = [replace(batch, question=number) for batch in batches]
            outcomes = await self._writer.submit(*again)
        return entry, outcomes

    def _shut(self, entry: StoredCollection, outcome: Outcome) -> Problem | StoreUnavailableError:
        """Return why a collection takes nothing."""
        if isinstance(outcome, CollectionUnknown):
            return self._unknown(entry.collection.digest)
        assert isinstance(outcome, CollectionClosed)
        return Problem(
            "closed",
            f"the collection must be open to take reports; {entry.collection.name!r} is closed",
        )

    async def reached(self) -> list[str]:
        """Return the origins that devices also connect to: issuers and relays of the series."""
        with suppress(StoreUnavailableError):
            await self._fresh()
        known = [entry.collection for entry in self._entries.values()]
        named = [other for each in known for other in (each.issuer, each.relay)]
        return sorted({other.origin for other in named if other is not None})

    async def asked(self) -> Collection | None:
        """Return the collection that the answer page asks; None if there is none."""
        with suppress(StoreUnavailableError, Problem):
            return (await self.current()).collection
        return None

    def turn_of(self, collection: Collection, named: str | None) -> int | None:
        """Return the turn that a relay's batch names, or refuse it."""
        relay = collection.relay
        return accepted_turn(None if relay is None else relay.turn_hours, named)

    async def take_batch(
        self, entry: StoredCollection, question: Question, envelopes: bytes, turn: int | None = None
    ) -> int:
        """Make durable what is good of a relay's envelopes, in one commit; how many there were."""
        assert self.gateway is not None
        self.gateway.key_of(entry.collection)
        size, limits = EnvelopeFormat.of(entry.collection, question).size, self.limits
        count, rest = divmod(len(envelopes), size)
        if rest or not 1 <= count <= limits.batch_envelopes:
            raise Problem(
                "malformed",
                f"a batch for question {question.id!r} must be 1 to {limits.batch_envelopes:,} "
                f"whole envelopes of {size} bytes; got {len(envelopes):,} bytes",
            )
        batches, bad = await asyncio.to_thread(
            self.gateway.open_envelopes, entry, question, envelopes, turn
        )
        counts = self.metrics.reports
        if batches:
            entry, outcomes = await self._written(entry, stored_name(question.id), batches)
            for outcome in outcomes:
                if isinstance(outcome, BatchAccepted):
                    counts["accepted"] += outcome.new
                    counts["duplicate"] += outcome.duplicates
                elif isinstance(outcome, (IdConflict, TokenRefused)):
                    bad += 1
                else:
                    raise self._shut(entry, outcome)
        counts["dropped"] += bad
        return count

    async def _again(self, entry: StoredCollection) -> StoredCollection:
        """Return a collection that was deleted and restored since, as the store has it now."""
        await self._refresh()
        digest = entry.collection.digest
        found = self._entries.get(digest)
        if found is None or found.number == entry.number:
            raise self._unknown(digest)
        return found

    async def withdraw(
        self, entry: StoredCollection, question: Question, ids: Reports, token: str = ""
    ) -> int:
        """Delete reports from store and counts; how many were there.

        `token` is the signed token of a report that may not have arrived yet, in hexadecimal.
        """
        most, charge = self.limits.early_withdrawals, self._early.take_all
        is_blind = entry.collection.issuer is not None
        if is_blind and entry.collection.relay is not None:
            # Whoever shows a token keeps one row of those that the issuer has signed; nobody else.
            signed = token and admission_of(entry.collection, question, ids, token) is None
            most = _NO_LIMIT if signed else 0
            charge = _uncharged
        async with self._withdrawing:
            try:
                found = await self._withdrawn(entry, question, ids, most, charge)
                if isinstance(found, CollectionUnknown):
                    entry = await self._again(entry)
                    found = await self._withdrawn(entry, question, ids, most, charge)
            except StoreUnavailableError:
                raise unavailable("the store cannot be written to just now; try again") from None
        if isinstance(found, CollectionUnknown):
            raise self._unknown(entry.collection.digest)
        self.metrics.reports["withdrawn"] += (
            found.withdrawn if isinstance(found, EarlyWithdrawalsRefused) else found
        )
        if isinstance(found, EarlyWithdrawalsRefused):
            raise _no_early(found, most, self.limits.early_withdrawals_per_second)
        return found

    async def _withdrawn(
        self,
        entry: StoredCollection,
        question: Question,
        ids: Reports,
        most: int,
        charge: Callable[[int], float],
    ) -> int | CollectionUnknown | EarlyWithdrawalsRefused:
        work = functools.partial(
            self.store.withdraw, entry, question.id, ids, most_early=most, charge=charge
        )
        return await asyncio.to_thread(work)

    # Estimates

    async def estimate(self, query: EstimateQuery) -> Mapping[str, Any]:
        """Return the estimate of a question as plain data; everything stored so far counts."""

        def made(result: Any, question: Question) -> Mapping[str, Any]:
            from rumor.collector.estimating import as_data

            return as_data(result, query)

        return await self._asked(query, made)

    async def estimate_file(self, query: EstimateQuery) -> bytes:
        """Return the estimate as a file of the format in `query`."""

        def made(result: Any, question: Question) -> Mapping[str, Any]:
            from rumor.collector.estimating import as_file

            return {"file": as_file(result, query, question.text or question.id)}

        file: bytes = (await self._asked(query, made))["file"]
        return file

    async def _asked(
        self, query: EstimateQuery, shape: Callable[[Any, Question], Mapping[str, Any]]
    ) -> Mapping[str, Any]:
        async with self._estimating:
            await self._refresh()
            entry = await self._named(query.collection)
            question = self.question(entry.collection, query.question)
            planned = replace(query, view=replace(query.view, users=entry.users))
            return await _analysed(self._estimate, entry, question, planned, shape)

    async def _named(self, wanted: str | None) -> StoredCollection:
        """Return the collection whose digest begins so; the newest where none is wanted."""
        if wanted is None:
            return await self.current()
        for digest, entry in self._entries.items():
            if wanted and digest.startswith(wanted):
                return entry
        raise Problem(
            "not-found",
            f"a collection must be named by a digest of series {self.series!r}; "
            f"got {format_value(wanted)}",
        )

    def _estimate(
        self,
        entry: StoredCollection,
        question: Question,
        query: EstimateQuery,
        shape: Callable[[Any, Question], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        from rumor.collector.estimating import KeptEstimates

        if self._estimates is None:
            self._estimates = KeptEstimates()
        self.store.summarize()
        strata = _strata(entry, query.groups)
        summary = self.store.summary(entry, question.id, query.window, strata)
        _check_size(summary.reports, query.groups)
        if summary.reports == 0:
            raise Problem(
                "no-reports",
                f"an estimate needs at least one report; question {question.id!r} has none yet",
            )
        rounds = chain(self.store, entry, question.id, query.window)
        result = self._estimates.estimate(question, summary, query.method, self.dictionary, rounds)
        return {
            "collection": entry.collection.digest,
            "question": question.id,
            **shape(result, question),
        }

    async def overview(self, collection: str | None) -> Mapping[str, Any]:
        """Return the collections of the series, and one's questions with their reports by day."""

        def seen(entry: StoredCollection) -> Mapping[str, Any]:
            self.store.summarize()
            with self.store.snapshot() as moment:
                return overview(moment, entry, list(self._entries.values()))

        async with self._looking:
            await self._refresh()
            return await _analysed(seen, await self._named(collection))

    async def comparison(
        self,
        question: str,
        collection: str | None,
        periods: Sequence[str],
        different_people: bool,
        view: View,
        groups: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Return the comparison of two `periods` of days, each written FIRST..LAST, in `groups`."""

        def compared(entry: StoredCollection, asked: Question) -> Mapping[str, Any]:
            from rumor.analysis.compare.method import period_name, read_period
            from rumor.collector.estimating import comparison_data

            windows = [read_period(text) for text in periods]
            strata = _strata(entry, groups)
            found = {
                period_name(w): self.store.summary(entry, asked.id, w, strata) for w in windows
            }
            for summary in found.values():
                _check_size(summary.reports, groups)
            planned = replace(view, users=entry.users)
            return comparison_data(asked, found, different_people, self.dictionary, planned)

        return await self._looked(question, collection, compared)

    async def trend(
        self,
        question: str,
        collection: str | None,
        every: str,
        different_people: bool,
        groups: Sequence[str] = (),
    ) -> Mapping[str, Any]:
        """Return the trend of a question in `groups`, by days or weeks, as plain data."""

        def followed(entry: StoredCollection, asked: Question) -> Mapping[str, Any]:
            from rumor.collector.estimating import trend_data

            strata = _strata(entry, groups)
            with self.store.snapshot() as seen:
                _, days = seen.day_summaries(entry, asked.id, strata)
                spans = seen.spans(entry, asked.id, strata)
            _check_size(sum(summary.reports for summary in days.values()), groups)
            return trend_data(asked, days, every, different_people, self.dictionary, spans)

        return await self._looked(question, collection, followed)

    async def _looked(
        self,
        question: str,
        collection: str | None,
        work: Callable[[StoredCollection, Question], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return `work` applied to a question once all stored reports are counted."""

        def made(entry: StoredCollection, asked: Question) -> Mapping[str, Any]:
            self.store.summarize()
            told = {"collection": entry.collection.digest, "question": asked.id}
            return {**told, **work(entry, asked)}

        async with self._estimating:
            await self._refresh()
            entry = await self._named(collection)
            return await _analysed(made, entry, self.question(entry.collection, question))

    async def integrity(self, question: str, collection: str | None) -> Mapping[str, Any]:
        """Return whether the newest reports of a question look crafted."""
        async with self._estimating:
            await self._refresh()
            entry = await self._named(collection)
            asked = self.question(entry.collection, question)

            def tested() -> Mapping[str, Any]:
                from rumor.collector.estimating import integrity

                told = {"collection": entry.collection.digest, "question": asked.id}
                reports = self.store.newest_reports(entry, asked.id, _TESTED)
                # The same reports give the same figure, and every analyst asks for it.
                seen = hashlib.sha256(reports.tobytes()).digest()
                known = self._tested.get((entry.collection.digest, asked.id))
                if known is None or known[0] != seen:
                    known = seen, integrity(asked.mechanism, reports)
                    self._tested[entry.collection.digest, asked.id] = known
                return {**told, **known[1]}

            return await _analysed(tested)

    # Health

    async def is_healthy(self) -> bool:
        """Return whether the store takes writes, asked at most once a second.

        A small write may pass where reports just failed (a disk that is nearly full): that
        counts as ill for a while.
        """
        return (
            await self._store_health.takes_writes()
            and time.monotonic() - self.metrics.failed_at > _ILL_SECONDS
        )


def _strata(entry: StoredCollection, groups: Sequence[str]) -> Strata:
    """Return the strata in `groups`, each written NAME=GROUP; None for everybody."""
    known = entry.collection.groups
    if not groups:
        return None
    if known is None:
        raise InputError(f"{entry.collection.name!r} has no groups; got {', '.join(groups)}")
    return known.strata_in(read_groups(groups))


def _check_size(reports: int, groups: Sequence[str]) -> None:
    """Refuse to show a group of few reports, in which people could be told apart."""
    if groups and reports < LEAST_SHOWN:
        raise Problem(
            "no-reports",
            f"a group is shown from {LEAST_SHOWN} reports on, since people hide in it; "
            f"{', '.join(groups)} has {reports}",
        )


def _uncharged(count: int) -> float:
    return 0.0


def _no_early(found: EarlyWithdrawalsRefused, most: int, per_second: float) -> Problem:
    """Say why withdrawals of reports that have not arrived are not kept."""
    if most == 0:
        return Problem(
            "not-admitted",
            f"the withdrawal of a report that has not arrived yet needs its token, in the header "
            f"Rumor-Token, and a request of its own; got {found.missing} without, try again when "
            f"they have arrived",
        )
    if found.seconds > 0:
        return Problem(
            "rate",
            f"at most {per_second:g} withdrawals a second of reports that have not arrived yet are "
            f"taken; got {found.missing}, try again later",
            headers={"Retry-After": str(math.ceil(found.seconds))},
        )
    return Problem(
        "rate",
        f"a collection keeps at most {most:,} withdrawals of reports that have not arrived yet; "
        f"there is no room for {found.missing} more, try again later",
        headers=_MUCH_LATER,
    )


async def _analysed(
    work: Callable[..., Mapping[str, Any]], *arguments: object
) -> Mapping[str, Any]:
    """Do an analyst's work in a thread; what goes wrong becomes a problem."""
    try:
        return await asyncio.to_thread(work, *arguments)
    except StoreDamagedError:
        raise unavailable("the store is damaged; the collector's log says more") from None
    except StoreUnavailableError:
        raise unavailable("the store cannot be read just now; try again") from None
    except InputError as problem:
        raise Problem("invalid-query", str(problem)) from None


def _load_estimators() -> None:
    importlib.import_module("rumor.collector.estimating")
