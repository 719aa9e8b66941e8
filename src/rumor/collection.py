"""The contract between the people asked, the collector and the analyst.

A TOML file says what is wanted; opening it resolves everything once (mechanisms and their
integer thresholds), and the resolved canonical JSON is the contract: what is stored,
served and digested. Two files that mean the same have the same digest. The expected
number of `users` guides the resolution and is not part of what is promised.
"""

from __future__ import annotations

import difflib
import functools
import json
import os
import re
import tempfile
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rumor.canonical import Json, canonical_json, digest
from rumor.errors import InputError, shown
from rumor.mechanisms import BY_NAME, FrequencyOracle, from_description
from rumor.privacy.planning import choose_oracle
from rumor.values import checked_labels, checked_size

VERSION = 1
KINDS = ("choice",)
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")
_MAX_USERS = 10**12
_MAX_REPORTS = 1_000_000
_MAX_DAYS = 36_525

_COLLECTION_KEYS = ("name", "series", "contact", "users", "questions")
_QUESTION_KEYS = (
    "id",
    "kind",
    "text",
    "labels",
    "domain",
    "epsilon",
    "mechanism",
    "reports_per_person",
    "retention_days",
)


@dataclass(frozen=True)
class Question:
    """One question, resolved: what is asked, how it is randomised, how long it is kept."""

    id: str
    kind: str
    text: str
    mechanism: FrequencyOracle
    reports_per_person: int
    retention_days: int | None

    @property
    def labels(self) -> tuple[str, ...] | None:
        """What the values are called, or None when they are plain integers."""
        return self.mechanism.labels

    @property
    def domain(self) -> int:
        """How many values there are."""
        return self.mechanism.domain

    @property
    def epsilon(self) -> float:
        """The exact privacy loss of one report."""
        return self.mechanism.epsilon

    @property
    def epsilon_total(self) -> float:
        """The most that all the reports of one person can cost: every report is drawn afresh."""
        return self.reports_per_person * self.epsilon

    def contract(self) -> dict[str, Json]:
        """The resolved question as plain data."""
        return {
            "id": self.id,
            "kind": self.kind,
            "text": self.text,
            "labels": self.labels,
            "epsilon": self.epsilon,
            "mechanism": self.mechanism.describe(),
            "reports_per_person": self.reports_per_person,
            "retention_days": self.retention_days,
        }


