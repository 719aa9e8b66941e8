"""The contract between respondents, collector and analyst.

A TOML file says what is wanted; opening it resolves everything once (mechanisms and their
integer thresholds), and the resolved canonical JSON is the contract: what is stored,
served and digested. Two files that mean the same have the same digest. The expected
number of `users` guides the resolution and is not part of what is promised.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, cast

from rumor.contract.groups import Groups, checked_groups
from rumor.contract.issuing import Issuer, checked_issuer
from rumor.contract.linking import Linked, checked_linked
from rumor.contract.relay import Relay, checked_relay
from rumor.contract.sampling import (
    SamplingDesign,
    checked_design,
    questions_per_person,
    respondents_per_question,
    sum_of_largest,
)
from rumor.contract.sender_anonymity import SenderAnonymity
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
from rumor.core.deprecation import old_keywords, old_names
from rumor.core.errors import InputError, format_value
from rumor.core.files import readable, write_whole
from rumor.kinds import KINDS
from rumor.kinds.base import Kind
from rumor.mechanisms import Mechanism, from_description

VERSION = 1
_MAX_USERS = 10**12
_MAX_REPORTS = 1_000_000
_MAX_DAYS = 36_525

# Who may answer: anybody; people with an invitation, whose tokens its sender can trace; or
# people with blind tokens, which nobody can trace.
ADMISSIONS = ("open", "invited", "blind")
# The permanent answer that a report shows: that of the person's value, or that of the first
# value they gave in the period.
MEMOS = ("value", "period")
_LIMITS = ("reports_per_person", "retention_days")
_MAX_REVISION = 1_000_000
_MAX_SERIES_EPSILON = 1e9
_DIGEST = re.compile("[0-9a-f]{64}")

# Members that a contract omits if they have these values.
_DEFAULTS: Mapping[str, object] = {
    "admission": ADMISSIONS[0],
    "revision": 1,
    "previous": None,
    "series_epsilon": None,
    "ask": None,
    "linked": None,
    "issuer": None,
    "relay": None,
    "groups": None,
}
_QUESTION_DEFAULTS: Mapping[str, object] = {"memo": MEMOS[0], "period_days": None}
# Functions that turn members into plain data, for those that are objects.
_TO_PLAIN: Mapping[str, Callable[[Any], Json]] = {
    "ask": SamplingDesign.contract,
    "issuer": Issuer.contract,
    "relay": Relay.contract,
    "groups": Groups.contract,
}
_COLLECTION_KEYS = ("name", "series", "contact", "users", *_DEFAULTS, "questions")


@dataclass(frozen=True, eq=False)
class Question:
    """One resolved question: its text, kind, mechanism and limits."""

    id: str
    kind: str
    text: str
    mechanism: Mechanism
    reports_per_person: int
    retention_days: int | None
    memo: str = MEMOS[0]
    period_days: int | None = None
    """The days for which the first answer of a period stands, with memo "period"."""
    column: str | None = None
    """The name of the column in tables, if it is not the id; no part of the contract."""

    @property
    def labels(self) -> tuple[str, ...] | None:
        """The names of the values, or None if they have none."""
        return self.mechanism.labels

    @property
    def epsilon(self) -> float:
        """The exact privacy loss of one report."""
        return self.mechanism.epsilon

    @property
    def reports_in_all(self) -> int:
        """The most reports one person may send, over all rounds."""
        return self.reports_per_person * self.mechanism.rounds

    @property
    def epsilon_total(self) -> float:
        """The loss of all reports of one person, over all rounds, with one unchanged value."""
        return self.mechanism.epsilon_all_rounds(self.reports_per_person)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.contract() == other.contract()

    def __hash__(self) -> int:
        return hash(canonical_json(self.contract()))

    def contract(self) -> dict[str, Json]:
        """Return the resolved question as plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "text": self.text,
            **KINDS[self.kind].contract_fields(self.mechanism),
            "epsilon": _epsilon_as_json(self.mechanism),
            "mechanism": self.mechanism.describe(),
            "reports_per_person": self.reports_per_person,
            "retention_days": self.retention_days,
            **_non_default_members(self, _QUESTION_DEFAULTS),
        }


