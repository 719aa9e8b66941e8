"""Every registered mechanism and every kind of question has its twin in the client for browsers."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rumor.kinds import KINDS
from rumor.mechanisms.registry import ENTRIES, RegistryEntry
from tests.javascript import CLIENT, missing_kinds, missing_twins, node
from tests.needs import needs

VECTORS = Path(__file__).parents[1] / "vectors"

needs("node")


@pytest.fixture(scope="module")
def drawn() -> Any:
    """What the client makes of the vectors."""
    return node("vectors.mjs", str(VECTORS))


def test_every_mechanism_and_every_kind_is_listed() -> None:
    problems = [*missing_twins(ENTRIES), *missing_kinds(KINDS.values())]
    assert not problems, "\n".join(problems)


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    further = RegistryEntry("further", "further", "Further", "choice")
    file = "src/rumor/client/js/mechanisms"
    line = '"further": () => import("./mechanisms/further.js"),'
    assert missing_twins((*ENTRIES, further)) == [
        f"the mechanism 'further' has no file for browsers: write {file}/further.js",
        f"LOADERS in {file}.js needs the line {line}",
    ]
    last = ENTRIES[-1].name
    assert missing_twins(ENTRIES[:-1]) == [
        f"LOADERS in {file}.js has {last!r}, which is no mechanism"
    ]
    swapped = (ENTRIES[1], ENTRIES[0], *ENTRIES[2:])
    assert missing_twins(swapped) == [f"LOADERS in {file}.js must have the registry's order"]
    # A line that loads another mechanism's file is not its line.
    shutil.copytree(CLIENT, tmp_path / "js")
    table = tmp_path / "js" / "mechanisms.js"
    table.write_text(table.read_text("utf-8").replace("/privkv.js", "/privkvm.js"), "utf-8")
    (problem,) = missing_twins(ENTRIES, tmp_path / "js")
    assert problem.endswith('needs the line "privkv": () => import("./mechanisms/privkv.js"),')


def test_a_kind_without_a_control_is_said(tmp_path: Path) -> None:
    shutil.copytree(CLIENT, tmp_path / "js")
    file = tmp_path / "js" / "kinds" / "words.js"
    file.write_text(
        file.read_text("utf-8").replace("export function control", "const asks"), "utf-8"
    )
    (problem,) = missing_kinds(KINDS.values(), tmp_path / "js")
    assert problem == "src/rumor/client/js/kinds/words.js must export control"


def test_a_kind_that_browsers_do_not_know_is_said() -> None:
    class Further(type(KINDS["choice"])):  # type: ignore[misc]
        name = "further"

    place = "src/rumor/client/js/kinds"
    said = 'contractFields: ["labels"], borrows: "choice", load: () => import("./kinds/further.js")'
    assert missing_kinds([*KINDS.values(), Further()]) == [
        f"the kind 'further' has no file for browsers: write {place}/further.js",
        f"KINDS in {place}.js needs the line further: {{ {said} }},",
    ]
    assert missing_kinds(list(KINDS.values())[:-1]) == [
        f"KINDS in {place}.js has a line for {list(KINDS)[-1]!r}, which is no kind"
    ]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_mechanism_draws_the_same_bytes(entry: RegistryEntry, drawn: Any) -> None:
    published = json.loads((VECTORS / "client.json").read_text("utf-8"))["vectors"]
    own = [vector for vector in published if vector["mechanism"]["name"] == entry.name]
    assert own, (
        f"{entry.name!r} has no vectors: python -m tests.vectors.make_vectors > "
        "tests/vectors/client.json writes them"
    )
    assert entry.name not in drawn["refused"], (
        f"the client for browsers has no {entry.name!r} yet ({drawn['refused'][entry.name]}); "
        "test_every_mechanism_and_every_kind_is_listed says what to write"
    )
    reports = sum(len(vector["reports"]) for vector in own)
    assert drawn["mechanisms"][entry.name] == {"kind": entry.kind, "reports": reports}
    assert [one for one in drawn["different"] if one["of"] == entry.name] == []


def test_a_mechanism_without_a_twin_is_refused_and_the_others_are_drawn(tmp_path: Path) -> None:
    document = json.loads((VECTORS / "client.json").read_text("utf-8"))
    one = next(v for v in document["vectors"] if v["mechanism"]["name"] == "unary")
    document["vectors"].insert(0, {**one, "mechanism": {**one["mechanism"], "name": "further"}})
    shutil.copytree(VECTORS, tmp_path / "vectors")
    (tmp_path / "vectors" / "client.json").write_text(json.dumps(document), "utf-8")
    found = node("vectors.mjs", str(tmp_path / "vectors"))
    names = ", ".join(entry.name for entry in ENTRIES)
    assert found["refused"] == {"further": f"a mechanism must be one of {names}; got 'further'"}
    assert set(found["mechanisms"]) == {entry.name for entry in ENTRIES}
    assert found["different"] == []


def test_kinds_are_those_of_python_and_carry_the_same() -> None:
    found = node("kinds.mjs", given=[])["kinds"]
    homes = {kind.name: kind.lineage()[-1] for kind in KINDS.values()}
    wanted = [
        [
            kind.name,
            list(kind.contract_names),
            None if homes[kind.name] == kind.name else homes[kind.name],
        ]
        for kind in KINDS.values()
    ]
    assert found == wanted, "\n".join(missing_kinds(KINDS.values()))
    assert {borrows or name for name, _, borrows in found} == {entry.kind for entry in ENTRIES}
    types = (CLIENT / "rumor.d.ts").read_text("utf-8")
    line = "export type Kind = " + " | ".join(f'"{name}"' for name in KINDS) + ";"
    assert f"\n{line}\n" in types, f"src/rumor/client/js/rumor.d.ts needs the line {line}"


TYPED: list[tuple[str, list[str] | None, str, object]] = [
    ("choice", ["red", "blue"], "blue", "blue"),
    ("choice", ["red", "blue"], "1", "blue"),
    ("choice", ["red", "blue"], "2", "2"),
    ("choice", ["red", "blue"], "length", "length"),
    ("choice", None, "17", 17),
    ("choice", None, "red", "red"),
    ("set", ["red", "blue"], "blue | 0", ["blue", "red"]),
    ("set", ["red", "blue"], "none", []),
    ("set", ["red", "none"], "none", ["none"]),
    ("set", None, "17|3", [17, 3]),
    ("number", None, " -2.5e3 ", -2500),
    ("number", None, "Infinity", "Infinity"),
    ("number", None, " ", " "),
    ("text", None, " 17 ", " 17 "),
    ("keyvalue", ["Maps", "a:b"], "Maps:1.5, a:b: 2,", {"Maps": 1.5, "a:b": 2}),
    ("keyvalue", ["Maps", "Mail"], "1:3", {"Mail": 3}),
    ("keyvalue", None, "7:0", {"7": 0}),
    ("keyvalue", None, "", {}),
    ("keyvalue", ["Maps", "Mail"], " none", {}),
]


def test_answers_are_read_as_they_are_typed() -> None:
    found = node("kinds.mjs", given=[one[:3] for one in TYPED])["typed"]
    assert found == [one[3] for one in TYPED]


def test_parts_are_read_as_they_are_typed() -> None:
    """A comma within a label ends none, and a label may be said by its number."""
    parts = [{"id": "a", "labels": ["no", "yes, some"]}, {"id": "b-2", "labels": ["x=y", "z"]}]
    typed = ["a=yes, some, b-2=z", "b-2 = 0,a=no", "a=no"]
    found = node("kinds.mjs", given=[["joint", {"parts": parts}, text] for text in typed])["typed"]
    assert found == [{"a": "yes, some", "b-2": "z"}, {"b-2": "x=y", "a": "no"}, {"a": "no"}]
