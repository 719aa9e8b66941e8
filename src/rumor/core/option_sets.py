"""Sets of options, one per respondent, in ragged rows.

A column of option sets can be given as:

- a sequence with a list, tuple or set of options for each person, empty if they chose none;
- an Arrow column of lists;
- a boolean table (n, options).

Options are labels if the question has labels, and positions from 0 otherwise. An input that breaks
a rule is refused as a whole, with a message that gives the row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.core.columns import as_column, encode
from rumor.core.errors import AnswerError, InputError, type_in_words
from rumor.core.randomness import Stream
from rumor.core.types import Codes, Vector


class RaggedRows:
    """Rows of varying length: row i holds the items from `starts[i]` to before `starts[i + 1]`."""

    starts: Codes

    @property
    def people(self) -> int:
        """The number of respondents (rows)."""
        return self.starts.size - 1


Chosen = NDArray[np.bool_]
"""The options that each person chose, as a boolean table with a row for each person."""

MARK = "|"
"""The default separator of options in one text."""

_LISTS = (list, tuple, set, frozenset)
_RULE = "an answer must be a list of options"
_ONCE = "an answer must name each option once"
_EMPTY = "values must hold at least one answer; got an empty batch"


@dataclass(frozen=True)
class OptionSets(RaggedRows):
    """The options chosen by each of many respondents."""

    options: Codes
    starts: Codes
    domain: int

    def sizes(self) -> Codes:
        """Return how many options each person chose."""
        return np.diff(self.starts)

    def take(self, rows: Codes) -> OptionSets:
        """Return the option sets of the people `rows`, which may repeat."""
        sizes = self.sizes()[rows]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        within = np.arange(int(starts[-1])) - np.repeat(starts[:-1], sizes)
        options = self.options[np.repeat(self.starts[:-1][rows], sizes) + within]
        return OptionSets(options, starts, self.domain)

    def shares(self) -> Vector:
        """Return the share of people who chose each option."""
        return np.bincount(self.options, minlength=self.domain) / self.people

    def table(self, start: int, stop: int) -> Chosen:
        """Return a boolean table of the people from `start` to before `stop`."""
        first, last = int(self.starts[start]), int(self.starts[stop])
        rows = np.repeat(np.arange(stop - start), np.diff(self.starts[start : stop + 1]))
        chosen = np.zeros((stop - start, self.domain), dtype=np.bool_)
        chosen[rows, self.options[first:last]] = True
        return chosen


def read_sets(values: object, domain: int, positions: Mapping[str, int] | None) -> OptionSets:
    """Read a column of option sets in any of the forms listed in this module."""
    if isinstance(values, OptionSets):
        return values
    if isinstance(values, np.ndarray):
        values = as_column(values)
        if values.ndim == 2:
            return from_table(values, domain)
        if values.ndim != 1:
            raise InputError(f"values must be a list of answers; got {_shape(values)}")
    flat, starts = _flattened(values)
    if starts.size == 1:
        raise InputError(_EMPTY)
    codes = starts[:0]
    if len(flat):
        codes = naming_the_person(lambda: encode(flat, domain, positions), starts)
    return sets_of(codes, starts, domain)


def sets_of(codes: Codes, starts: Codes, domain: int) -> OptionSets:
    """Build option sets from positions, refusing an option that one person names twice."""
    people = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    codes = codes[np.lexsort((codes, people))]
    twice = np.flatnonzero((np.diff(codes) == 0) & (np.diff(people) == 0))
    if twice.size:
        raise AnswerError(_ONCE, int(people[twice[0]]), "one twice")
    return OptionSets(codes, starts, domain)


def one_set(value: object, domain: int, positions: Mapping[str, int] | None) -> tuple[int, ...]:
    """Return one person's options as ascending positions."""
    if not isinstance(value, _LISTS):
        raise AnswerError(_RULE, got=type_in_words(value))
    try:
        return tuple(read_sets([value], domain, positions).options.tolist())
    except AnswerError as problem:  # one answer has no index
        raise AnswerError(problem.rule, got=problem.got) from None
    except InputError:
        raise AnswerError("options must be labels or positions", got="something else") from None


