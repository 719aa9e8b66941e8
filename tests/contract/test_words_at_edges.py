"""What contracts say in words and in sizes, at one and at two: days, hours, reports and bytes."""

from __future__ import annotations

import datetime

import pytest

from rumor.contract import deletion, issuing
from rumor.contract.admission import (
    TOKEN_BYTES,
    admission_keys,
    is_bound,
    new_invitation,
    read_invitation,
    token,
)
from rumor.contract.deletion import retention_in_words
from rumor.contract.envelope import ADMISSION_HEADERS
from rumor.contract.relay import Relay, turn_at
from rumor.contract.report_file import group_rows
from rumor.contract.sampling import (
    SamplingDesign,
    questions_per_person,
    respondents_per_question,
    sum_of_largest,
)
from tests.contract.test_limits import CHOICE, OTHER, RELAY, ROUNDS, collection, question


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (None, "no limit"),
        (1, "1 day; afterwards only counts of at least 100 reports together are kept"),
        (2, "2 days; afterwards only counts of at least 100 reports together are kept"),
        (1000, "1,000 days; afterwards only counts of at least 100 reports together are kept"),
    ],
)
def test_how_long_reports_are_kept(days: int | None, said: str) -> None:
    assert retention_in_words(days) == said


_THROUGH = "Reports are sealed and go through https://relay.example, which passes on at least "


@pytest.mark.parametrize(
    ("days", "hours", "waiting", "turns", "under_way"),
    [
        (1, None, "1 day", "", 10),
        (2, None, "2 days", "", 11),
        (1, 1, "1 day", "; your device sends at most one report per question every hour", 10),
        (1, 2, "1 day", "; your device sends at most one report per question every 2 hours", 10),
        (1, 12, "1 day", "; your device sends at most one report per question every 12 hours", 10),
        (1, 13, "2 days", "; your device sends at most one report per question every 13 hours", 11),
        (9, 13, "2 days", "; your device sends at most one report per question every 13 hours", 18),
        (2, 24, "2 days", "; your device sends at most one report per question every 24 hours", 11),
        (2, 25, "3 days", "; your device sends at most one report per question every 25 hours", 12),
    ],
)
def test_how_long_envelopes_wait(
    days: int, hours: int | None, waiting: str, turns: str, under_way: int
) -> None:
    """Two turns at most, in whole days; a relay without turns waits as long as it says."""
    relay = Relay(**{**RELAY, "crowd": 1000, "days": days, "turn_hours": hours})
    assert relay.in_words() == (
        f"{_THROUGH}1,000 to one question at a time and drops what waited {waiting} for as many"
        f"{turns}"
    )
    assert relay.days_under_way == under_way
    assert relay.turn_at(3600.0 * 25) == (None if hours is None else 25 // hours)


@pytest.mark.parametrize(
    ("time", "hours", "turn"),
    [(0, 1, 0), (3599.999, 1, 0), (3600, 1, 1), (7199, 2, 0), (7200, 2, 1), (86_400, 24, 1)],
)
def test_a_turn_begins_on_its_second(time: float, hours: int, turn: int) -> None:
    assert turn_at(time, hours) == turn


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (SamplingDesign(1), "1 of 2,000 questions"),
        (SamplingDesign(days=2), "on one of 2 days from their first on"),
        (
            SamplingDesign(1000, 2000, datetime.date(2026, 2, 28)),
            "1,000 of 2,000 questions, on one of 2,000 days from 2026-02-28 on",
        ),
    ],
)
def test_what_each_person_is_asked(ask: SamplingDesign, said: str) -> None:
    assert ask.in_words(2000) == f"{said}, drawn at random on their device"


def test_a_day_is_counted_from_the_first() -> None:
    met, first = datetime.date(2026, 2, 27), datetime.date(2027, 12, 31)
    assert [SamplingDesign(days=3).day(n, met) for n in (0, 2)] == [met, datetime.date(2026, 3, 1)]
    assert SamplingDesign(days=3, starts=first).day(0, met) == first
    assert SamplingDesign(days=3, starts=first).day(1, met) == datetime.date(2028, 1, 1)


