"""Questions of every kind and by every mechanism, each with a crowd that has structure.

The example of each kind and a question for each of its mechanisms follow from the registries, so
what is new there is answered by itself. `FURTHER` adds larger questions and other shapes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rumor.contract.collection import Collection
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.kinds import KINDS
from rumor.kinds.base import Kind
from rumor.mechanisms import Mechanism
from tests.everything import every_mechanism

FEW, SOME, MANY = 40, 2_000, 100_000
GROUPS = ("north", "south", "west")


@dataclass(frozen=True)
class Asked:
    """One question, what its people hold, and the sizes of the crowds that are asked."""

    kind: str
    wish: dict[str, object]
    typed: Sequence[str]
    """Different answers, as people type them."""
    weights: Sequence[float]
    """How frequent each of them is."""
    sizes: Sequence[int] = (SOME,)
    words: Sequence[str] | None = None


def _falling(count: int, power: float = 1.0) -> list[float]:
    return [1 / (i + 1) ** power for i in range(count)]


def _zipf(count: int) -> list[float]:
    """Falling frequencies, of which every seventh value is absent and every fifth is a tie."""
    return [0.0 if i % 7 == 6 else 1 / (i - i % 5 + 1) for i in range(count)]


def _bumps(places: Sequence[float], atoms: dict[int, float], gap: tuple[int, int]) -> list[float]:
    """Two hills over these places, with atoms on some and nobody in a gap."""
    at = np.asarray(places)
    unit = (at - at.min()) / (at.max() - at.min())
    law = np.exp(-(((unit - 0.2) / 0.1) ** 2)) + 0.5 * np.exp(-(((unit - 0.7) / 0.15) ** 2))
    law /= law.sum()
    law[gap[0] : gap[1]] = 0.0
    for place, share in atoms.items():
        law[place] += share
    return [float(share) for share in law]


def _spread(kind: Kind[Any], mechanism: Mechanism) -> tuple[list[str], list[float]]:
    """Answers to a question that a mechanism is tried with: all that the kind's crowd can hold."""
    if kind.name == "choice":
        names = mechanism.labels or range(mechanism.domain)  # type: ignore[attr-defined]
        typed = [str(name) for name in names]
        return typed, _zipf(len(typed))
    typed = list(kind.example().typed_answers)
    return typed, [float(w) for w in range(len(typed), 0, -1)]


_MINUTES = [f"{place + 0.5:g}" for place in range(60)]
_TENS = [0.02 + 0.10 * (place % 10 == 0) + 0.03 * (place % 5 == 0) for place in range(60)]
_STEPS = [3.0 if place < 10 else 1.0 if place < 22 else 0.0 for place in range(30)]
_WORDS = [f"word{place:02}" for place in range(24)]
_OPEN = ("ecosia", "google", "duckduckgo", "bing", "yahoo", "qwant", "startpage", "ask")
_KEYS = ["maps", "chat", "mail", "news", "game"]
_HABITS: dict[str, list[str]] = {
    "smokes": ["yes", "no"],
    "drinks": ["never", "seldom", "often"],
    "sport": ["none", "some", "much", "daily"],
}


def _joint(*names: str) -> dict[str, object]:
    parts = [{"id": name, "labels": _HABITS[name]} for name in names]
    cells = [""]
    for name in names:
        cells = [f"{cell}, {name}={label}" for cell in cells for label in _HABITS[name]]
    typed = [cell[2:] for cell in cells]
    return {"kind": "joint", "wish": {"parts": parts, "epsilon": 2.0}, "typed": typed}


def _ordered(wish: dict[str, object], weights: Sequence[float], *sizes: int) -> Asked:
    """Return numbers from 0 to the number of bins; people stand in the middle of their bins."""
    bins = len(weights)
    range_ = {"low": 0, "high": bins, "bins": bins, "epsilon": 2.0}
    return Asked("ordered", {**range_, **wish}, _MINUTES[:bins], weights, sizes)


