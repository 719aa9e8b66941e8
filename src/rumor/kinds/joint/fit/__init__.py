"""Tables of several answers: margins, cells and how two answers go together."""
