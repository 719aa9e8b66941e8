"""Blind tokens in JavaScript: Python's bytes, and the same way through issuer and collector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.contract.admission import new_invitation
from rumor.core.blind_rsa import blind_sign, finalize
from tests.collector.tools import send, stored
from tests.contract.test_issuing import WRONG, wrong_wish
from tests.issuers import SECRETS, VECTORS, blind_collection, invite, issuing
from tests.javascript import node, parsed, steps


def test_the_vectors_are_the_same() -> None:
    found = node("blind.mjs", given=VECTORS)
    assert found["people"] == [
        {key: person[key] for key in ("credential", "person")} for person in VECTORS["people"]
    ]
    for token, made in zip(VECTORS["tokens"], found["tokens"], strict=True):
        for key in ("message", "id", "name", "blinded", "inverse", "signature"):
            assert made[key] == token[key], key
        assert (made["wrong"], made["verified"]) == (None, [True, False])
        # What it draws by itself, Python signs and opens.
        secret = next(key for key in SECRETS if key.public.to_bytes().hex() == token["key"])
        answer = blind_sign(secret, bytes.fromhex(made["random"]["blinded"]))
        message, inverse = bytes.fromhex(token["message"]), int(made["random"]["inverse"], 16)
        assert finalize(secret.public, message, answer, inverse).hex() != token["signature"]
    # Every token has a factor of its own.
    assert len({made["random"]["inverse"] for made in found["tokens"]}) == len(found["tokens"])


def test_what_python_refuses_of_an_issuer_javascript_refuses() -> None:
    documents = []
    for change in (change for change, _ in WRONG if change != {"issuer": None}):
        wish = wrong_wish(change)
        contract = {**blind_collection().contract(), "issuer": wish["issuer"]}
        said = {} if wish["admission"] == "open" else {"admission": wish["admission"]}
        del contract["admission"]
        documents.append({**contract, **said})
    given = [{"step": "parse", "contract": json.dumps(each)} for each in documents]
    found = steps(*given)
    for (change, _), refused in zip(WRONG[1:], found, strict=True):
        assert isinstance(refused, dict), change
        assert refused["code"] == "contract", change


def test_a_contract_needs_its_issuer() -> None:
    document = dict(blind_collection().contract())
    del document["issuer"]
    good, refused = steps(
        parsed(blind_collection()), {"step": "parse", "contract": json.dumps(document)}
    )
    assert good == blind_collection().digest
    assert refused["code"] == "contract"


@pytest.fixture
def way(tmp_path: Path) -> Iterator[tuple[Store, Store, StoredCollection, str]]:
    """An issuer's store, a collector's, the collection and where it is served."""
    issuer = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with issuing(issuer) as contract:
        entry = store.register(contract)
        with background(Service(store, "series")) as url:
            yield issuer, store, entry, url


Way = tuple[Store, Store, StoredCollection, str]


def test_enrol_answer_and_take_back(way: Way) -> None:
    issuer, store, entry, url = way
    (code,) = invite(issuer)
    found = steps(
        {"step": "fetch", "url": f"{url}/v1/collection"},
        {"step": "open"},
        {"step": "enrol", "invitation": code},
        {"step": "state"},
        # From now on the invitation is not needed.
        {"step": "prepare", "answers": {"colour": "red", "home": "news"}},
        {"step": "send", "url": url},
        {"step": "prepare", "answers": {"home": "news"}},
        {"step": "send", "url": url},
        {"step": "prepare", "answers": {"home": "mail"}},
        {"step": "spent"},
        {"step": "sent"},
        {"step": "state"},
        {"step": "withdraw", "url": url},
    )
    tokens = found[3]["tokens"]
    assert [len(token["signature"]) for token in tokens] == [512] * 3
    assert not any("blinded" in token or "inverse" in token for token in tokens)
    assert (found[5]["accepted"], found[7]["accepted"]) == (2, 1)
    assert found[8]["code"] == "limit"
    assert (found[9], found[10]) == (3, 3)
    assert all("signature" not in token and not token["opening"] for token in found[11]["tokens"])
    assert (found[12]["withdrawn"], found[12]["absent"]) == (3, 0)
    assert stored(store, entry, "home") == {}


def test_without_a_token_nothing_is_made(way: Way, tmp_path: Path) -> None:
    issuer, store, entry, url = way
    (code,) = invite(issuer)
    answers = {"step": "prepare", "answers": {"colour": "red"}}
    found = steps(
        {"step": "fetch", "url": f"{url}/v1/collection"},
        {"step": "open"},
        answers,
        {**answers, "invitation": "rumor-invitation-slip"},
        {**answers, "invitation": new_invitation()},
        parsed(blind_collection(), **{"as": "away"}),
        {**answers, "of": "away", "invitation": code},
        {"step": "spent"},
        {"step": "pending"},
        # Nobody was at that address: what it had made goes to the real one, and is signed.
        {**answers, "invitation": code},
        {"step": "send", "url": url},
        # Another device with the same invitation comes too late.
        {"step": "open", "as": "late"},
        {**answers, "by": "late", "invitation": code},
    )
    assert [each["code"] for each in found[2:5]] == ["invitation"] * 3
    assert found[6]["code"] == "issuer"
    assert "nothing was made or spent" in found[6]["error"]
    assert (found[7], found[8]) == (0, [])
    assert found[10]["accepted"] == 1
    assert "or another device has used it" in found[4]["error"]
    assert "or another device has used it" in found[12]["error"]
    assert len(stored(store, entry, "colour")) == 1


def test_a_token_that_was_spent_locks_nobody_out(way: Way) -> None:
    issuer, store, entry, url = way
    first, second = invite(issuer, new_invitation(), new_invitation())
    head: list[dict[str, Any]] = [
        {"step": "fetch", "url": f"{url}/v1/collection"},
        {"step": "open"},
        {"step": "prepare", "answers": {"home": "news"}, "invitation": first},
        {"step": "state"},
    ]
    kept = steps(*head)[-1]
    (waiting,) = kept["pending"]
    stolen = bytes([(bytes.fromhex(waiting["report"])[0] + 1) % 3])
    body = bytes.fromhex(waiting["id"]) + stolen
    quick = send(url, entry.collection, "home", body, Rumor_Token=waiting["token"])
    assert quick.status == 200
    found = steps(
        head[0],
        {"step": "open", "state": kept},
        {"step": "send", "url": url},
        {"step": "send", "url": url, "invitation": first},
        {"step": "send", "url": url, "invitation": second},
        {"step": "spent"},
        {"step": "withdraw", "url": url},
        {"step": "state"},
    )
    assert [each["refusal"] for each in found[2:4]] == ["id-conflict"] * 2
    assert (found[4]["accepted"], found[4]["pending"], found[5]) == (1, 0, 1)
    assert (found[6]["withdrawn"], found[6]["absent"]) == (1, 0)
    # The first invitation's other token was not talked out of the device.
    left = [token for token in found[7]["tokens"] if token.get("signature")]
    assert len(left) == 4
    assert stored(store, entry, "home") == {bytes.fromhex(waiting["id"]): stolen}
