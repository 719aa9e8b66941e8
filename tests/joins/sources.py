"""Where a verb finds reports: contracts and files on a disk, and whose reports those must be."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from rumor.contract.collection import Collection
from rumor.contract.report_file import write_reports
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from tests.joins.people import ASKED, DAYS, GROUPS, Crowd

REPEATED = 7
"""How many reports a folder with repeated ones has twice."""


@dataclass(frozen=True)
class Source:
    """A contract, reports of its question, and what must be found there."""

    contract: Collection
    contract_path: Path
    path: Path
    crowd: Crowd
    is_export: bool = False

    @property
    def name(self) -> str:
        """What commands call it beside others."""
        return self.path.stem

    @property
    def column(self) -> str:
        """The public column of groups: a store keeps nothing beside the day."""
        return "day" if self.is_export else "country"

    def with_repeated(self) -> tuple[Path, int]:
        """The same reports, some of them twice, and how many; an export has none twice."""
        if self.is_export:
            return self.path, 0
        folder = self.path.with_name(f"{self.name}-twice-{len(self.crowd)}") / self.name
        if not folder.exists():
            folder.mkdir(parents=True)
            write(folder / "1.parquet", self.contract, self.crowd)
            again = np.arange(len(self.crowd)) < REPEATED
            write(folder / "2.parquet", self.contract, self.crowd.where(again))
        return folder, min(REPEATED, len(self.crowd))

    def with_invalid(self) -> tuple[Path, int] | None:
        """The same reports and one that is none, and how many; None where every row is valid."""
        if self.is_export:
            return self.path, 0
        bad = invalid_report(self.contract)
        if bad is None:
            return None
        path = (
            self.path.with_name(f"{self.name}-spoilt-{len(self.crowd)}")
            / self.path.with_suffix(".parquet").name
        )
        if not path.exists():
            path.parent.mkdir()
            write(path, self.contract, self.crowd, bad)
        return path, 1


@dataclass(frozen=True)
class Sources:
    """Everything that a verb may be given of a world."""

    whole: Source
    first: Source
    second: Source
    """Some of the same people, in two files."""
    earlier: Source | None = None
    """What came under the contract that this one revises."""
    so_far: Sequence[Crowd] = field(default=())
    """What was there at earlier looks, of files that are read as they grow."""

    @property
    def pair(self) -> dict[str, Source]:
        """Two sources that ask the same, by what commands call them beside each other."""
        one, two = (self.first, self.second) if self.earlier is None else (self.earlier, self.whole)
        if one.name == two.name:
            return {str(one.path): one, str(two.path): two}
        return {one.name: one, two.name: two}


def invalid_report(contract: Collection) -> Reports | None:
    """Bytes that no device sends; None where every one could be sent."""
    mechanism = contract.question(ASKED).mechanism
    for value in (255, 254, 128, 1):
        row = np.full((1, mechanism.width), value, dtype=np.uint8)
        if not mechanism.validate(row).all:
            return row
    return None


def write(path: Path, contract: Collection, crowd: Crowd, *more: Reports) -> None:
    """A reports file of a crowd, with the groups of its people; of the first day what else."""
    strata = pa.schema([("country", pa.string())])
    question = contract.question(crowd.question.id)
    with write_reports(path, contract, question, strata=strata, random=Seeded(5)) as writer:
        for number, day in enumerate(DAYS):
            some = crowd.where(crowd.days == number)
            if len(some):
                named = {"country": pa.array([GROUPS[group] for group in some.groups])}
                writer.write(some.reports, day, named, ids=some.ids)
        for row in more:
            writer.write(row, DAYS[1], {"country": pa.array([GROUPS[0]] * len(row))})


def written(contract: Collection, crowd: Crowd, folder: Path, name: str = "whole") -> Source:
    """A source in a file of its own."""
    contract_path = folder / f"{contract.digest[:8]}.json"
    if not contract_path.exists():
        contract.save(contract_path)
    path = folder / f"{name}.parquet"
    write(path, contract, crowd)
    return Source(contract, contract_path, path, crowd)


def day_of(export: Source, day: datetime.date) -> Source:
    """The part of an export that is of one day."""
    path = export.path / f"day={day}"
    crowd = export.crowd.within((day, day))
    return Source(export.contract, export.contract_path, path, crowd, is_export=True)
