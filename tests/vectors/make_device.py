"""A device's whole life that every client must reproduce: tests/vectors/device.json.

    python -m tests.vectors.make_device > tests/vectors/device.json

A secret, contracts of two series one after the other, and what a person answers under them, day by
day: which answers are refused and why, the reports where no chance is left in them (p = 0, q = 1),
and the ledger at the end: every row with its cell, tag, period, permanent answer and exact cost,
and what each series is held to. Tags are of words and choices; how a device writes a number or
pairs before it tags them is its own business, so theirs are left out.
"""

from __future__ import annotations

import datetime
import json
import sqlite3
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from rumor.client.pins import CeilingIncrease
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection
from rumor.contract.relay import Relay
from rumor.core.errors import InputError
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


@dataclass(frozen=True)
class Day:
    """What a person answers on a day, under the contract of this name."""

    contract: str
    day: int
    answers: Mapping[str, object]
    consent: bool | None = None
    max_epsilon: float | None = None


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


def life() -> list[Day]:
    """Answers that repeat, change, come back, are too many, too dear or out of turn."""
    pairs: dict[str, object] = {"apps": {"Maps": 2.5}}
    return [
        Day("first", 20_000, {"mood": "well", "word": "news", "colour": "red", "sleep": 7.5}),
        Day(
            "first", 20_001, {"mood": "well", "word": "cafe\u0301", "week": "well", "colour": "red"}
        ),
        Day("first", 20_002, {"mood": "unwell", "word": "café", "week": "unwell"}),
        Day("strange", 20_003, {"mood": "well"}),
        Day("fresh", 20_003, {"mood": "well", "week": "so so", "word": "news"}),
        Day("other", 20_004, {"mood": "well"}),
        Day("first", 20_004, {"mood": "well"}),
        *(Day("fresh", 20_010 + i, {"mood": "well"}) for i in range(3)),
        Day("fresh", 20_013, {"week": "well", "colour": "blue"}),
        Day("relabelled", 20_014, {"mood": "well", "week": "well", "colour": "red"}),
        Day("relabelled", 20_014, {"mood": "well", "sleep": 7.5}),
        Day("relabelled", 20_015, {"sleep": 7.5}),
        Day("dearer", 20_020, {"mood": "well", "word": "検索"}),
        Day("dearer", 20_020, {"mood": "well", "word": "検索"}, consent=False),
        Day("dearer", 20_021, {"mood": "well", "word": "検索", "week": "well"}, consent=True),
        Day("dearer", 20_022, {"mood": "well"}, max_epsilon=30.0),
        Day("dearer", 20_022, {"mood": "well"}),
        *(Day("unsaid", 20_023, {"mood": mood}, consent=True) for mood in MOOD["labels"]),
        Day("unsaid", 20_024, {"word": "new", "mood": "well"}, consent=True),
        Day("round 2", 20_030, pairs),
        Day("round 1", 20_030, pairs),
        Day("round 3", 20_031, pairs),
        Day("round 2", 20_031, pairs),
        Day("round 3", 20_032, pairs),
        Day("round 3", 20_033, pairs),
        # A revision that hides less is refused, and one that hides more is not.
        *(
            Day(name, 20_040, {"c": "red"})
            for name in ("hidden", "bare", "elsewhere", "few", "more")
        ),
        # One report in a turn: not two, not after the clock went back, not with shorter turns.
        *(
            Day(name, day, {"c": "red"})
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
    with tempfile.TemporaryDirectory() as folder:
        secret = Path(folder) / "secret"
        secret.write_text(f"rumor secret 1\n{SECRET.hex()}\n")
        secret.chmod(0o600)
        steps = [_step(Path(folder), known[day.contract], day) for day in life()]
        return {
            "secret": SECRET.hex(),
            "contracts": {name: contract.contract() for name, contract in known.items()},
            "steps": steps,
            **_ledger(Path(folder) / "ledger.sqlite3"),
        }


def _step(folder: Path, contract: Collection, day: Day) -> dict[str, object]:
    """One day, and what became of it."""
    asked: list[CeilingIncrease] = []

    def consent(change: CeilingIncrease) -> bool:
        asked.append(change)
        return bool(day.consent)

    today = datetime.date(1970, 1, 1) + datetime.timedelta(days=day.day)
    with Respondent(
        folder,
        max_epsilon=day.max_epsilon,
        consent=None if day.consent is None else consent,
        today=lambda: today,
    ) as device:
        before = device.spent
        try:
            made, refused = device.prepare(contract, day.answers), None
        except InputError as problem:
            made, refused = [], str(problem)
            assert device.spent == before
        visible = {e.question: e.report.hex() for e in made if e.question in ("word", "week")}
        return {
            "contract": day.contract,
            "day": day.day,
            "answers": day.answers,
            "consent": day.consent,
            "max_epsilon": day.max_epsilon,
            "refused": refused,
            "asked": [{"spent": c.spent, "before": c.before, "after": c.after} for c in asked],
            "reports": visible,
            "spent": device.spent,
        }


def _ledger(path: Path) -> dict[str, object]:
    """The rows and pins of a device's ledger, as JSON holds them."""
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row
    answers = []
    for row in database.execute("SELECT * FROM answer ORDER BY number"):
        made = database.execute(
            "SELECT mechanism, reports FROM made WHERE answer = ? ORDER BY mechanism",
            (row["number"],),
        )
        shared = row["question"] in ("word", "mood", "week", "colour")
        answers.append(
            {
                **{k: row[k] for k in ("series", "question", "round", "cell", "period", "epsilon")},
                "epoch": row["epoch"].hex(),
                "tag": row["tag"].hex() if shared else None,
                "settled": None if row["settled"] is None else row["settled"].hex(),
                "made": [dict(one) for one in made],
            }
        )
    pins = [_pin(row) for row in database.execute("SELECT * FROM pin ORDER BY series")]
    database.close()
    return {"answers": answers, "pins": pins}


_WAY = ("blind", "relay", "crowd", "issuer", "turn_hours", "groups")


def _pin(row: sqlite3.Row) -> dict[str, object]:
    """A pin, with its way as one thing, which leaves out what there is none of."""
    pin = dict(row)
    way = {name: pin.pop(name) for name in _WAY}
    if pin["inherits"] is None:
        del pin["inherits"]
    told = {name: value for name, value in way.items() if value is not None}
    return {**pin, "way": {**told, "blind": bool(way["blind"])}}


def text() -> str:
    """The file as it is written."""
    return json.dumps(vectors(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
