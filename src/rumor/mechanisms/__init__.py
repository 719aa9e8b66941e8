"""Value to report: one file for each mechanism, its channel and its privacy beside it."""

from __future__ import annotations

from collections.abc import Mapping

from rumor.core.errors import InputError, shown
from rumor.mechanisms.base import Channel, Mechanism
from rumor.mechanisms.basic_rappor import BasicRappor
from rumor.mechanisms.hadamard import HadamardResponse
from rumor.mechanisms.item_sampling import ItemSampling
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.keyvalue_block import KeyValueBlock
from rumor.mechanisms.local_hashing import LocalHashing
from rumor.mechanisms.mean import Harmony, MeanMechanism, Piecewise
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.pckv import PckvGrr
from rumor.mechanisms.privkv import PrivKV, PrivKVM
from rumor.mechanisms.randomized_response import RandomizedResponse
from rumor.mechanisms.rappor import Rappor
from rumor.mechanisms.subset_selection import SubsetSelection
from rumor.mechanisms.unary import UnaryEncoding

# A new mechanism is one file and one line here; the laws then cover it.
REGISTRY: tuple[type[Mechanism], ...] = (
    RandomizedResponse,
    UnaryEncoding,
    SubsetSelection,
    HadamardResponse,
    LocalHashing,
    Rappor,
    BasicRappor,
    Harmony,
    Piecewise,
    KeyValueBlock,
    PrivKV,
    PrivKVM,
    ItemSampling,
    PckvGrr,
)

BY_NAME: Mapping[str, type[Mechanism]] = {mechanism.name: mechanism for mechanism in REGISTRY}


def from_description(description: Mapping[str, object]) -> Mechanism:
    """The mechanism that `Mechanism.describe` wrote down."""
    name = description.get("name") if isinstance(description, Mapping) else None
    if not isinstance(name, str) or name not in BY_NAME:
        raise InputError(f"a mechanism must be one of {', '.join(BY_NAME)}; got {shown(name)}")
    return BY_NAME[name].from_parameters(description)


__all__ = [
    "BY_NAME",
    "REGISTRY",
    "BasicRappor",
    "Channel",
    "FrequencyOracle",
    "HadamardResponse",
    "Harmony",
    "ItemSampling",
    "KeyValueBlock",
    "KeyValueMechanism",
    "LocalHashing",
    "MeanMechanism",
    "Mechanism",
    "PckvGrr",
    "Piecewise",
    "PrivKV",
    "PrivKVM",
    "RandomizedResponse",
    "Rappor",
    "SubsetSelection",
    "UnaryEncoding",
    "from_description",
]
