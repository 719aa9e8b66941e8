"""What a device says on the wire, heard by somebody who listens: the same bytes, in no order.

The client for browsers makes the same promises in test_js_wire.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

import rumor
from rumor.client.client import Receipt, _group_for_sending
from rumor.client.ledger import PendingReport
from rumor.contract.admission import admission_key, admission_keys, new_invitation
from rumor.contract.deletion import report_id
from tests.collector.tools import collection, many_questions, two_rounds
from tests.impostor import Heard, Told, failing, impostor, redirecting


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(tmp_path: Path, status: int) -> None:
    """Not even to somebody who would acknowledge, or serve a contract."""
    contract = collection()

    def agreeable(heard: Heard) -> Told:
        served = {"digest": contract.digest, "open": True, "contract": contract.contract()}
        return 200, {**served, "accepted": 1, "duplicates": 0, "withdrawn": 1, "absent": 0}, {}

    with impostor(agreeable) as elsewhere, impostor(redirecting(elsewhere.url, status)) as here:
        with rumor.Client(here.url, tmp_path / "a", contract, attempts=1) as client:
            assert client.answer({"colour": "red"}).sent == 0
            assert client.withdraw().left == 1
            assert len(client.waiting()) == 1
        with (
            rumor.Client(here.url, tmp_path / "b", attempts=1) as client,
            pytest.raises(rumor.InputError, match="a first answer needs the contract"),
        ):
            client.answer({"colour": "red"})
    assert len(here.heard) == 3
    assert elsewhere.heard == []


def test_every_attempt_says_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rumor.client.client.time.sleep", lambda seconds: None)
    code, contract = new_invitation(), many_questions(1, admission="invited")
    with impostor(failing(5)) as here:
        given = (here.url, tmp_path, contract)
        with rumor.Client(*given, invitation=code, attempts=3) as client:
            assert client.answer({"q0": "red"}).waiting == 1
        with rumor.Client(*given, invitation=code, attempts=3) as client:
            assert client.flush() == Receipt(1, 0, 0)
    first = here.heard[0]
    assert len(here.heard) == 6
    assert [each.said for each in here.heard] == [first.said] * 6
    assert len(first.headers["rumor-token"]) == 32
    # Nothing but what the request is for: no cookie, no language, no machine.
    assert set(first.headers) <= {
        "accept-encoding", "connection", "content-length", "content-type", "host", "user-agent",
        "rumor-collection", "rumor-question", "rumor-token",
    }  # fmt: skip
    assert first.headers["user-agent"] == "rumor"


def test_reports_of_a_question_go_in_the_order_of_their_random_ids(tmp_path: Path) -> None:
    with impostor() as here, rumor.Client(here.url, tmp_path, collection()) as client:
        for _ in range(12):
            client._respondent.prepare(collection(), {"colour": "red"})
        made = [envelope.id for envelope in client.waiting()]
        assert client.flush().sent == 12
    (heard,) = here.heard
    sent = [heard.body[at : at + 16] for at in range(0, len(heard.body), 17)]
    assert sent == sorted(made)


def test_questions_go_in_a_random_order() -> None:
    """Ten times the same order of eight has odds of 8!^-9 if it is drawn."""
    waiting = [PendingReport(bytes([n]) * 16, "digest", f"q{n}", b"\x00") for n in range(8)]
    orders = [[group[0].question for group in _group_for_sending(waiting)] for _ in range(10)]
    assert len({tuple(order) for order in orders}) > 1
    assert all(sorted(order) == [f"q{n}" for n in range(8)] for order in orders)


def test_keys_are_shown_in_the_order_of_the_ids(tmp_path: Path) -> None:
    def gone(heard: Heard) -> Told:
        return 200, {"withdrawn": 0, "absent": len(json.loads(heard.body)["keys"])}, {}

    with impostor(gone) as here, rumor.Client(here.url, tmp_path, collection()) as client:
        for _ in range(12):
            client._respondent.prepare(collection(), {"colour": "red"})
        assert client.withdraw().absent == 12
    (heard,) = here.heard
    ids = [report_id(base64.b64decode(key)) for key in json.loads(heard.body)["keys"]]
    assert ids == sorted(ids)


def test_each_report_of_an_invited_person_goes_alone(tmp_path: Path) -> None:
    """A token admits one, and two in a body would be linked."""
    wish = {"kind": "choice", "labels": ["red", "green"], "epsilon": 1.0, "reports_per_person": 3}
    contract = many_questions(1, admission="invited", questions=[{"id": "q0", **wish}])
    with impostor() as here:
        with rumor.Client("http://127.0.0.1:9", tmp_path, contract, attempts=1) as away:
            away._invitation = new_invitation()
            for _ in range(3):
                away.answer({"q0": "red"})
        (tmp_path / "collectors").rename(tmp_path / "gone")
        with rumor.Client(here.url, tmp_path, contract) as client:
            assert client.flush().sent == 3
    assert [len(heard.body) for heard in here.heard] == [17] * 3
    assert len({heard.headers["rumor-token"] for heard in here.heard}) == 3


def test_the_pinned_digest_holds_for_a_remembered_contract(tmp_path: Path) -> None:
    contract = collection()
    served = {"digest": contract.digest, "open": True, "contract": contract.contract()}
    with impostor(lambda heard: (200, served, {})) as here:
        with rumor.Client(here.url, tmp_path) as client:
            client.collection()
        url = here.url
    # Away now: what was seen serves, if it is what the application wants.
    with rumor.Client(url, tmp_path, digest=contract.digest, attempts=1) as client:
        assert client.answer({"colour": "red"}).waiting == 1
    with (
        rumor.Client(url, tmp_path, digest="0" * 64, attempts=1) as client,
        pytest.raises(rumor.InputError, match="must have the digest '0000"),
    ):
        client.answer({"colour": "red"})


def test_tokens_are_counted_over_all_rounds(tmp_path: Path) -> None:
    """Those of a later round are not those of the first, and the collector knows them all."""
    first, second = two_rounds()
    code = new_invitation()
    with rumor.Respondent(tmp_path) as device:
        made = [
            device.prepare(contract, {"uses": {"a": 0.5}}, invitation=code)[0]
            for contract in (first, second)
        ]
    tokens = [envelope.token for envelope in made]
    assert len(set(tokens)) == 2
    keys = {admission_key("series", "uses", token) for token in tokens if token is not None}
    assert keys == set(admission_keys(first, code))
