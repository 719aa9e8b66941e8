"""One constructor for every mechanism, by the name of a contract or of the literature."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, overload

from rumor.core.checks import known_keys
from rumor.core.errors import InputError, format_value
from rumor.mechanisms.aliases import resolve_alias, unknown_mechanism
from rumor.mechanisms.registry import BY_NAME

if TYPE_CHECKING:
    from rumor.mechanisms.base import Mechanism
    from rumor.mechanisms.hadamard import HadamardResponse
    from rumor.mechanisms.harmony import Harmony
    from rumor.mechanisms.item_sampling import ItemSampling
    from rumor.mechanisms.key_set import KeySet
    from rumor.mechanisms.keyvalue_block import KeyValueBlock
    from rumor.mechanisms.local_hashing import LocalHashing
    from rumor.mechanisms.mixed.mixed import Mixed
    from rumor.mechanisms.open_words.open_words import OpenWords
    from rumor.mechanisms.paper import PaperDesign
    from rumor.mechanisms.pckv import PckvGrr
    from rumor.mechanisms.piecewise import Piecewise
    from rumor.mechanisms.privkv import PrivKV, PrivKVM
    from rumor.mechanisms.projective.projective import Projective
    from rumor.mechanisms.randomized_response import RandomizedResponse
    from rumor.mechanisms.rappor.basic import BasicRappor
    from rumor.mechanisms.rappor.rappor import Rappor
    from rumor.mechanisms.select import SetSelect
    from rumor.mechanisms.set_block import SetBlock
    from rumor.mechanisms.subset_selection import SubsetSelection
    from rumor.mechanisms.unary import UnaryEncoding
    from rumor.mechanisms.wave.wave import Wave
    from rumor.mechanisms.window import Window


@overload
def mechanism(
    name: Literal["randomized-response", "grr", "krr", "k-rr", "rr"], **options: Any
) -> RandomizedResponse: ...
@overload
def mechanism(name: Literal["unary", "sue", "oue"], **options: Any) -> UnaryEncoding: ...
@overload
def mechanism(
    name: Literal["subset-selection", "ss", "k-subset"], **options: Any
) -> SubsetSelection: ...
@overload
def mechanism(name: Literal["hadamard", "hr"], **options: Any) -> HadamardResponse: ...
@overload
def mechanism(name: Literal["projective", "pgr"], **options: Any) -> Projective: ...
@overload
def mechanism(name: Literal["local-hashing", "olh", "blh"], **options: Any) -> LocalHashing: ...
@overload
def mechanism(name: Literal["rappor"], **options: Any) -> Rappor: ...
@overload
def mechanism(name: Literal["open-words"], **options: Any) -> OpenWords: ...
@overload
def mechanism(name: Literal["basic-rappor"], **options: Any) -> BasicRappor: ...
@overload
def mechanism(
    name: Literal[
        "paper",
        "warner",
        "forced-response",
        "unrelated-question",
        "crosswise",
        "triangular",
        "kuk",
        "mangat",
    ],
    **options: Any,
) -> PaperDesign: ...
@overload
def mechanism(name: Literal["harmony", "duchi"], **options: Any) -> Harmony: ...
@overload
def mechanism(name: Literal["piecewise", "pm"], **options: Any) -> Piecewise: ...
@overload
def mechanism(name: Literal["window"], **options: Any) -> Window: ...
@overload
def mechanism(name: Literal["wave", "sw", "square-wave"], **options: Any) -> Wave: ...
@overload
def mechanism(name: Literal["select", "privset"], **options: Any) -> SetSelect: ...
@overload
def mechanism(name: Literal["block"], **options: Any) -> SetBlock: ...
@overload
def mechanism(name: Literal["keyvalue-block"], **options: Any) -> KeyValueBlock: ...
@overload
def mechanism(name: Literal["privkv"], **options: Any) -> PrivKV: ...
@overload
def mechanism(name: Literal["privkvm"], **options: Any) -> PrivKVM: ...
@overload
def mechanism(name: Literal["item-sampling"], **options: Any) -> ItemSampling: ...
@overload
def mechanism(name: Literal["key-set"], **options: Any) -> KeySet: ...
@overload
def mechanism(name: Literal["pckv-grr"], **options: Any) -> PckvGrr: ...
@overload
def mechanism(name: Literal["mixed"], **options: Any) -> Mixed: ...
@overload
def mechanism(name: str, **options: Any) -> Mechanism: ...
def mechanism(name: str, **options: Any) -> Mechanism:
    """Make the mechanism `name` with the keywords of its class, such as domain and epsilon.

    `name` is that of a contract, such as "unary", or one of the literature's, such as "oue", which
    fixes options as well: `rumor.mechanism("oue", domain=1000, epsilon=1)` is
    `rumor.UnaryEncoding(domain=1000, epsilon=1, variant="optimized")`.
    """
    if not isinstance(name, str):
        raise InputError(f"a mechanism must be named by a text; got {format_value(name)}")
    ours, said = resolve_alias(name, options)
    if ours not in BY_NAME:
        raise unknown_mechanism(name, tuple(BY_NAME), auto=False)
    made = BY_NAME[ours]
    parameters = _parameters(made)
    known_keys(f"mechanism {name!r}", said, tuple(parameters))
    missing = [
        key for key, one in parameters.items() if one.default is one.empty and key not in said
    ]
    if missing:
        raise InputError(f"mechanism {name!r} needs {', '.join(missing)}; got none")
    return made(**said)


def _parameters(made: type[Mechanism]) -> dict[str, inspect.Parameter]:
    """Return the keywords of a constructor, with those that it passes on to its base class."""
    found: dict[str, inspect.Parameter] = {}
    for cls in made.__mro__:
        if "__init__" not in vars(cls):
            continue
        own = list(inspect.signature(vars(cls)["__init__"]).parameters.values())[1:]
        keywords = [one for one in own if one.kind is one.KEYWORD_ONLY]
        found = {**{one.name: one for one in keywords}, **found}
        if len(keywords) == len(own):
            break
    return found
