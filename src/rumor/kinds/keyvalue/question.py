"""Choosing a key-value mechanism: what `key_value` and "auto" resolve to.

The kind "keyvalue" as a device knows it: keys, range, mechanism, and how pairs are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rumor.core.canonical import Json
from rumor.core.checks import checked_size
from rumor.core.columns import checked_labels
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.kinds.base import Example, Kind, abbreviate_list, labels_of
from rumor.kinds.domains import RANGE, parse_answer_number, range_arguments
from rumor.mechanisms.base import Mechanism
from rumor.mechanisms.keyvalue import KeyValueMechanism

# How much worse the shares may be when shares and means together are better.
_TOLERANCE = 1.1


def key_value(
    keys: int | Sequence[str],
    epsilon: float,
    cap: int | None = None,
    *,
    low: float = -1.0,
    high: float = 1.0,
    outside: str = "refuse",
    over_cap: str = "refuse",
) -> KeyValueMechanism:
    """The best mechanism for people who hold some of these keys, each with a number.

    The block mechanism, unless a public `cap` on the number of keys that a person holds is known
    and makes item sampling or key sets better: closed-form variances decide.
    """
    # A device draws with one mechanism, and loads no other.
    from rumor.mechanisms.item_sampling import ItemSampling
    from rumor.mechanisms.key_set import USUAL_FILL, KeySet
    from rumor.mechanisms.keyvalue_block import KeyValueBlock

    common: dict[str, Any] = {"keys": keys, "epsilon": epsilon, "low": low, "high": high}
    block = KeyValueBlock(**common, outside=outside)
    if cap is None:
        return block
    common |= {"outside": outside, "over_cap": over_cap}
    common["cap"] = checked_size("cap", cap, 1, block.keys)
    # A set of one key is item sampling with its dummies told apart.
    sets = KeySet(**common)
    capped = [ItemSampling(**common), *([sets] if sets.size > 1 else [])]
    frequency = USUAL_FILL * cap / block.keys
    noise = {m: m.variances(frequency, 0.0, 1.0) for m in (block, *capped)}
    most = _TOLERANCE * float(noise[block][0])
    fitting = [m for m, (share, _) in noise.items() if m is block or float(share) <= most]
    return min(fitting, key=lambda m: float(sum(noise[m])))


class KeyValueQuestion(Kind[KeyValueMechanism]):
    """Some of a fixed list of keys, each with a number, as a device knows it."""

    many_columns_reason = "key-value answers have many columns"
    name = "keyvalue"
    keys = ("keys", "cap", *RANGE, "epsilon", "mechanism")
    contract_names = ("labels", "parent")
    family = KeyValueMechanism
    family_rule = "a keyvalue question needs such a mechanism"
    least_domain = 1
    has_cap = True
    estimates_shares = False

    def resolve(self, spec: Mapping[str, object], users: int | None) -> KeyValueMechanism:
        """A mechanism by name or the best one; `cap` guides "auto" and the capped ones."""
        if "keys" not in spec:
            raise InputError("a keyvalue question must have keys (a list or a number); got none")
        name, options = self.chosen_mechanism(spec)
        arguments = {**range_arguments(spec, name), **options}
        mechanism = self.mechanism_named(name, options)
        arguments["keys"] = spec["keys"]
        if "cap" in spec:
            arguments["cap"] = spec["cap"]
        if mechanism is None:
            return key_value(**arguments)
        if "cap" in arguments and "cap" not in mechanism.OPTIONS:
            raise InputError(
                f"mechanism {name!r} takes no cap; got {format_value(arguments['cap'])}"
            )
        if "cap" in mechanism.OPTIONS and "cap" not in arguments:
            raise InputError(f"mechanism {name!r} needs a cap on the keys of a person; got none")
        return mechanism(**arguments)

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> KeyValueMechanism:
        """The mechanism, its keys called by the contract's labels."""
        keyed = self.check_family(mechanism)
        labels = labels_of(contract)
        named = keyed.with_labels(None if labels is None else checked_labels(labels))
        return named.with_parent(contract["parent"])

    def columns(self, id: str, mechanism: KeyValueMechanism) -> Sequence[str]:
        """One for each key."""
        return [id, *(str(name) for name in mechanism.labels or range(mechanism.keys))]

    def parse_answer(self, mechanism: KeyValueMechanism, text: str) -> object:
        """KEY:NUMBER, with commas between several; "none" for a person who holds nothing."""
        parts = [] if text.strip() == "none" else text.split(",")
        pairs = [_pair(mechanism, part) for part in parts if part.strip()]
        if len(dict(pairs)) < len(pairs):
            raise AnswerError("a person must hold each key once", got="one twice")
        return dict(pairs)

    def hint(self, mechanism: KeyValueMechanism) -> str:
        """The keys and the range."""
        names = abbreviate_list(mechanism.labels or [str(key) for key in range(mechanism.keys)])
        said = mechanism.grid.range_text
        return f"KEY:NUMBER, KEY:NUMBER... or none; keys {names}; numbers from {said}"

    def example(self) -> Example:
        """Two apps, and how long each was used."""
        return Example(
            spec={"keys": ["maps", "chat"], "low": 0, "high": 4, "epsilon": 2.0},
            typed_answers=("maps:1.5,chat:2", "chat:4", "none", "maps:0.5"),
            table="maps,chat\n1.5,2\n,4\n,\n0.5,\n",
            plan={"domain": 2, "low": 0.0, "high": 4.0},
        )

    def answer_domain(self, mechanism: KeyValueMechanism) -> dict[str, Json]:
        """The range."""
        return {"answers": None, "range": [mechanism.grid.low, mechanism.grid.high]}


def _pair(mechanism: KeyValueMechanism, text: str) -> tuple[int | str, float]:
    """A key, by its label or its number, and the number that goes with it."""
    rule = "pairs must be KEY:NUMBER,KEY:NUMBER..."
    key, colon, number = text.strip().rpartition(":")
    if not colon:
        raise AnswerError(rule, got="a part without a colon")
    name = key.strip()
    plain = mechanism.labels is None and name.isascii() and name.isdigit()
    place = mechanism.layout.key(int(name[:20]) if plain else name)
    called = place if mechanism.labels is None else mechanism.labels[place]
    return called, parse_answer_number(number, rule)
