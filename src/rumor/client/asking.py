"""Which questions a person is asked, and on which day: drawn from the secret, and kept.

The draw looks at the secret and at public things alone, never at an answer, so nothing is lost
by showing it. It is kept in the ledger before any question is shown: opening again, refusing to
answer, a new secret and a revision of the contract all find the same questions. Were it drawn
anew, people would draw until they like what they are asked, and the crowd would no longer be one.

A person's questions are those of the smallest keyed hashes; each of the questions has its own,
so a revision that adds or drops one moves nobody else. The day is a keyed number below `days`.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed

SCHEMA = """
CREATE TABLE drawn (
    number INTEGER PRIMARY KEY, series TEXT NOT NULL, question TEXT NOT NULL,
    UNIQUE (series, question)
);
CREATE TABLE drawn_day (
    series TEXT NOT NULL, days INTEGER NOT NULL, starts TEXT NOT NULL, day TEXT NOT NULL,
    PRIMARY KEY (series, days, starts)
) WITHOUT ROWID;
"""


@dataclass(frozen=True)
class Asked:
    """What one person is asked: these of so many questions, and on which day."""

    questions: tuple[str, ...]
    of: int
    day: datetime.date | None = None
    """The one day on which they answer; None where any will do."""
    days: int | None = None

    @classmethod
    def everything(cls, collection: Collection) -> Asked:
        """All questions, on any day."""
        ids = tuple(question.id for question in collection.questions)
        return cls(ids, len(ids))

    def in_words(self) -> str:
        """What the person is told of it; empty where everything is asked on any day."""
        words = []
        if len(self.questions) < self.of:
            words.append(
                f"You are asked {len(self.questions):,} of {self.of:,} questions, drawn at random "
                f"on this device; nothing is sent about the others."
            )
        if self.day is not None:
            words.append(
                f"You answer on one of {self.days:,} days, drawn at random on this device: "
                f"{self.day}."
            )
        return " ".join(words)

    def check_today(self, today: datetime.date) -> None:
        """Refuse any other day than the one that was drawn, and say which it is."""
        if self.day is not None and today != self.day:
            over = "is over" if today > self.day else "has not come"
            raise InputError(
                f"this device answers on {self.day}, drawn at random from {self.days:,} days; "
                f"today is {today} in UTC, so its day {over}"
            )

    def check_question(self, id: str) -> None:
        """Refuse a question that was not drawn."""
        if id not in self.questions:
            raise InputError(
                f"this device is asked {', '.join(map(repr, self.questions))} alone, drawn at "
                f"random from {self.of:,} questions; {id!r} was not drawn, and nothing is sent "
                f"about it"
            )


def ranked(secret: bytes, series: str, ids: Sequence[str]) -> list[str]:
    """The questions in the order in which this person draws them: uniform, and for ever."""
    return sorted(ids, key=lambda id: Keyed(secret, "rumor asked question 1", series, id).digest())


def day_number(secret: bytes, series: str, days: int) -> int:
    """Which of so many days this person answers on, counted from 0."""
    return Keyed(secret, "rumor asked day 1", series, days).draws().below(days)


class Drawn:
    """What a ledger keeps of what was drawn."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def asked(self, secret: bytes, collection: Collection, today: datetime.date) -> Asked:
        """What this person is asked under a contract: as kept, or drawn and kept now."""
        whole, ask = Asked.everything(collection), collection.ask
        if ask is None:
            return whole
        ids = whole.questions
        mine = self._questions(secret, collection.series, ids, ask)
        # In the order of the contract: the order of the draw is of no use to anybody.
        asked = tuple(id for id in ids if id in mine)
        return Asked(asked, len(ids), self._day(secret, collection.series, ask, today), ask.days)

    def _questions(self, secret: bytes, series: str, ids: Sequence[str], ask: Ask) -> set[str]:
        if ask.questions is None:
            return set(ids)
        rows = self._database.execute(
            "SELECT question FROM drawn WHERE series = ? ORDER BY number", (series,)
        )
        # What was drawn once stays drawn, whatever a revision adds.
        kept = [id for (id,) in rows if id in ids]
        others = [id for id in ranked(secret, series, ids) if id not in kept]
        mine = [*kept, *others][: ask.questions]
        self._database.executemany(
            "INSERT OR IGNORE INTO drawn (series, question) VALUES (?, ?)",
            [(series, id) for id in mine],
        )
        return set(mine)

    def _day(
        self, secret: bytes, series: str, ask: Ask, today: datetime.date
    ) -> datetime.date | None:
        if ask.days is None:
            return None
        key = (series, ask.days, "" if ask.starts is None else ask.starts.isoformat())
        found = self._database.execute(
            "SELECT day FROM drawn_day WHERE (series, days, starts) = (?, ?, ?)", key
        ).fetchone()
        if found is not None:
            return datetime.date.fromisoformat(found[0])
        day = ask.day(day_number(secret, series, ask.days), today)
        self._database.execute("INSERT INTO drawn_day VALUES (?, ?, ?, ?)", (*key, day.isoformat()))
        return day
