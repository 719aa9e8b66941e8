"""What papers say is the same in the next version: pages, cells, and experiments of a few people.

The file is written anew by `python -m tests.vectors.make_answers papers` and READ.
"""

from __future__ import annotations

import pytest

from tests.answers.cases import computed
from tests.answers.papers import SLOW, papers
from tests.answers.plain import FILES, difference, read

_PAPERS = papers()


@pytest.mark.parametrize("name", _PAPERS)
@pytest.mark.slow_cases(*SLOW)
def test_a_part_of_a_paper_stays(name: str) -> None:
    assert not difference(computed(_PAPERS[name]), read("papers").get(name, "nothing"), name)


def test_the_file_holds_these_parts_and_no_others() -> None:
    assert set(read("papers")) == set(_PAPERS)
    assert FILES["papers"].stat().st_size < 150_000
