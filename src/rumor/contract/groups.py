"""Public columns of a contract: groups of respondents that are sent in the clear.

A contract names each column and a closed list of its groups. A device sends one combination of
groups, a *stratum*, beside each report and without noise; whatever is not in a list is sent as
"other". Strata are numbered from 0: columns in the order of their names, the last one fastest.

Whoever sees a stratum knows that the report is of somebody in these groups. Noise protects the
answer, not the groups, and a small group hides few people.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from rumor.core.canonical import Json
from rumor.core.columns import checked_labels, normalized_name
from rumor.core.errors import InputError, format_value
from rumor.kinds import KINDS

if TYPE_CHECKING:
    from rumor.contract.collection import Collection, Question
    from rumor.contract.relay import Relay

OTHER = "other"
"""The group of everything that a list does not name."""
LEAST_SHOWN = 100
"""The fewest reports of a group that the dashboard estimates from."""

MAX_STRATA = 1_000
"""The most combinations of groups of one contract."""
_MAX_LETTERS = 200
_NAME = re.compile("[a-z][a-z0-9_]{0,63}")
# Columns of every reports file.
_TAKEN = ("id", "report", "day", "contract", "question")


@dataclass(frozen=True)
class Groups:
    """The public columns of a contract, by name, each with its groups."""

    columns: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(name for name, _ in self.columns)

    @property
    def strata(self) -> int:
        """The number of combinations of groups."""
        return math.prod(len(labels) for _, labels in self.columns)

    def contract(self) -> Json:
        """Return the columns as plain data."""
        return {name: list(labels) for name, labels in self.columns}

    def stratum(self, given: Mapping[str, object]) -> int:
        """Return the stratum of `given` groups by name; whatever is in no list is "other"."""
        for name in given:
            if name not in self.names:
                raise InputError(
                    f"groups must be named as one of {', '.join(self.names)}; got "
                    f"{format_value(name)}"
                )
        stratum = 0
        for name, labels in self.columns:
            stratum = stratum * len(labels) + labels.index(known_group(labels, given.get(name)))
        return stratum

    def of_stratum(self, stratum: int) -> dict[str, str]:
        """Return the groups of `stratum`, by the names of their columns."""
        found: dict[str, str] = {}
        for name, labels in reversed(self.columns):
            stratum, place = divmod(stratum, len(labels))
            found[name] = labels[place]
        return {name: found[name] for name in self.names}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the columns that the JSON `text` holds, as `contract` gives them."""
        lists = json.loads(text)
        return cls(tuple((name, tuple(lists[name])) for name in sorted(lists)))

    def strata_in(self, where: Mapping[str, str]) -> list[int]:
        """Return the strata of the respondents who are in all groups of `where`, by name."""
        for name, group in where.items():
            if name not in self.names:
                raise InputError(
                    f"groups must be of a public column ({', '.join(self.names)}); got "
                    f"{format_value(name)}"
                )
            if group not in dict(self.columns)[name]:
                raise InputError(
                    f"a group of {name!r} must be one of {', '.join(dict(self.columns)[name])}; "
                    f"got {format_value(group)}"
                )
        return [
            stratum
            for stratum in range(self.strata)
            if where.items() <= self.of_stratum(stratum).items()
        ]

    def is_coarser(self, earlier: Groups | None) -> bool:
        """Return whether these columns say nothing of a person that `earlier` ones do not."""
        before = {} if earlier is None else dict(earlier.columns)
        return all(set(labels) <= set(before.get(name, ())) for name, labels in self.columns)

    def in_words(self) -> str:
        """Say what is sent in the clear, in a sentence for respondents."""
        said = "; ".join(f"{name} ({', '.join(labels)})" for name, labels in self.columns)
        return f"Sent in the clear with every report, without noise: {said}"


def stratum_of(collection: Collection, given: Mapping[str, object]) -> int | None:
    """Return the stratum of `given` groups by name, or None where `collection` has no groups."""
    if collection.groups is not None:
        return collection.groups.stratum(given)
    if given:
        raise InputError(
            f"{collection.name!r} has no groups, so none are sent; got {', '.join(map(str, given))}"
        )
    return None


