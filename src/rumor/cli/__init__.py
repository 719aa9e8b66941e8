"""The command `rumor`: it parses, calls and prints; the work is done elsewhere.

Whatever goes wrong with what was given ends in one sentence on the standard error and exit
status 2. Commands load what they need when they run, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

from rumor.cli.guarded import guarded_output
from rumor.core.errors import DamagedError, InputError, UnavailableError
from rumor.core.extras import missing_extra_message


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    try:
        from rumor.cli.app import app
    except ModuleNotFoundError as problem:
        return _lacking(problem)

    # Labels may hold any character; a terminal that lacks one shows a replacement.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")
    with guarded_output():
        return _run(app, arguments)


def _run(app: Callable[..., object], arguments: Sequence[str] | None) -> int:
    """Run the application `app`; returns the exit status."""
    try:
        status = app(args=arguments, prog_name="rumor", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except KeyboardInterrupt:
        return 130
    except InputError as problem:
        return _refuse(str(problem))
    except DamagedError as problem:
        return _refuse(str(problem))
    except UnavailableError as problem:
        return _refuse(f"the store cannot be used just now; try again ({problem})")
    except OSError as problem:
        return _refuse(_file_trouble(problem))
    except MemoryError:
        return _refuse("this needs more memory than there is")
    except ModuleNotFoundError as problem:
        return _lacking(problem)
    except Exception as problem:
        # The parser's own complaints know how to say themselves; anything else is a bug.
        sentence = getattr(problem, "format_message", None)
        if sentence is None:
            return _bug(problem)
        asked = getattr(getattr(problem, "ctx", None), "command_path", "rumor")
        return _refuse(f"{sentence().rstrip('.')} (see {asked} --help)")


def _refuse(sentence: str) -> int:
    print(f"rumor: {' '.join(sentence.split())}", file=sys.stderr)
    return 2


def _lacking(problem: ModuleNotFoundError) -> int:
    """Name what to install; a module of Rumor's own that is missing is a bug."""
    sentence = missing_extra_message(problem, "this command")
    return _bug(problem) if sentence is None else _refuse(sentence)


def _bug(problem: BaseException) -> int:
    """Say where Rumor went wrong. What the exception says is left out: it may quote an answer."""
    frames = traceback.extract_tb(problem.__traceback__)
    way = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    kind = type(problem).__name__
    print(f"rumor: this is a bug of Rumor, please report it: {kind} at {way}", file=sys.stderr)
    return 70


def _file_trouble(problem: OSError) -> str:
    reason = problem.strerror or str(problem)
    if problem.filename is None:
        return f"a file could not be read or written: {reason}"
    return f"a file must be readable or writable; got {str(problem.filename)!r}: {reason}"
