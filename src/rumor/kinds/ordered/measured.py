"""One number that was learned of a distribution, with its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Measured:
    """A mean, a share or a quantile: the answer, its standard error and its interval."""

    value: float
    low: float
    high: float
    stderr: float
    level: float

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, float]:
        """As plain data for JSON."""
        return asdict(self)


def minus(first: Measured, second: Measured, z: float) -> Measured:
    """The difference of two that know nothing of each other: variances add."""
    value = first.value - second.value
    stderr = float((first.stderr**2 + second.stderr**2) ** 0.5)
    return Measured(value, value - z * stderr, value + z * stderr, stderr, first.level)
