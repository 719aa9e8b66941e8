"""Shared parts of kinds with a listed domain (labels or numbers) and of kinds with a range."""

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
        """Return `labels`, checked to be labels that answers of this kind may have."""
        return checked_labels(labels)

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> L:
        """Return `mechanism` with the answers labelled as in `contract`."""
        made, labels = self.check_family(mechanism), labels_of(contract)
        return made if labels is None else made.with_labels(self.checked_labels(labels))

    def answer_domain(self, mechanism: L) -> dict[str, Json]:
        """Return the number of answers, for pages."""
        return {"answers": mechanism.domain, "range": None}


RANGE = ("low", "high", "outside")
"""The keys of a range."""


def range_arguments(spec: Mapping[str, object], name: str) -> dict[str, Any]:
    """Return the range and the epsilon of `spec` as the arguments of the mechanism `name`."""
    if "epsilon" not in spec:
        raise InputError(f"mechanism {name!r} needs an epsilon; got none")
    return {**{key: spec[key] for key in RANGE if key in spec}, "epsilon": spec["epsilon"]}


def parse_answer_number(text: str, rule: str) -> float:
    """Return the number that `text` spells, however large, or raise an AnswerError with the
    `rule`.
    """
    with contextlib.suppress(ValueError):  # float's own error quotes the text
        return parse_number(float(text))
    raise AnswerError(rule, got="a text")
