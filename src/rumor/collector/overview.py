"""The analyst's overview: the collections of a series, their questions, and reports by day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rumor.collector.store.base import StoredCollection, StoreReader
from rumor.contract.collection import Collection, Question
from rumor.contract.groups import LEAST_SHOWN, Groups
from rumor.kinds import KINDS
from rumor.privacy.promise import collection_promise, question_promise


def overview(
    store: StoreReader, entry: StoredCollection, series: Sequence[StoredCollection]
) -> dict[str, Any]:
    """Return one collection with its questions, and the names of the others of its series."""
    collection = entry.collection
    return {
        "collection": collection.digest,
        "name": collection.name,
        "series": collection.series,
        "contact": collection.contact,
        "users": entry.users,
        "collections": [
            {
                "digest": each.collection.digest,
                "name": each.collection.name,
                "state": each.state,
                "current": each.current,
            }
            for each in series
        ],
        **({} if collection.groups is None else {"groups": _lists(collection.groups)}),
        "asks": " ".join(filter(None, _said(collection))) or None,
        "questions": [_question(store, entry, question) for question in collection.questions],
    }


def _said(collection: Collection) -> list[str | None]:
    """Return the sentences for respondents about `collection`: its sampling and total epsilon."""
    return [_asks(collection), collection_promise(collection).linking_in_words()]


def _asks(collection: Collection) -> str | None:
    """Return the sampling design of `collection` in sentences, or None without one."""
    ask = collection.ask
    if ask is None:
        return None
    said = f"Each person is asked {ask.in_words(len(collection.questions))}."
    if ask.questions is None:
        return said
    return (
        f"{said} So every question has reports of its own, and questions cannot be tabled against "
        f"each other."
    )


def _lists(groups: Groups) -> list[dict[str, Any]]:
    """Return the columns of `groups` as plain data."""
    return [{"name": name, "groups": list(of)} for name, of in groups.columns]


def _groups(store: StoreReader, entry: StoredCollection, question: Question) -> dict[str, Any]:
    """Return how many reports each group has, column by column, if the contract has groups."""
    groups = entry.collection.groups
    if groups is None:
        return {}
    counts = {(name, group): 0 for name, of in groups.columns for group in of}
    for stratum, reports in store.reports_by_stratum(entry, question.id).items():
        for each in groups.of_stratum(stratum).items():
            counts[each] += reports
    return {
        "groups": [
            {"name": name, "group": group, "reports": reports, "shown": reports >= LEAST_SHOWN}
            for (name, group), reports in counts.items()
        ]
    }


def _question(store: StoreReader, entry: StoredCollection, question: Question) -> dict[str, Any]:
    days, spans = store.reports_by_day(entry, question.id), store.spans(entry, question.id)
    dropped = store.dropped_reports(entry, question.id)
    mechanism = question.mechanism
    return {
        "id": question.id,
        "kind": question.kind,
        "text": question.text,
        "any_look": KINDS[question.kind].any_look,
        "mechanism": mechanism.name,
        "report_bytes": mechanism.width,
        **KINDS[question.kind].answer_domain(mechanism),
        **question_promise(question).to_dict(),
        "reports_per_person": question.reports_per_person,
        "retention_days": question.retention_days,
        "reports": sum(days.values()),
        **_groups(store, entry, question),
        "dropped": 0 if dropped is None else dropped.reports,
        "days": [
            {"day": day.isoformat(), "last": spans.get(day, day).isoformat(), "reports": reports}
            for day, reports in days.items()
        ],
    }
