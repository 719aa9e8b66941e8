"""A person's answer appears in no error, log, traceback, file or list of processes.

Marked values are planted at every entry point, as answers that do not fit and as answers
that do, and everything that comes out is searched.
"""

from __future__ import annotations

import http.client
import io
import json
import logging
import subprocess
import sys
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.cli import main
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.core.randomness import Keyed, Seeded
from rumor.mechanisms import REGISTRY, MeanMechanism, Mechanism
from rumor.mechanisms.summary import Summary
from rumor.mechanisms.window import Window
from tests.javascript import parsed, steps
from tests.planted import INTEGER, NUMBER, TEXT, assert_nothing_left, assert_silent
from tests.planted import refused_silently as refused

QUESTIONS: list[dict[str, object]] = [
    {"id": "choice", "kind": "choice", "labels": ["yes", "no"], "epsilon": 1.0},
    {"id": "code", "kind": "choice", "domain": 9, "epsilon": 1.0},
    {"id": "word", "kind": "text"},
    {"id": "number", "kind": "number", "low": 0, "high": 9, "epsilon": 1.0},
    {"id": "pairs", "kind": "keyvalue", "keys": ["tea", "milk"], "low": 0, "high": 9,
     "epsilon": 1.0},
    {"id": "capped", "kind": "keyvalue", "keys": 3, "low": 0, "high": 9, "epsilon": 1.0, "cap": 1,
     "mechanism": "item-sampling"},
]  # fmt: skip
WRONG: list[dict[str, object]] = [
    {"choice": TEXT}, {"choice": INTEGER}, {"choice": [TEXT]}, {"choice": {TEXT: NUMBER}},
    {"choice": TEXT.encode()}, {"choice": NUMBER}, {"choice": None},
    {"code": TEXT}, {"code": INTEGER}, {"code": -INTEGER}, {"code": NUMBER}, {"code": [INTEGER]},
    {"word": INTEGER}, {"word": [TEXT]}, {"word": {TEXT: TEXT}},
    {"number": TEXT}, {"number": [NUMBER]}, {"number": {TEXT: NUMBER}},
    {"pairs": TEXT}, {"pairs": {TEXT: 1.0}}, {"pairs": {"tea": TEXT}}, {"pairs": {INTEGER: 1.0}},
    {"pairs": [TEXT, TEXT]}, {"pairs": [NUMBER]}, {"pairs": NUMBER},
    {"capped": {INTEGER: NUMBER}}, {"capped": {0: TEXT}}, {"capped": {TEXT: NUMBER}},
    {TEXT: "yes"}, {"choice": "yes", "word": "calm", "code": INTEGER},
]  # fmt: skip
RIGHT: dict[str, object] = {
    "word": TEXT,
    "number": NUMBER,
    "pairs": {"tea": NUMBER, "milk": -NUMBER},
    "capped": {0: NUMBER, 1: 2.0},
}


def health() -> Collection:
    return Collection.resolve(
        {"name": "Health", "series": "series", "contact": "x", "questions": QUESTIONS}
    )


@pytest.fixture(autouse=True)
def _silent_logs(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.DEBUG):
        yield
    assert_silent(caplog.text)


# --- Python ---------------------------------------------------------------------------------


def columns() -> list[Any]:
    """Answers in every container that a mechanism takes, and in some that it does not."""
    lists: list[list[Any]] = [
        [TEXT], [NUMBER], [INTEGER], [-INTEGER], [0, TEXT], [0.5, NUMBER], ["yes", TEXT],
        [TEXT, None], [[TEXT]], [[0], [TEXT, TEXT]], [{TEXT: NUMBER}], [{0: TEXT}], [{0: NUMBER}],
        [{"0": NUMBER}], [{0: 1.0}, TEXT], [[NUMBER, NUMBER]], [[TEXT, NUMBER]],
        [10**30 * INTEGER], [TEXT + "\ud800"],
    ]  # fmt: skip
    flat = [TEXT], [NUMBER], [INTEGER]
    frames: list[Any] = [
        {TEXT: [NUMBER]},
        {"person": [TEXT], "key": [TEXT], "value": [TEXT]},
        {"0": [TEXT]},
    ]
    return [
        *lists,
        *(tuple(each) for each in lists),
        TEXT, NUMBER, INTEGER, TEXT.encode(), {TEXT: NUMBER}, {TEXT}, iter([TEXT]), None,
        *(np.array(each) for each in flat),
        np.array([TEXT], dtype=object), np.array([[TEXT]]), np.array([[NUMBER]]),
        np.full((2, 3), NUMBER, dtype=np.float32),
        *(kind(each) for each in flat for kind in (pd.Series, pl.Series, pa.array)),
        *(kind(each) for each in frames for kind in (pd.DataFrame, pl.DataFrame, pa.table)),
    ]  # fmt: skip


