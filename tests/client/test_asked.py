"""A device that is asked one of many: drawn once, kept, and the same for every answer."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import chisquare

from rumor.client.assignment import draw_day, rank_questions
from rumor.client.ledger import Ledger
from rumor.client.pins import CeilingIncrease
from rumor.client.respondent import Respondent
from rumor.contract.collection import Collection
from rumor.contract.sampling import SamplingDesign
from rumor.core.errors import InputError
from tests.contract.test_asking import LABELS

STARTS = datetime.date(2026, 1, 1)
IDS = [f"q{i}" for i in range(5)]


def collection(ask: SamplingDesign | None, ids: list[str] = IDS) -> Collection:
    questions = [
        {**LABELS, "id": id, "epsilon": 1.0 + i / 2, "reports_per_person": 1}
        for i, id in enumerate(ids)
    ]
    wish = {"name": "Many", "series": "many", "contact": "x", "questions": questions}
    return replace(Collection.resolve(wish), ask=ask)


def revised(before: Collection, after: Collection) -> Collection:
    return replace(after, revision=before.revision + 1, previous=before.digest)


def on(day: datetime.date, folder: Path) -> Respondent:
    return Respondent(folder, today=lambda: day)


def test_only_what_was_drawn_is_asked_and_paid(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(1))
    with Respondent(tmp_path) as device:
        asked = device.assignment(contract)
        (drawn,) = asked.questions
        others = [id for id in IDS if id != drawn]
        for id in others:
            with pytest.raises(
                InputError, match=f"asked '{drawn}' alone, drawn .* 5 questions; '{id}'"
            ):
                device.prepare(contract, {id: "a"})
            with pytest.raises(InputError, match="was not drawn, and nothing is sent about it"):
                device.prepare(contract, {drawn: "a", id: "a"})
        assert device.spent == 0
        assert device.pending() == []
        device.prepare(contract, {drawn: "b"})
        assert device.spent == contract.question(drawn).epsilon
        assert [one.question for one in device.spending()] == [drawn]
        assert asked.in_words() == (
            "You are asked 1 of 5 questions, drawn at random on this device; as the collection "
            "stands, nothing is sent about the others."
        )
        with pytest.raises(InputError, match="takes at most 1 report"):
            device.prepare(contract, {drawn: "b"})
        with pytest.raises(InputError, match=r"a question must be named as one of .*another name"):
            device.prepare(contract, {"secret answer": "b"})


def test_nothing_draws_again(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(2))
    with Respondent(tmp_path) as device:
        first = device.assignment(contract)
        assert len(first.questions) == 2
        for _ in range(20):  # refusing to answer, and answering wrongly
            with pytest.raises(InputError):
                device.prepare(contract, {first.questions[0]: "no label"})
            assert device.assignment(contract) == first
        device.reset()  # a new secret is no new draw
        assert device.assignment(contract) == first
    (tmp_path / "secret").unlink()
    with Respondent(tmp_path) as device:
        assert device.assignment(contract) == first


def test_without_a_ledger_the_secret_draws_the_same(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(2, 30, STARTS))
    with on(STARTS, tmp_path) as device:
        first = device.assignment(contract)
    for file in tmp_path.glob("ledger*"):
        file.unlink()
    with on(STARTS + datetime.timedelta(days=3), tmp_path) as device:
        assert device.assignment(contract) == first


def test_a_revision_keeps_what_was_drawn_and_fills_up(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(2))
    with Respondent(tmp_path) as device:
        first = device.assignment(contract).questions
        more = [f"new{i}" for i in range(40)]
        grown = revised(contract, collection(SamplingDesign(2), [*more, *IDS]))
        assert device.assignment(grown).questions == first
        larger = revised(grown, collection(SamplingDesign(3), [*more, *IDS]))
        assert set(first) < set(device.assignment(larger).questions)
        fewer = revised(larger, collection(SamplingDesign(2), [id for id in IDS if id != first[0]]))
        left = device.assignment(fewer).questions
        assert first[1] in left
        assert len(left) == 2
        # What it comes back to is what was drawn first.
        assert device.assignment(contract).questions == first
        assert device.assignment(collection(None)).questions == tuple(IDS)


def test_a_revision_that_draws_others_cannot_pass_what_was_agreed(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(1))
    with Respondent(tmp_path) as device:
        (drawn,) = device.assignment(contract).questions
        device.prepare(contract, {drawn: "a"})
        last, refused = contract, 0
        for id in [id for id in IDS if id != drawn]:
            last = revised(last, collection(None, [id]))
            assert device.assignment(last).questions == (id,)
            try:
                device.prepare(last, {id: "a"})
            except InputError as problem:
                refused += "as was agreed at its first answer" in str(problem)
        # The most is what was drawn costs, whatever the dearest would.
        assert device.spent == contract.question(drawn).epsilon
        assert refused == 4


def who_draws(folder: Path, contract: Collection, drawn: str) -> str:
    """The secret of somebody who is asked this question alone; it is put into the folder."""
    number = next(
        i
        for i in range(1000)
        if rank_questions(secret(i), contract.series, [q.id for q in contract.questions])[0]
        == drawn
    )
    (folder / "secret").write_text(f"rumor secret 1\n{secret(number).hex()}\n")
    (folder / "secret").chmod(0o600)
    return secret(number).hex()


def cheap_and_dear(*ids: str, dear: float = 0.5) -> Collection:
    first, *others = ids
    prices = {first: 0.5, **dict.fromkeys(others, dear)}
    questions = [
        {**LABELS, "id": id, "epsilon": epsilon, "reports_per_person": 1}
        for id, epsilon in prices.items()
    ]
    wish = {"name": "Many", "series": "many", "contact": "x", "questions": questions}
    return Collection.resolve({**wish, "ask": {"questions": 1}})


def test_whoever_drew_the_cheap_question_agreed_to_no_more(tmp_path: Path) -> None:
    contract = cheap_and_dear("cheap", "dear", dear=8.0)
    who_draws(tmp_path, contract, "cheap")
    changes: list[CeilingIncrease] = []

    def refuse(change: CeilingIncrease) -> bool:
        changes.append(change)
        return False

    with Respondent(tmp_path, consent=refuse) as device:
        device.prepare(contract, {"cheap": "a"})
        renamed = revised(contract, cheap_and_dear("more", "still-more", dear=8.0))
        (drawn,) = device.assignment(renamed).questions
        with pytest.raises(InputError, match=r"at most epsilon 0\.5, .* needs your consent"):
            device.prepare(renamed, {drawn: "a"})
        assert device.spent == 0.5
        # What is asked for is what was drawn too, not the dearest.
        (change,) = changes
        wanted = 0.5 + renamed.question(drawn).epsilon
        assert (change.before, change.after) == pytest.approx((0.5, wanted), rel=1e-9)


def test_a_promise_for_the_series_holds_as_it_stands(tmp_path: Path) -> None:
    contract = replace(cheap_and_dear("cheap", "dear", dear=8.0), series_epsilon=9.0)
    who_draws(tmp_path, contract, "cheap")
    with Respondent(tmp_path) as device:
        device.prepare(contract, {"cheap": "a"})
        pin = device._ledger.scope(contract, "").pin
        assert pin is not None
        assert pin.ceiling == 9.0


def rows(device: Respondent) -> list[object]:
    tables = ("drawn", "drawn_day")
    return [device._ledger._database.execute(f"SELECT * FROM {t}").fetchall() for t in tables]


@pytest.mark.parametrize("drawn", IDS)
def test_a_contract_that_is_merely_opened_moves_no_draw(tmp_path: Path, drawn: str) -> None:
    contract = collection(SamplingDesign(1, 9))
    who_draws(tmp_path, contract, drawn)
    others = [id for id in IDS if id != drawn]
    with on(STARTS, tmp_path) as device:
        for ids in (others, [others[0], "other"]):
            stranger = collection(SamplingDesign(1, 9, STARTS - datetime.timedelta(days=99)), ids)
            device.assignment(stranger)
            device.assignment(revised(stranger, collection(SamplingDesign(1), ids)))
        asked = device.assignment(contract)
        assert asked.questions == (drawn,)
        assert asked.day is not None
        assert 0 <= (asked.day - STARTS).days < 9


def test_a_refused_contract_leaves_nothing_behind(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(1))
    with Respondent(tmp_path) as device:
        (drawn,) = device.assignment(contract).questions
        device.prepare(contract, {drawn: "a"})
        before, others = rows(device), [id for id in IDS if id != drawn]
        for fork in (
            collection(SamplingDesign(1), others),
            replace(collection(SamplingDesign(1, 9), others), revision=2, previous="0" * 64),
        ):
            for _ in range(2):
                with pytest.raises(
                    InputError, match=r"one contract of each|must name the contract"
                ):
                    device.assignment(fork)
                with pytest.raises(
                    InputError, match=r"one contract of each|must name the contract"
                ):
                    device.prepare(fork, {others[0]: "a"})
        assert rows(device) == before
        # One that may be answered and is not moves nothing either.
        device.assignment(revised(contract, collection(SamplingDesign(1), others)))
        (again,) = device.assignment(
            revised(contract, collection(SamplingDesign(1), [*others, drawn]))
        ).questions
        assert again == drawn


@pytest.mark.parametrize("starts", [STARTS, None])
def test_one_day_of_many(tmp_path: Path, starts: datetime.date | None) -> None:
    contract = collection(SamplingDesign(None, 30, starts))
    met = STARTS + datetime.timedelta(days=2)
    with on(met, tmp_path) as device:
        asked = device.assignment(contract)
    assert asked.questions == tuple(IDS)
    assert asked.day is not None
    assert 0 <= (asked.day - (starts or met)).days < 30
    assert asked.in_words() == (
        f"You answer on one of 30 days, drawn at random on this device: {asked.day}."
    )
    answers = dict.fromkeys(IDS, "a")
    for apart, end in ((-1, "has not come"), (1, "is over")):
        day = asked.day + datetime.timedelta(days=apart)
        with on(day, tmp_path) as device:
            assert device.assignment(contract) == asked
            with pytest.raises(
                InputError,
                match=f"on {asked.day}, drawn at random from 30 days; today is {day} .*{end}",
            ):
                device.prepare(contract, answers)
            assert device.spent == 0
    with on(asked.day, tmp_path) as device:
        assert len(device.prepare(contract, answers)) == 5
        assert device.spent == pytest.approx(sum(q.epsilon for q in contract.questions), rel=1e-12)


def test_other_days_are_drawn_for_other_spans_alone(tmp_path: Path) -> None:
    with on(STARTS, tmp_path) as device:
        days = [device.assignment(collection(SamplingDesign(k, 1000, STARTS))).day for k in (1, 2)]
        assert days[0] == days[1]
        moved = device.assignment(
            collection(SamplingDesign(1, 1000, STARTS + datetime.timedelta(days=7)))
        ).day
        assert moved is not None
        assert days[0] is not None
        assert (moved - days[0]).days == 7


def test_whoever_answered_keeps_their_day(tmp_path: Path) -> None:
    contract = replace(collection(SamplingDesign(None, 5)), series_epsilon=99.0)
    with on(STARTS, tmp_path) as device:
        day = device.assignment(contract).day
    assert day is not None
    with on(day, tmp_path) as device:
        device.prepare(contract, {IDS[0]: "a"})
    later, last = day + datetime.timedelta(days=3), contract
    holding = (
        SamplingDesign(None, 400),
        SamplingDesign(None, 30, day),
        SamplingDesign(None, 6, STARTS),
        SamplingDesign(1, 77, STARTS),
    )
    with on(later, tmp_path) as device:
        for ask in holding:
            last = revised(last, collection(ask))
            assert device.assignment(last).day == day
            with pytest.raises(InputError, match="so its day is over"):
                device.prepare(last, dict.fromkeys(device.assignment(last).questions, "a"))
        # Days that the day is none of are another time to ask.
        other = device.assignment(revised(last, collection(SamplingDesign(None, 9, later)))).day
        assert other is not None
        assert 0 <= (other - later).days < 9


def test_whoever_has_not_answered_is_drawn_for_other_days(tmp_path: Path) -> None:
    contract = collection(SamplingDesign(None, 2))
    with on(STARTS, tmp_path) as device:
        day = device.assignment(contract).day
    later = STARTS + datetime.timedelta(days=30)
    with on(later, tmp_path) as device:
        device.reset()
        same = revised(contract, collection(SamplingDesign(1, 2)))
        assert device.assignment(same).day == day
        longer = device.assignment(revised(same, collection(SamplingDesign(1, 400)))).day
        assert longer is not None
        assert 0 <= (longer - later).days < 400


def test_a_day_that_ends_while_the_person_thinks_is_over(tmp_path: Path) -> None:
    contract, today = collection(None), [STARTS]

    def slowly(change: CeilingIncrease) -> bool:
        today[0] += datetime.timedelta(days=1)
        return True

    with Respondent(tmp_path, today=lambda: today[0], consent=slowly) as device:
        device.prepare(contract, dict.fromkeys(IDS, "a"))
        spent, renamed = (
            device.spent,
            revised(contract, collection(SamplingDesign(None, 5), ["n1", "n2"])),
        )
        day = device.assignment(renamed).day
        assert day is not None
        today[0] = day
        with pytest.raises(InputError, match="so its day is over"):
            device.prepare(renamed, {"n1": "a"})
        assert device.spent == spent


def secret(number: int) -> bytes:
    return number.to_bytes(32, "little")


def test_the_draw_is_uniform_without_replacement() -> None:
    # 4,000 secrets; levels of 1e-6 each, so a right draw fails once in 300,000 changes of the keys.
    people = range(4000)
    pairs = Counter(frozenset(rank_questions(secret(i), "many", IDS)[:2]) for i in people)
    assert len(pairs) == 10
    assert chisquare(list(pairs.values())).pvalue > 1e-6
    days = Counter(draw_day(secret(i), "many", 30) for i in people)
    assert set(days) == set(range(30))
    assert chisquare(list(days.values())).pvalue > 1e-6
    # The day says nothing about the question, nor one series about another.
    both = Counter(
        (rank_questions(secret(i), "many", IDS)[0], draw_day(secret(i), "many", 4)) for i in people
    )
    assert chisquare(list(both.values())).pvalue > 1e-6
    apart = Counter(
        (rank_questions(secret(i), "many", IDS)[0], rank_questions(secret(i), "other", IDS)[0])
        for i in people
    )
    assert len(apart) == 25
    assert chisquare(list(apart.values())).pvalue > 1e-6


def test_the_order_of_the_questions_draws_nothing() -> None:
    for i in range(50):
        assert rank_questions(secret(i), "many", IDS) == rank_questions(
            secret(i), "many", IDS[::-1]
        )


TO_VERSION_7 = """
    ALTER TABLE pending DROP COLUMN stratum; ALTER TABLE pin DROP COLUMN groups;
    DROP TABLE answered; DROP TABLE token_scope; DROP TABLE share;
    ALTER TABLE pin DROP COLUMN issuer; ALTER TABLE pin DROP COLUMN collector;
    ALTER TABLE pin DROP COLUMN contact; ALTER TABLE pin DROP COLUMN inherits;
    ALTER TABLE pin DROP COLUMN turn_hours; DROP TABLE turn;
    ALTER TABLE pending DROP COLUMN turn; ALTER TABLE pending DROP COLUMN expires;
