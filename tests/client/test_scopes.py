"""A series name that two collectors use: neither holds the other up, in either language."""

from __future__ import annotations

import datetime
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rumor.client.client import Client
from rumor.client.pins import CeilingIncrease
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.client.test_asked import TO_VERSION_7
from tests.impostor import Heard, Told, impostor, taken
from tests.javascript import parsed, refusals, steps
from tests.relay.tools import PUBLIC

HERE, THERE = "https://city.example", "https://elsewhere.example"
RAPPOR = {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75}
MOOD = {"id": "mood", "kind": "choice", "labels": ["well", "unwell"]}


def contract(contact: str = "city@example.org", reports: int = 1, **more: object) -> Collection:
    """The honest contract of one question, or a stranger's."""
    mood = {**MOOD, "mechanism": RAPPOR, "reports_per_person": reports}
    wish = {"name": "n", "series": "s", "contact": contact, "questions": [mood], **more}
    return Collection.resolve(wish)


def revised(before: Collection, **more: Any) -> Collection:
    return replace(before, revision=before.revision + 1, previous=before.digest, **more)


@dataclass(frozen=True)
class Met:
    """A contract, where it was met, and whether the person agrees to more."""

    contract: Collection
    collector: str
    answer: str = "well"
    consent: bool | None = None
    question: str = "mood"


def python_life(folder: Path, met: Sequence[Met]) -> list[str | None]:
    """Why each answer was refused, with the client in Python."""
    said: list[str | None] = []
    for each in met:

        def consent(change: CeilingIncrease, agrees: bool | None = each.consent) -> bool:
            return bool(agrees)

        ask = None if each.consent is None else consent
        with Respondent(folder, collector=each.collector, consent=ask) as device:
            try:
                device.prepare(each.contract, {each.question: each.answer})
                said.append(None)
            except InputError as problem:
                said.append(str(problem))
            assert device.spent == device._ledger.audit()
    return said


def javascript_life(folder: Path, met: Sequence[Met]) -> list[str | None]:
    """The same with the client for browsers, in Node."""
    return refusals(steps(*browser_steps(met))[2::3])


def browser_steps(met: Sequence[Met]) -> list[dict[str, object]]:
    """Three steps for each answer: the contract is read, the ledger opened, the report made."""
    todo: list[dict[str, object]] = []
    for each in met:
        agrees = {} if each.consent is None else {"consent": each.consent}
        todo += [
            parsed(each.contract, collector=each.collector),
            {"step": "open", **agrees},
            {"step": "prepare", "answers": {each.question: each.answer}},
        ]
    return todo


LIVES = [python_life, javascript_life]
FIRST = contract(series_epsilon=3.0, reports=2)
SECOND = revised(FIRST)
STRANGERS = {
    "another contact": Met(replace(contract("me@bad"), revision=10**6, previous="0" * 64), HERE),
    "another origin": Met(replace(FIRST, revision=10**6, previous="0" * 64), THERE),
    "the same number": Met(contract("me@bad"), THERE),
    "its next revision": Met(revised(FIRST, contact="me@bad"), THERE),
    "its next revision and contact": Met(revised(FIRST, name="Not the city"), THERE),
    "its next but one": Met(replace(SECOND, revision=3, previous=SECOND.digest), THERE),
}


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_a_stranger_of_the_same_name_holds_up_nothing(
    tmp_path: Path, stranger: str, life: Any
) -> None:
    honest = [Met(FIRST, HERE), Met(SECOND, HERE)]
    for place in range(3):
        met = [*honest[:place], STRANGERS[stranger], *honest[place:]]
        said = life(tmp_path / str(place), met)
        said.pop(place)
        assert said == [None, None], (place, said)


