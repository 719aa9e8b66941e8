"""The colours of pictures: those of the pages where a page has such a thing (base.css).

Told apart by everyone, colour-blind readers and black-and-white printers included: an estimate is
light, its interval dark, a truth or a change orange.
"""

from __future__ import annotations

INK = "#1d1f23"
LINE = "#1d5a96"
BAR = "#9ecae9"
TRUTH = "#d9480f"
TILES = (BAR, "#ffd8a8", "#b2dfb0", "#d0bfff", "#ffc9c9", "#dee2e6")
"""Of areas side by side, which are told apart by their labels as well."""
SERIES = (LINE, TRUTH, "#2b8a3e", "#7048a8", "#8a6d1d", "#0b8a9c", "#b0306a", "#666666")
"""Of lines in one picture."""
