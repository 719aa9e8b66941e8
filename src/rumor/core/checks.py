"""Checks of arguments and of tables of options: a function returns a valid value or raises one
error.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from rumor.core.canonical import checked_unicode
from rumor.core.errors import InputError, format_value


def checked_size(name: str, size: object, low: int, high: int) -> int:
    """Return `size` as an integer from `low` to `high`, or raise an InputError that states the
    rule.
    """
    rule = f"{name} must be an integer from {low:,} to {high:,}"
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
        raise InputError(f"{rule}; got {format_value(size)}")
    if not low <= int(size) <= high:
        raise InputError(f"{rule}; got {int(size):,}")
    return int(size)


def checked_above_zero(name: str, value: object) -> float:
    """Return `value` if it is a finite number above 0, or raise an InputError."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:  # type: ignore[operator]
        raise InputError(f"{name} must be a number above 0; got {format_value(value)}")
    return value  # type: ignore[return-value]


def checked_hex(name: str, value: object) -> bytes:
    """Return the bytes of `value`, lower-case hexadecimal digits; upper case is another text."""
    if isinstance(value, str) and re.fullmatch("([0-9a-f]{2})+", value):
        return bytes.fromhex(value)
    raise InputError(f"{name} must be hexadecimal; got {format_value(value)}")


def checked_choice(
    name: str, value: object, choices: Mapping[str, object] | Sequence[str], of: str = ""
) -> str:
    """Return `value` if it is one of `choices`, or raise an error that lists them and ends with
    `of`.
    """
    if isinstance(value, str) and value in choices:
        return value
    raise InputError(f"{name} must be one of {', '.join(choices)}{of}; got {format_value(value)}")


_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?")


def exact_keys(
    what: str,
    given: object,
    keys: tuple[str, ...],
    unless_usual: Mapping[str, object] = MappingProxyType({}),
) -> Mapping[str, object]:
    """Return the table `given` if it has exactly these keys; others only with unusual values.

    A key of `unless_usual` must be left out when its value is the default given there, so that
    tables with equal meaning are equal.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"{what} must be an object; got {format_value(given)}")
    said = {key for key in unless_usual if key in given}
    if set(given) - said != set(keys):
        odd = sorted((set(given) - said) ^ set(keys))
        raise InputError(
            f"{what} must have exactly the keys {', '.join(keys)}; check {format_value(odd)}"
        )
    for key in sorted(said):
        if given[key] == unless_usual[key]:
            raise InputError(f"{what} leaves {key} {format_value(given[key])} out; got it said")
    return given


def known_keys(what: str, table: Mapping[str, object], keys: tuple[str, ...]) -> None:
    """Raise an InputError if `table` has a key that is not in `keys`, suggesting the nearest."""
    for key in table:
        if key not in keys:
            allowed = f"the keys {', '.join(keys)}" if keys else "no further keys"
            raise InputError(f"{what} has {allowed}; got {nearest(key, keys)}")


def checked_method(
    method: object,
    options: Mapping[str, object],
    known: Mapping[str, tuple[str, ...]],
    where: str = "",
) -> str:
    """Return the name of `method` if it is known and takes these options, or raise an
    InputError.
    """
    chosen = checked_choice("method", method, known, where)
    if "assume" in options and not any("assume" in own for own in known.values()):
        raise InputError(
            f"assume (--assume) is for ordered questions; got {format_value(options['assume'])} "
            "for a "
            f"question of another kind"
        )
    known_keys(f'method "{chosen}"', options, known[chosen])
    return chosen


def nearest(word: str, known: Sequence[str]) -> str:
    """Return `word` as an error shows it, with the nearest of the `known` words."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"{word!r} (did you mean {close[0]!r}?)" if close else repr(word)


def checked_text(
    table: Mapping[str, object], key: str, what: str, default: str | None = None
) -> str:
    """Return the normalised text `key` of `table`; it may be empty only if it has a default."""
    value = table.get(key, default)
    if not isinstance(value, str) or (not value.strip() and default is None):
        raise InputError(f"{key} of {what} must be a non-empty text; got {format_value(value)}")
    return unicodedata.normalize("NFC", checked_unicode(value).strip())


def exact_text(table: Mapping[str, object], key: str, what: str, *, empty: bool = False) -> str:
    """Return the text `key` of a contract, refused unless it is in Unicode normal form C."""
    value = table[key]
    if not isinstance(value, str) or not (value or empty):
        raise InputError(f"{key} of {what} must be a non-empty text; got {format_value(value)}")
    if value != unicodedata.normalize("NFC", checked_unicode(value)):
        raise InputError(
            f"{key} of {what} must be a text in Unicode normal form C; got {format_value(value)}"
        )
    return value


def checked_slug(table: Mapping[str, object], key: str, what: str) -> str:
    """Return `key` of `table` if it is a short name of lower-case letters, digits and hyphens."""
    value = table.get(key)
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InputError(
            f"{key} of {what} must be 1 to 64 lower-case letters, digits and inner hyphens; "
            f"got {format_value(value)}"
        )
    return value


def slug(text: str) -> str:
    """Return a short name made of `text`, as `checked_slug` accepts it."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:64].rstrip("-") or "unnamed"
