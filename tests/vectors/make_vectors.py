"""Vectors that every client must reproduce, byte for byte: tests/vectors/client.json.

    python -m tests.vectors.make_vectors > tests/vectors/client.json

For each mechanism of the registry, under many parameters: the width of its reports, its cell, what
n reports cost, and in all rounds, reports of several values by the reference draw, and (where there
is one) the permanent answer of a device. Where answers settle, also what a device's ledger knows of
a value (its tag), the permanent answer of a period, and what reports cost with other fresh noise.
Everything is drawn from keyed streams whose context is the mechanism's name and the number of the
example among its own, so that a further mechanism adds lines, and none changes unless a byte that
clients depend on does.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rumor.kinds.words.code_tables import shipped_code
from rumor.mechanisms import REGISTRY, Mechanism, from_description
from rumor.mechanisms.hadamard import HadamardResponse
from rumor.mechanisms.harmony import Harmony
from rumor.mechanisms.item_sampling import ItemSampling
from rumor.mechanisms.key_set import KeySet
from rumor.mechanisms.keyvalue_block import KeyValueBlock
from rumor.mechanisms.local_hashing import LocalHashing
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.open_words.open_words import OpenWords
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
from rumor.mechanisms.vectors import VectorKeys, mechanism_vector
from rumor.mechanisms.wave.wave import Wave
from rumor.mechanisms.window import Window

SECRET = bytes(range(32))
SERIES, QUESTION, PERIOD = "vectors", "question", "7:2950"
# Examples from this place on came later: they stand last, so that all others keep their numbers.
SINCE = {"privkv": 4, "privkvm": 4, "open-words": 4, "rappor": 4}
# Code, epsilon, bits of a step, weights of levels and cohorts of open words.
OPEN_SHAPES = (
    ("latin", 4.0, 7, (10, 10, 10, 8, 7, 5, 4, 7), 256),
    ("utf-8", 1.0, 8, (3, 2, 1, 1), 64),
    ("url", 8.0, 13, (5, 4, 3, 2), 1000),
)
LABELS = ["well", "so so", "übel", "気分", "no answer"]


def mechanisms() -> dict[str, list[Mechanism]]:
    """By name: small instances of the laws, and larger ones at every turn of a report's width."""
    key = b"collection key"
    first = PrivKVM(keys=["Maps", "Mail", "Chat"], epsilon=3.0, rounds=3, low=0.0, high=6.0)
    second = first.next([1.1, 3.0, 5.9])
    larger: list[Mechanism] = [
        *(RandomizedResponse(domain=d, epsilon=1.5) for d in (5, 256, 257, 65_537)),
        RandomizedResponse(domain=LABELS, epsilon=0.5),
        UnaryEncoding(domain=LABELS, epsilon=1.0, variant="symmetric"),
        UnaryEncoding(domain=500, epsilon=2.0),
        *(SubsetSelection(domain=d, epsilon=e) for d, e in ((7, 1.0), (100, 1.0), (1000, 5.0))),
        SubsetSelection(domain=70_000, epsilon=9.0),
        SubsetSelection(domain=LABELS, epsilon=0.1),
        *(
            HadamardResponse(domain=d, epsilon=e)
            for d, e in ((1000, 1.0), (1000, 5.0), (70_000, 2))
        ),
        HadamardResponse(domain=257, epsilon=3.0, blocks=16),
        *(Projective(domain=d, epsilon=e) for d, e in ((1000, 1.0), (70_000, 4.0), (10**6, 1.0))),
        Projective(domain=2 * 10**6, epsilon=8.0),
        Projective(domain=LABELS, epsilon=2.0, field=7),
        *(LocalHashing(domain=d, epsilon=e) for d, e in ((1000, 1.0), (65_536, 7.0), (10**6, 3.0))),
        Rappor.full(key=key),
        Rappor.one_time(key=key, f=0.25, bits=32, hashes=3, cohorts=1),
        Rappor(bits=256, hashes=1, cohorts=300, f=0, p=0.1, q=0.5, key=b"\x00\xff"),
        Rappor(bits=2, hashes=2, cohorts=2, f=0.5, p=0.25, q=0.5, key=key),
        Rappor(bits=100, hashes=3, cohorts=5, f=0.5, p=0.5, q=0.75, key=key),
        *(
            OpenWords(epsilon=e, code=shipped_code(n), step=b, weights=w, cohorts=k, key=b"key")
            for n, e, b, w, k in OPEN_SHAPES
        ),
        BasicRappor(domain=LABELS, f=0.5, p=0.5, q=0.75),
        BasicRappor(domain=100, f=0.1, p=0, q=1),
        Harmony(low=0.0, high=120.0, epsilon=1.0, outside="clip"),
        Harmony(low=-0.1, high=0.3, epsilon=0.01, steps=12_345),
        Piecewise(low=-273.15, high=1e6, epsilon=3.0),
        Piecewise(low=1.0, high=1.0000001, epsilon=0.5, steps=255),
        Window(low=-273.15, high=1e6, epsilon=3.0),
        Window(low=1.0, high=1.0000001, epsilon=0.5, steps=255),
        Window(low=0.0, high=120.0, epsilon=1.0, outside="clip"),
        Wave(labels=LABELS, epsilon=0.5),
        Wave(low=0, high=110, epsilon=1.0, round_to=[5, 10]),
        Wave(low=-273.15, high=1e6, bins=1000, epsilon=3.0),
        Wave(low=0.1, high=0.7, bins=4096, epsilon=0.1, window=77),
        SetSelect(domain=LABELS, epsilon=1.0, cap=3, size=2, counted="pairs"),
        SetSelect(domain=100, epsilon=1.0, cap=7, size=9),
        SetSelect(domain=300, epsilon=4.0, cap=21, size=5, least=2, over_cap="sample"),
        SetSelect(domain=1000, epsilon=0.5, cap=100, size=60),
        *(SetBlock(domain=20, epsilon=float(b), block=b) for b in (1, 2, 4)),
        SetBlock(domain=1000, epsilon=2.0, block=3),
        SetBlock(domain=LABELS, epsilon=4.0, block=4, counted="pairs"),
        *(KeyValueBlock(keys=20, epsilon=e, low=0.0, high=6.0) for e in (0.5, 2.0, 6.0)),
        KeyValueBlock(keys=["Maps", "Mail", "Chat"], epsilon=4.0, block=2),
        KeyValueBlock(keys=1000, epsilon=2.0, outside="clip"),
        PrivKV(keys=300, epsilon=2.0, split="exact"),
        first,
        second,
        second.next([0.0, 6.0, 3.3]),
        ItemSampling(keys=500, epsilon=3.0, cap=4),
        ItemSampling(keys=["Maps", "Mail", "Chat"], epsilon=1.0, cap=1, over_cap="sample"),
        KeySet(keys=500, epsilon=3.0, cap=4),
        KeySet(keys=["Maps", "Mail", "Chat"], epsilon=1.0, cap=1, over_cap="sample"),
        KeySet(keys=100, epsilon=1.0, cap=3, size=30, over_cap="sample"),
        PckvGrr(keys=500, epsilon=3.0, cap=4),
        PckvGrr(keys=["Maps", "Mail", "Chat"], epsilon=1.0, cap=1, over_cap="sample", steps=3),
        *(Mixed(parts=sizes, epsilon=e) for sizes, e in (((10, 8), 1.0), ((5, 5), 2.0))),
        Mixed(parts=(5, 5, 5, 5), epsilon=1.0),
        Mixed(
            parts=[{"id": "mood", "labels": LABELS}, {"id": "b", "labels": ["no", "ja"]}],
            epsilon=1.0,
        ),
    ]
    found: dict[str, list[Mechanism]] = defaultdict(list)
    small = {mechanism.name: mechanism.examples() for mechanism in REGISTRY}
    first_ones = (one for name, all_ in small.items() for one in all_[: SINCE.get(name)])
    since = (one for name, place in SINCE.items() for one in small[name][place:])
    for one in (*first_ones, *larger, *since):
        found[one.name].append(one)
    return found


