"""How much goes into one request of a device: at the edges of each limit, in order, and no more."""

from __future__ import annotations

import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import rumor
from rumor.client.client import Withdrawal, _group_for_sending
from rumor.client.ledger import PendingReport
from rumor.client.tables import WithdrawableReport
from rumor.contract.admission import new_invitation
from rumor.core.errors import InputError
from tests.collector.tools import collection
from tests.impostor import Heard, Told, impostor
from tests.issuers import blind_collection


def made(count: int, size: int = 1, **more: Any) -> list[PendingReport]:
    """So many reports of a size, their ids from the last to the first."""
    ids = (number.to_bytes(16, "big") for number in reversed(range(count)))
    given: dict[str, Any] = {"contract": "digest", "question": "q", **more}
    return [PendingReport(id=id, report=bytes(size), **given) for id in ids]


@pytest.mark.parametrize(
    ("count", "size", "sizes"),
    [
        (1_000, 1, [1_000]),
        (1_001, 1, [1_000, 1]),
        (2_001, 0, [1_000, 1_000, 1]),
        # 500,000 bytes with 16 of an id for each
        (1_001, 484, [1_000, 1]),
        (1_000, 485, [998, 2]),
        (3, 249_984, [2, 1]),
        (2, 249_985, [1, 1]),
        (2, 499_985, [1, 1]),
    ],
)
def test_a_request_has_a_thousand_reports_or_half_a_megabyte(
    count: int, size: int, sizes: list[int]
) -> None:
    groups = _group_for_sending(made(count, size))
    assert sorted(map(len, groups), reverse=True) == sizes
    for group in groups:
        assert [one.id for one in group] == sorted(one.id for one in group)
    assert Counter(one.id for group in groups for one in group) == Counter(
        one.id for one in made(count, size)
    )


@pytest.mark.parametrize("member", ["contract", "question", "stratum"])
def test_reports_that_differ_in_what_a_request_says_go_apart(member: str) -> None:
    values: tuple[Any, Any] = (3, 0) if member == "stratum" else ("one", "other")
    waiting = [one for value in values for one in made(2, **{member: value})]
    groups = _group_for_sending(waiting)
    assert sorted(map(len, groups)) == [2, 2]
    for group in groups:
        assert len({getattr(one, member) for one in group}) == 1


@pytest.mark.parametrize("member", ["token", "relay"])
def test_what_admits_one_report_goes_alone(member: str) -> None:
    value: Any = b"t" if member == "token" else "http://relay"
    assert [len(group) for group in _group_for_sending(made(3, **{member: value}))] == [1, 1, 1]


