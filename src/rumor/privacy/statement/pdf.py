"""Statements as PDF: lines on A4 pages, in the fonts that every reader of PDF has.

Letters of Western Europe are Helvetica's. All others are drawn in one of the two fonts for which
PDF names encodings of its own (ISO 32000-1, 9.7.5.2), Japanese or Chinese: nothing is embedded,
and nothing depends on the fonts of this machine.
"""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rumor.core.plain_text import drawable
from rumor.privacy.statement.statement import Statement

_WIDE, _HIGH, _MARGIN, _FOOT = 595.0, 842.0, 46.0, 24.0
_BODY, _LEADING = 8.6, 1.36

_HELVETICA = "<< /Type /Font /Subtype /Type1 /BaseFont /{} /Encoding /WinAnsiEncoding >>"
_BY_CODE = (
    "<< /Type /Font /Subtype /Type0 /BaseFont /{0} /Encoding /{1} /DescendantFonts [ << "
    "/Type /Font /Subtype /CIDFontType0 /BaseFont /{0} /DW 1000 /CIDSystemInfo "
    "<< /Registry (Adobe) /Ordering ({2}) /Supplement 4 >> /FontDescriptor << "
    "/Type /FontDescriptor /FontName /{0} /Flags 4 /FontBBox [-92 -254 1010 922] /ItalicAngle 0 "
    "/Ascent 880 /Descent -221 /CapHeight 737 /StemV 93 >> >> ] >>"
)
_JAPANESE = _BY_CODE.format("HeiseiKakuGo-W5", "UniJIS-UTF16-H", "Japan1")
_CHINESE = _BY_CODE.format("STSong-Light", "UniGB-UTF16-H", "GB1")
# The fonts of lines in this order: plain, bold, Japanese, Chinese.
_FONTS = (_HELVETICA.format("Helvetica"), _HELVETICA.format("Helvetica-Bold"), _JAPANESE, _CHINESE)


@dataclass(frozen=True)
class Line:
    """A line of text, its place on the page in points, and its language."""

    text: str
    size: float
    is_bold: bool
    indent: float
    gap: float
    """The space above it; on top of a page there is none."""
    language: str


def pdf(*statements: Statement) -> bytes:
    """Return these `statements` as the bytes of one PDF file, each from a page of its own."""
    drawn = [page for one in statements for page in _pages(lines(one))]
    contents = [_content(page, f"{i} / {len(drawn)}") for i, page in enumerate(drawn, 1)]
    first = len(_FONTS) + 3
    kids = " ".join(f"{first + 2 * i} 0 R" for i in range(len(contents)))
    fonts = " ".join(f"/F{i} {i + 3} 0 R" for i in range(len(_FONTS)))
    named = statements[0]
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R /Lang ({named.language}) >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(contents)} /MediaBox [0 0 {_WIDE} {_HIGH}] "
        f"/Resources << /Font << {fonts} >> >> >>",
        *_FONTS,
    ]
    for i, content in enumerate(contents):
        objects.append(f"<< /Type /Page /Parent 2 0 R /Contents {first + 2 * i + 1} 0 R >>")
        objects.append(f"<< /Length {len(content)} >>\nstream\n{content}\nendstream")
    objects.append(f"<< /Title <{_in_utf16(chr(0xFEFF) + drawable(named.title))}> >>")
    return _file(objects)


def lines(statement: Statement) -> Iterator[Line]:
    """Yield the lines of `statement` from top to bottom."""
    language = statement.language
    put = functools.partial(_set, language=language)
    yield from put(statement.title, 16, is_bold=True)
    yield from put(statement.lead, gap=4)
    for section in statement.sections:
        yield from put(section.heading, 11, is_bold=True, gap=9)
        for paragraph in section.paragraphs:
            yield from put(paragraph, gap=2)
        for name, value in section.facts:
            yield from put(f"{name}: {value}", indent=12, gap=2)
    for each in statement.consents:
        yield from _set(each.title, 11, is_bold=True, gap=12, language=each.language)
        for line in each.lines:
            yield from _set(line, gap=2, language=each.language)


def _set(
    text: str,
    size: float = _BODY,
    *,
    is_bold: bool = False,
    indent: float = 0.0,
    gap: float = 0.0,
    language: str,
) -> Iterator[Line]:
    """Yield the lines of a paragraph that fit the page's width."""
    room = 1000 * (_WIDE - 2 * _MARGIN - indent) / size
    for place, line in enumerate(_broken(drawable(text), room)):
        yield Line(line, size, is_bold, indent, gap if place == 0 else 0.0, language)


def _pages(lines: Iterator[Line]) -> Iterator[list[tuple[float, Line]]]:
    """Yield pages: lines, each with the height of its base above the foot of the page.

    A heading never stands alone at the foot.
    """
    page: list[tuple[float, Line]] = []
    height = _HIGH - _MARGIN
    for line, after in itertools.pairwise(itertools.chain(lines, [None])):
        assert line is not None
        needed = line.size * _LEADING
        rest = after.size * _LEADING + after.gap if line.is_bold and after is not None else 0.0
        if page and height - line.gap - needed - rest < _MARGIN + _FOOT:
            yield page
            page, height = [], _HIGH - _MARGIN
        height -= needed + (line.gap if page else 0.0)
        page.append((height, line))
    yield page


def _content(page: Sequence[tuple[float, Line]], number: str) -> str:
    """Return what draws a page, with its `number` at the foot."""
    foot = Line(number, _BODY, False, _WIDE - 2 * _MARGIN - 30, 0.0, "en")
    drawn = []
    for height, line in (*page, (_MARGIN, foot)):
        runs = "".join(_runs(line))
        drawn.append(f"BT 1 0 0 1 {_MARGIN + line.indent:.1f} {height:.1f} Tm {runs}ET")
    return "\n".join(drawn)


def _runs(line: Line) -> Iterator[str]:
    """Yield what draws the parts of a line, each in the font that has its letters."""
    far = 3 if line.language == "zh" else 2
    for is_western, letters in itertools.groupby(line.text, _is_western):
        text = "".join(letters)
        font = int(line.is_bold) if is_western else far
        code = text.encode("cp1252").hex() if is_western else _in_utf16(text)
        yield f"/F{font} {line.size} Tf <{code}> Tj "


def _is_western(character: str) -> bool:
    try:
        character.encode("cp1252")
    except UnicodeEncodeError:
        return False
    return True


def _in_utf16(text: str) -> str:
    return text.encode("utf-16-be").hex()


def _file(objects: Sequence[str]) -> bytes:
    """Return a PDF file of numbered `objects`: the first its catalogue, the last its title."""
    file = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += f"{number} 0 obj\n{body}\nendobj\n".encode("ascii")
    start, size = len(file), len(objects) + 1
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    file += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode("ascii")
    file += f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\n".encode("ascii")
    file += f"startxref\n{start}\n%%EOF\n".encode("ascii")
    return bytes(file)


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
    if unicodedata.east_asian_width(character) in "WF" or not _is_western(character):
        return 1000
    if character in " .,:;'|!()[]ijltfI-":
        return 340
    if character in "mwMW@%":
        return 950
    return 750 if character.isupper() else 570