@dataclass(frozen=True)
class Collection:
    """A frozen contract: its questions, and the digest that everyone compares."""

    name: str
    series: str
    contact: str
    questions: tuple[Question, ...]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """A collection from a .toml file (what is wanted) or a .json file (a contract)."""
        file = Path(path)
        if file.suffix not in (".toml", ".json"):
            raise InputError(f"a collection file must end in .toml or .json; got {str(file)!r}")
        try:
            text = file.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise InputError(f"a collection file must exist; got {str(file)!r}") from None
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(
                f"a collection file must be readable UTF-8 text; {str(file)!r} is not ({problem})"
            ) from None
        try:
            return cls.from_toml(text) if file.suffix == ".toml" else cls.from_json(text)
        except InputError as problem:
            raise InputError(f"{file}: {problem}") from None

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Resolve a collection written in TOML."""
        try:
            wish = tomllib.loads(text)
        except tomllib.TOMLDecodeError as problem:
            raise InputError(f"a collection must be valid TOML; {problem}") from None
        return cls.resolve(wish)

    @classmethod
    def resolve(cls, wish: Mapping[str, object]) -> Self:
        """Resolve a collection given as plain data, as TOML would hold it."""
        _known("a collection", wish, _COLLECTION_KEYS)
        if "users" in wish:
            checked_size("users", wish["users"], 1, _MAX_USERS)
        questions = wish.get("questions")
        if not isinstance(questions, Sequence) or isinstance(questions, str) or not questions:
            raise InputError(
                f"a collection must have at least one [[questions]] table; got {shown(questions)}"
            )
        return cls._checked(
            _text(wish, "name", "a collection"),
            _slug(wish, "series", "a collection"),
            _text(wish, "contact", "a collection"),
            [_resolved(question) for question in questions],
        )

    @classmethod
    def _checked(cls, name: str, series: str, contact: str, questions: Sequence[Question]) -> Self:
        ids = [question.id for question in questions]
        if len(set(ids)) != len(ids):
            repeated = next(id for id in ids if ids.count(id) > 1)
            raise InputError(f"question ids must be distinct; got {repeated!r} more than once")
        return cls(name, series, contact, tuple(questions))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """A collection from its contract."""
        try:
            contract = json.loads(text)
        except ValueError as problem:
            raise InputError(f"a contract must be valid JSON; {problem}") from None
        return cls.from_contract(contract)

    @classmethod
    def from_contract(cls, contract: object) -> Self:
        """A collection from a contract as plain data; nothing is resolved anew."""
        table = _exactly(
            "a contract", contract, ("rumor", "name", "series", "contact", "questions")
        )
        if table["rumor"] != VERSION:
            raise InputError(f"a contract's version must be {VERSION}; got {shown(table['rumor'])}")
        questions = table["questions"]
        if not isinstance(questions, list) or not questions:
            raise InputError(f"a contract must have questions; got {shown(questions)}")
        return cls._checked(
            _text(table, "name", "a contract"),
            _slug(table, "series", "a contract"),
            _text(table, "contact", "a contract"),
            [_contracted(question) for question in questions],
        )

    def contract(self) -> dict[str, Json]:
        """The contract as plain data."""
        return {
            "rumor": VERSION,
            "name": self.name,
            "series": self.series,
            "contact": self.contact,
            "questions": [question.contract() for question in self.questions],
        }

    def canonical(self) -> bytes:
        """The contract as canonical JSON."""
        return canonical_json(self.contract())

    @functools.cached_property
    def digest(self) -> str:
        """SHA-256 of the canonical contract: two collections agree when their digests do."""
        return digest(self.contract())

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
        raise InputError(f"a question must be named as one of {ids}; got {shown(id)}")


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that it holds everything or is not there (write aside, sync, rename)."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink()
        raise


def _resolved(wish: object) -> Question:
    """A question as a TOML table says it, resolved."""
    if not isinstance(wish, Mapping):
        raise InputError(f"a question must be a table; got {shown(wish)}")
    id = _slug(wish, "id", "a question")
    where = f"question {id!r}"
    try:
        _known("a question", wish, _QUESTION_KEYS)
        return Question(
            id=id,
            kind=_kind(wish),
            text=_text(wish, "text", "a question", default=""),
            mechanism=_mechanism(wish),
            reports_per_person=_count(wish, "reports_per_person", _MAX_REPORTS, 1),
            retention_days=_days(wish),
        )
    except InputError as problem:
        raise InputError(f"{where}: {problem}") from None


def _mechanism(wish: Mapping[str, object]) -> FrequencyOracle:
    if ("labels" in wish) == ("domain" in wish):
        given = "both" if "labels" in wish else "neither"
        raise InputError(f"a question must have either labels or a domain size; got {given}")
    domain: object = wish.get("labels", wish.get("domain"))
    if "labels" in wish and not isinstance(domain, list):
        raise InputError(f"labels must be a list of strings; got {shown(domain)}")
    choice = wish.get("mechanism", "auto")
    table = {"name": choice} if isinstance(choice, str) else choice
    if not isinstance(table, Mapping) or not isinstance(table.get("name"), str):
        raise InputError(f"a mechanism must be a name or a table with a name; got {shown(choice)}")
    name, options = table["name"], {k: v for k, v in table.items() if k != "name"}
    arguments = {"domain": domain, **options}
    if "epsilon" in wish:
        arguments["epsilon"] = wish["epsilon"]
    if name == "auto":
        _known('mechanism "auto"', options, ())
        if "epsilon" not in wish:
            raise InputError('mechanism "auto" needs an epsilon; got none')
        return choose_oracle(**arguments)
    known = {n: m for n, m in BY_NAME.items() if issubclass(m, FrequencyOracle)}
    if name not in known:
        names = ("auto", *known)
        raise InputError(f"a mechanism must be one of {', '.join(names)}; got {_near(name, names)}")
    oracle = known[name]
    _known(f"mechanism {name!r}", options, oracle.OPTIONS)
    if "epsilon" not in wish and not {"p", "q"} <= set(options):
        raise InputError(f"mechanism {name!r} needs an epsilon; got none")
    return oracle(**arguments)


def _contracted(contract: object) -> Question:
    """A question as a contract says it, every value checked and none computed anew."""
    keys = (
        "id",
        "kind",
        "text",
        "labels",
        "epsilon",
        "mechanism",
        "reports_per_person",
        "retention_days",
    )
    table = _exactly("a contract's question", contract, keys)
    description, labels = table["mechanism"], table["labels"]
    if not isinstance(description, Mapping):
        raise InputError(f"a contract's mechanism must be an object; got {shown(description)}")
    mechanism = from_description(description)
    if not isinstance(mechanism, FrequencyOracle):
        raise InputError(f"a choice needs a frequency oracle; got {mechanism!r}")
    if labels is not None:
        if not isinstance(labels, list):
            raise InputError(f"labels must be a list or null; got {shown(labels)}")
        mechanism = mechanism.with_labels(checked_labels(labels))
    if table["epsilon"] != mechanism.epsilon:
        raise InputError(
            f"a contract's epsilon must be its mechanism's, {mechanism.epsilon!r}; "
            f"got {shown(table['epsilon'])}"
        )
    return Question(
        id=_slug(table, "id", "a question"),
        kind=_kind(table),
        text=_text(table, "text", "a question", default=""),
        mechanism=mechanism,
        reports_per_person=_count(table, "reports_per_person", _MAX_REPORTS, 1),
        retention_days=_days(table),
    )


def _exactly(what: str, given: object, keys: tuple[str, ...]) -> Mapping[str, object]:
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be an object; got {shown(given)}")
    if set(given) != set(keys):
        odd = sorted(set(given) ^ set(keys))
        raise InputError(f"{what} must have exactly the keys {', '.join(keys)}; check {shown(odd)}")
    return given


def _known(what: str, table: Mapping[str, object], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            allowed = f"the keys {', '.join(keys)}" if keys else "no further keys"
            raise InputError(f"{what} has {allowed}; got {_near(key, keys)}")


def _near(word: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"{word!r} (did you mean {close[0]!r}?)" if close else repr(word)


def _text(table: Mapping[str, object], key: str, what: str, default: str | None = None) -> str:
    value = table.get(key, default)
    if not isinstance(value, str) or (not value.strip() and default is None):
        raise InputError(f"{key} of {what} must be a non-empty text; got {shown(value)}")
    return unicodedata.normalize("NFC", value.strip())


def _slug(table: Mapping[str, object], key: str, what: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(
            f"{key} of {what} must be 1 to 64 lower-case letters, digits and inner hyphens; "
            f"got {shown(value)}"
        )
    return value


def _kind(table: Mapping[str, object]) -> str:
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(KINDS)}; got {shown(kind)}")
    return kind


def _count(table: Mapping[str, object], key: str, most: int, default: int) -> int:
    return checked_size(key, table.get(key, default), 1, most)


def _days(table: Mapping[str, object]) -> int | None:
    days = table.get("retention_days")
    return None if days is None else checked_size("retention_days", days, 1, _MAX_DAYS)
