"""`rumor vectors`: what every port of a device must make of one contract."""

from __future__ import annotations

import json
from typing import Annotated

from rumor.cli.common import keep_inputs, print_json
from rumor.cli.guarded import print_exactly
from rumor.cli.options import AsJson, CollectionFile, option


def vectors(
    collection: CollectionFile,
    out: Annotated[
        str | None, option("--out -o FILE", "Write the vectors to FILE and print their numbers.")
    ] = None,
    earlier: Annotated[
        list[str] | None,
        option(
            "--earlier FILE",
            "A contract of the series that the device has answered before: an earlier revision, "
            "or round of PrivKVM; repeatable, the first one first.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the vectors of one contract, to check a port of a device.

    For a known secret and known random bytes: answers to each question, the bytes of every report
    and permanent answer, and the ledger of a device with every charge. A port that makes the same
    bytes of the same contract may answer it; the vectors follow from the contract alone.

    \b
    Example:
      rumor vectors examples/browser.toml > vectors.json
      rumor vectors contract.json --out vectors.json
      rumor vectors round-2.json --earlier round-1.json
    """
    from rumor.client.vectors import contract_vectors
    from rumor.contract.collection import Collection
    from rumor.core.files import write_whole

    keep_inputs(collection, *(earlier or []), out=out)
    made = contract_vectors(
        Collection.load(collection), [Collection.load(path) for path in earlier or []]
    )
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    if out is None:
        if as_json:
            print_json(made)
        else:
            print_exactly(text)
        return
    write_whole(out, text.encode("utf-8"))
    reports = sum(len(question["reports"]) for question in made["questions"])
    facts = {
        "digest": made["digest"],
        "questions": len(made["questions"]),
        "reports": reports,
        "steps": len(made["device"]["steps"]),
        "out": out,
    }
    if as_json:
        print_json(facts)
        return
    print(
        f"{out}: questions {facts['questions']:,}, reports {reports:,}, steps of a device "
        f"{facts['steps']:,}; digest {facts['digest'][:16]}..."
    )
