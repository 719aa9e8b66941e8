"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import LABELS

ABOUT = "one of a list of answers"
ASKS = (LABELS,)
