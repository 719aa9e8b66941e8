"""The client of a collector: answers in, private reports out, each delivered exactly once.

The device checks the contract, randomises the value, and writes the loss to the ledger together
with the report's bytes; only then does it send anything. A report that cannot be sent stays on
disk and goes out later with equal bytes and its random id, so that sending again is always safe.
A report that was not acknowledged is kept, whatever a collector says: the person can send a
refused report again, with another invitation if that was the reason, or withdraw everything. The
one exception is a contract with turns: a report that was not sent before the end of its turn is
dropped, and the person is told.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from rumor.client.assignment import Assignment
from rumor.client.ledger import PendingReport, Spending
from rumor.client.pins import Consent
from rumor.client.respondent import Respondent
from rumor.client.tables import WithdrawableReport
from rumor.client.token_table import NoTokenError
from rumor.client.transport import Refused, Transport, Unreachable
from rumor.contract.collection import Collection
from rumor.core.deprecation import old_names
from rumor.core.errors import InputError, UnavailableError, format_value
from rumor.core.files import OWNER_ONLY, Closing, write_whole

_Found = TypeVar("_Found")
_FIRST_DELAY, _LONGEST_DELAY = 0.25, 30.0
_MOST_RECORDS, _MOST_BYTES = 1_000, 500_000
# Refusals of a collector in a person's words; other refusals speak for themselves.
_PLAIN = {
    "closed": "the collection is closed and takes no more reports; yours stay on this device, and "
    "you can take them back",
    "not-admitted": "your invitation is not known there or has been used; the reports stay on this "
    "device, and another invitation sends the same ones at no further cost",
    "unknown-collection": "the collector does not know this collection just now; the reports stay "
    "on this device until it does",
}


_GONE = (
    "the collector does not know this collection just now; if it was deleted, so were the reports, "
    "and if it comes back, they can be taken back then"
)
# Refusals whose reason may be the token: a spent token names another report.
_ADMITS_NOT = ("not-admitted", "id-conflict")
_MOST_TOKENS = 50
_NOT_ENROLLED = {
    "not-admitted": "your invitation is not known to the issuer, or another device has used it; "
    "nothing was made or spent",
    "unknown-collection": "the issuer does not know this collection's keys just now; nothing was "
    "made or spent",
}
# Refusals that name the reports which are their reason.
_NAMING = ("id-conflict", "invalid-report")


@old_names(told="notes")
@dataclass(frozen=True)
class Receipt:
    """The outcome of sending: reports that are durable at the collector, or wait here."""

    sent: int
    waiting: int
    refused: int
    """The number of waiting reports that the collector refused just now."""
    problem: str | None = None
    """The reason why some are waiting, in a sentence."""
    notes: tuple[str, ...] = ()
    """Sentences for the person about how their answers were read."""
    dropped: int = 0
    """The number of reports dropped since their turn was over; their cost stays spent."""


@dataclass(frozen=True)
class Withdrawal:
    """The outcome of withdrawing reports; what they cost stays spent."""

    withdrawn: int
    """The number of reports that left the collector's store and counts."""
    absent: int
    """The number of reports that were not there: never arrived, withdrawn, or past retention."""
    left: int
    """The number of reports that could not be asked for now; their keys are kept."""
    problem: str | None = None
    """The reason why some are left, in a sentence."""


class _TurnOverError(Exception):
    """The turn of an envelope was over before it could be sent."""


