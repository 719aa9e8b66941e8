"""The crowd of one kind: a contract, people with unequal groups and days, and their reports.

Everything follows from fixed keys, so that a client in another language draws the same bytes.
Answers depend on the group and on the day, so that no two of them can be mistaken for each other.
"""

from __future__ import annotations

import datetime
import functools
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.contract.deletion import report_id
from rumor.core.randomness import Keyed
from rumor.core.reports import Reports
from rumor.kinds import KINDS
from rumor.kinds.base import Kind
from rumor.mechanisms.summary import Summary

SECRET = bytes(range(32))
ASKED, BESIDE = "asked", "beside"
"""The question that is looked at, and another one, whose reports must never be counted with it."""
DAYS = tuple(datetime.date(2026, 2, 27) + datetime.timedelta(days=n) for n in range(5))
"""From one month into the next, unequally busy; the second to the fourth are a window."""
WINDOW = DAYS[1], DAYS[3]
PERIODS = (DAYS[0], DAYS[1]), (DAYS[2], DAYS[4])
GROUPS = ("DE", "FR", "IT")
PEOPLE, OTHERS = 160, 31
_DAY_SHARES = (0.3, 0.2, 0.15, 0.25, 0.1)
_GROUP_SHARES = (0.5, 0.3, 0.2)
FIRST_SHARE = 0.4
"""How many of the people are in the first of two files or sources."""


_MILDER = 0.8


def contract_of(kind: Kind[Any], series: str = "joins", **more: object) -> Collection:
    """Two questions of a kind that differ in nothing but epsilon."""
    questions = [_question(kind, ASKED, 1.0), _question(kind, BESIDE, 0.75)]
    return Collection.resolve({**_names(series), "questions": questions, **more})


def revised(contract: Collection) -> Collection:
    """The contract's revision, whose first question has another epsilon."""
    asked, beside = contract.questions
    milder = replace(asked, mechanism=_milder(KINDS[asked.kind]))
    return replace(contract, questions=(milder, beside), revision=2, previous=contract.digest)


@functools.cache
def _milder(kind: Kind[Any]) -> Any:
    questions = [_question(kind, ASKED, _MILDER)]
    return Collection.resolve({**_names("joins"), "questions": questions}).question().mechanism


def _names(series: str) -> dict[str, object]:
    return {"name": "Joins", "series": series, "contact": "a@b.example"}


def _question(kind: Kind[Any], id: str, factor: float) -> dict[str, object]:
    """The example of a kind, with so many times its epsilon."""
    wish = dict(kind.example().spec)
    epsilon: Any = wish["epsilon"]
    # Else the series would decide how words are hashed.
    key = {"key": "joins"} if "key" in kind.keys else {}
    about = {"id": id, "kind": kind.name, "text": "What?"}
    return {**about, **wish, **key, "epsilon": epsilon * factor}


