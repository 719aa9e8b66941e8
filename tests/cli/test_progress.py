"""What somebody who sits at the terminal sees while a command runs, and that nobody else sees it.

A bar is drawn again ten times a second, and leaves nothing: what is looked at here is its last
state before it goes, and where it goes.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Callable
from typing import Any

import pytest

from rumor.cli.common import noted_progress, progress
from rumor.cli.papers import _progress


class Terminal(io.StringIO):
    """A standard error at which somebody sits."""

    def isatty(self) -> bool:
        return True


def seen(show: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the words that a bar ends on; there are none once it has gone."""
    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", terminal)
    show()
    written = terminal.getvalue()
    assert written.endswith("\x1b[2K"), "the bar stays"
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    return next(line for line in reversed(re.split(r"[\r\n]", plain)) if line.strip())


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (None, ""),
        (0.0, "0:00 left"),
        (5.9, "0:05 left"),
        (60.0, "1:00 left"),
        (125.9, "2:05 left"),
        (3_601.0, "60:01 left"),
    ],
)
def test_a_run_of_a_paper_says_its_cells_and_the_time_left(
    left: float | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show() -> None:
        with _progress("minimax") as update:
            update(0, 63, None)
            update(3, 63, left)

    bar = r"minimax \S+ +3/63 *" if not said else rf"minimax \S+ +3/63 {said}"
    assert re.fullmatch(bar, seen(show, monkeypatch).strip())


@pytest.mark.parametrize(
    ("total", "note", "said"),
    [
        (4_000, "", r"reading a.csv \S+ 1,000 of 4,000 \(25%\) \S+"),
        (4_000, "(part 2)", r"reading a.csv \(part 2\) \S+ 1,000 of 4,000 \(25%\) \S+"),
        (None, "", r"reading a.csv \S+ 1,000 \([\d,]+ per second\)"),
    ],
)
def test_a_bar_says_how_much_is_done(
    total: int | None, note: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show() -> None:
        with noted_progress("reading a.csv") as update:
            update(10, total, "not yet")
            update(1_000, total, note)

    assert re.fullmatch(said, seen(show, monkeypatch).strip())

    def without_note() -> None:
        with progress("reading a.csv") as update:
            update(1_000, total)

    if not note:
        assert re.fullmatch(said, seen(without_note, monkeypatch).strip())


@pytest.mark.parametrize("bar", [progress, noted_progress, _progress])
def test_a_program_that_reads_the_errors_sees_no_bar(
    bar: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = io.StringIO()
    monkeypatch.setattr(sys, "stderr", errors)
    with bar("reading") as update:
        update(1, 2) if bar is progress else update(1, 2, None)
    assert errors.getvalue() == ""
