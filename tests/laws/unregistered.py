"""Mechanisms that no kind of question asks for yet: their laws run as if they were registered."""

from __future__ import annotations

import pytest

from rumor.mechanisms import registry
from rumor.mechanisms.registry import ENTRIES, ByName, Entry

OPEN_WORDS = Entry("open-words", "open_words", "OpenWords", "text")


def register(patch: pytest.MonkeyPatch) -> None:
    """Have contracts that name them read, as long as the patch lasts."""
    patch.setattr(registry, "BY_NAME", ByName((*ENTRIES, OPEN_WORDS)))
