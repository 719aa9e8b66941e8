"""The contract between the people asked, the collector and the analyst.

A TOML file says what is wanted; opening it resolves everything once (mechanisms and their
integer thresholds), and the resolved canonical JSON is the contract: what is stored,
served and digested. Two files that mean the same have the same digest. The expected
number of `users` guides the resolution and is not part of what is promised.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from rumor.contract.asking import Ask, checked_ask, dearest, how_many, people_each
from rumor.contract.issuing import Issuer, checked_issuer
from rumor.contract.linking import Linked, checked_linked
from rumor.contract.relay import Relay, checked_relay
from rumor.contract.way import Way
from rumor.core.canonical import Json, canonical_json
from rumor.core.checks import (
    checked_choice,
    checked_size,
    checked_slug,
    checked_text,
    exact_keys,
    exact_text,
    known_keys,
)
from rumor.core.errors import InputError, format_value
from rumor.core.files import readable, write_whole
from rumor.kinds import KINDS
from rumor.kinds.base import Kind
from rumor.mechanisms import Mechanism, from_description

VERSION = 1
_MAX_USERS = 10**12
_MAX_REPORTS = 1_000_000
_MAX_DAYS = 36_525

# Who may answer: anybody, or whoever has an invitation; with tokens that whoever made the
# invitations can trace, or that nobody can.
ADMISSIONS = ("open", "invited", "blind")
# Which permanent answer a report shows: that of the person's value, or that of the first value
# they gave in the period, whatever it is by now.
MEMOS = ("value", "period")
_LIMITS = ("reports_per_person", "retention_days")
_MAX_REVISION = 1_000_000
_MAX_SERIES_EPSILON = 1e9
_DIGEST = re.compile("[0-9a-f]{64}")

# What a contract says only where it is not this, so that most contracts say nothing of it.
_USUAL: Mapping[str, object] = {
    "admission": ADMISSIONS[0],
    "revision": 1,
    "previous": None,
    "series_epsilon": None,
    "ask": None,
    "linked": None,
    "issuer": None,
    "relay": None,
}
_USUAL_QUESTION: Mapping[str, object] = {"memo": MEMOS[0], "period_days": None}
# Of what is no plain data already, how a contract says it.
_PLAIN: Mapping[str, Callable[[Any], Json]] = {
    "ask": Ask.contract,
    "linked": list,
    "issuer": Issuer.contract,
    "relay": Relay.contract,
}
_COLLECTION_KEYS = ("name", "series", "contact", "users", *_USUAL, "questions")


@dataclass(frozen=True, eq=False)
class Question:
    """One question, resolved: what is asked, how it is randomised, how long it is kept."""

    id: str
    kind: str
    text: str
    mechanism: Mechanism
    reports_per_person: int
    retention_days: int | None
    memo: str = MEMOS[0]
    period_days: int | None = None
    """How long the first answer of a period stands, with memo "period"."""
    column: str | None = None
    """What tables call it, where that is not its id; no part of the contract."""

    @property
    def labels(self) -> tuple[str, ...] | None:
        """What the values are called, or None when they have no names."""
        return self.mechanism.labels

    @property
    def epsilon(self) -> float:
        """The exact privacy loss of one report."""
        return self.mechanism.epsilon

    @property
    def reports_in_all(self) -> int:
        """How many reports one person may send, all rounds included."""
        return self.reports_per_person * self.mechanism.rounds

    @property
    def epsilon_total(self) -> float:
        """What all the reports of one person cost, all rounds included, their value unchanged."""
        return self.mechanism.epsilon_all_rounds(self.reports_per_person)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.contract() == other.contract()

    def __hash__(self) -> int:
        return hash(canonical_json(self.contract()))

    def contract(self) -> dict[str, Json]:
        """The resolved question as plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "text": self.text,
            **KINDS[self.kind].contract_fields(self.mechanism),
            "epsilon": self.epsilon,
            "mechanism": self.mechanism.describe(),
            "reports_per_person": self.reports_per_person,
            "retention_days": self.retention_days,
            **_unusual(self, _USUAL_QUESTION),
        }


