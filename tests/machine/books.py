"""What must be in a store, kept beside it: the account that has to balance after every step.

The books know of each report whether somebody was told that it is safe, and follow it from
there: it is present with its bytes, once; or it went by a rule (its days were over, its
collection was deleted, its sender took it back). Nothing is in the store that nobody sent,
and the counts are those of the reports.
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rumor.collector.store.base import ID_BYTES, DroppedReports, Store, StoredCollection
from rumor.contract.collection import Collection
from rumor.contract.deletion import LEAST_KEPT
from rumor.contract.issuing import admitted_id, key_name
from rumor.core.blind_rsa import EXPONENT
from rumor.mechanisms.summary import Summary
from tests.machine.contracts import (
    KEYS,
    QUESTIONS,
    RELAYED,
    SERIES,
    contracts,
    takes_tokens,
    width,
)
from tests.machine.front import Asked, Exchange, TakenBack

Row = tuple[bytes, datetime.date]
"""A report and its day."""


@dataclass(frozen=True)
class Seen:
    """A question as a store shows it."""

    present: Mapping[bytes, Row]
    counted: frozenset[bytes]
    """Those of the present that the summaries hold."""
    spent: frozenset[bytes]
    days: Mapping[datetime.date, Summary]
    spans: Mapping[datetime.date, datetime.date]
    dropped: DroppedReports | None

    def held_by(self, day: datetime.date) -> datetime.date | None:
        """The first day of the summary that a day's reports are in."""
        if day in self.days:
            return day
        found = (first for first, last in self.spans.items() if first <= day <= last)
        return next(found, None)


@dataclass(frozen=True)
class Shown:
    """A collection as a store shows it."""

    open: bool
    questions: Mapping[str, Seen]


@dataclass
class Kept:
    """A question in the books: what is present, and what was counted and then deleted."""

    present: dict[bytes, Row] = field(default_factory=dict)
    spent: dict[bytes, Row] = field(default_factory=dict)
    doubtful: frozenset[bytes] = frozenset()
    """Of a backup: what was withdrawn while it was made, and may be in it or not."""
    dropped: int = 0
    """How many of those that were deleted are in no count any more."""


@dataclass
class Held:
    """A collection in the books."""

    open: bool = True
    questions: dict[str, Kept] = field(default_factory=lambda: {id: Kept() for id in QUESTIONS})

    def copy(self, doubtful: frozenset[bytes] = frozenset()) -> Held:
        """The same, where of some reports it is not certain that they are there."""
        return Held(
            self.open,
            {
                id: Kept(dict(kept.present), dict(kept.spent), kept.doubtful | doubtful)
                for id, kept in self.questions.items()
            },
        )


@dataclass
class Step:
    """What a step may have done, beyond taking reports."""

    deleted: str | None = None
    registered: str | None = None
    restored: tuple[str, Held] | None = None
    opened: tuple[str, bool] | None = None
    """A collection that was opened (True) or closed (False)."""
    invited: int = 0
    """Reports that were admitted."""
    outcome: str = "done"
    """"done": all of it happened; "refused": nothing did; "killed": either, and never half."""
    withdrawn: frozenset[bytes] = frozenset()
    """What was taken back, as far as anybody knows: the checker fills this in."""
    surely: frozenset[bytes] = frozenset()
    """That part of it whose sender was told so."""


def observe(store: Store) -> dict[str, Shown]:
    """Everything that a store holds, by digest."""
    return {
        entry.collection.digest: Shown(
            entry.open, {id: look(store, entry, id) for id in entry.questions}
        )
        for entry in store.collections()
    }


def look(store: Store, entry: StoredCollection, question: str) -> Seen:
    """A question as a store shows it now."""
    with store.snapshot() as seen:
        mark, days = seen.day_summaries(entry, question)
        counted = frozenset(
            id.tobytes() for part in seen.reports(entry, question, mark) for id in part.ids
        )
        present: dict[bytes, Row] = {}
        for part in seen.reports(entry, question):
            for id, report in zip(part.ids, part.reports, strict=True):
                assert id.tobytes() not in present, "a report is present twice"
                present[id.tobytes()] = (report.tobytes(), part.day)
        spent = frozenset(id.tobytes() for ids in seen.spent_ids(entry, question) for id in ids)
        spans, dropped = seen.spans(entry, question), seen.dropped_reports(entry, question)
    return Seen(present, counted, spent, days, spans, dropped)


