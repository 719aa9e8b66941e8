"""What `rumor init` asks about a question of a kind, and how what is typed is read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rumor.core.errors import InputError, format_value


def parse_list(text: str) -> list[str]:
    """Things with commas between them."""
    found = [part.strip() for part in text.split(",")]
    if len(found) < 2 or not all(found):
        raise InputError(f"type at least two, with commas between them; got {format_value(text)}")
    return found


def parse_number(text: str) -> float:
    """A number, whole where it is."""
    try:
        found = float(text)
    except ValueError:
        raise InputError(f"type a number; got {format_value(text)}") from None
    return int(found) if found.is_integer() else found


def parse_integer(text: str) -> int:
    """A whole number."""
    found = parse_number(text)
    if not isinstance(found, int):
        raise InputError(f"type a whole number; got {format_value(text)}")
    return found


def parse_parts(text: str) -> list[dict[str, object]]:
    """Parts of a question: "smokes: yes, no; drinks: much, some, none"."""
    found: list[dict[str, object]] = []
    for part in text.split(";"):
        id, colon, labels = part.partition(":")
        if not colon:
            raise InputError(
                f"type each part as NAME: ANSWER, ANSWER with semicolons between the parts; "
                f"got {format_value(text)}"
            )
        found.append({"id": id.strip(), "labels": parse_list(labels)})
    return found


@dataclass(frozen=True)
class InitPrompt:
    """One thing to ask for: the key that it becomes, and whether it may be left empty."""

    key: str
    text: str
    read: Callable[[str], object]
    optional: bool = False


LABELS = InitPrompt("labels", "The answers, with commas between them", parse_list)
LOW = InitPrompt("low", "The low end of the range", parse_number)
HIGH = InitPrompt("high", "The high end of the range", parse_number)


def cap_prompt(what: str, optional: bool) -> InitPrompt:
    """The most that one person holds."""
    rest = "; leave it empty if nobody can say" if optional else ""
    return InitPrompt(
        "cap",
        f"The most {what} that one person has: the number that nine in ten do not exceed. A lower "
        f"one loses what others have beyond it, a higher one adds noise (rumor plan --cap-from "
        f"learns it privately{rest})",
        parse_integer,
        optional,
    )
