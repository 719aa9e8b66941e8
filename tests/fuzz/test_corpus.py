"""What a search once found is refused or read, still; `make soak` searches for more."""

from __future__ import annotations

import pytest

from tests.fuzz.corpus import kept
from tests.fuzz.targets import TARGETS, seeds


@pytest.mark.parametrize("name", TARGETS)
def test_everything_in_the_corpus_is_read_or_refused_with_a_sentence(name: str) -> None:
    findings, reached = kept(name)
    assert reached
    for data in [*seeds(name), *findings, *reached]:
        TARGETS[name](data)


@pytest.mark.parametrize("name", TARGETS)
def test_no_input_cut_short_is_more_than_refused(name: str) -> None:
    for data in seeds(name):
        for end in range(0, len(data), 7):
            TARGETS[name](data[:end])
