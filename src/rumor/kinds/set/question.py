"""The kind "set" as a device knows it: options, any of which may be chosen; how they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rumor.core.errors import InputError, format_value
from rumor.core.option_sets import MARK
from rumor.kinds.base import Example, abbreviate_list, domain_of
from rumor.kinds.domains import ListedKind
from rumor.mechanisms.sets import SetMechanism

# What a person types who chose nothing.
NONE = "none"


class SetQuestion(ListedKind[SetMechanism]):
    """All that apply of a fixed list of options, as a device knows it."""

    name = "set"
    keys = ("labels", "domain", "cap", "over_cap", "mean_size", "pairs", "epsilon", "mechanism")
    family = SetMechanism
    family_rule = "a set needs a mechanism for sets"
    has_cap = True

    def resolve(self, spec: Mapping[str, object], users: int | None) -> SetMechanism:
        """A mechanism by name or the best one, in the size that is best for what is wanted."""
        from rumor.kinds.set.choose import Wanted, best_block, best_select, choose_sets

        domain = domain_of(spec)
        if isinstance(domain, list):
            self.checked_labels(domain)
        name, options = self.chosen_mechanism(spec)
        mechanism = self.mechanism_named(name, options)
        if "epsilon" not in spec:
            raise InputError("a set needs an epsilon; got none")
        said = {**{key: spec[key] for key in ("cap", "over_cap") if key in spec}, **options}
        wanted = Wanted(
            domain=domain,  # type: ignore[arg-type]
            epsilon=spec["epsilon"],  # type: ignore[arg-type]
            cap=said.pop("cap", None),  # type: ignore[arg-type]
            mean_size=spec.get("mean_size"),  # type: ignore[arg-type]
            pairs=_truth("pairs", spec.get("pairs", False)),
        )
        if mechanism is None:
            return choose_sets(wanted, **said)  # type: ignore[arg-type]
        if "cap" in mechanism.OPTIONS:
            return best_select(wanted, **said)  # type: ignore[arg-type]
        if wanted.cap is not None or "over_cap" in said:
            raise InputError(f"mechanism {name!r} takes no cap; got {format_value(wanted.cap)}")
        return best_block(wanted, **said)

    def checked_labels(self, labels: Sequence[object]) -> tuple[str, ...]:
        """Labels that can be written one after the other."""
        checked = super().checked_labels(labels)
        odd = next((label for label in checked if MARK in label), None)
        if odd is not None:
            rule = f"an option's label must not hold {MARK!r}, which stands between options"
            raise InputError(f"{rule}; got {format_value(odd)}")
        return checked

    def columns(self, id: str, mechanism: SetMechanism) -> Sequence[str]:
        """One with lists, or one for each option."""
        return [id, *option_names(mechanism)]

    def parse_answer(self, mechanism: SetMechanism, text: str) -> object:
        """OPTION|OPTION..., by label or number; "none" for a person who chose nothing."""
        parts = [part.strip() for part in text.split(MARK) if part.strip()]
        if parts == [NONE] and NONE not in (mechanism.labels or ()):
            parts = []
        plain = mechanism.labels is None
        given = [int(p[:20]) if plain and p.isascii() and p.isdigit() else p for p in parts]
        return list(mechanism.named(mechanism.options(given)))

    def choice_limit_text(self, mechanism: SetMechanism) -> str:
        """Up to the cap."""
        return "any of " if mechanism.cap == mechanism.domain else f"up to {mechanism.cap} of "

    def hint(self, mechanism: SetMechanism) -> str:
        """The options, and how many of them."""
        most = "" if mechanism.cap == mechanism.domain else f" (up to {mechanism.cap})"
        options = abbreviate_list(option_names(mechanism))
        return f"OPTION{MARK}OPTION...{most} or {NONE}; options {options}"

    def example(self) -> Example:
        """Four ways to travel, of which up to two are chosen."""
        people = ("bus|bicycle", "car", "none", "train|bus")
        return Example(
            spec={"labels": ["bus", "bicycle", "car", "train"], "cap": 2, "epsilon": 2.0},
            typed_answers=people,
            table="\n".join(["asked", *people[:2], '""', *people[3:], ""]),
            plan={"domain": 4, "cap": 2},
        )


def option_names(mechanism: SetMechanism) -> Sequence[str]:
    """What options are called."""
    return mechanism.labels or [str(option) for option in range(mechanism.domain)]


def _truth(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InputError(f"{name} must be true or false; got {format_value(value)}")
    return value