@pytest.mark.parametrize("life", LIVES)
def test_what_the_honest_collector_hears_does_not_depend_on_strangers(
    tmp_path: Path, life: Any
) -> None:
    """Of random sequences: each answer is taken or refused as it were without the strangers'."""
    draw = random.Random(40)
    chain = [contract(series_epsilon=4.5, reports=3)]
    for promised in (4.5, 3.5, 9.0, None):
        chain.append(revised(chain[-1], series_epsilon=promised))
    refused = 0
    for number in range(3 if life is javascript_life else 12):
        ours, theirs = [], []
        for _ in range(10):
            place = draw.randrange(len(chain))
            answer, agrees = draw.choice(["well", "unwell"]), draw.choice([None, True, False])
            ours.append(Met(chain[place], HERE, answer, agrees))
            forged = replace(
                chain[place],
                name="Not the city",
                revision=draw.choice([1, 2, 3, 9, 10**6]),
                contact=draw.choice(["me@bad", chain[place].contact]),
                series_epsilon=None,
            )
            forged = replace(
                forged, previous=draw.choice(chain).digest if forged.revision > 1 else None
            )
            theirs.append(Met(forged, THERE, answer, draw.choice([None, True])))
        alone = life(tmp_path / f"{number} alone", ours)
        mixed = [(each, True) for each in ours]
        for each in theirs:
            mixed.insert(draw.randrange(len(mixed) + 1), (each, False))
        said = life(tmp_path / f"{number} mixed", [each for each, _ in mixed])
        found = [one for one, (_, mine) in zip(said, mixed, strict=True) if mine]
        assert found == alone
        refused += sum(one is not None for one in alone)
    assert refused > 5


@pytest.mark.parametrize("life", LIVES)
def test_turns_of_a_stranger_hold_up_nothing(tmp_path: Path, life: Any) -> None:
    """A namesake with turns of a year; a collector that moved is held to its own turns."""
    relay = {"url": "https://relay.example", "key": PUBLIC, "crowd": 100, "days": 3}
    ours = contract(reports=3, relay={**relay, "turn_hours": 1})
    theirs = contract("me@bad", reports=3, relay={**relay, "turn_hours": 8760})
    said = life(tmp_path, [Met(theirs, THERE), Met(ours, HERE), Met(theirs, THERE)])
    assert said[:2] == [None, None]
    assert "takes one report of a person every 8760 hours" in str(said[2])
    long = contract(reports=3, relay={**relay, "turn_hours": 8760})
    said = life(tmp_path / "moved", [Met(long, HERE), Met(revised(long), THERE)])
    assert "takes one report of a person every 8760 hours" in str(said[1])


def test_what_one_row_costs_stays_one_sum(tmp_path: Path) -> None:
    """Both collectors have a report of one permanent answer: together they cost what two cost."""
    first, other = contract(reports=2), contract("me@bad", reports=2)
    mechanism = first.question().mechanism
    with Respondent(tmp_path, collector=HERE) as here, Respondent(tmp_path, collector=THERE) as far:
        here.prepare(first, {"mood": "well"})
        far.prepare(other, {"mood": "well"})
        together = mechanism.epsilon_after(2)
        assert here.spent == far.spent == together
        assert together != 2 * mechanism.epsilon
        (row,) = here.spending()
        assert (row.reports, row.values) == (2, 1)
    with (
        Respondent(tmp_path, collector=HERE, max_epsilon=together) as device,
        pytest.raises(InputError, match="a device may spend at most"),
    ):
        # The device's own limit counts both.
        device.prepare(first, {"mood": "well"})
    # Nobody has used up what the other may ask.
    assert python_life(tmp_path, [Met(first, HERE), Met(other, THERE)]) == [None, None]
    for each in (Met(first, HERE), Met(other, THERE)):
        (said,) = python_life(tmp_path, [each])
        assert "takes at most 2 reports of a person; got 2 already" in str(said)


@pytest.mark.parametrize("life", LIVES)
def test_a_collector_that_moves_may_not_cost_more(tmp_path: Path, life: Any) -> None:
    """A revision from elsewhere may be its own: what it costs counts on, and more is asked for."""
    first = contract(series_epsilon=2.0, reports=9)
    moved = revised(first)
    dearer = revised(moved, series_epsilon=9.0)
    met = [Met(first, HERE), Met(moved, THERE), Met(moved, THERE, "unwell")]
    met += [Met(dearer, THERE, "unwell", agrees) for agrees in (None, False, True)]
    met += [Met(first, HERE), Met(first, HERE, "unwell")]
    said = life(tmp_path, met)
    assert (said[:2], said[5:7]) == ([None, None], [None, None])
    assert "cost at most epsilon 2, as was agreed at its first answer" in str(said[2])
    assert all("needs your consent" in str(one) for one in said[3:5])
    # What the moved one was allowed the other one is not.
    assert "cost at most epsilon 2, as was agreed" in str(said[7])
    few = contract()
    said = life(tmp_path / "few", [Met(few, HERE), Met(revised(few), THERE)])
    assert "takes at most 1 report of a person; got 1 already" in str(said[1])