"""
WITHOUT_RELAYS = f"""{TO_VERSION_7}
    ALTER TABLE pending DROP COLUMN relay; ALTER TABLE pending DROP COLUMN sealed;
    ALTER TABLE pin DROP COLUMN blind; ALTER TABLE pin DROP COLUMN relay;
    ALTER TABLE pin DROP COLUMN crowd;
"""


def test_an_older_ledger_learns_to_draw(tmp_path: Path) -> None:
    with Respondent(tmp_path) as device:
        device._ledger._database.executescript(
            f"DROP TABLE drawn; DROP TABLE drawn_day; {WITHOUT_RELAYS} PRAGMA user_version = 3"
        )
    contract = collection(SamplingDesign(1, 30, STARTS))
    with Respondent(tmp_path) as device:
        assert len(device.assignment(contract).questions) == 1
    ledger = Ledger(tmp_path / "ledger.sqlite3")
    assert ledger._database.execute("SELECT COUNT(*) FROM drawn").fetchone() == (1,)
    ledger.close()


def test_older_draws_are_the_series_own(tmp_path: Path) -> None:
    with Respondent(tmp_path) as device:
        device._ledger._database.executescript(f"""
            DROP TABLE drawn; DROP TABLE drawn_day; {WITHOUT_RELAYS}
            CREATE TABLE drawn (number INTEGER PRIMARY KEY, series TEXT, question TEXT);
            CREATE TABLE drawn_day (series TEXT, days INTEGER, starts TEXT, day TEXT);
            INSERT INTO drawn (series, question) VALUES ('many', 'q3'), ('many', 'q1');
            INSERT INTO drawn_day VALUES ('many', 30, '2026-01-01', '2026-01-07');
            PRAGMA user_version = 4""")
    with Respondent(tmp_path) as device:
        assert device.assignment(collection(SamplingDesign(1))).questions == ("q3",)
        asked = device.assignment(collection(SamplingDesign(2, 30, STARTS)))
        assert asked.questions == ("q1", "q3")
        assert asked.day == datetime.date(2026, 1, 7)
