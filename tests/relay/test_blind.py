"""The whole way: an issuer that knows who, a relay that knows when, a gateway that knows what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rumor.client.respondent import Respondent
from rumor.collector.http.server import background, listen
from rumor.collector.issuing import IssuerService
from rumor.collector.store.base import Store, open_store
from rumor.core.errors import InputError
from tests.collector.tools import stored
from tests.issuers import KEYS, blind_wish, invite, made_token
from tests.javascript import steps
from tests.needs import needs
from tests.relay.test_devices import client, delivered, released
from tests.relay.test_gateway import hand_over, outcomes
from tests.relay.tools import Path3, kind_of, running


@contextmanager
def whole_path(
    folder: Path, store_url: str | None = None, *, crowd: int = 5, turn_hours: int | None = None
) -> Iterator[tuple[Path3, Store]]:
    """Issuer, relay and collector in threads; and the issuer's store."""
    listener = listen("127.0.0.1", 0)
    wish: dict[str, Any] = blind_wish(f"http://127.0.0.1:{listener.getsockname()[1]}")
    # One person's reports alone must be no crowd, unless turns keep them apart.
    most = 2 if turn_hours is not None else min(2, crowd - 1)
    questions = [{**each, "reports_per_person": most} for each in wish["questions"]]
    with running(
        folder,
        store_url,
        crowd=crowd,
        turn_hours=turn_hours,
        admission="blind",
        issuer=wish["issuer"],
        questions=questions,
    ) as path:
        people = open_store(f"sqlite:///{folder / 'issuer.db'}")
        people.register(path.collection)
        with background(IssuerService(people, path.collection, KEYS), listener=listener):
            yield path, people


def test_from_the_issuer_to_the_gateway(tmp_path: Path, store_url: str) -> None:
    """Three people enrol and answer; what arrives is named by their tokens, and taken once."""
    ids = {}
    with whole_path(tmp_path, store_url, crowd=3) as (path, people):
        codes = [invite(people)[0] for _ in range(3)]
        for number, code in enumerate(codes):
            with client(path, tmp_path / f"device-{number}", invitation=code) as device:
                receipt = device.answer({"colour": "red"})
                assert (receipt.sent, receipt.waiting, receipt.problem) == (1, 0, None)
                (made,) = device._respondent.withdrawable()
                ids[number] = made.id
        # Nobody else gets tokens for these invitations, and nothing is spent in trying.
        with client(path, tmp_path / "other", invitation=codes[0]) as other:
            with pytest.raises(InputError, match="another device has used it"):
                other.answer({"colour": "red"})
            assert other.spent == 0
        assert stored(path.store, path.entry, "colour") == {}
        released(path)
        held = delivered(path, 3)
        assert set(held) == set(ids.values())
        assert outcomes(path) == {"accepted": 3}
        with client(path, tmp_path / "device-0") as device:
            assert device.withdraw().withdrawn == 1
        assert set(stored(path.store, path.entry, "colour")) == {ids[1], ids[2]}


def test_a_withdrawn_token_is_a_spent_one(tmp_path: Path) -> None:
    """What is taken back while it is at the relay never counts, and its token admits no more."""
    with whole_path(tmp_path, crowd=2) as (path, people):
        for name in ("sorry", "glad"):
            (code,) = invite(people)
            with client(path, tmp_path / name, invitation=code) as device:
                device.answer({"colour": "red"})
                (made,) = device._respondent.withdrawable()
                if name == "sorry":
                    taken = device.withdraw()
                    assert (taken.withdrawn, taken.absent, taken.left) == (0, 1, 0)
        released(path)
        assert set(delivered(path, 1)) == {made.id}
        assert path.service.metrics.reports["duplicate"] == 1


def test_what_a_device_keeps_is_what_it_sealed(tmp_path: Path) -> None:
    """The id, the token and the report within are those beside it; the sizes are the page's."""
    with whole_path(tmp_path) as (path, people):
        (code,) = invite(people)
        with client(path, tmp_path / "device", invitation=code) as device:
            device.enrol()
        # Tokens are of the collector that they were fetched for.
        with Respondent(tmp_path / "device", collector=path.collector_url) as person:
            (made,) = person.prepare(path.collection, {"home": "news"})
            (made_id,) = (each.id for each in person.withdrawable())
        kind = kind_of(path.collection, "home")
        assert made.sealed is not None
        assert made.token is not None
        assert len(made.sealed) == kind.size == kind.width + 401
        assert made_id == made.id
        assert path.service.gateway is not None
        key = path.service.gateway.key_of(path.collection)
        opened = kind.open(key, made.sealed, path.collection)
        assert opened is not None
        assert (opened[0].id, opened[0].key, opened[1]) == (made.id, None, made.report)