@pytest.mark.parametrize("life", LIVES)
def test_a_collector_that_moves_with_its_contract_is_held_to_its_pin(
    tmp_path: Path, life: Any
) -> None:
    """The very contract at a new address, and then a revision there after one that was missed."""
    third = replace(FIRST, revision=3, previous=SECOND.digest, series_epsilon=None)
    met = [Met(FIRST, HERE), Met(FIRST, THERE), Met(third, THERE), Met(FIRST, THERE)]
    said = life(tmp_path, met)
    assert said[:2] == [None, None]
    assert "takes at most 2 reports of a person; got 2 already" in str(said[2])
    # A revision from the old address that names the pinned contract goes on under the pin.
    said = life(tmp_path / "back", [*met[:2], Met(SECOND, HERE)])
    assert "takes at most 2 reports of a person; got 2 already" in str(said[2])
    # Whoever serves a copy may not weaken what was promised afterwards.
    few = contract(series_epsilon=2.0, reports=9)
    dearer = replace(few, revision=9, previous=SECOND.digest, series_epsilon=9.0)
    later = [Met(dearer, THERE, "unwell", agrees) for agrees in (None, False)]
    said = life(tmp_path / "copy", [Met(few, HERE), Met(few, THERE), *later])
    assert all("needs your consent" in str(one) for one in said[2:]), said


@pytest.mark.parametrize("life", LIVES)
def test_an_address_without_an_origin_moves_no_pin(tmp_path: Path, life: Any) -> None:
    """An application that does not say where a contract comes from."""
    third = replace(FIRST, revision=3, previous=SECOND.digest)
    said = life(tmp_path, [Met(FIRST, HERE), Met(FIRST, ""), Met(third, HERE)])
    assert "takes at most 2 reports of a person; got 2 already" in str(said[2])
    free = contract("me@bad", reports=2)
    said = life(tmp_path / "free", [Met(FIRST, HERE), Met(FIRST, ""), Met(free, THERE)])
    assert said == [None] * 3


@pytest.mark.parametrize("kept", [HERE, "https://City.example:443", "HTTPS://city.example"])
def test_one_address_is_one_collector_however_it_is_typed(tmp_path: Path, kept: str) -> None:
    third = replace(FIRST, revision=3, previous=SECOND.digest)
    met = [Met(FIRST, kept), Met(FIRST, kept), Met(third, "https://CITY.example/collector/")]
    assert "got 2 already" in str(python_life(tmp_path, met)[2])
    # As a ledger from before kept it.
    python_life(tmp_path / "older", met[:2])
    with closing(sqlite3.connect(tmp_path / "older" / "ledger.sqlite3")) as database:
        database.execute("UPDATE pin SET collector = ?", (kept,))
        database.commit()
    assert "got 2 already" in str(python_life(tmp_path / "older", met[2:])[0])


@pytest.mark.parametrize("life", LIVES)
def test_a_collector_may_name_another_contact(tmp_path: Path, life: Any) -> None:
    renamed = revised(FIRST, contact="new@example.org")
    later = [Met(replace(renamed, revision=9), HERE), Met(FIRST, HERE)]
    said = life(tmp_path, [Met(FIRST, HERE), Met(renamed, HERE), *later])
    assert said[:2] == [None, None]
    assert "takes at most 2 reports of a person" in str(said[2])


RELAY = {"url": "https://relay.example", "key": PUBLIC, "crowd": 100, "days": 3}
YEARLY = {**RELAY, "turn_hours": 8760}
NEARLY_HERE = HERE.replace("https", "http")


