"""Values as TOML writes them, for the collections that commands write."""

from __future__ import annotations

import json
from collections.abc import Mapping


def toml_text(value: object) -> str:
    """One value: a text, a number, yes or no, a list or a table."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {toml_text(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    # JSON writes a text as TOML does, but for the one control character that it may leave.
    return json.dumps(value).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)
