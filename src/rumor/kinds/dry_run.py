"""A dry run: what an analyst would see of a crowd whose answers are known."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from rumor.core.errors import InputError
from rumor.core.files import PathLike
from rumor.core.randomness import Source
from rumor.core.types import Progress, Tally
from rumor.results.view import ROWS_SHOWN


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


E = TypeVar("E", bound=Made)


@dataclass(frozen=True, eq=False, kw_only=True)
class DryRun(abc.ABC, Generic[E]):
    """What came of the trials of a crowd of so many people."""

    people: int
    trials: int
    level: float
    """That of its intervals."""
    last: E
    """The estimate of the last trial."""

    @abc.abstractmethod
    def to_dict(self, rows: int | None = None) -> dict[str, object]:
        """As plain data for JSON."""

    @abc.abstractmethod
    def table(self, rows: int = ROWS_SHOWN) -> str:
        """Truth and estimates side by side, as text."""

    @abc.abstractmethod
    def plot(self, path: PathLike, *, rows: int | None = None, title: str | None = None) -> None:
        """The last trial beside the truth."""

    def tried(self) -> dict[str, object]:
        """What every dry run says of itself first."""
        made = {"epsilon": self.last.epsilon, "method": self.last.method}
        return {"reports": self.people, "trials": self.trials, **made}


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
