"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import HIGH, LOW

ABOUT = "a number"
ASKS = (LOW, HIGH)
