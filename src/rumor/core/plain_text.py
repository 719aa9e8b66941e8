"""Characters that are no text: control characters, and code points that never are characters.

A terminal obeys them, an XML file may not hold them, and the library that draws pictures aborts
the process on some. Labels must not have any; where others wrote the text (kept columns,
candidates, titles), they are shown as the replacement character.

Plain text for people: aligned tables, bars, percentages that show as much as is known.

Values as TOML writes them, for the collections that commands write.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from unicodedata import category, combining, east_asian_width

REPLACEMENT = "�"

_ENDS = "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(17))
_NO_TEXT = re.compile(f"[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_ENDS}]")
# What XML 1.0 cannot say, and halves of surrogate pairs. Tabs and ends of lines it can.
_NOT_DRAWN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# What a terminal obeys: control characters but for tabs and ends of lines, and the characters that
# turn the direction of text, which can make one word look like another.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return `text` with every character that a terminal obeys replaced by a visible one."""
    return _OBEYED.sub(REPLACEMENT, text)


def no_text(text: str) -> str | None:
    """The first character that is none, as U+001B, or None where all are."""
    found = _NO_TEXT.search(text)
    return None if found is None else f"U+{ord(found[0]):04X}"


def drawable(text: str) -> str:
    """The same text, with what cannot be drawn replaced."""
    return _NOT_DRAWN.sub(REPLACEMENT, text)


_BAR_CELLS = 20
_EIGHTHS = " ▏▎▍▌▋▊▉"
_LONGEST = 40
_JOINER = "\u200d"  # makes one emoji of two
_AS_EMOJI = "\ufe0f"  # asks for a sign to be shown as an emoji


def percent(share: float, decimals: int | None = None) -> str:
    """A share as a percentage, with these decimals or as few as say it exactly enough."""
    text = f"{100 * share:.6g}" if decimals is None else f"{100 * share:.{decimals}f}"
    return f"{text}%"


def decimals_for(error: float) -> int:
    """How many decimals of a percentage carry information when the error is this large."""
    if not math.isfinite(error) or error <= 0:
        return 2
    return min(6, max(1, 1 - math.floor(math.log10(100 * error))))


def digits_for(error: float) -> int:
    """How many decimals of a number carry information when its error is this large."""
    if not math.isfinite(error) or error <= 0:
        return 3
    return int(min(9, max(0, 1 - math.floor(math.log10(error)))))


def bar(share: float, full: float) -> str:
    """A horizontal bar, full at `full`."""
    if full <= 0 or not share > 0:
        return ""
    eighths = min(8 * _BAR_CELLS, round(8 * _BAR_CELLS * share / full))
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def one_line(text: object) -> str:
    """Text that cannot disturb a terminal or a table: printable, on one line, not too long."""
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


def wrapped(text: str) -> str:
    """A paragraph in lines of a readable length."""
    return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)


def _cells() -> Callable[[str], int]:
    """How many cells of a terminal a text takes, by rich or, without it, by Unicode's widths."""
    try:
        from rich.cells import cell_len
    except ModuleNotFoundError:
        return lambda text: sum(
            0 if combining(one) else 1 + (east_asian_width(one) in "WF") for one in text
        )
    return cell_len


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    """A table: columns as wide as they must be, to the right unless listed in `left`."""
    cell_len = _cells()
    rows = [list(head), *([*row] for row in body)]
    widths = [max(cell_len(row[c]) for row in rows) for c in range(len(head))]

    def cell(text: str, c: int) -> str:
        padding = " " * (widths[c] - cell_len(text))
        return text + padding if c in left else padding + text

    return "\n".join(
        "  ".join(cell(text, c) for c, text in enumerate(row)).rstrip() for row in rows
    )


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
