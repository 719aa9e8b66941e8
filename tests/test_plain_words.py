"""Names, help and pages without the words of this project's own that a newcomer cannot know.

A retired word has an ordinary meaning here no more: its replacement is the literature's term, or a
plain noun. Old names that still work (rumor/core/deprecation.py) are exempt: they are listed there.
"""

from __future__ import annotations

import ast
import collections
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import rumor
from rumor.cli.app import app

SOURCES = Path(rumor.__file__).parent
PAGE_WORDS = SOURCES / "client" / "js" / "view" / "words"
PAGES = sorted(PAGE_WORDS.glob("*.js"))
DASHBOARD = sorted((SOURCES / "collector" / "web").rglob("*.js"))

RETIRED = {
    "afresh": "new noise for each report",
    "asking": "sampling design, assignment",
    "beside": "next to, compared with, extra fields",
    "dear": "costly",
    "dearest": "largest loss",
    "deviate": "z-score",
    "deviates": "z-scores",
    "grown": "found by a prefix search",
    "heap": "batch",
    "keeper": "periodic task",
    "liar": "fake report",
    "liars": "fake reports, poisoning",
    "mend": "post-processing",
    "near-or-far": "windowed response",
    "pulse": "health",
    "purse": "token table",
    "rehearsal": "trial, simulation",
    "restate": "report a permanent answer",
    "settle": "draw permanent noise",
    "settles": "is memoised",
    "stand-in": "label for a missing answer",
    "stand-ins": "labels for missing answers",
    "stem": "prefix",
    "stems": "prefixes",
    "stretch": "group, interval",
    "told": "as JSON, notes, distinguished",
    "trifle": "tolerance",
    "underneath": "effective kind",
    "walked": "enumerated",
    "wish": "spec, collection file",
    "wishes": "spec, options",
}
"""Words that mean something in this project alone, each with the words to use."""

NEEDS_A_NEIGHBOUR = ("the same", "of ", "so many", "what ", "there ")
"""Beginnings of docstrings that make sense only after the one before."""