def two_questions(reports: int, **more: Any) -> Collection:
    """A contract of the questions `mood` and `other`."""
    mood = {**MOOD, "mechanism": RAPPOR, "reports_per_person": reports}
    return contract(questions=[mood, {**mood, "id": "other"}], **more)


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("relay", [None, YEARLY])
def test_a_contract_belongs_to_the_collector_that_was_answered_with_it(
    tmp_path: Path, life: Any, relay: object
) -> None:
    """Also when its pin has moved on: from another address it is as old as from its own."""
    first = two_questions(2, relay=relay)
    met = [Met(first, HERE), Met(revised(first), HERE, question="other")]
    met += [Met(first, place) for place in (HERE, NEARLY_HERE, THERE)]
    said = life(tmp_path, met)
    assert said[:2] == [None, None]
    rule = "must not go back to an older contract" if relay is None else "every 8760 hours"
    # Both are true of a contract with turns; a browser looks at the pin first.
    assert all(rule in str(one) or "must not go back" in str(one) for one in said[2:]), said


@pytest.mark.parametrize("life", LIVES)
def test_no_contract_has_more_reports_than_it_asks_for_wherever_it_is_met(
    tmp_path: Path, life: Any
) -> None:
    """Of random lives among revisions, forks and addresses, by each contract and question."""
    draw = random.Random(41)
    made = refused = 0
    for number in range(3 if life is javascript_life else 15):
        relay = draw.choice([None, YEARLY])
        known = [two_questions(2, relay=relay)]
        for i in range(5):
            before = draw.choice(known)
            more: dict[str, Any] = {"name": f"n{i}", "contact": draw.choice(["x", before.contact])}
            known.append(draw.choice([revised(before, **more), replace(before, **more)]))
        met = [
            Met(
                draw.choice(known),
                draw.choice([HERE, NEARLY_HERE, THERE, ""]),
                draw.choice(["well", "unwell"]),
                draw.choice([None, True]),
                draw.choice(["mood", "other"]),
            )
            for _ in range(40)
        ]
        said = life(tmp_path / str(number), met)
        taken = Counter(
            (each.contract.digest, each.question)
            for each, one in zip(met, said, strict=True)
            if one is None
        )
        assert max(taken.values()) <= (2 if relay is None else 1)
        made, refused = made + taken.total(), refused + len(met) - taken.total()
    assert made > 15
    assert refused > 15


def older(folder: Path) -> None:
    """Take a device's ledger back to version 7."""
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as database:
        database.executescript(f"{TO_VERSION_7} PRAGMA user_version = 7")


def test_an_older_ledger_goes_on_with_whoever_names_its_contract(tmp_path: Path) -> None:
    for name, stranger in STRANGERS.items():
        if stranger.contract.previous == FIRST.digest:
            continue  # whoever names it first is taken for its collector
        folder = tmp_path / name
        assert python_life(folder, [Met(FIRST, HERE)]) == [None]
        older(folder)
        said = python_life(folder, [stranger, Met(SECOND, HERE), Met(FIRST, HERE)])
        assert said[1] is None
        assert "must not go back" in str(said[2])


def test_what_an_older_ledger_charged_counts_for_a_contract_that_it_cannot_place(
    tmp_path: Path,
) -> None:
    """A device that missed a revision: it may still be the same collector."""
    third = replace(FIRST, revision=3, previous=SECOND.digest)
    assert python_life(tmp_path, [Met(FIRST, HERE), Met(FIRST, HERE)]) == [None, None]
    older(tmp_path)
    (said,) = python_life(tmp_path, [Met(third, HERE)])
    assert "takes at most 2 reports of a person; got 2 already" in str(said)


def python_upgrade(folder: Path, met: Sequence[Met]) -> list[str | None]:
    """Why each answer was refused, where the first one was given to version 7."""
    said = python_life(folder, met[:1])
    older(folder)
    return said + python_life(folder, met[1:])


def javascript_upgrade(folder: Path, met: Sequence[Met]) -> list[str | None]:
    """The same with the client for browsers, in Node."""
    *said, kept = steps(*browser_steps(met[:1]), {"step": "state"})
    for pin in kept["pins"]:
        del pin["collector"], pin["contact"]
    kept.pop("answered", None)
    todo = browser_steps(met[1:])
    todo[1]["state"] = kept
    return refusals([said[2], *steps(*todo)[2::3]])