@pytest.mark.parametrize(
    ("users", "given", "each"),
    [
        (10, None, 10),
        (10, {"questions": 1}, 3),
        (10, {"questions": 2}, 6),
        (10, {"questions": 3}, 10),
        (10, {"questions": 0}, 10),
        (10, {"questions": "1"}, 10),
        (10, {"days": 5}, 10),
        (2, {"questions": 1}, 1),
        (1, {"questions": 2}, 1),
        (None, {"questions": 1}, None),
    ],
)
def test_how_many_people_answer_each_of_three_questions(
    users: int | None, given: object, each: int | None
) -> None:
    assert respondents_per_question(users, given, 3) == each


def test_the_dearest_questions_are_found_by_their_numbers() -> None:
    """9 costs less than 10 and more than 2, though not as text; none is counted twice."""
    losses = [2.0, 10.0, 9.0, 0.5]
    assert [sum_of_largest(losses, n) for n in range(6)] == [0, 10, 19, 21, 21.5, 21.5]
    assert [
        questions_per_person(ask, 7)
        for ask in (None, SamplingDesign(days=2), SamplingDesign(1), SamplingDesign(6))
    ] == [7, 7, 1, 6]


def test_invitations_and_their_tokens_have_their_sizes() -> None:
    for bound, prefix in ((False, "rumor-invitation-"), (True, "rumor-bound-invitation-")):
        code = new_invitation(bound=bound)
        assert code.startswith(prefix)
        assert len(code) == len(prefix) + 24
        assert is_bound(code) == bound
        assert len(read_invitation(code)) == 16
    assert not is_bound(new_invitation())
    secret = read_invitation(new_invitation())
    tokens = {
        token(secret, series, asked, number)
        for series in ("a", "b")
        for asked in ("one", "two")
        for number in (0, 1)
    }
    assert (len(tokens), {len(one) for one in tokens}) == (8, {16})
    assert TOKEN_BYTES == 16


def test_an_invited_person_has_a_key_for_every_report() -> None:
    asked = collection(CHOICE, {**OTHER, "reports_per_person": 3}, admission="invited")
    code = new_invitation()
    keys = admission_keys(asked, code)
    assert (len(keys), len(set(keys))) == (4, 4)
    assert set(admission_keys(collection(CHOICE, OTHER), code)) == {keys[0], keys[1]}
    assert len(admission_keys(question(ROUNDS), code)) == 2


def test_sizes_of_what_travels() -> None:
    assert (issuing.MESSAGE_BYTES, issuing.SIGNATURE_BYTES, issuing.OPENING_BYTES) == (64, 256, 48)
    assert len(issuing.credential(bytes(16), "a")) == issuing.CREDENTIAL_BYTES == 32
    assert len(issuing.bound_credential(bytes(16), "a", "b")) == 32
    opening = issuing.new_opening()
    assert len(opening) == 48
    assert len(issuing.token_message(opening)) == 64
    assert deletion.KEY_SIZES == (16, 48)
    assert len(deletion.new_key()) == 16
    ids = {len(deletion.report_id(key)) for key in (opening, deletion.new_key())}
    assert ids == {deletion.ID_BYTES} == {16}
    assert {name: ticket.size for name, ticket in ADMISSION_HEADERS.items()} == {
        "open": 16,
        "invited": 32,
        "blind": 320,
    }


def test_row_groups_hold_about_64_megabytes() -> None:
    """A row is the report, its id and its day; there are never fewer than 1024 of them."""
    assert group_rows(1) == (64 << 20) // 21
    assert group_rows(100) == (64 << 20) // 120
    assert [group_rows((1 << 16) - 20 + wider) for wider in (-1, 0, 1)] == [1024, 1024, 1024]
    assert group_rows((1 << 16) - 20 - 64) == (64 << 20) // ((1 << 16) - 64) == 1025
