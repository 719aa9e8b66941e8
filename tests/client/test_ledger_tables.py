"""What a device writes down, column by column, after each thing that it does.

Two questions, two collectors of one name, two collections, two days, two turns: each row must be
where it belongs and say what was done. A refusal leaves every table as it was, whatever the limit
and however near it is: what reaches a limit exactly passes, and the next one does not.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.client import tables as ledger_tables
from rumor.client.ledger import PendingReport
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.contract.deletion import report_id
from rumor.contract.issuing import credential_digest, key_name
from rumor.core.blind_rsa import blind_sign
from rumor.core.errors import InputError
from rumor.privacy.loss import series_ceiling
from tests.issuers import KEYS, blind_collection
from tests.relay.tools import relayed

DAY = datetime.date(2026, 3, 2)
HERE, THERE = "https://here.example", "https://there.example"
Rows = list[dict[str, Any]]
Tables = dict[str, Rows]


def tables(folder: Path) -> Tables:
    """Everything in a ledger, by table and column."""
    database = sqlite3.connect(folder / "ledger.sqlite3")
    database.row_factory = sqlite3.Row
    names = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    found = {
        name: [dict(row) for row in database.execute(f"SELECT * FROM {name}")]
        for (name,) in names.fetchall()
    }
    database.close()
    return found


def asked(
    *, series: str = "series", contact: str = "somebody", repeated: int = 4, **more: Any
) -> Collection:
    """A question whose noise is drawn once, one whose noise is fresh, and one of periods."""
    limits = {"reports_per_person": repeated, "retention_days": 30}
    labels = ["red", "green", "blue"]
    return Collection.resolve(
        {
            "name": "A test", "series": series, "contact": contact,
            "questions": [
                {"id": "page", "kind": "choice", "labels": labels, **limits,
                 "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75}},
                {"id": "mood", "kind": "choice", "labels": labels, "epsilon": 1.0,
                 "mechanism": "randomized-response", "reports_per_person": repeated},
                {"id": "week", "kind": "choice", "labels": labels, **limits,
                 "memo": "period", "period_days": 7,
                 "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.25, "q": 0.75}},
            ],
            **more,
        }
    )  # fmt: skip


class Clock:
    """The day and the hour of a device."""

    def __init__(self) -> None:
        self.now = datetime.datetime.combine(DAY, datetime.time(), datetime.UTC)

    def __call__(self) -> datetime.datetime:
        return self.now

    def on(self, days: float) -> None:
        self.now += datetime.timedelta(days=days)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """One clock for devices, and for the keys that they keep of what they sent."""
    found = Clock()

    class Datetime(datetime.datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime.datetime:  # type: ignore[override]
            return found.now

    fake = type("fake", (), {**vars(datetime), "datetime": Datetime})
    monkeypatch.setattr(ledger_tables, "datetime", fake)
    return found


@pytest.fixture
def device(tmp_path: Path, time: Clock) -> Iterator[Callable[..., rumor.Respondent]]:
    """What opens the one device that there is, as met at an address."""
    opened: list[rumor.Respondent] = []

    def made(collector: str = HERE, **more: Any) -> rumor.Respondent:
        opened.append(rumor.Respondent(tmp_path, now=time, collector=collector, **more))
        return opened[-1]

    yield made
    for one in opened:
        one.close()


def mechanism_digest(contract: Collection, question: str) -> str:
    return hashlib.sha256(contract.question(question).mechanism.description).hexdigest()


def check_sums(device: rumor.Respondent, found: Tables) -> None:
    """The sums that a device tells are those of its rows, and of the mechanisms it recorded."""
    losses = [row["epsilon"] for row in found["answer"]]
    assert device.spent == pytest.approx(math.fsum(losses), abs=1e-12)
    assert device.spent >= math.fsum(losses)
    assert device._ledger.audit() == device.spent
    told = {(one.series, one.question): one for one in device.spending()}
    for (series, question), one in told.items():
        mine = [
            row for row in found["answer"] if (row["series"], row["question"]) == (series, question)
        ]
        numbers = {row["number"] for row in mine}
        assert one.reports == sum(r["reports"] for r in found["made"] if r["answer"] in numbers)
        assert one.values == len({(row["period"], row["tag"]) for row in mine})
        assert one.epsilon == pytest.approx(math.fsum(row["epsilon"] for row in mine), abs=1e-12)
    assert {(row["series"], row["question"]) for row in found["answer"]} == set(told)


def test_a_first_answer_fills_every_table(tmp_path: Path, device: Callable[..., Any]) -> None:
    contract = asked()
    here = device()
    before = tables(tmp_path)
    assert [(row["number"], row["what"]) for row in before["event"]] == [(1, "secret made")]
    (page, mood) = here.prepare(contract, {"page": "red", "mood": "green"})
    found = tables(tmp_path)
    epoch = before["event"][0]["epoch"]
    expected = {
        "page": (contract.question("page").mechanism, found["answer"][0]["tag"]),
        "mood": (contract.question("mood").mechanism, b""),
    }
    assert found["answer"] == [
        {
            "number": number, "series": "series", "question": id, "round": 1,
            "cell": mechanism.permanence.memo_digest,
            "epoch": epoch, "period": "", "tag": tag, "settled": None,
            "epsilon": mechanism.permanence.epsilon_composed([(mechanism, 1)]),
        }
        for number, (id, (mechanism, tag)) in enumerate(expected.items(), 1)
    ]  # fmt: skip
    assert len(found["answer"][0]["tag"]) == 16
    assert found["made"] == [
        {"answer": 1, "mechanism": mechanism_digest(contract, "page"), "reports": 1},
        {"answer": 2, "mechanism": mechanism_digest(contract, "mood"), "reports": 1},
    ]
    assert found["mechanism"] == sorted(
        (
            {
                "digest": mechanism_digest(contract, id),
                "description": contract.question(id).mechanism.description.decode(),
            }
            for id in ("page", "mood")
        ),
        key=lambda row: row["digest"],
    )
    assert found["pending"] == [
        {
            "id": one.id, "contract": contract.digest, "question": id, "report": one.report,
            "token": None, "relay": None, "sealed": None, "turn": None, "expires": None,
            "stratum": None,
        }
        for id, one in (("page", page), ("mood", mood))
    ]  # fmt: skip
    keys = {row["id"]: row.pop("key") for row in found["sent"]}
    assert all(report_id(key) == id for id, key in keys.items())
    assert found["sent"] == sorted(
        (
            {"id": one.id, "contract": contract.digest, "question": id, "number": 0,
             "retention": retention, "until": None}
            for id, one, retention in (("page", page, 30), ("mood", mood, None))
        ),
        key=lambda row: row["id"],
    )  # fmt: skip
    assert found["pin"] == [
        {
            "series": "series", "revision": 1, "contract": contract.digest,
            "ceiling": pinned(contract), "agreed": contract.digest, "blind": 0, "relay": None,
            "crowd": None, "issuer": None, "turn_hours": None, "groups": None, "collector": HERE,
            "contact": "somebody", "inherits": None,
        }
    ]  # fmt: skip
    assert found["answered"] == [{"contract": contract.digest, "scope": "series"}]
    assert found["event"] == before["event"]
    for empty in ("share", "drawn", "drawn_day", "token", "token_scope", "sent_token", "turn"):
        assert found[empty] == [], empty
    check_sums(here, found)


def pinned(contract: Collection) -> float:
    """What a series of this contract may cost at most."""
    return series_ceiling(contract, [question.id for question in contract.questions])


def test_each_value_has_a_row_and_fresh_noise_has_one(
    tmp_path: Path, device: Callable[..., Any]
) -> None:
    contract, here = asked(), device()
    mechanism = contract.question("page").mechanism
    for page, mood in (("red", "red"), ("green", "red"), ("red", "blue")):
        here.prepare(contract, {"page": page, "mood": mood})
    found = tables(tmp_path)
    pages = [row for row in found["answer"] if row["question"] == "page"]
    (feeling,) = [row for row in found["answer"] if row["question"] == "mood"]
    made = {(row["answer"]): row["reports"] for row in found["made"]}
    assert [made[row["number"]] for row in pages] == [2, 1]
    assert [row["epsilon"] for row in pages] == [
        mechanism.permanence.epsilon_composed([(mechanism, 2)]),
        mechanism.permanence.epsilon_composed([(mechanism, 1)]),
    ]
    assert len({row["tag"] for row in pages}) == 2
    assert (made[feeling["number"]], feeling["tag"]) == (3, b"")
    assert feeling["epsilon"] == pytest.approx(3.0)
    assert len(found["pending"]) == len(found["sent"]) == 6
    # The number of a person's report to its question, whichever value it was of.
    numbers = [row["number"] for row in found["sent"] if row["question"] == "page"]
    assert sorted(numbers) == [0, 1, 2]
    check_sums(here, found)


def test_periods_of_days_have_rows_of_their_own(
    tmp_path: Path, time: Clock, device: Callable[..., Any]
) -> None:
    contract, here = asked(), device()
    number = (DAY - datetime.date(1970, 1, 1)).days
    to_next = 7 - number % 7
    for value in ("red", "green"):
        here.prepare(contract, {"week": value})
    time.on(to_next - 1e-6)  # the last moment of the period
    here.prepare(contract, {"week": "red"})
    time.on(1e-6)
    here.prepare(contract, {"week": "red"})
    rows = tables(tmp_path)["answer"]
    first = number // 7
    assert [(row["period"], row["tag"]) for row in rows] == [
        (f"7:{first}", b""),
        (f"7:{first + 1}", b""),
    ]
    assert all(isinstance(row["settled"], bytes) and row["settled"] for row in rows)
    assert [row["reports"] for row in tables(tmp_path)["made"]] == [3, 1]
    check_sums(here, tables(tmp_path))


def test_two_collectors_of_one_name_are_counted_apart(
    tmp_path: Path, device: Callable[..., Any]
) -> None:
    one, two = asked(repeated=2), asked(repeated=2, contact="another")
    scope = f"series {THERE} another"
    here, there = device(), device(THERE)
    here.prepare(one, {"page": "red", "mood": "red"})
    there.prepare(two, {"page": "red", "mood": "green"})
    here.prepare(one, {"page": "red"})
    there.prepare(two, {"mood": "red"})
    found = tables(tmp_path)
    # One row for each permanent answer, whoever has its reports.
    assert [row["question"] for row in found["answer"]] == ["page", "mood"]
    assert [row["reports"] for row in found["made"]] == [3, 3]
    assert found["share"] == [
        {"answer": 1, "scope": scope, "mechanism": mechanism_digest(two, "page"), "reports": 1},
        {"answer": 2, "scope": scope, "mechanism": mechanism_digest(two, "mood"), "reports": 2},
    ]
    assert {
        row["series"]: (row["contract"], row["collector"], row["contact"]) for row in found["pin"]
    } == {
        "series": (one.digest, HERE, "somebody"),
        scope: (two.digest, THERE, "another"),
    }
    assert {row["contract"]: row["scope"] for row in found["answered"]} == {
        one.digest: "series",
        two.digest: scope,
    }
    check_sums(here, found)
    # Each has its own limit of two reports: page is full here and mood is full there.
    with pytest.raises(InputError, match="'page' takes at most 2 reports of a person; got 2"):
        here.prepare(one, {"page": "red"})
    with pytest.raises(InputError, match="'mood' takes at most 2 reports of a person; got 2"):
        there.prepare(two, {"mood": "red"})
    assert tables(tmp_path) == found
    here.prepare(one, {"mood": "red"})
    there.prepare(two, {"page": "red"})


def test_two_collections_share_nothing(tmp_path: Path, device: Callable[..., Any]) -> None:
    one, two = asked(), asked(series="other")
    here = device()
    here.prepare(one, {"page": "red"})
    here.prepare(two, {"page": "red"})
    found = tables(tmp_path)
    assert [(row["series"], row["question"]) for row in found["answer"]] == [
        ("series", "page"),
        ("other", "page"),
    ]
    assert found["answer"][0]["tag"] != found["answer"][1]["tag"]
    assert [row["reports"] for row in found["made"]] == [1, 1]
    assert [row["contract"] for row in found["pending"]] == [one.digest, two.digest]
    assert [one_.contract for one_ in here.pending(two)] == [two.digest]
    assert found["share"] == []
    check_sums(here, found)


@pytest.mark.parametrize(
    ("given", "passes", "sentence"),
    [
        ({"max_epsilon": 2.0}, 2, "a device may spend at most epsilon 2 in all"),
        ({"max_epsilon": math.nextafter(2.0, 0)}, 1, "a device may spend at most"),
        ({"max_epsilon": math.nextafter(2.0, 3)}, 2, "a device may spend at most"),
        ({"repeated": 3}, 3, "takes at most 3 reports of a person; got 3 already"),
        ({"repeated": 1}, 1, "takes at most 1 report of a person; got 1 already"),
        ({"series_epsilon": 3.0}, 3, "lets 'series' cost at most epsilon 3"),
        ({"series_epsilon": 3.9}, 3, "lets 'series' cost at most epsilon 3.9"),
    ],
)
def test_a_limit_may_be_reached_and_not_passed(
    tmp_path: Path, device: Callable[..., Any], given: dict[str, Any], passes: int, sentence: str
) -> None:
    limit = {key: given[key] for key in given if key == "max_epsilon"}
    said = {key: given[key] for key in given if key != "max_epsilon"}
    contract = asked(**said) if "series_epsilon" not in said else fresh_only(**said)
    here = device(**limit)
    for _ in range(passes):
        here.prepare(contract, {"mood": "red"})
    before = tables(tmp_path)
    assert len(before["pending"]) == passes
    with pytest.raises(InputError, match=sentence):
        here.prepare(contract, {"mood": "red"})
    # One that is good beside one that is not: neither is made.
    if "repeated" in given:
        with pytest.raises(InputError, match=sentence):
            here.prepare(contract, {"page": "red", "mood": "red"})
    assert tables(tmp_path) == before
    check_sums(here, before)


def fresh_only(series_epsilon: float) -> Collection:
    """A question of fresh noise, of a series that may cost so much."""
    mood = {
        "id": "mood", "kind": "choice", "labels": ["red", "green"], "epsilon": 1.0,
        "mechanism": "randomized-response", "reports_per_person": 9,
    }  # fmt: skip
    return Collection.resolve(
        {"name": "A test", "series": "series", "contact": "x", "series_epsilon": series_epsilon,
         "questions": [mood]}
    )  # fmt: skip


def test_what_arrived_is_forgotten_and_its_key_kept_as_long_as_it_is_of_use(
    tmp_path: Path, time: Clock, device: Callable[..., Any]
) -> None:
    contract, here = asked(), device()
    (page, mood) = here.prepare(contract, {"page": "red", "mood": "red"})
    (again,) = here.prepare(contract, {"page": "red"})
    time.on(3)
    here.acknowledge([page, mood])
    found = tables(tmp_path)
    assert [row["id"] for row in found["pending"]] == [again.id]
    # A day more than the collector keeps it; without retention, for ever; not sent, not yet.
    last = DAY + datetime.timedelta(days=3 + 30 + 1)
    until = {row["id"]: row["until"] for row in found["sent"]}
    assert until == {page.id: last.isoformat(), mood.id: None, again.id: None}
    time.on(31)  # the last day
    (later,) = here.prepare(contract, {"mood": "red"})
    here.acknowledge([later])
    assert {row["id"] for row in tables(tmp_path)["sent"]} == {page.id, mood.id, again.id, later.id}
    time.on(1)
    here.acknowledge([])
    assert {row["id"] for row in tables(tmp_path)["sent"]} == {mood.id, again.id, later.id}
    # What was spent stays spent, whatever is forgotten.
    assert tables(tmp_path)["made"] == [{**row, "reports": 2} for row in found["made"]]


def test_what_is_taken_back_leaves_both_tables_and_nothing_else(
    tmp_path: Path, device: Callable[..., Any]
) -> None:
    contract, here = asked(), device()
    (page, mood) = here.prepare(contract, {"page": "red", "mood": "red"})
    here.acknowledge([page])
    before = tables(tmp_path)
    here.forget([page.id])
    found = tables(tmp_path)
    assert [row["id"] for row in found["sent"]] == [mood.id]
    assert [row["id"] for row in found["pending"]] == [mood.id]
    here.forget([mood.id])
    found = tables(tmp_path)
    assert (found["sent"], found["pending"]) == ([], [])
    for name in before.keys() - {"sent", "pending"}:
        assert found[name] == before[name]


def test_a_turn_has_one_report_and_the_next_begins_on_the_hour(
    tmp_path: Path, time: Clock, device: Callable[..., Any]
) -> None:
    contract = relayed(crowd=50, turn_hours=6)
    hours = int(time.now.timestamp() // 3600)
    turn = hours // 6
    begins = (turn + 1) * 6
    here = device()
    (one,) = here.prepare(contract, {"colour": "red"})
    found = tables(tmp_path)
    assert found["turn"] == [{"series": "series", "question": "colour", "ends": begins}]
    (row,) = found["pending"]
    assert (row["turn"], row["expires"]) == (turn, (turn + 2) * 6)
    assert (row["relay"], row["sealed"]) == (contract.relay.url, one.sealed)  # type: ignore[union-attr]
    (pin,) = found["pin"]
    told = (pin["relay"], pin["crowd"], pin["turn_hours"], pin["blind"])
    assert told == ("http://127.0.0.1:9", 50, 6, 0)
    # Another question has turns of its own.
    here.prepare(contract, {"many": 3})
    assert len(tables(tmp_path)["turn"]) == 2
    time.now = datetime.datetime.fromtimestamp(3600 * begins - 1, datetime.UTC)
    before = tables(tmp_path)
    when = datetime.datetime.fromtimestamp(3600 * begins, datetime.UTC)
    with pytest.raises(InputError, match=f"begins at {when:%Y-%m-%d %H:%M} UTC"):
        here.prepare(contract, {"colour": "red"})
    assert tables(tmp_path) == before
    time.now = when
    (two,) = here.prepare(contract, {"colour": "red"})
    assert two.turn == turn + 1
    # What was not sent while its turn or the next one lasted is dropped, at no refund.
    time.now = datetime.datetime.fromtimestamp(3600 * (turn + 2) * 6 - 1, datetime.UTC)
    assert here.drop_expired(here.pending()) == []
    time.now += datetime.timedelta(seconds=1)
    spent = here.spent
    over = here.drop_expired(here.pending())
    assert {each.turn for each in over} == {turn}
    assert [each.id for each in here.pending()] == [two.id]
    assert here.spent == spent
    assert len(tables(tmp_path)["sent"]) == 3


def test_tokens_are_made_signed_and_spent_one_by_one(
    tmp_path: Path, device: Callable[..., Any]
) -> None:
    contract = blind_collection()
    code = new_invitation()
    here = device()
    shown, wanted = here.enrolment(contract, code)
    found = tables(tmp_path)
    keys = {id: key_name(secret.public) for id, secret in KEYS.secrets.items()}
    places = [(keys["colour"], 0), (keys["home"], 0), (keys["home"], 1)]
    assert sorted((row["key"], row["number"]) for row in found["token"]) == sorted(places)
    for row in found["token"]:
        assert row["person"] == credential_digest(shown)
        assert all(row[column] for column in ("opening", "blinded", "inverse"))
        assert row["signature"] is None
        assert row["report"] is None
    met = f"series {HERE} nobody@example.org"
    assert {row["scope"] for row in found["token_scope"]} == {met}
    # Asked again before they are signed: the same ones.
    assert here.enrolment(contract, code) == (shown, wanted)
    assert tables(tmp_path) == found
    secrets = {key_name(secret.public): secret for secret in KEYS.secrets.values()}
    here.enrol(contract, shown, wanted, [blind_sign(secrets[t.key], t.blinded) for t in wanted])
    found = tables(tmp_path)
    for row in found["token"]:
        assert (row["blinded"], row["inverse"], row["report"]) == (None, None, None)
        assert len(row["signature"]) == 256
    assert here.enrolment(contract, code) == (shown, [])
    (envelope,) = here.prepare(contract, {"home": "news"})
    found = tables(tmp_path)
    spent = [row for row in found["token"] if row["report"] is not None]
    (row,) = spent
    assert (row["key"], row["number"], row["report"]) == (keys["home"], 0, envelope.id)
    assert (row["signature"], row["opening"]) == (None, b"")
    # From the first answer on they are of the series' own name.
    assert {row["scope"] for row in found["token_scope"]} == {"series"}
    (pending,) = found["pending"]
    assert pending["token"] == envelope.token
    here.prepare(contract, {"home": "news"})
    before = tables(tmp_path)
    with pytest.raises(InputError, match="takes at most 2 reports of a person; got 2"):
        here.prepare(contract, {"home": "news"})
    assert tables(tmp_path) == before
    (pin,) = before["pin"]
    assert (pin["blind"], pin["issuer"]) == (1, "http://127.0.0.1:9")


def test_questions_and_days_that_are_drawn_are_kept(
    tmp_path: Path, time: Clock, device: Callable[..., Any]
) -> None:
    question = {"kind": "choice", "labels": ["red", "green"], "epsilon": 1.0}
    questions = [{"id": f"q{n}", **question} for n in range(3)]
    contract = asked(questions=questions, ask={"questions": 2, "days": 5})
    here = device()
    drawn = here.assignment(contract)
    found = tables(tmp_path)
    assert {row["question"] for row in found["drawn"]} == set(drawn.questions)
    assert {(row["series"], row["contract"]) for row in found["drawn"]} == {
        ("series", contract.digest)
    }
    (day,) = found["drawn_day"]
    assert (day["series"], day["contract"], day["days"], day["starts"], day["met"], day["day"]) == (
        "series", contract.digest, 5, "", DAY.isoformat(), drawn.day.isoformat(),
    )  # fmt: skip
    assert here.assignment(contract) == drawn
    assert tables(tmp_path) == found
    left_out = next(q.id for q in contract.questions if q.id not in drawn.questions)
    time.now = datetime.datetime.combine(drawn.day, datetime.time(), datetime.UTC)
    with pytest.raises(InputError, match="was not drawn"):
        here.prepare(contract, {left_out: "red"})
    assert tables(tmp_path) == found
    here.prepare(contract, {drawn.questions[0]: "red"})
    after = tables(tmp_path)
    own = {(row["series"], row["contract"], row["question"]) for row in after["drawn"]}
    assert own == {("series", of, id) for of in (contract.digest, "") for id in drawn.questions}
    for hours in (-1, 24):
        time.now = datetime.datetime.combine(drawn.day, datetime.time(), datetime.UTC)
        time.now += datetime.timedelta(hours=hours)
        with pytest.raises(InputError, match="drawn at random from 5 days"):
            here.prepare(contract, {drawn.questions[1]: "red"})
    assert tables(tmp_path) == after


def test_a_revision_moves_its_own_pin_alone(tmp_path: Path, device: Callable[..., Any]) -> None:
    first = asked()
    second = replace(asked(contact="a new contact"), revision=2, previous=first.digest)
    other = asked(series="other")
    here = device()
    here.prepare(first, {"page": "red"})
    here.prepare(other, {"page": "red"})
    before = tables(tmp_path)
    here.prepare(second, {"page": "red"})
    pins = {row["series"]: row for row in tables(tmp_path)["pin"]}
    old = {row["series"]: row for row in before["pin"]}
    assert pins["other"] == old["other"]
    changed = {key: value for key, value in pins["series"].items() if value != old["series"][key]}
    assert changed == {"revision": 2, "contract": second.digest, "contact": "a new contact"}
    answered = {row["contract"]: row["scope"] for row in tables(tmp_path)["answered"]}
    assert answered == {first.digest: "series", second.digest: "series", other.digest: "other"}
    before = tables(tmp_path)
    with pytest.raises(InputError, match="must not go back to an older contract"):
        here.prepare(first, {"page": "red"})
    skipped = replace(second, revision=3, previous="0" * 64)
    with pytest.raises(InputError, match="must name the contract it revises"):
        here.prepare(skipped, {"page": "red"})
    twin = replace(second, name="Another text")
    with pytest.raises(InputError, match="one contract of each revision"):
        here.prepare(twin, {"page": "red"})
    assert tables(tmp_path) == before


def test_an_envelope_is_the_row_that_it_is_kept_as() -> None:
    kept = PendingReport(b"i", "c", "q", b"r", b"t", "relay", b"s", 5, 6, 7, notes=("said",))
    assert kept.columns == (b"i", "c", "q", b"r", b"t", "relay", b"s", 5, 6, 7)
    assert [one.name for one in fields(PendingReport) if one.compare] == [
        "id", "contract", "question", "report", "token", "relay", "sealed", "turn", "expires",
        "stratum",
    ]  # fmt: skip
