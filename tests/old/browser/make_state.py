"""Make what a browser keeps of a person, by the JavaScript of one commit.

    git archive COMMIT src tests/js | tar -x -C /tmp/code
    PYTHONPATH=$PWD/src:$PWD .venv/bin/python tests/old/browser/make_state.py /tmp/code v1 2

The last two arguments are the name of the file to write and the version of the ledger whose
contracts (tests/old/ledgers) are answered. That commit's client, run by its own tests/js/run.mjs,
makes the state and all that is expected of it. The issuer, where one is needed, is the present one.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rumor.collector.http.server import background, listen
from rumor.collector.issuer_keys import IssuerKeys
from rumor.collector.issuing import IssuerService
from rumor.collector.store.base import open_store
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from tests.issuers import SECRETS, invite
from tests.needs import needs

HERE = Path(__file__).parent
DAY = 20_773
"""2026-11-16, counted from 1970."""


def run(code: Path, steps: list[dict[str, object]]) -> list[Any]:
    """The results of steps, by the client of a commit."""
    done = subprocess.run(
        [str(needs("node")), str(code / "tests" / "js" / "run.mjs")],
        input=json.dumps(steps),
        capture_output=True,
        text=True,
        check=True,
    )
    return list(json.loads(done.stdout))


def main(code: Path, name: str, version: str) -> None:
    """Answer every contract once or twice, and write down the state and what it says."""
    folder = HERE.parent / "ledgers" / f"v{version}"
    texts = {path.stem: path.read_text() for path in sorted(folder.glob("*.json"))}
    del texts["expected"]
    invitation = new_invitation()
    steps: list[dict[str, object]] = [
        {"step": "parse", "contract": text, "as": series} for series, text in texts.items()
    ]
    if "asked" in texts:
        steps.append({"step": "day", "is": DAY})
    steps.append({"step": "open"})
    plain = [
        {"habit": "tea"},
        {"habit": "tea", "colour": "red"},
        {"habit": "milk", "colour": "blue"},
    ]
    wanted = [("plain", answers) for answers in plain] + [
        (series, answers)
        for series, answers in (
            ("invited", {"colour": "green"}),
            ("weekly", {"habit": "coffee"}),
            ("weekly", {"habit": "coffee"}),
            ("relayed", {"colour": "red"}),
            ("blind", {"colour": "blue"}),
            ("grouped", {"colour": "red"}),
        )
        if series in texts
    ]
    with ExitStack() as stack:
        if "blind" in texts:
            steps.append({"step": "enrol", "of": "blind", "invitation": invitation})
            stack.enter_context(_issuer(texts["blind"], invitation))
        for series, answers in wanted:
            steps.append({"step": "prepare", "of": series, "answers": answers})
            if series == "invited":
                steps[-1]["invitation"] = invitation
            if series == "grouped":
                steps[-1]["groups"] = {"country": "FR"}
        if "asked" in texts:
            steps.append({"step": "drawn", "of": "asked"})
        told: dict[str, dict[str, object]] = {
            "spending": {"step": "spending"},
            "spent": {"step": "spent"},
            "state": {"step": "state"},
        }
        more: dict[str, object] = {"step": "prepare", "of": "plain", "answers": {"habit": "tea"}}
        steps += [*told.values(), more, told["spending"], told["spent"]]
        results = run(code, steps)
    refused = [r for r in results if isinstance(r, dict) and set(r) == {"error", "code"}]
    assert not refused, refused
    spending, spent, state, _, after, spent_after = results[-6:]
    found = {
        "contracts": f"ledgers/v{version}",
        "invitation": invitation,
        "state": state,
        "spent": spent,
        "spending": spending,
        "after": {"spent": spent_after, "spending": after},
    }
    if "asked" in texts:
        found["drawn"] = results[-7]
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


@contextmanager
def _issuer(contract: str, invitation: str) -> Iterator[None]:
    """While this lasts, the contract's issuer listens where the contract says."""
    collection = Collection.from_contract(json.loads(contract))
    assert collection.issuer is not None
    keys = IssuerKeys("blind", {"colour": SECRETS[0]})
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/issuer.db")
        invite(store, invitation, series="blind")
        listener = listen("127.0.0.1", int(collection.issuer.url.rpartition(":")[2]))
        with background(IssuerService(store, collection, keys), listener=listener):
            yield


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
