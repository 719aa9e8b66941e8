"""Stored reports followed over time: what `rumor trend` does, without its options."""

from __future__ import annotations

import datetime

from rumor.engines.comparing import Stored, question_heading
from rumor.engines.people import require_different
from rumor.kinds import KINDS
from rumor.kinds.following import follow
from rumor.results.trend import Trend


def follow_reports(stored: Stored, every: str = "day") -> Trend:
    """How a question's answers move from day to day, or from week to week."""
    asked, found = stored.groups("day")
    notes = require_different(asked, "days", stored.different_people)
    return follow(
        KINDS[asked.kind],
        {datetime.date.fromisoformat(day): summary for day, summary in found.items()},
        every=every,
        options=stored.counting.options(asked),
        heading=question_heading(asked),
        notes=notes,
    )
