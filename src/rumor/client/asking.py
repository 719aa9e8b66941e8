"""Which questions a person is asked, and on which day: drawn from the secret, and kept.

The draw looks at the secret and at public things alone, never at an answer, so nothing is lost
by showing it. It is kept in the ledger before any question is shown: opening again, refusing to
answer, a new secret and a revision of the contract all find the same questions. Were it drawn
anew, people would draw until they like what they are asked, and the crowd would no longer be one.

A draw is kept of the contract that it was made for, and goes on to the revision that names that
contract; it becomes the series' own when the contract is answered. So a contract that is merely
opened, of whoever took the same name, moves no draw of another one.

A person's questions are those of the smallest keyed hashes; each of the questions has its own,
so a revision that adds or drops one moves nobody else. The day is a keyed number below `days`.
Whoever has answered keeps their day under every revision whose days it is one of.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rumor.contract.asking import Ask
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed

# The contract is empty in what the series has drawn and answered.
SCHEMA = """
CREATE TABLE drawn (
    number INTEGER PRIMARY KEY, series TEXT NOT NULL, contract TEXT NOT NULL,
    question TEXT NOT NULL, UNIQUE (series, contract, question)
);
CREATE TABLE drawn_day (
    number INTEGER PRIMARY KEY, series TEXT NOT NULL, contract TEXT NOT NULL,
    days INTEGER NOT NULL, starts TEXT NOT NULL, met TEXT NOT NULL, day TEXT NOT NULL,
    UNIQUE (series, contract, days, starts)
);
"""
# Older draws were the series' own from the start, and did not say when it was met.
FROM_4 = f"""
ALTER TABLE drawn RENAME TO old_drawn;
ALTER TABLE drawn_day RENAME TO old_day;
{SCHEMA}
INSERT INTO drawn (series, contract, question)
    SELECT series, '', question FROM old_drawn ORDER BY number;
INSERT INTO drawn_day (series, contract, days, starts, met, day)
    SELECT series, '', days, starts, CASE starts WHEN '' THEN day ELSE starts END, day
    FROM old_day;
DROP TABLE old_drawn;
DROP TABLE old_day;
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
                f"on this device; as the collection stands, nothing is sent about the others."
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

    def asked(
        self, secret: bytes, collection: Collection, today: datetime.date, scope: str
    ) -> Asked:
        """What this person is asked under a contract: as kept for a scope, or drawn now."""
        whole, ask = Asked.everything(collection), collection.ask
        if ask is None:
            return whole
        ids = whole.questions
        mine = self._questions(secret, collection, ids, ask, scope)
        # In the order of the contract: the order of the draw is of no use to anybody.
        asked = tuple(id for id in ids if id in mine)
        day = self._day(secret, collection, ask, today, scope)
        return Asked(asked, len(ids), day, ask.days)

    def answered(self, collection: Collection, scope: str) -> None:
        """Make what was drawn for a contract its collector's own: it was answered."""
        for table, columns in (("drawn", "question"), ("drawn_day", "days, starts, met, day")):
            self._database.execute(
                f"INSERT OR IGNORE INTO {table} (series, contract, {columns})"
                f" SELECT ?, '', {columns} FROM {table}"
                f" WHERE series IN (?, ?) AND contract = ? ORDER BY number",
                (scope, scope, collection.series, collection.digest),
            )

    def _kept(
        self, table: str, columns: str, collection: Collection, scope: str
    ) -> list[tuple[Any, ...]]:
        """Rows of the scope first, then those of the contract and of the one that it revises.

        A contract that was opened before another collector's was answered has its rows under
        the name of the series, as the first one's are.
        """
        return self._database.execute(
            f"SELECT {columns} FROM {table} WHERE series = ? AND contract = ''"
            f" OR series IN (?, ?) AND contract IN (?, ?) ORDER BY contract != '', number",
            (scope, scope, collection.series, collection.digest, collection.previous),
        ).fetchall()

    def _questions(
        self, secret: bytes, collection: Collection, ids: Sequence[str], ask: Ask, scope: str
    ) -> set[str]:
        if ask.questions is None:
            return set(ids)
        rows = self._kept("drawn", "question", collection, scope)
        # What was drawn once stays drawn, whatever a revision adds.
        kept = [id for (id,) in dict.fromkeys(rows) if id in ids]
        others = [id for id in ranked(secret, collection.series, ids) if id not in kept]
        mine = [*kept, *others][: ask.questions]
        self._database.executemany(
            "INSERT OR IGNORE INTO drawn (series, contract, question) VALUES (?, ?, ?)",
            [(scope, collection.digest, id) for id in mine],
        )
        return set(mine)

    def _day(
        self, secret: bytes, collection: Collection, ask: Ask, today: datetime.date, scope: str
    ) -> datetime.date | None:
        if ask.days is None:
            return None
        span = (ask.days, "" if ask.starts is None else ask.starts.isoformat())
        read = datetime.date.fromisoformat
        rows = self._kept("drawn_day", "contract, days, starts, met, day", collection, scope)
        own = [(read(met), read(day)) for contract, *_, met, day in rows if not contract]
        met = own[0][0] if own else today
        # A day that was answered on stays the day wherever it can be.
        for _, day in own:
            if 0 <= (day - ask.day(0, met)).days < ask.days:
                return day
        drawn = (met, ask.day(day_number(secret, collection.series, ask.days), met))
        same = [(read(then), read(day)) for of, *at, then, day in rows if of and (*at,) == span]
        met, day = [*same, drawn][0]
        self._database.execute(
            "INSERT OR IGNORE INTO drawn_day (series, contract, days, starts, met, day)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (scope, collection.digest, *span, met.isoformat(), day.isoformat()),
        )
        return day
