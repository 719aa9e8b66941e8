"""The kind "yesno" as a device knows it: a choice whose two answers are known.

It extends a choice: its mechanisms are those of a choice, and so is every file that this folder
lacks (estimate.py, simulate.py, compare.py, regress.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rumor.core.errors import InputError, format_value
from rumor.kinds.base import Example
from rumor.kinds.choice.question import ChoiceQuestion
from rumor.mechanisms.oracle import FrequencyOracle

LABELS = ("no", "yes")


class YesNoQuestion(ChoiceQuestion):
    """Yes or no."""

    name = "yesno"
    keys = ("epsilon", "mechanism")
    family_rule = "a yes-or-no question needs a frequency oracle"
    has_domain = False

    def resolve(self, spec: Mapping[str, object], users: int | None) -> FrequencyOracle:
        """Return an oracle of the two answers, by name or the best one."""
        return super().resolve({**spec, "labels": list(LABELS)}, users)

    def checked_labels(self, labels: Sequence[object]) -> tuple[str, ...]:
        """Refuse the `labels` of a contract that asks for something else."""
        if tuple(labels) != LABELS:
            raise InputError(
                f"labels must be {', '.join(LABELS)}; got {format_value(list(labels))}"
            )
        return LABELS

    def example(self) -> Example:
        """Return four people, one of whom says no."""
        return Example.of_one_column(
            people=("yes", "no", "yes", "yes"), spec={"epsilon": 1.0}, plan={}
        )
