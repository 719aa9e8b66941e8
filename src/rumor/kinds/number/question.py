"""The kind "number" as a device knows it: its range, its mechanism, how a number is read."""

from __future__ import annotations

from collections.abc import Mapping

from rumor.core.canonical import Json
from rumor.core.errors import InputError
from rumor.kinds.base import Example, Kind, KindSwitch
from rumor.kinds.domains import RANGE, parse_answer_number, range_arguments
from rumor.mechanisms.mean import MeanMechanism, choose_mean


class NumberQuestion(Kind[MeanMechanism]):
    """One number within a range, as a device knows it."""

    name = "number"
    keys = (*RANGE, "estimate", "epsilon", "mechanism")
    family = MeanMechanism
    family_rule = "a number needs a mechanism for means"
    # A distribution of numbers is learned from ordered answers, and its mean with it.
    kind_switch = KindSwitch("estimate", "mean", "distribution", "ordered")
    has_domain = False
    estimates_shares = False

    def resolve(self, spec: Mapping[str, object], users: int | None) -> MeanMechanism:
        """A mechanism for means, by name or whichever has the least noise."""
        if "low" not in spec or "high" not in spec:
            raise InputError("a number must have a low and a high end; got one or none")
        name, options = self.chosen_mechanism(spec)
        arguments = {**range_arguments(spec, name), **options}
        mechanism = self.mechanism_named(name, options, ("steps",))
        return choose_mean(**arguments) if mechanism is None else mechanism(**arguments)

    def parse_answer(self, mechanism: MeanMechanism, text: str) -> object:
        """A number, however large."""
        return parse_answer_number(text, "an answer must be a number")

    def hint(self, mechanism: MeanMechanism) -> str:
        """The range."""
        return f"a number from {mechanism.grid.range_text}"

    def example(self) -> Example:
        """Minutes."""
        return Example.of_one_column(
            people=("5", "20.5", "60", "45"),
            spec={"low": 0, "high": 60, "epsilon": 2.0},
            plan={"low": 0.0, "high": 60.0},
        )

    def answer_domain(self, mechanism: MeanMechanism) -> dict[str, Json]:
        """The range."""
        return {"answers": None, "range": [mechanism.grid.low, mechanism.grid.high]}
