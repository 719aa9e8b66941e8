"""What `rumor init` asks of a yes-or-no question; a column of answers is read as a choice's."""

from __future__ import annotations

from rumor.kinds.choice.read import reader as reader

ABOUT = "yes or no"
ASKS = ()
