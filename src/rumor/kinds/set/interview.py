"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import LABELS, cap_of

ABOUT = "any of a list of answers"
ASKS = (LABELS, cap_of("answers", optional=False))
