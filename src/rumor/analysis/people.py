"""Checks that groups are of different people, as far as a contract tells.

Differences, combinations and trends treat groups as independent samples. A contract says how
often a person answers and whether their answers share permanent noise.
"""

from __future__ import annotations

from rumor.contract.collection import Question
from rumor.core.errors import InputError


def require_different(question: Question, what: str, said: bool) -> list[str]:
    """Refuse groups whose people share memoised answers; return what else to note.

    `what` names the groups that a person may be in several of, such as days; `said` states that
    nobody is.
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
    """Return a note if one person may count more than once within a group."""
    if said or not _again(question):
        return []
    return [
        "a person may have reported more than once within a group: choose one day (--from and "
        "--to), or intervals are too short."
    ]


def _again(question: Question) -> bool:
    return question.reports_per_person * question.mechanism.rounds > 1
