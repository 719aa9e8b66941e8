"""The errors that people meet: what is wrong, the rule, the value given; or try later."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence


class InputError(ValueError):
    """Something handed to Rumor breaks a stated rule.

    The message is a single sentence that names the thing, the rule and the value
    given, so that the command line can print it as it is.
    """


class AnswerError(InputError):
    """A person's answer breaks a rule: the sentence says which and where, never the answer.

    `row` is the answer's index among those that were handed in, None where there is one.
    """

    def __init__(self, rule: str, row: int | None = None, got: str = "something else") -> None:
        place = "" if row is None else f" at index {row:,}"
        super().__init__(f"{rule}; got {got}{place}")
        self.rule, self.row, self.got = rule, row, got

    def located_in(self, place: str, before: int = 0) -> InputError:
        """The same of a table: where it is, with so many rows before those handed in."""
        row = "" if self.row is None else f", row {before + self.row + 1:,}"
        return InputError(f"{place}{row}: {self.rule}; got {self.got}")


class UnavailableError(Exception):  # noqa: N818 (a state, not a mistake)
    """Something that Rumor needs cannot be used just now: a full disk, a database that is gone."""


class DamagedError(UnavailableError):
    """Something that Rumor needs does not hold what was written: the sentence says a way out."""


def format_value(value: object, limit: int = 60) -> str:
    """A value as an error message shows it: its repr, cut to a readable length.

    For what a collection or an option says. A person's answer is never shown.
    """
    try:
        text = repr(value)
    except ValueError:  # Python does not spell integers of thousands of digits
        text = "an integer of very many digits"
    return text if len(text) <= limit else text[: limit - 3] + "..."


_TYPES: tuple[tuple[type | tuple[type, ...], str], ...] = (
    (type(None), "nothing"),
    (bool, "a boolean"),
    (numbers.Real, "a number"),
    (str, "a text"),
    ((bytes, bytearray), "bytes"),
    (Mapping, "an object"),
    (Sequence, "a list"),
)


def type_in_words(value: object) -> str:
    """What a value is, for messages about answers: that says nothing of its content."""
    known = (name for kind, name in _TYPES if isinstance(value, kind))
    return next(known, f"a {type(value).__name__}")
