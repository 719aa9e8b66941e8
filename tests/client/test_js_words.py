"""The languages that people are asked in: one file each, found by listing, none half done."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from rumor.collector.answer_page import WORDS, languages
from rumor.mechanisms import BY_NAME
from tests.javascript import node

FILES = {path.stem: path for path in sorted(WORDS.glob("*.js"))}


def objections(*files: Path) -> list[str]:
    """What languages lack of English, or have beside it, in sentences."""
    found = node("words.mjs", given=[str(path) for path in (FILES["en"], *files)])
    english = set(found[str(FILES["en"])]["shape"])
    assert len(english) > 100
    problems = []
    for path in files:
        said = set(found[str(path)]["shape"])
        problems += [f"{path.name} lacks: {name}" for name in sorted(english - said)]
        problems += [f"{path.name} has beside English: {name}" for name in sorted(said - english)]
        unknown = set(found[str(path)]["captions"]) - set(BY_NAME)
        problems += [f"{path.name} describes no mechanism: {name}" for name in sorted(unknown)]
    return problems


def test_every_language_says_everything() -> None:
    assert objections(*FILES.values()) == []


def test_the_page_lists_the_files_that_there_are() -> None:
    found = node("words.mjs", given=[str(path) for path in FILES.values()])
    listed = {
        stem: {key: found[str(path)][key] for key in ("tag", "name", "title", "lead")}
        for stem, path in FILES.items()
    }
    assert {stem: dataclasses.asdict(said) for stem, said in languages().items()} == listed
    assert next(iter(languages())) == "en"
    assert {"en", "ja", "zh"} <= set(listed)


def test_elements_on_other_pages_have_them_all() -> None:
    """Bundlers follow written names alone, so a language has a line there too."""
    text = (WORDS.parent / "words.js").read_text("utf-8")
    for stem in FILES:
        line = f'{stem}: () => import("./words/{stem}.js"),'
        assert line in text, f"LOADERS in view/words.js needs the line {line}"
    assert text.count("import(") == len(FILES)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("  retry: ", "  retries: ", "lacks: retry string"),
        ("  amount: (key) =>", "  amount: (key, much) =>", "lacks: amount takes 1"),
        ("    unary: ", "    unairy: ", "describes no mechanism: unairy"),
    ],
)
def test_a_language_that_is_half_done_is_told(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    further = Path(shutil.copy(FILES["ja"], tmp_path / "xx.mjs"))
    text = further.read_text("utf-8")
    assert text.count(old) == 1
    further.write_text(text.replace(old, new), "utf-8")
    assert f"xx.mjs {said}" in objections(further)
