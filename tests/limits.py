"""Rules of the sources, each tried one off from its edge, and a census that misses none of them.

A `Rule` says what a check takes and refuses. Which check of the sources refused a value is read
from the traceback, so a table of rules can be compared with every check that the sources have: a
check that has no rule is named.
"""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from rumor.core.errors import InputError, format_value

SOURCES = Path(__file__).resolve().parents[1] / "src" / "rumor"
# Checks that others call: the line that calls one of them is the check.
SHARED = {
    "checked_above_zero", "checked_choice", "checked_epsilon", "checked_probability",
    "checked_size", "checked_threshold", "checked_slug", "checked_text", "exact_text", "exact_keys",
    "known_keys", "only_keys", "checked_url", "require_above_even", "not_kept",
}  # fmt: skip
ERRORS = {"InputError", "AnswerError", "NoAnswerError"}


@dataclass(frozen=True)
class Rule:
    """One rule of the sources: what hands a value to its check, and values next to its edges."""

    says: str
    """What the sentence says before the value that was given."""
    give: Callable[[Any], object]
    takes: Sequence[object]
    refuses: Sequence[object]
    shows: bool = True
    """Whether the sentence shows the value, as it was handed over."""

    def refused(self, value: object) -> InputError:
        """Return how `value` is refused; it must be."""
        try:
            self.give(value)
        except InputError as problem:
            return problem
        raise AssertionError(f"{self.says}: {format_value(value)} was taken")


def whole(name: str, low: int, high: int, give: Callable[[Any], object], **more: Any) -> Rule:
    """Return the rule of `checked_size`: an integer from `low` to `high`, and nothing alike."""
    given: dict[str, Any] = {
        "says": f"{name} must be an integer from {low:,} to {high:,}; got ",
        "takes": tuple(dict.fromkeys((low, high))),
        "refuses": (low - 1, high + 1, True, str(low), float(low)),
        **more,
    }
    return Rule(give=give, **given)


def word(name: str, choices: Sequence[str], give: Callable[[Any], object], of: str = "") -> Rule:
    """Return the rule of `checked_choice`: each of a few words, and no other."""
    says = f"{name} must be one of {', '.join(choices)}{of}; got "
    return Rule(says, give, tuple(choices), (f"{choices[0]}_", choices[-1].upper(), "", 1))


def cases(rules: Iterable[Rule]) -> list[ParameterSet]:
    """Return the rules as cases of a test."""
    return [
        pytest.param(rule, id=f"{number}-{rule.says[:40].strip()}")
        for number, rule in enumerate(rules)
    ]


def check(rule: Rule) -> None:
    """Hold a rule to its values: each is taken, or refused by the sentence that says the rule."""
    for value in rule.takes:
        rule.give(value)
    for value in rule.refuses:
        sentence = str(rule.refused(value))
        assert rule.says in sentence
        shapes = [format_value(value)]
        if isinstance(value, int) and not isinstance(value, bool):
            shapes += [f"{value:,}", str(value)]
        got = sentence.rpartition("got ")[2]
        assert not rule.shows or got.startswith(tuple(shapes)), sentence


# --- The census --------------------------------------------------------------------------------


Place = tuple[str, int]
"""A file below the sources, and the line where a statement that raises, or a call, begins."""


def refused_at(problem: BaseException | None) -> Iterator[Place]:
    """Yield the lines of the sources that refused: one raised or called a check, others told it."""
    while isinstance(problem, InputError):
        frames = [
            (Path(step.tb_frame.f_code.co_filename), step.tb_lineno, step.tb_frame.f_code.co_name)
            for step in _steps(problem.__traceback__)
        ]
        ours = [one for one in frames if one[0].is_relative_to(SOURCES)]
        while len(ours) > 1 and ours[-1][2] in SHARED:
            ours.pop()
        file, line, _ = ours[-1]
        yield file.relative_to(SOURCES).as_posix(), line
        problem = problem.__context__


def _steps(step: types.TracebackType | None) -> Iterator[types.TracebackType]:
    while step is not None:
        yield step
        step = step.tb_next


@functools.cache
def _tree(file: str) -> ast.Module:
    return ast.parse((SOURCES / file).read_text(encoding="utf-8"))


def checks(*folders: str, leaving: Sequence[str] = ()) -> dict[Place, str]:
    """Return every check of some folders of the sources, as text.

    A check raises an error of the input, or calls one that others share. What is within such a
    shared check is tried by whoever calls it.
    """
    found: dict[Place, str] = {}
    for folder in folders:
        for path in sorted((SOURCES / folder).rglob("*.py")):
            file = path.relative_to(SOURCES).as_posix()
            if file not in leaving:
                found.update(_checks_of(file))
    return found


def _checks_of(file: str) -> Iterator[tuple[Place, str]]:
    tree = _tree(file)
    within = {
        id(node)
        for shared in ast.walk(tree)
        if isinstance(shared, ast.FunctionDef) and shared.name in SHARED
        for node in ast.walk(shared)
    }
    for node in ast.walk(tree):
        if id(node) in within:
            continue
        if isinstance(node, ast.Raise):
            is_check = _called(node.exc) in ERRORS
        elif isinstance(node, ast.Call):
            is_check = _called(node) in SHARED
        else:
            continue
        if is_check:
            yield (file, node.lineno), ast.unparse(node)


def _called(node: ast.expr | None) -> str:
    """Return the name of what a call calls."""
    if not isinstance(node, ast.Call):
        return ""
    called = node.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def untried(rules: Iterable[Rule], there: dict[Place, str]) -> dict[Place, str]:
    """Return the checks that no rule's refused values reach."""
    problems = (rule.refused(value) for rule in rules for value in rule.refuses)
    reached = {place for problem in problems for place in refused_at(problem)}
    return {place: text for place, text in there.items() if place not in reached}
