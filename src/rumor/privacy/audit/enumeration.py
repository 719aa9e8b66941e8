"""Every branch of a reference draw, with its exact probability.

`Mechanism.draw` is written as coins and uniform integers. Running it once for each way
they can fall gives the exact output distribution of the code itself: no model of the code,
no sampling error. Tests and the audit compare it with the channel that the mechanism claims.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from rumor.core.exact import WORD
from rumor.core.randomness import Draws

# Leaves of one tree that are still worth walking (a leaf costs some 20 microseconds).
MAX_LEAVES = 20_000
T = TypeVar("T")


class TooManyBranchesError(Exception):
    """An error for a draw whose tree has more leaves than `MAX_LEAVES`."""


class _UnfitError(Exception):
    """An attempt that does not fit, after which a draw would try again."""


class EnumeratingDraws:
    """Draws that follow a given path of choices, then take the first branch each time."""

    def __init__(self, path: list[int], public: bytes) -> None:
        self._planned = path
        self._public = public
        self.taken: list[int] = []
        self.arity: list[int] = []
        self.weight = Fraction(1)
        self.tried: tuple[tuple[int, ...], Fraction] | None = None
        """What was taken before attempts began, and its weight."""

    def _choose(self, arity: int) -> int:
        depth = len(self.taken)
        choice = self._planned[depth] if depth < len(self._planned) else 0
        self.taken.append(choice)
        self.arity.append(arity)
        return choice

    def coin(self, threshold: int) -> bool:
        """Return one side of a coin, weighted by `threshold`."""
        assert 1 <= threshold < WORD, f"a coin's threshold lies in 1..2^64-1; got {threshold}"
        falls = self._choose(2) == 0
        self.weight *= Fraction(threshold if falls else WORD - threshold, WORD)
        return falls

    def below(self, bound: int) -> int:
        """Return one of the numbers below `bound`, equally likely."""
        assert bound >= 1, f"a uniform integer needs a bound of at least 1; got {bound}"
        if bound > MAX_LEAVES:
            raise TooManyBranchesError
        self.weight /= bound
        return self._choose(bound)

    def public(self, count: int) -> bytes:
        """Return the fixed public bytes: a channel is stated for each value of them."""
        assert not self.taken, "public bytes must not depend on what was drawn before"
        assert count == len(self._public), f"drew {count} public bytes, not {len(self._public)}"
        return self._public

    def first(self, attempt: Callable[[], T], fits: Callable[[T], bool]) -> T:
        """Return one attempt; those that fit share the weight before them in proportion."""
        assert self.tried is None, "a draw tries once"
        self.tried = tuple(self.taken), self.weight
        found = attempt()
        if not fits(found):
            raise _UnfitError
        return found


def distribution(
    draw: Callable[[Draws], bytes], public: bytes = b"", max_leaves: int = MAX_LEAVES
) -> dict[bytes, Fraction]:
    """Return the exact distribution of the results of `draw`, given its public bytes."""
    result: dict[bytes, Fraction] = {}
    # The reports of fitting attempts by the decisions before them, whose weight they share.
    fitting: dict[tuple[tuple[int, ...], Fraction], dict[bytes, Fraction]] = {}
    path: list[int] = []
    for _ in range(max_leaves):
        draws = EnumeratingDraws(path, public)
        try:
            report = draw(draws)
            into = result if draws.tried is None else fitting.setdefault(draws.tried, {})
            into[report] = into.get(report, Fraction(0)) + draws.weight
        except _UnfitError:
            pass
        # The next leaf: the deepest choice that still has a branch to its right.
        path = draws.taken
        while path and path[-1] + 1 == draws.arity[len(path) - 1]:
            path.pop()
        if not path:
            for (_, before), among in fitting.items():
                scale = before / sum(among.values())
                for report, weight in among.items():
                    result[report] = result.get(report, Fraction(0)) + scale * weight
            assert sum(result.values()) == 1, "the branches of a draw must have total weight 1"
            return result
        path[-1] += 1
    raise TooManyBranchesError
