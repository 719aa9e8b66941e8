"""A statement as PDF: set in lines here, drawn by the library that draws the charts.

A sheet of A4; where that is too little it is longer. Letters come from the fonts of the machine,
so a consent text in Japanese or Chinese needs a font that has them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from html import escape

from rumor.core.extras import import_optional
from rumor.core.plain_text import drawable
from rumor.privacy.statement.statement import Statement

_WIDE, _HIGH, _MARGIN = 595.0, 842.0, 46.0
_BODY, _LEADING = 8.6, 1.36
_FONTS = "Inter, Liberation Sans, Arial, Helvetica, Noto Sans CJK JP, Noto Sans CJK SC, sans-serif"


def pdf(statement: Statement) -> bytes:
    """Return the statement as the bytes of a PDF file."""
    convert = import_optional("vl_convert", "a PDF")
    return bytes(convert.svg_to_pdf(svg(statement)))


def svg(statement: Statement) -> str:
    """Return the sheet as SVG, a text element for each line."""
    drawn, height = [], _MARGIN
    for text, size, weight, indent, gap in _lines(statement):
        height += gap + size * _LEADING
        drawn.append(
            f'<text x="{_MARGIN + indent:.1f}" y="{height:.1f}" font-size="{size}" '
            f'font-weight="{weight}">{escape(drawable(text))}</text>'
        )
    high = max(_HIGH, height + _MARGIN)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high:.1f}" '
        f'viewBox="0 0 {_WIDE} {high:.1f}"><rect width="{_WIDE}" height="{high:.1f}" fill="white"/>'
        f'<g font-family="{_FONTS}" fill="#1d1f23">{"".join(drawn)}</g></svg>'
    )


_Line = tuple[str, float, int, float, float]
"""The text, size, weight and indent of a line, and the gap above it."""


def _lines(statement: Statement) -> Iterator[_Line]:
    yield from _set(statement.title, 16, 700)
    yield from _set(statement.lead, _BODY, 400, gap=4)
    for section in statement.sections:
        yield from _set(section.heading, 11, 700, gap=9)
        for paragraph in section.paragraphs:
            yield from _set(paragraph, _BODY, 400, gap=2)
        for name, value in section.facts:
            yield from _set(f"{name}: {value}", _BODY, 400, indent=12, gap=2)
    for each in statement.consents:
        yield from _set(each.title, 11, 700, gap=12)
        for line in each.lines:
            yield from _set(line, _BODY, 400, gap=2)


def _set(
    text: str, size: float, weight: int, *, indent: float = 0.0, gap: float = 0.0
) -> Iterator[_Line]:
    """Yield the lines of a paragraph that fit the page's width."""
    room = 1000 * (_WIDE - 2 * _MARGIN - indent) / size
    for place, line in enumerate(_broken(text, room)):
        yield line, size, weight, indent, gap if place == 0 else 0.0


def _broken(text: str, room: float) -> Iterator[str]:
    """Yield lines of `text` no wider than `room`, in thousandths of an em.

    Lines are broken at spaces, and within a piece that has none.
    """
    line, wide = "", 0
    for word in _pieces(text):
        more = sum(map(_thousandths_of_em, word))
        if line and wide + more > room and word.strip():
            yield line.rstrip()
            line, wide = "", 0
        if line or word.strip():
            line, wide = line + word, wide + more
    yield line.rstrip()


def _pieces(text: str) -> Iterator[str]:
    """Yield pieces that end where a line may: after spaces, at wide letters, in long words."""
    piece = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF"
        if piece and (wide or character == " " or piece[-1] == " " or len(piece) == 40):
            yield piece
            piece = ""
        piece += character
        if wide:
            yield piece
            piece = ""
    if piece:
        yield piece


def _thousandths_of_em(character: str) -> int:
    """Return about how wide `character` is, in PDF's unit, rather too wide than too narrow."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1000
    if character in " .,:;'|!()[]ijltfI-":
        return 340
    if character in "mwMW@%":
        return 950
    return 750 if character.isupper() else 570
