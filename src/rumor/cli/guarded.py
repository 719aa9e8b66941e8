"""Guarded output: no command prints a control character that a terminal would obey.

Sentences of servers, names in contracts and labels come from strangers; an escape among them could
move the cursor, hide what was printed before, or rename the window. All output of a command goes
through these two streams, so that no command needs to remember it.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator
from typing import IO, Any

from rumor.core.plain_text import folded, limited_width, visible

# What tables draw, for a terminal whose encoding lacks it.
_PLAINLY = str.maketrans(
    {
        **dict.fromkeys("█▉▊▋▌", "#"),
        **dict.fromkeys("▍▎▏"),
        **dict(zip("▁▂▃▄▅▆▇", "_.:-=+*", strict=True)),
        "…": "...",
    }
)


class GuardedStream:
    """A stream of text that shows control characters instead of passing them on.

    In a terminal of so many `columns`, lines are broken between words.
    """

    def __init__(self, unguarded: IO[str], columns: int | None = None) -> None:
        self.unguarded, self.columns = unguarded, columns

    def write(self, text: str) -> int:
        """Write `text` with every control character in it replaced, and bars that can be shown."""
        shown = visible(text)
        if self.columns is not None:
            shown = "\n".join(
                folded(line, self.columns) if len(line) > self.columns else line
                for line in shown.split("\n")
            )
        try:
            shown.encode(getattr(self.unguarded, "encoding", None) or "utf-8")
        except UnicodeEncodeError:
            shown = shown.translate(_PLAINLY)
        return self.unguarded.write(shown)

    def writelines(self, lines: Any) -> None:
        """Write every text of `lines`."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextlib.contextmanager
def guarded_output() -> Iterator[None]:
    """Guard the standard output and the standard error while the block lasts."""
    out, err = (
        shutil.get_terminal_size().columns if stream.isatty() else None
        for stream in (sys.stdout, sys.stderr)
    )
    with (
        contextlib.redirect_stdout(GuardedStream(sys.stdout, out)),
        contextlib.redirect_stderr(GuardedStream(sys.stderr, err)),
        limited_width(out),
    ):
        yield


def unguarded(stream: Any) -> IO[str]:
    """Return the stream behind a guarded one, for output that we make ourselves."""
    found: IO[str] = getattr(stream, "unguarded", stream)
    return found


def unfolded(stream: Any) -> GuardedStream:
    """Return a guarded stream whose lines stay whole, for what people copy for programs."""
    return GuardedStream(unguarded(stream))


def print_exactly(text: str) -> None:
    """Print `text` as it is, and no line end, unless a person is watching: what programs digest."""
    if sys.stdout.isatty():
        print(text, file=unfolded(sys.stdout))
    else:
        unguarded(sys.stdout).write(text)
