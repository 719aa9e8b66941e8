"""The quantities compared for open words: the shares of words that were named in advance.

Detected words were selected for a high estimate, and groups would differ by the selection alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rumor.core.errors import InputError
from rumor.core.types import Target
from rumor.estimators.groups import Sample
from rumor.kinds.measures import Measures
from rumor.kinds.word_lists import checked_words
from rumor.kinds.words.fit.found import look_for
from rumor.mechanisms.open_words.open_words import OpenWords
from rumor.mechanisms.summary import Summary


def measures(
    mechanism: OpenWords, summary: Summary, of: Target, options: Mapping[str, Any]
) -> Measures:
    """Return the unbiased share of each listed word."""
    if options.get("candidates") is None:
        raise InputError(
            "open words are compared on words named in advance (--candidates), since estimates of "
            "detected words are biased upwards; got none"
        )
    found = look_for(mechanism, summary.tally, checked_words(options["candidates"]))
    return Measures.shares(found.words, Sample.known(found.share, found.stderr))