@old_names(asked="assignment", check_asked="check_assigned")
class Client(Closing):
    """One person's device and one collector.

    `state_dir` holds the person's secret, ledger and unsent reports; several clients may
    share it, and `max_epsilon` bounds what all of them spend together. The contract is the
    given `collection` (or a path to it), or else the one that the collector serves, which
    must have the given `digest` if there is one. An `invitation` admits to a collection that
    asks for one. `consent` asks the person when a revision wants to cost more than was promised
    at first; without it, such a report is refused. `attempts` is how often sending is tried
    before it is left for later, and `timeout` the time in seconds that each attempt may take in
    all. Where the contract has a relay, each report goes to it after a random delay of up to
    `delay` seconds.
    """

    def __init__(
        self,
        url: str,
        state_dir: str | os.PathLike[str],
        collection: Collection | str | os.PathLike[str] | None = None,
        max_epsilon: float | None = None,
        digest: str | None = None,
        *,
        invitation: str | None = None,
        consent: Consent | None = None,
        attempts: int = 3,
        timeout: float = 10.0,
        delay: float = 5.0,
    ) -> None:
        if attempts < 1:
            raise InputError(f"attempts must be 1 or more; got {format_value(attempts)}")
        self._timeout, self._delay = timeout, delay
        self._transport, self._attempts = Transport(url, timeout), attempts
        if collection is not None and not isinstance(collection, Collection):
            collection = Collection.load(collection)
        self._collection, self._digest = collection, digest
        self._invitation = invitation
        if collection is not None:
            self._check_digest(collection.digest)
        self._respondent = Respondent(
            state_dir, max_epsilon=max_epsilon, consent=consent, collector=self._transport.url
        )
        name = hashlib.sha256(self._transport.url.encode()).hexdigest()[:32]
        # Reports wait for a collector that serves the contract they were made for.
        self._contracts = Path(state_dir).expanduser() / "collectors" / name
        self._lock = threading.Lock()
        if collection is not None:
            self._remember(collection)

    # The contract

    def collection(self) -> Collection:
        """Return the contract that answers are given under: pinned, served, or last seen."""
        if self._collection is None:
            try:
                self._collection = self._fetch_contract()
            except Unreachable as problem:
                return self._load_last_contract(problem)
        return self._collection

    def refresh(self) -> Collection:
        """Fetch the collector's contract anew, which may be a revision or the next round."""
        with self._lock:
            self._collection = self._fetch_contract()
            return self._collection

    def _fetch_contract(self) -> Collection:
        try:
            served = self._transport.collection()
        except Refused as refusal:
            raise InputError(
                f"a collector must serve a contract; {self._transport.url} does not ({refusal})"
            ) from None
        collection = Collection.from_contract(served.contract)
        if collection.digest != served.digest:
            raise InputError(
                f"a collector's contract must have the digest it says, {served.digest[:64]!r}; "
                f"this one has {collection.digest!r}"
            )
        self._check_digest(collection.digest)
        if not served.open:
            raise InputError(
                f"a collection must be open to take answers; {collection.name!r} is closed"
            )
        self._remember(collection)
        return collection

    def _check_digest(self, digest: str) -> None:
        if self._digest is not None and digest != self._digest:
            raise InputError(f"the contract must have the digest {self._digest!r}; got {digest!r}")

    def _remember(self, collection: Collection) -> None:
        # Which collections somebody answers is nobody else's business.
        self._contracts.parent.mkdir(exist_ok=True, mode=0o700)
        self._contracts.mkdir(exist_ok=True, mode=0o700)
        path = self._contracts / f"{collection.digest}.json"
        if not path.exists():
            write_whole(path, collection.canonical(), OWNER_ONLY)
        write_whole(self._contracts / "current", collection.digest.encode(), OWNER_ONLY)

    def _load_last_contract(self, problem: Unreachable) -> Collection:
        try:
            digest = (self._contracts / "current").read_text()
            collection = Collection.load(self._contracts / f"{digest}.json")
        except (OSError, InputError):
            raise InputError(
                f"a first answer needs the contract, and nothing was made without it ({problem})"
            ) from None
        self._check_digest(collection.digest)
        return collection

    # Answers

    def assignment(self) -> Assignment:
        """Return which questions this person is asked, and on which day; drawn once and kept."""
        with self._lock:
            return self._respondent.assignment(self.collection())

    def check_assigned(self, ids: Iterable[str] = ()) -> None:
        """Refuse, before anything is typed, questions or a day that are not the person's."""
        with self._lock:
            self._respondent.check_assigned(self.collection(), ids)

    def answer(
        self, answers: Mapping[str, object], groups: Mapping[str, object] = MappingProxyType({})
    ) -> Receipt:
        """Answer questions by their ids: make reports, keep them durably, try to send them.

        Where the contract has groups, the person's `groups` by name are sent in the clear; whatever
        its lists lack, or is not given, is sent as "other".

        Raises InputError when a limit forbids a report, or an answer is none to its question;
        nothing is made then. Being offline is no error: the reports wait.
        """
        with self._lock:
            made = self._make_reports(self.collection(), answers, groups)
            notes = tuple(note for report in made for note in report.notes)
            return replace(self._send_waiting(), notes=notes)

    def _make_reports(
        self, collection: Collection, answers: Mapping[str, object], groups: Mapping[str, object]
    ) -> list[PendingReport]:
        problem = self._fetch_tokens(collection)
        try:
            return self._respondent.prepare(
                collection, answers, invitation=self._invitation, groups=groups
            )
        except NoTokenError as missing:
            raise missing if problem is None else InputError(problem) from None

    def enrol(self) -> None:
        """Fetch every token that the invitation gives, for all questions alike.

        For collections whose tokens are signed blindly; `answer` does it as well. Whoever
        enrols some time before answering leaves no trace in the times either.
        """
        with self._lock:
            problem = self._fetch_tokens(self.collection())
        if problem is not None:
            raise InputError(problem)

    def _fetch_tokens(self, collection: Collection) -> str | None:
        """Have the issuer sign the tokens that still need it; return why it did not, if so."""
        if collection.issuer is None or self._invitation is None:
            return None
        shown, wanted = self._respondent.enrolment(collection, self._invitation)
        issuer = Transport(collection.issuer.url, self._timeout)
        try:
            for start in range(0, len(wanted), _MOST_TOKENS):
                some = wanted[start : start + _MOST_TOKENS]
                answers = issuer.tokens(shown, [(t.key, t.number, t.blinded) for t in some])
                self._respondent.enrol(collection, shown, some, answers)
        except Refused as refusal:
            return _NOT_ENROLLED.get(refusal.type, f"the issuer refuses: {refusal}")
        except Unreachable as trouble:
            return (
                f"answers need tokens of the issuer, which cannot be reached ({trouble}); nothing "
                f"was made or spent"
            )
        return None

    def flush(self) -> Receipt:
        """Send the reports that wait for this collector."""
        with self._lock:
            return self._send_waiting()

    def waiting(self) -> list[PendingReport]:
        """Return the reports that this collector has not acknowledged."""
        known = {path.stem for path in self._contracts.glob("*.json")}
        return [envelope for envelope in self._respondent.pending() if envelope.contract in known]

    def _send_waiting(self) -> Receipt:
        dropped = len(self._respondent.drop_expired(self.waiting()))
        receipt = self._sent_waiting()
        dropped += receipt.dropped
        if not dropped:
            return receipt
        over = (
            f"reports dropped, at no refund, because their turn was over before they could be "
            f"sent: {dropped}"
        )
        problem = over if receipt.problem is None else f"{over}; {receipt.problem}"
        return replace(receipt, dropped=dropped, problem=problem)

    def _sent_waiting(self) -> Receipt:
        sent = refused = dropped = 0
        problem: str | None = None
        for group in _group_for_sending(self.waiting()):
            try:
                while group:
                    try:
                        self._send(group)
                    except _TurnOverError:
                        dropped += len(group)
                        break
                    except Refused as refusal:
                        group, kept = self._after(refusal, group)
                        if kept:
                            problem = _PLAIN.get(refusal.type, str(refusal))
                        refused += kept
                    else:
                        self._respondent.acknowledge(group)
                        sent += len(group)
                        break
            except (Unreachable, UnavailableError) as trouble:
                # Not sent, or sent and not recorded here: the reports go out again.
                return Receipt(sent, len(self.waiting()), refused, str(trouble), dropped=dropped)
        return Receipt(sent, len(self.waiting()), refused, problem, dropped=dropped)

    def _after(
        self, refusal: Refused, group: list[PendingReport]
    ) -> tuple[list[PendingReport], int]:
        """Return the reports worth sending at once after `refusal`, and how many others stay."""
        alone = len(group) == 1 and group[0].relay is None
        if refusal.type in _ADMITS_NOT and alone and self._invitation is not None:
            contract = Collection.load(self._contracts / f"{group[0].contract}.json")
            if refusal.type == "not-admitted" or contract.issuer is not None:
                # Whatever is wrong with the issuer, reports to other questions still go out.
                with contextlib.suppress(InputError):
                    self._fetch_tokens(contract)
                other = self._respondent.replace_token(contract, group[0], self._invitation)
                return ([other], 0) if other != group[0] else ([], 1)
        # The reason may lie in some of the reports alone: the others go without them.
        named = {i for i in refusal.indices if 0 <= i < len(group)}
        if refusal.type in _NAMING and named:
            return [envelope for i, envelope in enumerate(group) if i not in named], len(named)
        return [], len(group)

    def _send(self, group: list[PendingReport]) -> None:
        """Send reports of one question, with growing pauses between attempts."""
        if group[0].relay is not None:
            # What one person answers to several questions does not arrive in one moment.
            time.sleep(random.uniform(0, self._delay))
        _retry(lambda: self._deliver(group), self._attempts)

    def _deliver(self, group: list[PendingReport]) -> None:
        first = group[0]
        if first.relay is not None and first.sealed is not None:
            # Checked last: pauses and delays may have lasted until the turn was over.
            if self._respondent.drop_expired(group):
                raise _TurnOverError
            relay = Transport(first.relay, self._timeout)
            relay.pass_on(first.contract, first.question, first.sealed, first.turn)
            return
        records = b"".join(envelope.id + envelope.report for envelope in group)
        self._transport.send(
            first.contract, first.question, records, len(group), first.token, first.stratum
        )

    # Withdrawal

    def withdraw(self, questions: Iterable[str] | None = None) -> Withdrawal:
        """Withdraw sent and waiting reports to this collector, of some `questions` or all.

        Nothing is refunded: what was seen was seen. What the collector exported or published
        before, and counts of reports past their retention, is beyond reach.
        """
        with self._lock:
            return self._withdraw(None if questions is None else set(questions))

    def _withdraw(self, questions: set[str] | None) -> Withdrawal:
        known = {path.stem for path in self._contracts.glob("*.json")}
        groups: dict[tuple[str, str, bytes | None], list[WithdrawableReport]] = {}
        for made in self._respondent.withdrawable():
            if made.contract in known and (questions is None or made.question in questions):
                groups.setdefault((made.contract, made.question, made.token), []).append(made)
        withdrawn = absent = left = 0
        problem: str | None = None
        attempts = self._attempts
        for all_of_them in groups.values():
            for start in range(0, len(all_of_them), _MOST_RECORDS):
                some = all_of_them[start : start + _MOST_RECORDS]
                try:
                    found = self._take_back(some, attempts)
                except Unreachable as trouble:
                    # One attempt is enough once the collector was away.
                    problem, left, attempts = str(trouble), left + len(some), 1
                except Refused as refusal:
                    gone = refusal.type == "unknown-collection"
                    problem, left = _GONE if gone else str(refusal), left + len(some)
                else:
                    self._respondent.forget([made.id for made in some])
                    withdrawn, absent = withdrawn + found, absent + len(some) - found
        return Withdrawal(withdrawn, absent, left, problem)

    def _take_back(self, some: list[WithdrawableReport], attempts: int) -> int:
        """Withdraw reports of one question; return how many were there."""
        first, keys = some[0], [made.key for made in some]
        return _retry(
            lambda: self._transport.withdraw(first.contract, first.question, keys, first.token),
            attempts,
        )

    # The ledger

    @property
    def spent(self) -> float:
        """The loss of all reports of this device together, in the worst case."""
        return self._respondent.spent

    def spending(self) -> list[Spending]:
        """Return the loss of each question so far."""
        return self._respondent.spending()

    def close(self) -> None:
        """Close the ledger; waiting reports stay on disk."""
        self._respondent.close()


