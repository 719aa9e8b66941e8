"""The device of one person: answers become private reports, and each report is accounted for.

This module randomises, memoises and enforces limits; rumor.client.client sends. The device does
not trust the collector: it enforces the limits of the contract itself, and a limit of its own
(`max_epsilon`) over all collections.
"""

from __future__ import annotations

import datetime
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from rumor.client.assignment import Assignment
from rumor.client.ledger import (
    CeilingError,
    Ceilings,
    Debit,
    Ledger,
    PendingReport,
    PermanentAnswerKey,
    Spending,
)
from rumor.client.pins import CeilingIncrease, Consent, Pin, Scope
from rumor.client.tables import WithdrawableReport
from rumor.client.token_table import AdmissionToken, NoTokenError, UnsignedToken
from rumor.contract.addresses import origin_of
from rumor.contract.admission import read_invitation, token
from rumor.contract.collection import Collection, Question
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.groups import stratum_of
from rumor.contract.issuing import credential_digest, enrolment_credential
from rumor.core.deprecation import old_names
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.core.exact import sum_up
from rumor.core.files import Closing
from rumor.core.randomness import Keyed, RandomSource
from rumor.core.secret import open_secret, replace_secret
from rumor.privacy.loss import series_ceiling

_FIRST_DAY = datetime.date(1970, 1, 1)


def _utc_now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


def _midnight(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time(), datetime.UTC)


