"""What is answered today, to every question of tests/answers: answers, charts and papers.json.

    python -m tests.vectors.make_answers            all three
    python -m tests.vectors.make_answers papers     one of them

Scientists publish these numbers: read the difference before you commit it, and put it into
CHANGELOG.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.answers.cases import answers, charts, computed, plans
from tests.answers.papers import papers
from tests.answers.plain import FILES, written


def main(names: Sequence[str]) -> None:
    """Compute everything, or the files of `names` alone, and write them."""
    tables = {
        "answers": lambda: {**answers(), **plans()},
        "charts": charts,
        "papers": papers,
    }
    for name in names or tables:
        found = {each: computed(case) for each, case in tables[name]().items()}
        FILES[name].write_text(written(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
