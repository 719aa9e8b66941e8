"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import Ask, parts

ABOUT = "two to four answers, to see how they go together"
ASKS = (Ask("parts", "The parts, such as smokes: yes, no; drinks: much, some, none", parts),)
