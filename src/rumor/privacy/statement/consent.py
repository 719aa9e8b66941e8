"""What respondents are told before they answer, in the languages of the answer page."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rumor.contract.collection import Collection
from rumor.privacy.promise import CollectionPromise
from rumor.privacy.sentences import believed, odds_factor

_WORDS = Path(__file__).with_name("words.json")


@dataclass(frozen=True)
class Consent:
    """A consent text in one language."""

    language: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """What the language calls itself."""
        return words()[self.language]["name"]

    @property
    def title(self) -> str:
        """What stands above the lines."""
        return words()[self.language]["title"]


@functools.cache
def words() -> Mapping[str, Mapping[str, str]]:
    """The sentences, language by language."""
    found: Mapping[str, Mapping[str, str]] = json.loads(_WORDS.read_text(encoding="utf-8"))
    return found


def consent(collection: Collection, promise: CollectionPromise, language: str) -> Consent:
    """What a person agrees to; of several questions, the dearest report and the longest keeping."""
    said = words()[language]
    one = max(question.one for question in promise.questions)
    kept = [question.retention_days for question in collection.questions]
    days = None if None in kept else max(each for each in kept if each is not None)
    lines = [
        said["who"].format(contact=collection.contact, name=collection.name),
        said["how"],
        said["one"].format(
            factor=f"{odds_factor(one):,.3g}", epsilon=f"{one:.4g}", percent=_even(one)
        ),
    ]
    if promise.most > one:
        lines.append(said["all"].format(percent=_even(promise.most), epsilon=_number(promise.most)))
    lines += [
        said["kept_open"] if days is None else said["kept"].format(days=f"{days:,}"),
        said["hidden"],
        said["free"],
        said["digest"].format(digest=collection.digest),
    ]
    return Consent(language, tuple(lines))


def _even(epsilon: float) -> str:
    """What an even guess becomes at most."""
    return f"{100 * believed(0.5, min(epsilon, 700)):.3g}%"


def _number(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:,.4g}"
