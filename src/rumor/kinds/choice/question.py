"""Kinds of questions: what a question of each kind says, and the mechanism it resolves to.

A kind knows its own keys in a collection's TOML, turns a wish into a mechanism, and says
which names (of labels, say) the contract carries beside the mechanism. The collection
knows nothing of any kind in particular.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels
from rumor.core.errors import InputError, shown
from rumor.core.settings import known_keys, nearest
from rumor.kinds.base import Kind, mechanism_wish, some
from rumor.kinds.choice.choose import MAX_REPORT_BYTES, choose_oracle
from rumor.kinds.number.question import KeyValue, Number
from rumor.kinds.text.question import Text
from rumor.mechanisms import BY_NAME, FrequencyOracle, Mechanism


class Choice(Kind):
    """One of a fixed list of answers."""

    name = "choice"
    keys = ("labels", "domain", "epsilon", "mechanism", "max_report_bytes")
    names = ("labels",)

    def resolve(self, wish: Mapping[str, object], users: int | None) -> Mechanism:
        """An oracle, by name or the best one."""
        if ("labels" in wish) == ("domain" in wish):
            given = "both" if "labels" in wish else "neither"
            raise InputError(f"a question must have either labels or a domain size; got {given}")
        domain: object = wish.get("labels", wish.get("domain"))
        if "labels" in wish and not isinstance(domain, list):
            raise InputError(f"labels must be a list of strings; got {shown(domain)}")
        name, options = mechanism_wish(wish)
        arguments: dict[str, Any] = {"domain": domain, **options}
        if "epsilon" in wish:
            arguments["epsilon"] = wish["epsilon"]
        if name == "auto":
            known_keys('mechanism "auto"', options, ())
            if "epsilon" not in wish:
                raise InputError('mechanism "auto" needs an epsilon; got none')
            most = checked_size(
                "max_report_bytes", wish.get("max_report_bytes", MAX_REPORT_BYTES), 1, 1 << 20
            )
            return choose_oracle(**arguments, users=users, max_report_bytes=most)
        if "max_report_bytes" in wish:
            raise InputError(f'max_report_bytes guides the mechanism "auto" only; got {name!r}')
        oracles = {n: m for n, m in BY_NAME.items() if issubclass(m, FrequencyOracle)}
        if name not in oracles:
            names = ("auto", *oracles)
            raise InputError(
                f"a mechanism must be one of {', '.join(names)}; got {nearest(name, names)}"
            )
        oracle = oracles[name]
        known_keys(f"mechanism {name!r}", options, oracle.OPTIONS)
        missing = [] if oracle.FROM_EPSILON else [o for o in oracle.OPTIONS if o not in options]
        if missing:
            raise InputError(
                f"mechanism {name!r} needs {', '.join(oracle.OPTIONS)}; "
                f"got no {' and no '.join(missing)}"
            )
        if "epsilon" not in wish and not {"p", "q"} <= set(options):
            raise InputError(f"mechanism {name!r} needs an epsilon; got none")
        return oracle(**arguments)

    def named(self, mechanism: Mechanism) -> dict[str, Json]:
        """What the values are called, if they have names."""
        assert isinstance(mechanism, FrequencyOracle)
        return {"labels": mechanism.labels}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Mechanism:
        """The oracle, its values called by the contract's labels."""
        if not isinstance(mechanism, FrequencyOracle):
            raise InputError(f"a choice needs a frequency oracle; got {mechanism!r}")
        labels = contract["labels"]
        if labels is None:
            return mechanism
        if not isinstance(labels, list):
            raise InputError(f"labels must be a list or null; got {shown(labels)}")
        return mechanism.with_labels(checked_labels(labels))

    def typed(self, mechanism: Mechanism, text: str) -> object:
        """A label; an integer where values have no labels."""
        assert isinstance(mechanism, FrequencyOracle)
        number = text.strip()
        whole = mechanism.labels is None and number.isascii() and number.isdigit()
        code = mechanism.code(int(number[:20]) if whole else text)
        return code if mechanism.labels is None else mechanism.labels[code]

    def hint(self, mechanism: Mechanism) -> str:
        """The labels, or the range of the integers."""
        assert isinstance(mechanism, FrequencyOracle)
        if mechanism.labels is None:
            return f"an integer from 0 to {mechanism.domain - 1:,}"
        return f"one of {some(mechanism.labels)}"


__all__ = ["KINDS", "Choice", "Kind"]

# A new kind is one class and one entry here.
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in (Choice(), Text(), Number(), KeyValue())}