@dataclass(frozen=True, eq=False)
class Collection:
    """A frozen contract: its questions, and the digest that everyone compares."""

    name: str
    series: str
    contact: str
    questions: tuple[Question, ...]
    admission: str = "open"
    revision: int = 1
    previous: str | None = None
    """The digest of the contract that this one revises."""
    series_epsilon: float | None = None
    """What the whole series may cost one person at most, all revisions together, where said."""
    ask: Ask | None = None
    """How few of the questions and days each person is asked, where it is not all of them."""
    linked: Linked | None = None
    """Two questions whose reports of one person may be joined, where that was said."""
    issuer: Issuer | None = None
    """Who signs the tokens that admit reports, where it does so blindly."""
    relay: Relay | None = None
    """Who passes reports on, where they do not go to the collector directly."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A collection from a .toml file (what is wanted) or a .json file (a contract)."""
        file = Path(path)
        if file.suffix not in (".toml", ".json"):
            raise InputError(f"a collection file must end in .toml or .json; got {str(file)!r}")
        with readable("a collection file", file):
            text = file.read_text(encoding="utf-8")
        try:
            return cls.from_toml(text) if file.suffix == ".toml" else cls.from_json(text)
        except InputError as problem:
            raise InputError(f"{file}: {problem}") from None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Resolve a collection written in TOML."""
        try:
            wish = tomllib.loads(text)
        except ValueError as problem:  # of TOML, or of an integer of thousands of digits
            raise InputError(f"a collection must be valid TOML; {problem}") from None
        return cls.resolve(wish)

    @classmethod
    def resolve(cls, wish: Mapping[str, object]) -> Self:
        """Resolve a collection given as plain data, as TOML would hold it."""
        known_keys("a collection", wish, _COLLECTION_KEYS)
        users = checked_size("users", wish["users"], 1, _MAX_USERS) if "users" in wish else None
        questions = wish.get("questions")
        if not isinstance(questions, Sequence) or isinstance(questions, str) or not questions:
            raise InputError(
                "a collection must have at least one [[questions]] table; got "
                f"{format_value(questions)}"
            )
        series = checked_slug(wish, "series", "a collection")
        users = people_each(users, wish.get("ask"), len(questions))
        collection = cls._checked(
            checked_text(wish, "name", "a collection"),
            series,
            checked_text(wish, "contact", "a collection"),
            [_resolved(question, users, series) for question in questions],
            wish,
            resolved=False,
        )
        collection.check_batch_size()
        return collection

    @classmethod
    def _checked(
        cls,
        name: str,
        series: str,
        contact: str,
        questions: Sequence[Question],
        table: Mapping[str, object],
        *,
        resolved: bool,
    ) -> Self:
        ids = [question.id for question in questions]
        if len(set(ids)) != len(ids):
            repeated = next(id for id in ids if ids.count(id) > 1)
            raise InputError(f"question ids must be distinct; got {repeated!r} more than once")
        said = {**_USUAL, **{key: table[key] for key in _USUAL if key in table}}
        admission = checked_choice("admission", said["admission"], ADMISSIONS)
        revision = checked_size("revision", said["revision"], 1, _MAX_REVISION)
        ask = checked_ask(said["ask"], questions, resolved=resolved)
        return cls(
            name,
            series,
            contact,
            tuple(questions),
            admission,
            revision,
            _previous(said["previous"], revision),
            _series_epsilon(said["series_epsilon"], questions, ask),
            ask,
            checked_linked(said["linked"], questions, ask),
            checked_issuer(said["issuer"], admission, questions),
            checked_relay(said["relay"]),
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """A collection from its contract."""
        try:
            contract = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise InputError(f"a contract must be valid JSON; {problem}") from None
        return cls.from_contract(contract)

    @classmethod
    def from_contract(cls, contract: object) -> Self:
        """A collection from a contract as plain data; nothing is resolved anew."""
        keys = ("rumor", "name", "series", "contact", "questions")
        table = exact_keys("a contract", contract, keys, _USUAL)
        if table["rumor"] is True or table["rumor"] != VERSION:
            raise InputError(
                f"a contract's version must be {VERSION}; got {format_value(table['rumor'])}"
            )
        questions = table["questions"]
        if not isinstance(questions, list) or not questions:
            raise InputError(f"a contract must have questions; got {format_value(questions)}")
        return cls._checked(
            exact_text(table, "name", "a contract"),
            checked_slug(table, "series", "a contract"),
            exact_text(table, "contact", "a contract"),
            [_contracted(question) for question in questions],
            table,
            resolved=True,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def contract(self) -> dict[str, Json]:
        """The contract as plain data."""
        return {
            "rumor": VERSION,
            "name": self.name,
            "series": self.series,
            "contact": self.contact,
            "questions": [question.contract() for question in self.questions],
            **_unusual(self, _USUAL),
        }

    def canonical(self) -> bytes:
        """The contract as canonical JSON."""
        return self._canonical

    @functools.cached_property
    def _canonical(self) -> bytes:
        # Asked for with every page that opens; of a hundred thousand labels it takes long.
        return canonical_json(self.contract())

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical contract: two collections agree when their digests do."""
        return hashlib.sha256(self._canonical).hexdigest()

    @property
    def way(self) -> Way:
        """What hides whose a report is."""
        issuer = None if self.issuer is None else self.issuer.url
        relay = self.relay
        if relay is None:
            return Way(self.admission == "blind", issuer=issuer)
        return Way(self.admission == "blind", relay.url, relay.crowd, issuer, relay.turn_hours)

    def check_batch_size(self) -> None:
        """Refuse a contract under which one person's reports could fill a batch of the relay.

        Turns keep them apart. A contract that is stored already is read without this check.
        """
        relay = self.relay
        if relay is None or relay.turn_hours is not None:
            return
        for question in self.questions:
            if question.reports_per_person >= relay.crowd:
                raise InputError(
                    f"question {question.id!r}: reports_per_person must be below the relay's "
                    f"crowd, {relay.crowd}, or the relay must say turn_hours, so that one person's "
                    f"reports never fill a batch; got {question.reports_per_person}"
                )

    def check_revises(self, other: Collection) -> None:
        """Refuse what devices would refuse: a revision that does not follow from another."""
        if self.revision != other.revision + 1 or self.previous != other.digest:
            raise InputError(
                f"the revision of a contract must say so, or devices refuse it: revision = "
                f'{other.revision + 1} and previous = "{other.digest}"; got revision = '
                f"{self.revision} and previous = {format_value(self.previous)}"
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the contract to a .json file, whole or not at all."""
        if Path(path).suffix != ".json":
            raise InputError(f"a contract is saved to a .json file; got {str(path)!r}")
        write_whole(path, self.canonical())

    def question(self, id: str | None = None) -> Question:
        """The question with this id; without an id, the only one."""
        if id is None and len(self.questions) == 1:
            return self.questions[0]
        for question in self.questions:
            if question.id == id:
                return question
        ids = ", ".join(question.id for question in self.questions)
        if id is None:
            raise InputError(
                f"{self.name!r} asks {len(self.questions)} questions ({ids}); one must be named"
            )
        raise InputError(f"a question must be named as one of {ids}; got {format_value(id)}")


def _resolved(wish: object, users: int | None, series: str) -> Question:
    """A question as a TOML table says it, resolved."""
    if not isinstance(wish, Mapping):
        raise InputError(f"a question must be a table; got {format_value(wish)}")
    id = checked_slug(wish, "id", "a question")
    try:
        kind = KINDS[_kind(wish).effective_kind(wish)]
        own = (*kind.keys, *_LIMITS, *_USUAL_QUESTION)
        known_keys("a question", wish, ("id", "kind", "text", "column", *own))
        # A kind may derive names from the series, as text derives the filter's key.
        text = checked_text(wish, "text", "a question", default="")
        mechanism = kind.resolve({**wish, "series": series}, users)
        question = _question(id, kind, text, wish, mechanism)
        return replace(question, column=_column(wish, kind))
    except InputError as problem:
        raise InputError(f"question {id!r}: {problem}") from None


def _column(wish: Mapping[str, object], kind: Kind[Any]) -> str | None:
    """The column of answers, where a table has one for the question."""
    if "column" not in wish:
        return None
    if kind.many_columns_reason is not None:
        raise InputError(
            f"column is for questions whose answers are in one column, not of kind "
            f"{kind.name!r}; got {format_value(wish['column'])}"
        )
    column = wish["column"]
    if not isinstance(column, str) or not column:
        raise InputError(
            f"column of a question must be a non-empty text; got {format_value(column)}"
        )
    return column


def _contracted(contract: object) -> Question:
    """A question as a contract says it, every value checked and none computed anew."""
    if not isinstance(contract, Mapping):
        raise InputError(f"a contract's question must be an object; got {format_value(contract)}")
    kind = _kind(contract)
    keys = ("id", "kind", "text", *kind.contract_names, "epsilon", "mechanism", *_LIMITS)
    table = exact_keys("a contract's question", contract, keys, _USUAL_QUESTION)
    description = table["mechanism"]
    if not isinstance(description, Mapping):
        raise InputError(
            f"a contract's mechanism must be an object; got {format_value(description)}"
        )
    mechanism = kind.restore(from_description(description), table)
    if table["epsilon"] is True or table["epsilon"] != mechanism.epsilon:
        raise InputError(
            f"a contract's epsilon must be its mechanism's, {mechanism.epsilon!r}; "
            f"got {format_value(table['epsilon'])}"
        )
    id, text = (
        checked_slug(table, "id", "a question"),
        exact_text(table, "text", "a question", empty=True),
    )
    question = _question(id, kind, text, table, mechanism)
    said = question.contract()
    for name in kind.contract_names:  # what others digest as it is
        if canonical_json(said[name]) != canonical_json(cast(Json, table[name])):
            raise InputError(
                f"{name} of a contract's question must be written as contracts write it, texts in "
                f"Unicode normal form C; got {format_value(table[name])}"
            )
    return question


def _question(
    id: str, kind: Kind[Any], text: str, table: Mapping[str, object], mechanism: Mechanism
) -> Question:
    days = table.get("retention_days")
    reports = checked_size(
        "reports_per_person", table.get("reports_per_person", 1), 1, _MAX_REPORTS
    )
    mechanism.permanence.check_repeats(reports)
    memo = checked_choice("memo", table.get("memo", MEMOS[0]), MEMOS)
    return Question(
        id=id,
        kind=kind.name,
        text=text,
        mechanism=mechanism,
        reports_per_person=reports,
        retention_days=None if days is None else checked_size("retention_days", days, 1, _MAX_DAYS),
        memo=memo,
        period_days=_period_days(memo, table.get("period_days"), mechanism),
    )


def _period_days(memo: str, days: object, mechanism: Mechanism) -> int | None:
    """How long a period is, where there are periods."""
    if memo == MEMOS[0]:
        if days is not None:
            raise InputError(
                f'period_days goes with memo = "period"; got {format_value(days)} without it'
            )
        return None
    if not mechanism.permanence.is_memoised:
        raise InputError(
            f'memo = "period" needs a mechanism with permanent noise; got {mechanism.name!r}, '
            f"whose noise is always fresh"
        )
    return checked_size("period_days", days, 1, _MAX_DAYS)


def _previous(digest: object, revision: int) -> str | None:
    """The digest of the revision before, which every revision but the first names."""
    if revision == 1:
        if digest is not None:
            raise InputError(f"revision 1 has no previous one; got {format_value(digest)}")
        return None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise InputError(
            f"previous must be the digest of the revision before (64 hexadecimal digits) in "
            f"revision {revision}; got {format_value(digest)}"
        )
    return digest


def _series_epsilon(
    ceiling: object, questions: Sequence[Question], ask: Ask | None
) -> float | None:
    """A ceiling for the whole series that lets everything asked be answered at least once."""
    if ceiling is None:
        return None
    rule = f"series_epsilon must be a number above 0 and at most {_MAX_SERIES_EPSILON:g}"
    if isinstance(ceiling, bool) or not isinstance(ceiling, (int, float)):
        raise InputError(f"{rule}; got {format_value(ceiling)}")
    if not 0 < ceiling <= _MAX_SERIES_EPSILON:
        raise InputError(f"{rule}; got {format_value(ceiling)}")
    each = [question.mechanism.epsilon_all_rounds(1) for question in questions]
    once = dearest(each, how_many(ask, len(each)))
    if ceiling < once:
        raise InputError(
            f"series_epsilon must let every question that is asked be answered once, which costs "
            f"{once:.6g}; got {format_value(ceiling)}"
        )
    return float(ceiling)


def _unusual(noun: Question | Collection, usual: Mapping[str, object]) -> dict[str, Json]:
    """The members that a contract says, since they are not what they usually are."""
    said = {key: getattr(noun, key) for key in usual if getattr(noun, key) != usual[key]}
    return {key: _PLAIN[key](value) if key in _PLAIN else value for key, value in said.items()}


def _kind(table: Mapping[str, object]) -> Kind[Any]:
    name = table.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}; got {format_value(name)}")
    return KINDS[name]
