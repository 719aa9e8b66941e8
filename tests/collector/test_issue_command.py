"""`rumor issue`: keys, invitations, and an issuer that is killed and goes on."""

from __future__ import annotations

import os
import stat
import tomllib
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.client.client import Client
from rumor.client.transport import Refused, Transport, Unreachable
from rumor.collector.http.server import background, listen
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.contract.issuing import enrolment_credential
from tests.collector.chaos import Collector
from tests.collector.test_blind import wanted
from tests.collector.tools import typing
from tests.issuers import KEYS, SECRETS, blind_collection

HEAD = 'name = "Members"\nseries = "members"\ncontact = "x@example.org"\nadmission = "blind"\n'
QUESTION = '[[questions]]\nid = "{}"\nkind = "choice"\ndomain = 3\nepsilon = 1.0\n'


def run(*arguments: str) -> int:
    return main(["issue", *arguments])


def test_keys_are_made_once_and_added_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As good as new ones, which take a second each.
    monkeypatch.setattr("rumor.collector.issuer_keys.new_key", iter(SECRETS).__next__)
    wish, keys = tmp_path / "members.toml", tmp_path / "keys"
    wish.write_text(HEAD + QUESTION.format("a"))
    make = ["keys", str(wish), "--keys", str(keys)]
    assert run(*make) == 2
    assert "keys need --url" in capsys.readouterr().err
    assert run(*make, "--url", "http://x/") == 2
    assert "without a slash at its end" in capsys.readouterr().err
    assert not keys.exists()
    assert run(*make, "--url", "http://127.0.0.1:9") == 0
    assert "1 keys are in" in capsys.readouterr().out
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    contract, held = Collection.load(wish), IssuerKeys.load(keys)
    assert contract.issuer is not None
    assert contract.issuer.url == "http://127.0.0.1:9"
    assert contract.issuer.keys["a"] == held.secrets["a"].public
    # What is written has no secret in it.
    assert f"{held.secrets['a'].first:x}" not in wish.read_text()
    assert run(*make, "--url", "http://127.0.0.1:9") == 2
    assert "has an [issuer] already" in capsys.readouterr().err
    # A revision with another question keeps the key of the first.
    wish.write_text(HEAD + QUESTION.format("a") + QUESTION.format("b"))
    assert run(*make, "--url", "http://127.0.0.1:9") == 0
    again = Collection.load(wish)
    assert again.issuer is not None
    assert again.issuer.keys["a"] == contract.issuer.keys["a"]
    assert set(tomllib.loads(wish.read_text())["issuer"]["keys"]) == {"a", "b"}


def test_what_is_wrong_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wish, keys = tmp_path / "members.toml", tmp_path / "keys"
    wish.write_text(HEAD.replace("blind", "open") + QUESTION.format("a"))
    contract = tmp_path / "blind.json"
    blind_collection().save(contract)
    KEYS.save(keys)
    broken, readable = tmp_path / "broken", tmp_path / "readable"
    broken.write_text("{}")
    broken.chmod(0o600)
    readable.write_bytes(keys.read_bytes())
    readable.chmod(0o644)
    out, store = tmp_path / "codes", f"sqlite:///{tmp_path / 'issuer.db'}"
    for arguments, sentence in (
        (["sign", str(wish)], "an action must be one of keys, invite, serve; got 'sign'"),
        (["keys", str(wish), "--url", "http://x"], 'needs* a collection with admission = "blind"'),
        (["keys", str(contract), "--url", "http://x"], "keys are written into a .toml file"),
        (["invite", str(wish), "--out", str(out)], 'needs a collection with admission = "blind"'),
        (["invite", str(contract)], "invitations need --out"),
        (["invite", str(contract), "--out", str(keys)], "must go to a new file"),
        (["serve", str(contract), "--keys", str(broken)], "as rumor issue keys makes it"),
        (["serve", str(contract), "--keys", str(readable)], "by its owner only (mode 600)"),
        (["serve", str(contract), "--keys", str(tmp_path / "none")], "a key file must exist"),
        (["serve", str(wish), "--keys", str(keys)], 'a collection with admission = "blind"'),
    ):
        assert run(*arguments, "--store", store) == 2, arguments
        said = capsys.readouterr().err
        assert sentence.replace("needs*", "need") in said, said
    assert main(["invite", str(contract), "--out", str(out), "--store", store]) == 2
    assert "has an issuer, who makes them (rumor issue invite)" in capsys.readouterr().err
    assert not out.exists()
    # Another key for a question: the contract promises one.
    other = IssuerKeys("series", {**KEYS.secrets, "home": KEYS.secrets["colour"]})
    other.save(keys)
    assert run("serve", str(contract), "--keys", str(keys), "--store", store) == 2
    assert "that of question 'home' is another" in capsys.readouterr().err


def test_an_issuer_that_is_killed_signs_the_same_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two processes of our own: enrol, kill -9, ask again; then answer a collector."""
    with listen("127.0.0.1", 0) as probe:
        port = probe.getsockname()[1]
    contract = blind_collection(f"http://127.0.0.1:{port}")
    file, keys = tmp_path / "blind.json", tmp_path / "keys"
    contract.save(file)
    KEYS.save(keys)
    url, codes = f"sqlite:///{tmp_path / 'issuer.db'}", tmp_path / "codes.txt"
    assert run("invite", str(file), "-n", "2", "-o", str(codes), "--store", url) == 0
    assert "2 people are invited in total" in capsys.readouterr().out
    assert stat.S_IMODE(codes.stat().st_mode) == 0o600
    code, another = codes.read_text().split()
    command = ["issue", "serve", "--keys", str(keys)]
    shown = enrolment_credential(contract, code)
    tokens = [wanted(), wanted("home", 1)]
    asked = [(each.key, each.number, each.blinded) for each in tokens]
    way = Transport(f"http://127.0.0.1:{port}")
    answers = []
    for _ in range(2):
        process = Collector(file, url, command=command, port=port)
        answers.append(way.tokens(shown, asked))
        other = wanted()
        with pytest.raises(Refused, match="each of its tokens once"):
            way.tokens(shown, [(other.key, other.number, other.blinded)])
        assert process.kill() == -9
        with pytest.raises(Unreachable):
            way.tokens(shown, asked)
    assert answers[0] == answers[1]
    process = Collector(file, url, command=command, port=port)
    try:
        store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        store.register(contract)
        with background(Service(store, "series")) as collector:
            folder = os.fspath(tmp_path / "device")
            enrol = ["answer", collector, "--state-dir", folder]
            with typing():
                assert main([*enrol, "--invitation", another]) == 0
            assert "total epsilon spent: 0" in capsys.readouterr().out
            process.kill()
            with typing("colour=red"):
                assert main(enrol) == 0
            assert "1 report sent, 0 pending" in capsys.readouterr().out
            with Client(collector, folder) as client:
                assert client.waiting() == []
    finally:
        if process.process.poll() is None:
            process.kill()
