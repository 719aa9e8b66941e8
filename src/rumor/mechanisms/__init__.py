"""Value to report: one file for each mechanism, its channel and its privacy beside it.

Nothing is loaded before it is asked for: `registry` has a line for each mechanism.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rumor.mechanisms.registry import BY_NAME, ENTRIES, from_description

if TYPE_CHECKING:
    from rumor.mechanisms.base import Channel as Channel
    from rumor.mechanisms.base import Mechanism as Mechanism
    from rumor.mechanisms.hadamard import HadamardResponse as HadamardResponse
    from rumor.mechanisms.harmony import Harmony as Harmony
    from rumor.mechanisms.item_sampling import ItemSampling as ItemSampling
    from rumor.mechanisms.key_set import KeySet as KeySet
    from rumor.mechanisms.keyvalue import KeyValueMechanism as KeyValueMechanism
    from rumor.mechanisms.keyvalue_block import KeyValueBlock as KeyValueBlock
    from rumor.mechanisms.local_hashing import LocalHashing as LocalHashing
    from rumor.mechanisms.mean import MeanMechanism as MeanMechanism
    from rumor.mechanisms.mixed.mixed import Mixed as Mixed
    from rumor.mechanisms.open_words.open_words import OpenWords as OpenWords
    from rumor.mechanisms.oracle import FrequencyOracle as FrequencyOracle
    from rumor.mechanisms.paper import PaperDesign as PaperDesign
    from rumor.mechanisms.pckv import PckvGrr as PckvGrr
    from rumor.mechanisms.piecewise import Piecewise as Piecewise
    from rumor.mechanisms.privkv import PrivKV as PrivKV
    from rumor.mechanisms.privkv import PrivKVM as PrivKVM
    from rumor.mechanisms.projective.projective import Projective as Projective
    from rumor.mechanisms.randomized_response import RandomizedResponse as RandomizedResponse
    from rumor.mechanisms.rappor.basic import BasicRappor as BasicRappor
    from rumor.mechanisms.rappor.rappor import Rappor as Rappor
    from rumor.mechanisms.select import SetSelect as SetSelect
    from rumor.mechanisms.set_block import SetBlock as SetBlock
    from rumor.mechanisms.sets import SetMechanism as SetMechanism
    from rumor.mechanisms.subset_selection import SubsetSelection as SubsetSelection
    from rumor.mechanisms.unary import UnaryEncoding as UnaryEncoding
    from rumor.mechanisms.wave.wave import Wave as Wave
    from rumor.mechanisms.window import Window as Window

    REGISTRY: tuple[type[Mechanism], ...]

# The families, and where every name is at home.
_HOMES = {
    "Channel": "base",
    "FrequencyOracle": "oracle",
    "KeyValueMechanism": "keyvalue",
    "MeanMechanism": "mean",
    "Mechanism": "base",
    "SetMechanism": "sets",
    **{entry.class_name: entry.module for entry in ENTRIES},
}

__all__ = ["BY_NAME", "REGISTRY", *_HOMES, "from_description"]


def __getattr__(name: str) -> Any:
    value: object
    if name == "REGISTRY":
        value = tuple(entry.load() for entry in ENTRIES)
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