def test_forged_tokens_are_dropped_singly(tmp_path: Path, store_url: str) -> None:
    with whole_path(tmp_path, store_url) as (path, _):
        kind = kind_of(path.collection)
        tokens = [bytes.fromhex(made_token("colour")[1]) for _ in range(4)]
        elsewhere = bytes.fromhex(made_token("home")[1])
        first = tokens[0]

        def sealed(token: bytes, report: bytes = b"\x00") -> bytes:
            return kind.seal(b"", token, report)

        def spoilt(at: int) -> bytes:
            return sealed(first[:at] + bytes([first[at] ^ 1]) + first[at + 1 :])

        good = [sealed(token) for token in tokens]
        bad = [
            *(spoilt(at) for at in (0, 63, 64, 319)),
            sealed(elsewhere),
            sealed(bytes(320)),
            sealed(first[:64] + b"\xff" * 256),
            sealed(first, b"\x01"),  # the same token for another answer
        ]
        batch = [*good[:2], *bad, *good[2:]]
        answer = hand_over(path, batch)
        assert (answer.status, answer.json()) == (200, {"taken": 12})
        assert outcomes(path) == {"accepted": 4, "dropped": 8}
        again = [sealed(token) for token in tokens]
        assert hand_over(path, again).json() == {"taken": 4}
        assert outcomes(path) == {"accepted": 4, "duplicate": 4, "dropped": 8}
        assert set(stored(path.store, path.entry, "colour").values()) == {b"\x00"}


def test_a_browser_goes_the_whole_way(tmp_path: Path) -> None:
    needs("node")
    with whole_path(tmp_path, crowd=2) as (path, people):
        asked: list[dict[str, object]] = [
            {"step": "fetch", "url": f"{path.collector_url}/v1/collection"}
        ]
        for who in ("a", "b"):
            (code,) = invite(people)
            given = {"answers": {"colour": "red"}, "invitation": code}
            asked += [
                {"step": "open", "as": who},
                {"step": "prepare", "by": who, **given},
                {"step": "send", "by": who, "url": path.collector_url, "delay": 0},
            ]
        _, _, (one,), first, _, (other,), second = steps(*asked)
        for outcome in (first, second):
            assert (outcome["accepted"], outcome["pending"], outcome["problem"]) == (1, 0, None)
        assert stored(path.store, path.entry, "colour") == {}
        released(path)
        assert {id.hex() for id in delivered(path, 2)} == {one["id"], other["id"]}


def test_a_browser_withdraws_what_is_at_the_relay(tmp_path: Path) -> None:
    """It shows the token with the key; what waits at the relay never counts."""
    needs("node")
    with whole_path(tmp_path, crowd=2) as (path, people):
        asked: list[dict[str, object]] = [
            {"step": "fetch", "url": f"{path.collector_url}/v1/collection"}
        ]
        for who, question, answer in (("a", "colour", "red"), ("b", "colour", "red")):
            (code,) = invite(people)
            given = {"answers": {question: answer}, "invitation": code}
            asked += [
                {"step": "open", "as": who},
                {"step": "prepare", "by": who, **given},
                {"step": "send", "by": who, "url": path.collector_url, "delay": 0},
            ]
        back = {"step": "withdraw", "by": "a", "url": path.collector_url}
        *_, (stays,), _, taken, again = steps(*asked, back, back)
        assert (taken["withdrawn"], taken["absent"], taken["left"]) == (0, 1, 0)
        assert taken["problem"] is None
        assert (again["withdrawn"], again["absent"], again["left"]) == (0, 0, 0)
        released(path)
        assert {id.hex() for id in delivered(path, 1)} == {stays["id"]}
        assert path.service.metrics.reports["duplicate"] == 1
