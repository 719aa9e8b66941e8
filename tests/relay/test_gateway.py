"""The gateway: a batch is one commit, the same batch again is nothing, bad envelopes go singly."""

from __future__ import annotations

import sqlite3
import stat
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

import rumor
from rumor.cli import main
from rumor.collector.gateway import Gateway, add_key, read_keys
from rumor.collector.relay.store import ArrivedEnvelope
from rumor.collector.store.base import Outcome, ReportBatch
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.admission import admission_key
from rumor.contract.envelope import EnvelopeFormat
from tests.collector.tools import Answer, call, rows, send, stored
from tests.relay.tools import Path3, envelopes, kind_of, relayed, running


def hand_over(path: Path3, sealed: list[bytes], **headers: str) -> Answer:
    """A batch, as a relay hands it over."""
    said = {
        "Content-Type": "application/vnd.rumor.envelopes",
        "Rumor-Collection": path.collection.digest,
        "Rumor-Question": "colour",
        "Authorization": f"Bearer {path.relay.token()}",
        **headers,
    }
    return call(path.collector_url, "/v1/batches", b"".join(sealed), said)


def outcomes(path: Path3) -> dict[str, int]:
    return {name: count for name, count in path.service.metrics.reports.items() if count}


def test_a_batch_is_stored_once_however_often_it_comes(tmp_path: Path, store_url: str) -> None:
    with running(tmp_path, store_url) as path:
        batch = envelopes(path.collection, 20)
        for _ in range(3):
            answer = hand_over(path, batch)
            assert (answer.status, answer.body) == (200, b'{"taken":20}')
        assert outcomes(path) == {"accepted": 20, "duplicate": 40}
        assert len(stored(path.store, path.entry, "colour")) == 20


def test_bad_envelopes_are_dropped_one_by_one(tmp_path: Path, store_url: str) -> None:
    with running(tmp_path, store_url) as path:
        kind, good = kind_of(path.collection), envelopes(path.collection, 3)
        spent = kind.seal(b"a" * 16, None, b"\x00")
        bad = {
            "noise": bytes(kind.size),
            "for another key": kind_of(relayed()).seal(b"b" * 16, None, b"\x00"),
            "no such report": kind.seal(b"c" * 16, None, b"\x07"),
            "an id that is in use": kind.seal(b"a" * 16, None, b"\x01"),
        }
        answer = hand_over(path, [spent, *good, *bad.values()])
        assert answer.body == b'{"taken":8}'  # which of them were bad nobody is told
        assert outcomes(path) == {"accepted": 4, "dropped": 4}
        held = stored(path.store, path.entry, "colour")
        assert len(held) == 4
        assert held[b"a" * 16] == b"\x00"
        counts = call(path.collector_url, "/metrics").body.decode()
        assert 'rumor_reports_total{outcome="dropped"} 4' in counts


def test_a_batch_of_nothing_good_is_taken_too(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        assert hand_over(path, [bytes(kind_of(path.collection).size)]).body == b'{"taken":1}'
        assert outcomes(path) == {"dropped": 1}


def test_a_batch_is_one_commit_in_the_order_of_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as path:
        commits: list[int] = []
        write = path.store.write

        def counted(batches: Sequence[ReportBatch]) -> list[Outcome]:
            commits.append(len(batches))
            return write(batches)

        monkeypatch.setattr(path.service._writer, "_write", counted)
        hand_over(path, envelopes(path.collection, 300))
        assert commits == [300]
    with sqlite3.connect(tmp_path / "store.db") as database:
        ids = [id for (id,) in database.execute("SELECT id FROM report ORDER BY number")]
        columns = {row[1] for row in database.execute("PRAGMA table_info(report)")}
    database.close()
    assert ids == sorted(ids)
    assert columns == {"number", "id", "question", "day", "report", "checksum"}


def test_an_invited_report_uses_up_its_token(tmp_path: Path, store_url: str) -> None:
    with running(tmp_path, store_url, admission="invited") as path:
        kind = kind_of(path.collection)
        tokens = [bytes([i]) * 16 for i in range(3)]
        path.store.admit("series", [admission_key("series", "colour", each) for each in tokens])
        batch = [kind.seal(bytes([9, i]) * 8, each, b"\x01") for i, each in enumerate(tokens)]
        again = kind.seal(b"x" * 16, tokens[0], b"\x02")
        unknown = kind.seal(b"y" * 16, b"z" * 16, b"\x02")
        assert hand_over(path, [*batch, again, unknown]).body == b'{"taken":5}'
        assert outcomes(path) == {"accepted": 3, "dropped": 2}
        assert path.store.admissions("series") == 0
        hand_over(path, batch)  # the same again needs no second token
        assert outcomes(path) == {"accepted": 3, "dropped": 2, "duplicate": 3}


def test_only_a_relay_hands_over(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        batch = envelopes(path.collection, 2)
        for said in ("", "Bearer nobody", "Basic x"):
            answer = hand_over(path, batch, Authorization=said)
            assert (answer.status, answer.problem) == (401, "unauthorized")
        path.service.gateway = None
        answer = hand_over(path, batch)
        assert (answer.status, answer.problem) == (403, "forbidden")
        assert outcomes(path) == {}


def test_what_is_no_batch_is_refused(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        batch = envelopes(path.collection, 2)
        assert hand_over(path, [batch[0], batch[1][:-1]]).problem == "malformed"
        assert hand_over(path, []).problem == "malformed"
        assert hand_over(path, batch, **{"Content-Type": "text/plain"}).status == 415
        assert hand_over(path, batch, **{"Rumor-Question": "other"}).status == 404
        assert hand_over(path, batch, **{"Rumor-Collection": "0" * 64}).status == 409
        path.store.close_collection(path.collection.digest)
        assert hand_over(path, batch).problem == "closed"
        assert outcomes(path) == {}


def test_reports_do_not_come_past_the_relay(tmp_path: Path) -> None:
    with running(tmp_path) as path:
        records = rows(path.entry, "colour", [1, 2]).tobytes()
        answer = send(path.collector_url, path.collection, "colour", records)
        assert (answer.status, answer.problem) == (403, "forbidden")
        assert stored(path.store, path.entry, "colour") == {}


class TestKeys:
    def test_a_file_has_the_keys_of_all_contracts(self, tmp_path: Path) -> None:
        file = tmp_path / "keys.pem"
        first, second = add_key(file), add_key(file)
        assert list(read_keys(file)) == [first, second]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        gateway = Gateway(read_keys(file), None)  # type: ignore[arg-type]
        for key in (first, second):
            contract = relayed(key=key)
            gateway.check(contract)
            kind = EnvelopeFormat.of(contract, contract.questions[0])
            sealed = kind.seal(b"i" * 16, None, b"\x01")
            assert kind.open(gateway.key_of(contract), sealed, contract) is not None
        with pytest.raises(rumor.InputError, match="must hold the key that the contract names"):
            gateway.check(relayed())

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "holds none"),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----", "something else"),
        ],
    )
    def test_another_file_is_not_spoilt(self, tmp_path: Path, text: str, sentence: str) -> None:
        (tmp_path / "other").write_text(text)
        with pytest.raises(rumor.InputError, match=sentence):
            add_key(tmp_path / "other")
        assert (tmp_path / "other").read_text() == text


