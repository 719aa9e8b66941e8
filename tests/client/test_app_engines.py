"""The client for apps in real engines: the vectors, lives and refusals of browsers."""

from __future__ import annotations

import functools
import gzip
import itertools
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.envelope import AdmittedReport
from rumor.core.blind_rsa import blind_sign, finalize
from tests.client.test_js_device import lived
from tests.collector.tools import stored
from tests.engines import ENGINES, ROOT, SOURCES, Host, app_steps, built, device, running
from tests.issuers import SECRETS, invite
from tests.issuers import VECTORS as TOKENS
from tests.javascript import CLIENT, SCRIPTS, collection, first_difference, node
from tests.needs import needs
from tests.relay import hpke
from tests.relay.test_blind import whole_path
from tests.relay.test_devices import delivered, released
from tests.relay.test_envelope import INFO
from tests.relay.test_envelope import VECTORS as RFC_9180
from tests.relay.tools import PRIVATE, PUBLIC, kind_of, relayed

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors"
COLOUR = {"kind": "choice", "labels": ["red", "blue"], "epsilon": 1.0, "reports_per_person": 9}
MEMO = {
    "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75},
    "memo": "period",
    "period_days": 7,
}


def checked(name: str, what: str, given: object) -> Any:
    """What a check of tests/js/device/checks.js finds in an engine."""
    text = json.dumps({"name": what, "given": given})
    scripts = [built(SCRIPTS / "device" / "checks.js")]
    with running(name, scripts, Host().answer) as engine:
        return json.loads(engine.call("rumor.check", text))


@pytest.mark.parametrize("name", ENGINES)
def test_every_vector_is_drawn_again(name: str) -> None:
    names = ("client", "randomness", "numeric", "bloom")
    given = {each: json.loads((VECTORS / f"{each}.json").read_text("utf-8")) for each in names}
    found = checked(name, "compare", given)
    assert (found["different"], found["refused"]) == ([], {})
    assert found["checked"] == node("vectors.mjs", str(VECTORS))["checked"]


@pytest.mark.parametrize("name", ENGINES)
def test_tokens_are_those_of_the_vectors(name: str) -> None:
    found = checked(name, "makeTokens", TOKENS)
    assert found["people"] == [
        {key: person[key] for key in ("credential", "person")} for person in TOKENS["people"]
    ]
    for token, made in zip(TOKENS["tokens"], found["tokens"], strict=True):
        for key in ("message", "id", "name", "blinded", "inverse", "signature"):
            assert made[key] == token[key], key
        assert (made["wrong"], made["verified"]) == (None, [True, False])
        secret = next(key for key in SECRETS if key.public.to_bytes().hex() == token["key"])
        answer = blind_sign(secret, bytes.fromhex(made["random"]["blinded"]))
        message, inverse = bytes.fromhex(token["message"]), int(made["random"]["inverse"], 16)
        assert finalize(secret.public, message, answer, inverse).hex() != token["signature"]


@pytest.mark.parametrize("name", ENGINES)
def test_a_whole_life_gives_the_same_rows_tags_charges_and_permanent_answers(name: str) -> None:
    life = json.loads((VECTORS / "device.json").read_text("utf-8"))
    take = functools.partial(_steps, name)
    assert first_difference(lived(life, take), life) == ""


def _steps(name: str, *given: Any) -> list[Any]:
    return app_steps(name, given)


@pytest.mark.parametrize("name", ENGINES)
def test_an_app_finds_the_origin_that_a_browser_finds(name: str) -> None:
    """Schemes and names in either case, ports of their own and of the other scheme, or none."""
    parts = itertools.product(
        ("http", "HTTPS", "hTTp"), ("a.example", "A.Example", "[::1]"), ("", ":80", ":443", ":0080")
    )
    addresses = [f"{scheme}://{host}{port}" for scheme, host, port in parts]
    script = (
        "console.log(JSON.stringify(JSON.parse(process.argv[1]).map((a) => new URL(a).origin)))"
    )
    line = [str(needs("node")), "-e", script, json.dumps(addresses)]
    browsers = json.loads(subprocess.run(line, capture_output=True, check=True, timeout=60).stdout)
    assert checked(name, "origins", addresses) == browsers


# --- Through the network --------------------------------------------------------------------