@pytest.mark.parametrize("life", [python_upgrade, javascript_upgrade])
def test_an_older_pin_holds_a_contract_that_it_cannot_place(tmp_path: Path, life: Any) -> None:
    """A device that missed a revision, and its upgrade: ceiling, relay and consent hold."""
    first = contract(reports=9, series_epsilon=2.0, relay=RELAY)
    third = replace(first, revision=3, previous="0" * 64, series_epsilon=None)
    away = {"no relay": replace(third, relay=None)}
    assert third.relay is not None
    away["another"] = replace(third, relay=replace(third.relay, url="https://other.example"))
    for name, each in away.items():
        for place in (HERE, THERE):
            said = life(tmp_path / name / place[8:], [Met(first, HERE), Met(each, place)])
            assert "a revision must not weaken sender anonymity" in str(said[1])
    met = [Met(first, HERE), Met(third, HERE)]
    met += [Met(third, HERE, "unwell", agrees) for agrees in (None, False, True)]
    said = life(tmp_path / "dear", [*met, Met(revised(first), HERE), Met(first, HERE)])
    assert said[:2] == [None, None]
    assert all("needs your consent" in str(one) for one in said[2:4])
    # What was agreed to stays so, and the older pin is still its collector's.
    assert said[4:6] == [None, None]
    assert "must not go back" in str(said[6])
    for other in (replace(first, name="Another"), replace(first, revision=2, previous="0" * 64)):
        said = life(tmp_path / f"{other.revision}", [Met(first, HERE), Met(other, THERE)])
        assert "a revision must name" in str(said[1]) or "one contract of each" in str(said[1])


def test_an_upgrade_knows_the_contracts_of_its_pins(tmp_path: Path) -> None:
    """Both the one that was answered last and the one that the person agreed with."""
    assert python_life(tmp_path, [Met(FIRST, HERE), Met(SECOND, HERE)]) == [None, None]
    older(tmp_path)
    third = revised(SECOND)
    assert "got 2 already" in str(python_life(tmp_path, [Met(third, HERE)])[0])
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as database:
        rows = database.execute("SELECT contract, scope FROM answered").fetchall()
    assert sorted(rows) == sorted([(FIRST.digest, "s"), (SECOND.digest, "s")])


def test_a_pin_that_an_older_program_moved_is_known(tmp_path: Path) -> None:
    """A program of version 7 that is still open writes pins, and nothing else that is new."""
    first = contract(reports=9)
    second = revised(first)
    assert python_life(tmp_path, [Met(first, HERE)]) == [None]
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as database, database:
        database.execute("UPDATE pin SET revision = 2, contract = ?", (second.digest,))
    said = python_life(tmp_path, [Met(revised(second), HERE), Met(second, THERE)])
    assert said[0] is None
    assert "must not go back to an older contract" in str(said[1])


def test_a_browsers_older_state_goes_on(tmp_path: Path) -> None:
    """A pin without a collector, as a page of before kept it; and such a page reads a new one."""
    skipped = replace(FIRST, revision=3, previous=SECOND.digest)
    kept = steps(
        parsed(FIRST, collector=HERE),
        {"step": "open"},
        {"step": "prepare", "answers": {"mood": "well"}},
        {"step": "prepare", "answers": {"mood": "well"}},
        {"step": "state"},
    )[-1]
    (pin,) = kept["pins"]
    assert (pin.pop("collector"), pin.pop("contact")) == (HERE, FIRST.contact)
    assert "shares" not in kept["answers"][0]
    found = steps(
        parsed(STRANGERS["another contact"].contract, collector=THERE, **{"as": "stranger"}),
        parsed(SECOND, collector=HERE, **{"as": "second"}),
        parsed(skipped, collector=HERE, **{"as": "third"}),
        {"step": "open", "state": kept},
        {"step": "prepare", "of": "third", "answers": {"mood": "well"}},
        {"step": "prepare", "of": "stranger", "answers": {"mood": "well"}},
        {"step": "prepare", "of": "second", "answers": {"mood": "well"}},
        {"step": "state"},
    )
    said = refusals(found[4:7])
    assert ["got 2 already" in str(one) for one in said] == [True, True, True]
    assert found[-1]["pins"] == kept["pins"]


