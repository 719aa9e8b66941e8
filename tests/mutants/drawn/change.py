"""A change of one place of a source file, made by an operator."""

from __future__ import annotations

from dataclasses import dataclass

# What a bug is drawn from. Numbers, booleans and keys that are not a parameter's default are
# "constant", "boolean" and "string key".
OPERATORS = (
    "comparison",
    "boundary",
    "arithmetic",
    "constant",
    "boolean",
    "removed call",
    "removed raise",
    "swapped arguments",
    "changed default",
    "string key",
    "removed await",
)


@dataclass(frozen=True)
class Scope:
    """Where a change stands, as far as the choice of tests needs to know."""

    statement: tuple[int, int]
    """The first and the last line of the statement (of a compound statement: of its head)."""
    at_import: bool = False
    """Whether the statement runs once, when its module is loaded."""
    names: tuple[str, ...] = ()
    """Names by which other lines use this one: the function around it, or the value it sets."""
    body: tuple[int, int] | None = None
    """The lines of the function that this statement is the head of."""


@dataclass(frozen=True)
class Change:
    """One mutant: bytes of a file, and the bytes that take their place."""

    file: str
    """The path below the root, with slashes."""
    operator: str
    start: int
    end: int
    text: str
    line: int
    scope: Scope

    @property
    def area(self) -> str:
        """The area that the file belongs to: a folder of src/rumor, or JavaScript."""
        return area_of(self.file)

    def apply(self, source: bytes) -> bytes:
        """Return `source` with this change made."""
        return source[: self.start] + self.text.encode() + source[self.end :]

    def lines(self, source: bytes) -> tuple[str, str]:
        """Return the lines around the change, before and after it, each as one stripped line."""
        first = source.rfind(b"\n", 0, self.start) + 1
        last = source.find(b"\n", self.end)
        last = len(source) if last < 0 else last
        after = source[first : self.start] + self.text.encode() + source[self.end : last]
        return _joined(source[first:last]), _joined(after)


def area_of(file: str) -> str:
    """Return the area of a source `file`; the stores have one of their own."""
    if not file.endswith(".py"):
        return "javascript"
    parts = file.removeprefix("src/rumor/").split("/")
    if parts[:2] == ["collector", "store"]:
        return "collector/store"
    return parts[0] if len(parts) > 1 else "top"


def _joined(text: bytes) -> str:
    return " ".join(text.decode().split())
