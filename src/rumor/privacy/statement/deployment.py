"""The settings of a deployment that no contract holds, as its operator declares them.

A TOML file. Nothing in it can be checked by code, so that whatever is said of it names the operator
as its source; what is left out is asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from rumor.contract.collection import Collection
from rumor.core.checks import checked_choice, checked_size, checked_text, known_keys
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike, readable

ANSWERS = ("device", "hand", "table")
"""Where answers are randomised: on devices, by people themselves, or by the operator's table."""
_TEXTS = ("controller", "purpose", "legal_basis", "place")
_DAYS = ("address_days", "backup_days")
_MAX_DAYS = 36_525


@dataclass(frozen=True)
class Deployment:
    """What the operator of a collection declares; an empty text or None where nothing is said."""

    controller: str = ""
    purpose: str = ""
    legal_basis: str = ""
    place: str = ""
    """The country, or the company, where reports are stored."""
    recipients: tuple[str, ...] = ()
    """Whoever gets reports or results besides the controller."""
    answers: str | None = None
    """Where answers are randomised: one of `ANSWERS`."""
    address_days: int | None = None
    """The days for which network addresses are kept, in logs of servers and proxies."""
    backup_days: int | None = None
    """The days for which backups and exports of reports are kept."""

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Return the declarations in the TOML file at `path`."""
        with readable("a deployment file", path):
            text = Path(path).read_text(encoding="utf-8-sig")
        try:
            spec = tomllib.loads(text)
        except ValueError as problem:
            raise InputError(f"{path}: a deployment must be valid TOML; {problem}") from None
        try:
            return cls.from_spec(spec)
        except InputError as problem:
            raise InputError(f"{path}: {problem}") from None

    @classmethod
    def from_spec(cls, spec: Mapping[str, object]) -> Self:
        """Return the declarations in `spec`, plain data as TOML holds it."""
        known_keys("a deployment", spec, (*_TEXTS, "recipients", "answers", *_DAYS))
        said: dict[str, Any] = {
            key: checked_text(spec, key, "a deployment", default="") for key in _TEXTS
        }
        recipients = spec.get("recipients", [])
        if not isinstance(recipients, list) or not all(
            isinstance(each, str) and each.strip() for each in recipients
        ):
            raise InputError(
                f"recipients must be a list of texts; got {format_value(spec['recipients'])}"
            )
        said |= {key: checked_size(key, spec[key], 0, _MAX_DAYS) for key in _DAYS if key in spec}
        if "answers" in spec:
            said["answers"] = checked_choice("answers", spec["answers"], ANSWERS)
        return cls(recipients=tuple(recipients), **said)

    def where_randomised(self, collection: Collection) -> str:
        """Return where the answers to `collection` are randomised, one of `ANSWERS`.

        A relay takes reports of devices only, which throw the dice of a design on paper as well.
        """
        by_hand = all(question.mechanism.by_hand for question in collection.questions)
        if self.answers == "hand" and not by_hand:
            raise InputError(
                'answers = "hand" is for collections whose questions are all answered with dice or '
                f"cards; got {collection.name!r}, which has others"
            )
        return self.answers or ("hand" if by_hand and collection.relay is None else "device")
