"""What `rumor init` asks about a question of a kind, and how what is typed is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rumor.core.errors import InputError, format_value


def listed(text: str) -> list[str]:
    """Things with commas between them."""
    found = [part.strip() for part in text.split(",")]
    if len(found) < 2 or not all(found):
        raise InputError(f"type at least two, with commas between them; got {format_value(text)}")
    return found


def number(text: str) -> float:
    """A number, whole where it is."""
    try:
        found = float(text)
    except ValueError:
        raise InputError(f"type a number; got {format_value(text)}") from None
    return int(found) if found.is_integer() else found


def whole(text: str) -> int:
    """A whole number."""
    found = number(text)
    if not isinstance(found, int):
        raise InputError(f"type a whole number; got {format_value(text)}")
    return found


def parts(text: str) -> list[dict[str, object]]:
    """Parts of a question: "smokes: yes, no; drinks: much, some, none"."""
    found: list[dict[str, object]] = []
    for part in text.split(";"):
        id, colon, labels = part.partition(":")
        if not colon:
            raise InputError(
                f"type each part as NAME: ANSWER, ANSWER with semicolons between the parts; "
                f"got {format_value(text)}"
            )
        found.append({"id": id.strip(), "labels": listed(labels)})
    return found


@dataclass(frozen=True)
class Ask:
    """One thing to ask for: the key that it becomes, and whether it may be left empty."""

    key: str
    text: str
    read: Callable[[str], object]
    optional: bool = False


LABELS = Ask("labels", "The answers, with commas between them", listed)
LOW = Ask("low", "The low end of the range", number)
HIGH = Ask("high", "The high end of the range", number)


def cap_of(what: str, optional: bool) -> Ask:
    """The most that one person holds."""
    rest = "; leave it empty if nobody can say" if optional else ""
    return Ask(
        "cap",
        f"The most {what} that one person has: the number that nine in ten do not exceed. A lower "
        f"one loses what others have beyond it, a higher one adds noise (rumor plan --cap-from "
        f"learns it privately{rest})",
        whole,
        optional,
    )
