"""A dry run: what an analyst would see of a crowd whose answers are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import Source
from rumor.core.types import Progress, Tally


@dataclass(frozen=True)
class Trials:
    """How a crowd is tried: how many people, how often, by which method."""

    count: int = 1
    people: int | None = None
    """Rescale to a crowd of so many."""
    method: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Those of the method."""
    level: float = 0.95
    random: Source | None = None
    words: Sequence[str] | None = None
    """Words to look for, where answers are words."""
    cache: PathLike | None = None
    """Where the map of these words is kept for the next time."""
    on_progress: Progress | None = None


class DryRun(Protocol):
    """What came of the trials."""

    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """As plain data for JSON."""
        ...

    def table(self, rows: int = ...) -> str:
        """Truth and estimates side by side, as text."""
        ...

    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""
        ...


class Made(Protocol):
    """An estimate, as far as a dry run tells of it."""

    @property
    def epsilon(self) -> float:
        """The loss of one report."""
        ...

    @property
    def method(self) -> str:
        """How it was made."""
        ...


class Tried(Protocol):
    """A dry run: a crowd of so many people, tried so often."""

    @property
    def people(self) -> int:
        """How many people."""
        ...

    @property
    def trials(self) -> int:
        """How often."""
        ...

    @property
    def last(self) -> Made:
        """The last estimate."""
        ...


def tried(run: Tried) -> dict[str, object]:
    """What every dry run says of itself first."""
    made = {"epsilon": run.last.epsilon, "method": run.last.method}
    return {"reports": run.people, "trials": run.trials, **made}


def checked_trials(trials: int) -> int:
    """At least one."""
    if trials < 1:
        raise InputError(f"a simulation needs at least one trial; got {trials}")
    return trials


def rescaled(counts: Tally, people: int) -> Tally:
    """The same shares in a crowd of this size, to the nearest whole person."""
    exact = counts * (people / counts.sum())
    whole: Tally = np.floor(exact).astype(np.int64)
    missing = people - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:missing]] += 1
    return whole
