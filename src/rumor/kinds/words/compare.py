"""What is compared of open words: the shares of words that were named in advance.

Words that were found came out high where they were found, and would differ by that alone.
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
    """A share for each listed word."""
    if options.get("candidates") is None:
        raise InputError(
            "open words are compared on words named in advance (--candidates), since those that "
            "were found came out high where they were found; got none"
        )
    found = look_for(mechanism, summary.tally, checked_words(options["candidates"]))
    return Measures.shares(found.words, Sample.known(found.share, found.stderr))
