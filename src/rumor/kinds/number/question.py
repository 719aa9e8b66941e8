"""Questions about numbers: one number ("number"), or keys with a number each ("keyvalue")."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from rumor.core.canonical import Json
from rumor.core.columns import checked_labels
from rumor.core.errors import AnswerError, InputError, shown
from rumor.core.number_range import one_number
from rumor.core.settings import known_keys, nearest
from rumor.kinds.base import Kind, mechanism_wish, some
from rumor.kinds.keyvalue.choose import key_value
from rumor.mechanisms import BY_NAME, KeyValueMechanism, MeanMechanism, Mechanism, PrivKVM
from rumor.mechanisms.mean import choose_mean

_RANGE = ("low", "high", "outside")


class Number(Kind):
    """One number within a range; what is learned is its mean."""

    name = "number"
    keys = (*_RANGE, "epsilon", "mechanism")
    names = ()

    def resolve(self, wish: Mapping[str, object], users: int | None) -> Mechanism:
        """Harmony or the piecewise mechanism, by name or whichever has less noise."""
        if "low" not in wish or "high" not in wish:
            raise InputError("a number must have a low and a high end; got one or none")
        name, arguments = _arguments(wish, MeanMechanism, ("steps",))
        return choose_mean(**arguments) if name == "auto" else _made(name, arguments)

    def named(self, mechanism: Mechanism) -> dict[str, Json]:
        """Numbers have no names."""
        return {}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Mechanism:
        """As it is."""
        if not isinstance(mechanism, MeanMechanism):
            raise InputError(f"a number needs a mechanism for means; got {mechanism!r}")
        return mechanism

    def typed(self, mechanism: Mechanism, text: str) -> object:
        """A number, however large."""
        return _number(text, "an answer must be a number")

    def hint(self, mechanism: Mechanism) -> str:
        """The range."""
        assert isinstance(mechanism, MeanMechanism)
        return f"a number from {mechanism.grid.said}"


class KeyValue(Kind):
    """Some of a fixed list of keys, each with a number; shares and means are learned."""

    name = "keyvalue"
    keys = ("keys", "cap", *_RANGE, "epsilon", "mechanism")
    names = ("labels", "parent")

    def resolve(self, wish: Mapping[str, object], users: int | None) -> Mechanism:
        """A mechanism by name or the best one; `cap` guides "auto" and the capped ones."""
        if "keys" not in wish:
            raise InputError("a keyvalue question must have keys (a list or a number); got none")
        name, arguments = _arguments(wish, KeyValueMechanism, ())
        arguments["keys"] = wish["keys"]
        if "cap" in wish:
            arguments["cap"] = wish["cap"]
        return key_value(**arguments) if name == "auto" else _made(name, arguments)

    def named(self, mechanism: Mechanism) -> dict[str, Json]:
        """What the keys are called, and the contract that this one follows (PrivKVM)."""
        assert isinstance(mechanism, KeyValueMechanism)
        parent = mechanism.parent if isinstance(mechanism, PrivKVM) else None
        return {"labels": mechanism.labels, "parent": parent}

    def restore(self, mechanism: Mechanism, contract: Mapping[str, object]) -> Mechanism:
        """The mechanism, its keys called by the contract's labels."""
        if not isinstance(mechanism, KeyValueMechanism):
            raise InputError(f"a keyvalue question needs such a mechanism; got {mechanism!r}")
        labels, parent = contract["labels"], contract["parent"]
        if labels is not None and not isinstance(labels, list):
            raise InputError(f"labels must be a list or null; got {shown(labels)}")
        named = mechanism.with_labels(None if labels is None else checked_labels(labels))
        if isinstance(named, PrivKVM):
            return named.with_parent(parent)
        if parent is not None:
            raise InputError(f"only a round of PrivKVM has a parent; got {shown(parent)}")
        return named

    def columns(self, id: str, mechanism: Mechanism) -> Sequence[str]:
        """One for each key."""
        assert isinstance(mechanism, KeyValueMechanism)
        return [id, *(str(name) for name in mechanism.labels or range(mechanism.keys))]

    def typed(self, mechanism: Mechanism, text: str) -> object:
        """KEY:NUMBER, with commas between several; "none" for a person who holds nothing."""
        assert isinstance(mechanism, KeyValueMechanism)
        parts = [] if text.strip() == "none" else text.split(",")
        pairs = [_pair(mechanism, part) for part in parts if part.strip()]
        if len(dict(pairs)) < len(pairs):
            raise AnswerError("a person must hold each key once", got="one twice")
        return dict(pairs)

    def hint(self, mechanism: Mechanism) -> str:
        """The keys and the range."""
        assert isinstance(mechanism, KeyValueMechanism)
        names = some(mechanism.labels or [str(key) for key in range(mechanism.keys)])
        said = mechanism.grid.said
        return f"KEY:NUMBER, KEY:NUMBER... or none; keys {names}; numbers from {said}"


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
    return called, _number(number, rule)


def _number(text: str, rule: str) -> float:
    with contextlib.suppress(ValueError):  # which quotes the text
        return one_number(float(text))
    raise AnswerError(rule, got="a text")


def _arguments(
    wish: Mapping[str, object], family: type, extra: Sequence[str]
) -> tuple[str, dict[str, Any]]:
    """The mechanism's name and the keywords of its constructor."""
    name, options = mechanism_wish(wish)
    if "epsilon" not in wish:
        raise InputError(f"mechanism {name!r} needs an epsilon; got none")
    known = {n: m for n, m in BY_NAME.items() if issubclass(m, family)}
    if name == "auto":
        known_keys('mechanism "auto"', options, ())
    elif name not in known:
        names = ("auto", *known)
        raise InputError(
            f"a mechanism must be one of {', '.join(names)}; got {nearest(name, names)}"
        )
    else:
        own: tuple[str, ...] = getattr(known[name], "OPTIONS", ())
        known_keys(f"mechanism {name!r}", options, (*own, *extra))
    ends = {key: wish[key] for key in _RANGE if key in wish}
    return name, {**ends, "epsilon": wish["epsilon"], **options}


def _made(name: str, arguments: Mapping[str, Any]) -> Mechanism:
    mechanism = BY_NAME[name]
    options: tuple[str, ...] = getattr(mechanism, "OPTIONS", ())
    if "cap" in arguments and "cap" not in options:
        raise InputError(f"mechanism {name!r} takes no cap; got {shown(arguments['cap'])}")
    if "cap" in options and "cap" not in arguments:
        raise InputError(f"mechanism {name!r} needs a cap on the keys of a person; got none")
    return mechanism(**arguments)
