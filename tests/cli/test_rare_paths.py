"""What commands say and return in the cases that seldom come: full disks, consent, old packages."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import _run, main
from rumor.cli import invite as invite_module
from rumor.cli.answer import _agreed
from rumor.cli.common import ending_cleanly
from rumor.cli.guarded import GuardedStream, print_exactly
from rumor.cli.init import _is_yes
from rumor.cli.serve import made_store, store_at
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.core.errors import InputError

Outputs = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("problem", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 2, "rumor: this needs more memory than there is\n"),
        (
            OSError(28, "No space left on device"),
            2,
            "rumor: a file could not be read or written: No space left on device\n",
        ),
        (
            OSError(28, "No space left on device", "r.parquet"),
            2,
            "rumor: a file must be readable or writable; got 'r.parquet': No space left on "
            "device\n",
        ),
        (OSError("gone\naway"), 2, "rumor: a file could not be read or written: gone away\n"),
        (
            ModuleNotFoundError("none", name="strange"),
            2,
            "rumor: this command needs strange (pip install strange); it is not installed\n",
        ),
    ],
)
def test_every_end_has_its_status_and_one_sentence(
    capsys: Outputs, problem: BaseException, status: int, sentence: str
) -> None:
    def app(**_: object) -> None:
        raise problem

    assert _run(app, []) == status
    assert capsys.readouterr().err == sentence


def test_a_bug_quotes_no_answer(capsys: Outputs) -> None:
    def app(**_: object) -> None:
        raise RuntimeError("the answer was 'secret'")

    assert _run(app, []) == 70
    said = capsys.readouterr().err
    assert said.startswith("rumor: this is a bug of Rumor, please report it: RuntimeError at test_")
    assert "secret" not in said


# --- What is shown ------------------------------------------------------------------------------

TOML = """
name = "A"
series = "a"
contact = "nobody"
series_epsilon = 1000
[[questions]]
id = "page"
kind = "choice"
labels = ["x", "y"]
mechanism = {name = "basic-rappor", f = 0.5, p = 0.5, q = 0.75}
reports_per_person = 30
memo = "period"
period_days = 7
"""


def test_a_collection_shows_its_limit_its_periods_and_its_revision(
    tmp_path: Path, capsys: Outputs
) -> None:
    (tmp_path / "c.toml").write_text(TOML)
    first = Collection.load(tmp_path / "c.toml")
    assert main(["show", str(tmp_path / "c.toml")]) == 0
    said = capsys.readouterr().out
    assert "  limit     no revision may cost more than epsilon 1,000 in total\n" in said
    assert " with one period, " in said
    assert " with as many periods" in said
    assert "  revision  " not in said
    later = replace(first, revision=2, previous=first.digest)
    later.save(tmp_path / "2.json")
    assert main(["show", str(tmp_path / "2.json")]) == 0
    assert f"  revision  2 of {first.digest[:16]}...\n" in capsys.readouterr().out


class Terminal(io.StringIO):
    """A standard input or output at which somebody sits."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("typed", "agrees"),
    [("y\n", True), (" YES \n", True), ("n\n", False), ("\n", False), ("", False)],
)
def test_consent_is_asked_of_a_person_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: Outputs, typed: str, agrees: bool
) -> None:
    class Change:
        def in_words(self) -> str:
            return "The limit rises."

    change: Any = Change()
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    assert _agreed(False, change) is agrees
    assert capsys.readouterr().err == "The limit rises. [y/N] "
    assert _agreed(True, change)
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert not _agreed(False, change)  # nobody is there to agree
    assert capsys.readouterr().err == ""


def test_yes_and_no_are_understood_and_nothing_else() -> None:
    assert [_is_yes(text) for text in ("y", " Yes ", "N", "no")] == [True, True, False, False]
    for text in ("maybe", "", "yy"):
        with pytest.raises(InputError) as found:
            _is_yes(text)
        assert str(found.value) == f"type y or n; got {text!r}"


def test_a_guarded_stream_takes_lines_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    GuardedStream(out).writelines(["a\x1b[31m\n", "b\n"])
    assert out.getvalue().count("\n") == 2
    assert "\x1b" not in out.getvalue()
    for stream, ending in ((Terminal(), "\n"), (io.StringIO(), "")):
        monkeypatch.setattr(sys, "stdout", stream)
        print_exactly("exact")
        assert stream.getvalue() == f"exact{ending}"


# --- Stores and signals -------------------------------------------------------------------------


def test_a_store_needs_the_packages_of_a_collector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "rumor.collector.store.base", None)
    for give in (store_at, made_store):
        with pytest.raises(InputError) as found:
            give(f"sqlite:///{tmp_path / 'store.db'}")
        assert str(found.value) == (
            "a collector needs pip install 'rumor[server]'; rumor.collector.store.base is missing"
        )


def test_invitations_are_admitted_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = {"name": "A", "series": "a", "contact": "c", "admission": "invited"}

    contract = Collection.resolve(
        {**head, "questions": [{"id": "p", "kind": "choice", "labels": ["x", "y"], "epsilon": 1}]}
    )
    contract.save("c.json")
    monkeypatch.setattr(invite_module, "_CHUNK", 2)
    assert main(["invite", "c.json", "-n", "5", "-o", "codes.txt", "-s", "sqlite:///s.db"]) == 0
    with contextlib.closing(open_store("sqlite:///s.db")) as store:
        assert store.admissions("a") == 5
    assert len(Path("codes.txt").read_text().split()) == 5


def test_a_signal_ends_a_command_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def killed() -> None:
        with ending_cleanly():
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

    with pytest.raises(KeyboardInterrupt):
        killed()
    assert signal.getsignal(signal.SIGTERM) is before
    found: list[object] = []

    def elsewhere() -> None:
        with ending_cleanly():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [before]  # a thread has no say in signals
