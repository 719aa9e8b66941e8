"""A device's whole life that every client must reproduce: tests/vectors/device.json.

    python -m tests.vectors.make_device > tests/vectors/device.json

A secret, contracts of two series one after the other, and what a person answers under them, day by
day: which answers are refused and why, the reports where no chance is left in them (p = 0, q = 1),
and the ledger at the end: every row with its cell, tag, period, permanent answer and exact cost,
and what each series is held to. Tags are of words and choices; how a device writes a number or
pairs before it tags them is its own business, so theirs are left out.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rumor.client.vectors import Visit, answer, ledger_rows, open_folder
from rumor.contract.collection import Collection
from rumor.contract.relay import Relay
from rumor.mechanisms import PrivKVM
from rumor.privacy.loss import series_ceiling

SECRET = bytes(range(200, 232))
VISIBLE = {"f": 0.5, "p": 0, "q": 1}
WORD = {"id": "word", "kind": "text", "bits": 32, "hashes": 2, "cohorts": 4, **VISIBLE}
MOOD = {"id": "mood", "kind": "choice", "labels": ["well", "so so", "unwell"]}
WEEK = {**MOOD, "id": "week", "mechanism": {"name": "basic-rappor", **VISIBLE}}
COLOUR = {"id": "colour", "kind": "choice", "labels": ["red", "blue"], "epsilon": 0.1}
SLEEP = {"id": "sleep", "kind": "number", "low": 0, "high": 12, "epsilon": 0.3}
# What a life of published vectors was drawn by, whatever "auto" takes now.
SLEEP["mechanism"] = "harmony"
_KEY = ec.derive_private_key(200, ec.SECP256R1()).public_key()
RELAY: dict[str, object] = {
    "url": "https://relay.example",
    "key": _KEY.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint).hex(),
    "crowd": 100,
    "days": 7,
}
APPS = {"id": "apps", "kind": "keyvalue", "keys": ["Maps", "Mail"], "low": 0, "high": 6}


def on(contract: str, day: int, answers: Mapping[str, object], **more: Any) -> tuple[str, Visit]:
    """Return the name of a `contract`, and what a person answers under it on this `day`."""
    return contract, Visit(day, answers, **more)


def _mood(f: float, p: float, q: float, **more: object) -> dict[str, object]:
    mechanism = {"name": "basic-rappor", "f": f, "p": p, "q": q}
    return {**MOOD, "mechanism": mechanism, "reports_per_person": 40, **more}


def contracts() -> dict[str, Collection]:
    """By name: revisions that change fresh noise, the cell, the price; and rounds of PrivKVM."""
    week = {**WEEK, "memo": "period", "period_days": 7, "reports_per_person": 9}
    word, colour = {**WORD, "reports_per_person": 5}, {**COLOUR, "reports_per_person": 6}
    rest = [word, week, colour, {**SLEEP, "reports_per_person": 2}]

    def make(after: Collection | None, *questions: object, **more: object) -> Collection:
        wish = {"name": "A life", "series": "life", "contact": "x", "questions": questions, **more}
        made = Collection.resolve(wish)
        if after is None:
            return made
        return replace(made, revision=after.revision + 1, previous=after.digest)

    first = make(None, _mood(0.5, 0.5, 0.75), *rest, series_epsilon=20.0)
    fresh = make(first, _mood(0.5, 0.25, 0.75), *rest, series_epsilon=20.0)
    order = ["unwell", "well", "so so"]
    relabelled = make(fresh, _mood(0.5, 0.25, 0.75, labels=order), *rest, series_epsilon=20.0)
    dearer = make(relabelled, _mood(0.1, 0.05, 0.95), *rest, series_epsilon=40.0)
    found = {"first": first, "fresh": fresh, "relabelled": relabelled, "dearer": dearer}
    found["unsaid"] = replace(dearer, revision=5, previous=dearer.digest, series_epsilon=None)
    found["other"] = replace(fresh, name="Another life")
    found["strange"] = replace(fresh, previous="0" * 64)
    pairs = {**APPS, "epsilon": 2.0, "mechanism": {"name": "privkvm", "rounds": 3}}
    found["round 1"] = make(None, pairs, series="rounds")
    for number, means in ((2, [1.5, 3.0]), (3, [0.5, 5.5])):
        before = found[f"round {number - 1}"]
        asked = before.question()
        assert isinstance(asked.mechanism, PrivKVM)
        following = replace(asked, mechanism=asked.mechanism.next(means, parent=before.digest))
        found[f"round {number}"] = replace(
            before,
            questions=(following,),
            revision=number,
            previous=before.digest,
            series_epsilon=series_ceiling(before),
        )
    found["hidden"] = hidden = make(None, {**colour, "id": "c"}, series="hidden", relay=RELAY)
    for name, way in {
        "bare": None,
        "elsewhere": {**RELAY, "url": "https://other.example"},
        "few": {**RELAY, "crowd": 99},
        "more": {**RELAY, "crowd": 101},
    }.items():
        found[name] = make(hidden, {**colour, "id": "c"}, series="hidden", relay=way)
    turns = {"daily": 24, "no turns": None, "hourly": 1, "two days": 48, "five days": 120}
    daily: Collection | None = None
    for name, hours in turns.items():
        relay = RELAY if hours is None else {**RELAY, "turn_hours": hours}
        found[name] = make(daily, {**colour, "id": "c"}, series="turns", relay=relay)
        daily = daily or found[name]
    found["five days"] = replace(found["five days"], revision=3, previous=found["two days"].digest)
    small = Relay(**{**RELAY, "crowd": 6})  # type: ignore[arg-type]
    found["one person's batch"] = replace(hidden, series="small", relay=small)
    return found


def life() -> list[tuple[str, Visit]]:
    """Answers that repeat, change, come back, are too many, too dear or out of turn."""
    pairs: dict[str, object] = {"apps": {"Maps": 2.5}}
    return [
        on("first", 20_000, {"mood": "well", "word": "news", "colour": "red", "sleep": 7.5}),
        on(
            "first", 20_001, {"mood": "well", "word": "cafe\u0301", "week": "well", "colour": "red"}
        ),
        on("first", 20_002, {"mood": "unwell", "word": "café", "week": "unwell"}),
        on("strange", 20_003, {"mood": "well"}),
        on("fresh", 20_003, {"mood": "well", "week": "so so", "word": "news"}),
        on("other", 20_004, {"mood": "well"}),
        on("first", 20_004, {"mood": "well"}),
        *(on("fresh", 20_010 + i, {"mood": "well"}) for i in range(3)),
        on("fresh", 20_013, {"week": "well", "colour": "blue"}),
        on("relabelled", 20_014, {"mood": "well", "week": "well", "colour": "red"}),
        on("relabelled", 20_014, {"mood": "well", "sleep": 7.5}),
        on("relabelled", 20_015, {"sleep": 7.5}),
        on("dearer", 20_020, {"mood": "well", "word": "検索"}),
        on("dearer", 20_020, {"mood": "well", "word": "検索"}, consent=False),
        on("dearer", 20_021, {"mood": "well", "word": "検索", "week": "well"}, consent=True),
        on("dearer", 20_022, {"mood": "well"}, max_epsilon=30.0),
        on("dearer", 20_022, {"mood": "well"}),
        *(on("unsaid", 20_023, {"mood": mood}, consent=True) for mood in MOOD["labels"]),
        on("unsaid", 20_024, {"word": "new", "mood": "well"}, consent=True),
        on("round 2", 20_030, pairs),
        on("round 1", 20_030, pairs),
        on("round 3", 20_031, pairs),
        on("round 2", 20_031, pairs),
        on("round 3", 20_032, pairs),
        on("round 3", 20_033, pairs),
        # A revision that hides less is refused, and one that hides more is not.
        *(
            on(name, 20_040, {"c": "red"})
            for name in ("hidden", "bare", "elsewhere", "few", "more")
        ),
        # One report in a turn: not two, not after the clock went back, not with shorter turns.
        *(
            on(name, day, {"c": "red"})
            for name, day in (
                ("one person's batch", 20_040),
                ("daily", 20_050),
                ("daily", 20_050),
                ("daily", 20_049),
                ("daily", 20_051),
                ("no turns", 20_060),
                ("hourly", 20_060),
                ("two days", 20_051),
                ("two days", 20_052),
                ("two days", 20_053),
                ("five days", 20_054),
                ("five days", 20_055),
            )
        ),
    ]


def vectors() -> dict[str, Any]:
    """The whole file."""
    known = contracts()
    with tempfile.TemporaryDirectory() as place:
        folder = open_folder(Path(place), SECRET)
        steps = [_step(name, answer(folder, known[name], visit)) for name, visit in life()]
        rows = ledger_rows(folder)
        return {
            "secret": SECRET.hex(),
            "contracts": {name: contract.contract() for name, contract in known.items()},
            "steps": steps,
            "answers": [_answer(row) for row in rows["answers"]],
            "pins": rows["pins"],
        }


def _step(contract: str, found: dict[str, Any]) -> dict[str, Any]:
    """One day, with the reports whose fresh noise hides nothing of their permanent answers."""
    reports = found["reports"]
    visible = {id: reports[id] for id in reports if id in ("word", "week")}
    return {"contract": contract, **found, "reports": visible}


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the ledger, with the tags that are the same in every client."""
    shared = row["question"] in ("word", "mood", "week", "colour")
    return {**row, "tag": row["tag"] if shared else None}


def text() -> str:
    """The file as it is written."""
    return json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
