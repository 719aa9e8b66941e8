"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import Ask

ABOUT = "one word of many that you can list"
ASKS: tuple[Ask, ...] = ()
