"""Plain text for terminals: safe characters, aligned tables, bars, percentages, TOML values.

A terminal obeys control characters, an XML file must not hold them, and the library that draws
charts aborts the process on some. Labels must not have any; in text that others wrote (public
columns, candidates, titles), the replacement character is shown instead.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from unicodedata import category, combining, east_asian_width

REPLACEMENT = "�"

_ENDS = "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
_NO_TEXT = re.compile(f"[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_ENDS}]")
# Characters that XML 1.0 does not allow, and halves of surrogate pairs; tabs and ends of lines are
# allowed.
_NOT_DRAWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# Characters that a terminal obeys: control characters but for tabs and ends of lines, and those
# that turn the direction of text, which can make one word look like another.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return `text` with every character that a terminal obeys replaced by a visible one."""
    return _OBEYED.sub(REPLACEMENT, text)


def no_text(text: str) -> str | None:
    """Return the first control character or noncharacter of `text` as "U+001B", or None."""
    found = _NO_TEXT.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def drawable(text: str) -> str:
    """Return `text` with every character that cannot be drawn replaced."""
    return _NOT_DRAWN.sub(REPLACEMENT, text)


_BAR_CELLS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LONGEST = 40
_JOINER = "\u200d"  # makes one emoji of two
_AS_EMOJI = "\ufe0f"  # asks for a sign to be shown as an emoji


def percent(share: float, decimals: int | None = None) -> str:
    """Format `share` as a percentage, with `decimals` or as few digits as are needed."""
    text = f"{100 * share:.6g}" if decimals is None else f"{100 * share:.{decimals}f}"
    return f"{text}%"


def decimals_for(error: float) -> int:
    """Return how many decimals of a percentage carry information, given its `error` as a share."""
    if not math.isfinite(error) or error <= 0:
        return 2
    return min(6, max(1, 1 - math.floor(math.log10(100 * error))))


def digits_for(error: float) -> int:
    """Return how many decimals of a number carry information, given its `error`."""
    if not math.isfinite(error) or error <= 0:
        return 3
    return int(min(9, max(0, 1 - math.floor(math.log10(error)))))


def rows_left_out(count: int, rows: str) -> list[str]:
    """Return the line that says that `count` of these `rows` (a noun) are not shown, if any."""
    return [f"{count:,} {rows}{'s' * (count != 1)} not shown"] if count else []


def bar(share: float, full: float) -> str:
    """Return a horizontal bar for `share`, complete at `full`."""
    if full <= 0 or not share > 0:
        return ""
    eighths = min(8 * _BAR_CELLS, round(8 * _BAR_CELLS * share / full))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def one_line(text: object) -> str:
    """Return `text` printable, on one line and cut to a length that suits a table."""
    whole = str(text)
    printable = "".join(
        c if c.isprintable() or _joins_emoji(whole, i) else "�" for i, c in enumerate(whole)
    )
    return printable if len(printable) <= _LONGEST else printable[: _LONGEST - 1] + "…"


def _joins_emoji(text: str, place: int) -> bool:
    """Return whether a joiner that shows nothing itself stands between two emoji."""
    if text[place] != _JOINER or not 0 < place < len(text) - 1:
        return False
    before, after = text[place - 1], text[place + 1]
    emoji = before == _AS_EMOJI or category(before) in ("So", "Sk")
    return emoji and category(after) == "So"


_WIDTH: ContextVar[int | None] = ContextVar("width", default=None)
"""The width that tables and paragraphs are made for; None where no terminal limits it."""


@contextmanager
def limited_width(columns: int | None) -> Iterator[None]:
    """Make tables and paragraphs for a terminal of so many `columns` while the block lasts."""
    token = _WIDTH.set(columns)
    try:
        yield
    finally:
        _WIDTH.reset(token)


@dataclass(frozen=True)
class TextTable:
    """The cells of a table as texts: its head, its rows, and the columns that are names."""

    head: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    left: tuple[int, ...]


_TABLES: ContextVar[list[TextTable] | None] = ContextVar("tables", default=None)
"""The tables that are kept as cells; None where tables are text."""


