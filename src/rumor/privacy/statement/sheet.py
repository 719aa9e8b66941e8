"""The sheet of an interviewer: what a person does with dice or cards, and what is written down."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rumor.contract.collection import Collection, Question
from rumor.core.checks import checked_choice
from rumor.core.errors import InputError
from rumor.mechanisms.paper import PaperDesign
from rumor.privacy.sentences import odds_factor
from rumor.privacy.statement.statement import Section

# Designs whose other question might be answered by somebody else.
_ANOTHER_QUESTION = ("unrelated-question", "crosswise", "triangular")


@functools.cache
def sheet_words() -> Mapping[str, Mapping[str, str]]:
    """Return the texts of a sheet, by language."""
    found: Mapping[str, Mapping[str, str]]
    found = json.loads((Path(__file__).parent / "sheet.json").read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True)
class Sheet:
    """A page for the interviewer, in one language: a question and what to do with it."""

    language: str
    title: str
    question: str
    sections: tuple[Section, ...]


def sheets(collection: Collection, languages: Sequence[str] | None = None) -> tuple[Sheet, ...]:
    """Return a sheet for each question on paper, in each of these `languages` (default: en)."""
    asked = tuple(languages) if languages else ("en",)
    for language in asked:
        checked_choice("a language", language, sheet_words())
    on_paper = [q for q in collection.questions if isinstance(q.mechanism, PaperDesign)]
    if not on_paper:
        raise InputError(
            f"a sheet is for questions that are answered with dice or cards (mechanism 'paper'); "
            f"got {collection.name!r}, which has none"
        )
    return tuple(
        _sheet(collection, question, question.mechanism, language)
        for language in asked
        for question in on_paper
        if isinstance(question.mechanism, PaperDesign)
    )


def _sheet(collection: Collection, question: Question, design: PaperDesign, language: str) -> Sheet:
    said = sheet_words()[language]
    typed, other_typed = design.words
    # A design's own words have a name in each language; a table has them in English.
    word, other = (said.get(one, one) if design.has_own_words else one for one in design.words)
    first, second = design.labels or ("0", "1")
    named = {"first": first, "second": second, "word": word, "other": other}
    steps = said[_instruction(design)].format(**named, **_numbers(design, word, other))
    heading = said["why"]
    why = [
        said["promise"].format(
            factor=f"{odds_factor(design.epsilon):,.3g}", epsilon=f"{design.epsilon:.4g}"
        )
    ]
    if design.proved is not None:
        heading = said["exposed"]
        why = [said["warning"].format(proved=word if design.proved == typed else other)]
    elif design.design in _ANOTHER_QUESTION:
        why.append(said["unknown"])
    record = said["record"].format(**named)
    if word != typed:
        table = said["table"].format(typed=typed, other_typed=other_typed, **named)
        record += table
    return Sheet(
        language,
        said["title"].format(name=collection.name),
        question.text or question.id,
        (
            Section(said["do"], (steps, said["aside"])),
            Section(said["write"], (record,)),
            Section(heading, tuple(why)),
        ),
    )


def _instruction(design: PaperDesign) -> str:
    """Return the name of the text that says what to do."""
    one_face = design.design == "forced-response" and 0 in design.options.values()
    return "one-face" if one_face else design.design


def _numbers(design: PaperDesign, word: str, other: str) -> dict[str, str]:
    """Return the numbers of cards or faces that a text names, and shares of other questions."""
    options = design.options
    shares = {"yes"} if design.design in _ANOTHER_QUESTION else set()
    faces = math.lcm(*(x.denominator for name, x in options.items() if name not in shares))
    cards = {name: int(x * faces) for name, x in options.items() if name not in shares}
    found = {"n": f"{faces:,}", **{name: f"{count:,}" for name, count in cards.items()}}
    found |= {name: f"{options[name].numerator}/{options[name].denominator}" for name in shares}
    if design.design == "forced-response":
        yes, forced = cards["yes"], cards["yes"] + cards["no"]
        found["first_faces"] = _faces(1, yes)
        found["next_faces"] = _faces(yes + 1, forced)
        found["only_faces"] = _faces(1, forced)
        found["face"] = word if yes else other
    return found


def _faces(first: int, last: int) -> str:
    """Return the numbers from `first` to `last` as text."""
    return f"{first:,}" if first == last else f"{first:,}-{last:,}"
