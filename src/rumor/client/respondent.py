"""The device of one person: answers become private reports, and every report is accounted for.

Privatizing, remembering and limiting happen here; sending is somebody else's business. The
device does not trust the collector: it keeps the limits of the contract itself, and a limit
of its own (`max_epsilon`) over all collections.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from rumor.admission import read_invitation, token
from rumor.client.ledger import Debit, Envelope, Ledger, Spending
from rumor.client.secret import open_secret, replace_secret
from rumor.client.sent import Made
from rumor.collection import Collection
from rumor.errors import InputError, shown
from rumor.randomness import Keyed, Source


class Respondent:
    """One person's device: its secret and its ledger, in a folder of its own.

    The same value yields the same permanent bits across restarts, processes and revisions of
    a collection (same series and question), because they follow from the secret alone.
    """

    def __init__(
        self, state_dir: str | os.PathLike[str], *, max_epsilon: float | None = None
    ) -> None:
        """Open the folder, making it and the secret on first use."""
        if max_epsilon is not None and not max_epsilon > 0:
            raise InputError(f"max_epsilon must be a number above 0; got {shown(max_epsilon)}")
        self.max_epsilon = max_epsilon
        self._folder = Path(state_dir).expanduser()
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._secret, made = open_secret(self._secret_file)
        self._ledger = Ledger(self._folder / "ledger.sqlite3")
        self._note_new_secret("secret lost and made anew" if made else "secret replaced")

    @property
    def _secret_file(self) -> Path:
        return self._folder / "secret"

    @property
    def _epoch(self) -> bytes:
        """Tells secrets apart without showing them."""
        return Keyed(self._secret, "rumor secret epoch").digest()[:8]

    def _note_new_secret(self, what: str) -> None:
        """Record the secret when it is not the one that the ledger knows."""
        with self._ledger.transaction():
            known = self._ledger.epoch()
            if known != self._epoch:
                self._ledger.note("secret made" if known is None else what, self._epoch)

    def prepare(
        self,
        collection: Collection,
        answers: Mapping[str, object],
        *,
        random: Source | None = None,
        invitation: str | None = None,
    ) -> list[Envelope]:
        """Reports of these answers, by question id: debited and durable, ready to be sent.

        All of them or none: when one would pass a limit, nothing is made. A collection for
        invited people needs the `invitation`.
        """
        if not answers:
            raise InputError("answers must name at least one question; got none")
        if collection.admission == "invited" and invitation is None:
            raise InputError(
                f"{collection.name!r} is for invited people; give the invitation you were sent"
            )
        secret = None if invitation is None else read_invitation(invitation)
        with self._ledger.transaction():
            return [
                self._prepare_one(collection, id, value, random, secret)
                for id, value in answers.items()
            ]

    def _prepare_one(
        self,
        collection: Collection,
        id: str,
        value: object,
        random: Source | None,
        invitation: bytes | None,
    ) -> Envelope:
        question = collection.question(id)
        mechanism, context = question.mechanism, (collection.series, question.id)
        tag = Keyed(self._secret, "rumor value tag", *context, mechanism.identity(value))
        permanent = Keyed(self._secret, "rumor permanent answer", *context)
        limits = (question.reports_per_person, question.retention_days)
        debit = Debit(*context, mechanism, tag.digest()[:16], *limits)
        report = mechanism.answer(value, permanent=permanent, random=random)
        admits = None
        if invitation is not None and collection.admission == "invited":
            admits = functools.partial(token, invitation, *context)
        return self._ledger.debit(
            debit, self._epoch, report, collection.digest, self.max_epsilon, admits
        )

    def pending(self, collection: Collection | None = None) -> list[Envelope]:
        """What was made and has not been acknowledged: to be sent (again), byte for byte."""
        return self._ledger.pending(None if collection is None else collection.digest)

    def acknowledge(self, envelopes: Sequence[Envelope]) -> None:
        """Note that reports have arrived; their bytes are forgotten, their cost is not."""
        self._ledger.acknowledge([envelope.id for envelope in envelopes])

    def readmit(self, collection: Collection, envelope: Envelope, invitation: str) -> Envelope:
        """A waiting report with the token of another invitation: the same id and bytes.

        It costs nothing: what was drawn and debited stays as it is.
        """
        numbers = {made.id: made.number for made in self._ledger.sent.made()}
        context = (collection.series, envelope.question, numbers.get(envelope.id, 0))
        admits = token(read_invitation(invitation), *context)
        self._ledger.readmit(envelope.id, admits)
        return replace(envelope, token=admits)

    def made(self) -> list[Made]:
        """The reports that can still be taken back, waiting ones among them."""
        return self._ledger.sent.made()

    def forget(self, ids: Sequence[bytes]) -> None:
        """Forget reports that were withdrawn; nothing is refunded."""
        self._ledger.forget(ids)

    def spending(self) -> list[Spending]:
        """What each question has cost so far."""
        return self._ledger.spending()

    @property
    def spent(self) -> float:
        """What all reports of this device have cost together, at worst."""
        return self._ledger.total()

    def events(self) -> list[tuple[str, str]]:
        """What happened to the secret, as (day, what)."""
        return self._ledger.events()

    def reset(self) -> None:
        """Take a new secret. Permanent answers are drawn anew and cost anew."""
        self._secret = replace_secret(self._secret_file)
        self._note_new_secret("secret reset")

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
