"""Things that are closed: by hand, or at the end of a `with` block."""

from __future__ import annotations

from typing import Protocol, Self


class Closable(Protocol):
    """Whatever gives back what it holds."""

    def close(self) -> None:
        """Once is enough, and twice does no harm."""
        ...


class Closing:
    """What makes a class that can be closed one that a block closes."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self: Closable, *raised: object) -> None:
        self.close()
