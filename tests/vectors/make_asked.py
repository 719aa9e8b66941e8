"""What devices are asked where it is one of many: tests/vectors/asked.json.

    python -m tests.vectors.make_asked > tests/vectors/asked.json

A few secrets, contracts of one series that ask some of their questions or on one of many days, met
one after the other, and for each what is drawn, what is refused with which words, what it costs.
Every client must draw the same from the same secret, and keep it the same over revisions.
"""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from rumor.client.respondent import Respondent
from rumor.client.vectors import open_folder
from rumor.contract.collection import Collection
from rumor.contract.sampling import SamplingDesign
from rumor.core.errors import InputError
from rumor.privacy.loss import series_ceiling
from tests.vectors.make_device import COLOUR, MOOD

FIRST = datetime.date(1970, 1, 1)
STARTS = datetime.date(2026, 1, 1)
PEOPLE = 6
IDS = ["mood", "colour", "trust", "news", "sleep", "food"]


def secret(person: int) -> bytes:
    """The secret of one of the people."""
    return bytes((17 * person + i) % 256 for i in range(32))


def contracts() -> dict[str, Collection]:
    """By name, in the order in which they are met."""
    coin = {"name": "randomized-response"}
    usual = [{**COLOUR, "id": id, "epsilon": 0.25 * (i + 1)} for i, id in enumerate(IDS[1:])]
    questions = [{**MOOD, "epsilon": 1.0, "mechanism": coin}, *usual]

    def make(ask: SamplingDesign, after: Collection | None, *asked: dict[str, Any]) -> Collection:
        wish = {"name": "Many", "series": "many", "contact": "x", "questions": list(asked)}
        made = replace(Collection.resolve(wish), ask=ask)
        if after is None:
            return made
        return replace(made, revision=after.revision + 1, previous=after.digest)

    one = make(SamplingDesign(1), None, *questions[:4])
    two = make(SamplingDesign(2), one, *questions)
    other = make(SamplingDesign(2), two, *questions[3:])
    days = make(SamplingDesign(None, 30, STARTS), other, *questions[:3])
    both = make(SamplingDesign(1, 7), days, *questions)
    return {"one": one, "two": two, "other": other, "days": days, "both": both}


def vectors() -> dict[str, Any]:
    """The whole file."""
    known = contracts()
    return {
        "contracts": {name: contract.contract() for name, contract in known.items()},
        "ceilings": {name: series_ceiling(contract) for name, contract in known.items()},
        "people": [_life(person, known) for person in range(PEOPLE)],
    }


def _life(person: int, known: dict[str, Collection]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        open_folder(Path(folder), secret(person))
        steps = []
        for number, (name, contract) in enumerate(known.items()):
            day = STARTS + datetime.timedelta(days=5 * person + number)
            with Respondent(folder, today=lambda day=day: day) as device:  # type: ignore[misc]
                asked = device.assignment(contract)
                refused = [_refused(device, contract, q.id) for q in contract.questions]
                steps.append(
                    {
                        "contract": name,
                        "day": (day - FIRST).days,
                        "questions": list(asked.questions),
                        "answers_on": None if asked.day is None else asked.day.isoformat(),
                        "refused": refused,
                        "spent": device.spent,
                    }
                )
        return {"secret": secret(person).hex(), "steps": steps}


def _refused(device: Respondent, contract: Collection, id: str) -> str | None:
    try:
        device.prepare(contract, {id: contract.question(id).labels[0]})  # type: ignore[index]
    except InputError as problem:
        return str(problem)
    return None


def text() -> str:
    """The file as it is written."""
    return json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