def records(exchange: Exchange) -> list[tuple[bytes, bytes]]:
    """The ids and reports of a body."""
    size = ID_BYTES + width(exchange.question)
    rows = [exchange.body[at : at + size] for at in range(0, len(exchange.body), size)]
    return [(row[:ID_BYTES], row[ID_BYTES:]) for row in rows]


@dataclass
class Books:
    """The account of one store."""

    held: dict[str, Held] = field(default_factory=dict)
    sent: dict[tuple[str, str, bytes], set[bytes]] = field(default_factory=dict)
    """All bytes that were ever sent under an id, by digest and question."""
    withdrawn: set[bytes] = field(default_factory=set)
    admitted: int = 0
    """How many tokens are left."""
    acknowledged: int = 0
    signed: dict[tuple[str, str, int], str] = field(default_factory=dict)
    """What the issuer signed for a person, by key and number."""
    at_relay: set[tuple[str, bytes]] = field(default_factory=set)
    """What a relay has acknowledged and the store does not hold yet, by question."""
    tokens: dict[bytes, str] = field(default_factory=dict)
    """Ids of reports under tokens of the issuer, and the contract that took each."""
    done_with: set[tuple[str, bytes]] = field(default_factory=set)
    """What came from a relay, or need not come: its collection was closed or gone meanwhile."""

    def check_issuer(self, asked: list[Asked]) -> None:
        """For a number of a person one message is ever signed, and rightly."""
        keys = {key_name(key.public): key.public for key in KEYS.secrets.values()}
        for each in asked:
            for token, signature in zip(each.tokens, each.signatures, strict=True):
                place = (each.credential, token["key"], token["number"])
                first = self.signed.setdefault(place, token["blinded"])
                assert first == token["blinded"], "an invitation got two tokens for one"
                key = keys[base64.b64decode(token["key"])]
                number = int.from_bytes(base64.b64decode(signature), "big")
                raised = pow(number, EXPONENT, key.modulus).to_bytes(key.size, "big")
                assert raised == base64.b64decode(token["blinded"]), "a signature is wrong"

    def _check_tokens(self, minutes: list[Exchange]) -> None:
        """What the blind contracts took came with a token of the issuer, which names it."""
        for contract in filter(takes_tokens, contracts()):
            for each in minutes:
                if each.digest == contract.digest and each.status == 200:
                    shown = bytes.fromhex(each.token)
                    assert contract.issuer is not None
                    found = admitted_id(contract.issuer, each.question, shown[:64], shown[64:])
                    ids = [id for id, _ in records(each)]
                    assert [found] == ids, "a token admitted another report"

    def _check_spent(self, held: Mapping[str, Held]) -> None:
        """A token admits to one contract, as long as any that takes it is open."""
        mine = [each.digest for each in contracts() if takes_tokens(each) and each.digest in held]
        if not any(held[digest].open for digest in mine):
            self.tokens = {}
        for digest in mine:
            for kept in held[digest].questions.values():
                for id in kept.present:
                    first = self.tokens.setdefault(id, digest)
                    assert first == digest, "a token was spent twice"

    def check(
        self,
        store: Store,
        minutes: list[Exchange],
        taken_back: list[TakenBack],
        step: Step,
        today: datetime.date,
    ) -> None:
        """Balance the account after a step, or raise what is wrong."""
        step.withdrawn = frozenset().union(*(each.ids for each in taken_back))
        told = (each.ids for each in taken_back if each.status == 200)
        step.surely = frozenset().union(*told)
        for exchange in minutes:
            for id, report in records(exchange):
                key = (exchange.digest, exchange.question, id)
                self.sent.setdefault(key, set()).add(report)
        try:
            held = self._balanced(observe(store), minutes, step, today)
        except AssertionError:
            # The housekeeper of a collector may have worked between two looks at the store.
            held = self._balanced(observe(store), minutes, step, today)
        self._check_admissions(store, held, minutes, step)
        self._check_refusals(held, minutes)
        self._check_tokens(minutes)
        self._check_spent(held)
        self._check_relay(held, minutes, step)
        self.held = held
        self.withdrawn |= step.withdrawn
        heard = (each for each in minutes if each.status in (200, 202))
        self.acknowledged += sum(len(records(each)) for each in heard)

    def _check_relay(self, held: Mapping[str, Held], minutes: list[Exchange], step: Step) -> None:
        """Follow what a relay acknowledged until the store holds it."""
        digest = contracts()[RELAYED].digest
        for exchange in minutes:
            if exchange.status == 202:
                self.at_relay |= {(exchange.question, id) for id, _ in records(exchange)}
        now = held.get(digest)
        if now is None or not now.open or digest == step.deleted:
            self.done_with |= self.at_relay
        else:
            for question, kept in now.questions.items():
                self.done_with |= {(question, id) for id in (*kept.present, *kept.spent)}
        gone = self.withdrawn | step.withdrawn
        self.at_relay = {
            key for key in self.at_relay if key not in self.done_with and key[1] not in gone
        }

    def _balanced(
        self,
        shown: Mapping[str, Shown],
        minutes: list[Exchange],
        step: Step,
        today: datetime.date,
    ) -> dict[str, Held]:
        held: dict[str, Held] = {}
        may, must = step.outcome != "refused", step.outcome == "done"
        for contract in contracts():
            digest = contract.digest
            before, now = self.held.get(digest), shown.get(digest)
            if now is None:
                gone = may and step.deleted == digest
                assert before is None or gone, f"{contract.name!r} is gone, and nobody deleted it"
                arrived = must and (
                    step.registered == digest
                    or (step.restored is not None and step.restored[0] == digest)
                )
                assert not arrived, f"{contract.name!r} should be there"
                for exchange in minutes:
                    assert gone or exchange.digest != digest or exchange.status != 200, (
                        f"reports of {contract.name!r} were acknowledged, and it is not there"
                    )
                continue
            held[digest] = self._collection(contract, before, now, step, today)
            self._check_acknowledged(contract, held[digest], minutes, step)
        assert set(shown) == set(held), "the store holds a contract that nobody gave it"
        return held

    def _collection(
        self,
        contract: Collection,
        before: Held | None,
        now: Shown,
        step: Step,
        today: datetime.date,
    ) -> Held:
        digest, name = contract.digest, contract.name
        may, must = step.outcome != "refused", step.outcome == "done"
        restored = may and step.restored is not None and step.restored[0] == digest
        assert not (must and step.deleted == digest), f"{name!r} was deleted and is still there"
        if before is None:
            assert restored or (may and step.registered == digest), f"{name!r} came from nowhere"
            base = Held()
            if restored and step.restored is not None:
                base = step.restored[1].copy()
        else:
            base = before.copy()
        allowed = {base.open}
        if step.opened is not None and step.opened[0] == digest and may:
            allowed = {step.opened[1]} if must else {base.open, step.opened[1]}
        assert now.open in allowed, f"{name!r} is {'open' if now.open else 'closed'}"
        held = Held(now.open)
        for question in contract.questions:
            retention = question.retention_days
            first = None if retention is None else today - datetime.timedelta(days=retention)
            held.questions[question.id] = self._question(
                contract, question.id, base.questions[question.id], now, step, first
            )
        return held

    def _question(
        self,
        contract: Collection,
        question: str,
        base: Kept,
        now: Shown,
        step: Step,
        first: datetime.date | None,
    ) -> Kept:
        """One question's reports: those that came, those that went, and the counts."""
        seen, name = now.questions[question], f"{contract.name!r}, {question!r}"
        without = 0 if seen.dropped is None else seen.dropped.reports
        kept = Kept(dict(seen.present), dict(base.spent), dropped=without)
        taken_back = self.withdrawn | step.withdrawn
        for id, row in base.present.items():
            if id in seen.present:
                assert seen.present[id] == row, f"{name}: a report was changed"
                back = step.restored is not None  # by a backup that was older
                assert back or id not in step.surely, f"{name}: a withdrawn report is there"
            elif id not in step.withdrawn and id not in base.doubtful:
                over = first is not None and row[1] < first
                assert over, f"{name}: an acknowledged or stored report is gone"
                kept.spent[id] = row
        for id, (report, _) in seen.present.items():
            if id not in base.present:
                sent = self.sent.get((contract.digest, question, id), set())
                assert report in sent, f"{name}: a report is there that nobody sent"
                assert id not in base.spent, f"{name}: a deleted report is back"
        if now.open:
            forgotten = kept.spent.keys() - seen.spent
            assert not forgotten, f"{name}: the ids of deleted reports are forgotten"
        strangers = seen.spent - kept.spent.keys() - taken_back - self.tokens.keys()
        assert not strangers, f"{name}: ids are kept of reports that were never deleted"
        check_counts(contract, question, kept, seen)
        return kept

    def _check_acknowledged(
        self, contract: Collection, held: Held, minutes: list[Exchange], step: Step
    ) -> None:
        for exchange in minutes:
            if exchange.digest != contract.digest or exchange.status != 200:
                continue
            kept = held.questions[exchange.question]
            for id, report in records(exchange):
                safe = (
                    kept.present.get(id, (None,))[0] == report
                    or id in kept.spent
                    or id in self.withdrawn | step.withdrawn
                    # Of a contract that was deleted: its tokens stay spent.
                    or self.tokens.get(id, contract.digest) != contract.digest
                )
                assert safe, f"a report of {contract.name!r} was acknowledged and is not there"

    def _check_admissions(
        self, store: Store, held: Mapping[str, Held], minutes: list[Exchange], step: Step
    ) -> None:
        """Every report of the invited used up one admission, and nothing else did."""
        invited = next(each for each in contracts() if each.admission == "invited")
        mine = [each for each in minutes if each.digest == invited.digest]
        used = sum(each.accepted for each in mine)
        unheard = sum(1 for each in mine if each.status is None)
        found = store.admissions(SERIES)
        gained = step.invited if step.outcome != "refused" else 0
        low = self.admitted - used - unheard + (gained if step.outcome == "done" else 0)
        high = self.admitted - used + gained
        if not held:
            low = 0  # the last collection of a series took what admits to it along
        assert low <= found <= high, f"{found} admissions are left, not {low} to {high}"
        self.admitted = found

    def _check_refusals(self, held: Mapping[str, Held], minutes: list[Exchange]) -> None:
        """What a refusal says is so."""
        for exchange in minutes:
            known = [each[exchange.digest] for each in (self.held, held) if exchange.digest in each]
            if exchange.problem == "closed":
                assert any(not each.open for each in known), (
                    "a collection was called closed that is open, or not known"
                )
            if exchange.problem == "id-conflict":
                used = {
                    (digest, question, id): row[0]
                    for books in (self.held, held)
                    for digest, each in books.items()
                    for question, kept in each.questions.items()
                    for id, row in {**kept.spent, **kept.present}.items()
                }
                ids = {id for _, _, id in used} | self.withdrawn
                assert any(
                    id in ids and used.get((exchange.digest, exchange.question, id)) != report
                    for id, report in records(exchange)
                ), "an id was called used that is not"

    def reports(self, digest: str, question: str) -> int | None:
        """How many reports an estimate must be of."""
        held = self.held.get(digest)
        if held is None:
            return None
        kept = held.questions[question]
        return len(kept.present) + len(kept.spent) - kept.dropped


def check_counts(contract: Collection, question: str, kept: Kept, seen: Seen) -> None:
    """The summaries are those of the reports that are counted, day by day."""
    mechanism = contract.question(question).mechanism
    rows = [*kept.spent.values(), *(kept.present[id] for id in seen.counted if id in kept.present)]
    assert seen.counted <= kept.present.keys()
    here = {seen.held_by(day) for _, day in kept.present.values()}
    for day in seen.days.keys() | {seen.held_by(day) for _, day in rows}:
        reports = [report for report, each in rows if seen.held_by(each) == day]
        if day is None:  # too few to be kept
            dropped = 0 if seen.dropped is None else seen.dropped.reports
            assert len(reports) == dropped, f"{dropped} dropped, of {len(reports)}"
            continue
        summary = seen.days.get(day)
        counted = 0 if summary is None else summary.reports
        assert day in here or counted >= LEAST_KEPT, f"the counts of a quiet day are kept: {day}"
        assert counted == len(reports), (
            f"{contract.name!r}, {question!r}: {counted} counted on {day}, of {len(reports)}"
        )
        if summary is not None and reports:
            batch = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)
            assert (summary.tally == mechanism.tally(batch)).all(), "the counters are wrong"
