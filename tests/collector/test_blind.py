"""Tokens that an issuer signs without seeing them: each spent once, and nobody can trace one."""

from __future__ import annotations

import base64
import json
import secrets
import sqlite3
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.client.transport import Transport, Unreachable
from rumor.collector.http.problems import Problem
from rumor.collector.http.server import background
from rumor.collector.issuing import IssuerService
from rumor.collector.service import Service
from rumor.collector.store.base import BlindedToken, Store, open_store
from rumor.contract.admission import new_invitation, read_invitation
from rumor.contract.collection import Collection
from rumor.contract.issuing import (
    admitted_id,
    credential,
    credential_digest,
    key_name,
    new_opening,
    token_message,
)
from rumor.core.blind_rsa import EXPONENT, PublicKey, blind, blind_sign, verify
from rumor.core.errors import InputError
from tests.collector.tools import Answer, call, rows, send, stored
from tests.issuers import KEYS, SECRETS, blind_collection, invite, issuing, made_token

NAMES = {id: key_name(key.public) for id, key in KEYS.secrets.items()}


def wanted(question: str = "colour", number: int = 0) -> BlindedToken:
    message = token_message(new_opening())
    return BlindedToken(
        NAMES[question], number, blind(KEYS.secrets[question].public, message).message
    )


def person(code: str) -> bytes:
    return credential_digest(credential(read_invitation(code), "series"))


def as_text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.fixture
def issuer(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'issuer.db'}")


class TestStore:
    def test_a_number_is_signed_for_once(self, store: Store) -> None:
        store.register(blind_collection())
        (code,) = invite(store)
        me, first, second = person(code), wanted(), wanted("home")
        assert store.issue("series", bytes(32), [first]) is None
        assert store.issue("other", me, [first]) is None
        assert store.issue("series", me, [second, first]) == ()
        assert store.issue("series", me, [first]) == ()  # the same again
        other, more = wanted(), wanted("home", 1)
        assert store.issue("series", me, [more, first, other]) == (2,)
        # Nothing of what was refused is kept: this number is still free.
        assert store.issue("series", me, [wanted("home", 1)]) == ()
        assert store.invited("series") == 1
        (another,) = invite(store)
        assert store.issue("series", person(another), [other]) == ()

    def test_deleting_the_collection_deletes_its_people(self, store: Store) -> None:
        entry = store.register(blind_collection())
        (code,) = invite(store)
        store.issue("series", person(code), [wanted()])
        store.delete_collection(entry.collection.digest)
        assert store.invited("series") == 0
        assert store.issue("series", person(code), [wanted()]) is None

    def test_devices_that_race_for_a_number_get_one_token(self, store_url: str) -> None:
        """Four processes' worth of stores, twelve messages for one number: one is signed."""
        stores = [open_store(store_url) for _ in range(4)]
        stores[0].register(blind_collection())
        (code,) = invite(stores[0])
        me = person(code)

        def issue(turn: int) -> tuple[int, ...] | None:
            pair = [wanted(), wanted("home", turn % 2)]
            return stores[turn % 4].issue("series", me, pair[:: 1 if turn % 3 else -1])

        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(issue, range(12)))
        assert found.count(()) == 1
        assert None not in found
        for each in stores:
            each.close()


def spend(
    url: str, contract: Collection, question: str, report: bytes, id: bytes, token: str
) -> Answer:
    return send(url, contract, question, id + report, Rumor_Token=token)


