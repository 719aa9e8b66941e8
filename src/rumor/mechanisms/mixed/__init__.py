"""Joint answers: some people are asked for one part, some for several."""