_MOODS = ["awful", "bad", "so so", "good", "great", "blissful"]
_TRAVEL = ["bus", "car", "train", "walk", "ship", "plane", "tram", "cab"]
_SETS = ["bus", "bus|car", "train|walk|bus", "none", "car", "ship", "tram|bus", "plane|cab|ship"]
_PAIRS = ["0:1,1:-1", "0:0.5", "2:1,3:0.2,1:-0.6", "none", "7:1", "5:-1,9:0.3", "0:-0.2,11:1"]
_SKEWED = [30, 20, 12, 10, 8, 5, 3, 2]

FURTHER: dict[str, Asked] = {
    "choice-wide": Asked(
        "choice",
        {"domain": 120, "epsilon": 2.0},
        [str(i) for i in range(120)],
        _zipf(120),
        (SOME, MANY),
    ),
    "choice-even": Asked(
        "choice",
        {"domain": 7, "epsilon": 1.0},
        [str(i) for i in range(7)],
        [1.0] * 7,
        (FEW, SOME),
    ),
    "choice-one": Asked(
        "choice",
        {"domain": 16, "epsilon": 3.0},
        [str(i) for i in range(16)],
        [1.0] + [0.0] * 15,
        (FEW, SOME, MANY),
    ),
    "choice-blocks": Asked(
        "choice",
        {"domain": 40, "epsilon": 0.7, "mechanism": {"name": "hadamard", "blocks": 4}},
        [str(i) for i in range(40)],
        _falling(40, 1.5),
        (SOME,),
    ),
    "number-skewed": Asked(
        "number",
        {"low": -10, "high": 30, "epsilon": 1.0},
        ["-10", "-3", "0.5", "12", "30"],
        [5, 3, 1, 1, 0.5],
        (FEW, SOME, MANY),
    ),
    "number-sure": Asked(
        "number",
        {"low": 0, "high": 1, "epsilon": 4.0},
        ["0", "0.25", "1"],
        [8, 1, 1],
        (FEW, SOME),
    ),
    "ordered-labels": Asked(
        "ordered",
        {"labels": _MOODS, "epsilon": 2.0},
        _MOODS,
        [1, 4, 0.5, 6, 2, 0.1],
        (FEW, SOME, MANY),
    ),
    "ordered-bumps": _ordered({}, _bumps(range(60), {15: 0.2, 45: 0.05}, (25, 35)), SOME, MANY),
    "ordered-steps": _ordered({}, _STEPS, FEW, SOME, MANY),
    "ordered-round": _ordered({"round": [5, 10]}, _TENS[:40], SOME, MANY),
    "ordered-faint": _ordered({"epsilon": 0.6}, _bumps(range(30), {0: 0.3}, (20, 30)), FEW, SOME),
    "set-pairs": Asked(
        "set",
        {"labels": _TRAVEL, "pairs": True, "epsilon": 2.0},
        _SETS,
        _SKEWED,
        (FEW, SOME, MANY),
    ),
    "set-capped": Asked(
        "set",
        {"labels": _TRAVEL, "cap": 3, "over_cap": "sample", "epsilon": 1.5},
        _SETS,
        _SKEWED,
        (FEW, SOME),
    ),
    "keyvalue-many": Asked(
        "keyvalue",
        {"keys": 30, "low": -1, "high": 1, "epsilon": 3.0},
        _PAIRS,
        _SKEWED[:7],
        (FEW, SOME, 20_000),
    ),
    "keyvalue-capped": Asked(
        "keyvalue",
        {"keys": 12, "cap": 2, "low": -1, "high": 1, "epsilon": 2.0},
        [text for text in _PAIRS if text.count(":") < 3],
        [9, 6, 1, 3, 2, 1],
        (SOME,),
    ),
    "joint-three": Asked(
        **_joint("smokes", "drinks", "sport"),  # type: ignore[arg-type]
        weights=[(i * 7) % 5 + (i % 3 == 0) * 9 for i in range(24)],
        sizes=(SOME, MANY),
    ),
    "joint-two": Asked(
        **_joint("drinks", "sport"),  # type: ignore[arg-type]
        weights=[5, 1, 1, 0, 2, 6, 1, 1, 0, 1, 2, 9],
        sizes=(FEW, SOME, MANY),
    ),
    "text-listed": Asked(
        "text",
        {"bits": 32, "cohorts": 8, "epsilon": 3.0},
        _WORDS[:12],
        _falling(12),
        (SOME, MANY),
        [*_WORDS, "absent", "nobody"],
    ),
    "text-settled": Asked(
        "text",
        {"bits": 32, "hashes": 2, "cohorts": 4, "f": 0.25},
        _WORDS[:9],
        _falling(9, 1.5),
        (SOME, 20_000),
        _WORDS[:6] + _WORDS[9:],
    ),
    "words-open": Asked(
        "words",
        {"longest": 10, "epsilon": 5.0},
        _OPEN,
        _falling(8),
        (SOME, MANY),
        ("google", "bing", "lycos"),
    ),
}
"""Questions beside those of the registries."""


