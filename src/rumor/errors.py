"""The one error that people meet: what is wrong, the rule, the value given."""

from __future__ import annotations


class InputError(ValueError):
    """Something handed to Rumor breaks a stated rule.

    The message is a single sentence that names the thing, the rule and the value
    given, so that the command line can print it as it is.
    """


def shown(value: object, limit: int = 60) -> str:
    """A value as an error message shows it: its repr, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."
