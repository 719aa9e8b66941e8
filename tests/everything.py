"""A collection that asks a question of every kind and by every mechanism of the registries."""

from __future__ import annotations

from rumor.contract.collection import Collection
from rumor.kinds import KINDS
from rumor.mechanisms import BY_NAME

# Mechanisms that need more than their kind's example says, and shapes of answers that it has not.
FURTHER: dict[str, dict[str, object]] = {
    "subset-selection": {"labels": [f"town {i}" for i in range(20)]},
    "local-hashing": {"labels": None, "domain": 500},
    "basic-rappor": {"epsilon": None},
    "paper": {"labels": ["yes", "no"], "epsilon": None},
    "block": {"cap": None},
    "item-sampling": {"cap": 2},
    "key-set": {"cap": 2},
    "pckv-grr": {"cap": 2},
}
OPTIONS: dict[str, dict[str, object]] = {
    "basic-rappor": {"f": 0.9, "p": 0.5, "q": 0.75},
    "paper": {"design": "forced-response", "yes": "1/4", "no": "1/12"},
    "privkvm": {"rounds": 2},
}


def every_mechanism() -> Collection:
    """A question for each kind and for each mechanism, and a control for each shape of answer."""
    questions: list[dict[str, object]] = []
    for kind in KINDS.values():
        asked = {"kind": kind.name, **kind.example().spec, "epsilon": 0.5}
        questions.append({"id": f"kind-{kind.name}", **asked})
        own = len(kind.lineage()) == 1 and "mechanism" in kind.keys
        for name in kind.mechanisms() if own else ():
            mechanism = {"name": name, **OPTIONS.get(name, {})}
            further = {**asked, "mechanism": mechanism, **FURTHER.get(name, {})}
            said = {key: value for key, value in further.items() if value is not None}
            questions.append({"id": f"{kind.name}-{name}", **said})
    made = Collection.resolve(
        {
            "name": "Everything",
            "series": "everything",
            "contact": "nobody@example.org",
            "questions": [{"text": f"{question['id']}?", **question} for question in questions],
        }
    )
    assert {question.kind for question in made.questions} == set(KINDS)
    assert {question.mechanism.name for question in made.questions} == set(BY_NAME)
    return made
