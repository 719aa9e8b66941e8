"""What a kind of question promises, for every kind, from one list: from the file to the picture.

A new kind is covered as soon as it stands in the registry; its own `example` is what is tried.
The browser's half is in tests/browser/test_answer.py, which answers every kind as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.cli import main
from rumor.client.client import Client
from rumor.collector.backup import export_collection, import_collection
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.core.reports import Reports, as_reports
from rumor.kinds import KINDS, NAMES, kind_of
from rumor.kinds.base import Kind
from rumor.kinds.planning.planned import BudgetSpec, Size
from rumor.mechanisms import REGISTRY, Mechanism

OWN_METHODS = {"was published for", "is for subset selection"}


def collection_of(kind: Kind[Any]) -> Collection:
    question = {"id": "asked", "kind": kind.name, "text": "What?", **kind.example().spec}
    wish = {"name": "Law", "series": "law", "contact": "a@b.example", "questions": [question]}
    return Collection.resolve(wish)


@pytest.fixture(params=NAMES)
def kind(request: pytest.FixtureRequest) -> Kind[Any]:
    return KINDS[request.param]


class Desk:
    """Files of one kind's example, and the command line over them."""

    def __init__(self, kind: Kind[Any], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.example, self._capsys = kind.example(), capsys
        self.contract, self.answers = folder / "law.json", folder / "answers.csv"
        self.contract.write_bytes(collection_of(kind).canonical())
        self.answers.write_text(self.example.table)
        self.reports, self.words = folder / "reports.parquet", folder / "words.txt"
        self.candidates: list[str] = []
        if self.example.words is not None:
            self.words.write_text("\n".join(self.example.words))
            self.candidates = ["--candidates", str(self.words)]

    def tried(self, *arguments: object) -> tuple[int, str]:
        self._capsys.readouterr()
        status = main([*map(str, arguments), "--json"])
        said = self._capsys.readouterr()
        return status, said.err if status else said.out

    def run(self, *arguments: object) -> Any:
        status, said = self.tried(*arguments)
        assert status == 0, said
        return json.loads(said)


@pytest.fixture
def desk(kind: Kind[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(kind, tmp_path, capsys)


def test_a_contract_says_all_that_there_is_to_know(kind: Kind[Any]) -> None:
    made = collection_of(kind)
    again = Collection.from_json(made.canonical())
    assert again.digest == made.digest
    assert KINDS[again.question("asked").kind] is kind
    mechanism = again.question("asked").mechanism
    assert kind_of(mechanism).name == kind.lineage()[-1]
    assert mechanism == made.question("asked").mechanism


def test_typed_answers_are_what_a_table_holds(kind: Kind[Any], desk: Desk) -> None:
    from rumor.core.answer_table import AnswerTable

    mechanism = collection_of(kind).question("asked").mechanism
    read = kind.read("asked", mechanism, AnswerTable.open(desk.answers), None)
    people = sum(len(mechanism.without_labels().privatize(values)) for values, _ in read)
    assert people == len(desk.example.typed_answers)
    for text in desk.example.typed_answers:
        assert mechanism.validate([mechanism.report(kind.parse_answer(mechanism, text))]).all
    assert kind.hint(mechanism)


def test_files_are_privatized_and_estimated_by_every_method(kind: Kind[Any], desk: Desk) -> None:
    made = desk.run("privatize", desk.contract, desk.answers, "-o", desk.reports)
    assert made["reports"] == len(desk.example.typed_answers)
    for method in kind.methods():
        arguments = [desk.contract, desk.reports, *desk.candidates, "--method", method]
        status, said = desk.tried("estimate", *arguments)
        if status:
            # A method may be one mechanism's own, and must then say so in one sentence.
            assert any(word in said for word in OWN_METHODS), said
            continue
        found = json.loads(said)
        assert found["reports"] == len(desk.example.typed_answers)
        # Of words those that were found are listed, perhaps none; of anything else, every row.
        assert found["estimates"] or desk.example.words is not None
        assert found["covers"]


def test_one_level_holds_for_all_that_is_printed(kind: Kind[Any], desk: Desk) -> None:
    """Every interval, wherever it stands, is of the level that was asked for."""
    head, *people = desk.example.table.splitlines()
    desk.answers.write_text("\n".join([head, *people * 200]) + "\n")
    desk.run("privatize", desk.contract, desk.answers, "-o", desk.reports)
    arguments = ["estimate", desk.contract, desk.reports, *desk.candidates]
    wide = dict(intervals(desk.run(*arguments, "--level", 0.999)))
    narrow = dict(intervals(desk.run(*arguments, "--level", 0.5)))
    assert wide.keys() <= narrow.keys()
    shorter = set()
    for path, (bottom, top) in wide.items():
        low, high = narrow[path]
        assert bottom <= low <= high <= top, path
        shorter |= {path.split("/")[1]} if high - low < top - bottom else set()
    # Of each part of the output at least one: an end of the range stays where it is.
    assert shorter == {path.split("/")[1] for path in wide}


def intervals(data: Any, path: str = "") -> Iterator[tuple[str, tuple[float, float]]]:
    """Every low and high of plain data, by where they stand; and every level is the asked one."""
    if isinstance(data, list):
        for i, each in enumerate(data):
            yield from intervals(each, f"{path}/{i}")
    if not isinstance(data, dict):
        return
    for name, value in data.items():
        yield from intervals(value, f"{path}/{name}")
        prefix = name.removesuffix("low")
        if name.endswith("low") and isinstance(value, float):
            high = data[f"{prefix}high"]
            if isinstance(high, float):
                yield f"{path}/{prefix}", (value, high)


def test_it_is_simulated_planned_shown_and_audited(kind: Kind[Any], desk: Desk) -> None:
    simulated = desk.run(
        "simulate", desk.contract, desk.answers, *desk.candidates, "--people", 200, "--seed", 1
    )
    assert simulated["reports"] == 200
    assert simulated["privacy"]
    size = [x for key, value in desk.example.plan.items() for x in (f"--{key}", value)]
    plan = desk.run("plan", "--kind", kind.name, *size, "--users", 10_000, "--epsilon", 1)
    assert plan["kind"] == kind.name
    assert plan["recommended"] in [option["mechanism"] for option in plan["options"]]
    shown = desk.run("show", desk.contract)
    assert shown["digest"] == Collection.load(desk.contract).digest
    audited = desk.run("audit", desk.contract, "--samples", 2000, "--seed", 1)
    assert len(audited["audits"]) == 1


def test_a_plan_compares_every_mechanism_of_its_kind(kind: Kind[Any]) -> None:
    """Asked again, and with a cap, so that none is left out for a wish that was not made."""
    wished: dict[str, Any] = {"domain": 4, "users": 10_000, "cap": 2, **kind.example().plan}
    size = Size(**wished)
    found = kind.plan_question(size).candidates(BudgetSpec(1.0, reports=2))
    most = {name: getattr(each, "MAX_DOMAIN", math.inf) for name, each in kind.mechanisms().items()}
    fitting = {name for name, domain in most.items() if (size.domain or 0) <= domain}
    assert {candidate.mechanism.name for candidate in found} == fitting


def test_it_is_served_answered_estimated_exported_and_imported(
    kind: Kind[Any], desk: Desk, tmp_path: Path
) -> None:
    contract = collection_of(kind)
    store = open_store(f"sqlite:///{tmp_path / 'one.db'}")
    entry = store.register(contract)
    mechanism = contract.question("asked").mechanism
    with background(Service(store, contract.series, dictionary=desk.example.words)) as url:
        for number, text in enumerate(desk.example.typed_answers):
            with Client(url, tmp_path / f"device-{number}") as client:
                sent = client.answer({"asked": kind.parse_answer(mechanism, text)})
                assert sent.sent == 1
    store.summarize()
    summary = store.summary(entry, "asked")
    assert summary.reports == len(desk.example.typed_answers)
    options = kind.collector_options(desk.example.words)
    found = kind.estimate(mechanism, summary, "auto", options)
    assert found.to_dict()["reports"] == len(desk.example.typed_answers)
    assert found.table()
    export_collection(store, contract.digest, tmp_path / "out")
    other = open_store(f"sqlite:///{tmp_path / 'two.db'}")
    import_collection(other, tmp_path / "out")
    other.summarize()
    there = other.summary(other.find(contract.digest), "asked")
    assert there.to_bytes() == summary.to_bytes()


@pytest.mark.parametrize("mechanism", REGISTRY, ids=lambda m: m.name)
def test_every_mechanism_is_one_of_its_kind(mechanism: type[Mechanism]) -> None:
    kind = KINDS[mechanism.kind]
    assert issubclass(mechanism, kind.family)
    assert mechanism.name in kind.mechanisms()
    example = mechanism.examples()[0]
    assert kind.answer_domain(example).keys() == {"answers", "range"}
    # Every method of its kind estimates it, or says in one sentence why not.
    people = [example.inputs()[i % len(example.inputs())] for i in range(200)]
    reports = as_reports(
        [example.report(person, random=rumor.Seeded(i)) for i, person in enumerate(people)],
        example.width,
    )
    for method in kind.methods():
        found, refusal = _estimated(kind, example, reports, method)
        assert (found is None) == any(word in refusal for word in OWN_METHODS), refusal
        if found is not None:
            assert found.reports == 200


def _estimated(
    kind: Kind[Any], mechanism: Mechanism, reports: Reports, method: str
) -> tuple[Any, str]:
    words = kind.example().words
    options = {} if words is None else kind.collector_options(words)
    try:
        return kind.estimate(mechanism, reports, method, options), ""
    except rumor.InputError as problem:
        return None, str(problem)
