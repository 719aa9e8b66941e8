"""What commands write from private state, only its owner can read, whatever the umask says.

Public are contracts, pages to print for nobody in particular, and results that are published:
they are named here one by one. Everything else that appears must be the owner's alone.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from tests.collector.chaos import Collector, Serving
from tests.collector.tools import batch, collection, typing
from tests.issuers import SECRETS
from tests.relay.tools import relayed

BLIND = (
    'name = "Members"\nseries = "members"\ncontact = "x@example.org"\nadmission = "blind"\n'
    '[[questions]]\nid = "a"\nkind = "choice"\ndomain = 3\nepsilon = 1.0\n'
)
INVITED = BLIND.replace('"blind"', '"invited"')
# What the test itself wrote, and results.
PUBLIC = {
    *("contract.json", "relayed.json", "blind.toml", "invited.toml", "answers.csv"),
    *("out.csv", "out.svg"),
}


@pytest.fixture(params=[0o022, 0o000, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def run(*arguments: str) -> None:
    assert main(list(arguments)) == 0


def written(folder: Path) -> dict[str, int]:
    """The mode of every file that somebody else could reach, by its path."""
    return {
        str(place.relative_to(folder)): stat.S_IMODE(place.stat().st_mode)
        for place in sorted(folder.rglob("*"))
        if place.is_file() and place.name not in PUBLIC
    }


def check(folder: Path, *wanted: str) -> None:
    """These files are there, and no file beside the public ones is anybody else's."""
    found = written(folder)
    assert not [name for name in wanted if not any(name in path for path in found)], found
    assert {path: oct(mode) for path, mode in found.items() if mode & 0o077} == {}


@pytest.mark.slow_cases("0o22", "0o77")
def test_a_collector_writes_for_its_owner_alone(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    contract = collection()
    contract.save("contract.json")
    Collection.from_toml(INVITED).save("relayed.json")
    Path("invited.toml").write_text(INVITED)
    tokens = ("--analyst-token-file", "analysts")
    serving = Collector(Path("contract.json"), "sqlite:///store.db", command=("serve", *tokens))
    with typing('{"colour": "red"}'):
        run("answer", serving.url, "--state-dir", "device")
    serving.kill(signal.SIGTERM)
    store = open_store("sqlite:///store.db")
    (entry,) = store.collections()
    store.write([batch(entry, "colour", [0, 1, 2]), batch(entry, "many", [3])])
    run("export", "running", "--store", "sqlite:///store.db")  # its logs are there meanwhile
    check(tmp_path, "store.db-wal")
    store.close()
    run("token", "analysts", "--name", "alice")
    run("token", "more", "--name", "alice")
    run("export", "backup", "--store", "sqlite:///store.db")
    run("import", "backup", "--store", "sqlite:///other.db")
    invitations = ("--store", "sqlite:///invited.db", "--out", "codes", "--print", "codes.html")
    run("invite", "invited.toml", *invitations, "--answer-url", "http://x.example/answer")
    check(
        tmp_path,
        *("store.db", "other.db", "invited.db", "analysts", "analysts.first", "more", "codes"),
        *("codes.html", "ids.bin", "state.json", ".summary", "reports.parquet"),
        *("device/", "collectors/"),
    )
    for folder in ("backup", "device"):
        assert stat.S_IMODE(Path(folder).stat().st_mode) & 0o077 == 0


def test_an_analyst_writes_counts_for_their_owner_alone(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And reports files, which hold ids; tables and pictures of results are to be shown."""
    monkeypatch.chdir(tmp_path)
    collection().save("contract.json")
    Path("answers.csv").write_text("colour\n" + "red\ngreen\nblue\n" * 50)
    asked = ("contract.json", "answers.csv", "--question", "colour")
    run("privatize", *asked, "--column", "colour", "--out", "reports.parquet")
    results = ("--csv", "out.csv", "--plot", "out.svg")
    counted = ("contract.json", "reports.parquet", "--question", "colour")
    run("estimate", *counted, "--save-summary", "one.rumor", *results)
    run("merge", "all.rumor", "one.rumor")
    check(tmp_path, "reports.parquet", "one.rumor", "all.rumor")


@pytest.mark.slow_cases("0o22", "0o77")
def test_an_issuer_and_a_relay_write_for_their_owner_alone(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("rumor.collector.issuer_keys.new_key", iter(SECRETS).__next__)
    Path("blind.toml").write_text(BLIND)
    run("issue", "keys", "blind.toml", "--keys", "keys", "--url", "http://127.0.0.1:9")
    run("issue", "invite", "blind.toml", "--store", "sqlite:///issuer.db", "--out", "codes")
    command = ("issue", "serve", "--keys", "keys")
    issuing = Collector(Path("blind.toml"), "sqlite:///issuer.db", command=command)
    relayed().save("relayed.json")
    run("key", "gateway.pem")
    Path("relay.token").touch(0o600)
    Path("relay.token").write_text("rumor-token")
    relaying = Serving(
        *("relay", "relayed.json", "--gateway", "http://127.0.0.1:9", "--port", "0"),
        *("--token-file", "relay.token", "--store", "sqlite:///relay.db"),
    )
    check(tmp_path, "keys", "issuer.db", "codes", "gateway.pem", "relay.db", "relay.db-wal")
    relaying.kill(signal.SIGTERM)
    issuing.kill(signal.SIGTERM)
    check(tmp_path, "issuer.db", "relay.db")
