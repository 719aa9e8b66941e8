"""What intervals of ordered answers assume of the distribution, and how they say so.

Reports cannot tell a smooth distribution from one of a few values each of which many people hold,
unless there are very many reports: between the two a test has hardly more power than chance. So
intervals assume nothing unless somebody says that answers are spread smoothly, which makes them
about half as long where it is true, and wrong where it is not.
"""

from __future__ import annotations

from rumor.core.checks import checked_choice

NOTHING, SMOOTH = "nothing", "smooth"
ASSUMPTIONS = (NOTHING, SMOOTH)
DEFAULT = NOTHING


def checked_assumption(assume: object) -> str:
    """Return an assumption's name, the default one of None."""
    return DEFAULT if assume is None else checked_choice("assume", assume, ASSUMPTIONS)


def condition(assume: str, heaps: bool) -> str:
    """Return under which condition intervals hold, as the end of a sentence."""
    if assume == NOTHING:
        return "whatever the distribution"
    apart = ", apart from the declared round numbers" if heaps else ""
    return f"if answers are spread smoothly{apart}"
