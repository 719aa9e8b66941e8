"""Marked values, and where they must not turn up: what the tests of silence share."""

from __future__ import annotations

import re
import struct
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from rumor.core.errors import InputError

# Nothing else says these: a text, a number and an integer that somebody answered.
TEXT = "Qx7-diagnosis-HIV"
NUMBER = 48151.62342
INTEGER = 9481516

_DIGITS = (str(NUMBER), f"{NUMBER:,}", str(int(NUMBER)), str(INTEGER), f"{INTEGER:,}", "4.815")
_WORDS = (TEXT, "Qx7", "diagnosis", TEXT.casefold())
_BYTES = (
    *(word.encode(code) for word in _WORDS for code in ("utf-8", "utf-16-le", "utf-16-be")),
    *(struct.pack(order + "d", NUMBER) for order in "<>"),
    *(text.encode() for text in _DIGITS),
)


def marks(said: object) -> list[str]:
    """The marks in a text, or in anything as it prints."""
    text = said if isinstance(said, str) else repr(said)
    return [mark for mark in (*_WORDS, *_DIGITS) if mark in text]


def assert_silent(*said: object) -> None:
    """Nothing of this holds a mark."""
    for each in said:
        assert marks(each) == [], each


def assert_nothing_left(folder: Path) -> None:
    """No file below holds a mark, in any encoding, and no name does."""
    for path in folder.rglob("*"):
        assert_silent(str(path.relative_to(folder)))
        if path.is_file():
            data = path.read_bytes()
            assert [mark for mark in _BYTES if mark in data] == [], path


def chain(problem: BaseException | None) -> Iterator[BaseException]:
    """An exception and all that it came of, those too that a traceback would not print."""
    while problem is not None:
        yield problem
        problem = problem.__cause__ or problem.__context__


def refused_silently(act: Callable[[], object]) -> str | None:
    """The sentence of a refusal, which must be an InputError; None where it was no refusal."""
    try:
        act()
    except InputError as problem:
        for each in chain(problem):
            assert_silent(str(each), each.args, vars(each))
            inner = [getattr(each, name, "") for name in ("object", "doc", "reason")]
            assert_silent(*inner)
        lines = traceback.format_exception(problem)
        # The source of the tests themselves names the marks, but does not spell them.
        assert_silent(re.sub(r'File "[^"]*"', "", "".join(lines)))
        return str(problem)
    return None
