"""The certificate of an audit: its checks, its findings, and what they can and cannot show."""

from __future__ import annotations

import datetime
import html
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rumor import __version__
from rumor.contract.collection import Collection, Question
from rumor.core.randomness import RandomSource, Seeded
from rumor.core.types import Progress
from rumor.mechanisms.base import Mechanism
from rumor.privacy.audit.findings import (
    CONFIDENCE,
    Finding,
    audit_exact,
    audit_samples,
    external_sampler,
)
from rumor.privacy.audit.over_time import audit_over_time
from rumor.results.chart_files import POLICY

MEANING = {
    "exact": "Proves that the model has this loss and that the reference draw follows the model "
    "on the instances walked. Says nothing of the random number generator.",
    "black box": f"A loss that the sampler has with {CONFIDENCE:.0%} confidence. Above the claim "
    "it proves a fault; below, it found none.",
    "over time": "The same for whole transcripts of one device that keeps its permanent answers.",
}


@dataclass(frozen=True)
class Certificate:
    """The findings of an audit of one collection."""

    collection: str
    digest: str
    version: str
    python: str
    day: str
    samples: int
    seed: int | None
    findings: tuple[tuple[str, Finding], ...]
    warnings: tuple[str, ...] = ()
    """What the mechanisms do not promise, whatever the findings are."""

    @property
    def passed(self) -> bool:
        """Whether every part passed."""
        return all(finding.passed for _, finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Return the certificate as plain data."""
        facts = {key: getattr(self, key) for key in ("collection", "digest", "version", "python")}
        return {
            **facts,
            "day": self.day,
            "samples": self.samples,
            "seed": self.seed,
            "passed": self.passed,
            "confidence": CONFIDENCE,
            "findings": [{"question": id, **asdict(finding)} for id, finding in self.findings],
            "meaning": MEANING,
            **({"warnings": list(self.warnings)} if self.warnings else {}),
        }

    def table(self) -> str:
        """Return the findings as text."""
        from rumor.core.plain_text import aligned, wrapped

        head = ["question", "part", "claimed", "found", "verdict"]
        body = [
            [id, f.part, f"{f.claimed:.6g}", f"{f.found:.6g}", "pass" if f.passed else "FAIL"]
            for id, f in self.findings
        ]
        verdict = "passed" if self.passed else "FAILED"
        lines = [
            aligned(head, body, left=(0, 1)),
            f"{self.collection}: audit {verdict}",
            *(wrapped(f"warning: {said}") for said in self.warnings),
        ]
        return "\n".join(lines)

    def to_html(self) -> str:
        """Return the certificate as a page of its own."""
        rows = "".join(
            "<tr>"
            + "".join(
                f"<td>{html.escape(str(cell))}</td>"
                for cell in (
                    id,
                    f.part,
                    f"{f.claimed:.9g}",
                    f"{f.found:.9g}",
                    "pass" if f.passed else "FAIL",
                    f.detail,
                )
            )
            + "</tr>"
            for id, f in self.findings
        )
        facts = "".join(
            f"<dt>{html.escape(key)}</dt><dd>{html.escape(str(value))}</dd>"
            for key, value in self.to_dict().items()
            if key not in ("findings", "meaning", "warnings")
        )
        meaning = "".join(
            f"<p><b>{html.escape(part)}</b>: {html.escape(text)}</p>"
            for part, text in [*MEANING.items(), *(("warning", said) for said in self.warnings)]
        )
        return _PAGE.format(
            title=html.escape(self.collection),
            policy=POLICY,
            verdict="passed" if self.passed else "FAILED",
            facts=facts,
            rows=rows,
            meaning=meaning,
        )


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Audit of {title}</title>
<meta http-equiv="Content-Security-Policy" content="{policy}">
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid #999; padding: .3rem .6rem; }}
dt {{ font-weight: bold; }} dd {{ margin: 0 0 .3rem 0; overflow-wrap: anywhere; }}
</style>
<h1>Audit of {title}: {verdict}</h1>
<dl>{facts}</dl>
<table><tr><th>question<th>part<th>claimed<th>found<th>verdict<th>detail</tr>{rows}</table>
<h2>What each part can and cannot show</h2>{meaning}
</html>
"""


def certify(
    collection: Collection,
    *,
    samples: int = 1_000_000,
    command: Sequence[str] | None = None,
    seed: int | None = None,
    question: str | None = None,
    on_progress: Progress | None = None,
) -> Certificate:
    """Audit every question of `collection`, or one `question`; a `command` replaces the sampler."""
    source = None if seed is None else Seeded(seed)
    asked = collection.questions if question is None else [collection.question(question)]
    findings = [
        (one.id, finding)
        for one in asked
        for finding in _findings(one, samples, command, source, on_progress)
    ]
    return Certificate(
        collection.name,
        collection.digest,
        __version__,
        platform.python_version(),
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        samples,
        seed,
        tuple(findings),
        tuple(f"{one.id}: {said}" for one in asked if (said := one.mechanism.warning) is not None),
    )


def _findings(
    question: Question,
    samples: int,
    command: Sequence[str] | None,
    source: RandomSource | None,
    on_progress: Progress | None,
) -> list[Finding]:
    mechanism: Mechanism = question.mechanism.without_labels()  # labels make no difference
    # A program knows values by their labels.
    sampled = mechanism if command is None else question.mechanism
    sampler = None if command is None else external_sampler(command, sampled)
    found = [
        audit_exact(mechanism),
        audit_samples(
            sampled, samples=samples, sampler=sampler, random=source, on_progress=on_progress
        ),
    ]
    if question.reports_per_person > 1 and command is None:
        times = min(question.reports_per_person, 5)
        people = max(200, min(4000, samples // 250))
        found.append(
            audit_over_time(mechanism, times, people=people, random=source, on_progress=on_progress)
        )
    return found
