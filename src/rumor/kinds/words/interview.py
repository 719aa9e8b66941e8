"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import Ask

ABOUT = "a word that nobody has listed"
ASKS: tuple[Ask, ...] = ()
