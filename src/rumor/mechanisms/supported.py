"""Reports that support things: values, options. What is learned of each comes from two chances."""

from __future__ import annotations

import abc
import functools
from fractions import Fraction


class Supported(abc.ABC):
    """A mechanism whose reports support some things, more often those that a person has."""

    @property
    @abc.abstractmethod
    def exact_hit(self) -> Fraction:
        """P(a thing is supported | the person has it), exactly."""

    @property
    @abc.abstractmethod
    def exact_miss(self) -> Fraction:
        """P(a thing is supported | the person does not have it), exactly."""

    @functools.cached_property
    def hit(self) -> float:
        """P(a thing is supported | the person has it)."""
        return float(self.exact_hit)

    @functools.cached_property
    def miss(self) -> float:
        """P(a thing is supported | the person does not have it)."""
        return float(self.exact_miss)

    @functools.cached_property
    def gain(self) -> float:
        """How much more often it is supported by those who have it."""
        return float(self.exact_hit - self.exact_miss)
