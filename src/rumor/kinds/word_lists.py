"""Lists of words: candidates from a file, and the words that the people of a table have."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from rumor.core.answer_table import AnswerTable
from rumor.core.columns import as_column
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.kinds.reading import Reader, TableAnswers


def default_cache() -> Path:
    """Return the default directory of cached maps for this user."""
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "rumor" / "candidates"


def checked_words(words: object) -> Sequence[str]:
    """Return `words` checked: distinct, non-empty texts, distinct also after Unicode
    normalisation.
    """
    if words is None:
        raise InputError("decoding words needs candidates, a list of texts; got none")
    if isinstance(words, (str, bytes)) or not isinstance(words, Iterable):
        raise InputError(f"candidates must be a list of texts; got {format_value(words)}")
    if isinstance(words, (list, tuple)):
        listed: Sequence[object] = words
    elif hasattr(words, "to_numpy") or isinstance(words, np.ndarray):
        listed = as_column(words).tolist()
    else:
        listed = list(words)
    if not listed:
        raise InputError("candidates must be at least one word; got none")
    checked: list[str] = []
    for position, word in enumerate(listed):
        if not isinstance(word, str) or not word:
            raise InputError(
                f"a candidate must be a non-empty text; got {format_value(word)} at position "
                f"{position:,}"
            )
        if not word.isascii():
            word = _normal(word, position)
        checked.append(word)
    if len(set(checked)) != len(checked):
        counts = Counter(checked)
        repeated = next(word for word in checked if counts[word] > 1)
        raise InputError(
            f"candidates must be distinct; got {format_value(repeated)} more than once"
        )
    return checked


def read_words(path: PathLike) -> list[str]:
    """Return the candidates in the text file `path`: UTF-8, one word a line."""
    file = Path(path)
    try:
        data = file.read_bytes()
    except OSError as problem:
        reason = problem.strerror or problem
        raise InputError(f"candidates must be a file that can be read; {file}: {reason}") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise InputError(
            f"{file}: candidates must be UTF-8 text; "
            f"got the byte {data[problem.start]:#04x} in line {line:,}"
        ) from None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise InputError(f"{file}: candidates must be at least one word; got an empty file")
    if "" in lines:
        raise InputError(
            f"{file}: candidates must be non-empty; line {lines.index('') + 1:,} is empty"
        )
    return lines


def _normal(word: str, position: int) -> str:
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"a candidate must be valid Unicode; got {format_value(word)} at position {position:,}"
        ) from None
    return unicodedata.normalize("NFC", word)


def read_words_held(words: Reader, held: TableAnswers) -> Counter[str]:
    """Return the number of people for each of `words`, from columns value and count or from raw
    answers.
    """
    found: Counter[str] = Counter()
    for cells, numbers in words.read_with_counts(held):
        texts = [_text(held.table, word) for word in cells.to_pylist()]
        if numbers is None:
            found.update(texts)
        else:
            for text, number in zip(texts, numbers, strict=True):
                found[text] += number
    if found.total() == 0:
        raise InputError(f"{held.table.path}: a table must hold at least one answer; got none")
    return found


def _text(table: AnswerTable, word: object) -> str:
    if not isinstance(word, str) or not word:
        raise InputError(f"{table.path}: a word must be a non-empty text; got one that is not")
    return word
