"""What the client for browsers says on the wire, heard by somebody who listens."""

from __future__ import annotations

import base64
import json

import pytest

from rumor.contract.admission import admission_key, admission_keys, new_invitation
from rumor.contract.collection import Collection
from rumor.contract.deletion import report_id
from tests.collector.tools import collection, many_questions, two_rounds
from tests.impostor import Heard, Told, failing, impostor, redirecting
from tests.javascript import parsed, steps
from tests.needs import needs

needs("node")


@pytest.mark.parametrize("status", [302, 307, 308])
def test_redirects_are_not_followed(status: int) -> None:
    """Not even to somebody who would acknowledge, or serve a contract."""
    contract = collection()

    def agreeable(heard: Heard) -> Told:
        served = {"digest": contract.digest, "open": True, "contract": contract.contract()}
        return 200, {**served, "accepted": 1, "duplicates": 0, "withdrawn": 1, "absent": 0}, {}

    with impostor(agreeable) as elsewhere, impostor(redirecting(elsewhere.url, status)) as here:
        *_, sent, taken_back, pending, fetched = steps(
            parsed(contract),
            {"step": "open"},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "send", "url": here.url, "attempts": 1},
            {"step": "withdraw", "url": here.url},
            {"step": "pending"},
            {"step": "fetch", "url": f"{here.url}/v1/collection"},
        )
    assert (sent["accepted"], sent["pending"], taken_back["left"], len(pending)) == (0, 1, 1, 1)
    assert fetched["code"] == "unreachable"
    assert len(here.heard) == 1 + 3 + 1  # a withdrawal is tried three times
    assert elsewhere.heard == []


def test_every_attempt_says_the_same() -> None:
    code, contract = new_invitation(), many_questions(1, admission="invited")
    with impostor(failing(5)) as here:
        quick = {"step": "send", "url": here.url, "attempts": 3, "pause": 0.001}
        *_, first, second = steps(
            parsed(contract),
            {"step": "open"},
            {"step": "prepare", "answers": {"q0": "red"}, "invitation": code},
            quick,
            quick,
        )
    assert (first["pending"], second["accepted"], second["pending"]) == (1, 1, 0)
    assert len(here.heard) == 6
    assert [each.said for each in here.heard] == [here.heard[0].said] * 6
    headers = here.heard[0].headers
    assert len(headers["rumor-token"]) == 32
    assert not {"cookie", "referer", "authorization"} & set(headers)


def sent_from(contract: Collection, *answers: dict[str, str]) -> tuple[list[str], list[Heard]]:
    """The ids of what was made, and what was heard when it was sent."""
    with impostor() as here:
        *found, sent = steps(
            parsed(contract),
            {"step": "open"},
            *({"step": "prepare", "answers": each} for each in answers),
            {"step": "send", "url": here.url},
        )
    made = [envelope["id"] for step in found[2:] for envelope in step]
    assert sent["accepted"] == len(made)
    return made, here.heard


def test_reports_of_a_question_go_in_the_order_of_their_random_ids() -> None:
    made, (heard,) = sent_from(collection(), *[{"colour": "red"}] * 12)
    sent = [heard.body[at : at + 16].hex() for at in range(0, len(heard.body), 17)]
    assert sent == sorted(made)


def test_questions_go_in_the_order_of_their_random_ids() -> None:
    made, heard = sent_from(many_questions(9), {f"q{n}": "red" for n in range(9)})
    assert [each.body[:16].hex() for each in heard] == sorted(made)


def test_keys_are_shown_in_the_order_of_the_ids() -> None:
    def gone(heard: Heard) -> Told:
        return 200, {"withdrawn": 0, "absent": len(json.loads(heard.body)["keys"])}, {}

    with impostor(gone) as here:
        *_, done = steps(
            parsed(collection()),
            {"step": "open"},
            *[{"step": "prepare", "answers": {"colour": "red"}}] * 12,
            {"step": "withdraw", "url": here.url},
        )
    assert done["absent"] == 12
    (heard,) = here.heard
    ids = [report_id(base64.b64decode(key)) for key in json.loads(heard.body)["keys"]]
    assert ids == sorted(ids)


@pytest.mark.parametrize("said", [{}, {"withdrawn": 2, "absent": 0}, {"withdrawn": 1}, []])
def test_only_a_collector_says_that_reports_are_gone(said: object) -> None:
    with impostor(lambda heard: (200, said, {})) as here:
        *_, done, left = steps(
            parsed(collection()),
            {"step": "open"},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "withdraw", "url": here.url},
            {"step": "sent"},
        )
    assert (done["withdrawn"], done["absent"], done["left"], left) == (0, 0, 1, 1)
    assert done["problem"]


def test_each_report_of_an_invited_person_goes_alone() -> None:
    """A token admits one, and two in a body would be linked."""
    wish = {"kind": "choice", "labels": ["red", "green"], "epsilon": 1.0, "reports_per_person": 3}
    contract = many_questions(1, admission="invited", questions=[{"id": "q0", **wish}])
    code = new_invitation()
    with impostor() as here:
        steps(
            parsed(contract),
            {"step": "open"},
            *[{"step": "prepare", "answers": {"q0": "red"}, "invitation": code}] * 3,
            {"step": "send", "url": here.url},
        )
    assert [len(heard.body) for heard in here.heard] == [17] * 3
    assert len({heard.headers["rumor-token"] for heard in here.heard}) == 3


def test_reports_go_to_the_collector_of_their_series() -> None:
    ours, theirs = many_questions(1), many_questions(2, series="theirs")
    with impostor() as here:
        *_, sent, pending = steps(
            parsed(ours, **{"as": "ours"}),
            parsed(theirs, **{"as": "theirs"}),
            {"step": "open"},
            {"step": "prepare", "of": "ours", "answers": {"q0": "red"}},
            {"step": "prepare", "of": "theirs", "answers": {"q0": "red"}},
            {"step": "send", "of": "ours", "url": here.url},
            {"step": "pending"},
        )
    assert (sent["accepted"], sent["pending"]) == (1, 0)
    assert [envelope["contract"] for envelope in pending] == [theirs.digest]
    assert [heard.headers["rumor-collection"] for heard in here.heard] == [ours.digest]


def test_tokens_are_counted_over_all_rounds() -> None:
    first, second = two_rounds()
    code = new_invitation()
    *_, state = steps(
        parsed(first, **{"as": "first"}),
        parsed(second, **{"as": "second"}),
        {"step": "open"},
        *(
            {"step": "prepare", "of": of, "answers": {"uses": {"a": 0.5}}, "invitation": code}
            for of in ("first", "second")
        ),
        {"step": "state"},
    )
    tokens = [bytes.fromhex(row["token"]) for row in state["pending"]]
    keys = {admission_key("series", "uses", token) for token in tokens}
    assert keys == set(admission_keys(first, code))
    assert len(keys) == 2


def test_a_contract_is_what_its_digest_says_wherever_it_comes_from() -> None:
    contract = collection()
    served = {"digest": contract.digest, "open": True, "contract": contract.contract()}
    with impostor(lambda heard: (200, served, {})) as here:
        found = steps(
            *({"step": "fetch", "url": here.url, "digest": d} for d in (contract.digest, "0" * 64))
        )
    assert found[0] == contract.digest
    assert found[1]["code"] == "digest"
