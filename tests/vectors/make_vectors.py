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
from collections.abc import Iterator, Mapping
from typing import Any

from rumor.core.canonical import Json
from rumor.core.randomness import Keyed
from rumor.kinds.words.code_tables import shipped_code
from rumor.mechanisms import REGISTRY, Mechanism, from_description
from rumor.mechanisms.hadamard import HadamardResponse
from rumor.mechanisms.harmony import Harmony
from rumor.mechanisms.item_sampling import ItemSampling
from rumor.mechanisms.key_set import KeySet
from rumor.mechanisms.keyvalue import KeyValueMechanism
from rumor.mechanisms.keyvalue_block import KeyValueBlock
from rumor.mechanisms.local_hashing import LocalHashing
from rumor.mechanisms.mean import MeanMechanism
from rumor.mechanisms.mixed.mixed import Mixed
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.mechanisms.pckv import PckvGrr
from rumor.mechanisms.permanent import PermanentAnswers
from rumor.mechanisms.piecewise import Piecewise
from rumor.mechanisms.privkv import PrivKV, PrivKVM
from rumor.mechanisms.projective.projective import Projective
from rumor.mechanisms.randomized_response import RandomizedResponse
from rumor.mechanisms.rappor.basic import BasicRappor
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.select import SetSelect
from rumor.mechanisms.set_block import SetBlock
from rumor.mechanisms.sets import SetMechanism
from rumor.mechanisms.subset_selection import SubsetSelection
from rumor.mechanisms.unary import UnaryEncoding
from rumor.mechanisms.wave.scale import Steps
from rumor.mechanisms.wave.wave import Wave
from rumor.mechanisms.window import Window

SECRET = bytes(range(32))
SERIES, QUESTION, PERIOD = "vectors", "question", "7:2950"
TURNS = 4
REPORTS = (1, 2, 7, 365)
# Examples from this place on came later: they stand last, so that all others keep their numbers.
SINCE = {"privkv": 4, "privkvm": 4, "open-words": 4, "rappor": 4}
# Fresh noise that a revision might bring, as thresholds of p and q, and numbers of reports.
REVISED = ((0, 2**64), (1, 2**64 - 1), (2**62, 3 * 2**62), (2**63, 2**63 + 1))
TOGETHER = ((1, 1), (2, 3), (7, 10**6))
# Code, epsilon, bits of a step, weights of levels and cohorts of open words.
OPEN_SHAPES = (
    ("latin", 4.0, 7, (10, 10, 10, 8, 7, 5, 4, 7), 256),
    ("utf-8", 1.0, 8, (3, 2, 1, 1), 64),
    ("url", 8.0, 13, (5, 4, 3, 2), 1000),
)
WORDS = ("", "news", "café", "cafe\u0301", "検索", "🙂 two words", "a" * 300)
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


def labels(mechanism: Mechanism) -> Json:
    """What its values, keys or parts are called."""
    return mechanism.parts.to_json() if isinstance(mechanism, Mixed) else mechanism.labels


