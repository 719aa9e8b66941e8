"""Which rows of each person become reports: every rule against loops over rows in plain Python."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import rumor
from rumor.contract import person_rows
from rumor.contract.collection import Collection, Question
from rumor.contract.person_rows import (
    MAX_CAP,
    People,
    PersonRule,
    count_reports,
    largest_loss,
    repeated_id_column,
)
from rumor.core import table_files
from rumor.core.answer_table import DROP, ERROR, AnswerTable
from rumor.core.day_columns import DayColumn

ASKED = Collection.resolve(
    {
        "name": "A",
        "series": "a",
        "contact": "c",
        "questions": [
            {"id": "answer", "kind": "choice", "labels": ["x", "y", "z", "none"], "epsilon": 1.5,
             "mechanism": "randomized-response", "reports_per_person": 5}
        ],
    }
)  # fmt: skip
FIRST = datetime.date(2026, 3, 2)  # a Monday


@dataclass(frozen=True)
class Row:
    """A row of a table: whose it is, its day, its answer (None: none) and its place."""

    person: str
    day: datetime.date
    answer: str | None
    place: int

    def period(self, every: str | None) -> object:
        """Return the period that the row lies in."""
        if every is None:
            return 0
        return {"day": self.day, "week": self.day.isocalendar()[:2], "month": self.day.month}[every]


def rows(seed: int) -> list[Row]:
    """Return some rows of few people, whose days are not in order."""
    chance = random.Random(seed)
    return [
        Row(
            f"p{chance.randrange(4)}",
            FIRST + datetime.timedelta(chance.randrange(35)),
            chance.choice(["x", "y", "z", None]),
            place,
        )
        for place in range(chance.randrange(1, 25))
    ]


def table_of(some: list[Row], missing: str = ERROR) -> AnswerTable:
    """Return rows as a table."""
    columns = {
        "who": [row.person for row in some],
        "day": [row.day for row in some],
        "answer": pa.array([row.answer for row in some], pa.string()),
        "place": [str(row.place) for row in some],
    }
    return AnswerTable.of(pa.table(columns), missing=missing)


def expected(
    some: list[Row], rule: PersonRule, missing: str, allowed: dict[str, int]
) -> list[tuple[int, str | None, int]]:
    """Return the place of each report's row, its answer, and the row that the answer is of."""
    together, turn = rule.each in ("most", "sum"), -1 if rule.each == "last" else 1
    looks = together or missing == DROP  # an answer that is missing counts as a last resort

    def is_last_resort(row: Row) -> bool:
        return looks and row.answer is None

    groups: dict[tuple[str, object], list[Row]] = {}
    for row in some:
        groups.setdefault((row.person, row.period(rule.every)), []).append(row)
    kept: dict[str, list[Row]] = {}
    for (person, _), own in groups.items():
        own = sorted(own, key=lambda row: (is_last_resort(row), turn * row.place))
        kept.setdefault(person, []).extend(own[: 1 if rule.every else rule.cap])
    chosen: list[Row] = []
    for person, own in kept.items():
        # In which period, or else at which place.
        own = sorted(
            own,
            key=lambda row: (
                is_last_resort(row),
                turn * (row.day.toordinal() if rule.every else row.place),
            ),
        )
        own = own[: allowed[person]]
        chosen += own[:1] + [row for row in own[1:] if not is_last_resort(row)]
    found: list[tuple[int, str | None, int]] = []
    for row in sorted(chosen, key=lambda row: row.place):
        answer, origin = row.answer, row
        if rule.each == "most":
            own = groups[row.person, row.period(rule.every)]
            counts = Counter(o.answer for o in own if o.answer is not None or missing == "none")
            best = max(counts.values(), default=0)
            origin = next((o for o in own if counts[o.answer] == best), row)
            answer = origin.answer
        if answer is None and missing == DROP:
            continue
        found.append((row.place, "none" if answer is None else answer, origin.place))
    return found


RULES = [
    *(PersonRule("who", each, cap) for each in ("first", "last") for cap in (1, 2, 3)),
    PersonRule("who", "most"),
    *(
        PersonRule("who", each, cap, every)
        for each, cap, every in (
            ("first", 1, "day"),
            ("first", 2, "week"),
            ("last", 2, "week"),
            ("last", 1, "month"),
            ("most", 2, "week"),
            ("most", 3, "month"),
        )
    ),
]