def test_a_browser_sends_what_waits_to_its_own_collector() -> None:
    other = STRANGERS["another contact"].contract
    answers = {"step": "prepare", "answers": {"mood": "well"}}
    away = "http://127.0.0.1:9"
    found = steps(
        parsed(FIRST, collector=HERE),
        parsed(other, collector=THERE, **{"as": "stranger"}),
        {"step": "open"},
        answers,
        {**answers, "of": "stranger"},
        {"step": "send", "url": away, "attempts": 1},
        {"step": "send", "url": away, "attempts": 1, "of": "stranger"},
        {"step": "standing"},
        {"step": "standing", "of": "stranger"},
    )
    assert [each["pending"] for each in found[5:7]] == [1, 1]
    one = FIRST.question().mechanism.epsilon
    assert [each["spent"] for each in found[7:]] == [one, one]


def test_a_strangers_day_is_not_the_day_of_the_series(tmp_path: Path) -> None:
    """Who answered a stranger on one day answers the honest collection on the day it drew."""
    start = datetime.date(2026, 1, 1)
    ask = {"days": 30, "starts": start}
    honest, stranger = contract(ask=ask), contract("me@bad", ask={"days": 2, "starts": start})

    def drawn(folder: Path, collector: str, of: Collection, today: datetime.date) -> Any:
        with Respondent(folder, collector=collector, today=lambda: today) as device:
            return device.assignment(of).day

    def answered(folder: Path, collector: str, of: Collection) -> None:
        day = drawn(folder, collector, of, start)
        with Respondent(folder, collector=collector, today=lambda: day) as device:
            device.prepare(of, {"mood": "well"})

    for number in range(12):
        folder = tmp_path / str(number)
        free = drawn(folder, HERE, honest, start)
        answered(folder, THERE, stranger)
        assert drawn(folder, HERE, honest, start) == free
        # Of a device that never opened the honest one before, too.
        other = tmp_path / f"{number} other"
        other.mkdir(mode=0o700)
        (other / "secret").write_bytes((folder / "secret").read_bytes())
        (other / "secret").chmod(0o600)
        answered(other, THERE, stranger)
        assert drawn(other, HERE, honest, start) == free
        answered(folder, HERE, honest)


def test_names_of_scopes_are_no_names_of_series(tmp_path: Path) -> None:
    """A series has no spaces, so that no stranger's scope is another series' first one."""
    met = [Met(contract(), HERE), Met(contract("x"), THERE), Met(contract("x y"), THERE)]
    assert python_life(tmp_path, met) == [None] * 3
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as database:
        names = [name for (name,) in database.execute("SELECT series FROM pin ORDER BY series")]
    assert names == ["s", f"s {THERE} x", f"s {THERE} x y"]


def serving(*contracts: Collection) -> Callable[[Heard], Told]:
    """A collector that serves one contract after the other, and takes what it is sent."""
    left = list(contracts)

    def answer(heard: Heard) -> Told:
        if heard.method == "POST":
            return taken(heard)
        one = left.pop(0)
        return 200, {"contract": one.contract(), "digest": one.digest, "open": True}, {}

    return answer


def test_clients_tell_collectors_apart_by_their_address(tmp_path: Path) -> None:
    """Over HTTP, with the same contact: neither client has to be told who is who."""
    forged = STRANGERS["another origin"].contract
    assert (forged.contact, forged.revision) == (FIRST.contact, 10**6)
    with impostor(serving(FIRST, SECOND)) as city, impostor(serving(forged)) as stranger:
        for url in (city.url, stranger.url, city.url):
            with Client(url, tmp_path, attempts=1) as client:
                assert client.answer({"mood": "well"}).sent == 1
        assert len([each for each in stranger.heard if each.method == "POST"]) == 1
    with impostor(serving(FIRST, SECOND)) as city, impostor(serving(forged)) as stranger:
        todo: list[dict[str, object]] = [{"step": "open"}]
        for url in (city.url, stranger.url, city.url):
            todo += [
                {"step": "fetch", "url": f"{url}/v1/collection"},
                {"step": "prepare", "answers": {"mood": "well"}},
                {"step": "send", "url": url},
            ]
        found = steps(*todo)
        assert [each["accepted"] for each in found[3::3]] == [1, 1, 1]
