"""The client for browsers as `rumor audit --command` runs it: every kind, whatever its labels."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.kinds import KINDS, NAMES
from tests.javascript import CLIENT, SCRIPTS, collection, node
from tests.needs import needs

needs("node")

# Half of so many reports of each value judge an event: enough to tell any two values apart.
SAMPLES = 2000


# Those that people answer most; the others take as long again each.
_OFTEN = ("choice", "number", "joint")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in _OFTEN else [pytest.mark.slow]) for n in NAMES]
)
def test_the_example_of_every_kind_is_audited_through_the_client(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = tmp_path / "contract.json"
    collection({"kind": name, **KINDS[name].example().spec}).save(contract)
    seeded = ["--import", (SCRIPTS / "seeded.mjs").as_uri()]
    program = [str(needs("node")), *seeded, str(CLIENT / "cli.mjs"), str(contract), "a"]
    status = main(
        ["audit", str(contract), "--samples", str(SAMPLES), "--json", "--command",
         shlex.join(program)]
    )  # fmt: skip
    said = capsys.readouterr()
    assert status == 0, said
    (audit,) = json.loads(said.out)["audits"]
    box = next(finding for finding in audit["findings"] if finding["part"] == "black box")
    assert 0 < box["found"] <= box["claimed"]


SWAPPED, SHIFTED, WITHOUT = ["2", "1", "0"], ["1", "2", "3"], ["none", "car", "bus"]
SAID: list[dict[str, Any]] = [
    *({"kind": "choice", "labels": labels} for labels in (SWAPPED, SHIFTED, WITHOUT)),
    *({"kind": "ordered", "labels": labels} for labels in (SWAPPED, SHIFTED)),
    *({"kind": "set", "labels": labels} for labels in (SWAPPED, SHIFTED, WITHOUT)),
    *({"kind": "keyvalue", "keys": k, "low": 0, "high": 1} for k in (SWAPPED, SHIFTED, WITHOUT)),
    {
        "kind": "joint",
        "parts": [
            {"id": "1", "labels": SWAPPED},
            {"id": "0", "labels": SHIFTED},
            {"id": "smokes", "labels": ["yes, some", "no"]},
        ],
    },
]


@pytest.mark.parametrize("asked", SAID, ids=lambda asked: asked["kind"])
def test_a_value_is_read_as_the_one_that_was_meant(asked: dict[str, Any]) -> None:
    """Labels that are numbers of others, and an option called as nothing is."""
    question = collection({**asked, "epsilon": 2.0}).question("a")
    mechanism, kind = question.mechanism, question.kind
    known = {"parts": asked["parts"]} if kind == "joint" else question.labels
    values = mechanism.inputs()
    given = [[kind, known, mechanism.audit.as_argument(value)] for value in values]
    read = node("kinds.mjs", given=given)["typed"]
    assert list(map(mechanism.identity, read)) == list(map(mechanism.identity, values))