@functools.cache
def questions() -> dict[str, Asked]:
    """Return all questions by id: examples of kinds, one for each mechanism, and `FURTHER`."""
    found: dict[str, Asked] = {}
    for question in every_mechanism().questions:
        kind = KINDS[question.kind]
        typed, weights = _spread(kind, question.mechanism)
        found[question.id] = Asked(kind.name, {}, typed, weights, (SOME,), kind.example().words)
    return {**found, **FURTHER}


@functools.cache
def mechanism_of(id: str, factor: float = 1.0) -> Any:
    """Return the mechanism of a question, of `factor` times its epsilon where it has one."""
    if id not in FURTHER:
        return every_mechanism().question(id).mechanism
    asked = FURTHER[id]
    wish = dict(asked.wish)
    if "epsilon" in wish:
        wish["epsilon"] = factor * wish["epsilon"]  # type: ignore[operator]
    return collection_of({"id": "asked", "kind": asked.kind, **wish}).question().mechanism


def collection_of(*given: dict[str, object]) -> Collection:
    """Return the collection of these questions, with fixed keys for words."""
    keyed = [
        {"text": "What?", **({"key": "answers"} if "key" in KINDS[str(one["kind"])].keys else {})}
        | one
        for one in given
    ]
    names = {"name": "Answers", "series": "answers", "contact": "nobody@example.org"}
    return Collection.resolve({**names, "questions": keyed})


def kind_of(id: str) -> Kind[Any]:
    """Return the kind of a question."""
    return KINDS[questions()[id].kind]


def held(id: str, people: int, turn: int = 0) -> list[Any]:
    """Return what `people` hold, as the mechanism takes it; `turn` shifts who holds what."""
    asked, mechanism = questions()[id], mechanism_of(id)
    weights = np.roll(np.asarray(asked.weights, dtype=np.float64), turn)
    typed = [kind_of(id).parse_answer(mechanism, text) for text in asked.typed]
    # The largest remainders: no draw decides who is in the crowd.
    exact = weights / weights.sum() * people
    counts = np.floor(exact).astype(int)
    counts[np.argsort(counts - exact, kind="stable")[: people - counts.sum()]] += 1
    return [one for one, count in zip(typed, counts, strict=True) for _ in range(count)]


@functools.cache
def reports_of(
    id: str, people: int, turn: int = 0, make: Callable[[str], Any] = mechanism_of
) -> Reports:
    """Return the reports of such a crowd; `make` gives the mechanism that they report by."""
    mechanism = make(id)
    seed = 1_000 * turn + people
    found: Reports = mechanism.privatize(held(id, people, turn), random=Seeded(seed))
    return found


def looked_for(id: str) -> dict[str, Any]:
    """Return the words that are looked for, where a kind needs some."""
    words = questions()[id].words
    return {} if words is None else {"candidates": list(words)}