MECHANISMS = [
    pytest.param(mechanism, id=kind.name) for kind in REGISTRY for mechanism in kind.examples()[:1]
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms(mechanism: Mechanism, capfd: pytest.CaptureFixture[str]) -> None:
    keyed, seeded = Keyed(b"a secret of the test", "test"), Seeded(1)
    refusals = 0
    for column in columns():
        one: list[Callable[[], object]] = [
            lambda column=column: mechanism.privatize(column, random=seeded),  # type: ignore[misc]
            lambda column=column: mechanism.report(column, random=seeded),  # type: ignore[misc]
            lambda column=column: mechanism.permanence.report_memoised(column, permanent=keyed),  # type: ignore[misc]
            lambda column=column: mechanism.notes(column),  # type: ignore[misc]
            # Reports and counts are no answers, but answers may be taken for them.
            lambda column=column: mechanism.validate(column).require(),  # type: ignore[misc]
            lambda column=column: rumor.estimate(mechanism, column, **words(mechanism)),  # type: ignore[misc]
            lambda column=column: Summary.empty(mechanism).update(column),  # type: ignore[misc]
        ]
        refusals += sum(refused(act) is not None for act in one)
    assert refusals > 150
    assert_silent(*capfd.readouterr())


def words(mechanism: Mechanism) -> dict[str, Any]:
    return {"candidates": ["calm"]} if isinstance(mechanism, rumor.Rappor) else {}


def test_pairs_in_three_columns() -> None:
    mechanism = rumor.KeyValueBlock(keys=["tea", "milk"], epsilon=1.0)
    for person, key, value in (
        (["ann"], [TEXT], [1.0]),
        (["ann"], ["tea"], [TEXT]),
        (["ann"], ["tea"], [NUMBER]),
        ([TEXT, TEXT], ["tea", "tea"], [0.1, 0.2]),
        ([TEXT], ["tea", "milk"], [0.1, 0.2]),
        ([TEXT, 3], ["tea", "milk"], [0.1, 0.2]),
        ([TEXT], [[TEXT]], [0.1]),
    ):
        assert refused(lambda p=person, k=key, v=value: mechanism.long_pairs(p, k, v)) is not None  # type: ignore[misc]


def test_counts_and_channels() -> None:
    channel = [[0.8, 0.2], [0.2, 0.8]]
    for data in ([TEXT, TEXT], TEXT, [[TEXT], [TEXT, TEXT]], {TEXT: NUMBER}):
        assert refused(lambda data=data: rumor.estimate(channel, data)) is not None  # type: ignore[misc]


# --- The device -----------------------------------------------------------------------------


def test_a_device(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with rumor.Respondent(tmp_path / "device", max_epsilon=20) as device:
        for answers in WRONG:
            sentence = refused(lambda answers=answers: device.prepare(health(), answers))  # type: ignore[misc]
            assert sentence is not None, answers
            assert "question" in sentence
        for id, answer in RIGHT.items():
            (envelope,) = device.prepare(health(), {id: answer})
            assert_silent(envelope.notes)
            assert refused(lambda id=id, answer=answer: device.prepare(health(), {id: answer}))  # type: ignore[misc]
        assert_nothing_left(tmp_path)  # the log of the ledger is there, too
    assert_nothing_left(tmp_path)
    assert_silent(*capfd.readouterr())


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    store.register(health())
    with background(Service(store, "series")) as url:
        yield url


def test_a_client_and_a_collector(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(tmp_path) as url, rumor.Client(url, tmp_path / "device") as client:
        for answers in WRONG:
            assert refused(lambda answers=answers: client.answer(answers)) is not None  # type: ignore[misc]
        receipt = client.answer(RIGHT)
        assert receipt.sent == 4
        assert len(receipt.notes) == 4
        assert_silent(receipt, client.spending())
    assert_nothing_left(tmp_path)
    assert_silent(*capfd.readouterr())


def test_what_a_collector_says_to_a_client_that_sends_answers(tmp_path: Path) -> None:
    """Somebody's own client may be wrong: neither a reply, nor a log, nor a file repeats it."""
    digest = health().digest
    report = {"id": "A" * 22 + "==", "report": "AA=="}
    bodies: list[object] = [
        {"question": TEXT, "reports": [report]},
        {"question": "word", "reports": TEXT},
        {"question": "word", "reports": [{"id": TEXT, "report": TEXT}]},
        {"question": "word", "reports": [{**report, TEXT: TEXT}]},
        {"question": "word", "reports": [{TEXT: NUMBER}]},
        {TEXT: NUMBER},
        [TEXT, NUMBER],
        TEXT,
        {"question": NUMBER, "reports": [INTEGER]},
    ]
    with serving(tmp_path) as url:
        place = urllib.parse.urlsplit(url).netloc

        def said(method: str, path: str, body: bytes | None = None, **headers: str) -> str:
            connection = http.client.HTTPConnection(place)
            connection.request(
                method, path, body, {k.replace("_", "-"): v for k, v in headers.items()}
            )
            answer = connection.getresponse()
            text = answer.read().decode() + str(answer.getheaders())
            assert answer.status >= 400
            connection.close()
            return text

        for body in bodies:
            sent = json.dumps(body).encode()
            for data in (sent, sent[:-1]):
                assert_silent(
                    said(
                        "POST",
                        "/v1/reports",
                        data,
                        Content_Type="application/json",
                        Rumor_Collection=digest,
                    )
                )
        binary = {"Content_Type": "application/vnd.rumor.reports", "Rumor_Collection": digest}
        assert_silent(said("POST", "/v1/reports", TEXT.encode(), Rumor_Question="word", **binary))
        assert_silent(said("POST", "/v1/reports", b"", Rumor_Question=TEXT, **binary))
        assert_silent(said("GET", f"/answer/word={TEXT}"), said("GET", f"/{TEXT}"))
    assert_nothing_left(tmp_path)


# --- The command line -----------------------------------------------------------------------

Outputs = pytest.CaptureFixture[str]


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    health().save("c.json")
    return tmp_path


LONG = "person,key,value\n"
TABLES = {
    "choice": [
        f"choice\nyes\n{TEXT}\n", f"{TEXT}\nyes\n", f"choice,b\nyes,1\n{TEXT}\n",
        f"choice\n{TEXT},1\n", f'choice\n"{TEXT}\n', f"choice,{TEXT},{TEXT}\nyes,1,2\n",
        f"chioce\n{TEXT}\n",
    ],
    "code": [
        f"code\n1\n{TEXT}\n", f"code\n{INTEGER}\n", f"code\n{NUMBER}\n",
        f"code\n{INTEGER}{'0' * 20}\n",
    ],
    "word": [f"{TEXT}\ncalm\n", f"word,{TEXT}\n{TEXT}\n"],
    "number": [f"number\n1\n{TEXT}\n", f"number\n{NUMBER}\n", f"{NUMBER}\n{NUMBER}\n"],
    "pairs": [
        f"tea,milk\n1,{TEXT}\n", f"tea,milk\n1,{NUMBER}\n", f"{LONG}a,{TEXT},1\n",
        f"{LONG}a,tea,{TEXT}\n", f"{LONG}a,tea,{NUMBER}\n", f"{TEXT},{NUMBER}\n1,2\n",
        f"{LONG}{TEXT},tea,1\n{TEXT},tea,2\n",
    ],
    "capped": [
        f"0,1,2\n{NUMBER},1,1\n", f"{LONG}a,{INTEGER},1\n", f"0,1\n{NUMBER},{NUMBER}\n",
    ],
}  # fmt: skip


@pytest.mark.parametrize("question", TABLES)
def test_tables(work: Path, capsys: Outputs, question: str) -> None:
    commands = [["privatize", "-o", "r.parquet"], ["simulate", "--trials", "1"]]
    for content in TABLES[question]:
        Path("people.csv").write_text(content)
        tried = 0
        for command in commands:
            status = main([command[0], "c.json", "people.csv", "-q", question, *command[1:]])
            assert status in (0, 2), content
            said = capsys.readouterr()
            tried += status == 2
            assert_silent(said.err)
            if status == 2:
                assert said.out == ""
                assert said.err.startswith("rumor: people.csv"), said.err
        assert tried, content
        Path("people.csv").unlink()
        assert_nothing_left(work)


@pytest.mark.parametrize("question", ["choice", "code", "word", "number"])
def test_columns_of_other_types(work: Path, capsys: Outputs, question: str) -> None:
    for cells in (
        [TEXT],
        [NUMBER],
        [INTEGER],
        [[TEXT]],
        [{"a": TEXT}],
        [TEXT.encode()],
        [None, TEXT],
    ):
        pq.write_table(pa.table({question: cells}), "people.parquet")
        for command in (["privatize", "-o", "r.parquet"], ["simulate"]):
            status = main([command[0], "c.json", "people.parquet", "-q", question, *command[1:]])
            assert status in (0, 2), cells
            assert_silent(capsys.readouterr().err)
    Path("people.parquet").unlink()
    Path("r.parquet").unlink(missing_ok=True)
    assert_nothing_left(work)


def test_files_of_answers_in_the_wrong_place(work: Path, capsys: Outputs) -> None:
    """Where reports, summaries, collections or stores are read."""
    for name in ("people.csv", "people.parquet", "people.rumor", "people.toml", "people.json"):
        Path(name).write_text(f"{TEXT}\n{NUMBER}\n")
        for arguments in (
            ["estimate", "c.json", name, "-q", "choice"],
            ["poisoning", "c.json", name, "-q", "choice"],
            ["merge", "week.rumor", name],
            ["import", name, "--store", "sqlite:///store.db"],
            ["show", name],
            ["privatize", name, "c.json", "-o", "r.parquet"],
            ["simulate", "c.json", name, "-q", "word", "--candidates", name],
        ):
            assert main(arguments) in (1, 2), arguments
            assert_silent(*capsys.readouterr())
        Path(name).unlink()


def test_typed_answers(work: Path, capsys: Outputs, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(work) as url:
        # One of each kind and way to be wrong: every call reads the contract anew.
        for answers in (WRONG[i] for i in (0, 7, 8, 12, 15, 19, 20, 28)):
            for arguments, given in typed(answers):
                monkeypatch.setattr(sys, "stdin", io.StringIO(given))
                main(["answer", url, *arguments])
                assert_silent(*capsys.readouterr())
    assert_nothing_left(work)


def typed(answers: dict[str, object]) -> Iterator[tuple[list[str], str]]:
    """Answers in every way that people might try: arguments and standard input."""
    (id, value), *_ = answers.items()
    yield [f"{id}={value}"], ""
    yield [str(value)], "yes\n"
    yield [id], f"{value}\n"
    yield from (([], text) for text in (f"{value}\n", f"{id}={value}\n", f"word=x\n{id}={value}\n"))
    if not any(isinstance(each, bytes) for each in answers.values()):
        whole = json.dumps(answers)
        yield from (([], text) for text in (whole, whole[:-1], f"[{whole}]", f"{{{whole}"))


def test_processes_files_and_terminals(work: Path) -> None:
    """A real process that is given an answer, looked at while it waits for the next one."""
    with serving(work) as url:
        asked = subprocess.Popen(
            [sys.executable, "-m", "rumor", "answer", url, "word", "number", "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert asked.stdin is not None
        asked.stdin.write(f"{TEXT}\n")
        asked.stdin.flush()
        time.sleep(0.2)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                shown = [(process / name).read_bytes() for name in ("cmdline", "comm", "environ")]
            except OSError:
                continue  # gone, or somebody else's
            assert_silent(*(each.decode(errors="replace") for each in shown))
        out, err = asked.communicate(f"{NUMBER}\n", timeout=60)
    assert (asked.returncode, json.loads(out)["sent"]) == (0, 2), err
    assert_silent(out, err)
    assert_nothing_left(work)


def test_a_bug_is_told_without_its_message(
    work: Path, capsys: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an unforeseen exception says may hold an answer: the command says where it was."""

    def broken(self: MeanMechanism, values: object, source: object) -> None:
        raise KeyError(TEXT, NUMBER, values)

    monkeypatch.setattr(Window, "_privatize", broken)
    Path("people.csv").write_text("number\n5\n")
    assert main(["privatize", "c.json", "people.csv", "-q", "number", "-o", "r.parquet"]) == 70
    said = capsys.readouterr()
    assert said.err.startswith("rumor: this is a bug of Rumor, please report it: KeyError at test_")
    assert said.err.count("\n") == 1
    assert_silent(*said)


# --- JavaScript -----------------------------------------------------------------------------


def test_the_client_for_browsers() -> None:
    """Everything that the process prints: results, sentences, and what the store holds."""
    wrong = [
        answers for answers in WRONG if not any(isinstance(a, bytes) for a in answers.values())
    ]
    wrong += [{"number": NUMBER, "choice": TEXT}, {"choice": NUMBER}, {"pairs": {"tea": None}}]
    results = steps(
        parsed(health()),
        {"step": "open"},
        *({"step": "prepare", "answers": answers} for answers in wrong),
        {"step": "prepare", "answers": RIGHT},
        {"step": "prepare", "answers": RIGHT},
        {"step": "state"},
        {"step": "spending"},
        {"step": "pending"},
    )
    assert_silent(json.dumps(results))
    refusals = [result["error"] for result in results[2 : 2 + len(wrong)]]
    assert all("question" in sentence for sentence in refusals)
    assert len(results[-5]) == 4
