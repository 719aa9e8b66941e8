"""Things of many people in one row, those of a person next to each other."""

from __future__ import annotations

from rumor.core.types import Codes


class Grouped:
    """The things of person i are those from `starts[i]` to before `starts[i + 1]`."""

    starts: Codes

    @property
    def people(self) -> int:
        """How many people: a start each, and the end."""
        return self.starts.size - 1
