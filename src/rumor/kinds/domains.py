"""What kinds share whose answers are of a fixed list, known by labels or by numbers.

What questions about numbers have in common: a range, and numbers as people type them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from rumor.core.canonical import Json
from rumor.core.columns import checked_labels
from rumor.core.errors import AnswerError, InputError
from rumor.core.number_range import parse_number
from rumor.kinds.base import Kind, labels_of
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.shapes import LabelledDomain

L = TypeVar("L", bound=LabelledDomain)


class ListedKind(Kind[L]):
    """A kind of question whose answers are listed."""

    contract_names = ("labels",)

    def checked_labels(self, labels: Sequence[object]) -> tuple[str, ...]:
        """Labels that answers of this kind may have."""
        return checked_labels(labels)

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> L:
        """The mechanism, its answers called by the contract's labels."""
        made, labels = self.check_family(mechanism), labels_of(contract)
        return made if labels is None else made.with_labels(self.checked_labels(labels))

    def answer_domain(self, mechanism: L) -> dict[str, Json]:
        """How many answers there are."""
        return {"answers": mechanism.domain, "range": None}


RANGE = ("low", "high", "outside")
"""The keys of a range."""


def range_arguments(spec: Mapping[str, object], name: str) -> dict[str, Any]:
    """The ends and the epsilon of a wish, as constructors take them."""
    if "epsilon" not in spec:
        raise InputError(f"mechanism {name!r} needs an epsilon; got none")
    return {**{key: spec[key] for key in RANGE if key in spec}, "epsilon": spec["epsilon"]}


def parse_answer_number(text: str, rule: str) -> float:
    """A number, however large, or the rule."""
    with contextlib.suppress(ValueError):  # which quotes the text
        return parse_number(float(text))
    raise AnswerError(rule, got="a text")
