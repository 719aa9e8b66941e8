"""Helpers of all commands: dates, input and output checks, progress bars, JSON and warnings."""

from __future__ import annotations

import datetime
import json
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rumor.cli.guarded import unfolded, unguarded
from rumor.core.errors import InputError, format_value


def parse_day(name: str, text: str | None) -> datetime.date | None:
    """Return a day written as YYYY-MM-DD."""
    if text is None:
        return None
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{name} must be a day written YYYY-MM-DD; got {format_value(text)}"
        ) from None


def past_day(name: str, text: str | None) -> datetime.date | None:
    """Return a day that has begun somewhere on earth."""
    day = parse_day(name, text)
    ahead = datetime.timedelta(hours=14)  # the clocks furthest ahead of UTC
    today = (datetime.datetime.now(datetime.UTC) + ahead).date()
    if day is not None and day > today:
        raise InputError(f"{name} must not lie in the future (after {today}); got {day}")
    return day


def keep_inputs(*inputs: str | None, **outputs: str | None) -> None:
    """Refuse an output that would replace one of the inputs; outputs by their option's name."""
    read = {Path(path).resolve() for path in inputs if path is not None}
    for name, path in outputs.items():
        if path is not None and Path(path).resolve() in read:
            raise InputError(
                f"--{name.replace('_', '-')} must not replace what is read; got {path!r} for both"
            )


def print_json(data: Mapping[str, object]) -> None:
    """Print `data` as one JSON object."""
    print(json.dumps(_plain(data), indent=2, allow_nan=False), file=unfolded(sys.stdout))


def _plain(value: Any) -> Any:
    """Convert `value` for JSON: numpy's numbers to numbers, numbers that are not finite to null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def warn(text: str) -> None:
    """Print a warning on the standard error."""
    print(f"WARNING: {text}", file=sys.stderr)


@contextmanager
def ending_cleanly() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does, so that it removes what it has not finished."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def progress(doing: str) -> Iterator[Callable[[int, int | None], None]]:
    """Yield a bar on the standard error while something runs, if a person is watching.

    Gives a function to be called with how much is done and how much there is (None: unknown).
    """
    with noted_progress(doing) as update:
        yield lambda done, total: update(done, total, "")


@contextmanager
def noted_progress(doing: str) -> Iterator[Callable[[int, int | None, str], None]]:
    """Yield a bar as `progress` does; its function also takes a note to show beside the bar."""
    if not sys.stderr.isatty():
        yield lambda done, total, note: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    amount = TextColumn("{task.fields[amount]}")
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeLeft())
    with Progress(*columns, console=Console(file=unguarded(sys.stderr)), transient=True) as bars:
        task = bars.add_task(doing, total=None, amount="")
        start = time.monotonic()
        yield lambda done, total, note: bars.update(
            task,
            completed=done,
            total=total,
            description=f"{doing} {note}".strip(),
            amount=amount_done(done, total, time.monotonic() - start),
        )


def amount_done(done: int, total: int | None, seconds: float) -> str:
    """Return how much is done after so many `seconds`: the share of a known total, or the rate."""
    if not total:
        return f"{done:,} ({done / seconds:,.0f} per second)" if seconds else f"{done:,}"
    return f"{done:,} of {total:,} ({min(done / total, 1):.0%})"


@contextmanager
def started_engine(
    name: str, master: str | None
) -> Iterator[tuple[Callable[[], Any], Callable[[int, int | None], None]]]:
    """Yield a function that starts the engine `name`, and one that moves a progress bar.

    The bar shows the engine's own status beside the progress.
    """
    from rumor.analysis.estimate import checked_engine, open_engine

    checked_engine(name)
    note = ""

    def tell(status: object) -> None:
        nonlocal note
        note = str(status)

    with noted_progress("counting") as update:
        yield (
            lambda: open_engine(name, master, tell),
            lambda done, total: update(done, total, note),
        )


def check_new_collection(file: str) -> None:
    """Refuse a place where no collection can be written, or where something stands already."""
    if Path(file).suffix != ".toml":
        raise InputError(f"a collection is written to a .toml file; got {file!r}")
    if Path(file).exists():
        raise InputError(f"a collection is written to a new file; {file!r} exists")
