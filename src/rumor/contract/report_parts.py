"""A folder of parts: the reports of a large table, in files that are written one by one.

A part is a reports file of whole batches of a table, each row group shuffled. The folder's record
says how many batches and reports each part has, and under which name it waits until it is in its
place. It is written when the part is complete and before the part is renamed. So a run that is
stopped anywhere can be resumed, and no answer becomes two reports:

- a part that is not in the record is not in its place either: it is removed, and made again;
- a part that is in the record is put in its place, where it is not there yet.

What people may spend is charged in their ledger before the first part, and settled after the last
one. Until then the folder has a copy of what they had spent before, so that a run that goes on
takes the same rows of each person.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.contract.person_ledger import PersonLedger
from rumor.contract.person_rows import Counts, People
from rumor.contract.report_file import ReportWriter, group_rows, write_reports
from rumor.contract.table_question import TableQuestion
from rumor.core.errors import InputError
from rumor.core.files import (
    OWNER_ONLY,
    PathLike,
    held_alone,
    readable,
    sync_folder,
    whole_file,
    write_whole,
)
from rumor.core.randomness import RandomSource, Seeded

_VERSION = "rumor parts 1"
# Names that no reader of reports looks at.
_RECORD, _LOCK, _BEFORE, _ASSIGNED = "_run.json", "_run.lock", "_before.people", "_assigned.npy"
_WRITING, _WRITTEN, _COMPLETE = "writing", "written", "complete"


@dataclass(frozen=True)
class Part:
    """A part that is complete: its batches and reports, and its name before it is in its place."""

    batches: int
    reports: int
    name: str


@dataclass
class PartsFolder:
    """A folder of parts, and the record of the run that writes them."""

    path: Path
    inputs: dict[str, str]
    """What the reports are made of and how, by what a message calls it."""
    day: datetime.date
    """The day on which the run began."""
    parts: dict[str, list[Part]]
    """The parts of each question, in their order."""
    run: str = field(default_factory=lambda: secrets.token_hex(16))
    """The id under which the run's charge is open in the ledger of people."""
    stage: str = _WRITING
    is_charged: bool = False
    """Whether the run's charge is open, as far as this process knows."""

    @classmethod
    @contextmanager
    def opened(
        cls, path: PathLike, inputs: Mapping[str, str], questions: Sequence[str], resume: bool
    ) -> Iterator[PartsFolder]:
        """Yield the folder at `path`, which no other run has meanwhile.

        It is new, or has a stopped run of the same `inputs` and `questions` to `resume`. A run
        that ends before its first part leaves nothing.
        """
        place = Path(path)
        was_there = place.exists()
        if was_there and not place.is_dir():
            raise InputError(f"a folder of reports must be a folder; {str(place)!r} is a file")
        place.mkdir(exist_ok=True)
        if not (place / _RECORD).exists() and _others(place):
            raise InputError(
                f"--out must be a new or an empty folder, or one with a run to resume; "
                f"{str(place)!r} has other files"
            )
        folder = None
        try:
            with held_alone(place / _LOCK):
                folder = cls._at(place, dict(inputs), questions, resume)
                try:
                    yield folder
                finally:
                    folder._clear()
        except BlockingIOError:
            raise InputError(f"{place}: another run writes to this folder") from None
        finally:
            if folder is not None and not folder._is_left:
                (place / _LOCK).unlink()
                if not was_there:
                    place.rmdir()

    @classmethod
    def _at(
        cls, place: Path, inputs: dict[str, str], questions: Sequence[str], resume: bool
    ) -> PartsFolder:
        if (place / _RECORD).exists():
            if not resume:
                raise InputError(
                    f"--out must be a new or an empty folder, since a second run makes other "
                    f"reports of the same people, each as telling as the first; {str(place)!r} has "
                    f"reports (--resume goes on with a run that was stopped)"
                )
            folder = cls._read(place)
            folder._check_inputs(inputs)
            folder._put_parts_in_place()
            return folder
        today = datetime.datetime.now(datetime.UTC).date()
        folder = cls(place, inputs, today, {id: [] for id in questions})
        folder._save()
        folder._put_parts_in_place()
        return folder

    @classmethod
    def _read(cls, place: Path) -> PartsFolder:
        file = place / _RECORD
        try:
            with readable("the record of a folder of reports", file):
                text = file.read_text("utf-8")
            found: dict[str, Any] = json.loads(text)
            if found.pop("version") != _VERSION:
                raise ValueError
            day = datetime.date.fromisoformat(found.pop("day"))
            parts = {
                str(id): [
                    Part(int(batches), int(reports), str(name)) for batches, reports, name in all
                ]
                for id, all in found.pop("parts").items()
            }
            inputs = {str(key): str(value) for key, value in found.pop("inputs").items()}
            return cls(place, inputs, day, parts, str(found.pop("run")), str(found.pop("stage")))
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            if isinstance(problem, InputError):
                raise
            raise InputError(
                f"{file}: the record of a folder of reports must be as rumor privatize wrote it; "
                f"this one is damaged or of another version"
            ) from None

    def _save(self) -> None:
        record = {
            "version": _VERSION,
            "run": self.run,
            "stage": self.stage,
            "day": self.day.isoformat(),
            "inputs": self.inputs,
            "parts": {
                id: [[part.batches, part.reports, part.name] for part in parts]
                for id, parts in self.parts.items()
            },
        }
        write_whole(self.path / _RECORD, json.dumps(record, indent=1).encode(), OWNER_ONLY)

    def _check_inputs(self, inputs: Mapping[str, str]) -> None:
        """Refuse a run that would make other reports than the one that was stopped."""
        if self.stage == _COMPLETE:
            count = sum(part.reports for parts in self.parts.values() for part in parts)
            raise InputError(
                f"the reports in {str(self.path)!r} are complete ({count:,}): nothing is left to "
                f"make"
            )
        for name in {**self.inputs, **inputs}:
            if inputs.get(name) != self.inputs.get(name):
                raise InputError(
                    f"--resume goes on with the same table, collection and options; {name} is not "
                    f"that of the run that was stopped in {str(self.path)!r}"
                )

    def place(self, id: str) -> Path:
        """Return the folder of the parts of a question: this one, or one in it for each of
        several.
        """
        return self.path if len(self.parts) == 1 else self.path / id

    def _file(self, id: str, number: int) -> Path:
        return self.place(id) / f"part-{number:05}.parquet"

    def _put_parts_in_place(self) -> None:
        """Give the parts of the record their names, and remove what is not in it."""
        for id, parts in self.parts.items():
            place = self.place(id)
            place.mkdir(exist_ok=True)
            for number, part in enumerate(parts):
                if (place / part.name).exists():
                    (place / part.name).replace(self._file(id, number))
            for file in place.glob(".part-*"):
                file.unlink()
            sync_folder(place)
        for file in self.path.glob("._*"):
            file.unlink()

    # What a run of questions asks of its folder.

    @property
    def has_parts(self) -> bool:
        """Whether there is a part in its place, or one that will be put there."""
        return any(self.parts.values())

    def assigned(self, draw: Callable[[], NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Return the questions that each row is assigned: drawn once, for all that resume."""
        file = self.path / _ASSIGNED
        if not file.exists():
            with whole_file(file, OWNER_ONLY) as aside:
                np.save(aside, draw())
        found: NDArray[np.bool_] = np.load(file)
        return found

    def read_before(self, ledger: PersonLedger, people: People) -> None:
        """Set the reports that `people` made before this run, whatever it was charged since."""
        self._ledger_before(ledger).read(people)

    def _ledger_before(self, ledger: PersonLedger) -> PersonLedger:
        is_charged = self.has_parts or ledger.is_open(self.run)
        return ledger.at(self.path / _BEFORE) if is_charged else ledger

    @contextmanager
    def charging(self, ledger: PersonLedger, people: People, most: Counts) -> Iterator[None]:
        """Charge `most` before the first part, and what `people` made after the last one."""
        if not ledger.is_open(self.run) and self.stage == _WRITING:
            if not self.has_parts:
                ledger.copy_before(people, self.path / _BEFORE)
            self.is_charged = True
            ledger.charge(people, most, self.run, again=self.has_parts)
        self.is_charged = True
        try:
            yield
        except BaseException:
            if not self.has_parts:
                ledger.settle(people, most, {}, self.run)
                self.is_charged = False
            raise
        self._enter(_WRITTEN)
        ledger.settle(people, most, people.made, self.run)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Take back the parts of the block where an answer is refused, and none was there before.

        After any other problem, a full disk among them, the run can be resumed.
        """
        were_there = self.has_parts
        try:
            yield
        except InputError:
            if not were_there:
                for id, parts in self.parts.items():
                    for number in range(len(parts)):
                        self._file(id, number).unlink(missing_ok=True)
                    parts.clear()
                self._save()
            raise

    def _enter(self, stage: str) -> None:
        self.stage = stage
        self._save()

    def complete(self) -> None:
        """Note that nothing is left to make."""
        self._enter(_COMPLETE)

    @property
    def _is_left(self) -> bool:
        """Whether a run leaves this folder: one that is complete, has parts or is charged."""
        return self.stage == _COMPLETE or self.has_parts or self.is_charged

    def _clear(self) -> None:
        """Remove what is needed no more."""
        if self.stage == _COMPLETE or not self._is_left:
            for name in (_BEFORE, _ASSIGNED):
                (self.path / name).unlink(missing_ok=True)
        if not self._is_left:
            for place in {self.place(id) for id in self.parts} - {self.path}:
                place.rmdir()
            (self.path / _RECORD).unlink(missing_ok=True)

    def write(
        self,
        answers: TableQuestion,
        random: RandomSource | None,
        on_progress: Callable[[int], None] | None,
    ) -> int:
        """Write the parts of a question that are not there yet; return the reports of all."""
        id = answers.question.id
        parts, rows = self.parts[id], group_rows(answers.question.mechanism.width)
        reports, batches = sum(part.reports for part in parts), answers.batches()
        for _ in range(sum(part.batches for part in parts)):
            next(batches, None)
        waiting = next(batches, None)
        if waiting is None:
            answers.check_any(reports)
        # A question that is assigned to nobody has one part without reports.
        while waiting is not None or not parts:
            own = random.extend(id, len(parts)) if isinstance(random, Seeded) else random
            with self._next_part(answers, own) as writer:
                while waiting is not None and writer.reports < rows:
                    before = reports + writer.reports
                    writer.write(*answers.privatize(waiting, before, own))
                    if on_progress is not None:
                        on_progress(reports + writer.reports)
                    waiting = next(batches, None)
            reports += parts[-1].reports
        return reports

    @contextmanager
    def _next_part(
        self, answers: TableQuestion, random: RandomSource | None
    ) -> Iterator[ReportWriter]:
        id = answers.question.id
        parts = self.parts[id]

        def note(aside: Path) -> None:
            parts.append(Part(writer.batches, writer.reports, aside.name))
            self._save()

        with write_reports(
            self._file(id, len(parts)),
            answers.collection,
            answers.question,
            strata=answers.strata,
            random=random,
            announce=note,
        ) as writer:
            yield writer

    def sentence(self) -> str:
        """Return what is there after a run was stopped, and how to go on."""
        count = sum(len(parts) for parts in self.parts.values())
        reports = sum(part.reports for parts in self.parts.values() for part in parts)
        return (
            f"{count:,} {'part' if count == 1 else 'parts'} with {reports:,} reports are in "
            f"{str(self.path)!r}; the same command with --resume makes the others"
        )


def _others(place: Path) -> list[Path]:
    """Return what is in the folder but for files that readers pass over."""
    return [file for file in place.iterdir() if not file.name.startswith(("_", "."))]
