"""Run what the documentation shows, and write the parts of it that code can write.

    python -m docs.make_pages            run every page; rewrite outputs that changed, the
                                         command line's page and the pictures
    python -m docs.make_pages --check    the same, changing nothing: fails when a page is out
                                         of date

What the pages may hold, in order, each page in a folder of its own with examples/ in it:

- a block with a title (```toml title="fruit.toml") is a file that is written there;
- a ```python block runs; a ```text block right after it is what it prints;
- in a ```console block, the lines after `$ rumor ...` are what the command prints, on both
  outputs; other commands (make, cd) are not run.

A comment on the line before a block says more: <!-- not run: why --> leaves it out,
<!-- shape --> compares everything but the digits, <!-- status 2 --> expects an error.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
CLI_PAGE = DOCS / "reference" / "cli.md"
PYTHON_PAGE = DOCS / "reference" / "python.md"
COMMANDS_NOT_RUN = ("make", "cd", "source", "mkdir")

_FENCE = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?$")
_COMMENT = re.compile(r"^<!-- (not run|shape|status)(?::? (.+))? -->$")


@dataclass
class Block:
    """A fenced block of a page: where its lines are, and what is said of it."""

    language: str
    title: str | None
    start: int
    lines: list[str]
    remarks: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """What a page shows and what came out instead."""

    page: Path
    line: int
    command: str
    shown: str
    found: str

    def __str__(self) -> str:
        return (
            f"{self.page.relative_to(ROOT)}, line {self.line}: {self.command}\n"
            f"--- shown\n{self.shown}\n--- found\n{self.found}\n"
            f"(python -m docs.make_pages rewrites what changed)"
        )


def pages() -> list[Path]:
    """Every page whose blocks run."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")]
    return [*top, *sorted(DOCS.rglob("*.md"))]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    lines = text.split("\n")
    open_: Block | None = None
    for number, line in enumerate(lines):
        if open_ is not None:
            if line == "```":
                yield open_
                open_ = None
            else:
                open_.lines.append(line)
        elif match := _FENCE.match(line):
            open_ = Block(match[1], match[2], number, [])
            above = number - 1
            while above >= 0 and (remark := _COMMENT.match(lines[above])):
                open_.remarks[remark[1]] = remark[2] or ""
                above -= 1
        elif line.startswith("```"):
            raise ValueError(f"line {number + 1}: a fence must name a language; got {line!r}")
    if open_ is not None:
        raise ValueError(f"line {open_.start + 1}: a fence must be closed")