def _retry(work: Callable[[], _Found], attempts: int) -> _Found:
    """Call `work`, up to `attempts` times while the collector cannot be reached.

    Pauses grow, and are no shorter than the collector asks for; a long one is not made.
    """
    delay = _FIRST_DELAY
    while True:
        attempts -= 1
        try:
            return work()
        except Unreachable as trouble:
            if attempts <= 0 or trouble.retry_after > _LONGEST_DELAY:
                raise
            # Jitter keeps devices that were cut off together from coming back together.
            time.sleep(max(trouble.retry_after, delay) * random.uniform(1.0, 1.6))
            delay = min(2 * delay, _LONGEST_DELAY)


def _group_for_sending(envelopes: list[PendingReport]) -> list[list[PendingReport]]:
    """Return `envelopes` in groups of one contract, question and stratum, none too large.

    Their order is that of their random ids, and the groups come in random order, so that
    neither tells what was answered first.
    """
    by_question: dict[tuple[str, str, int | None], list[PendingReport]] = {}
    for envelope in sorted(envelopes, key=lambda envelope: envelope.id):
        key = (envelope.contract, envelope.question, envelope.stratum)
        by_question.setdefault(key, []).append(envelope)
    groups = []
    for together in by_question.values():
        size = 16 + len(together[0].report)
        most = max(1, min(_MOST_RECORDS, _MOST_BYTES // size))
        if together[0].token is not None or together[0].relay is not None:
            most = 1  # a token admits one report, and an envelope travels alone
        groups += [together[start : start + most] for start in range(0, len(together), most)]
    random.SystemRandom().shuffle(groups)
    return groups
