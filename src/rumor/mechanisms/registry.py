"""The mechanisms there are: a line for each, and nothing of them is loaded until it is asked for.

Everything that must know all mechanisms follows from this table: the names in contracts, the
classes that `rumor.mechanisms` exports, the kind of question that each one answers, and its twin
in JavaScript, which `js/mechanisms.js` lists (a test says which line is missing there). A device
loads the mechanisms that its contract names, and no other.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism


@dataclass(frozen=True)
class Entry:
    """One mechanism, before it is loaded."""

    name: str
    """What contracts call it."""
    module: str
    """Its file in this folder."""
    class_name: str
    kind: str
    """The kind of question that it is made for; kinds that extend it have it too."""

    @property
    def javascript(self) -> str:
        """Its twin, within the package for browsers: named as contracts name it."""
        return f"mechanisms/{self.name}.js"

    def load(self) -> type[Mechanism]:
        """The class."""
        module = importlib.import_module(f"rumor.mechanisms.{self.module}")
        found: type[Mechanism] = getattr(module, self.class_name)
        return found


# A new mechanism is a file of its own, its twin in JavaScript and a line here; the laws then
# cover it. The order is that of tables and sentences which list them all.
ENTRIES = (
    Entry("randomized-response", "randomized_response", "RandomizedResponse", "choice"),
    Entry("unary", "unary", "UnaryEncoding", "choice"),
    Entry("subset-selection", "subset_selection", "SubsetSelection", "choice"),
    Entry("hadamard", "hadamard", "HadamardResponse", "choice"),
    Entry("projective", "projective.projective", "Projective", "choice"),
    Entry("local-hashing", "local_hashing", "LocalHashing", "choice"),
    Entry("rappor", "rappor.rappor", "Rappor", "text"),
    Entry("open-words", "open_words.open_words", "OpenWords", "words"),
    Entry("basic-rappor", "rappor.basic", "BasicRappor", "choice"),
    Entry("harmony", "harmony", "Harmony", "number"),
    Entry("piecewise", "piecewise", "Piecewise", "number"),
    Entry("window", "window", "Window", "number"),
    Entry("wave", "wave.wave", "Wave", "ordered"),
    Entry("select", "select", "SetSelect", "set"),
    Entry("block", "set_block", "SetBlock", "set"),
    Entry("keyvalue-block", "keyvalue_block", "KeyValueBlock", "keyvalue"),
    Entry("privkv", "privkv", "PrivKV", "keyvalue"),
    Entry("privkvm", "privkv", "PrivKVM", "keyvalue"),
    Entry("item-sampling", "item_sampling", "ItemSampling", "keyvalue"),
    Entry("key-set", "key_set", "KeySet", "keyvalue"),
    Entry("pckv-grr", "pckv", "PckvGrr", "keyvalue"),
    Entry("mixed", "mixed.mixed", "Mixed", "joint"),
)


class ByName(Mapping[str, "type[Mechanism]"]):
    """Classes by the names that contracts give them; looking one up loads that one."""

    def __init__(self, entries: tuple[Entry, ...]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> type[Mechanism]:
        return self._entries[name].load()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries  # asking whether a name is known loads nothing


BY_NAME = ByName(ENTRIES)


def of_kind(kind: str) -> Iterator[type[Mechanism]]:
    """The mechanisms that are made for this kind, loaded one after the other."""
    return (entry.load() for entry in ENTRIES if entry.kind == kind)


def from_description(description: Mapping[str, object]) -> Mechanism:
    """The mechanism that `Mechanism.describe` wrote down."""
    name = description.get("name") if isinstance(description, Mapping) else None
    if not isinstance(name, str) or name not in BY_NAME:
        raise InputError(
            f"a mechanism must be one of {', '.join(BY_NAME)}; got {format_value(name)}"
        )
    return BY_NAME[name].from_parameters(description)
