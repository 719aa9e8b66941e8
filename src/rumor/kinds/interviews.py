"""The prompts of `rumor init` about a question of a kind, and parsers of the typed replies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rumor.core.errors import InputError, format_value


def parse_list(text: str) -> list[str]:
    """Return the comma-separated items of `text`."""
    found = [part.strip() for part in text.split(",")]
    if len(found) < 2 or not all(found):
        raise InputError(f"type at least two, with commas between them; got {format_value(text)}")
    return found


def parse_number(text: str) -> float:
    """Return the number that `text` spells, an int where it is whole."""
    try:
        found = float(text)
    except ValueError:
        raise InputError(f"type a number; got {format_value(text)}") from None
    return int(found) if found.is_integer() else found


def parse_integer(text: str) -> int:
    """Return the whole number that `text` spells."""
    found = parse_number(text)
    if not isinstance(found, int):
        raise InputError(f"type a whole number; got {format_value(text)}")
    return found


def parse_parts(text: str) -> list[dict[str, object]]:
    """Return the parts of a joint question, as in "smokes: yes, no; drinks: much, some, none"."""
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
    """A prompt of `rumor init`: the key it fills, its text, its parser, and whether it is
    optional.
    """

    key: str
    text: str
    read: Callable[[str], object]
    optional: bool = False


LABELS = InitPrompt("labels", "The answers, with commas between them", parse_list)
LOW = InitPrompt("low", "The low end of the range", parse_number)
HIGH = InitPrompt("high", "The high end of the range", parse_number)


def cap_prompt(what: str, optional: bool) -> InitPrompt:
    """Return the prompt for the cap on how many `what` one person has."""
    rest = "; leave it empty if unknown" if optional else ""
    return InitPrompt(
        "cap",
        f"The largest number of {what} of one person to count, such as the 90% quantile. A lower "
        f"cap loses {what}, a higher cap adds noise (rumor plan --cap-from learns the cap "
        f"privately{rest})",
        parse_integer,
        optional,
    )
