"""Answers that are not there: one rule for every table, and how many rows it was used on.

In a survey a blank is a refusal, so that leaving it out says something of those who are left.
Whoever counts chooses what it means; unless they do, the first one stops everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rumor.core.errors import AnswerError, InputError
from rumor.core.types import Rows

ERROR, DROP = "error", "drop"
_RULE = "an answer must not be missing (--missing says what becomes of such rows)"


class NoAnswerError(AnswerError):
    """An answer that is missing in a column, and may not be."""

    def __init__(self, row: int, column: str) -> None:
        super().__init__(_RULE, row, "nothing")
        self.column = column


@dataclass
class Missing:
    """What becomes of rows without an answer: "error", "drop", or the label they count as."""

    rule: str = ERROR
    rows: int = 0
    """How many there were when the answers were read last."""
    _dropped: list[Rows] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.rule.strip():
            raise InputError("--missing must be drop, error or a label; got an empty text")

    @property
    def label(self) -> str | None:
        """What a missing answer counts as, where it counts as one."""
        return None if self.rule in (ERROR, DROP) else self.rule

    def again(self) -> Missing:
        """The same rule for other answers, nothing counted yet."""
        return Missing(self.rule)

    def applied(
        self, batches: Iterable[pa.RecordBatch], answers: int, *, blank: bool = True
    ) -> Iterator[pa.RecordBatch]:
        """Batches whose first so many columns hold answers, none of them missing.

        A null is missing everywhere, an empty text where `blank` says so.
        """
        self.rows, self._dropped = 0, []
        before = 0
        for batch in batches:
            columns = [_plain(batch.column(i)) for i in range(answers)]
            masks = [_absent(column, blank) for column in columns]
            some = np.logical_or.reduce(masks)
            if self.rule == ERROR and some.any():
                row = int(np.argmax(some))
                column = next(i for i, mask in enumerate(masks) if mask[row])
                raise NoAnswerError(before + row, batch.schema.names[column])
            self.rows += int(some.sum())
            if self.label is not None:
                columns = [
                    self._filled(column, mask) for column, mask in zip(columns, masks, strict=True)
                ]
            rest = [batch.column(i) for i in range(answers, batch.num_columns)]
            made = pa.RecordBatch.from_arrays([*columns, *rest], names=batch.schema.names)
            if self.rule == DROP and some.any():
                self._dropped.append(before + np.flatnonzero(some))
                made = made.filter(pa.array(~some))
            before += len(batch)
            if len(made):
                yield made

    def _filled(self, column: pa.Array, mask: NDArray[np.bool_]) -> pa.Array:
        """A column with the label where nothing was."""
        if not mask.any():
            return column
        text = column if _is_text(column.type) else pc.cast(column, pa.string())
        return pc.if_else(pa.array(mask), pa.scalar(self.label, text.type), text)

    def number(self, row: int) -> int:
        """The row of the table that was handed on as this one."""
        if not self._dropped:
            return row
        dropped = np.concatenate(self._dropped)
        return row + int(np.searchsorted(dropped - np.arange(dropped.size), row, side="right"))

    def said(self) -> str | None:
        """What happened, in a sentence; None where nothing was missing."""
        if not self.rows:
            return None
        rows = "1 row had no answer" if self.rows == 1 else f"{self.rows:,} rows had no answer"
        if self.rule == DROP:
            return f"{rows} and {'was' if self.rows == 1 else 'were'} left out"
        return f"{rows} and {'counts' if self.rows == 1 else 'count'} as {self.rule!r}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _plain(column: pa.Array) -> pa.Array:
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def _absent(column: pa.Array, blank: bool) -> NDArray[np.bool_]:
    """Which cells hold no answer."""
    nothing = column.is_null(nan_is_null=True)
    if blank and _is_text(column.type):
        empty = pc.equal(pc.utf8_length(pc.utf8_trim_whitespace(column)), 0)
        nothing = pc.or_(nothing, pc.fill_null(empty, False))
    return np.asarray(nothing.to_numpy(zero_copy_only=False), dtype=np.bool_)
