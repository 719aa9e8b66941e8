"""Vectors of one contract: what any port of a device must make of it (`rumor vectors`).

A vector has what a device is given (its secret, random bytes, days, answers) and what it must make
of them: reports, permanent answers, and the ledger with every charge. Everything follows from the
contract, so that the vectors of one contract are the same wherever they are printed.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rumor.client.deliveries import deliveries
from rumor.client.ledger import PendingReport
from rumor.client.pins import CeilingIncrease
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection, Question
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed, RandomSource
from rumor.core.secret import write_secret
from rumor.mechanisms.vectors import VectorKeys, mechanism_vector

VERSION = 1
SECRET = bytes(range(100, 132))
"""The secret of the device of all vectors: everybody knows it."""
INVITATION = "rumor-invitation-AAAAAAAAAAAAAAAAAAAAABn3"
"""The invitation of that device, where a contract asks for one."""
_FIRST_DAY = datetime.date(1970, 1, 1)
_DAY = 20_000  # the usual first day of a device's life, counted from 1970
_LATER = 7  # days until the last answer, where no period is longer
_NO_DAY = "7:2857"  # the period of vectors whose question has none
_ANONYMITY = ("blind", "relay", "crowd", "issuer", "turn_hours", "groups")


def contract_vectors(collection: Collection, earlier: Sequence[Collection] = ()) -> dict[str, Any]:
    """Return the vectors of the contract of `collection`, as JSON holds them.

    The device has answered the `earlier` contracts of the series once before.
    """
    _check_earlier(collection, earlier)
    found = {
        "rumor vectors": VERSION,
        "digest": collection.digest,
        "contract": collection.contract(),
        "secret": SECRET.hex(),
        "questions": [_question_vector(collection, question) for question in collection.questions],
        "deliveries": deliveries(collection, INVITATION, _DAY),
        "device": device_life(collection, earlier),
    }
    # A loss that nothing bounds is null.
    return dict(json.loads(json.dumps(found), parse_constant=lambda _: None))


def _check_earlier(collection: Collection, earlier: Sequence[Collection]) -> None:
    """Refuse `earlier` contracts of another series, or out of order."""
    revisions = [each.revision for each in (*earlier, collection)]
    named = {each.series for each in earlier} <= {collection.series}
    if not named or revisions != sorted(set(revisions)):
        told = ", ".join(f"revision {each.revision} of {each.series!r}" for each in earlier)
        raise InputError(
            f"earlier contracts must be of the series {collection.series!r}, in their order, and "
            f"before revision {collection.revision}; got {told}"
        )


def _question_vector(collection: Collection, question: Question) -> dict[str, Any]:
    period = question.period_days
    keys = VectorKeys(
        SECRET,
        collection.series,
        question.id,
        _NO_DAY if period is None else f"{period}:{_DAY // period}",
        ("client vector", collection.series, question.id),
    )
    found = mechanism_vector(question.mechanism, keys)
    reports: Any = found.pop("reports")
    seeded = [{"random": _seed(*each["context"]).digest().hex(), **each} for each in reports]
    return {"question": question.id, **found, "reports": seeded}


def _seed(*context: str | int) -> Keyed:
    return Keyed(SECRET, *context)


# --- The life of a device -------------------------------------------------------------------


@dataclass(frozen=True)
class Visit:
    """What a person answers on a `day`, counted from 1970, and what the device is told."""

    day: int
    answers: Mapping[str, object]
    consent: bool | None = None
    max_epsilon: float | None = None
    random: RandomSource | None = None
    """The source of fresh noise; the operating system's where it is None."""
    invitation: str | None = None


def device_life(collection: Collection, earlier: Sequence[Collection] = ()) -> dict[str, Any]:
    """Return steps of a device that answers `earlier` contracts, then `collection`; its ledger.

    Tokens of an issuer cannot be had without its private keys: the device then answers the same
    questions with open admission, which cost the same.
    """
    *before, answered = _without_issuer([*earlier, collection])
    with tempfile.TemporaryDirectory() as place:
        folder = open_folder(Path(place), SECRET)
        assignment, first = _assignment(folder, (before or [answered])[0])
        steps = []
        for contract in (*before, answered):
            for visit, noise in _visits(contract, first, once=contract is not answered):
                found = answer(folder, contract, visit)
                given = {key: found[key] for key in ("day", "answers")}
                made = {key: found[key] for key in ("refused", "reports", "spent")}
                digest = {"contract": contract.digest}
                steps.append({**digest, **given, "random": noise.digest().hex(), **made})
            first += _LATER
        contracts = {each.digest: each.contract() for each in (*before, answered)}
        rows = ledger_rows(folder)
        return {"contracts": contracts, "assignment": assignment, "steps": steps, **rows}


