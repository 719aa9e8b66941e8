"""From a stored summary to the analyst's answer, as plain data."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rumor.errors import InputError
from rumor.estimators import estimate
from rumor.mechanisms import Mechanism, Rappor
from rumor.summary import Summary

if TYPE_CHECKING:
    from rumor.collector.service import EstimateQuery


def estimate_summary(
    mechanism: Mechanism,
    summary: Summary,
    query: EstimateQuery,
    dictionary: Sequence[str] | None,
    rounds: Sequence[Summary] | None = None,
) -> Mapping[str, Any]:
    """The estimate with its intervals; open vocabularies are decoded with the dictionary.

    `rounds` are the summaries of all rounds, where the mechanism has such (PrivKVM).
    """
    options: dict[str, Any] = {"method": query.method}
    if isinstance(mechanism, Rappor):
        if dictionary is None:
            raise InputError(
                "a question of open answers is decoded with a dictionary of candidates "
                "(rumor serve --dictionary FILE); got none"
            )
        options["candidates"] = dictionary
    result: Any
    if rounds is not None:
        from rumor.estimators.keyvalue import estimate_rounds

        result = estimate_rounds(rounds, query.method)
    else:
        result = estimate(mechanism, summary, **options)
    wanted = {"level": query.level, "of": query.of, "simultaneous": query.simultaneous}
    known = inspect.signature(result.to_dict).parameters
    answer: Mapping[str, Any] = result.to_dict(
        **{name: value for name, value in wanted.items() if name in known}
    )
    return answer