Definition = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def retired_in(text: str) -> list[str]:
    """Return the retired words in `text`, whose names may be in camel, snake or kebab case."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", "-").lower()
    words = re.findall(r"[a-z]+(?:-[a-z]+)*", plain)
    parts = {part for word in words for part in _parts(word)}
    return sorted(parts & RETIRED.keys())


def _parts(word: str) -> Iterator[str]:
    """Yield `word` and every run of its hyphenated parts."""
    parts = word.split("-")
    for first in range(len(parts)):
        for last in range(first, len(parts)):
            yield "-".join(parts[first : last + 1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("privatize_stems", ["stems"]),
        ("NearOrFar", []),
        ("near_or_far", ["near-or-far"]),
        ("stand_ins", ["stand-ins"]),
        ("the BudgetWish", ["wish"]),
        ("system, heaping", []),
    ],
)
def test_retired_words_are_found_in_names_and_sentences(text: str, found: list[str]) -> None:
    assert retired_in(text) == found


def public_names() -> Iterator[str]:
    """Yield the public names, members and parameters of the package."""
    for name in rumor.__all__:
        value = getattr(rumor, name)
        yield name
        if inspect.isclass(value):
            members = [one for one in dir(value) if not one.startswith("_")]
            yield from (f"{name}.{member}" for member in members)
            for member in members:
                yield from _parameters(f"{name}.{member}", getattr(value, member))
        elif callable(value):
            yield from _parameters(name, value)


def _parameters(name: str, value: Any) -> Iterator[str]:
    if inspect.isfunction(value) or inspect.ismethod(value):
        for one in inspect.signature(value).parameters.values():
            if one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
                yield f"{name}({one.name}=)"


def test_public_names_have_no_retired_word() -> None:
    names = list(public_names())
    assert len(names) > 1000
    assert {name: found for name in names if (found := retired_in(name))} == {}


COMMANDS: dict[str, Any] = dict(get_command(app).commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_options_and_help_have_no_retired_word(name: str) -> None:
    command = COMMANDS[name]
    texts = [name, command.help]
    for one in command.params:
        texts += [*one.opts, one.metavar or "", getattr(one, "help", None) or ""]
    assert {text: found for text in texts if (found := retired_in(text))} == {}


def page_texts(path: Path) -> list[str]:
    """Return the texts in a page's JavaScript: string and template literals, without comments."""
    code = re.sub(r"/\*.*?\*/|(?<=\s)//[^\n]*", "", path.read_text("utf-8"), flags=re.S)
    quoted = re.findall(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`', code)
    # Code within a template is no text; a text is of several words, unlike names and classes.
    texts = [re.sub(r"\$\{[^{}]*\}", "", text[1:-1]) for text in quoted]
    return [text for text in texts if " " in text.strip() or not text.isascii()]


@pytest.mark.parametrize("path", [*PAGES, *DASHBOARD], ids=lambda path: path.stem)
def test_pages_have_no_retired_word(path: Path) -> None:
    assert {text: found for text in page_texts(path) if (found := retired_in(text))} == {}


def test_texts_are_found_among_code() -> None:
    assert min(len(page_texts(path)) for path in PAGES) > 100
    assert sum(len(page_texts(path)) for path in DASHBOARD) > 60


# Japanese and Chinese: one term for each concept. The wrong words read as another thing: noise
# that is "drawn" (引く) reads as subtracted, 胜算 as odds of winning, 合约 as a paper to sign.
# Of a sheet on paper a card is drawn, so 引く is right there.
MISLEADING = {
    "ja": "引く 引き直 引いた 雑音 報告 契約 埋め草 印を 半々 質問者 収集者 調査の主体 飛ばす",
    "zh": "胜算 花掉 花费 收集端 收集方 提问方 提问者 合约 一半对一半 本次收集 这次收集 epsilon",
}
STATEMENTS = ("words", "assessment", "sheet")


def translated(language: str) -> dict[str, list[str]]:
    """Return the texts in a language: of pages by their code, of statements as they are printed."""
    found = {"pages": page_texts(PAGE_WORDS / f"{language}.js")}
    for name in STATEMENTS:
        path = SOURCES / "privacy" / "statement" / f"{name}.json"
        said = json.loads(path.read_text("utf-8"))[language]
        found[name] = re.findall(r'"((?:[^"\\]|\\.)*)"', json.dumps(said, ensure_ascii=False))
    return found


@pytest.mark.parametrize("language", MISLEADING)
def test_translations_use_one_term_for_each_concept(language: str) -> None:
    texts = translated(language)
    assert min(len(said) for said in texts.values()) > 10
    found = [
        (word, text)
        for name, said in texts.items()
        for word in MISLEADING[language].split()
        for text in said
        if word in re.sub(r"\{\w+\}", "", text) and not (name == "sheet" and word[0] == "引")
    ]
    assert found == []


@pytest.mark.parametrize("language", MISLEADING)
def test_numbers_stand_without_spaces_beside_their_counters(language: str) -> None:
    """`3件`, not `3 件`; an address, which is no number, stands apart."""
    text = (PAGE_WORDS / f"{language}.js").read_text("utf-8")
    for address in ("where", "collector"):
        text = text.replace(f"${{{address}}}", address)
    spaced = re.findall(
        r"(?:[ぁ-んァ-ヶ一-龥] \$\{\w+|\} [ぁ-んァ-ヶ一-龥]+|\d [ぁ-んァ-ヶ一-龥]+)", text
    )
    assert spaced == []
    assert re.search(r"\}[ぁ-んァ-ヶ一-龥]", text)


def definitions() -> Iterator[tuple[Path, Definition]]:
    """Yield every module, class and function of the sources."""
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Definition):
                yield path, node


# The limits may only fall.


def test_few_docstrings_need_a_neighbour() -> None:
    needy = [
        f"{path.relative_to(SOURCES)}:{getattr(node, 'lineno', 1)}: {text.splitlines()[0]}"
        for path, node in definitions()
        if (text := ast.get_docstring(node)) and text.lower().startswith(NEEDS_A_NEIGHBOUR)
    ]
    assert len(needy) <= 40, "\n".join(needy)


def test_the_sources_hardly_say_so_many() -> None:
    said = [
        f"{path.relative_to(SOURCES)}:{number}: {line.strip()}"
        for path in sorted(SOURCES.rglob("*"))
        if path.suffix in (".py", ".js", ".ts", ".mjs", ".html", ".cu")
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if "so many" in line.lower()
    ]
    assert len(said) <= 10, "\n".join(said)


def test_few_public_classes_share_a_name() -> None:
    names: dict[str, list[str]] = collections.defaultdict(list)
    for path, node in definitions():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names[node.name].append(path.relative_to(SOURCES).as_posix())
    shared = {name: paths for name, paths in names.items() if len(paths) > 1}
    assert len(shared) <= 5, "\n".join(f"{name}: {', '.join(at)}" for name, at in shared.items())