class TestSpending:
    def test_twenty_tokens_spent_a_hundred_and_sixty_times(self, store_url: str) -> None:
        """Through two collectors at once: each token admits one report, whichever comes first."""
        many = {"id": "home", "kind": "choice", "domain": 30, "epsilon": 1.0, "mechanism": "unary"}
        colour = {"id": "colour", "kind": "choice", "domain": 2, "epsilon": 1.0}
        contract = blind_collection(questions=[colour, many])
        stores = [open_store(store_url) for _ in range(2)]
        entry = stores[0].register(contract)
        tokens = [made_token("home") for _ in range(20)]
        # Eight different reports for each token.
        reports = [
            np.packbits(np.eye(30, dtype=np.uint8)[i], bitorder="little").tobytes()
            for i in range(8)
        ]
        with (
            background(Service(stores[0], "series")) as one,
            background(Service(stores[1], "series")) as other,
        ):
            start = threading.Barrier(32)

            def post(turn: int) -> tuple[int, int, str]:
                if turn < 32:
                    start.wait(60)
                id, token = tokens[turn % 20]
                url = (one, other)[turn // 20 % 2]
                answer = spend(url, contract, "home", reports[turn // 20], id, token)
                if answer.status == 200:
                    return turn, answer.json()["accepted"], ""
                return turn, 0, answer.problem

            with ThreadPoolExecutor(32) as pool:
                found = list(pool.map(post, range(160)))
            accepted = [turn for turn, new, _ in found if new]
            assert len(accepted) == 20
            assert sorted(turn % 20 for turn in accepted) == list(range(20))
            assert Counter(problem for _, _, problem in found) == {"": 20, "id-conflict": 140}
            kept = stored(stores[0], entry, "home")
            assert kept == {tokens[t % 20][0]: reports[t // 20] for t in accepted}
            # The same bytes again are a duplicate, which whoever lost the answer needs.
            turn = accepted[0]
            again = spend(one, contract, "home", reports[turn // 20], *tokens[turn % 20])
            assert again.json() == {"accepted": 0, "duplicates": 1}

    def test_only_what_the_questions_key_signed_admits_and_only_its_own_report(
        self, tmp_path: Path
    ) -> None:
        contract = blind_collection()
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = store.register(contract)
        id, token = made_token("colour")
        report = rows(entry, "colour", [0])[0, 16:].tobytes()
        forged = made_token("colour", {"colour": SECRETS[1]})
        with background(Service(store, "series")) as url:
            wrong: list[tuple[str, bytes, bytes, str]] = [
                ("colour", report, id, ""),
                ("colour", report, id, "zz"),
                ("colour", report, id, token[:-2]),
                ("colour", report, id, token[:-2] + ("00" if token[-2:] != "00" else "01")),
                ("colour", report, secrets.token_bytes(16), token),
                ("colour", report, *forged),
                ("home", report, id, token),
                ("colour", report + id + report, id, token),
            ]
            for question, body, name, shown in wrong:
                answer = spend(url, contract, question, body, name, shown)
                assert (answer.status, answer.problem) == (403, "not-admitted"), shown[:20]
            assert stored(store, entry, "colour") == {}
            assert spend(url, contract, "colour", report, id, token).json()["accepted"] == 1

    def test_the_check_that_a_gateway_needs(self) -> None:
        issuer = blind_collection().issuer
        assert issuer is not None
        id, token = made_token("colour")
        message, signature = bytes.fromhex(token)[:64], bytes.fromhex(token)[64:]
        assert admitted_id(issuer, "colour", message, signature) == id
        assert admitted_id(issuer, "home", message, signature) is None
        assert admitted_id(issuer, "colour", message[:-1], signature) is None
        assert admitted_id(issuer, "colour", message, signature[:-1] + b"\x00\x00") is None

    def test_a_token_of_one_revision_is_no_second_one_of_the_next(self, store: Store) -> None:
        first = blind_collection()
        second = blind_collection(revision=2, previous=first.digest)
        store.register(first)
        entry = store.register(second, revise=True)
        id, token = made_token("colour")
        report = rows(entry, "colour", [0])[0, 16:].tobytes()
        with background(Service(store, "series")) as url:
            assert spend(url, first, "colour", report, id, token).status == 200
            assert spend(url, second, "colour", report, id, token).problem == "id-conflict"


class TestIssuer:
    def ask(self, contract: Collection, code: str, *tokens: BlindedToken, **more: object) -> Answer:
        assert contract.issuer is not None
        shown = credential(read_invitation(code), "series")
        document = {
            "credential": as_text(shown),
            "tokens": [
                {"key": as_text(t.key), "number": t.number, "blinded": as_text(t.blinded)}
                for t in tokens
            ],
            **more,
        }
        headers = {"Content-Type": "application/json"}
        return call(contract.issuer.url, "/v1/tokens", json.dumps(document).encode(), headers)

    def test_it_signs_for_the_invited_what_it_has_not_signed_otherwise(self, issuer: Store) -> None:
        with issuing(issuer) as contract:
            (code,) = invite(issuer)
            one, other = wanted(), wanted("home", 1)
            found = self.ask(contract, code, one, other)
            assert found.headers["access-control-allow-origin"] == "*"
            signed = [base64.b64decode(each) for each in found.json()["signatures"]]
            assert signed == [
                blind_sign(KEYS.secrets[id], each.blinded)
                for id, each in (("colour", one), ("home", other))
            ]
            assert self.ask(contract, code, one, other).body == found.body
            again = self.ask(contract, code, wanted(), other)
            assert (again.problem, again.json()["refused"]) == ("not-admitted", [0])
            assert self.ask(contract, new_invitation(), wanted()).problem == "not-admitted"
            assert call(str(contract.issuer and contract.issuer.url), "/healthz").status == 200

    def test_what_it_does_not_understand_is_refused_in_a_sentence(self, issuer: Store) -> None:
        with issuing(issuer) as contract:
            (code,) = invite(issuer)
            one = wanted()
            for tokens, more, problem in (
                ([one, one], {}, "malformed"),
                ([], {}, "too-large"),
                ([wanted("home", 0)] * 51, {}, "too-large"),
                ([BlindedToken(one.key, 1, one.blinded)], {}, "malformed"),
                ([BlindedToken(one.key, -1, one.blinded)], {}, "malformed"),
                ([BlindedToken(one.key, 0, one.blinded[1:])], {}, "malformed"),
                ([BlindedToken(one.key, 0, b"\xff" * 256)], {}, "malformed"),
                ([BlindedToken(bytes(16), 0, one.blinded)], {}, "unknown-collection"),
                ([one], {"credential": "AAAA"}, "malformed"),
                ([one], {"more": 1}, "malformed"),
                ([one], {"credential": 7}, "malformed"),
            ):
                answer = self.ask(contract, code, *tokens, **more)
                assert answer.problem == problem, (tokens, more, answer.body)
            # What cannot be signed spoils its number for nobody.
            assert self.ask(contract, code, wanted("home", 1)).status == 200

    def test_keys_that_the_contract_does_not_promise_are_refused(self, issuer: Store) -> None:
        swapped = type(KEYS)("series", dict(zip(("colour", "home"), SECRETS[::-1], strict=True)))
        with pytest.raises(InputError, match="that of question 'colour' is another"):
            IssuerService(issuer, blind_collection(), swapped)


def test_people_answer_and_neither_side_can_tell_who(store_url: str, issuer: Store) -> None:
    """All that the issuer, the collector and both stores ever had: every pair is possible."""
    seen: list[bytes] = []
    shown: list[tuple[bytes, bytes]] = []
    sign, take = IssuerService.sign, Service.take

    async def signing(
        self: IssuerService, credential: bytes, tokens: list[BlindedToken]
    ) -> list[bytes]:
        seen.extend(each.blinded for each in tokens if each.key == NAMES["colour"])
        return await sign(self, credential, tokens)

    async def taking(self: Service, *arguments: object) -> object:
        token = bytes.fromhex(str(arguments[3]))
        shown.append((token[:64], token[64:]))
        return await take(self, *arguments)  # type: ignore[arg-type]

    store = open_store(store_url)
    folder = Path(str(issuer.database.dialect._path)).parent  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch, issuing(issuer) as contract:
        patch.setattr(IssuerService, "sign", signing)
        patch.setattr(Service, "take", taking)
        entry = store.register(contract)
        codes = invite(issuer, *(new_invitation() for _ in range(6)))
        with background(Service(store, "series")) as url:
            for i, code in enumerate(codes):
                with rumor.Client(url, folder / f"device-{i}", invitation=code) as client:
                    assert client.answer({"colour": "red"}).sent == 1
        store = open_store(store_url)
        kept = stored(store, entry, "colour")
    signer = contract.issuer
    assert signer is not None
    public: PublicKey = KEYS.secrets["colour"].public
    assert len(seen) == len(shown) == len(kept) == 6
    factors = set()
    for blinded in seen:
        signed = int.from_bytes(blind_sign(KEYS.secrets["colour"], blinded), "big")
        for message, signature in shown:
            assert verify(public, message, signature)
            assert admitted_id(signer, "colour", message, signature) in set(kept)
            token = int.from_bytes(signature, "big")
            factor = signed * pow(token, -1, public.modulus) % public.modulus
            encoded = pow(token, EXPONENT, public.modulus)
            hidden = encoded * pow(factor, EXPONENT, public.modulus) % public.modulus
            assert hidden == int.from_bytes(blinded, "big")
            factors.add(factor)
    # Of every pair one factor, and each another one: nothing singles out who is who.
    assert len(factors) == 36
    # The issuer's files have nothing of what the collector saw.
    files = b"".join(path.read_bytes() for path in folder.glob("issuer.db*"))
    assert person(codes[0]) in files
    for id in kept:
        assert id not in files
    for message, signature in shown:
        assert message[:32] not in files
        assert message[32:] not in files
        assert signature not in files
    store.close()


class TestDevice:
    def test_all_tokens_are_fetched_at_once_and_blinding_is_forgotten(
        self, tmp_path: Path, issuer: Store
    ) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        with issuing(issuer) as contract:
            store.register(contract)
            (code,) = invite(issuer)
            with background(Service(store, "series")) as url:
                with rumor.Client(url, tmp_path / "me", invitation=code) as client:
                    client.enrol()
                    assert client.spent == 0
                database = sqlite3.connect(tmp_path / "me" / "ledger.sqlite3")
                kept = database.execute("SELECT blinded, inverse, signature FROM token").fetchall()
                database.close()
                assert [(row[0], row[1], len(row[2])) for row in kept] == [(None, None, 256)] * 3
                # From now on neither the issuer nor the invitation is needed.
                with rumor.Client(url, tmp_path / "me") as client:
                    assert client.answer({"colour": "red", "home": "news"}).sent == 2
                    assert client.answer({"home": "news"}).sent == 1
                    with pytest.raises(InputError, match="takes at most 1 report"):
                        client.answer({"colour": "red"})
                    taken = client.withdraw()
                    assert (taken.withdrawn, taken.absent) == (3, 0)

    def test_without_a_token_nothing_is_made_or_spent(self, tmp_path: Path, issuer: Store) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        contract = blind_collection()  # nobody is at its issuer's address
        store.register(contract)
        with background(Service(store, "series")) as url:
            for code, sentence in (
                (None, "no token left for question 'colour'; give the invitation"),
                (new_invitation(), "which cannot be reached"),
            ):
                with rumor.Client(url, tmp_path / "me", invitation=code, attempts=1) as client:
                    with pytest.raises(InputError, match=sentence):
                        client.answer({"colour": "red"})
                    assert (client.spent, client.waiting()) == (0, [])

    def test_an_answer_of_the_issuer_that_is_lost_costs_nothing(
        self, tmp_path: Path, issuer: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        asked: list[list[object]] = []
        tokens = Transport.tokens

        def losing(self: Transport, shown: bytes, wanted: list[tuple[bytes, int, bytes]]) -> object:
            asked.append(list(wanted))
            found = tokens(self, shown, wanted)
            if len(asked) == 1:
                raise Unreachable("lost")
            return found

        monkeypatch.setattr(Transport, "tokens", losing)
        with issuing(issuer) as contract:
            store.register(contract)
            (code,) = invite(issuer)
            with (
                background(Service(store, "series")) as url,
                rumor.Client(url, tmp_path / "me", invitation=code) as client,
            ):
                with pytest.raises(InputError, match="cannot be reached"):
                    client.answer({"colour": "red"})
                assert client.spent == 0
                assert client.answer({"colour": "red"}).sent == 1
        assert asked[0] == asked[1]
        assert len(asked[0]) == 3

    def test_an_issuer_that_signs_with_other_keys_is_refused(
        self, tmp_path: Path, issuer: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Else one that gave each person a key of their own could tell them apart."""
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        with issuing(issuer) as contract:
            store.register(contract)
            (code,) = invite(issuer)
            other = "rumor.collector.issuing.blind_sign"
            monkeypatch.setattr(other, lambda key, blinded: blind_sign(SECRETS[1], bytes(256)))
            with (
                background(Service(store, "series")) as url,
                rumor.Client(url, tmp_path / "me", invitation=code) as client,
            ):
                with pytest.raises(InputError, match="must sign with the contract's keys"):
                    client.answer({"colour": "red"})
                assert client.spent == 0

    def test_a_token_that_was_spent_locks_nobody_out(self, tmp_path: Path, issuer: Store) -> None:
        """Somebody took a copy of the device, and was quicker: another invitation helps."""
        store, me = open_store(f"sqlite:///{tmp_path / 'store.db'}"), tmp_path / "me"
        with issuing(issuer) as contract:
            entry = store.register(contract)
            first, second = invite(issuer, new_invitation(), new_invitation())
            with background(Service(store, "series")) as url:
                with rumor.Client(url, me, invitation=first) as client:
                    client.enrol()
                    (waiting,) = client._respondent.prepare(contract, {"home": "mail"})
                    stolen = bytes([(waiting.report[0] + 1) % 3])
                    token = (waiting.token or b"").hex()
                    assert spend(url, contract, "home", stolen, waiting.id, token).status == 200
                    # The first invitation's other token is for another report.
                    receipt, spent = client.flush(), client.spent
                    assert (receipt.waiting, receipt.refused) == (1, 1)
                    assert "must not have been used with other bytes" in str(receipt.problem)
                with rumor.Client(url, me, invitation=second) as client:
                    assert client.flush().sent == 1
                    assert (client.spent, client.waiting()) == (spent, [])
                    kept = stored(store, entry, "home")
                    assert sorted(kept.values()) == sorted([stolen, waiting.report])
                    # Under its new name it can be taken back.
                    assert client.withdraw().withdrawn == 1
                assert stored(store, entry, "home") == {waiting.id: stolen}
                # What was left of both invitations still admits.
                with rumor.Client(url, me) as client:
                    assert client.answer({"home": "news", "colour": "red"}).sent == 2

    def test_an_issuer_that_lies_holds_up_no_other_report(
        self, tmp_path: Path, issuer: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One report is refused, and the issuer signs no other token for it: the rest goes out."""
        store, me = open_store(f"sqlite:///{tmp_path / 'store.db'}"), tmp_path / "me"
        with issuing(issuer) as contract:
            store.register(contract)
            first, second = invite(issuer, new_invitation(), new_invitation())
            with background(Service(store, "series")) as url:
                with rumor.Client(url, me, invitation=first) as client:
                    client.enrol()
                    made = client._respondent.prepare(contract, {"home": "mail", "colour": "red"})
                    stolen = bytes([(made[0].report[0] + 1) % 3])
                    token = (made[0].token or b"").hex()
                    assert spend(url, contract, "home", stolen, made[0].id, token).status == 200
                other = "rumor.collector.issuing.blind_sign"
                monkeypatch.setattr(other, lambda key, blinded: blind_sign(SECRETS[1], bytes(256)))
                with rumor.Client(url, me, invitation=second) as client:
                    receipt = client.flush()
                    assert (receipt.sent, receipt.waiting, receipt.refused) == (1, 1, 1)

    def test_a_collector_that_refuses_everything_gets_one_token(
        self, tmp_path: Path, issuer: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        seen: list[str] = []

        async def refusing(self: Service, *arguments: object) -> object:
            seen.append(str(arguments[3]))
            raise Problem("not-admitted", "no")

        with issuing(issuer) as contract:
            store.register(contract)
            (code,) = invite(issuer)
            with (
                background(Service(store, "series")) as url,
                rumor.Client(url, tmp_path / "me", invitation=code) as client,
            ):
                with monkeypatch.context() as patch:
                    patch.setattr(Service, "take", refusing)
                    for _ in range(3):
                        client.answer({"home": "news"}) if not seen else client.flush()
                assert len(set(seen)) == 1
                assert client.flush().sent == 1
                assert client.answer({"home": "mail"}).sent == 1


def test_the_page_may_speak_to_the_issuer_and_to_nobody_else(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(blind_collection("https://issue.example.org:8443/a"))
    with background(Service(store, "series")) as url:
        policy = call(url, "/answer").headers["content-security-policy"]
        assert "connect-src 'self' https://issue.example.org:8443;" in policy
        assert "script-src 'self';" in policy
