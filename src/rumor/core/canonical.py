"""Canonical JSON (RFC 8785) and the SHA-256 digest taken of it.

A contract is compared by its digest, so equal meaning must give equal bytes: members
sorted by UTF-16 code units, no white space, numbers as ECMAScript prints them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence

from rumor.core.errors import InputError, format_value

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]


def canonical_json(value: Json) -> bytes:
    """Return the canonical bytes of the JSON `value`."""
    return _text(value).encode("utf-8")


def digest(value: Json) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, in lower-case hexadecimal."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def is_unicode(text: str) -> bool:
    """Return whether UTF-8 can encode `text`: a lone surrogate has no canonical form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def checked_unicode(text: str) -> str:
    """Return `text` if UTF-8 can encode it, or raise an InputError."""
    if not is_unicode(text):
        raise InputError(f"a text must be valid Unicode; got {format_value(text)}")
    return text


def well_formed(text: str) -> str:
    """Return `text` with U+FFFD for lone surrogates, so that no respondent's text is refused."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _text(value: Json) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(checked_unicode(value), ensure_ascii=False)
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Mapping):
        members = sorted(
            value.items(), key=lambda item: checked_unicode(item[0]).encode("utf-16-be")
        )
        return "{" + ",".join(f"{_text(k)}:{_text(v)}" for k, v in members) + "}"
    return "[" + ",".join(_text(item) for item in value) + "]"


def _number(value: int | float) -> str:
    """Return a number that a double holds, as ECMAScript prints it."""
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"a JSON number must be a finite double; got {format_value(value)}")
    text = _ecmascript(number)
    # An integer must be a double, or at least the text of one (as when such text is read back).
    if isinstance(value, int) and int(number) != value and text != str(value):
        raise InputError(f"a JSON number must be a finite double; got {format_value(value)}")
    return text


def _ecmascript(number: float) -> str:
    """Return `number` by ECMAScript's Number::toString: the shortest digits that round-trip."""
    if number == 0:
        return "0"
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0)
    if whole == "0":
        point -= 1 + len(fraction) - len(fraction.lstrip("0"))
    digits = digits.rstrip("0")
    sign = "-" if number < 0 else ""
    if len(digits) <= point <= 21:
        return sign + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    tail = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"