@old_names(asked="assignment", check_asked="check_assigned", made="withdrawable")
class Respondent(Closing):
    """One person's device: its secret and its ledger, in a folder of its own.

    The same value yields the same permanent answer across restarts, processes and revisions of
    a collection that leave labels or key, shape and permanent noise unchanged, because it follows
    from the secret alone.
    """

    def __init__(
        self,
        state_dir: str | os.PathLike[str],
        *,
        max_epsilon: float | None = None,
        consent: Consent | None = None,
        today: Callable[[], datetime.date] | None = None,
        now: Callable[[], datetime.datetime] | None = None,
        collector: str = "",
    ) -> None:
        """Open the folder, making it and the secret on first use.

        `max_epsilon` bounds what everything costs together. Each series is bounded anyway, by
        what its first contract promised; `consent` asks the person when a revision wants more
        (without it, that is refused). `today` is the day in UTC, which periods are counted by,
        and `now` the time in UTC, which turns are counted by; each follows from the other.
        `collector` is the address that contracts come from: a contract of the same series from
        elsewhere then holds up nothing (without it, the contact alone tells collectors apart).
        """
        if max_epsilon is not None and not max_epsilon > 0:
            raise InputError(
                f"max_epsilon must be a number above 0; got {format_value(max_epsilon)}"
            )
        self.max_epsilon, self._consent = max_epsilon, consent
        self._given_today, self._given_now = today, now
        self._collector = origin_of(collector)
        self._folder = Path(state_dir).expanduser()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._secret, made = open_secret(self._secret_file)
        self._ledger = Ledger(self._folder / "ledger.sqlite3")
        self._note_new_secret("secret lost and made anew" if made else "secret replaced")

    def _now(self) -> datetime.datetime:
        if self._given_now is not None:
            return self._given_now().astimezone(datetime.UTC)
        return _utc_now() if self._given_today is None else _midnight(self._given_today())

    def _today(self) -> datetime.date:
        return self._now().date() if self._given_today is None else self._given_today()

    @property
    def _secret_file(self) -> Path:
        return self._folder / "secret"

    @property
    def _epoch(self) -> bytes:
        """A fingerprint that tells secrets apart without showing them."""
        return Keyed(self._secret, "rumor secret epoch").digest()[:8]

    def _note_new_secret(self, what: str) -> None:
        """Record the secret if it is not the one that the ledger knows."""
        with self._ledger.transaction():
            known = self._ledger.epoch()
            if known != self._epoch:
                self._ledger.note("secret made" if known is None else what, self._epoch)

    def assignment(self, collection: Collection) -> Assignment:
        """Return which questions this person is asked, and on which day; drawn once and kept.

        Call it before anything is shown. Only these questions can be answered, on that day. A
        contract that the device would refuse is refused here, and draws nothing.
        """
        if collection.ask is None:
            return Assignment.everything(collection)
        with self._ledger.transaction():
            scope = self._scope(collection)
            self._checked_pin(scope, collection)
            return self._kept_assignment(scope, collection)

    def _kept_assignment(self, scope: Scope, collection: Collection) -> Assignment:
        return self._ledger.assignments.assignment(
            self._secret, collection, self._today(), scope.name
        )

    def check_assigned(self, collection: Collection, ids: Iterable[str] = ()) -> None:
        """Refuse questions, a day or a turn that are not the person's; skip unknown ids."""
        collection.check_batch_size()
        known = [question.id for question in collection.questions]
        mine = [id for id in ids if id in known]
        if collection.ask is not None:
            asked = self.assignment(collection)
            for id in mine:
                asked.check_question(id)
            asked.check_today(self._today())
        scope, turn = self._scope(collection), self._turn(collection)
        for id in mine:
            self._ledger.check_turn(collection, scope, id, turn)

    def _turn(self, collection: Collection) -> int | None:
        """Return the current turn, or None if the contract has no turns."""
        relay = collection.relay
        return None if relay is None else relay.turn_at(self._now().timestamp())

    def prepare(
        self,
        collection: Collection,
        answers: Mapping[str, object],
        *,
        random: RandomSource | None = None,
        invitation: str | None = None,
        groups: Mapping[str, object] = MappingProxyType({}),
    ) -> list[PendingReport]:
        """Return reports of these `answers`, by question id: debited, durable, ready to be sent.

        All of them or none: when one would pass a limit, nothing is made. Every answer of the right
        type is taken, a number outside its range as the nearest end: `notes` of the report says so.
        A collection for invited people needs the `invitation`, or the tokens that it gave (see
        `enrolment`); one with a sampling design takes what was drawn (see `assignment`). One with
        groups sends the person's `groups` in the clear, by name, as its lists have them.
        """
        if not answers:
            raise InputError("answers must name at least one question; got none")
        if collection.admission == "invited" and invitation is None:
            raise InputError(
                f"{collection.name!r} is for invited people; give the invitation you were sent"
            )
        stratum = stratum_of(collection, groups)
        secret = None if invitation is None else read_invitation(invitation)
        # The draw is kept by a transaction of its own, so a refused answer does not repeat it.
        self.check_assigned(collection, answers)
        try:
            return self._prepare(collection, answers, random, secret, stratum)
        except CeilingError as reached:
            # Consent is asked outside the transaction: a person may take long, and the day may end.
            if not self._ask_consent(collection, reached):
                raise
        self.check_assigned(collection, answers)
        return self._prepare(collection, answers, random, secret, stratum)

    def _prepare(
        self,
        collection: Collection,
        answers: Mapping[str, object],
        random: RandomSource | None,
        invitation: bytes | None,
        stratum: int | None,
    ) -> list[PendingReport]:
        with self._ledger.transaction():
            scope, turn = self._scope(collection), self._turn(collection)
            pin = self._pin(scope, collection)
            ceilings = Ceilings(pin.ceiling, self.max_epsilon)
            for id in answers:
                self._ledger.turns.check(collection, scope, id, turn)
            envelopes = [
                self._envelope(
                    scope, collection, id, value, ceilings, random, invitation, turn, stratum
                )
                for id, value in answers.items()
            ]
            self._ledger.pin(scope, pin)
            self._ledger.tokens.move_to_pinned_name(scope)
            self._ledger.assignments.adopt_draws(collection, scope.name)
            return envelopes

    def _envelope(
        self,
        scope: Scope,
        collection: Collection,
        id: str,
        value: object,
        ceilings: Ceilings,
        random: RandomSource | None,
        invitation: bytes | None,
        turn: int | None,
        stratum: int | None,
    ) -> PendingReport:
        """Make and charge the report of one answer; errors name its question alone."""
        if id not in (ids := [question.id for question in collection.questions]):
            names = ", ".join(ids)
            raise InputError(f"a question must be named as one of {names}; got another name")
        question = collection.question(id)
        if question.mechanism.warning is not None:
            raise InputError(
                f"a device reports only what proves no answer; got question {id!r}: "
                f"{question.mechanism.warning}"
            )
        try:
            debit = self._debit(collection, question, value, random, turn)
            debit = replace(debit, scope=scope, stratum=stratum)
            notes = question.mechanism.notes(value)
        except AnswerError as problem:
            raise problem.located_in(f"question {id!r}") from None
        envelope = self._ledger.debit(
            debit, ceilings, self._admits(scope, collection, id, invitation)
        )
        return replace(envelope, notes=tuple(f"question {id!r}: {note}" for note in notes))

    def _scope(self, collection: Collection) -> Scope:
        """Return the scope of a contract's series."""
        return self._ledger.scope(collection, self._collector)

    def _pin(self, scope: Scope, collection: Collection) -> Pin:
        """Return the pin of the series once this contract is answered."""
        if (pin := self._checked_pin(scope, collection)) is not None:
            return pin
        digest, drawn = collection.digest, self._kept_assignment(scope, collection).questions
        most = series_ceiling(collection, drawn)
        first = Pin(
            collection.revision,
            digest,
            most,
            agreed=digest,
            sender_anonymity=collection.sender_anonymity,
        )
        met = replace(first, collector=self._collector, contact=collection.contact)
        return replace(met, inherits=scope.inherits)

    def _checked_pin(self, scope: Scope, collection: Collection) -> Pin | None:
        """Return the pin of a series that was answered before, or refuse the contract."""
        collection.check_batch_size()
        return None if scope.pin is None else scope.pin.follow(collection, self._collector)

    def _ask_consent(self, collection: Collection, reached: CeilingError) -> bool:
        """Ask the person for a higher ceiling; record the answer if it is yes."""
        pin = self._scope(collection).pin
        # A revision without a limit may cost what was spent plus all that it may ask.
        most = series_ceiling(collection, self.assignment(collection).questions)
        wanted = collection.series_epsilon or sum_up([reached.spent, most])
        if pin is None or wanted <= pin.ceiling or reached.after > wanted:
            return False
        if pin.agreed == collection.digest:
            return False  # nothing was revised since the person agreed: there is nothing to ask
        change = CeilingIncrease(collection, reached.spent, pin.ceiling, wanted)
        if self._consent is None or not self._consent(change):
            raise InputError(
                f"{reached}; revision {collection.revision} asks for up to {wanted:.4g}, and that "
                f"needs your consent"
            )
        with self._ledger.transaction():
            scope = self._scope(collection)
            held = scope.pin or pin
            raised = max(held.ceiling, wanted)
            self._ledger.pin(scope, replace(held, ceiling=raised, agreed=collection.digest))
            what = f"agreed that {collection.series!r} may cost epsilon {wanted:.6g}"
            self._ledger.note(what, self._epoch)
        return True

    def _debit(
        self,
        collection: Collection,
        question: Question,
        value: object,
        random: RandomSource | None,
        turn: int | None,
    ) -> Debit:
        """Randomise one answer; return its report and the permanent answer behind it."""
        mechanism, context = question.mechanism, (collection.series, question.id)
        permanence, identity = mechanism.permanence, mechanism.identity(value)
        cell = permanence.memo_digest
        make = functools.partial(
            Debit,
            mechanism=mechanism,
            contract=collection.digest,
            reports_per_person=question.reports_per_person,
            retention_days=question.retention_days,
            sealed=None
            if collection.relay is None
            else EnvelopeFormat.of(collection, question, turn),
        )
        row = functools.partial(PermanentAnswerKey, *context, mechanism.round, cell, self._epoch)
        person = Keyed(self._secret, "rumor permanent answer 2", *context)
        if question.period_days is None:
            report = permanence.report_memoised(value, permanent=person, random=random)
            if not permanence.is_memoised:
                # Fresh noise costs the same whatever was answered before, so values need no tags,
                # and no rounding of a sum can depend on which of them were equal.
                return make(row("", b""), report=report)
            tag = Keyed(self._secret, "rumor value tag 2", *context, cell, identity)
            return make(row("", tag.digest()[:16]), report=report)
        period = f"{question.period_days}:{self._day_number() // question.period_days}"
        mine = row(period, b"")
        settled = self._ledger.permanent_answer(mine)
        if settled is None:
            # The identity is part of the key, so that a ledger that was restored from a copy
            # never covers two values by the same noise.
            noise = Keyed(self._secret, "rumor period answer 1", *context, cell, period, identity)
            settled = permanence.draw_permanent(value, person=person, noise=noise)
        return make(
            mine, report=permanence.report_permanent(settled, random=random), settled=settled
        )

    def _day_number(self) -> int:
        return (self._today() - _FIRST_DAY).days

    def _admits(
        self, scope: Scope, collection: Collection, id: str, invitation: bytes | None
    ) -> Callable[[int], AdmissionToken] | None:
        """Return a function that gives the token of report `number`, or None."""
        if collection.issuer is not None:
            return lambda number: self._ledger.tokens.spend(collection, scope, id)
        if invitation is None or collection.admission != "invited":
            return None
        secret = invitation
        return lambda number: AdmissionToken(token(secret, collection.series, id, number))

    def enrolment(
        self, collection: Collection, invitation: str
    ) -> tuple[bytes, Sequence[UnsignedToken]]:
        """Return the credential for the issuer, and the tokens that it still has to sign.

        Those of all questions, whichever will be answered: so it learns nothing of that. They
        are durable before they are given away, and the same ones until they are signed.
        """
        shown = enrolment_credential(collection, invitation)
        with self._ledger.transaction():
            scope = self._scope(collection)
            pin = scope.pin
            if pin is not None and pin.sender_anonymity is not None:
                pin.sender_anonymity.check_issuer(collection.sender_anonymity, collection.series)
            return shown, self._ledger.tokens.request(credential_digest(shown), collection, scope)

    def enrol(
        self,
        collection: Collection,
        shown: bytes,
        tokens: Sequence[UnsignedToken],
        answers: Sequence[bytes],
    ) -> None:
        """Store what the issuer signed."""
        with self._ledger.transaction():
            self._ledger.tokens.store_signatures(
                credential_digest(shown), collection, tokens, answers
            )

    def pending(self, collection: Collection | None = None) -> list[PendingReport]:
        """Return the reports that were not acknowledged, to be sent again byte for byte."""
        return self._ledger.pending(None if collection is None else collection.digest)

    def acknowledge(self, envelopes: Sequence[PendingReport]) -> None:
        """Forget the bytes of reports that have arrived, and keep their cost."""
        self._ledger.acknowledge([envelope.id for envelope in envelopes])

    def drop_expired(self, envelopes: Sequence[PendingReport]) -> list[PendingReport]:
        """Drop those of `envelopes` whose turn is over, and return them; their cost stays.

        Their withdrawal keys are kept: an acknowledgement may have been lost on its way.
        """
        hour = self._now().timestamp() / 3600
        over = [each for each in envelopes if each.expires is not None and each.expires <= hour]
        if over:
            self.acknowledge(over)
        return over

    def replace_token(
        self, collection: Collection, envelope: PendingReport, invitation: str
    ) -> PendingReport:
        """Return a waiting report with a token of another `invitation`, if there is one.

        It costs nothing: what was drawn and debited stays as it is.
        """
        with self._ledger.transaction():
            admits = self._other_token(collection, envelope, invitation)
            if admits is None:
                return envelope
            name = self._ledger.replace_token(envelope.id, admits)
        return replace(envelope, id=name, token=admits.token)

    def _other_token(
        self, collection: Collection, envelope: PendingReport, invitation: str
    ) -> AdmissionToken | None:
        if collection.issuer is None:
            numbers = {made.id: made.number for made in self._ledger.withdrawable()}
            context = (collection.series, envelope.question, numbers.get(envelope.id, 0))
            return AdmissionToken(token(read_invitation(invitation), *context))
        person = credential_digest(enrolment_credential(collection, invitation))
        if self._ledger.tokens.invitation_of(envelope.id) == person:
            # Its other tokens are for other reports: a collector that refuses each token in turn
            # must not get them all.
            return None
        try:
            scope = self._scope(collection)
            return self._ledger.tokens.spend(collection, scope, envelope.question, person)
        except NoTokenError:
            return None

    def withdrawable(self) -> list[WithdrawableReport]:
        """Return the reports that can still be withdrawn, waiting ones among them."""
        return self._ledger.withdrawable()

    def forget(self, ids: Sequence[bytes]) -> None:
        """Forget reports that were withdrawn; nothing is refunded."""
        self._ledger.forget(ids)

    def spending(self) -> list[Spending]:
        """Return the loss of each question so far."""
        return self._ledger.spending()

    @property
    def spent(self) -> float:
        """The loss of all reports of this device together, in the worst case."""
        return self._ledger.total()

    def events(self) -> list[tuple[str, str]]:
        """Return the events of the secret, as (day, what)."""
        return self._ledger.events()

    def reset(self) -> None:
        """Take a new secret. Permanent answers are drawn anew and cost anew."""
        self._secret = replace_secret(self._secret_file)
        self._note_new_secret("secret reset")

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()