def _without_issuer(contracts: Sequence[Collection]) -> list[Collection]:
    """Return `contracts` with open admission in the place of an issuer, each naming the other."""
    found: list[Collection] = []
    for contract in contracts:
        made = contract
        if contract.issuer is not None:
            made = dataclasses.replace(contract, admission="open", issuer=None)
            if found:
                made = dataclasses.replace(made, previous=found[-1].digest)
        found.append(made)
    return found


def _assignment(folder: Path, collection: Collection) -> tuple[dict[str, Any] | None, int]:
    """Return what is drawn for the person by a sampling design, and the day of the first answer."""
    with Respondent(folder, today=lambda: _date(_DAY)) as device:
        try:
            drawn = device.assignment(collection)
        except InputError:  # of a contract that no device answers: each step says why
            return None, _DAY
    if collection.ask is None:
        return None, _DAY
    day = None if drawn.day is None else (drawn.day - _FIRST_DAY).days
    found = {"met": _DAY, "questions": list(drawn.questions), "day": day}
    return found, _DAY if day is None else day


def _date(day: int) -> datetime.date:
    return _FIRST_DAY + datetime.timedelta(days=day)


def _visits(collection: Collection, first: int, *, once: bool) -> Iterator[tuple[Visit, Keyed]]:
    """Yield visits of a person, with their noise: all questions `once`, or answers that change."""
    periods = [question.period_days or _LATER for question in collection.questions]
    days = (first, first, first + 1, first + max(periods))
    for turn, day in enumerate(days[:1] if once else days):
        for question in collection.questions:
            values = question.mechanism.edge_values()
            value = values[-1] if turn == 2 else values[0]
            noise = _seed("device vector", collection.digest, question.id, turn)
            invitation = INVITATION if collection.admission == "invited" else None
            answers = {question.id: value}
            yield Visit(day, answers, random=noise, invitation=invitation), noise


def open_folder(folder: Path, secret: bytes) -> Path:
    """Return `folder`, as the state of a device that has this `secret`."""
    write_secret(folder / "secret", secret)
    return folder


def answer(folder: Path, collection: Collection, visit: Visit) -> dict[str, Any]:
    """Return what the device in `folder` makes of a `visit`: reports and charges, or a refusal."""
    asked: list[CeilingIncrease] = []

    def consent(change: CeilingIncrease) -> bool:
        asked.append(change)
        return bool(visit.consent)

    with Respondent(
        folder,
        max_epsilon=visit.max_epsilon,
        consent=None if visit.consent is None else consent,
        today=lambda: _date(visit.day),
    ) as device:
        before = device.spent
        made: Sequence[PendingReport] = ()
        refused = None
        try:
            made = device.prepare(
                collection, visit.answers, random=visit.random, invitation=visit.invitation
            )
        except InputError as problem:
            refused = str(problem)
            assert device.spent == before
        return {
            "day": visit.day,
            "answers": visit.answers,
            "consent": visit.consent,
            "max_epsilon": visit.max_epsilon,
            "refused": refused,
            "asked": [{"spent": c.spent, "before": c.before, "after": c.after} for c in asked],
            "reports": {each.question: each.report.hex() for each in made},
            "spent": device.spent,
        }


def ledger_rows(folder: Path) -> dict[str, Any]:
    """Return the rows and pins of the ledger in `folder`, as JSON holds them."""
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as database:
        database.row_factory = sqlite3.Row
        answers = []
        for row in database.execute("SELECT * FROM answer ORDER BY number"):
            made = database.execute(
                "SELECT mechanism, reports FROM made WHERE answer = ? ORDER BY mechanism",
                (row["number"],),
            )
            names = ("series", "question", "round", "cell", "period", "epsilon")
            answers.append(
                {
                    **{name: row[name] for name in names},
                    "epoch": row["epoch"].hex(),
                    "tag": row["tag"].hex(),
                    "settled": None if row["settled"] is None else row["settled"].hex(),
                    "made": [dict(one) for one in made],
                }
            )
        pins = [_pin(row) for row in database.execute("SELECT * FROM pin ORDER BY series")]
    return {"answers": answers, "pins": pins}


def _pin(row: sqlite3.Row) -> dict[str, Any]:
    """Return a pin with its sender anonymity in one member, which leaves out what is None."""
    pin = dict(row)
    kept = {name: pin.pop(name) for name in _ANONYMITY}
    if pin["inherits"] is None:
        del pin["inherits"]
    told = {name: value for name, value in kept.items() if value is not None}
    return {**pin, "way": {**told, "blind": bool(kept["blind"])}}