def gone(heard: Heard) -> Told:
    """Has every third report."""
    keys = len(json.loads(heard.body)["keys"])
    return 200, {"withdrawn": keys // 3, "absent": keys - keys // 3}, {}


def test_withdrawals_go_by_the_thousand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of one contract, question and token in one request, and forgotten when it is done."""
    contract, more = collection(), collection(name="other")
    rows = [
        *(("colour", None, contract.digest, number) for number in range(2_001)),
        *(("many", None, contract.digest, number) for number in range(1_000)),
        *(("many", b"t", contract.digest, number) for number in range(2)),
        *(("many", None, more.digest, number) for number in range(5)),
    ]
    reports = [
        WithdrawableReport(
            place.to_bytes(16, "big"), place.to_bytes(32, "big"), digest, question, number, token
        )
        for place, (question, token, digest, number) in enumerate(rows)
    ]
    forgotten: list[list[bytes]] = []
    with impostor(gone) as here, rumor.Client(here.url, tmp_path, contract) as client:
        monkeypatch.setattr(client._respondent, "withdrawable", lambda: reports)
        monkeypatch.setattr(client._respondent, "forget", lambda ids: forgotten.append(list(ids)))
        # 666, or 333, or 0 of each request: 2 x 333 + 0, 333, 0; nothing of the other contract.
        assert client.withdraw() == Withdrawal(999, 2_004, 0, None)
        assert [len(ids) for ids in forgotten] == [1_000, 1_000, 1, 1_000, 2]
        shown = [json.loads(heard.body) for heard in here.heard]
        assert [one["question"] for one in shown] == ["colour"] * 3 + ["many"] * 2
        keys = [[base64.b64decode(key) for key in one["keys"]] for one in shown]
        assert [key[16:] for some in keys for key in some] == [one.id for one in reports[:3_003]]
        assert [id for ids in forgotten for id in ids] == [one.id for one in reports[:3_003]]
        assert [heard.headers.get("rumor-token") for heard in here.heard] == [None] * 4 + ["74"]
        assert client.withdraw(["many"]) == Withdrawal(333, 669, 0, None)


def test_what_could_not_be_withdrawn_is_counted_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused, unknown or away: other requests still go, one attempt each once it was away."""
    contract = collection()
    reports = [
        WithdrawableReport(bytes([place]) * 16, bytes(32), contract.digest, question, 0)
        for place, question in enumerate(["a", "a", "b", "c", "c", "c", "d"])
    ]
    said = {
        "a": (200, {"withdrawn": 1, "absent": 1}),
        "b": (503, {"type": "urn:rumor:problem:unavailable", "detail": "not now"}),
        "c": (404, {"type": "urn:rumor:problem:unknown-collection", "detail": "?"}),
        "d": (403, {"type": "urn:rumor:problem:closed", "detail": "it is closed"}),
    }

    def answer(heard: Heard) -> Told:
        return *said[json.loads(heard.body)["question"]], {}

    forgotten: list[bytes] = []
    monkeypatch.setattr("rumor.client.client.time.sleep", lambda seconds: None)
    with impostor(answer) as here, rumor.Client(here.url, tmp_path, contract, attempts=2) as client:
        monkeypatch.setattr(client._respondent, "withdrawable", lambda: reports)
        monkeypatch.setattr(client._respondent, "forget", forgotten.extend)
        assert client.withdraw() == Withdrawal(1, 1, 5, "it is closed")
        asked = [json.loads(heard.body)["question"] for heard in here.heard]
        assert asked == ["a", "b", "b", "c", "d"]
        assert forgotten == [reports[0].id, reports[1].id]
        found = client.withdraw(["b", "c"])
        assert (found.withdrawn, found.absent, found.left) == (0, 0, 4)
        assert "does not know this collection just now" in str(found.problem)
        said["d"] = said["b"]
        here.heard.clear()
        assert client.withdraw(["b", "d"]) == Withdrawal(0, 0, 2, "not now")
        asked = [json.loads(heard.body)["question"] for heard in here.heard]
        assert asked == ["b", "b", "d"]  # one attempt once the collector was away


@dataclass
class Enrolled:
    """What a device was told of its tokens."""

    told: list[tuple[bytes, list[int], list[bytes]]] = field(default_factory=list)

    def enrol(
        self, contract: object, shown: bytes, some: list[SimpleNamespace], answers: list[bytes]
    ) -> None:
        self.told.append((shown, [one.number for one in some], answers))


def test_tokens_are_asked_for_by_fifty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def signed(heard: Heard) -> Told:
        asked = json.loads(heard.body)["tokens"]
        signatures = [base64.b64encode(bytes([one["number"]])).decode() for one in asked]
        return 200, {"signatures": signatures}, {}

    wanted = [
        SimpleNamespace(key=b"k", number=number, blinded=bytes([number, number]))
        for number in range(101)
    ]
    with impostor(signed) as here:
        contract, found = blind_collection(here.url), Enrolled()
        given = ("http://127.0.0.1:9", tmp_path, contract)
        with rumor.Client(*given, invitation=new_invitation(), attempts=1) as client:
            monkeypatch.setattr(client._respondent, "enrolment", lambda *_: (b"shown", wanted))
            monkeypatch.setattr(client._respondent, "enrol", found.enrol)
            client.enrol()
        asked = [json.loads(heard.body) for heard in here.heard]
    places = [range(50), range(50, 100), range(100, 101)]
    assert found.told == [
        (b"shown", list(some), [bytes([number]) for number in some]) for some in places
    ]
    assert {one["credential"] for one in asked} == {base64.b64encode(b"shown").decode()}
    assert [base64.b64decode(token["blinded"]) for one in asked for token in one["tokens"]] == [
        token.blinded for token in wanted
    ]


def test_who_has_no_invitation_or_no_issuer_asks_for_no_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("tokens were asked for")

    for contract, invitation in (
        (blind_collection(), None),
        (collection(), new_invitation()),
    ):
        with rumor.Client(
            "http://127.0.0.1:9", tmp_path, contract, invitation=invitation, attempts=1
        ) as client:
            monkeypatch.setattr(client._respondent, "enrolment", never)
            client.enrol()
            if contract.issuer is not None:
                with pytest.raises(InputError, match="invitation"):
                    client.answer({"colour": "red"})
