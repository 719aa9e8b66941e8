"""What kinds share whose answers are of a fixed list, known by labels or by numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from rumor.core.canonical import Json
from rumor.core.columns import checked_labels
from rumor.kinds.base import Kind, labels_of
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.labelled import LabelledDomain

L = TypeVar("L", bound=LabelledDomain)


class ListedKind(Kind[L]):
    """A kind of question whose answers are listed."""

    names = ("labels",)

    def checked_labels(self, labels: Sequence[object]) -> tuple[str, ...]:
        """Labels that answers of this kind may have."""
        return checked_labels(labels)

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> L:
        """The mechanism, its answers called by the contract's labels."""
        made, labels = self.own(mechanism), labels_of(contract)
        return made if labels is None else made.with_labels(self.checked_labels(labels))

    def facts(self, mechanism: L) -> dict[str, Json]:
        """How many answers there are."""
        return {"answers": mechanism.domain, "range": None}