@pytest.mark.parametrize("name", ENGINES)
def test_python_opens_what_an_app_seals(name: str) -> None:
    contract = relayed()
    kind, body = kind_of(contract), b"j" * 16 + b"\x02"
    _, ephemeral, enc, _, public, _, key, nonce, _ = RFC_9180["A.3.1"]
    joint = hpke.P256.exchange(bytes.fromhex(ephemeral), bytes.fromhex(public))
    vector = {"joint": joint.hex(), "enc": enc, "receiver": public, "info": INFO}
    sealing = {"receiver": PUBLIC, "digest": contract.digest, "question": "colour"}
    found = checked(name, "seal", {**sealing, "plain": body.hex(), "vector": vector})
    sealed = bytes.fromhex(found["sealed"])
    assert kind.open(PRIVATE, sealed, contract) == (AdmittedReport(b"j" * 16), b"\x02")
    assert found["schedule"] == key + nonce


@pytest.mark.parametrize("name", ENGINES)
def test_an_app_answers_and_takes_back(name: str, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    entry = store.register(collection(COLOUR))
    with background(Service(store, "series")) as url, device(name, Host()) as app:
        app.take("open")
        assert app.take("fetch", url=f"{url}/v1/collection") == entry.collection.digest
        (made,) = app.take("prepare", answers={"a": "red"})
        assert app.take("send", url=url)["accepted"] == 1
        assert stored(store, entry, "a") == {
            bytes.fromhex(made["id"]): bytes.fromhex(made["report"])
        }
        assert (app.take("spent"), app.take("pending")) == (
            entry.collection.questions[0].epsilon,
            [],
        )
        outcome = app.take("withdraw", url=url)
        assert (outcome["withdrawn"], outcome["left"]) == (1, 0)
        assert stored(store, entry, "a") == {}


@pytest.mark.parametrize("name", ENGINES)
def test_an_app_goes_the_whole_way(name: str, tmp_path: Path) -> None:
    """Tokens of an issuer, envelopes for a relay, and what the gateway opens."""
    with whole_path(tmp_path, crowd=2) as (path, people):
        ids = set()
        for who in ("a", "b"):
            (code,) = invite(people)
            with device(name, Host(who)) as app:
                app.take("open")
                app.take("fetch", url=f"{path.collector_url}/v1/collection")
                (made,) = app.take("prepare", answers={"colour": "red"}, invitation=code)
                outcome = app.take("send", url=path.collector_url)
                assert (outcome["accepted"], outcome["pending"], outcome["problem"]) == (1, 0, None)
                ids.add(made["id"])
        assert stored(path.store, path.entry, "colour") == {}
        released(path)
        assert {id.hex() for id in delivered(path, 2)} == ids


# --- The host -------------------------------------------------------------------------------


class Broken(Host):
    """A host of which one function does something else."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        super().__init__()
        for name, function in functions.items():
            setattr(self, name, function)


def failing(*_: object) -> Any:
    raise OSError("no space left")


WORK = "{} of a host must work; it did not (no space left)"
BYTES = "random(n) of a host must return n random bytes at once; random(32) returned something else"
INTACT = "a person's ledger must be intact and of version 1 or 2; the one in this storage is not"
BROKEN: list[tuple[str, Callable[..., Any], str, str]] = [
    ("random", failing, "host", WORK.format("random(n)")),
    ("random", lambda size: [0] * size, "host", BYTES),
    ("random", lambda size: list(range(size - 1)), "host", BYTES),
    ("random", lambda size: [256 + i for i in range(size)], "host", BYTES),
    ("load", failing, "storage", WORK.format("load()")),
    ("load", lambda: '{"rumor":2,', "state", INTACT),
    ("load", lambda: "[]", "state", INTACT),
    ("save", failing, "storage", WORK.format("save(text)")),
]


@pytest.mark.parametrize("name", ENGINES)
def test_a_broken_host_is_refused_in_a_sentence(name: str) -> None:
    for function, does, code, sentence in BROKEN:
        host = Broken(**{function: does})
        with device(name, host) as app:
            assert app.take("open") == {"error": sentence, "code": code}
            assert host.kept is None
    with device(name, Host()) as app:
        for function in ("random", "load", "save", "now", "send"):
            refused = app.take("open", lacks=function)
            assert refused["code"] == "host"
            assert refused["error"].endswith(
                f"random, load, save, now, send; this one lacks {function}"
            )


@pytest.mark.parametrize("name", ENGINES)
def test_a_clock_that_is_none_charges_nothing(name: str) -> None:
    contract = collection(
        {"kind": "choice", "labels": ["red", "blue"], "reports_per_person": 9, **MEMO}
    )
    for time in ("today", float("inf"), None):
        host = Broken(now=lambda time=time: time)
        with device(name, host) as app:
            app.take("parse", contract=json.loads(contract.canonical()))
            app.take("open")
            refused = app.take("prepare", answers={"a": "red"})
            assert refused["code"] == "host"
            assert app.take("spent") == 0


def test_a_host_that_answers_later_has_the_same_ledger() -> None:
    given = {
        "bundle": str(built(kind="mjs")),
        "contract": json.loads(collection(COLOUR).canonical()),
    }
    now, later, other = node("device/later.mjs", given=given)
    assert now["promises"] == []
    assert later["promises"] == ["open", "prepare", "send", "spent"]
    assert now["kept"] == later["kept"] != other["kept"]
    assert now["refused"] == other["refused"]
    assert now["refused"] == later["refused"] == "limit"
    assert now["urls"] == later["urls"] == ["https://collector.example/v1/reports"] * 2


# --- Nothing but the language ---------------------------------------------------------------


def test_no_global_but_the_languages_own_is_touched() -> None:
    life = json.loads((VECTORS / "device.json").read_text("utf-8"))
    contracts = [{"step": "parse", "contract": each} for each in life["contracts"].values()]
    host = Host()
    with device("node", host) as app:
        assert all("error" not in app.take(**step) for step in contracts)
        app.take("open")
        app.take("prepare", answers={"colour": "red"})
        app.take("send", url="http://127.0.0.1:9")
        assert json.loads(app.engine.call("touched", "")) == []
    with running("node", [built(SCRIPTS / "device" / "checks.js")], host.answer) as engine:
        engine.call("rumor.check", json.dumps({"name": "makeTokens", "given": TOKENS}))
        assert json.loads(engine.call("touched", "")) == []
    with running("node", [built(), SCRIPTS / "device" / "touching.js"], host.answer) as engine:
        engine.call("touch", "")
        assert json.loads(engine.call("touched", "")) == ["crypto"]


def test_the_file_names_no_global_but_the_languages_own() -> None:
    """Branches that no test takes too: names of variables, and members of globalThis."""
    foreign = set(node("device/foreign.mjs"))
    assert {"crypto", "fetch", "setTimeout", "TextEncoder", "console", "document"} <= foreign
    parser = Parser(Language(tree_sitter_javascript.language()))
    for kind in ("js", "mjs"):
        text = built(kind=kind).read_bytes()
        names, members = set(), set()
        todo = [parser.parse(text).root_node]
        while todo:
            each = todo.pop()
            todo += each.children
            if each.type in ("identifier", "shorthand_property_identifier"):
                names.add(_text(each))
            if each.type == "member_expression" and _text(each.children[0]) == "globalThis":
                members.add(_text(each.children[-1]))
        assert names & foreign == set()
        assert members == {"Promise"}


def _text(node: Node) -> str:
    assert node.text is not None
    return node.text.decode("utf-8")


def test_the_file_is_small() -> None:
    for kind in ("js", "mjs"):
        text = built(kind=kind).read_bytes()
        assert len(text) <= 170_000
        assert len(gzip.compress(text, 9)) <= 65_000


def test_the_file_says_where_its_licences_are(tmp_path: Path) -> None:
    subprocess.run(["make", "device", f"NPM_OUT={tmp_path}"], cwd=ROOT, check=True, timeout=300)
    texts = (tmp_path / "rumor-device.licenses.txt").read_text("utf-8")
    assert texts.count("Permission is hereby granted, free of charge") == 3
    assert "Apache License" in texts
    for kind in ("js", "mjs"):
        made = tmp_path / f"rumor-device.{kind}"
        assert "rumor-device.licenses.txt" in made.read_text("utf-8").splitlines()[0]
        assert made.read_bytes() == built(kind=kind).read_bytes()


def test_a_host_module_has_what_the_browsers_has() -> None:
    for name in ("host.js", "sealing.js"):
        ours, browsers = (_exports(folder / name) for folder in (SOURCES, CLIENT))
        # The browser's cryptography and its store by name are for browsers, the clock for apps.
        assert browsers - ours <= {"subtle", "BrowserStore"}
        assert ours - browsers <= {"now"}


def _exports(path: Path) -> set[str]:
    found = r"^export (?:async )?(?:function|const|class) (\w+)"
    return set(re.findall(found, path.read_text("utf-8"), re.MULTILINE))


def test_types_say_what_there_is() -> None:
    with device("node", Host()) as app:
        app.take("open")
        exported, methods = app.take("methods")
    types = (SOURCES / "device.d.ts").read_text("utf-8")
    assert set(re.findall(r"^export (?:class|function|const) (\w+)", types, re.MULTILINE)) | {
        "RumorError", "describeReport", "epsilonAfter", "lossOf", "lossOfContract",
    } == set(exported)  # fmt: skip
    body = types.partition("export interface Device {")[2].partition("\n}")[0]
    assert set(re.findall(r"^  (\w+)\(", body, re.MULTILINE)) == set(methods)