def text_and_tables(make: Callable[[], str]) -> list[str | TextTable]:
    """Return the lines of the text that `make` returns, with its tables as cells."""
    tables: list[TextTable] = []
    token = _TABLES.set(tables)
    try:
        text = make()
    finally:
        _TABLES.reset(token)
    parts: list[str | TextTable] = []
    for line in text.split("\n"):
        # Tables come in their order, so that no line of somebody else's is taken for one.
        number = sum(isinstance(part, TextTable) for part in parts)
        is_table = number < len(tables) and line == _mark(number)
        parts.append(tables[number] if is_table else line)
    return parts


def _mark(number: int) -> str:
    """Return the line that stands for table `number`."""
    return f"\0{number}\0"


def wrapped(text: str) -> str:
    """Return the paragraph `text` in lines of a readable length."""
    if _TABLES.get() is not None:
        return text
    return folded(text, min(88, _WIDTH.get() or 88))


def folded(line: str, columns: int) -> str:
    """Return `line` broken between words into lines of at most `columns`, indented alike."""
    indent = line[: len(line) - len(line.lstrip(" "))][: columns // 2]
    return textwrap.fill(
        line.strip(" "),
        columns,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _cells() -> Callable[[str], int]:
    """Return a function that measures text in terminal cells, by rich or by Unicode's widths."""
    try:
        from rich.cells import cell_len
    except ModuleNotFoundError:
        return lambda text: sum(
            0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text
        )
    return cell_len


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """Format a table; columns are right-aligned unless their index is in `left`.

    In a terminal that is too narrow, bars are left out; then the columns that do not fit follow
    below as a table of their own, beside the names in the first columns.
    """
    if (collected := _TABLES.get()) is not None:
        collected.append(TextTable(tuple(head), tuple(map(tuple, body)), tuple(left)))
        return _mark(len(collected) - 1)
    cell_len = _cells()
    rows = [list(head), *([*row] for row in body)]
    widths = [max(cell_len(row[c]) for row in rows) for c in range(len(head))]
    limit = _WIDTH.get()
    if limit is not None and sum(widths) + _GAP * (len(widths) - 1) > limit:
        parts = _parts(head, widths, left, limit)
        if parts != [[*range(len(head))]]:
            tables = (
                aligned(
                    [head[c] for c in part],
                    [[row[c] for c in part] for row in body],
                    [place for place, c in enumerate(part) if c in left],
                )
                for part in parts
            )
            return "\n\n".join(tables)

    def cell(text: str, c: int) -> str:
        padding = " " * (widths[c] - cell_len(text))
        return text + padding if c in left else padding + text

    return "\n".join(
        "  ".join(cell(text, c) for c, text in enumerate(row)).rstrip() for row in rows
    )


_GAP = 2  # cells between two columns


def _parts(
    head: Sequence[str], widths: Sequence[int], left: Sequence[int], limit: int
) -> list[list[int]]:
    """Return the columns of each of the tables that a table of these `widths` becomes."""
    columns = [*range(len(head))]
    if head[-1] == "" and len(head) - 1 in left:
        columns.pop()  # a bar says nothing that a number beside it does not
    names = [*itertools.takewhile(lambda c: c in left, columns[:-1])]
    parts, used = [[*names]], 0
    space = limit - sum(widths[c] + _GAP for c in names)
    for c in columns[len(names) :]:
        if used and used + widths[c] > space:
            parts.append([*names])
            used = 0
        parts[-1].append(c)
        used += widths[c] + _GAP
    return parts


def toml_text(value: object) -> str:
    """Format `value` as TOML: a text, a number, a boolean, a list or a table."""
    if isinstance(value, Mapping):
        inner = ", ".join(f"{key} = {toml_text(item)}" for key, item in value.items())
        return f"{{ {inner} }}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    # JSON writes a text as TOML does, but for the one control character that it may leave.
    return json.dumps(value).replace("\x7f", "\\u007f") if isinstance(value, str) else repr(value)