def read_groups(texts: Sequence[str]) -> dict[str, str]:
    """Return groups by name from `texts` NAME=GROUP."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, group = text.partition("=")
        if not equals:
            raise InputError(f"a group must be NAME=GROUP; got {format_value(text)}")
        if name in found:
            raise InputError(f"a group must be said once for each name; got {name!r} twice")
        found[name] = group
    return found


def known_group(labels: Sequence[str], value: object) -> str:
    """Return `value` as one of `labels`, or "other"."""
    text = OTHER if value is None else unicodedata.normalize("NFC", str(value))
    return text if text in labels else OTHER


def checked_groups(
    given: object, questions: Sequence[Question], admission: str, relay: Relay | None
) -> Groups | None:
    """Return the checked public columns of a contract of these `questions`, or None."""
    if given is None:
        return None
    rule = 'groups must be lists of groups by name, such as {country = ["DE", "FR", "other"]}'
    if not isinstance(given, Mapping) or not given:
        raise InputError(f"{rule}; got {format_value(given)}")
    answered = {
        normalized_name(name): question.id
        for question in questions
        for name in (
            question.id,
            *KINDS[question.kind].columns(question.id, question.mechanism),
            *(() if question.column is None else (question.column,)),
        )
    }
    columns = []
    for name in sorted(given, key=str):
        _check_name(name, answered)
        columns.append((name, _checked_list(name, given[name])))
    groups = Groups(tuple(columns))
    if groups.strata > MAX_STRATA:
        raise InputError(
            f"groups must have at most {MAX_STRATA:,} combinations; got {groups.strata:,}"
        )
    _check_combination(questions, admission, relay)
    return groups


def _check_name(name: object, answered: Mapping[str, str]) -> None:
    """Refuse the name of a public column that is none, or that names answers."""
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InputError(
            f"a name of groups must be 1 to 64 lower-case letters, digits and underscores, a "
            f"letter first; got {format_value(name)}"
        )
    if name in _TAKEN:
        raise InputError(
            f"a name of groups must not be {', '.join(_TAKEN)}, which are columns of every "
            f"reports file; got {name!r}"
        )
    if (question := answered.get(normalized_name(name))) is not None:
        raise InputError(
            f"groups are sent in the clear, so they must hold no answers; got {name!r}, which "
            f"answers question {question!r}"
        )


def _checked_list(name: str, given: object) -> tuple[str, ...]:
    """Return the checked groups of the column `name`."""
    if not isinstance(given, (list, tuple)):
        raise InputError(f"groups of {name!r} must be a list of texts; got {format_value(given)}")
    try:
        labels = checked_labels(given)
    except InputError as problem:
        raise InputError(f"groups of {name!r}: {problem}") from None
    if len(labels) < 2 or OTHER not in labels:
        raise InputError(
            f'groups of {name!r} must be two or more with "other" among them, which everybody is '
            f"in whom the list does not name; got {format_value(list(labels))}"
        )
    for label in labels:
        if len(label) > _MAX_LETTERS or label != label.strip():
            raise InputError(
                f"groups of {name!r} must have at most {_MAX_LETTERS} characters, no spaces "
                f"around them; got {format_value(label)}"
            )
    return labels


def _check_combination(questions: Sequence[Question], admission: str, relay: Relay | None) -> None:
    """Refuse groups beside whatever hides a sender among all others, and beside rounds."""
    if relay is not None:
        raise InputError(
            "groups cannot go with a relay, whose batches would have to be of one group each; got "
            "both"
        )
    if admission == "blind":
        raise InputError(
            "groups cannot go with blind admission, since they tell senders apart; got both"
        )
    for question in questions:
        if question.mechanism.rounds > 1:
            raise InputError(
                f"groups cannot go with a question in rounds; got question {question.id!r} in "
                f"{question.mechanism.rounds} rounds"
            )