def test_envelopes_of_an_earlier_key_open_after_a_rotation(tmp_path: Path) -> None:
    with running(tmp_path, crowd=2) as path:
        first = path.collection
        relay = first.relay
        assert relay is not None
        other = replace(relay, key=add_key(tmp_path / "gateway.pem"))
        second = replace(first, relay=other, revision=2, previous=first.digest)
        path.store.register(second, revise=True)
        path.relay.store.register(second)
        path.service.gateway = Gateway(
            read_keys(tmp_path / "gateway.pem"), Tokens(tmp_path / "relays")
        )
        time.sleep(1.1)  # contracts are looked at once a second
        for contract in (first, second):
            (kind,) = [
                each
                for each in path.relay.store.classes()
                if (each.digest, each.question) == (contract.digest, "colour")
            ]
            batch = [ArrivedEnvelope(kind.number, each) for each in envelopes(contract, 2)]
            assert path.relay.store.keep(batch) == [True, True]
        path.release()
        for contract in (first, second):
            entry, deadline = path.store.find(contract.digest), time.monotonic() + 30
            while len(stored(path.store, entry, "colour")) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.02)


class TestCommands:
    @pytest.fixture
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        relayed(key=add_key("gateway.pem")).save("contract.json")
        (tmp_path / "token").write_text(add_token("relays", "relay"))
        return tmp_path

    def test_a_key_is_made_and_its_public_half_printed(
        self, place: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["key", "new.pem"]) == 0
        assert list(read_keys("new.pem")) == [capsys.readouterr().out.strip()]
        assert main(["key", "new.pem", "--json"]) == 0
        assert list(read_keys("new.pem"))[1] in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            (["serve", "contract.json"], "needs --gateway-key FILE and --relay-token-file FILE"),
            (["serve", "contract.json", "--gateway-key", "gateway.pem"], "got one of them"),
            (
                ["serve", "contract.json", "--gateway-key", "other.pem",
                 "--relay-token-file", "relays"],
                "must hold the key that the contract names",
            ),
            (["relay", "plain.json", "--gateway", "http://x", "--token-file", "token"],
             "a relay needs a collection that names one"),
            (["relay", "contract.json", "--gateway", "http://x", "--token-file", "contract.json"],
             "must hold the one token"),
            (["relay", "contract.json", "--gateway", "x", "--token-file", "token", "--port", "0"],
             "a collector's URL must be"),
            (["relay", "contract.json", "--gateway", "http://x", "--token-file", "token",
              "--every", "0"], "--every must be above 0"),
            (["relay", "contract.json", "--gateway", "http://x", "--token-file", "token",
              "--store", "postgresql://x", "--port", "0"], "a relay's store must be sqlite:///"),
        ],
    )  # fmt: skip
    def test_what_is_missing_is_said(
        self, place: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
    ) -> None:
        add_key("other.pem")
        relayed(relay=None).save("plain.json")
        assert main(arguments) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())

    def test_the_relay_is_shown(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["show", "contract.json"]) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "relay Reports are sealed and go through http://127.0.0.1:9, which" in said
        assert main(["show", "contract.json", "--json"]) == 0
        assert '"crowd": 5' in capsys.readouterr().out
