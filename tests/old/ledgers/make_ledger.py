"""Make the folder of a device with a ledger of one version, by the code of that version.

    git archive COMMIT src | tar -x -C /tmp/code
    cd tests/old/ledgers
    PYTHONPATH=/tmp/code/src ../../../.venv/bin/python make_ledger.py 3 v3

The commits are in tests/old/README.md. The code of that commit makes everything here, expected.json
too, so this script uses only names that every commit has. Later versions can do more: invitations
from 2, periods, pins and withdrawal from 3, sampled questions from 4, a relay and blind tokens
from 6, groups from 9.
"""

from __future__ import annotations

import datetime
import gzip
import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rumor import Collection
from rumor.client.client import Client
from rumor.client.respondent import Respondent

try:
    from rumor.core.randomness import Seeded
except ImportError:  # versions 1 and 2
    from rumor.randomness import Seeded  # type: ignore[no-redef,import-not-found]

# Below the ports that tests and systems take by themselves.
COLLECTOR, RELAY, ISSUER = (f"http://127.0.0.1:{port}" for port in (18946, 18947, 18948))
DAY = datetime.date(2026, 11, 16)
_VECTORS = Path(__file__).parent.parent.parent / "vectors" / "blind.json"
_COLOUR = {"kind": "choice", "text": "", "labels": ["red", "green", "blue"], "epsilon": 1.0}
_RAPPOR = {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75}
# A bit for each label: reports that agree in all of them agree for a reason.
_DRINKS = ["tea", "coffee", "milk", *(f"drink {number}" for number in range(37))]
_HABIT = {"kind": "choice", "text": "", "labels": _DRINKS, "mechanism": _RAPPOR}


def contracts(version: int, folder: Path) -> dict[str, Collection]:
    """The collections that this version can answer, by series."""
    wishes: dict[str, dict[str, object]] = {
        "plain": {
            "questions": [
                # Two of its three reports are made here.
                {"id": "colour", **_COLOUR, "reports_per_person": 3},
                {"id": "habit", **_HABIT, "reports_per_person": 4},
            ]
        }
    }
    if version >= 2:
        questions: list[dict[str, object]] = [{"id": "colour", **_COLOUR, "reports_per_person": 2}]
        wishes["invited"] = {"admission": "invited", "questions": questions}
    if version >= 3:
        period = {"reports_per_person": 4, "memo": "period", "period_days": 30}
        wishes["weekly"] = {"questions": [{"id": "habit", **_HABIT, **period}]}
    if version >= 4:
        five = [{"id": f"q{n}", **_COLOUR} for n in range(5)]
        ask = {"questions": 2, "days": 7, "starts": DAY.isoformat()}
        wishes["asked"] = {"ask": ask, "questions": five}
    if version >= 6:
        from rumor.collector.gateway import add_key

        relay = {"url": RELAY, "key": add_key(folder / "gateway.pem"), "crowd": 6, "days": 3650}
        questions = [{"id": "colour", **_COLOUR, "reports_per_person": 2}]
        wishes["relayed"] = {"relay": relay, "questions": questions}
        keys = {"colour": f"{_secret_key().public.modulus:x}"}
        issuer = {"url": ISSUER, "keys": keys}
        wishes["blind"] = {"admission": "blind", "issuer": issuer, "questions": questions}
    if version >= 9:
        groups = {"country": ["DE", "FR", "other"]}
        wishes["grouped"] = {"groups": groups, "questions": questions}
    return {
        series: Collection.resolve(
            {"name": f"Old {series}", "series": series, "contact": "old@example.org", **wish}
        )
        for series, wish in wishes.items()
    }


def _secret_key() -> Any:
    from rumor.core.blind_rsa import SecretKey

    first, second = json.loads(_VECTORS.read_text())["keys"][0]
    return SecretKey(int(first, 16), int(second, 16))


def opened(version: int, folder: Path, day: datetime.date = DAY) -> Any:
    """The device, on a day of ours where the version has a use for it."""
    return Respondent(folder) if version < 3 else Respondent(folder, today=lambda: day)