def from_table(table: NDArray[np.generic], domain: int) -> OptionSets:
    """Build option sets from a boolean table with one column per option."""
    if table.shape[1] != domain or table.dtype != np.bool_:
        raise InputError(
            f"a table of yes and no must have {domain:,} columns of booleans; got "
            f"{table.shape[1]:,} of dtype {table.dtype}"
        )
    if not len(table):
        raise InputError(_EMPTY)
    starts = np.concatenate([[0], np.cumsum(table.sum(axis=1))]).astype(np.int64)
    return OptionSets(np.nonzero(table)[1].astype(np.int64), starts, domain)


def _flattened(values: object) -> tuple[Sequence[object], Codes]:
    """Return all options in one sequence, and the index at which each person's begin."""
    if type(values).__module__.startswith("pyarrow"):
        values = values.to_pylist()  # type: ignore[attr-defined]
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise InputError(f"values must be a list of answers; got {type_in_words(values)}")
    flat: list[object] = []
    starts = [0]
    for row, options in enumerate(values):
        if not isinstance(options, (*_LISTS, np.ndarray)):
            raise AnswerError(_RULE, row, type_in_words(options))
        if isinstance(options, np.ndarray) and options.ndim != 1:
            raise AnswerError(_RULE, row, _shape(options))
        if isinstance(options, np.ma.MaskedArray) and np.ma.is_masked(options):
            raise AnswerError("options must not be missing", row, "some masked")
        flat.extend(options)
        starts.append(len(flat))
    return flat, np.array(starts, dtype=np.int64)


def _shape(array: NDArray[np.generic]) -> str:
    return f"an array of shape {array.shape}"


def naming_the_person(read: Callable[[], Codes], starts: Codes) -> Codes:
    """Call `read`, and let its errors name the person and not the option's index."""
    try:
        return read()
    except AnswerError as problem:
        row = None
        if problem.row is not None:
            row = int(np.searchsorted(starts, problem.row, side="right")) - 1
        raise AnswerError(problem.rule, row, problem.got) from None


def uniform_subsets(stream: Stream, people: int, total: int, count: int) -> Chosen:
    """Draw for each person `count` of `total` places, all subsets equally likely.

    Floyd's algorithm: for j from total - count to total - 1, below(j + 1), or j when that is
    taken. If more than half are wanted, those left out are drawn.
    """
    if 2 * count > total:
        return ~uniform_subsets(stream, people, total, total - count)
    chosen = np.zeros((people, total), dtype=np.bool_)
    flat, base = chosen.reshape(-1), np.arange(people, dtype=np.int64) * total
    for j in range(total - count, total):
        pick = base + stream.below(j + 1, people).astype(np.int64)
        flat[np.where(flat[pick], base + j, pick)] = True
    return chosen


def keep_at_most(stream: Stream, chosen: Chosen, cap: int) -> Chosen:
    """Return `chosen` with at most `cap` options kept per person, drawn uniformly."""
    sizes = chosen.sum(axis=1)
    if not (sizes > cap).any():
        return chosen
    kept = chosen.copy()
    for size in np.unique(sizes[sizes > cap]).tolist():
        rows = np.flatnonzero(sizes == size)
        part = kept[rows]
        part[part] = uniform_subsets(stream, rows.size, size, cap).reshape(-1)
        kept[rows] = part
    return kept


def joined(parts: Sequence[OptionSets]) -> OptionSets:
    """Return the option sets of several groups of people as one."""
    sizes = np.concatenate([part.sizes() for part in parts])
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return OptionSets(np.concatenate([p.options for p in parts]), starts, parts[0].domain)
