"""`rumor advance`: the next round of PrivKVM, from files."""

from __future__ import annotations

from typing import Annotated

from rumor.cli.common import keep_inputs, print_json
from rumor.cli.estimate import Reports, SkipInvalid
from rumor.cli.options import AsJson, CollectionFile, option

Out = Annotated[str, option("--out -o FILE", "The contract of the next round to write (.json).")]


def advance(
    collection: CollectionFile,
    reports: Reports,
    out: Out,
    skip_invalid: SkipInvalid = False,
    as_json: AsJson = False,
) -> None:
    """Make the contract of the next PrivKVM round.

    The means of this round are published in the next one's contract, which names this one as its
    parent; devices that answer it spend what the first round promised for all. Shares are
    estimated from the reports of round 1, means from those of the last. In a store it is
    `rumor collections advance`.

    \b
    Example:
      rumor advance round-1.toml reports-1.parquet -o round-2.json
    """
    from rumor.analysis.estimate import analyse
    from rumor.contract.collection import Collection
    from rumor.privacy.rounds import next_round, require_rounds

    keep_inputs(collection, reports, out=out)
    before = Collection.load(collection)
    require_rounds(before.question().mechanism)
    found = analyse(before, reports, method="calibration", skip_invalid=skip_invalid)
    after = next_round(before, found.estimates[None])
    after.save(out)
    mechanism = after.question().mechanism
    told = {
        "round": mechanism.round,
        "rounds": mechanism.rounds,
        "collection": after.digest,
        "parent": before.digest,
        "reports": found.reports,
        "epsilon": mechanism.epsilon,
        "out": out,
    }
    if as_json:
        print_json(told)
        return
    print(
        f"round {mechanism.round} of {mechanism.rounds} to {out!r}: means of {found.reports:,} "
        f"reports, epsilon {mechanism.epsilon:.4g} for each of its reports"
    )
