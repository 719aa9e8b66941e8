"""The kind "joint" as a device knows it: its parts, its mechanism, how an answer is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rumor.core.canonical import Json
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.kinds.base import Example, Kind, abbreviate_list
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.mixed.parts import Parts

COLUMNS = ("frequency", "low", "high", "unbiased", "stderr", "ratio", "ratio_low", "ratio_high")
"""What rows of an estimate have beside a key for each part."""
TAKEN = (*COLUMNS, "stratum", "count", "value")
"""What no part may be called; the client for browsers has the same list."""


class JointQuestion(Kind[Mixed]):
    """Two to four answers that make one table, as a device knows them."""

    many_columns_reason = "a joint answer has a column for each part"
    name = "joint"
    keys = ("parts", "epsilon", "mechanism")
    contract_names = ("parts",)
    family = Mixed
    family_rule = "a joint question needs the mechanism 'mixed'"
    has_domain = False

    def resolve(self, spec: Mapping[str, object], users: int | None) -> Mixed:
        """A pair or a margin, as chance has it."""
        name, options = self.chosen_mechanism(spec)
        self.mechanism_named(name, options)
        if "parts" not in spec:
            raise InputError("a joint question must have parts (each an id and labels); got none")
        if "epsilon" not in spec:
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        arguments: dict[str, Any] = {"epsilon": spec["epsilon"], **options}
        return Mixed(parts=_checked_parts(spec["parts"]), **arguments)

    def contract_fields(self, mechanism: Mixed) -> dict[str, Json]:
        """What the parts and their values are called."""
        return {"parts": mechanism.parts.to_json()}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Mixed:
        """The mechanism, its parts called as the contract says."""
        own = self.check_family(mechanism)
        if contract["parts"] is None:  # a contract that was made without names
            return own
        return own.named(_checked_parts(contract["parts"]))

    def columns(self, id: str, mechanism: Mixed) -> Sequence[str]:
        """One for each part."""
        return [id, *mechanism.parts.keys]

    def parse_answer(self, mechanism: Mixed, text: str) -> object:
        """PART=LABEL for each part, with commas between them."""
        parts = mechanism.parts
        ids = "|".join(map(re.escape, parts.keys))
        found: dict[str, object] = {}
        for piece in re.split(rf",\s*(?=(?:{ids})\s*=)", text):
            id, equals, label = piece.partition("=")
            if not equals:
                raise AnswerError("parts must be PART=LABEL, PART=LABEL...", got="one without =")
            if id.strip() in found:
                raise AnswerError("each part must be answered once", got="one twice")
            found[id.strip()] = label.strip() if parts.labels else _number(label)
        mechanism.code(found)
        return found

    def hint(self, mechanism: Mixed) -> str:
        """The parts and their labels."""
        parts = mechanism.parts
        each = zip(parts.keys, parts.values, strict=True)
        return "PART=LABEL, PART=LABEL...; " + "; ".join(
            f"{id}: {abbreviate_list(xs)}" for id, xs in each
        )

    def example(self) -> Example:
        """Two habits."""
        people = [("yes", "never"), ("no", "often"), ("no", "never"), ("no", "seldom")]
        spec = [
            {"id": "smokes", "labels": ["yes", "no"]},
            {"id": "drinks", "labels": ["never", "seldom", "often"]},
        ]
        return Example(
            spec={"parts": spec, "epsilon": 2.0},
            typed_answers=[f"smokes={smokes}, drinks={drinks}" for smokes, drinks in people],
            table="smokes,drinks\n" + "".join(f"{a},{b}\n" for a, b in people),
            plan={"parts": "2x3"},
        )

    def answer_domain(self, mechanism: Mixed) -> dict[str, Json]:
        """How many answers there are."""
        return {"answers": mechanism.parts.cells, "range": None}


def _checked_parts(spec: object) -> Parts:
    """Parts with names, none of them one that rows of an estimate have anyway."""
    parts = Parts.of(spec)
    if parts.ids is None:
        raise InputError(f"each part must have an id and labels; got {format_value(spec)}")
    taken = [id for id in parts.ids if id in TAKEN]
    if taken:
        raise InputError(f"a part must not be called as a column of results; got {taken[0]!r}")
    return parts


def linked_parts(mechanisms: Mapping[str, Mechanism]) -> Parts:
    """The parts of a table of questions that were asked apart, each report of which is a value."""
    asked = list(mechanisms.items())
    Parts.of([own.alphabet for _, own in asked])  # what is too large is never named
    return _checked_parts(
        [
            {"id": id, "labels": list(own.labels or map(str, range(own.alphabet)))}
            for id, own in asked
        ]
    )


def _number(text: str) -> object:
    plain = text.strip()
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 9 else plain
