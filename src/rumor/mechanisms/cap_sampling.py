"""The cap: of a person who holds more things than a report draws from, some are kept at random.

A person who holds s things, more than the cap c, keeps c of them, all subsets equally likely. So
reports tell of the *kept* share of a thing, g = E[holds it and min(1, c/s)], and of nothing else.
The true share f is at least g, and nothing rules g itself out: people may hold c things at most.
How far f can lie above g, is what `rumor.results.kept` works out.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kept:
    """The number of a person's things that a report draws from, with sentences about that limit."""

    things: str
    """The word for the things: keys or options."""
    held: str
    """The verb for what people did with the things: held or chose."""
    cap: int
    total: int
    """The number of things."""
    shown: int
    """The most things that one report shows, dummies included."""
    may_exceed: bool
    """Whether the contract takes people who hold more than the cap."""

    def rule(self, verb: str = "were") -> str:
        """Return the rule for people above the cap, as the beginning of a sentence."""
        return (
            f"of whoever {self.held} more than {self.cap:,} {self.things}, {self.cap:,} {verb} "
            f"kept at random"
        )

    @property
    def plan_sentence(self) -> str:
        """The sentence that a plan prints about the cap."""
        rule = self.rule("are")
        return f"{rule[0].upper()}{rule[1:]}: the shares of what they {self.held} come out smaller."

    @property
    def estimate_sentence(self) -> str:
        """The sentence of estimates that are about kept things alone."""
        return f"{self.rule()}: only those are counted"

    @property
    def interval_sentence(self) -> str:
        """The sentence of estimates whose intervals allow for people above the cap."""
        if self.may_exceed:
            return f"{self.estimate_sentence}, and intervals allow for the others"
        return f"{self.estimate_sentence}, and intervals are right where nobody {self.held} more"
