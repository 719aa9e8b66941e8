"""Two questions whose reports may be linked: declared before anybody answers, or refused.

Linked reports of one person reveal at most the sum of their losses. A device debits that sum
anyhow, so declaring the link costs nothing; it informs respondents, and analysts cannot link
reports that were collected without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rumor.contract.sampling import SamplingDesign
from rumor.core.errors import InputError, format_value
from rumor.kinds import KINDS

if TYPE_CHECKING:
    from rumor.contract.collection import Question
    from rumor.kinds.base import Kind

Linked = tuple[str, str]
"""The ids of two questions, the rows of their table first."""


def checked_linked(
    given: object, questions: Sequence[Question], ask: SamplingDesign | None
) -> Linked | None:
    """Return the checked pair of questions under `linked`, or None."""
    if given is None:
        return None
    rule = 'linked must be the ids of two questions, such as ["smokes", "drinks"]'
    if not isinstance(given, (list, tuple)) or not all(isinstance(id, str) for id in given):
        raise InputError(f"{rule}; got {format_value(given)}")
    if len(given) != 2:
        raise InputError(f"{rule}; got {len(given)}")
    known = {question.id: question for question in questions}
    for id in given:
        if id not in known:
            raise InputError(
                f"linked must name questions of {', '.join(known)}; got {format_value(id)}"
            )
    first, second = given
    if first == second:
        raise InputError(f"linked must name two questions; got {first!r} twice")
    for id in given:
        _check_question(known[id])
    if ask is not None and ask.questions is not None:
        raise InputError(
            f"linked cannot go with questions of ask, since who answers one of two seldom answers "
            f"the other; got {ask.questions:,} of {len(questions):,} questions"
        )
    try:
        table_kind(known[first]).check_linked({id: known[id].mechanism for id in given})
    except InputError as problem:
        raise InputError(f"linked questions make one table: {problem}") from None
    return first, second


def table_kind(question: Question) -> Kind[Any]:
    """Return the kind of the table that `question` makes with another of its kind."""
    name = KINDS[question.kind].linked_kind
    if name is None or name not in KINDS:
        raise InputError(
            f"no table is made of kind {question.kind!r}; got question {question.id!r}"
        )
    return KINDS[name]


def _check_question(question: Question) -> None:
    """Refuse a question whose reports cannot be linked: each must be one value, asked once."""
    mechanism, reports = question.mechanism, question.reports_per_person
    if mechanism.oracle is None or not mechanism.oracle.report_is_value:
        raise InputError(
            f"linked questions must be of kind choice with mechanism = "
            f'"randomized-response"; got {mechanism.name!r} of question {question.id!r}'
        )
    if reports > 1:
        raise InputError(
            f"linked questions must be asked once, so that each person has one report of each; "
            f"got reports_per_person {reports:,} of question {question.id!r}"
        )