def vector(number: int, mechanism: Mechanism) -> dict[str, object]:
    """Everything about one mechanism, the example of this number among its own."""
    question = f"{QUESTION}-{mechanism.name}-{number}"
    context = ("client vector", mechanism.name, number)
    return mechanism_vector(mechanism, VectorKeys(SECRET, SERIES, question, PERIOD, context))


def vectors() -> dict[str, object]:
    """The whole file."""
    found = [vector(n, one) for own in mechanisms().values() for n, one in enumerate(own)]
    for one in found:  # a contract says all there is to say
        assert from_description(one["mechanism"]).width == one["width"]  # type: ignore[arg-type]
    return {"secret": SECRET.hex(), "vectors": found}


def text(document: Mapping[str, Any]) -> str:
    """Return a `document` of vectors as the file has it: a line for each report."""
    lines = []
    for one in json.loads(json.dumps(document))["vectors"]:
        reports = ",\n  ".join(json.dumps(r, ensure_ascii=False) for r in one.pop("reports"))
        head = json.dumps(one, ensure_ascii=False)
        lines.append(f'{head[:-1]}, "reports": [\n  {reports}]}}')
    return f'{{"secret": "{document["secret"]}", "vectors": [\n ' + ",\n ".join(lines) + "\n]}\n"


if __name__ == "__main__":
    sys.stdout.write(text(vectors()))
