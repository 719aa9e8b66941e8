"""Characters that are no text: control characters, and code points that never are characters.

A terminal obeys them, an XML file may not hold them, and the library that draws pictures aborts
the process on some. Labels must not have any; where others wrote the text (kept columns,
candidates, titles), they are shown as the replacement character.
"""

from __future__ import annotations

import re

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
