"""The laws, over every registered mechanism and each of its examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from rumor.mechanisms import BY_NAME, REGISTRY, FrequencyOracle, Mechanism
from rumor.privacy.audit.enumeration import TooManyBranchesError
from tests.laws.laws import LAWS, MAX_ROWS, Law, law_draw_is_the_channel
from tests.laws.oracle_laws import ORACLE_LAWS, OracleLaw, law_epsilon_is_a_ceiling

# Exact channels of more cells than this take long in fractions: they are for `make soak`.
MANY_CELLS = 12_000
LONG_LAWS = {
    "law_audit",
    "law_bulk_compiled_agrees",
    "law_bulk_plain_agrees",
    "law_people_are_independent",
    "law_relabelling_relabels",
    "law_rows_sum_to_one",
    "law_scalar_agrees",
    "law_summaries_merge",
}


def _cells(mechanism: Mechanism) -> int:
    publics = mechanism.publics()
    values = min(MAX_ROWS, len(mechanism.inputs()))
    return len(publics) * values * len(mechanism.outputs(publics[0]))


EXAMPLES = [
    pytest.param(example, id=f"{kind.name}-{index}")
    for kind in REGISTRY
    for index, example in enumerate(kind.examples())
]
ORACLES = [p for p in EXAMPLES if isinstance(p.values[0], FrequencyOracle)]


def _takes_long(law: Any, mechanism: Mechanism, index: int) -> bool:
    """Of a mechanism's further examples the laws that take long are for `make soak`."""
    return _cells(mechanism) > MANY_CELLS or (index > 2 and law.__name__ in LONG_LAWS)


def _held_to(laws: Sequence[Any], examples: Sequence[Any]) -> list[ParameterSet]:
    """All laws of an example, then those of the next: its exact channel is kept meanwhile."""
    return [
        pytest.param(
            law,
            example.values[0],
            id=f"{law.__name__}-{example.id}",
            marks=[pytest.mark.slow]
            if _takes_long(law, example.values[0], int(str(example.id).rpartition("-")[2]))
            else [],
        )
        for example in examples
        for law in laws
    ]


KINDS = [pytest.param(kind, id=kind.name) for kind in REGISTRY]
FROM_EPSILON = [
    pytest.param(kind, id=kind.name)
    for kind in REGISTRY
    if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON
]


@pytest.mark.parametrize(("law", "mechanism"), _held_to(LAWS, EXAMPLES))
def test_mechanism(law: Law, mechanism: Mechanism) -> None:
    law(mechanism)


@pytest.mark.parametrize(("law", "oracle"), _held_to(ORACLE_LAWS, ORACLES))
def test_oracle(law: OracleLaw, oracle: FrequencyOracle) -> None:
    law(oracle)


@pytest.mark.parametrize("kind", KINDS)
def test_draw_is_the_channel(kind: type[Mechanism]) -> None:
    """Examples whose tree is too large are left out, but two of each mechanism are walked."""
    walked = 0
    for mechanism in kind.examples():
        try:
            law_draw_is_the_channel(mechanism)
            walked += 1
        except TooManyBranchesError:
            continue
    assert walked >= 2, f"only {walked} examples of {kind.name} are small enough to enumerate"


@pytest.mark.parametrize("kind", FROM_EPSILON)
def test_epsilon_is_a_ceiling(kind: type[FrequencyOracle]) -> None:
    law_epsilon_is_a_ceiling(kind)


def test_registry_names_are_distinct() -> None:
    assert len(BY_NAME) == len(REGISTRY)
    assert all(BY_NAME[kind.name] is kind for kind in REGISTRY)