@old_names(way="sender_anonymity")
@dataclass(frozen=True, eq=False)
class Collection:
    """A frozen contract: its questions, and the digest that every party compares."""

    name: str
    series: str
    contact: str
    questions: tuple[Question, ...]
    admission: str = "open"
    revision: int = 1
    previous: str | None = None
    """The digest of the contract that this one revises."""
    series_epsilon: float | None = None
    """The limit of the whole series for one person, over all revisions, if there is one."""
    ask: SamplingDesign | None = None
    """The sampling design, unless everybody is asked everything on any day."""
    linked: Linked | None = None
    """Two questions whose reports of one person may be linked, if that was declared."""
    issuer: Issuer | None = None
    """The issuer of the blind tokens that admit reports, if there is one."""
    relay: Relay | None = None
    """The relay that reports pass through, unless they go to the collector directly."""
    groups: Groups | None = None
    """The public columns that are sent in the clear beside each report, if there are any."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Return the collection in a .toml file (to be resolved) or a .json file (a contract)."""
        file = Path(path)
        if file.suffix not in (".toml", ".json"):
            raise InputError(f"a collection file must end in .toml or .json; got {str(file)!r}")
        with readable("a collection file", file):
            text = file.read_text(encoding="utf-8-sig")  # editors may begin with a mark
        try:
            return cls.from_toml(text) if file.suffix == ".toml" else cls.from_json(text)
        except InputError as problem:
            raise InputError(f"{file}: {problem}") from None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Resolve a collection written in TOML."""
        try:
            spec = tomllib.loads(text)
        except ValueError as problem:  # invalid TOML, or an integer of thousands of digits
            raise InputError(f"a collection must be valid TOML; {problem}") from None
        return cls.resolve(spec)

    @classmethod
    @old_keywords(wish="spec")
    def resolve(cls, spec: Mapping[str, object]) -> Self:
        """Resolve `spec`, a collection given as plain data, as TOML would hold it."""
        known_keys("a collection", spec, _COLLECTION_KEYS)
        users = checked_size("users", spec["users"], 1, _MAX_USERS) if "users" in spec else None
        questions = spec.get("questions")
        if not isinstance(questions, Sequence) or isinstance(questions, str) or not questions:
            raise InputError(
                "a collection must have at least one [[questions]] table; got "
                f"{format_value(questions)}"
            )
        series = checked_slug(spec, "series", "a collection")
        users = respondents_per_question(users, spec.get("ask"), len(questions))
        collection = cls._checked(
            checked_text(spec, "name", "a collection"),
            series,
            checked_text(spec, "contact", "a collection"),
            [_resolve_question(question, users, series) for question in questions],
            spec,
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
        said = {**_DEFAULTS, **{key: table[key] for key in _DEFAULTS if key in table}}
        admission = checked_choice("admission", said["admission"], ADMISSIONS)
        revision = checked_size("revision", said["revision"], 1, _MAX_REVISION)
        ask = checked_design(said["ask"], questions, resolved=resolved)
        relay = checked_relay(said["relay"])
        groups = checked_groups(said["groups"], questions, admission, relay)
        if resolved:  # other parties digest the lists as they are
            _check_exact("groups", said["groups"], None if groups is None else groups.contract())
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
            relay,
            groups,
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the collection whose contract is the JSON `text`."""
        try:
            contract = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise InputError(f"a contract must be valid JSON; {problem}") from None
        return cls.from_contract(contract)

    @classmethod
    def from_contract(cls, contract: object) -> Self:
        """Return the collection of `contract`, plain data; nothing is resolved anew."""
        keys = ("rumor", "name", "series", "contact", "questions")
        table = exact_keys("a contract", contract, keys, _DEFAULTS)
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
            [_load_question(question) for question in questions],
            table,
            resolved=True,
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Collection) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def contract(self) -> dict[str, Json]:
        """Return the contract as plain data."""
        return {
            "rumor": VERSION,
            "name": self.name,
            "series": self.series,
            "contact": self.contact,
            "questions": [question.contract() for question in self.questions],
            **_non_default_members(self, _DEFAULTS),
        }

    def canonical(self) -> bytes:
        """Return the contract as canonical JSON."""
        return self._canonical

    @functools.cached_property
    def _canonical(self) -> bytes:
        # Cached: every page needs it, and a hundred thousand labels take long.
        return canonical_json(self.contract())

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 digest of the canonical contract, equal if and only if contracts agree."""
        return hashlib.sha256(self._canonical).hexdigest()

    @property
    def sender_anonymity(self) -> SenderAnonymity:
        """The parts of the contract that keep a report's sender unknown."""
        issuer = None if self.issuer is None else self.issuer.url
        relay = self.relay
        if relay is None:
            return SenderAnonymity(self.admission == "blind", issuer=issuer, groups=self.groups)
        return SenderAnonymity(
            self.admission == "blind", relay.url, relay.crowd, issuer, relay.turn_hours
        )

    def check_batch_size(self) -> None:
        """Refuse a contract under which one person's reports could fill a relay's batch.

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
        """Refuse this contract unless devices would take it as the revision after `other`."""
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
        """Return the question called `id`; without an id, the only question."""
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


def _resolve_question(spec: object, users: int | None, series: str) -> Question:
    """Resolve `spec`, a question as a TOML table holds it."""
    if not isinstance(spec, Mapping):
        raise InputError(f"a question must be a table; got {format_value(spec)}")
    id = checked_slug(spec, "id", "a question")
    try:
        kind = KINDS[_kind(spec).effective_kind(spec)]
        own = (*kind.keys, *_LIMITS, *_QUESTION_DEFAULTS)
        known_keys("a question", spec, ("id", "kind", "text", "column", *own))
        # A kind may derive names from the series, as text derives the filter's key.
        text = checked_text(spec, "text", "a question", default="")
        mechanism = kind.resolve({**spec, "series": series}, users)
        question = _question(id, kind, text, spec, mechanism)
        return replace(question, column=_column(spec, kind))
    except InputError as problem:
        raise InputError(f"question {id!r}: {problem}") from None


def _column(spec: Mapping[str, object], kind: Kind[Any]) -> str | None:
    """Return the column of answers that `spec` names, or None."""
    if "column" not in spec:
        return None
    if kind.many_columns_reason is not None:
        raise InputError(
            f"column is for questions whose answers are in one column, not of kind "
            f"{kind.name!r}; got {format_value(spec['column'])}"
        )
    column = spec["column"]
    if not isinstance(column, str) or not column:
        raise InputError(
            f"column of a question must be a non-empty text; got {format_value(column)}"
        )
    return column


def _load_question(contract: object) -> Question:
    """Return the question of a contract; every value is checked and none computed anew."""
    if not isinstance(contract, Mapping):
        raise InputError(f"a contract's question must be an object; got {format_value(contract)}")
    kind = _kind(contract)
    keys = ("id", "kind", "text", *kind.contract_names, "epsilon", "mechanism", *_LIMITS)
    table = exact_keys("a contract's question", contract, keys, _QUESTION_DEFAULTS)
    description = table["mechanism"]
    if not isinstance(description, Mapping):
        raise InputError(
            f"a contract's mechanism must be an object; got {format_value(description)}"
        )
    mechanism = kind.restore(from_description(description), table)
    if table["epsilon"] is True or table["epsilon"] != _epsilon_as_json(mechanism):
        raise InputError(
            f"a contract's epsilon must be its mechanism's, {_epsilon_as_json(mechanism)!r}; "
            f"got {format_value(table['epsilon'])}"
        )
    id, text = (
        checked_slug(table, "id", "a question"),
        exact_text(table, "text", "a question", empty=True),
    )
    question = _question(id, kind, text, table, mechanism)
    said = question.contract()
    for name in kind.contract_names:  # other parties digest these as they are
        _check_exact(f"{name} of a contract's question", table[name], said[name])
    return question


def _check_exact(what: str, given: object, said: Json) -> None:
    """Refuse a `given` member of a contract that is not byte for byte as contracts write it."""
    if canonical_json(said) != canonical_json(cast(Json, given)):
        raise InputError(
            f"{what} must be written as contracts write it, texts in Unicode normal form C; got "
            f"{format_value(given)}"
        )


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
    """Return the checked length of a period, or None without periods."""
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
    """Return the checked digest of the revision before `revision`; the first has none."""
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


def _epsilon_as_json(mechanism: Mechanism) -> float | None:
    """Return the epsilon of one report, or None where it is infinite: JSON has no such number."""
    return mechanism.epsilon if math.isfinite(mechanism.epsilon) else None


def _series_epsilon(
    ceiling: object, questions: Sequence[Question], ask: SamplingDesign | None
) -> float | None:
    """Return the checked limit of the series; every assigned question must fit at least once."""
    if ceiling is None:
        return None
    rule = f"series_epsilon must be a number above 0 and at most {_MAX_SERIES_EPSILON:g}"
    if isinstance(ceiling, bool) or not isinstance(ceiling, (int, float)):
        raise InputError(f"{rule}; got {format_value(ceiling)}")
    if not 0 < ceiling <= _MAX_SERIES_EPSILON:
        raise InputError(f"{rule}; got {format_value(ceiling)}")
    each = [question.mechanism.epsilon_all_rounds(1) for question in questions]
    once = sum_of_largest(each, questions_per_person(ask, len(each)))
    if ceiling < once:
        raise InputError(
            f"series_epsilon must let every question that is asked be answered once, which costs "
            f"{once:.6g}; got {format_value(ceiling)}"
        )
    return float(ceiling)


def _non_default_members(
    noun: Question | Collection, usual: Mapping[str, object]
) -> dict[str, Json]:
    """Return the members of a contract that differ from the defaults in `usual`."""
    said = {key: getattr(noun, key) for key in usual if getattr(noun, key) != usual[key]}
    return {
        key: _TO_PLAIN[key](value) if key in _TO_PLAIN else value for key, value in said.items()
    }


def _kind(table: Mapping[str, object]) -> Kind[Any]:
    name = table.get("kind")
    if not isinstance(name, str) or name not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}; got {format_value(name)}")
    return KINDS[name]
