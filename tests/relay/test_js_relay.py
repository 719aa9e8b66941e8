"""Envelopes in the browser's language: the same bytes open on both sides, the same rules hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rumor.contract.admission import new_invitation
from rumor.contract.envelope import AdmittedReport
from tests.collector.tools import stored
from tests.javascript import node, parsed, refusals, steps
from tests.needs import needs
from tests.relay import hpke
from tests.relay.test_devices import delivered
from tests.relay.test_envelope import INFO, VECTORS
from tests.relay.tools import PRIVATE, PUBLIC, SECRET, kind_of, relayed, running

needs("node")


def test_python_and_javascript_open_what_the_other_seals() -> None:
    contract = relayed()
    kind, body = kind_of(contract), b"j" * 16 + b"\x02"
    _, ephemeral, enc, _, public, _, key, nonce, _ = VECTORS["A.3.1"]
    joint = hpke.P256.exchange(bytes.fromhex(ephemeral), bytes.fromhex(public))
    found = node(
        "relay.mjs",
        given={
            "secret": SECRET.hex(),
            "receiver": PUBLIC,
            "digest": contract.digest,
            "question": "colour",
            "plain": body.hex(),
            "sealed": kind.seal(b"i" * 16, None, b"\x01").hex(),
            "vector": {"joint": joint.hex(), "enc": enc, "receiver": public, "info": INFO},
        },
    )
    assert found["info"] == kind.info.hex()
    assert found["opened"] == (b"i" * 16 + b"\x01").hex()
    sealed = bytes.fromhex(found["sealed"])
    assert len(sealed) == kind.size
    assert kind.open(PRIVATE, sealed, contract) == (AdmittedReport(b"j" * 16), b"\x02")
    assert found["schedule"] == key + nonce


@pytest.mark.parametrize("admission", ["open", "invited"])
def test_a_browser_keeps_what_the_gateway_opens(admission: str) -> None:
    contract = relayed(admission=admission)
    invitation = new_invitation()
    _, _, (made,), state = steps(
        parsed(contract),
        {"step": "open"},
        {"step": "prepare", "answers": {"colour": "red"}, "invitation": invitation},
        {"step": "state"},
    )
    (row,) = state["pending"]
    assert row["relay"] == "http://127.0.0.1:9"
    assert row["report"] == made["report"]
    kind = kind_of(contract)
    sealed = bytes.fromhex(row["sealed"])
    assert len(sealed) == kind.size
    opened = kind.open(PRIVATE, sealed, contract)
    assert opened is not None
    assert (opened[0].id.hex(), opened[1].hex()) == (made["id"], made["report"])
    assert (opened[0].key is None) == (admission == "open")
    if admission == "invited":
        token = bytes.fromhex(row["token"])
        ticket = kind.header.read(opened[0].id + token, contract, "colour")
        assert ticket == opened[0]


def test_a_browser_answers_through_a_relay(tmp_path: Path) -> None:
    with running(tmp_path, crowd=6) as path:
        asked: list[dict[str, Any]] = [
            {"step": "fetch", "url": f"{path.collector_url}/v1/collection"}
        ]
        for who in ("a", "b", "c"):
            asked += [
                {"step": "open", "as": who},
                {"step": "prepare", "by": who, "answers": {"colour": "red"}},
                {"step": "prepare", "by": who, "answers": {"colour": "blue"}},
                {"step": "send", "by": who, "url": path.collector_url, "delay": 0},
                {"step": "state", "store": who},
            ]
        found = steps(*asked)
        for place in (4, 9, 14):
            outcome = found[place]
            assert (outcome["accepted"], outcome["pending"], outcome["problem"]) == (2, 0, None)
            assert found[place + 1]["pending"] == []
        assert stored(path.store, path.entry, "colour") == {}
        path.release()
        ids = {found[place][0]["id"] for at in (2, 7, 12) for place in (at, at + 1)}
        assert {id.hex() for id in delivered(path, 6)} == ids


def test_a_browser_reads_the_same_rules() -> None:
    contract = json.loads(relayed().canonical())
    changes: list[dict[str, object]] = [
        {},
        {"url": "https://x/"},
        {"url": "https://x; script-src *"},
        {"key": "04" + "0" * 128},
        {"key": PUBLIC[:-2]},
        {"crowd": 1},
        {"days": 0},
        {"more": 1},
        {"turn_hours": 0},
        {"turn_hours": 8761},
        {"turn_hours": 1.5},
        {"turn_hours": None},
        {"turn_hours": 24},
    ]
    given = [
        {"step": "parse", "contract": {**contract, "relay": {**contract["relay"], **change}}}
        for change in changes
    ]
    first, *others = refusals(
        steps(*given, {"step": "parse", "contract": {**contract, "relay": None}})
    )
    assert first is None
    rules = [*["the url of a relay"] * 2, *["key of relay"] * 2, "crowd of relay", "days of relay"]
    said = [sentence and sentence.partition(" must be ")[0] for sentence in others]
    assert said[:6] == rules
    assert others[6] is not None
    assert others[6].startswith("relay must have exactly the members url, key, crowd, days")
    rule = "turn_hours of relay must be an integer from 1 to 8760"
    assert [str(each).partition(";")[0] for each in others[7:10]] == [rule] * 3
    assert others[10] is not None
    assert others[10].startswith("relay leaves turn_hours null out")
    assert others[11] is None
    assert others[12] is not None
