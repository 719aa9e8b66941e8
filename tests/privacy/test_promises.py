"""What a device promises a person over time: attacks that once worked, ceilings, revisions."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
import sqlite3
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import rumor
from rumor.client.ledger import Ledger
from rumor.client.pins import CeilingIncrease
from rumor.client.token_table import AdmissionToken
from rumor.contract.collection import Collection, Question
from rumor.mechanisms import BasicRappor, Mechanism, RandomizedResponse, Rappor
from rumor.privacy.loss import series_ceiling


def contract(
    mechanism: Mechanism,
    *,
    after: Collection | None = None,
    reports: int = 10,
    period_days: int | None = None,
    series_epsilon: float | None = None,
) -> Collection:
    kind = {"rappor": "text", "privkvm": "keyvalue", "privkv": "keyvalue"}.get(
        mechanism.name, "choice"
    )
    memo = "value" if period_days is None else "period"
    question = Question("q", kind, "", mechanism, reports, None, memo, period_days)
    return Collection(
        "A survey",
        "series",
        "nobody",
        (question,),
        revision=1 if after is None else after.revision + 1,
        previous=None if after is None else after.digest,
        series_epsilon=series_epsilon,
    )


def one_time(key: bytes) -> Rappor:
    """Sends its permanent bits as they are, so that reports show them."""
    return Rappor(bits=64, hashes=2, cohorts=1, f=0.5, p=0, q=1, key=key)


def sent(folder: Path, steps: list[tuple[Collection, object]]) -> list[bytes]:
    with rumor.Respondent(folder) as device:
        return [device.prepare(made, {"q": value})[0].report for made, value in steps]


# --- Attacks that once worked --------------------------------------------------------------------


@pytest.mark.slow
def test_a_key_that_collides_for_one_word_does_not_find_its_holders(tmp_path: Path) -> None:
    # The collector searches for a second key under which the target's filter is the same as
    # under the first. Noise that followed the filter was then the same for holders alone.
    target, first = "I have HIV", b"first key"
    own = one_time(first).bloom.filter(target, 0)
    keys = (number.to_bytes(4, "big") for number in itertools.count())
    second = next(key for key in keys if one_time(key).bloom.filter(target, 0) == own)
    before = contract(one_time(first))
    after = contract(one_time(second), after=before)
    same = dict.fromkeys((target, "something else"), 0)
    for word in same:
        for person in range(30):
            one, two = sent(tmp_path / word / str(person), [(before, word), (after, word)])
            same[word] += one == two
    # 64 independent bits agree with a chance of at most (5/8)^64 < 1e-13 a person.
    assert same == {target: 0, "something else": 0}


@pytest.mark.slow
def test_people_whose_words_collide_change_their_noise_like_all_others(tmp_path: Path) -> None:
    shape = Rappor(bits=2, hashes=1, cohorts=1, f=0.5, p=0, q=1, key=b"k")
    words = [f"word {number}" for number in range(8)]
    filters = [shape.bloom.filter(word, 0) for word in words]
    twin = next(i for i in range(1, 8) if filters[i] == filters[0])
    other = next(i for i in range(1, 8) if filters[i] != filters[0])
    kept = {}
    for name, second in (("colliding", words[twin]), ("others", words[other])):
        reports = [
            sent(tmp_path / name / str(i), [(contract(shape), words[0]), (contract(shape), second)])
            for i in range(60)
        ]
        kept[name] = sum(one == two for one, two in reports)
    # Before, all of the colliding ones. Two independent answers of one filter agree in
    # (5/8)^2 = 0.39 of cases: 23.4 of 60, standard deviation 3.8; 5 of them are 19.
    assert kept["colliding"] < 43


def test_labels_in_another_order_have_noise_of_their_own(tmp_path: Path) -> None:
    labels = [f"label {number}" for number in range(32)]
    one = contract(BasicRappor(domain=labels, f=0.5, p=0, q=1))
    two = contract(BasicRappor(domain=labels[1:] + labels[:1], f=0.5, p=0, q=1), after=one)
    first, second = sent(tmp_path, [(one, "label 0"), (two, "label 1")])
    # Both are value number 0 of their own contract: noise by the number would be the same.
    assert first != second


def test_a_revision_of_fresh_noise_alone_keeps_the_permanent_answer(tmp_path: Path) -> None:
    def bits(p: float, q: float) -> Rappor:
        return Rappor(bits=64, hashes=2, cohorts=4, f=0.5, p=p, q=q, key=b"k")

    one = contract(bits(0, 1))
    two = contract(bits(0.0001, 0.9999), after=one)
    three = contract(bits(0, 1), after=two)
    with rumor.Respondent(tmp_path) as device:
        first = device.prepare(one, {"q": "w"})[0].report
        device.prepare(two, {"q": "w"})
        assert device.prepare(three, {"q": "w"})[0].report == first
        (spending,) = device.spending()
        assert (spending.reports, spending.values) == (3, 1)
        # The permanent bits are known after the first: nothing further can be lost.
        assert spending.epsilon == pytest.approx(bits(0, 1).epsilon, rel=1e-12)


# --- Exact sums ----------------------------------------------------------------------------------


def test_a_ceiling_is_never_passed_by_rounding(tmp_path: Path) -> None:
    # Six doubles of 0.1 add up to more than 0.6, though adding them to nearest hides it.
    tenth = RandomizedResponse(domain=2, epsilon=0.1)
    assert tenth.epsilon <= 0.1
    exact = 6 * Fraction(tenth.epsilon)
    limit = math.nextafter(float(exact), 0)
    assert Fraction(limit) < exact
    with rumor.Respondent(tmp_path, max_epsilon=limit) as device:
        for _ in range(5):
            device.prepare(contract(tenth), {"q": 0})
        with pytest.raises(rumor.InputError, match="at most epsilon"):
            device.prepare(contract(tenth), {"q": 0})
        assert Fraction(device.spent) >= 5 * Fraction(tenth.epsilon)


# --- What a series is held to --------------------------------------------------------------------


def coin(epsilon: float) -> RandomizedResponse:
    return RandomizedResponse(domain=["yes", "no"], epsilon=epsilon)


def asked(answers: list[bool], seen: list[CeilingIncrease]) -> Callable[[CeilingIncrease], bool]:
    def consent(change: CeilingIncrease) -> bool:
        seen.append(change)
        return answers.pop(0)

    return consent


def test_a_series_costs_no_more_than_its_first_contract_promised(tmp_path: Path) -> None:
    one = contract(coin(1.0), reports=1)
    two = contract(coin(0.5), reports=3, after=one)
    with rumor.Respondent(tmp_path) as device:
        device.prepare(one, {"q": "yes"})
        with pytest.raises(rumor.InputError, match=r"at most epsilon 1, .*needs your consent"):
            device.prepare(two, {"q": "yes"})
        assert device.spent == one.questions[0].epsilon
        assert len(device.pending()) == 1


def test_a_person_is_asked_once_with_both_totals(tmp_path: Path) -> None:
    one = contract(coin(1.0), reports=1)
    two = contract(coin(0.5), reports=3, after=one)
    seen: list[CeilingIncrease] = []
    with rumor.Respondent(tmp_path, consent=asked([False, True], seen)) as device:
        device.prepare(one, {"q": "yes"})
        with pytest.raises(rumor.InputError, match="needs your consent"):
            device.prepare(two, {"q": "yes"})
        assert device.spent == coin(1.0).epsilon  # a no costs nothing
        device.prepare(two, {"q": "yes"})
        assert [what for _, what in device.events()][1:] == [
            "agreed that 'series' may cost epsilon 2.5"
        ]
    (change, again) = seen
    assert change == again
    assert (change.spent, change.before) == (coin(1.0).epsilon, series_ceiling(one))
    # What was spent, and the three reports that the revision may ask.
    assert change.after == pytest.approx(1.0 + 3 * 0.5, rel=1e-12)
    assert "at most epsilon 1 in all" in change.in_words()
    assert "up to epsilon 2.5 in all" in change.in_words()
    three = contract(coin(0.9), reports=9, after=two)
    with rumor.Respondent(tmp_path) as device:  # what was agreed holds, and no more than that
        device.prepare(three, {"q": "no"})
        with pytest.raises(rumor.InputError, match=r"at most epsilon 2\.5, .*needs your consent"):
            device.prepare(three, {"q": "no"})


def test_a_revision_within_the_promise_needs_no_question(tmp_path: Path) -> None:
    seen: list[CeilingIncrease] = []
    one = contract(coin(1.0), reports=1, series_epsilon=3.0)
    two = contract(coin(0.9), reports=2, after=one, series_epsilon=3.0)
    with rumor.Respondent(tmp_path, consent=asked([], seen)) as device:
        device.prepare(one, {"q": "yes"})
        device.prepare(two, {"q": "yes"})
    assert seen == []


def test_only_a_further_revision_is_followed(tmp_path: Path) -> None:
    one = contract(coin(0.1))
    two = contract(coin(0.1), after=one)
    other = contract(coin(0.2))
    stranger = dataclasses.replace(two, name="Another", previous="0" * 64)
    later = dataclasses.replace(two, revision=9, previous="1" * 64)
    with rumor.Respondent(tmp_path) as device:
        device.prepare(one, {"q": "yes"})
        with pytest.raises(rumor.InputError, match="one contract of each revision"):
            device.prepare(other, {"q": "yes"})
        with pytest.raises(rumor.InputError, match="must name the contract it revises"):
            device.prepare(stranger, {"q": "yes"})
        device.prepare(two, {"q": "yes"})
        with pytest.raises(rumor.InputError, match="not go back to an older contract"):
            device.prepare(one, {"q": "yes"})
        device.prepare(later, {"q": "yes"})  # revisions in between were never met
        assert len(device.pending()) == 3


def test_max_epsilon_defaults_to_the_promise_of_each_series(tmp_path: Path) -> None:
    often = contract(coin(1.0), reports=100, series_epsilon=2.5)
    with rumor.Respondent(tmp_path) as device:
        device.prepare(often, {"q": "yes"})
        device.prepare(often, {"q": "yes"})
        with pytest.raises(rumor.InputError, match=r"'series' cost at most epsilon 2\.5"):
            device.prepare(often, {"q": "yes"})


# --- The answer of a period ----------------------------------------------------------------------


def test_the_first_value_of_a_period_answers_all_of_it(tmp_path: Path) -> None:
    weekly = contract(one_time(b"k"), period_days=7)
    day = [datetime.date(2026, 1, 1)]
    with rumor.Respondent(tmp_path, today=lambda: day[0]) as device:
        reports = []
        for value, date in (
            ("flu", datetime.date(2026, 1, 1)),
            ("well", datetime.date(2026, 1, 2)),
            ("well", datetime.date(2026, 1, 8)),
            ("flu", datetime.date(2026, 1, 1)),  # a clock that went back
        ):
            day[0] = date
            reports.append(device.prepare(weekly, {"q": value})[0].report)
        first, second, third, fourth = reports
        assert first == second == fourth != third
        (spending,) = device.spending()
        assert (spending.reports, spending.values) == (4, 2)
        assert spending.epsilon == pytest.approx(2 * one_time(b"k").epsilon, rel=1e-12)
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"flu" not in stored
    assert b"well" not in stored


def test_a_ledger_restored_from_a_copy_never_covers_two_values_by_one_noise(
    tmp_path: Path,
) -> None:
    weekly = contract(one_time(b"k"), period_days=7)
    reports = []
    for value in ("flu", "well"):
        with rumor.Respondent(tmp_path, today=lambda: datetime.date(2026, 1, 1)) as device:
            reports.append(device.prepare(weekly, {"q": value})[0].report)
        for path in tmp_path.glob("ledger*"):
            path.unlink()
    noise = [
        int.from_bytes(report, "little")
        ^ int.from_bytes(one_time(b"k").bloom.filter(word, 0), "little")
        for report, word in zip(reports, ("flu", "well"), strict=True)
    ]
    assert noise[0] != noise[1]


# --- Ledgers of earlier versions -----------------------------------------------------------------

VERSION_2 = """
CREATE TABLE mechanism (digest TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE spending (
    series TEXT NOT NULL, question TEXT NOT NULL, round INTEGER NOT NULL,
    mechanism TEXT NOT NULL, epoch BLOB NOT NULL, tag BLOB NOT NULL,
    reports INTEGER NOT NULL, epsilon REAL NOT NULL,
    PRIMARY KEY (series, question, round, mechanism, epoch, tag)
) WITHOUT ROWID;
CREATE TABLE pending (
    id BLOB PRIMARY KEY, contract TEXT NOT NULL, question TEXT NOT NULL, report BLOB NOT NULL{token}
);
CREATE TABLE event (
    number INTEGER PRIMARY KEY, day TEXT NOT NULL, what TEXT NOT NULL, epoch BLOB NOT NULL
);
"""


@pytest.mark.parametrize("version", [1, 2])
def test_older_ledgers_stay_charged_and_new_answers_open_new_rows(
    tmp_path: Path, version: int
) -> None:
    from rumor.core.canonical import canonical_json, digest

    mechanism = one_time(b"k")
    kind = digest(mechanism.describe())
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as old:
        old.executescript(VERSION_2.format(token=", token BLOB" if version == 2 else ""))
        old.execute(
            "INSERT INTO mechanism VALUES (?, ?)",
            (kind, canonical_json(mechanism.describe()).decode()),
        )
        old.execute(
            "INSERT INTO spending VALUES ('series', 'q', 1, ?, x'01', x'02', 3, ?)",
            (kind, mechanism.epsilon),
        )
        row = (b"i" * 16, "c", "q", b"report") + ((b"t",) if version == 2 else ())
        old.execute(f"INSERT INTO pending VALUES ({', '.join('?' * len(row))})", row)
        old.execute(f"PRAGMA user_version = {version}")
    old.close()
    with rumor.Respondent(tmp_path) as device:
        assert device.spent == mechanism.epsilon
        (waiting,) = device.pending()
        assert (waiting.report, waiting.token) == (b"report", b"t" if version == 2 else None)
        device.prepare(contract(mechanism), {"q": "w"})
        (spending,) = device.spending()
        assert (spending.reports, spending.values) == (4, 2)
        assert spending.epsilon == pytest.approx(2 * mechanism.epsilon, rel=1e-12)
        assert device.spent == device._ledger.audit()
    assert Ledger(tmp_path / "ledger.sqlite3").total() == spending.epsilon


# --- What an attack found ------------------------------------------------------------------------


def test_nothing_is_asked_where_nothing_was_revised(tmp_path: Path) -> None:
    seen: list[CeilingIncrease] = []
    little = contract(coin(1.0), reports=9, series_epsilon=2.5)
    with rumor.Respondent(tmp_path, consent=asked([True] * 9, seen)) as device:
        device.prepare(little, {"q": "yes"})
        device.prepare(little, {"q": "yes"})
        with pytest.raises(rumor.InputError, match=r"cost at most epsilon 2\.5"):
            device.prepare(little, {"q": "yes"})
    assert seen == []


def test_a_revision_is_held_to_less_where_it_promises_less(tmp_path: Path) -> None:
    seen: list[CeilingIncrease] = []
    one = contract(coin(1.0), reports=9, series_epsilon=5.0)
    two = contract(coin(1.0), reports=9, after=one, series_epsilon=2.0)
    three = contract(coin(1.0), reports=9, after=two, series_epsilon=5.0)
    with rumor.Respondent(tmp_path, consent=asked([False], seen)) as device:
        device.prepare(one, {"q": "yes"})
        device.prepare(two, {"q": "yes"})
        with pytest.raises(rumor.InputError, match=r"cost at most epsilon 2,"):
            device.prepare(two, {"q": "yes"})
        with pytest.raises(rumor.InputError, match="needs your consent"):
            device.prepare(three, {"q": "yes"})
    assert [(change.before, change.after) for change in seen] == [(2.0, 5.0)]


def test_no_thread_sees_what_another_takes_back(tmp_path: Path) -> None:
    # The second answer is refused, so the first is taken back: nobody may have seen it.
    both = (
        Question("a", "choice", "", coin(0.001), 10**6, None),
        Question("b", "choice", "", coin(0.001), 1, None),
    )
    made = Collection("A survey", "series", "nobody", both)
    seen: list[object] = []
    with rumor.Respondent(tmp_path) as device:
        device.acknowledge(device.prepare(made, {"b": "yes"}))
        stop = threading.Event()

        def look() -> None:
            while not stop.is_set():
                seen.extend(device.pending())

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for _ in range(200):
                with pytest.raises(rumor.InputError, match="takes at most 1 report"):
                    device.prepare(made, {"a": "yes", "b": "yes"})
        finally:
            stop.set()
            thread.join()
    assert seen == []


def test_tokens_count_every_round_there_ever_was(tmp_path: Path) -> None:
    first = rumor.PrivKVM(keys=["a"], epsilon=1.0, rounds=2)
    one = contract(first, reports=1)
    two = contract(first.next([0.1], parent="0" * 64), reports=1, after=one)
    plain = contract(rumor.PrivKV(keys=["a"], epsilon=0.1), reports=9, after=two)
    numbers: list[int] = []

    def token(number: int) -> AdmissionToken:
        numbers.append(number)
        return AdmissionToken(bytes(16))

    with rumor.Respondent(tmp_path, consent=lambda change: True) as device:
        device._admits = lambda *arguments: token  # type: ignore[method-assign]
        for made in (one, two, plain):
            device.prepare(made, {"q": {"a": 0.5}})
    assert numbers == [0, 1, 2]