@dataclass(frozen=True)
class Crowd:
    """Reports to one question, a row each: ids, bytes, days and groups."""

    question: Question
    keys: tuple[bytes, ...]
    reports: Reports
    days: NDArray[np.int64]
    groups: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.keys)

    @functools.cached_property
    def ids(self) -> Reports:
        """What names each report; only its key takes it back."""
        names = b"".join(report_id(key) for key in self.keys)
        return np.frombuffer(names, np.uint8).reshape(-1, 16)

    @property
    def records(self) -> Reports:
        """Ids and reports, as they travel."""
        return np.concatenate([self.ids, self.reports], axis=1)

    def where(self, chosen: NDArray[np.bool_]) -> Crowd:
        """Some of the rows."""
        keys = tuple(key for key, is_in in zip(self.keys, chosen, strict=True) if is_in)
        return Crowd(
            self.question, keys, self.reports[chosen], self.days[chosen], self.groups[chosen]
        )

    def renamed(self, salt: str) -> Crowd:
        """The same reports by other keys: in a store an id names one report, of one collection."""
        keys = tuple(hashlib.sha256(salt.encode() + key).digest()[:16] for key in self.keys)
        return replace(self, keys=keys)

    def plus(self, other: Crowd) -> Crowd:
        """These rows and others."""
        return Crowd(
            self.question,
            (*self.keys, *other.keys),
            np.concatenate([self.reports, other.reports]),
            np.concatenate([self.days, other.days]),
            np.concatenate([self.groups, other.groups]),
        )

    def within(self, window: tuple[datetime.date, datetime.date]) -> Crowd:
        """The rows of these days."""
        days = np.array([day.toordinal() for day in DAYS])[self.days]
        return self.where((days >= window[0].toordinal()) & (days <= window[1].toordinal()))

    def by(self, column: str) -> dict[str, Crowd]:
        """The rows of each group, or of each day, by its name."""
        names = [str(day) for day in DAYS] if column == "day" else list(GROUPS)
        codes = self.days if column == "day" else self.groups
        return {name: self.where(codes == i) for i, name in enumerate(names) if (codes == i).any()}

    def halves(self) -> tuple[Crowd, Crowd]:
        """The rows of two sources, the first the smaller; who is in which is their key's alone."""
        first = np.array([key[0] < 256 * FIRST_SHARE for key in self.keys])
        return self.where(first), self.where(~first)

    def summary(self, contract: Collection) -> Summary:
        """The counts of these reports, a report at a time."""
        empty = Summary.empty(
            self.question.mechanism, contract=contract.digest, question=self.question.id
        )
        return empty.update(self.reports) if len(self) else empty


@functools.cache
def crowd_of(name: str, id: str = ASKED, revision: int = 1, people: int = PEOPLE) -> Crowd:
    """The crowd of a kind, by fixed keys."""
    kind = KINDS[name]
    question = contract_of(kind).question(id)
    if revision == 2 and id == ASKED:
        question = replace(question, mechanism=_milder(kind))
    texts, days, groups = answers_of(name, id, revision, people)
    mechanism = question.mechanism
    rows = [
        mechanism.report(kind.parse_answer(mechanism, text), random=Keyed(SECRET, *context))
        for text, context in zip(texts, contexts(name, id, revision, people), strict=True)
    ]
    reports = np.frombuffer(b"".join(rows), np.uint8).reshape(people, mechanism.width)
    keys = tuple(
        hashlib.sha256(f"key {name} {id} {revision} {n}".encode()).digest()[:16]
        for n in range(people)
    )
    return Crowd(question, keys, reports, days, groups)


def contexts(name: str, id: str, revision: int, people: int) -> list[tuple[str, str, int, int]]:
    """What each person's noise is drawn by, beside the secret."""
    return [(name, id, revision, n) for n in range(people)]


@functools.cache
def answers_of(
    name: str, id: str, revision: int, people: int
) -> tuple[Sequence[str], NDArray[np.int64], NDArray[np.int64]]:
    """What people would type, on which day, and of which group they are."""
    seed = hashlib.sha256(f"answers {name} {id} {revision}".encode()).digest()
    chance = np.random.default_rng(int.from_bytes(seed[:8], "big"))
    days = _dealt(_DAY_SHARES, people)
    groups = chance.permutation(_dealt(_GROUP_SHARES, people))
    typed = KINDS[name].example().typed_answers
    # Most people hold the answer of their group, unless the day brings another one.
    usual = (groups + (days >= 3)) % len(typed)
    other = chance.integers(0, len(typed), people)
    held = np.where(chance.random(people) < 0.5, usual, other)
    return [typed[i] for i in held], days, groups


def _dealt(shares: Sequence[float], people: int) -> NDArray[np.int64]:
    """So many of each number as its share says; the first has what is left."""
    sizes = [int(share * people) for share in shares]
    sizes[0] += people - sum(sizes)
    return np.repeat(np.arange(len(shares)), sizes)


def options_of(kind: Kind[Any]) -> Mapping[str, Any]:
    """What an estimate of the kind must be told: words, where it looks for some."""
    return kind.collector_options(kind.example().words)
