"""Envelopes: RFC 9180 in a reference of our own, the library held to it, one size a class."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import rumor
from rumor.contract.admission import admission_key
from rumor.contract.collection import Collection
from rumor.contract.envelope import ADMISSION_HEADERS, AdmittedReport
from tests.relay import hpke
from tests.relay.tools import PRIVATE, PUBLIC, SECRET, kind_of, relayed

INFO = "4f6465206f6e2061204772656369616e2055726e"
PLAIN = "4265617574792069732074727574682c20747275746820626561757479"
AAD = "436f756e742d30"
# RFC 9180, appendices A.1.1 and A.3.1: base mode, sequence number 0.
VECTORS = {
    "A.1.1": (
        hpke.X25519,
        "52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736",
        "37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431",
        "4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8",
        "3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d",
        "fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc",
        "4531685d41d65f03dc48f6b8302c05b0",
        "56d890e5accaaf011cff4b7d",
        "f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a9"
        "6d8770ac83d07bea87e13c512a",
    ),
    "A.3.1": (
        hpke.P256,
        "4995788ef4b9d6132b249ce59a77281493eb39af373d236a1fe415cb0c2d7beb",
        "04a92719c6195d5085104f469a8b9814d5838ff72b60501e2c4466e5e67b325ac9"
        "8536d7b61a1af4b78e5b7f951c0900be863c403ce65c9bfcb9382657222d18c4",
        "f3ce7fdae57e1a310d87f1ebbde6f328be0a99cdbcadf4d6589cf29de4b8ffd2",
        "04fe8c19ce0905191ebc298a9245792531f26f0cece2460639e8bc39cb7f706a82"
        "6a779b4cf969b8a0e539c7f62fb3d30ad6aa8f80e30f1d128aafd68a2ce72ea0",
        "c0d26aeab536609a572b07695d933b589dcf363ff9d93c93adea537aeabb8cb8",
        "868c066ef58aae6dc589b6cfdd18f97e",
        "4e0bc5018beba4bf004cca59",
        "5ad590bb8baa577f8619db35a36311226a896e7342a6d836d8b7bcd2f20b6c7f"
        "9076ac232e3ab2523f39513434",
    ),
}


@pytest.mark.parametrize("name", VECTORS)
def test_the_reference_passes_the_vectors_of_rfc_9180(name: str) -> None:
    kem, *texts = VECTORS[name]
    ephemeral, enc, private, public, secret, key, nonce, sealed = map(bytes.fromhex, texts)
    info, plain, aad = map(bytes.fromhex, (INFO, PLAIN, AAD))
    assert kem.public(ephemeral) == enc
    assert kem.public(private) == public
    assert hpke.shared_secret(kem, kem.exchange(ephemeral, public), enc, public) == secret
    assert hpke.schedule(kem, secret, info) == (key, nonce)
    assert hpke.seal(kem, ephemeral, public, info, plain, aad) == enc + sealed
    assert hpke.unseal(kem, private, enc + sealed, info, aad) == plain


def test_the_reference_opens_what_the_library_seals_and_the_other_way_round() -> None:
    contract = relayed()
    kind, id, report = kind_of(contract), b"i" * 16, b"\x02"
    info = b"rumor envelope 1" + bytes.fromhex(contract.digest) + b"colour"
    sealed = kind.seal(id, None, report)
    assert hpke.unseal(hpke.P256, SECRET, sealed, info) == id + report
    ours = hpke.seal(hpke.P256, b"\x07" * 32, bytes.fromhex(PUBLIC), info, id + report)
    assert kind.open(PRIVATE, ours, contract) == (AdmittedReport(id), report)


def test_all_envelopes_of_a_question_have_one_size() -> None:
    contract = relayed()
    for question, width in (("colour", 1), ("many", 4)):
        kind = kind_of(contract, question)
        assert kind.size == width + 97
        sealed = {kind.seal(bytes([i]) * 16, None, bytes(width)) for i in range(5)}
        assert {len(each) for each in sealed} == {kind.size}
        assert len({kind.seal(b"i" * 16, None, bytes(width)) for _ in range(3)}) == 3
    invited = relayed(admission="invited")
    assert kind_of(invited).size == 1 + 97 + 16


def test_an_invited_envelope_carries_its_token() -> None:
    contract = relayed(admission="invited")
    kind, token = kind_of(contract), b"t" * 16
    opened = kind.open(PRIVATE, kind.seal(b"i" * 16, token, b"\x01"), contract)
    key = admission_key("series", "colour", token)
    assert opened == (AdmittedReport(b"i" * 16, key), b"\x01")


def test_an_envelope_opens_for_its_own_contract_and_question_alone() -> None:
    contract, other = relayed(), relayed(crowd=6)
    kind = kind_of(contract)
    sealed = kind.seal(b"i" * 16, None, b"\x01")
    assert kind.open(PRIVATE, sealed, contract) is not None
    assert kind_of(other).open(PRIVATE, sealed, other) is None
    renamed = replace(kind, question="colours")
    assert renamed.open(PRIVATE, sealed, contract) is None
    for at in (0, 1, 64, 65, len(sealed) - 1):
        spoilt = sealed[:at] + bytes([sealed[at] ^ 1]) + sealed[at + 1 :]
        assert kind.open(PRIVATE, spoilt, contract) is None, at
    assert kind.open(PRIVATE, sealed[:-1], contract) is None
    assert kind.open(PRIVATE, bytes(len(sealed)), contract) is None


def test_every_admission_has_a_ticket() -> None:
    from rumor.contract.collection import ADMISSIONS

    assert set(ADMISSION_HEADERS) == set(ADMISSIONS)


class TestContract:
    def test_the_relay_is_part_of_what_is_digested(self) -> None:
        contract = relayed()
        again = Collection.from_json(contract.canonical())
        assert again == contract
        assert again.relay == contract.relay
        said = json.loads(contract.canonical())["relay"]
        assert said == {"url": "http://127.0.0.1:9", "key": PUBLIC, "crowd": 5, "days": 3}
        others = [relayed(crowd=6), relayed(days=4), relayed(url="http://127.0.0.1:8")]
        assert len({contract.digest, *(each.digest for each in others)}) == 4

    def test_it_is_said_in_words(self) -> None:
        relay = relayed(url="https://relay.example.org/a").relay
        assert relay is not None
        assert relay.origin == "https://relay.example.org"
        assert relay.in_words() == (
            "Reports are sealed and go through https://relay.example.org, which passes on "
            "at least 5 to one question at a time and drops what waited 3 days for as many"
        )
        # With turns an envelope waits for two of them, whatever `days` says.
        weekly = relayed(turn_hours=168).relay
        assert weekly is not None
        assert "drops what waited 14 days for as many; your device" in weekly.in_words()

    def test_turns_are_said_only_where_there_are_any(self) -> None:
        without, daily = relayed(), relayed(turn_hours=24)
        assert daily.relay is not None
        assert "turn_hours" not in json.loads(without.canonical())["relay"]
        assert json.loads(daily.canonical())["relay"]["turn_hours"] == 24
        assert Collection.from_json(daily.canonical()) == daily
        assert len({without.digest, daily.digest, relayed(turn_hours=12).digest}) == 3
        assert daily.relay.in_words().endswith(
            "for as many; your device sends at most one report per question every 24 hours"
        )

    def test_a_turn_is_hours_since_1970_over_its_length(self) -> None:
        relay = relayed(turn_hours=5).relay
        assert relay is not None
        times = [0, 5 * 3600 - 0.001, 5 * 3600, 1_800_000_000.5]
        assert [relay.turn_at(time) for time in times] == [0, 0, 1, 100_000]
        assert replace(relay, turn_hours=None).turn_at(0) is None

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"url": "ftp://x"}, "the url of a relay must be"),
            ({"url": "https://x/"}, "the url of a relay must be"),
            ({"url": "https://x; script-src *"}, "the url of a relay must be"),
            ({"url": "https://user@x"}, "the url of a relay must be"),
            ({"key": "04" + "0" * 128}, "key of relay must be a point of the curve P-256"),
            ({"key": PUBLIC.upper()}, "key of relay must be the public key that rumor key prints"),
            ({"key": PUBLIC[:-2]}, "key of relay must be the public key that rumor key prints"),
            ({"crowd": 1}, "crowd of relay must be an integer from 2"),
            ({"days": 0}, "days of relay must be an integer from 1"),
            ({"more": 1}, "relay must have exactly the keys url, key, crowd, days"),
            ({"turn_hours": 0}, "turn_hours of relay must be an integer from 1 to 8,760"),
            ({"turn_hours": 8761}, "turn_hours of relay must be an integer from 1 to 8,760"),
            ({"turn_hours": True}, "turn_hours of relay must be an integer from 1 to 8,760"),
            ({"turn_hours": 1.0}, "turn_hours of relay must be an integer from 1 to 8,760"),
            ({"turn_hours": None}, "relay leaves turn_hours None out"),
        ],
    )
    def test_what_it_must_say(self, change: dict[str, object], sentence: str) -> None:
        said = {"url": "https://x", "key": PUBLIC, "crowd": 5, "days": 3, **change}
        with pytest.raises(rumor.InputError, match=f"^{sentence}"):
            relayed(relay=said)
