"""The kind "choice" as a device knows it: its keys, its oracle, how an answer is read.

A mechanism of "auto" is resolved to the oracle of `choose_oracle`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rumor.core.checks import checked_size
from rumor.core.columns import split_domain
from rumor.core.errors import InputError
from rumor.core.typing import override
from rumor.kinds.base import Example, abbreviate_list, domain_of
from rumor.kinds.domains import ListedKind
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.registry import mechanisms_of_kind

# The default limit on report bytes; longer reports must be asked for. 256 bytes fit into any
# packet.
MAX_REPORT_BYTES = 256
# Shorter reports win where their noise variance is within 3% of the least, which is 1.5% of a
# standard error.
_NEARLY = 1.03


def candidates(domain: int | Sequence[str], epsilon: float) -> list[FrequencyOracle]:
    """Return every registered oracle that takes this `domain` at this `epsilon`."""
    kinds = [
        kind
        for kind in mechanisms_of_kind("choice")
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
    """Return the oracle with the shortest reports, among those that fit and have nearly the least
    noise.

    The noise is the variance at frequency 0: most values of a large domain are rare, so this noise
    is what an analyst sees, and the ratio between mechanisms does not depend on the number of
    people. An oracle fits when its reports are short enough and when estimating from `users`
    reports is affordable. Of reports that are equally short, those with less noise win.
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
        oracle.check_report_count(users)
    except InputError:
        return False
    return True


class ChoiceQuestion(ListedKind[FrequencyOracle]):
    """A choice as a device knows it."""

    name = "choice"
    keys: ClassVar[tuple[str, ...]] = (
        "labels",
        "domain",
        "epsilon",
        "mechanism",
        "max_report_bytes",
    )
    family = FrequencyOracle
    family_rule = "a choice needs a frequency oracle"
    memoises = True
    linked_kind = "joint"

    @override
    def resolve(self, spec: Mapping[str, object], users: int | None) -> FrequencyOracle:
        domain = domain_of(spec)
        name, options = self.chosen_mechanism(spec)
        arguments: dict[str, Any] = {"domain": domain, **options}
        if "epsilon" in spec:
            arguments["epsilon"] = spec["epsilon"]
        oracle = self.mechanism_named(name, options)
        if oracle is None:
            if "epsilon" not in spec:
                raise InputError('mechanism "auto" needs an epsilon; got none')
            most = checked_size(
                "max_report_bytes", spec.get("max_report_bytes", MAX_REPORT_BYTES), 1, 1 << 20
            )
            return choose_oracle(**arguments, users=users, max_report_bytes=most)
        if "max_report_bytes" in spec:
            raise InputError(f'max_report_bytes guides the mechanism "auto" only; got {name!r}')
        missing = [option for option in oracle.REQUIRED if option not in options]
        if missing:
            raise InputError(
                f"mechanism {name!r} needs {', '.join(oracle.REQUIRED)}; "
                f"got no {' and no '.join(missing)}"
            )
        if oracle.FROM_EPSILON and "epsilon" not in spec and not {"p", "q"} <= set(options):
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        return oracle(**arguments)

    @override
    def parse_answer(self, mechanism: FrequencyOracle, text: str) -> object:
        number = text.strip()
        whole = mechanism.labels is None and number.isascii() and number.isdigit()
        code = mechanism.code(int(number[:20]) if whole else text)
        return code if mechanism.labels is None else mechanism.labels[code]

    @override
    def hint(self, mechanism: FrequencyOracle) -> str:
        if mechanism.labels is None:
            return f"an integer from 0 to {mechanism.domain - 1:,}"
        return f"one of {abbreviate_list(mechanism.labels)}"

    @override
    def example(self) -> Example:
        return Example.of_one_column(
            people=("red", "green", "green", "blue"),
            spec={"labels": ["red", "green", "blue"], "epsilon": 2.0},
            plan={"domain": 3},
        )
