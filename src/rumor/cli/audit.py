"""`rumor audit`: does the code deliver the epsilon it claims?"""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from rumor.cli.common import print_json, progress
from rumor.cli.options import AsJson, QuestionId, argument, count, option

Samples = Annotated[int, count("--samples N", "Reports to sample of each of two values.", min=1000)]
Command = Annotated[
    str | None,
    option(
        "--command COMMAND",
        "Audit this program instead: called with a value and a count as its last two "
        "arguments, it writes that many reports to its standard output. Pairs come as "
        "KEY:NUMBER with commas between them; values and keys come by number, or by "
        "label where that number is the label of another.",
    ),
]
Certificate = Annotated[
    str | None, option("--certificate FILE", "Write a page (.html) or data (.json).")
]


def audit(
    collections: Annotated[list[str], argument("COLLECTION...", "The collections to audit.")],
    question: QuestionId = None,
    samples: Samples = 1_000_000,
    command: Command = None,
    seed: Annotated[int | None, option("--seed N", "Make the sampling repeatable.")] = None,
    certificate: Certificate = None,
    as_json: AsJson = False,
) -> None:
    """Check that the noise has the epsilon that is claimed.

    Exit status 1 says that it does not.

    There are two independent tests: the branches of the code are enumerated, and a distinguishing
    game on sampled reports gives a lower bound on epsilon that holds with 99% confidence.
    Questions that are asked again are also judged by whole transcripts of devices.

    \b
    Examples:
      rumor audit examples/*.toml
      rumor audit examples/browser.toml --certificate audit.html
      rumor audit examples/browser.toml --command "node client.mjs"
    """
    import json
    from pathlib import Path

    from rumor.contract.collection import Collection
    from rumor.core.errors import InputError
    from rumor.core.files import write_whole
    from rumor.privacy.audit.certificate import certify

    if certificate is not None and Path(certificate).suffix not in (".html", ".json"):
        raise InputError(f"a certificate's file must end in .html or .json; got {certificate!r}")
    if certificate is not None and len(collections) > 1:
        raise InputError(f"a certificate is of one collection; got {len(collections)}")
    outcomes = []
    for path in collections:
        loaded = Collection.load(path)
        with progress(f"auditing {loaded.name}") as on_progress:
            outcome = certify(
                loaded,
                samples=samples,
                command=None if command is None else shlex.split(command),
                seed=seed,
                question=question,
                on_progress=on_progress,
            )
        outcomes.append(outcome)
        if not as_json:
            print(outcome.table())
        if certificate is not None:
            page = certificate.endswith(".html")
            text = outcome.to_html() if page else json.dumps(outcome.to_dict(), indent=2)
            write_whole(certificate, text.encode())
    if as_json:
        print_json({"audits": [outcome.to_dict() for outcome in outcomes]})
    if not all(outcome.passed for outcome in outcomes):
        raise typer.Exit(1)
