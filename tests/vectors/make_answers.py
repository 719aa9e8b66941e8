"""What is answered today, to every question of tests/answers: answers.json and charts.json.

    python -m tests.vectors.make_answers

Scientists publish these numbers: read the difference before you commit it, and put it into
CHANGELOG.
"""

from __future__ import annotations

from tests.answers.cases import answers, charts, computed, plans
from tests.answers.plain import FILES, written


def main() -> None:
    """Compute everything, and write both files."""
    tables = {"answers": {**answers(), **plans()}, "charts": charts()}
    for name, cases in tables.items():
        found = {each: computed(case) for each, case in cases.items()}
        FILES[name].write_text(written(found), encoding="utf-8")


if __name__ == "__main__":
    main()
