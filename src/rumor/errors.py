"""The errors that people meet: what is wrong, the rule, the value given; or try later."""

from __future__ import annotations


class InputError(ValueError):
    """Something handed to Rumor breaks a stated rule.

    The message is a single sentence that names the thing, the rule and the value
    given, so that the command line can print it as it is.
    """


class Unavailable(Exception):  # noqa: N818 (a state, not a mistake)
    """Something that Rumor needs cannot be used just now: a full disk, a database that is gone."""


class Damaged(Unavailable):
    """Something that Rumor needs does not hold what was written: the sentence says a way out."""


def shown(value: object, limit: int = 60) -> str:
    """A value as an error message shows it: its repr, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