@pytest.mark.parametrize("missing", [ERROR, DROP, "none"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_rows_of_a_rule_are_those_of_loops(rule: PersonRule, missing: str) -> None:
    question = ASKED.question()
    for seed in range(12):
        some = rows(seed)
        if missing == ERROR:
            some = [Row(r.person, r.day, r.answer or "x", r.place) for r in some]
        table = table_of(some, missing)
        people = People.of(table, rule, DayColumn("day"))
        chance = random.Random(seed)
        allowed = {name: chance.randrange(4) for name in people.names.to_pylist()}
        picked = people.select(table, question, np.array(list(allowed.values())))
        found = [
            (int(place), answer)
            for batch in picked.answered_batches(["answer", "place"])
            for answer, place in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        ]
        wanted = expected(some, rule, missing, allowed)
        assert found == [(place, answer) for place, answer, _ in wanted]
        origins = [picked.original_row(place) for place in range(len(found))]
        assert origins == [origin for *_, origin in wanted]
        made = Counter(some[place].person for place, *_ in wanted)
        counts = people.made[count_reports(question)].tolist()
        assert dict(zip(people.names.to_pylist(), counts, strict=True)) == {
            name: made[name] for name in allowed
        }


def test_what_people_may_still_make_is_what_all_limits_leave() -> None:
    """The rule's cap, the question's reports and the series' limit, after unequal files."""
    question = ASKED.question()
    other = Question(
        "other", "choice", "", rumor.RandomizedResponse(domain=2, epsilon=0.3), 9, None
    )
    table = table_of([Row(f"p{i}", FIRST, "x", i) for i in range(5)])
    before, of_others = np.array([0, 1, 4, 5, 6]), np.array([10, 0, 1, 2, 3])
    for cap in (1, 2, 4):
        for limit in (None, 0.5, 3.0, 7.5, 9.0, 1e9):
            people = People.of(table, PersonRule("who", cap=cap))
            people.before = {count_reports(question): before, ("other", 1, 0.3): of_others}
            # What was made of a question in another round, and at another epsilon.
            people.before["answer", 2, 0.25] = np.array([1, 1, 1, 1, 1])
            people.before["answer", 1, 0.75] = np.array([1, 0, 0, 0, 0])
            made = {count_reports(other): np.array([0, 1, 0, 0, 0])}
            people.made = dict(made)
            wanted = []
            for i in range(5):
                spent = Fraction(question.epsilon) * int(before[i])
                spent += Fraction(0.3) * int(of_others[i]) + Fraction(0.25)
                spent += Fraction(0.75) * (i == 0) + Fraction(other.epsilon) * (i == 1)
                left = 5 - int(before[i]) - (i == 0)
                if limit is not None:
                    left = min(left, int((Fraction(limit) - spent) / Fraction(question.epsilon)))
                wanted.append(max(0, min(cap, left)))
            assert people.allowances(question, limit).tolist() == wanted
            assert people.barred == {"answer": wanted.count(0)}
            asked = np.array([True, False, True, True, False])
            assert people.allowances(question, limit, asked).tolist() == [
                left * here for left, here in zip(wanted, asked.tolist(), strict=True)
            ]
            barred = sum(not left and here for left, here in zip(wanted, asked, strict=True))
            assert people.barred == {"answer": barred}
    # Nobody made anything: the limit alone counts, up to what can be counted.
    fresh = People.of(table, PersonRule("who", cap=4))
    assert fresh.allowances(question, 4.6).tolist() == [3] * 5
    assert fresh._affordable(Fraction(10**9), 1e-6).tolist() == [MAX_CAP] * 5


def test_the_largest_loss_is_that_of_one_person_over_all_tables() -> None:
    one = {("a", 1, 0.1): np.array([3, 0, 1]), ("b", 1, 1.0): np.array([0, 1, 1])}
    two = {("a", 1, 0.1): np.array([0, 0, 7]), ("c", 2, 50.0): np.array([0, 0, 0])}
    exact = Fraction(0.1) * 8 + 1
    found = largest_loss(one, two)
    assert Fraction(found) >= exact > Fraction(np.nextafter(found, 0))
    assert largest_loss({}) == largest_loss({("a", 1, 2.0): np.zeros(3, dtype=np.int64)}) == 0.0
    assert largest_loss({("a", 1, 2.0): np.array([0, 2])}) == 4.0


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (PersonRule("w"), "the first row of each person"),
        (PersonRule("w", "last"), "the last row of each person"),
        (PersonRule("w", "most"), "the most frequent answer of each person"),
        (PersonRule("w", "sum"), "the sum of each person"),
        (PersonRule("w", "last", 2), "the last 2 rows of each person"),
        (PersonRule("w", "first", 1234), "the first 1,234 rows of each person"),
        (
            PersonRule("w", "most", 1234, "week"),
            "the most frequent answer of each person and week, at most 1,234 for a person",
        ),
    ],
)
def test_a_rule_is_said_in_words(rule: PersonRule, words: str) -> None:
    assert rule.sentence() == words


def test_people_with_several_rows_are_found_wherever_those_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_files, "_BATCH_ROWS", 10)
    monkeypatch.setattr(person_rows, "_LOOKED_AT", 40)

    def found(again: int) -> str | None:
        names: list[str | None] = [f"u{i}" for i in range(100)]
        names[again], names[3], names[4] = "u0", None, ""
        return repeated_id_column(AnswerTable.of({"user_id": names, "answer": ["x"] * 100}), [])

    assert [found(again) for again in (1, 9, 10, 35)] == ["user_id"] * 4
    # Two cells are blank, so a batch more is needed for 40 names.
    assert [found(again) for again in (49, 50, 99)] == ["user_id", None, None]
    table = AnswerTable.of({"user_id": ["a", "a"], "id": ["b", "b"], "x": ["c", "c"]})
    assert repeated_id_column(table, []) == "user_id"
    assert repeated_id_column(table, ["user_id"]) == "id"
    assert repeated_id_column(table, ["user_id", "id"]) is None
    lists = AnswerTable.of(pa.table({"id": [[1], [1]], "uid": ["a", "a"]}))
    assert repeated_id_column(lists, []) == "uid"


def test_who_reads_people_is_told_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "_BATCH_ROWS", 10)
    told: list[int] = []
    table = AnswerTable.of({"who": [f"u{i % 7}" for i in range(25)]})
    people = People.of(table, PersonRule("who"), on_progress=told.append)
    assert told == [10, 20, 25]
    assert (len(people), people.rows) == (7, 25)
    picked = people.first_rows(table)
    assert [cell for batch in picked.batches(["who"]) for cell in batch.column(0).to_pylist()] == [
        f"u{i}" for i in range(7)
    ]
