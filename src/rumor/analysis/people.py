"""Whether groups are of different people: what a contract tells, and what it leaves to say.

Differences, sums over sources and trends take groups for independent samples. A contract says how
often a person answers and whether their answers share permanent noise.
"""

from __future__ import annotations

from rumor.contract.collection import Question
from rumor.core.errors import InputError


def require_different(question: Question, what: str, said: bool) -> list[str]:
    """Refuse memoised answers of the same people as independent samples; what else to note.

    `what` are the groups between which people may go, such as days; `said`, that nobody did.
    """
    if said or not _again(question):
        return []
    if question.mechanism.permanence.is_memoised:
        raise InputError(
            f"{what} must be of different people to be compared: memoised answers of the same "
            f"person share their noise, so they are no independent samples. Compare groups of a "
            f"kept column within one day (--by), ask other people each time, or say "
            f"--different-people where nobody is in two; got question {question.id!r}, which keeps "
            f"permanent answers and is asked {question.reports_per_person:,} times"
        )
    return [
        f"people may be in several of the {what} (each answers up to "
        f"{question.reports_per_person:,} times, with fresh noise): intervals and p-values are "
        f"then somewhat too large."
    ]


def repeated_within(question: Question, said: bool) -> list[str]:
    """A note where one person may count more than once within a group."""
    if said or not _again(question):
        return []
    return [
        "a person may have reported more than once within a group: choose one day (--from and "
        "--to), or intervals are too short."
    ]


def _again(question: Question) -> bool:
    return question.reports_per_person * question.mechanism.rounds > 1