class Runner:
    """Runs the blocks of one page in a folder, and keeps what differs from the page."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.differences: list[Difference] = []
        self._namespace: dict[str, Any] = {"__name__": "__main__"}
        shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)

    def run(self) -> str:
        """Run the whole page; returns its text with every output as it came out."""
        text = self.page.read_text(encoding="utf-8")
        lines, shift = text.split("\n"), 0
        found = list(blocks(text))
        with _inside(self.folder):
            for index, block in enumerate(found):
                following = found[index + 1] if index + 1 < len(found) else None
                for start, end, new in self._outputs(block, following, text.split("\n")):
                    lines[start + shift : end + shift] = new
                    shift += len(new) - (end - start)
        return "\n".join(lines)

    def _outputs(
        self, block: Block, following: Block | None, lines: list[str]
    ) -> list[tuple[int, int, list[str]]]:
        """Run a block; the lines to replace, as (start, end, new lines)."""
        if "not run" in block.remarks:
            if not block.remarks["not run"].strip():
                raise ValueError(f"{self.page}: a block that is not run must say why")
            return []
        if block.title is not None:
            target = self.folder / block.title
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("\n".join(block.lines) + "\n", encoding="utf-8")
            return []
        if block.language == "python":
            printed = self._python(block)
            if following is None or following.language != "text":
                return []
            between = lines[block.start + len(block.lines) + 2 : following.start]
            if any(line.strip() and not _COMMENT.match(line) for line in between):
                return []
            start = following.start + 1
            end = start + len(following.lines)
            self._compare(following, following.start, "python", following.lines, printed)
            return [(start, end, printed)]
        if block.language == "console":
            return self._console(block)
        return []

    def _python(self, block: Block) -> list[str]:
        out = io.StringIO()
        code = "\n" * (block.start + 1) + "\n".join(block.lines)
        with contextlib.redirect_stdout(out):
            exec(compile(code, str(self.page), "exec"), self._namespace)
        return _as_lines(out.getvalue())

    def _console(self, block: Block) -> list[tuple[int, int, list[str]]]:
        outputs = []
        position = 0
        while position < len(block.lines):
            line = block.lines[position]
            if not line.startswith("$ "):
                raise ValueError(f"{self.page}, line {block.start + position + 2}: not a command")
            command, first = line[2:], position
            while command.endswith("\\"):
                position += 1
                command = command[:-1] + block.lines[position].strip()
            position += 1
            start = position
            while position < len(block.lines) and not block.lines[position].startswith("$ "):
                position += 1
            shown = block.lines[start:position]
            words = shlex.split(command)
            if words[0] in COMMANDS_NOT_RUN:
                continue
            if words[0] != "rumor":
                raise ValueError(f"{self.page}: only rumor's commands run; got {command!r}")
            status, found = _rumor(words[1:])
            wanted = int(block.remarks.get("status") or 0)
            if status != wanted:
                text = "\n".join(found)
                raise ValueError(f"{self.page}: {command!r} ended with status {status}:\n{text}")
            self._compare(block, block.start + first, command, shown, found)
            offset = block.start + 1
            outputs.append((offset + start, offset + position, found))
        return outputs

    def _compare(
        self, block: Block, line: int, command: str, shown: list[str], found: list[str]
    ) -> None:
        same = shown == found
        if not same and "shape" in block.remarks:
            same = _shape(shown) == _shape(found)
        if not same:
            texts = "\n".join(shown), "\n".join(found)
            self.differences.append(Difference(self.page, line + 1, command, *texts))


def _rumor(arguments: list[str]) -> tuple[int, list[str]]:
    """Run a command in this process; its status and what it printed on both outputs."""
    from rumor.cli import main

    out = io.StringIO()
    target = None
    if ">" in arguments:
        target = Path(arguments[-1])
        arguments = arguments[: arguments.index(">")]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = main(arguments)
    if target is not None:
        target.write_text(out.getvalue(), encoding="utf-8")
        return status, []
    return status, _as_lines(out.getvalue())


def _as_lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _shape(lines: list[str]) -> list[str]:
    """Lines without what chance decides: digits, bars, and the spaces that align them."""
    plain = (re.sub(r"[█▏▎▍▌▋▊▉]+", "", re.sub(r"\d[\d,.e+-]*", "0", line)) for line in lines)
    return [" ".join(line.split()) for line in plain]


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """In a folder, with a terminal of 80 columns, whatever this one has."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "80"
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def commands() -> dict[str, Any]:
    """The commands of the command line, by name ("collections list"), as the parser knows them."""
    import typer.main

    from rumor.cli.app import app

    found: dict[str, Any] = {}

    def collect(group: Any, before: str) -> None:
        for name, command in group.commands.items():
            found[f"{before}{name}"] = command
            if hasattr(command, "commands"):
                collect(command, f"{before}{name} ")

    collect(typer.main.get_command(app), "")
    return found


# An argument or option with the same name and text in this many commands is described once.
_SHARED_BY = 2


