"""An entry for public registries of deployments: the parameters, where they can be checked.

The fields are those that registries of differential privacy ask for: who, what for, which model,
which unit is protected, epsilon for one report and in total, delta, and how to verify them. Fields
that only the operator knows are left empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rumor import __version__
from rumor.contract.collection import Collection
from rumor.privacy.promise import collection_promise


def registry_entry(
    collection: Collection, audit: Mapping[str, Any] | None = None
) -> dict[str, object]:
    """Return the entry of `collection` as plain data."""
    promise = collection_promise(collection)
    return {
        "schema": "rumor registry entry 1",
        "deployment": collection.name,
        "series": collection.series,
        "operator": collection.contact,
        "purpose": None,
        "first_day": None,
        "people": None,
        "model": "local",
        "definition": "pure differential privacy",
        "delta": 0,
        "unit": "one person, all their reports to this collection",
        "epsilon_total": _json_epsilon(promise.most),
        "epsilon_series": _json_epsilon(promise.ceiling),
        "admission": collection.admission,
        "questions": [
            {
                "id": question.id,
                "text": question.text,
                "kind": question.kind,
                "mechanism": question.mechanism.name,
                "epsilon_report": costs.one,
                "epsilon_total": _json_epsilon(costs.most),
                "reports_per_person": question.reports_per_person,
                "rounds": costs.rounds,
                "retention_days": question.retention_days,
            }
            for question, costs in zip(collection.questions, promise.questions, strict=True)
        ],
        "justification": None,
        "software": {"name": "Rumor", "version": __version__, "license": "Apache-2.0"},
        "contract": {"digest": collection.digest, "algorithm": "SHA-256"},
        "audit": None
        if audit is None
        else {key: audit.get(key) for key in ("version", "day", "samples", "passed")},
    }


def _json_epsilon(epsilon: float) -> float | None:
    """Return a loss as JSON holds it: None if it has no limit."""
    return None if math.isinf(epsilon) else epsilon
