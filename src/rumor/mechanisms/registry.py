"""The registry of mechanisms: a line for each, which is loaded when it is used.

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
class RegistryEntry:
    """The entry of a mechanism, which is loaded when it is used."""

    name: str
    """The name of the mechanism in contracts."""
    module: str
    """The module of the mechanism within this folder."""
    class_name: str
    kind: str
    """The kind of question that the mechanism is made for, and kinds that extend it."""

    @property
    def javascript(self) -> str:
        """The file of the JavaScript twin, named after the mechanism's name in contracts."""
        return f"mechanisms/{self.name}.js"

    def load(self) -> type[Mechanism]:
        """Return the class."""
        module = importlib.import_module(f"rumor.mechanisms.{self.module}")
        found: type[Mechanism] = getattr(module, self.class_name)
        return found


# A new mechanism is a file of its own, its twin in JavaScript and a line here; the laws then
# cover it. The order is that of tables and sentences which list them all.
ENTRIES = (
    RegistryEntry("randomized-response", "randomized_response", "RandomizedResponse", "choice"),
    RegistryEntry("unary", "unary", "UnaryEncoding", "choice"),
    RegistryEntry("subset-selection", "subset_selection", "SubsetSelection", "choice"),
    RegistryEntry("hadamard", "hadamard", "HadamardResponse", "choice"),
    RegistryEntry("projective", "projective.projective", "Projective", "choice"),
    RegistryEntry("local-hashing", "local_hashing", "LocalHashing", "choice"),
    RegistryEntry("rappor", "rappor.rappor", "Rappor", "text"),
    RegistryEntry("open-words", "open_words.open_words", "OpenWords", "words"),
    RegistryEntry("basic-rappor", "rappor.basic", "BasicRappor", "choice"),
    RegistryEntry("paper", "paper", "PaperDesign", "choice"),
    RegistryEntry("harmony", "harmony", "Harmony", "number"),
    RegistryEntry("piecewise", "piecewise", "Piecewise", "number"),
    RegistryEntry("window", "window", "Window", "number"),
    RegistryEntry("wave", "wave.wave", "Wave", "ordered"),
    RegistryEntry("select", "select", "SetSelect", "set"),
    RegistryEntry("block", "set_block", "SetBlock", "set"),
    RegistryEntry("keyvalue-block", "keyvalue_block", "KeyValueBlock", "keyvalue"),
    RegistryEntry("privkv", "privkv", "PrivKV", "keyvalue"),
    RegistryEntry("privkvm", "privkv", "PrivKVM", "keyvalue"),
    RegistryEntry("item-sampling", "item_sampling", "ItemSampling", "keyvalue"),
    RegistryEntry("key-set", "key_set", "KeySet", "keyvalue"),
    RegistryEntry("pckv-grr", "pckv", "PckvGrr", "keyvalue"),
    RegistryEntry("mixed", "mixed.mixed", "Mixed", "joint"),
)


class ByName(Mapping[str, "type[Mechanism]"]):
    """Classes by their names in contracts; looking up a name loads its class."""

    def __init__(self, entries: tuple[RegistryEntry, ...]) -> None:
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


def mechanisms_of_kind(kind: str) -> Iterator[type[Mechanism]]:
    """Yield the mechanisms made for `kind`, loaded one after the other."""
    return (entry.load() for entry in ENTRIES if entry.kind == kind)


def from_description(description: Mapping[str, object]) -> Mechanism:
    """Return the mechanism that `Mechanism.describe` wrote down."""
    name = description.get("name") if isinstance(description, Mapping) else None
    if not isinstance(name, str) or name not in BY_NAME:
        raise InputError(
            f"a mechanism must be one of {', '.join(BY_NAME)}; got {format_value(name)}"
        )
    return BY_NAME[name].from_parameters(description)
