"""Which estimator answers for mechanisms of numbers: one line for each family."""

from __future__ import annotations

from collections.abc import Callable

from rumor.core.errors import InputError, shown
from rumor.kinds.keyvalue.estimate import KEYVALUE_METHODS, estimate_keyvalue, estimate_rounds
from rumor.kinds.keyvalue.result import NumericEstimate
from rumor.kinds.number.estimate import MEAN_METHODS, estimate_mean
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.privkv import PrivKVM
from rumor.mechanisms.summary import Summary

FAMILIES: tuple[
    tuple[type[Mechanism], tuple[str, ...], Callable[[Summary, str], NumericEstimate]], ...
] = (
    (MeanMechanism, MEAN_METHODS, estimate_mean),
    (KeyValueMechanism, KEYVALUE_METHODS, estimate_keyvalue),
)


def methods_of(mechanism: Mechanism) -> tuple[str, ...] | None:
    """The methods for a mechanism of numbers; None for any other."""
    for kind, methods, _ in FAMILIES:
        if isinstance(mechanism, kind):
            return methods
    return None


def estimate_numeric(
    mechanism: Mechanism,
    data: object,
    method: object,
    summarized: Callable[[Mechanism, object], Summary],
) -> NumericEstimate:
    """The estimate of a mechanism of numbers; `data` may be all rounds of PrivKVM, in order."""
    for kind, methods, function in FAMILIES:
        if isinstance(mechanism, kind):
            if not isinstance(method, str) or method not in methods:
                raise InputError(
                    f"method must be one of {', '.join(methods)} for {mechanism.name}; "
                    f"got {shown(method)}"
                )
            rounds = _rounds(mechanism, data)
            if rounds is not None:
                return estimate_rounds(rounds, method)
            return function(summarized(mechanism, data), method)
    raise InputError(f"no estimator is known for {mechanism!r}")


def _rounds(mechanism: Mechanism, data: object) -> list[Summary] | None:
    if not isinstance(mechanism, PrivKVM) or not isinstance(data, (list, tuple)):
        return None
    summaries = [item for item in data if isinstance(item, Summary)]
    return summaries if summaries and len(summaries) == len(data) else None
