"""The kind "words" as a device knows it: words that nobody listed, and what of one is looked at.

A question of kind "text" that says `words = "open"` is one of these. Everything but epsilon is
chosen from how long words may be and how they are written: levels, their weights, cohorts and
buckets (rumor.mechanisms.open_words.design).
"""

from __future__ import annotations

from collections.abc import Mapping

from rumor.core.checks import checked_choice, checked_size
from rumor.core.errors import InputError, format_value
from rumor.kinds.base import Example, Kind
from rumor.kinds.filter_key import filter_key
from rumor.kinds.words.code_tables import NAMES, shipped_code
from rumor.mechanisms.open_words.code import MAX_CHARACTERS, PrefixCode
from rumor.mechanisms.open_words.design import open_words
from rumor.mechanisms.open_words.open_words import OpenWords


class WordsQuestion(Kind[OpenWords]):
    """Words that nobody listed, as a device knows them."""

    name = "words"
    keys = ("words", "longest", "fits", "typical", "length", "code", "epsilon", "key", "mechanism")
    family = OpenWords
    family_rule = "open words need the mechanism open-words"
    memoises = True
    has_domain = False

    def resolve(self, spec: Mapping[str, object], users: int | None) -> OpenWords:
        """Levels for words of this length in this code."""
        checked_choice("words", spec.get("words", "open"), ("open",))
        self.mechanism_named(*self.chosen_mechanism(spec))
        if "epsilon" not in spec:
            raise InputError("open words need an epsilon; got none")
        return open_words(
            epsilon=spec["epsilon"],  # type: ignore[arg-type]
            code=_code(spec.get("code", NAMES[0]), spec.get("length")),
            longest=spec.get("longest"),  # type: ignore[arg-type]
            typical=spec.get("typical"),  # type: ignore[arg-type]
            fits=spec.get("fits", ()),  # type: ignore[arg-type]
            key=filter_key(spec),
        )

    def hint(self, mechanism: OpenWords) -> str:
        """Anything, though words of another length than the one that all have are not named."""
        length = mechanism.code.length
        which = "a word" if length is None else f"a word of {length:,} characters"
        return f"{which}; upper and lower case are different words"

    def example(self) -> Example:
        """Names of engines."""
        return Example.of_one_column(
            people=("ecosia", "google", "google", "duckduckgo"),
            spec={"longest": 12, "epsilon": 4.0},
            plan={},
            words=("ecosia", "google", "duckduckgo", "bing"),
        )


def _code(spec: object, length: object) -> PrefixCode:
    """A code by its name, from a file, or written out, for words of one length if there is one."""
    known = None if length is None else checked_size("length", length, 1, MAX_CHARACTERS)
    if isinstance(spec, str):
        if spec.endswith(".json"):
            return PrefixCode.load(spec, known)
        code = shipped_code(checked_choice("code", spec, NAMES, " or a .json file"))
        return code if known is None else code.of_length(known)
    if isinstance(spec, (list, Mapping)):
        return PrefixCode.of(spec, known)
    raise InputError(f"code must be a name, a file or a list of rows; got {format_value(spec)}")
