"""Results as tables for papers: Markdown, LaTeX and a summary, made of the table on the screen.

`text_and_tables` gives the text of a result with its tables as cells, so that every result has all
forms, with the digits that its own table shows. Labels were written by others: nothing in them is
markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rumor.core.plain_text import TextTable, aligned, drawable, text_and_tables, wrapped

_BARS = frozenset(" ▁▂▃▄▅▆▇█▏▎▍▌▋▊▉")
_NO_SPACE = re.compile(r"[\r\n\t]")

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|~$@^]|:(?=//)|&(?=[#\w])")
_LIST = re.compile(r"^([0-9]+)([.)])(?= |$)")
_ADDRESS = re.compile("www[.]", re.IGNORECASE)

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\textasciigrave{}",
    # At the beginning of a row these two would belong to the end of the row before.
    "[": "{[}",
    "*": "{*}",
}
_DASHES = re.compile("-(?=-)")  # two in a row would be one longer sign
_MINUS = re.compile("(?:(?<=^)|(?<= ))-(?=[0-9])")
_ESCAPED = {ord(character): text for character, text in _LATEX.items()}


def as_markdown(make: Callable[[], str]) -> str:
    """Return the text that `make` returns as Markdown, with its tables as pipe tables."""
    blocks: list[str] = []
    for part in _parts(make):
        if isinstance(part, str):
            blocks.append(_escape_line(part))
            continue
        lines = [part.head, *part.body]
        rows = ["| " + " | ".join(map(_escape_markdown, line)) + " |" for line in lines]
        marks = (":--" if c in part.left else "--:" for c in range(len(part.head)))
        blocks.append("\n".join([rows[0], "| " + " | ".join(marks) + " |", *rows[1:]]))
    return "\n\n".join(blocks) + "\n"


def as_latex(make: Callable[[], str]) -> str:
    """Return the text that `make` returns as LaTeX, with its tables as tabulars of booktabs."""
    blocks: list[str] = []
    for part in _parts(make):
        if isinstance(part, str):
            blocks.append(rf"{escape_latex(part)}\par")
            continue
        columns = "".join("l" if c in part.left else "r" for c in range(len(part.head)))
        head, *rows = (
            " & ".join(map(escape_latex, line)) + r" \\" for line in (part.head, *part.body)
        )
        lines = (rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *rows)
        blocks.append("\n".join([*lines, r"\bottomrule", r"\end{tabular}\par"]))
    return "% needs \\usepackage{booktabs}\n" + "\n\n".join(blocks) + "\n"


def as_summary(make: Callable[[], str], facts: Sequence[tuple[str, str]]) -> str:
    """Return the text that `make` returns between rules, with `facts` by name above it.

    A heading before the first table is the title; what follows the last table are notes.
    """
    parts = _parts(make)
    tables = [i for i, part in enumerate(parts) if isinstance(part, TextTable)]
    first, last = (tables[0], tables[-1]) if tables else (0, -1)
    title = parts[0] if first > 0 and isinstance(parts[0], str) else "Estimate"
    drawn = [part if isinstance(part, str) else _drawn(part) for part in parts]
    above, below = drawn[min(first, 1) : last + 1], drawn[last + 1 :]
    known = _facts(facts)
    width = max(len(line) for block in (*above, known, title) for line in block.split("\n"))
    rule = "=" * width
    lines = [title.center(width).rstrip(), rule, known, rule, "\n\n".join(above), rule]
    return "\n".join([*lines, *map(wrapped, below)])


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    """Return facts by name in two columns."""
    half = (len(facts) + 1) // 2
    padded = [*facts, ("", "")][: 2 * half]
    rows = [(*padded[i], *padded[half + i]) for i in range(half)]
    names = [max(len(row[c]) for row in rows) for c in range(4)]
    return "\n".join(
        f"{a:<{names[0]}}  {b:>{names[1]}}    {c:<{names[2]}}  {d:>{names[3]}}".rstrip()
        for a, b, c, d in rows
    )


def _drawn(table: TextTable) -> str:
    """Return a table as aligned text, with a rule under its head."""
    head, *rows = aligned(table.head, table.body, table.left).split("\n")
    wide = max(map(len, (head, *rows)))
    return "\n".join([head, "-" * wide, *rows])


def _parts(make: Callable[[], str]) -> list[str | TextTable]:
    """Return the lines that are not empty, and the tables without their bars."""
    parts = [
        _without_bars(part) if isinstance(part, TextTable) else drawable(part)
        for part in text_and_tables(make)
    ]
    return [part for part in parts if part]


def _without_bars(table: TextTable) -> TextTable:
    """Return `table` without columns of bars and small lines, which repeat its numbers."""
    kept = [
        c
        for c in range(len(table.head))
        if table.head[c] not in ("", "line")
        or c == 0
        or not all(set(row[c]) <= _BARS for row in table.body)
    ]
    return TextTable(
        tuple(table.head[c] for c in kept),
        tuple(tuple(row[c] for c in kept) for row in table.body),
        tuple(place for place, c in enumerate(kept) if c in table.left),
    )


def _escape_markdown(text: str) -> str:
    """Return `text` for Markdown: every sign that could be markup has a backslash."""
    found = _MARKDOWN.sub(r"\\\g<0>", _NO_SPACE.sub(" ", drawable(text)))
    return _ADDRESS.sub(lambda name: rf"{name[0][:3]}\.", found)


def _escape_line(line: str) -> str:
    """Return a line for Markdown that begins neither a list nor a code block."""
    escaped = _LIST.sub(r"\1\\\2", _escape_markdown(line.strip()), count=1)
    return rf"\{escaped}" if escaped.startswith(("-", "+", "#", "=")) else escaped


def escape_latex(text: str) -> str:
    """Return `text` for LaTeX, with nothing in it that LaTeX would run or join."""
    escaped = _NO_SPACE.sub(" ", drawable(text)).translate(_ESCAPED)
    return _DASHES.sub("-{}", _MINUS.sub("$-$", escaped))
