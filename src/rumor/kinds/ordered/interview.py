"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import LABELS

ABOUT = "an answer on a scale, such as often, seldom, never"
ASKS = (LABELS,)
