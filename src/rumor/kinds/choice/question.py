"""The kind "choice" as a device knows it: its keys, its oracle, how an answer is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.checks import checked_size
from rumor.core.errors import InputError
from rumor.kinds.base import Example, domain_of, mechanism_wish, some
from rumor.kinds.choice.choose import MAX_REPORT_BYTES, choose_oracle
from rumor.kinds.listed import ListedKind
from rumor.mechanisms.oracle import FrequencyOracle


class ChoiceQuestion(ListedKind[FrequencyOracle]):
    """One of a fixed list of answers, as a device knows it."""

    name = "choice"
    keys = ("labels", "domain", "epsilon", "mechanism", "max_report_bytes")
    family = FrequencyOracle
    needs = "a choice needs a frequency oracle"
    memoises = True

    def resolve(self, wish: Mapping[str, object], users: int | None) -> FrequencyOracle:
        """An oracle, by name or the best one."""
        domain = domain_of(wish)
        name, options = mechanism_wish(wish)
        arguments: dict[str, Any] = {"domain": domain, **options}
        if "epsilon" in wish:
            arguments["epsilon"] = wish["epsilon"]
        oracle = self.mechanism_named(name, options)
        if oracle is None:
            if "epsilon" not in wish:
                raise InputError('mechanism "auto" needs an epsilon; got none')
            most = checked_size(
                "max_report_bytes", wish.get("max_report_bytes", MAX_REPORT_BYTES), 1, 1 << 20
            )
            return choose_oracle(**arguments, users=users, max_report_bytes=most)
        if "max_report_bytes" in wish:
            raise InputError(f'max_report_bytes guides the mechanism "auto" only; got {name!r}')
        missing = [] if oracle.FROM_EPSILON else [o for o in oracle.OPTIONS if o not in options]
        if missing:
            raise InputError(
                f"mechanism {name!r} needs {', '.join(oracle.OPTIONS)}; "
                f"got no {' and no '.join(missing)}"
            )
        if "epsilon" not in wish and not {"p", "q"} <= set(options):
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        return oracle(**arguments)

    def typed(self, mechanism: FrequencyOracle, text: str) -> object:
        """A label; an integer where values have no labels."""
        number = text.strip()
        whole = mechanism.labels is None and number.isascii() and number.isdigit()
        code = mechanism.code(int(number[:20]) if whole else text)
        return code if mechanism.labels is None else mechanism.labels[code]

    def hint(self, mechanism: FrequencyOracle) -> str:
        """The labels, or the range of the integers."""
        if mechanism.labels is None:
            return f"an integer from 0 to {mechanism.domain - 1:,}"
        return f"one of {some(mechanism.labels)}"

    def example(self) -> Example:
        """Three labels."""
        return Example.of_one_column(
            people=("red", "green", "green", "blue"),
            wish={"labels": ["red", "green", "blue"], "epsilon": 2.0},
            plan={"domain": 3},
        )
