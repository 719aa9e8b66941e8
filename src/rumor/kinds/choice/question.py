"""Choosing a mechanism: what "auto" in a collection resolves to.

The kind "choice" as a device knows it: its keys, its oracle, how an answer is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from rumor.core.checks import checked_size
from rumor.core.columns import split_domain
from rumor.core.errors import InputError
from rumor.kinds.base import Example, abbreviate_list, domain_of
from rumor.kinds.domains import ListedKind
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.registry import mechanisms_of_kind

# Longer reports than this are for people who ask for them: 256 bytes fit into any packet.
MAX_REPORT_BYTES = 256
# Shorter reports win where their noise is within 3 per cent of the least: a hundredth and a half of
# a standard error, which nobody sees.
_NEARLY = 1.03


def candidates(domain: int | Sequence[str], epsilon: float) -> list[FrequencyOracle]:
    """Every registered oracle that takes this domain at this epsilon."""
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
        oracle.check_report_count(users)
    except InputError:
        return False
    return True


class ChoiceQuestion(ListedKind[FrequencyOracle]):
    """One of a fixed list of answers, as a device knows it."""

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

    def resolve(self, spec: Mapping[str, object], users: int | None) -> FrequencyOracle:
        """An oracle, by name or the best one."""
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
        missing = [] if oracle.FROM_EPSILON else [o for o in oracle.OPTIONS if o not in options]
        if missing:
            raise InputError(
                f"mechanism {name!r} needs {', '.join(oracle.OPTIONS)}; "
                f"got no {' and no '.join(missing)}"
            )
        if "epsilon" not in spec and not {"p", "q"} <= set(options):
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        return oracle(**arguments)

    def parse_answer(self, mechanism: FrequencyOracle, text: str) -> object:
        """A label; an integer where values have no labels."""
        number = text.strip()
        whole = mechanism.labels is None and number.isascii() and number.isdigit()
        code = mechanism.code(int(number[:20]) if whole else text)
        return code if mechanism.labels is None else mechanism.labels[code]

    def hint(self, mechanism: FrequencyOracle) -> str:
        """The labels, or the range of the integers."""
        if mechanism.labels is None:
            return f"an integer from 0 to {mechanism.domain - 1:,}"
        return f"one of {abbreviate_list(mechanism.labels)}"

    def example(self) -> Example:
        """Three labels."""
        return Example.of_one_column(
            people=("red", "green", "green", "blue"),
            spec={"labels": ["red", "green", "blue"], "epsilon": 2.0},
            plan={"domain": 3},
        )
