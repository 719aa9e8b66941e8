"""The papers that Rumor stands on, reproduced: published numbers beside ours, one command each.

A paper is a checklist of what its document says, a list of cells (each a pure function of
parameters, trials and a seed), and claims that tie published numbers to what cells measure.
One runner runs the cells of any paper, one renderer shows any of them.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rumor.core.errors import InputError, format_value

if TYPE_CHECKING:
    from rumor.papers.model import Paper

MODULES: Mapping[str, str] = {
    "css2020": "rumor.papers.css2020.experiments",
    "privkv-em": "rumor.papers.privkv_em.experiments",
    "rappor-decode": "rumor.papers.rappor_decode",
    "rappor-privacy": "rumor.papers.rappor_privacy",
    "rappor-primer": "rumor.papers.rappor_primer",
    "minimax": "rumor.papers.minimax",
    "paper-designs": "rumor.papers.paper_designs",
}


# The five documents that Rumor began with, by their numbers.
DOCUMENTS: Mapping[str, str] = {
    "000": "rappor-decode",
    "001": "rappor-privacy",
    "002": "privkv-em",
    "003": "rappor-primer",
    "004": "css2020",
}


def paper(name: str) -> Paper:
    """Return the paper of this name."""
    if name not in MODULES:
        raise InputError(f"a paper must be one of {', '.join(MODULES)}; got {format_value(name)}")
    found: Paper = importlib.import_module(MODULES[name]).PAPER
    return found
