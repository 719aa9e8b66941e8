"""Errors shown to users: the thing, the rule and the value given; or a request to try later."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence


class InputError(ValueError):
    """An input that breaks a stated rule of Rumor.

    The message is a single sentence that names the thing, the rule and the value
    given, so that the command line can print it as it is.
    """


class AnswerError(InputError):
    """A respondent's answer that breaks a rule: the message names rule and row, never the answer.

    `row` is the answer's index in its column, or None for a single answer.
    """

    def __init__(self, rule: str, row: int | None = None, got: str = "something else") -> None:
        place = "" if row is None else f" at index {row:,}"
        super().__init__(f"{rule}; got {got}{place}")
        self.rule, self.row, self.got = rule, row, got

    def located_in(self, place: str, before: int = 0) -> InputError:
        """Return this error for a table named `place`, `before` rows of which precede the
        column.
        """
        row = "" if self.row is None else f", row {before + self.row + 1:,}"
        return InputError(f"{place}{row}: {self.rule}; got {self.got}")


class UnavailableError(Exception):
    """Something that Rumor needs and cannot use now: a full disk, a database that does not
    answer.
    """


class DamagedError(UnavailableError):
    """A file or database that does not hold what was written; the message says a way out."""


def format_value(value: object, limit: int = 60) -> str:
    """Return `value` as an error message shows it: its repr, cut to `limit` characters.

    For values of collections and options. A respondent's answer is never shown.
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
    """Return the type of `value` in words ("a number"), for messages that must not show an
    answer.
    """
    known = (name for kind, name in _TYPES if isinstance(value, kind))
    return next(known, f"a {type(value).__name__}")
