"""Statements of Python functions that no test of a recording runs: no bug in them can be noticed.

Lines that run in a worker of Spark, on a GPU or in a process that is killed are not recorded; loops
that numba compiles (`COMPILED`) never are.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn.change import area_of
from tests.mutants.drawn.recording import Recording

COMPILED = "src/rumor/core/loops/compiled/"
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Statement:
    """A statement that no test runs; what stands within it is not listed again."""

    file: str
    line: int
    text: str
    """Its first line."""

    @property
    def area(self) -> str:
        """The area of the sources that the statement is in."""
        return area_of(self.file)


def untouched(touched: Recording, files: Iterable[str], root: Path = ROOT) -> list[Statement]:
    """Return the untouched statements of the Python sources among `files`, in order."""
    return [
        Statement(file, statement.lineno, ast.unparse(statement).partition("\n")[0])
        for file in files
        if file.endswith(".py") and not file.startswith(COMPILED) and touched.knows(file)
        for statement in _statements((root / file).read_text("utf-8"), touched.lines(file))
    ]


def _statements(source: str, lines: Set[int]) -> list[ast.stmt]:
    """Return the outermost statements of the functions of a `source` that have none of `lines`."""
    nodes = ast.walk(ast.parse(source))
    functions = [node for node in nodes if isinstance(node, _Function)]
    found = [one for function in functions for one in _outermost(function.body, lines)]
    return sorted(found, key=lambda one: one.lineno)


def _outermost(body: Iterable[ast.stmt], lines: Set[int]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, (_Function, ast.ClassDef)) or _is_silent(statement):
            continue  # a function within another one is walked by itself
        if lines.isdisjoint(_head(statement)):
            yield statement
            continue
        branches = [
            statement,
            *getattr(statement, "handlers", ()),
            *getattr(statement, "cases", ()),
        ]
        for branch in branches:
            for name in ("body", "orelse", "finalbody"):
                yield from _outermost(getattr(branch, name, ()), lines)


def _head(statement: ast.stmt) -> range:
    """Return the lines of a `statement`, of a compound one up to the first of its body."""
    body = getattr(statement, "body", None)
    last = body[0].lineno if body else statement.end_lineno
    return range(statement.lineno, (last or statement.lineno) + 1)


def _is_silent(statement: ast.stmt) -> bool:
    """Return whether a `statement` is no code that runs: a docstring, a name's type or scope."""
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.AnnAssign(value=None):
            return True
    return isinstance(statement, (ast.Pass, ast.Global, ast.Nonlocal))


def told(statements: Iterable[Statement]) -> str:
    """Return the `statements` as lines of text, and how many there are by area."""
    found = list(statements)
    rows = [f"{one.file}:{one.line}  {one.text}" for one in found]
    areas = [one.area for one in found]
    counts = [f"{areas.count(area)} in {area}" for area in sorted(set(areas))]
    return "\n".join([*rows, f"{len(found)} statements that no test runs", *counts])
