"""Tables of several answers: margins, cells and the association of two answers."""
