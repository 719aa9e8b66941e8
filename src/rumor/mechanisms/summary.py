"""Summaries: counters that suffice for estimation and do not grow with the number of reports.

A summary is a vector of counters and the number of reports behind it. Summaries of the
same contract add up in any order and split (a commutative monoid), so a year is the sum
of its days. Each carries what it is a summary of and refuses to be added to another.

On disk: the line "rumor summary 1", a line of canonical JSON that says what it is of, then
the counters as little-endian 64-bit integers. A summary of reports with ids keeps hashes of a few
of them, so that nobody adds it to a copy of itself: it begins with "rumor summary 2".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from rumor.core.canonical import Json, canonical_json
from rumor.core.checks import checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.files import OWNER_ONLY, PathLike, write_whole
from rumor.core.reports import MAX_REPORTS, as_reports
from rumor.core.types import Tally
from rumor.mechanisms import Mechanism, from_description

M = TypeVar("M", bound=Mechanism)

_MAGIC, _MAGIC_WITH_IDS = b"rumor summary 1\n", b"rumor summary 2\n"
_DAMAGED = "a summary's header must be intact; this one is damaged"


@dataclass(frozen=True, eq=False)
class Summary:
    """The counters of `reports` reports of one mechanism (and one question of a contract)."""

    mechanism: Mechanism
    reports: int
    tally: Tally = field(repr=False)
    contract: str | None = None
    question: str | None = None
    some_ids: tuple[str, ...] = field(default=(), repr=False)
    """Hashes of a few of the ids of the reports, sorted."""

    @classmethod
    def empty(
        cls, mechanism: Mechanism, *, contract: str | None = None, question: str | None = None
    ) -> Self:
        """Return the summary of no reports: adding it changes nothing."""
        tally = np.zeros(mechanism.tally_size, dtype=np.int64)
        return cls(mechanism, 0, tally, contract, question)

    @classmethod
    def from_counts(
        cls,
        mechanism: Mechanism,
        counts: object,
        reports: int,
        *,
        contract: str | None = None,
        question: str | None = None,
    ) -> Self:
        """Return the summary of `reports` reports whose counters are `counts`.

        The counters are those of docs/reference/bytes.md ("Summary file"), such as the number of
        reports that support each value; counts that no reports have are refused.
        """
        tally = np.asarray(counts)
        if tally.shape != (mechanism.tally_size,) or tally.dtype.kind not in "iu":
            raise InputError(
                f"counts must be {mechanism.tally_size:,} integers for this mechanism; "
                f"got an array of {tally.dtype} of shape {tally.shape}"
            )
        checked_size("reports", reports, 0, MAX_REPORTS)
        mechanism.check_report_count(reports)
        tally = tally.astype(np.int64)
        if not mechanism.consistent(tally, reports):
            raise InputError(
                f"counts must be those of their number of reports; got counters that no "
                f"{reports:,} reports of {mechanism.name!r} have"
            )
        return cls(mechanism, reports, tally, contract, question)

    def made_by(self, kind: type[M]) -> M:
        """Return the mechanism, for callers who know that its class is `kind`."""
        assert isinstance(self.mechanism, kind)
        return self.mechanism

    def update(self, reports: object) -> Self:
        """Return the summary with a batch of reports added; one
        invalid report refuses the batch.
        """
        self.mechanism.validate(reports).require()
        batch = as_reports(reports, self.mechanism.width)
        self.mechanism.check_report_count(self.reports + len(batch))
        return self._with(self.reports + len(batch), self.tally + self.mechanism.tally(batch))

    def _with(self, reports: int, tally: Tally) -> Self:
        self.mechanism.check_report_count(reports)
        return replace(self, reports=reports, tally=tally)

    @property
    def identity(self) -> dict[str, Json]:
        """The mechanism, contract and question of this summary; only equal ones add up."""
        return {
            "mechanism": self.mechanism.describe(),
            "contract": self.contract,
            "question": self.question,
        }

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Summary):
            return NotImplemented
        for key, ours in self.identity.items():
            theirs = other.identity[key]
            if ours != theirs:
                raise InputError(
                    f"summaries must be of the same {key} to be added; "
                    f"got {format_value(ours)} and {format_value(theirs)}"
                )
        if set(self.some_ids) & set(other.some_ids):
            raise InputError(
                f"summaries must be of different reports to be added; got two of which both count "
                f"some reports (of {self.reports:,} and {other.reports:,})"
            )
        total = self._with(self.reports + other.reports, self.tally + other.tally)
        return replace(total, some_ids=tuple(sorted(self.some_ids + other.some_ids)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Summary) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return hash(self.to_bytes())

    def to_bytes(self) -> bytes:
        """Return the summary as bytes; equal summaries have equal bytes."""
        said: dict[str, Json] = {**self.identity, "reports": str(self.reports)}
        if self.some_ids:
            said["ids"] = list(self.some_ids)
        header = canonical_json(said)
        magic = _MAGIC_WITH_IDS if self.some_ids else _MAGIC
        return magic + header + b"\n" + self.tally.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Return the summary that `to_bytes` wrote, or a sentence that says what is damaged."""
        if not data.startswith((_MAGIC, _MAGIC_WITH_IDS)):
            raise InputError(
                f"a summary file must begin with {_MAGIC.decode().strip()!r}; got something else"
            )
        line, newline, body = data[len(_MAGIC) :].partition(b"\n")
        try:
            header = json.loads(line)
            count = int(header["reports"])
            mechanism = from_description(header["mechanism"])
            contract, question = header["contract"], header["question"]
            if not all(name is None or isinstance(name, str) for name in (contract, question)):
                raise TypeError
            ids = tuple(header.get("ids", ()))
            if not all(isinstance(id, str) for id in ids) or sorted(set(ids)) != list(ids):
                raise TypeError
        except InputError:
            raise
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            raise InputError(_DAMAGED) from None
        if not newline or len(body) != 8 * mechanism.tally_size:
            raise InputError(
                f"a summary of this mechanism must hold {mechanism.tally_size:,} counters "
                f"of 8 bytes; got {len(body):,} bytes"
            )
        tally = np.frombuffer(body, dtype="<i8").astype(np.int64)
        if count < 0 or count > MAX_REPORTS or not mechanism.consistent(tally, count):
            raise InputError(
                f"a summary's counters must be those of its number of reports; got counters that "
                f"no {count:,} reports of {mechanism.name!r} have"
            )
        summary = cls(mechanism, count, tally, contract, question, ids)
        if summary.to_bytes() != data:  # equal summaries have equal bytes, so there is one form
            raise InputError(_DAMAGED)
        return summary

    def save(self, path: PathLike) -> None:
        """Write the summary to a file that only its owner can read, whole or not at all."""
        write_whole(path, self.to_bytes(), OWNER_ONLY)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Return the summary in a file, or a sentence that names the file and what is wrong."""
        file = Path(path)
        if not file.is_file():
            raise InputError(f"a summary must be a file that exists; got {str(file)!r}")
        try:
            return cls.from_bytes(file.read_bytes())
        except InputError as problem:
            raise InputError(f"{file}: {problem}") from None

    @staticmethod
    def is_file(path: PathLike) -> bool:
        """Return whether `path` is a file that begins as a summary does."""
        file = Path(path)
        if not file.is_file():
            return False
        with file.open("rb") as opened:
            return opened.read(len(_MAGIC)) in (_MAGIC, _MAGIC_WITH_IDS)


def merge(summaries: Iterable[Summary]) -> Summary:
    """Return the sum of summaries, at least one."""
    parts = list(summaries)
    if not parts:
        raise InputError("merging needs at least one summary; got none")
    return reduce(lambda total, part: total + part, parts)
