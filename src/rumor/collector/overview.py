"""What an analyst sees first: the collections of a series, their questions, and who came when."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rumor.collector.store.base import Registered, Store
from rumor.contract.collection import Question
from rumor.kinds import KINDS
from rumor.privacy.promise import question_promise


def overview(store: Store, entry: Registered, series: Sequence[Registered]) -> dict[str, Any]:
    """One collection with its questions, and the names of the others of its series."""
    collection, questions = entry.collection, entry.collection.questions
    return {
        "collection": collection.digest,
        "name": collection.name,
        "series": collection.series,
        "contact": collection.contact,
        "collections": [
            {
                "digest": each.collection.digest,
                "name": each.collection.name,
                "state": each.state,
                "current": each.current,
            }
            for each in series
        ],
        "asks": None if collection.ask is None else collection.ask.in_words(len(questions)),
        "questions": [_question(store, entry, question) for question in questions],
    }


def _question(store: Store, entry: Registered, question: Question) -> dict[str, Any]:
    days = store.days(entry, question.id)
    mechanism = question.mechanism
    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "mechanism": mechanism.name,
        "report_bytes": mechanism.width,
        **KINDS[question.kind].facts(mechanism),
        **question_promise(question).to_dict(),
        "reports_per_person": question.reports_per_person,
        "retention_days": question.retention_days,
        "reports": sum(days.values()),
        "days": [{"day": day.isoformat(), "reports": reports} for day, reports in days.items()],
    }
