"""`rumor poisoning`: bounds on what fake reports can do, and tests for crafted reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from rumor.cli.common import print_json
from rumor.cli.options import AsJson, CollectionFile, QuestionId, argument, count, option

if TYPE_CHECKING:
    from rumor.core.reports import Reports
    from rumor.mechanisms import Mechanism
    from rumor.privacy.integrity import Integrity


Fakes = Annotated[
    int | None, count("--fakes N", "The number of fake reports to bound (default: 1%).")
]
MaxReports = Annotated[int, count("--max-reports --most N", "Test at most N reports.", min=1000)]
Seed = Annotated[int | None, option("--seed N", "The seed of the simulation behind a test.")]


def poisoning(
    collection: CollectionFile,
    reports: Annotated[str, argument("REPORTS", "A reports file (.parquet), or a folder of them.")],
    question: QuestionId = None,
    fakes: Fakes = None,
    max_reports: MaxReports = 1_000_000,
    seed: Seed = None,
    as_json: AsJson = False,
) -> None:
    """Test reports for poisoning, and bound its effect.

    Two tests compare reports with the mechanism's channel. The first asks whether reports
    support the most frequent values together more often than honest reports do. The second
    asks whether too many reports have very few or very many bits set. A crafted report of a
    single value cannot be distinguished from an honest one; then only the bound applies.

    \b
    Example:
      rumor poisoning examples/survey.toml reports.parquet --question medicine
    """
    from rumor.analysis.sources import ParquetSource
    from rumor.contract.collection import Collection
    from rumor.mechanisms.poisoning import PoisoningBound, bound_poisoning

    loaded = Collection.load(collection)
    asked = None if question is None else loaded.question(question)
    source = ParquetSource(reports, loaded, asked)
    mechanism, total = source.question.mechanism, source.reports
    bound = bound_poisoning(mechanism, max(total, 1))
    if fakes is not None:
        bound = PoisoningBound.for_clients(mechanism, total, fakes)
    findings = _findings(mechanism, _first_reports(source, max_reports), seed)
    if as_json:
        print_json(
            {
                "question": source.question.id,
                "reports": total,
                "fake_clients": bound.to_dict(),
                "alarm": any(finding.alarm for finding in findings.values()),
                "findings": {name: vars(finding) for name, finding in findings.items()},
            }
        )
        return
    print(f"{source.question.id}: {total:,} reports; {bound.sentence()}")
    for name, finding in findings.items():
        print(f"{name}: {finding.explanation}")


def _first_reports(source: object, most: int) -> Reports:
    """Return the first reports of `source`, at most `most`."""
    import numpy as np

    from rumor.analysis.sources import ParquetSource

    assert isinstance(source, ParquetSource)
    parts, count = [], 0
    for part in source.parts():
        for batch in part.batches():
            parts.append(batch.reports[: most - count])
            count += len(parts[-1])
            if count >= most:
                return np.concatenate(parts)
    return np.concatenate(parts) if parts else np.empty((0, 1), dtype=np.uint8)


def _findings(mechanism: Mechanism, batch: Reports, seed: int | None) -> dict[str, Integrity]:
    from rumor.core.randomness import Seeded
    from rumor.privacy.integrity import UNTESTED, Integrity, bit_counts, co_support

    findings: dict[str, Integrity] = {}
    if mechanism.oracle is not None:
        random = None if seed is None else Seeded(seed)
        findings["co-support"] = co_support(mechanism.oracle, batch, random=random)
    if mechanism.bit_shape() is not None:
        findings["bit counts"] = bit_counts(mechanism, batch)
    return findings or {"no test": Integrity(False, 0.0, False, UNTESTED)}
