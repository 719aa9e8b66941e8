"""Stored reports followed over time: what `rumor trend` does, without its options."""

from __future__ import annotations

import datetime

from rumor.contract.collection import Collection
from rumor.core.files import PathLike
from rumor.engines.analysis import opened
from rumor.engines.comparing import Counting, question_heading
from rumor.engines.people import require_different
from rumor.kinds import KINDS
from rumor.kinds.following import follow
from rumor.results.trend import Trend


def follow_reports(
    collection: PathLike | Collection,
    path: PathLike,
    *,
    question: str | None = None,
    every: str = "day",
    different_people: bool = False,
    counting: Counting | None = None,
) -> Trend:
    """How a question's answers move from day to day, or from week to week."""
    how, contract = counting or Counting(), opened(collection)
    asked, found = how.groups(contract, path, question, "day")
    notes = require_different(asked, "days", different_people)
    return follow(
        KINDS[asked.kind],
        {datetime.date.fromisoformat(day): summary for day, summary in found.items()},
        every=every,
        options=how.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )
