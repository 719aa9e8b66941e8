"""The metrics of a collector, in the text format that Prometheus reads.

Totals only: nothing here tells one sender or one report from another.
"""

from __future__ import annotations

import math
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


REPORTS = ("accepted", "duplicate", "refused", "withdrawn", "dropped")
"""Outcomes of reports. Dropped reports came in envelopes, so no sender is informed."""


class Metrics:
    """Counters of one process, changed by its event loop only."""

    def __init__(self, outcomes: Sequence[str] = REPORTS, noun: str = "reports") -> None:
        self.responses: Counter[tuple[str, int]] = Counter()
        self._noun = noun
        self.reports: Counter[str] = Counter(dict.fromkeys(outcomes, 0))
        self.waiting = 0
        self.commits_failed = 0
        self.failed_at = -math.inf
        """When the last commit failed, by the monotonic clock; never, once one succeeds."""
        self._commits = [0] * (len(_BUCKETS) + 1)
        self._commit_seconds = 0.0

    def committed(self, seconds: float) -> None:
        """Count a commit that took `seconds`."""
        self.failed_at = -math.inf
        self._commits[bisect_left(_BUCKETS, seconds)] += 1
        self._commit_seconds += seconds

    def commit_failed(self) -> None:
        """Count a commit that failed."""
        self.commits_failed += 1
        self.failed_at = time.monotonic()

    def text(self) -> str:
        """Return the metrics as Prometheus reads them."""
        noun = self._noun
        lines = [
            f"# HELP rumor_{noun}_total {noun.capitalize()} by what became of them.",
            f"# TYPE rumor_{noun}_total counter",
            *(
                f'rumor_{noun}_total{{outcome="{outcome}"}} {count}'
                for outcome, count in sorted(self.reports.items())
            ),
            "# HELP rumor_responses_total Responses by route and status.",
            "# TYPE rumor_responses_total counter",
            *(
                f'rumor_responses_total{{route="{route}",status="{status}"}} {count}'
                for (route, status), count in sorted(self.responses.items())
            ),
            f"# HELP rumor_{noun}_waiting {noun.capitalize()} waiting for their commit.",
            f"# TYPE rumor_{noun}_waiting gauge",
            f"rumor_{noun}_waiting {self.waiting}",
            "# HELP rumor_commits_failed_total Commits that the store refused.",
            "# TYPE rumor_commits_failed_total counter",
            f"rumor_commits_failed_total {self.commits_failed}",
            "# HELP rumor_commit_seconds How long commits took.",
            "# TYPE rumor_commit_seconds histogram",
        ]
        total = 0
        for bound, count in zip((*_BUCKETS, float("inf")), self._commits, strict=True):
            total += count
            label = "+Inf" if bound == float("inf") else f"{bound:g}"
            lines.append(f'rumor_commit_seconds_bucket{{le="{label}"}} {total}')
        lines.append(f"rumor_commit_seconds_sum {self._commit_seconds:.6f}")
        lines.append(f"rumor_commit_seconds_count {total}")
        return "\n".join(lines) + "\n"
