"""The pages, run by Node in a small document: what people do, and all that follows from it."""

from __future__ import annotations

import difflib
import itertools

import pytest

from tests import lives_of_analysts, lives_of_respondents
from tests.needs import needs
from tests.pages import LIVES

needs("node")
KNOWN = {**lives_of_respondents.LIVES, **lives_of_analysts.LIVES}


@pytest.mark.parametrize("name", KNOWN)
def test_a_life_goes_as_it_is_written(name: str) -> None:
    """Every line of the page, request, pause, row that is kept, chart and focus of every step."""
    written = (LIVES / f"{name}.txt").read_text("utf-8").splitlines()
    found = KNOWN[name]().transcript().splitlines()
    changes = difflib.unified_diff(written, found, "written", "found", n=3, lineterm="")
    said = "\n".join(itertools.islice(changes, 60))
    assert found == written, f"`python -m tests.pages` writes this anew:\n{said}"


def test_every_transcript_has_its_life() -> None:
    assert {path.stem for path in LIVES.iterdir()} == set(KNOWN)