def cli_page() -> str:
    """The page about the command line, from what `--help` says."""
    helps = {"rumor": _help([])}
    helps |= {f"rumor {name}": _help(name.split()) for name in commands()}
    counted = Counter(
        entry for lines in helps.values() for entry in {_key(e) for e in _entries(lines)}
    )
    often: dict[str, str] = {}  # by name: one text for each, the one that most commands use
    for entry, number in counted.most_common():
        if number >= _SHARED_BY:
            often.setdefault(entry.split("\n")[0], entry)
    shared = {*often.values()}
    first = {
        _key(entry): _wrapped(entry)
        for lines in helps.values()
        for entry in _entries(lines)
        if _key(entry) in shared
    }
    parts = [
        "# The command line",
        "",
        "<!-- Written by docs/make_pages.py from `--help`; do not edit. -->",
        "",
        "Every command ends with status 0, or with status 2 and one sentence on standard error",
        "when an input breaks a rule; no file is then left half written. `--json` prints one JSON",
        "object for scripts. Progress is shown on standard error, and only in a terminal. `-q` may",
        "be left out where the collection has one question.",
        "",
        "Two commands also use status 1: `rumor audit` when a claim does not hold, `rumor answer`",
        "when reports could not be sent yet.",
        "",
        "Arguments and options that several commands share are described first, and named under",
        '"Also" in each command. `rumor COMMAND --help` shows them all.',
        "",
        "## Shared arguments and options",
        "",
        "```text",
        *(line for key in sorted(first, key=_by_name) for line in first[key]),
        "```",
        "",
    ]
    helps["rumor"] = _names_of_commands(helps["rumor"])
    for title, lines in helps.items():
        parts += [f"## {title}", "", "```text", *_without(lines, shared), "```", ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _help(arguments: list[str]) -> list[str]:
    with _inside(ROOT):
        return _rumor([*arguments, "--help"])[1]


def _names_of_commands(lines: list[str]) -> list[str]:
    """A help text whose groups of commands give the names only: each has a section of its own."""
    kept = [""]
    inside = False
    for line in lines:
        command = re.match(r"  ([a-z]+)  +\S", line)
        if command:
            kept[-1] += f" {command[1]}" if kept[-1].endswith(":") else f", {command[1]}"
            inside = True
        elif not inside or (line and not line.startswith("   ")):
            kept.append(line)
            inside = False
    return [part for line in kept[1:] for part in _group(line)]


def _group(line: str) -> list[str]:
    """The line of a group of commands, wrapped; any other line as it is."""
    if not re.match(r"[A-Z]\w+: [a-z]", line):
        return [line]
    return textwrap.wrap(line, 96, subsequent_indent="  ")


def _by_name(key: str) -> tuple[bool, str]:
    """Arguments first, then options by their long name."""
    name = key.split("\n")[0]
    return name.startswith("-"), re.sub(r"^(-\w, )?-*", "", name).lower()


def _entries(lines: list[str]) -> Iterator[list[str]]:
    """The lines of each argument and option of a help text, headings left out."""
    inside = False
    entry: list[str] = []
    for line in [*lines, ""]:
        if inside and line.startswith("   ") and entry:
            entry.append(line)
            continue
        if entry:
            yield entry
            entry = []
        if line.startswith(("Arguments:", "Options:")):
            inside = True
        elif inside and line.startswith("  "):
            entry = [line]
        elif line and not line.startswith(" "):
            inside = False


def _key(entry: list[str]) -> str:
    """An entry's name and its text, however it was wrapped."""
    name, _, text = entry[0].strip().partition("  ")
    words = " ".join([text, *entry[1:]]).split()
    return f"{name}\n{' '.join(words)}"


def _wrapped(entry: list[str]) -> list[str]:
    name, text = _key(entry).split("\n")
    return textwrap.wrap(f"{name:<26}  {text}", 96, subsequent_indent=" " * 28)


def _without(lines: list[str], shared: set[str]) -> list[str]:
    """A help text without its shared entries, whose names follow in one line."""
    entries = list(_entries(lines))
    names = [_key(entry).split("\n")[0] for entry in entries if _key(entry) in shared]
    also = [re.sub(r" [^-].*", "", name) for name in names if name.startswith("-")]
    dropped = {id(line) for entry in entries if _key(entry) in shared for line in entry}
    kept = [line for line in lines if id(line) not in dropped]
    text = re.sub(r"(Arguments|Options):(\n(?=\n)\n*|\n*\Z)", "", "\n".join(kept)).rstrip()
    text = text.removeprefix("Usage: ").replace(" [OPTIONS]", "", 1)
    return [*text.split("\n"), *_also([name for name in also if name != "-h, --help"])]


def _also(names: list[str]) -> list[str]:
    if not names:
        return []
    text = "Also: " + "; ".join(names)
    return ["", *textwrap.wrap(text, 96, subsequent_indent="  ", break_on_hyphens=False)]


GROUPS = {
    "The nouns": (
        "Collection",
        "Summary",
        "Estimate",
        "WordEstimate",
        "MeanEstimate",
        "KeyValueEstimate",
        "OrderedEstimate",
        "OpenWordEstimate",
        "Comparison",
        "Regression",
        "Combined",
        "Trend",
        "Watch",
        "View",
    ),
    "Functions": (
        "estimate",
        "compare",
        "regress",
        "weigh",
        "combine",
        "trend",
        "watch",
        "merge",
        "key_value",
        "next_round",
    ),
    "The device": ("Respondent", "Client"),
    "Randomness": ("System", "Keyed", "Seeded"),
    "Errors": ("InputError",),
}


def python_page() -> str:
    """The page about the Python names, from their signatures and docstrings."""
    import rumor
    from rumor.mechanisms import (
        FrequencyOracle,
        KeyValueMechanism,
        MeanMechanism,
        Mechanism,
        SetMechanism,
    )
    from rumor.results.rows import Tabular
    from rumor.results.selection import RankedRows

    tables = (Tabular, RankedRows, rumor.Estimate)
    families = {
        "Every mechanism": Mechanism,
        "Every frequency oracle": FrequencyOracle,
        "Every mechanism for numbers": MeanMechanism,
        "Every mechanism for sets": SetMechanism,
        "Every mechanism for keys with numbers": KeyValueMechanism,
    }
    public = [name for name in rumor.__all__ if not name.startswith("__")]
    values = {name: getattr(rumor, name) for name in public}
    mechanisms = [n for n, v in values.items() if isinstance(v, type) and issubclass(v, Mechanism)]
    grouped = {*mechanisms, *(name for names in GROUPS.values() for name in names)}
    groups = {**GROUPS, "More": tuple(name for name in public if name not in grouped)}
    described: dict[str, str] = {}
    parts = [
        "# Python",
        "",
        "<!-- Written by docs/make_pages.py from signatures and docstrings; do not edit. -->",
        "",
        "`import rumor` gives the names below, each loaded when first used. Everything is typed.",
        "All arguments of mechanisms are keywords. Values are integers from 0, or labels where",
        "there are labels; batches come as lists, numpy arrays, Arrow, pandas or Polars columns.",
        "",
        "What a class shares with another is described once: with its family, or with the class",
        "that comes first; later classes name it. What a mechanism does is in",
        "[mechanisms](mechanisms.md).",
        "",
        "## Mechanisms",
        "",
    ]
    for title, family in families.items():
        hide = tuple(base for base in families.values() if base is not family)
        parts += _class_section(title, family, hide, described)
    for name in mechanisms:
        parts += _class_section(f"rumor.{name}", values[name], (*families.values(),), described)
    for title, names in groups.items():
        known = [name for name in names if name in values]
        if known:
            parts += [f"## {title}", ""]
        if "Estimate" in known:
            parts += _class_section("Every table of results", Tabular, (), described)
            parts += _class_section("Every ranked table", RankedRows, (Tabular,), described)
        for name in known:
            value = values[name]
            if isinstance(value, type):
                hide = tuple(base for base in tables if base in value.__mro__[1:])
                parts += _class_section(f"rumor.{name}", value, hide, described)
            else:
                signature = _signature(name, value)
                parts += [f"### rumor.{name}", "", *_code(signature), "", *_prose(value), ""]
    return "\n".join(parts).rstrip("\n") + "\n"


def _class_section(
    title: str, kind: type, hide: tuple[type, ...], described: dict[str, str]
) -> list[str]:
    """A class: how it is made, what it is for, and its members that are not in `hide`.

    `described` has the rows of the sections before, and the titles of these: a row that is
    there already is not repeated.
    """
    abstract = inspect.isabstract(kind)
    parts = [f"### {title}", ""]
    own = kind.__dict__.get("__init__") or getattr(kind, "__init__", None)
    known = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    fields = [each.name for each in known if each.name[0] != "_"]
    made = not abstract and not issubclass(kind, Exception) and not fields
    if made and inspect.isfunction(own):
        parts += [*_code(_signature(kind.__name__, own)), ""]
    parts += [*(_summary(kind) if _is_mechanism(kind) else _prose(kind)), ""]
    if made and inspect.isfunction(own) and own.__doc__:
        parts += [*_prose(own), ""]
    parent = next((base for base in kind.__mro__[1:] if base in hide and fields), None)
    if parent is not None and dataclasses.is_dataclass(parent):
        inherited = {each.name for each in dataclasses.fields(parent)}
        fields = [name for name in fields if name not in inherited]
        named = "".join(f", `{name}`" for name in fields)
        parts += [*textwrap.wrap(f"Fields: those of `{parent.__name__}`{named}.", 100), ""]
    elif fields:
        in_code = ", ".join(f"`{name}`" for name in fields)
        parts += [*textwrap.wrap(f"Fields: {in_code}.", 100), ""]
    rows: list[str] = []
    again: list[tuple[str, str]] = []
    hidden = {name for base in hide if issubclass(kind, base) for name in dir(base)}
    for name in public_members(kind):
        if name in hidden:
            continue
        shown, text = _described(kind, name)
        row = f"- `{shown}`: {text}"
        if row in described:
            again.append((name, described[row]))
            continue
        described[row] = title.removeprefix("rumor.")
        rows.append(row)
    if rows:
        parts += [*(line for row in rows for line in _bullet(row)), ""]
    if again:
        places = dict.fromkeys(place for _, place in again)
        listed = (
            f"{', '.join(f'`{name}`' for name, at in again if at == place)} (see {place})"
            for place in places
        )
        parts += [*textwrap.wrap(f"Also: {'; '.join(listed)}.", 96), ""]
    return parts


def _bullet(row: str) -> list[str]:
    return textwrap.wrap(
        row, 100, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def public_members(kind: type) -> list[str]:
    """What a class and its bases of ours offer and describe, in the order of definition."""
    if issubclass(kind, Exception):
        return []
    names: dict[str, None] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("rumor."):
            names |= {name: None for name in base.__dict__ if name[0] != "_"}
    return [name for name in names if _described(kind, name)[1]]


def _described(kind: type, name: str) -> tuple[str, str]:
    """How a member of `kind` is called, and what it or the nearest base's says about itself."""
    shown, text = _member(name, inspect.getattr_static(kind, name))
    bases = (base for base in kind.__mro__ if name in base.__dict__)
    texts = (_member(name, base.__dict__[name])[1] for base in bases)
    return shown, text or next(filter(None, texts), "")


def _member(name: str, member: object) -> tuple[str, str]:
    """How a member is called, and the first paragraph about it; nothing where none is said."""
    if isinstance(member, (property, functools.cached_property)):
        get = member.fget if isinstance(member, property) else member.func
        return name, _first_paragraph(get)
    if isinstance(member, (classmethod, staticmethod)):
        return _signature(name, member.__func__), _first_paragraph(member.__func__)
    if inspect.isfunction(member):
        return _signature(name, member), _first_paragraph(member)
    return name, ""


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.name not in ("self", "cls")]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in kept]
    text = str(inspect.Signature(plain)).replace(" = ", "=")
    return f"{name}{text}"