def values(mechanism: Mechanism) -> Iterator[object]:
    """Values at the ends and in between, as JSON holds them."""
    if isinstance(mechanism, FrequencyOracle):
        last = mechanism.domain - 1
        yield from mechanism.labels or sorted({0, 1, last // 3, last})
    elif isinstance(mechanism, MeanMechanism):
        yield from _points(mechanism.grid.low, mechanism.grid.high)
        if mechanism.grid.outside == "clip":
            yield from (-1e9, 1e300)
    elif isinstance(mechanism, Wave):
        scale = mechanism.scale
        if isinstance(scale, Steps):
            yield from scale.labels or sorted({0, 1, scale.domain - 1})
        else:
            yield from (*_points(float(scale.at(0)), float(scale.at(scale.domain))), -1e9, 1e300)
    elif isinstance(mechanism, SetMechanism):
        options = list(mechanism.labels or range(mechanism.domain))
        yield from (options[:size] for size in sorted({0, 1, mechanism.cap, len(options)} - {1000}))
        yield options[1::2][::-1][:30]
    elif isinstance(mechanism, KeyValueMechanism):
        names = mechanism.labels or [str(key) for key in range(mechanism.keys)]
        grid = mechanism.grid
        points = list(_points(grid.low, grid.high))
        most = getattr(mechanism, "cap", mechanism.keys)
        if getattr(mechanism, "over_cap", "refuse") == "sample":
            most = mechanism.keys
        for held in sorted({0, 1, min(2, most), min(5, most), min(40, most)}):
            chosen = [names[(7 * i + held) % len(names)] for i in range(held)]
            yield {name: points[i % len(points)] for i, name in enumerate(dict.fromkeys(chosen))}
    elif isinstance(mechanism, Mixed):
        cells = mechanism.parts.inputs()
        for at in sorted({0, 1, len(cells) // 3, len(cells) - 1}):
            yield dict(zip(mechanism.parts.keys, cells[at], strict=True))
    else:
        yield from WORDS


def _points(low: float, high: float) -> Iterator[float]:
    span = high - low
    for part in (0.0, 0.1, 1 / 3, 0.5, 0.7 + 1e-9, 1.0):
        yield min(low + span * part, high)


def as_python(mechanism: Mechanism, value: object) -> object:
    """A value as the mechanism takes it: JSON has texts only for keys."""
    if (
        isinstance(value, Mapping)
        and isinstance(mechanism, KeyValueMechanism)
        and labels(mechanism) is None
    ):
        return {int(key): number for key, number in value.items()}
    return value


def vector(number: int, mechanism: Mechanism) -> dict[str, object]:
    """Everything about one mechanism, the example of this number among its own."""
    name, question = mechanism.name, f"{QUESTION}-{mechanism.name}-{number}"
    permanent = Keyed(SECRET, "rumor permanent answer 2", SERIES, question)
    reports = []
    for place, value in enumerate(values(mechanism)):
        given = as_python(mechanism, value)
        for turn in range(TURNS):
            stream = Keyed(SECRET, "client vector", name, number, place, turn)
            reports.append(
                {
                    "value": value,
                    "context": ["client vector", name, number, place, turn],
                    "report": mechanism.report(given, random=stream).hex(),
                    "answer": mechanism.permanence.report_memoised(
                        given, permanent=permanent, random=stream
                    ).hex(),
                }
            )
    once = isinstance(mechanism, PermanentAnswers) and not mechanism.permanence.is_memoised
    counts = REPORTS[:1] if once else REPORTS
    return {
        "mechanism": mechanism.describe(),
        "labels": labels(mechanism),
        "width": mechanism.width,
        "cell": mechanism.permanence.memo_digest,
        "losses": {n: mechanism.epsilon_after(n) for n in counts},
        "in_all": {n: mechanism.epsilon_all_rounds(n) for n in counts},
        "permanent": ["rumor permanent answer 2", SERIES, question],
        **(_settled(mechanism, question, permanent) if mechanism.permanence.is_memoised else {}),
        "reports": reports,
    }


def _settled(mechanism: Mechanism, question: str, person: Keyed) -> dict[str, object]:
    """What a device keeps of permanent answers, and what reports of one cost together."""
    assert isinstance(mechanism, PermanentAnswers)
    answers = []
    for value in values(mechanism):
        own = (SERIES, question, mechanism.memo_digest)
        identity = mechanism.identity(value)
        tag = Keyed(SECRET, "rumor value tag 2", *own, identity)
        noise = Keyed(SECRET, "rumor period answer 1", *own, PERIOD, identity)
        settled = mechanism.draw_permanent(value, person=person, noise=noise)
        answers.append({"value": value, "tag": tag.digest()[:16].hex(), "period": settled.hex()})
    mixed: list[dict[str, object]] = []
    for low, high in REVISED if mechanism.FRESH else ():
        fresh: dict[str, object] = {"low": str(low), "high": str(high)}
        other = from_description({**mechanism.describe(), **fresh})
        for before, since in TOGETHER:
            loss = mechanism.epsilon_composed([(mechanism, before), (other, since)])
            mixed.append({"fresh": fresh, "made": [before, since], "loss": loss})
    return {"period": PERIOD, "settled": answers, "mixed": mixed}


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
