"""The questions and the day that a respondent is assigned: drawn from the secret, and kept.

The draw depends on the secret and on public values alone, never on an answer, so showing it costs
nothing. It is kept in the ledger before any question is shown: opening again, refusing to answer,
a new secret and a revision of the contract all find one assignment. If it were drawn again, people
could draw until they like their questions, and the respondents would be no random sample.

A draw is kept for its contract and for the revision that names that contract; it belongs to the
series once the contract is answered. So a contract that is merely opened, by any collector that
uses the series' name, changes no other draw.

A person's questions are those with the smallest keyed hashes; each question has its own hash, so a
revision that adds or drops a question leaves the others in place. The day is a keyed number below
`days`. A respondent who has answered keeps their day under every revision that includes it.
"""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rumor.contract.collection import Collection
from rumor.contract.sampling import SamplingDesign
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed

# A row with an empty contract belongs to the series: it was drawn and answered.
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
# Older draws belonged to the series from the start, without the day on which it was met.
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
class Assignment:
    """The questions that one person is asked, of how many, and on which day."""

    questions: tuple[str, ...]
    of: int
    day: datetime.date | None = None
    """The one day on which the person answers; None if any day will do."""
    days: int | None = None

    @classmethod
    def everything(cls, collection: Collection) -> Assignment:
        """Return all questions of `collection`, on any day."""
        ids = tuple(question.id for question in collection.questions)
        return cls(ids, len(ids))

    def in_words(self) -> str:
        """Say what the person is asked; empty if everything is asked on any day."""
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
        """Refuse any day but the assigned one, and name that."""
        if self.day is not None and today != self.day:
            over = "is over" if today > self.day else "has not come"
            raise InputError(
                f"this device answers on {self.day}, drawn at random from {self.days:,} days; "
                f"today is {today} in UTC, so its day {over}"
            )

    def check_question(self, id: str) -> None:
        """Refuse a question that was not drawn for this device."""
        if id not in self.questions:
            raise InputError(
                f"this device is asked {', '.join(map(repr, self.questions))} alone, drawn at "
                f"random from {self.of:,} questions; {id!r} was not drawn, and nothing is sent "
                f"about it"
            )


def rank_questions(secret: bytes, series: str, ids: Sequence[str]) -> list[str]:
    """Return `ids` in this person's fixed, uniformly drawn order."""
    return sorted(ids, key=lambda id: Keyed(secret, "rumor asked question 1", series, id).digest())


def draw_day(secret: bytes, series: str, days: int) -> int:
    """Return which of `days` days this person answers on, counted from 0."""
    return Keyed(secret, "rumor asked day 1", series, days).draws().below(days)


class AssignmentTable:
    """The tables of a ledger that keep what was drawn for the person."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    def assignment(
        self, secret: bytes, collection: Collection, today: datetime.date, scope: str
    ) -> Assignment:
        """Return the person's assignment under `collection`: as kept for `scope`, or drawn now."""
        whole, ask = Assignment.everything(collection), collection.ask
        if ask is None:
            return whole
        ids = whole.questions
        mine = self._questions(secret, collection, ids, ask, scope)
        # In the contract's order: the order of the draw has no use.
        asked = tuple(id for id in ids if id in mine)
        day = self._day(secret, collection, ask, today, scope)
        return Assignment(asked, len(ids), day, ask.days)

    def adopt_draws(self, collection: Collection, scope: str) -> None:
        """Make the draws for a contract the scope's own, since the contract was answered."""
        for table, columns in (("drawn", "question"), ("drawn_day", "days, starts, met, day")):
            self._database.execute(
                f"INSERT OR IGNORE INTO {table} (series, contract, {columns})"
                f" SELECT ?, '', {columns} FROM {table}"
                f" WHERE series IN (?, ?) AND contract = ? ORDER BY number",
                (scope, scope, collection.series, collection.digest),
            )

    def _kept_rows(
        self, table: str, columns: str, collection: Collection, scope: str
    ) -> list[tuple[Any, ...]]:
        """Return the kept rows of `scope`, then those of the contract and of its predecessor.

        A contract that was opened before another collector's was answered has its rows under
        the name of the series, as the first one's are.
        """
        return self._database.execute(
            f"SELECT {columns} FROM {table} WHERE series = ? AND contract = ''"
            f" OR series IN (?, ?) AND contract IN (?, ?) ORDER BY contract != '', number",
            (scope, scope, collection.series, collection.digest, collection.previous),
        ).fetchall()

    def _questions(
        self,
        secret: bytes,
        collection: Collection,
        ids: Sequence[str],
        ask: SamplingDesign,
        scope: str,
    ) -> set[str]:
        if ask.questions is None:
            return set(ids)
        rows = self._kept_rows("drawn", "question", collection, scope)
        # A drawn question stays drawn, whatever a revision adds.
        kept = [id for (id,) in dict.fromkeys(rows) if id in ids]
        others = [id for id in rank_questions(secret, collection.series, ids) if id not in kept]
        mine = [*kept, *others][: ask.questions]
        self._database.executemany(
            "INSERT OR IGNORE INTO drawn (series, contract, question) VALUES (?, ?, ?)",
            [(scope, collection.digest, id) for id in mine],
        )
        return set(mine)

    def _day(
        self,
        secret: bytes,
        collection: Collection,
        ask: SamplingDesign,
        today: datetime.date,
        scope: str,
    ) -> datetime.date | None:
        if ask.days is None:
            return None
        span = (ask.days, "" if ask.starts is None else ask.starts.isoformat())
        read = datetime.date.fromisoformat
        rows = self._kept_rows("drawn_day", "contract, days, starts, met, day", collection, scope)
        own = [(read(met), read(day)) for contract, *_, met, day in rows if not contract]
        met = own[0][0] if own else today
        # The day of an earlier answer stays, if it is one of the days.
        for _, day in own:
            if 0 <= (day - ask.day(0, met)).days < ask.days:
                return day
        drawn = (met, ask.day(draw_day(secret, collection.series, ask.days), met))
        same = [(read(then), read(day)) for of, *at, then, day in rows if of and (*at,) == span]
        met, day = [*same, drawn][0]
        self._database.execute(
            "INSERT OR IGNORE INTO drawn_day (series, contract, days, starts, met, day)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (scope, collection.digest, *span, met.isoformat(), day.isoformat()),
        )
        return day