def answers(version: int, known: Mapping[str, Collection], device: Path, code: str) -> None:
    """Answer everything once or twice; of the plain collection one report has arrived."""
    with opened(version, device) as person:
        arrived = person.prepare(known["plain"], {"habit": "tea"})
        person.acknowledge(arrived)
        person.prepare(known["plain"], {"habit": "tea", "colour": "red"})
        person.prepare(known["plain"], {"habit": "milk", "colour": "blue"})
        if version >= 2:
            person.prepare(known["invited"], {"colour": "green"}, invitation=code)
        if version >= 3:
            for _ in range(2):
                person.prepare(known["weekly"], {"habit": "coffee"})
        if version >= 6:
            person.prepare(known["relayed"], {"colour": "red"})
            shown, tokens = person.enrolment(known["blind"], code)
            person.enrol(known["blind"], shown, tokens, _signed(tokens))
            person.prepare(known["blind"], {"colour": "blue"})
        if version >= 9:
            person.prepare(known["grouped"], {"colour": "red"}, groups={"country": "FR"})
    if version >= 4:
        with opened(version, device) as person:
            asked = person.asked(known["asked"])
        with opened(version, device, asked.day or DAY) as person:
            person.prepare(known["asked"], {asked.questions[0]: "green"})


def _signed(tokens: Any) -> list[bytes]:
    from rumor.core.blind_rsa import blind_sign

    return [blind_sign(_secret_key(), token.blinded) for token in tokens]


def spending(version: int, device: Path) -> dict[str, object]:
    """What everything has cost, by series and question."""
    with opened(version, device) as person:
        rows = [[s.series, s.question, s.reports, s.values, s.epsilon] for s in person.spending()]
        return {"spent": person.spent, "spending": rows}


def _hexadecimal(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value


def one_more(version: int, device: Path, collection: Collection, answer: str) -> dict[str, object]:
    """One more answer of a habit, on a copy of the device: its report, and what all has cost."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(device, Path(folder) / "device"))
        with opened(version, copy) as person:
            (made,) = person.prepare(collection, {"habit": answer}, random=Seeded(1))
        return {"answer": answer, "report": made.report.hex(), **spending(version, copy)}


def expected(
    version: int, known: Mapping[str, Collection], device: Path, code: str
) -> dict[str, object]:
    """What this version itself says of the device, and of the next answers."""
    found: dict[str, object] = {"version": version, "day": DAY.isoformat(), "invitation": code}
    found |= {"collector": COLLECTOR, "digests": {s: c.digest for s, c in known.items()}}
    found |= {"epsilon": {q.id: q.mechanism.epsilon for q in known["plain"].questions}}
    found |= spending(version, device)
    names = ("id", "contract", "question", "report", "token", "relay", "sealed")
    with opened(version, device) as person:
        found["events"] = person.events()
        found["pending"] = [
            {name: _hexadecimal(getattr(envelope, name, None)) for name in names}
            for envelope in person.pending()
        ]
        made = person.made() if version >= 3 else []
        found["made"] = [[m.id.hex(), m.key.hex(), m.contract, m.question, m.number] for m in made]
    # Within a period the first answer stands, whatever is answered later.
    later = {"plain": "tea", **({"weekly": "milk"} if version >= 3 else {})}
    found["after"] = {
        series: one_more(version, device, known[series], answer) for series, answer in later.items()
    }
    if version >= 4:
        with opened(version, device) as person:
            asked = person.asked(known["asked"])
        found["asked"] = {"questions": list(asked.questions), "day": str(asked.day)}
    return found


def main(version: int, folder: Path) -> None:
    """Make the folder anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    device, code = folder / "device", ""
    if version >= 2:
        try:
            from rumor.contract.admission import new_invitation
        except ImportError:
            from rumor.admission import new_invitation  # type: ignore[no-redef,import-not-found]
        code = new_invitation()
    known = contracts(version, folder)
    for series, collection in known.items():
        collection.save(folder / f"{series}.json")
    answers(version, known, device, code)
    # A device remembers the contracts of each collector.
    Client(COLLECTOR, device, known["plain"]).close()
    told = expected(version, known, device, code)
    # Mostly zeros; and nobody opens, and so changes, the original.
    ledger = device / "ledger.sqlite3"
    packed = gzip.compress(ledger.read_bytes(), mtime=0)
    ledger.with_name(f"{ledger.name}.gz").write_bytes(packed)
    ledger.unlink()
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in told.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
