"""The kind "ordered" as a device knows it: its scale, its mechanism, how an answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.canonical import Json
from rumor.core.checks import checked_choice
from rumor.core.errors import InputError, format_value
from rumor.core.typing import override
from rumor.kinds.base import Example, Kind, abbreviate_list, labels_of
from rumor.kinds.domains import RANGE, parse_answer_number
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.wave.wave import Wave

SCALE = ("labels", *RANGE, "bins")
"""The keys of a scale."""


class OrderedQuestion(Kind[Wave]):
    """An answer that has an order, as a device knows it."""

    name = "ordered"
    keys = (*SCALE, "round", "estimate", "epsilon", "mechanism")
    contract_names = ("labels", "round")
    family = Wave
    family_rule = "ordered answers need the mechanism 'wave'"

    def resolve(self, spec: Mapping[str, object], users: int | None) -> Wave:
        """Return the wave mechanism; with a window of one output it is randomised response."""
        name, options = self.chosen_mechanism(spec)
        self.mechanism_named(name, options)
        if "epsilon" not in spec:
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        checked_choice("estimate", spec.get("estimate", "distribution"), ("distribution",))
        labels = spec.get("labels")
        if labels is not None and not isinstance(labels, list):
            raise InputError(f"labels must be a list of strings; got {format_value(labels)}")
        said: dict[str, Any] = {key: spec[key] for key in (*SCALE, "epsilon") if key in spec}
        return Wave(**said, round_to=spec.get("round", ()), **options)  # type: ignore[arg-type]

    def contract_fields(self, mechanism: Wave) -> dict[str, Json]:
        """Return the labels, if any, and the declared round numbers."""
        return {"labels": mechanism.labels, "round": list(mechanism.spacings) or None}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Wave:
        """Return the wave with its positions labelled as in `contract`."""
        wave = self.check_family(mechanism)
        labels, spacings = labels_of(contract), contract["round"]
        if spacings is not None and (not isinstance(spacings, list) or not spacings):
            raise InputError(
                f"round must be a list of numbers or null; got {format_value(spacings)}"
            )
        named = wave if labels is None else wave.with_labels(labels)
        return named.rounded_to(spacings or ())

    @override
    def parse_answer(self, mechanism: Wave, text: str) -> object:
        if mechanism.labels is not None:
            return mechanism.labels[mechanism.code(text)]
        return parse_answer_number(text, "an answer must be a number")

    @override
    def hint(self, mechanism: Wave) -> str:
        if mechanism.labels is not None:
            return f"one of {abbreviate_list(mechanism.labels)}"
        return mechanism.scale.answers_in_words

    @override
    def example(self) -> Example:
        people = ("5", "20.5", "60", "45")
        return Example(
            spec={"low": 0, "high": 60, "bins": 12, "epsilon": 2.0},
            typed_answers=people,
            table="\n".join(["asked", *people, ""]),
            plan={"domain": 12},
        )

    @override
    def answer_domain(self, mechanism: Wave) -> dict[str, Json]:
        scale = mechanism.scale
        ends = scale.at(scale.domain) if scale.labels is None else None
        range_ = None if ends is None else [scale.start, float(ends)]
        return {"answers": scale.domain, "range": range_}