def _code(signature: str) -> list[str]:
    return ["```text", *textwrap.wrap(signature, 96, subsequent_indent="    "), "```"]


def _first_paragraph(thing: object) -> str:
    text = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return " ".join(text.split())


def _prose(thing: object) -> list[str]:
    return (inspect.getdoc(thing) or "").split("\n")


def _is_mechanism(kind: type) -> bool:
    from rumor.mechanisms import Mechanism

    return issubclass(kind, Mechanism)


def _summary(kind: type) -> list[str]:
    """The first paragraph of a docstring, and those that begin with a parameter in backticks.

    Model, privacy argument and sources of a mechanism are in docs/reference/mechanisms.md.
    """
    named = [f"`{name}`" for name in inspect.signature(kind).parameters]
    first, *rest = (inspect.getdoc(kind) or "").split("\n\n")
    kept = [text for text in rest if text.startswith(tuple(named))]
    return "\n\n".join([first, *kept]).split("\n")


def main(arguments: list[str]) -> int:
    """Bring the documentation up to date, or say what is not."""
    from docs import make_papers, make_pictures

    check = "--check" in arguments
    stale: list[str] = []

    def settle(path: Path, new: str, same: Callable[[str, str], bool] = str.__eq__) -> None:
        old = path.read_text(encoding="utf-8") if path.exists() else None
        if old is None or not same(old, new):
            stale.append(str(path.relative_to(ROOT)))
            if not check:
                path.write_text(new, encoding="utf-8")

    settle(CLI_PAGE, cli_page())
    settle(PYTHON_PAGE, python_page())
    for name, picture in make_pictures.pictures().items():
        settle(make_pictures.FOLDER / name, picture, make_pictures.same)
    for path, text in make_papers.files().items():
        settle(path, text)
    for page in pages():
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(page, Path(folder))
            try:
                new = runner.run()
            except Exception as problem:
                print(f"{page.relative_to(ROOT)}: {type(problem).__name__}: {problem}")
                stale.append(str(page.relative_to(ROOT)))
                continue
            if runner.differences:
                settle(page, new)
    verb = "out of date" if check else "rewritten or failing"
    print(f"{verb}: {', '.join(stale)}" if stale else "everything is up to date")
    return 1 if stale and check else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
