"""How many were caught, by area, with exact intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scipy.stats import beta

from tests.mutants.drawn.change import Change

TARGET_OVERALL, MOST_EQUIVALENT = 0.85, 0.08
TARGETS: Mapping[str, float] = {
    **dict.fromkeys(
        ("mechanisms", "privacy", "contract", "client", "collector", "collector/store"), 0.92
    ),
    "javascript": 0.75,
}
LEVEL = 0.95


@dataclass(frozen=True)
class Outcome:
    """What became of a drawn change."""

    change: Change
    before: str
    after: str
    verdict: str
    """"caught", "hung" (caught too), "survived", "untouched" (survived too) or "equivalent"."""
    seconds: float = 0.0
    by: str = ""
    """The test that failed, or why nobody could notice the change."""
    tests: str = ""
    """How many tests were chosen, of those that could be."""

    @property
    def is_caught(self) -> bool:
        """Whether a test failed or hung."""
        return self.verdict in ("caught", "hung")

    @property
    def is_real(self) -> bool:
        """Whether somebody could notice the change."""
        return self.verdict != "equivalent"


def interval(caught: int, real: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Clopper and Pearson's interval of a share: `caught` of `real`."""
    tail = (1 - level) / 2
    low = float(beta.ppf(tail, caught, real - caught + 1)) if caught else 0.0
    high = float(beta.ppf(1 - tail, caught + 1, real - caught)) if caught < real else 1.0
    return low, high


def table(outcomes: Sequence[Outcome]) -> str:
    """Return caught of drawn by area, with intervals and targets."""
    columns = "drawn equivalent caught (hung) survived (untouched)   rate   95 % interval  target"
    lines = [f"{'area':16} {columns}"]
    for area in [*sorted({o.change.area for o in outcomes}), "all"]:
        ours = [o for o in outcomes if area in ("all", o.change.area)]
        real, caught = _counts(ours)
        verdicts = [o.verdict for o in ours]
        low, high = interval(caught, real)
        target = TARGET_OVERALL if area == "all" else TARGETS.get(area)
        lines.append(
            f"{area:16} {len(ours):5} {len(ours) - real:10} {caught:6} {verdicts.count('hung'):6} "
            f"{real - caught:8} {verdicts.count('untouched'):11}  {_percent(caught, real):>6}  "
            f"{low:6.1%} to {high:5.1%}  {'' if target is None else format(target, '.0%')}"
        )
    return "\n".join(lines)


def by_operator(outcomes: Sequence[Outcome]) -> str:
    """Return caught of drawn by operator."""
    lines = []
    for operator in sorted({o.change.operator for o in outcomes}):
        real, caught = _counts([o for o in outcomes if o.change.operator == operator])
        lines.append(f"{operator:18} {caught:4} of {real:4}  {_percent(caught, real):>6}")
    return "\n".join(lines)


def survivors(outcomes: Sequence[Outcome]) -> str:
    """Return the changes that no test noticed, as lines of a diff."""
    return "\n".join(
        f"{o.change.file}:{o.change.line} ({o.change.operator}; "
        f"{'no test touches it' if o.verdict == 'untouched' else f'{o.tests} tests'})\n"
        f"  - {o.before}\n  + {o.after}"
        for o in sorted(outcomes, key=lambda o: (o.change.file, o.change.line))
        if o.is_real and not o.is_caught
    )


def shortfalls(outcomes: Sequence[Outcome]) -> list[str]:
    """Return a sentence for each target that is missed.

    A part of a draw is small: an area misses its target where its whole interval lies below.
    """
    real, caught = _counts(outcomes)
    found = []
    if caught < TARGET_OVERALL * real:
        found.append(f"caught {_percent(caught, real)} of all; the target is {TARGET_OVERALL:.0%}")
    if len(outcomes) - real > MOST_EQUIVALENT * len(outcomes):
        share = _percent(len(outcomes) - real, len(outcomes))
        found.append(f"{share} are judged equivalent; at most {MOST_EQUIVALENT:.0%} may be")
    for area, target in TARGETS.items():
        real, caught = _counts([o for o in outcomes if o.change.area == area])
        if real and interval(caught, real)[1] < target:
            share = _percent(caught, real)
            found.append(f"caught {share} in {area}, surely below the target of {target:.0%}")
    return found


def _counts(outcomes: Sequence[Outcome]) -> tuple[int, int]:
    """Return how many somebody could notice, and how many of them were caught."""
    return sum(o.is_real for o in outcomes), sum(o.is_caught for o in outcomes)


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"
