"""What `rumor init` asks about a question of this kind."""

from rumor.kinds.interviews import HIGH, LOW, Ask, cap_of, listed

ABOUT = "things that people have, with a number for each"
ASKS = (
    Ask("keys", "The things, with commas between them", listed),
    LOW,
    HIGH,
    cap_of("things", optional=True),
)
