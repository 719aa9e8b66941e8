"""A command that fails leaves nothing behind."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.collector.http.server import listen
from rumor.collector.store.base import filled_store, open_store
from rumor.collector.tokens import Tokens
from rumor.core.errors import InputError
from tests.collector.chaos import Collector
from tests.collector.tools import collection


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--host", "203.0.113.1"], "an address of this machine"),
        (["--port", "TAKEN"], "needs a free port"),
        (["--dictionary", "nowhere"], "got 'nowhere'"),
        (["--store", "sqlite:///no/such/folder.db"], "must be a SQLite file"),
        (["--analyst-token-file", "no/such/tokens"], "no/such"),
        (["--store", "postgresql://nobody@127.0.0.1:1/none"], "the database is not"),
    ],
)
def test_a_collector_that_cannot_start_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    collection().save("one.json")
    with listen("127.0.0.1", 0) as taken:
        port = str(taken.getsockname()[1])
        given = [port if argument == "TAKEN" else argument for argument in arguments]
        given += [] if "--port" in given else ["--port", "0"]
        given += [] if "--analyst-token-file" in given else ["--analyst-token-file", "tokens"]
        assert main(["serve", "one.json", *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert len(said.splitlines()) == 1
    assert names(tmp_path) == ["one.json"]


@pytest.mark.parametrize("command", [["import", "."], ["invite", "one.json", "-o", "codes"]])
def test_other_commands_that_fail_leave_no_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    collection().save("one.json")
    assert main(command) == 2
    assert names(tmp_path) == ["one.json"]


def test_a_store_that_is_filled_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.db'}"

    def failing() -> None:
        with filled_store(url) as store:
            store.register(collection())
            assert "new.db" not in names(tmp_path)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        failing()
    assert names(tmp_path) == []
    with filled_store(url) as store:
        store.register(collection())
    assert names(tmp_path) == ["new.db"]
    with filled_store(url) as store:
        assert len(store.collections()) == 1
    other = f"sqlite:///{tmp_path / 'other.db'}"
    with (
        pytest.raises(InputError, match=r"another process has made .*other\.db"),
        filled_store(other),
    ):
        open_store(other).close()
    assert names(tmp_path) == ["new.db", "other.db"]


def test_the_first_token_goes_to_its_owner_and_into_no_log(tmp_path: Path) -> None:
    contract, tokens = tmp_path / "one.json", tmp_path / "tokens"
    collection().save(contract)
    code = "import sys; from rumor.cli import main; sys.exit(main())"
    arguments = ["serve", str(contract), "--store", f"sqlite:///{tmp_path / 'x.db'}", "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments, "--analyst-token-file", str(tokens)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said = [process.stderr.readline() for _ in range(3)]
    process.terminate()
    rest = process.communicate(timeout=30)
    told = tmp_path / "tokens.first"
    token = told.read_text().strip()
    assert Tokens(tokens).allow(token)
    assert stat.S_IMODE(told.stat().st_mode) == 0o600
    assert str(told) in said[0]
    assert token not in "".join([*said, *rest])
    assert "rumor-" not in "".join([*said, *rest]).replace(str(tmp_path), "")


def test_a_first_token_never_replaces_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    collection().save("one.json")
    Path("tokens.first").write_text("precious")
    assert main(["serve", "one.json", "--port", "0", "--analyst-token-file", "tokens"]) == 2
    assert "'tokens.first' exists" in capsys.readouterr().err
    assert Path("tokens.first").read_text() == "precious"
    assert not Path("tokens").exists()


@pytest.mark.slow
def test_a_collector_is_started_again_where_it_was(tmp_path: Path) -> None:
    contract = tmp_path / "one.json"
    collection().save(contract)
    url = f"sqlite:///{tmp_path / 'x.db'}"
    for _ in range(2):
        assert Collector(contract, url).kill(15) == 0
    with filled_store(url) as store:
        assert len(store.collections()) == 1
