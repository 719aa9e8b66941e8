"""Choosing a mechanism: what "auto" in a collection resolves to."""

from __future__ import annotations

from collections.abc import Sequence

from rumor.core.columns import split_domain
from rumor.core.errors import InputError
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.registry import of_kind

# Longer reports than this are for people who ask for them: 256 bytes fit into any packet.
MAX_REPORT_BYTES = 256
# Shorter reports win where their noise is within 3 per cent of the least: a hundredth and a half of
# a standard error, which nobody sees.
_NEARLY = 1.03


def candidates(domain: int | Sequence[str], epsilon: float) -> list[FrequencyOracle]:
    """Every registered oracle that takes this domain at this epsilon."""
    kinds = [
        kind
        for kind in of_kind("choice")
        if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON
    ]
    size, _ = split_domain(domain, 2, max(kind.MAX_DOMAIN for kind in kinds))
    return [
        kind(domain=domain, epsilon=epsilon)  # type: ignore[call-arg]
        for kind in kinds
        if size <= kind.MAX_DOMAIN
    ]


def choose_oracle(
    domain: int | Sequence[str],
    epsilon: float,
    *,
    users: int | None = None,
    max_report_bytes: int = MAX_REPORT_BYTES,
) -> FrequencyOracle:
    """The oracle with the shortest reports, among those that fit and have nearly the least noise.

    Noise is that on a value that nobody holds: most values of a large domain are rare, so their
    noise is what an analyst sees, and the ratio between mechanisms does not depend on the number
    of people. An oracle fits when its reports are short enough and when estimating from this many
    users is affordable. Of reports that are equally short, those with less noise win.
    """
    oracles = [
        oracle
        for oracle in candidates(domain, epsilon)
        if oracle.width <= max_report_bytes and _affordable(oracle, users or 1)
    ]
    if not oracles:
        raise InputError(
            f"no mechanism takes this domain with reports of at most {max_report_bytes} bytes"
        )
    noise = {oracle: float(oracle.variance(0.0, 1)) for oracle in oracles}
    least = min(noise.values())
    close = [oracle for oracle in oracles if noise[oracle] <= _NEARLY * least]
    return min(close, key=lambda oracle: (oracle.width, noise[oracle]))


def _affordable(oracle: FrequencyOracle, users: int) -> bool:
    try:
        oracle.admit(users)
    except InputError:
        return False
    return True
