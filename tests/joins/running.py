"""The command line within this process: its status and what it says."""

from __future__ import annotations

import contextlib
import io
import json
import re
from typing import Any

from rumor.cli import main


class Refused(Exception):  # noqa: N818 (an answer, not a mistake)
    """A command said in one sentence why not."""


def run(*arguments: object) -> Any:
    """What a command prints as JSON, every number of it finite; else `Refused`."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*map(str, arguments), "--json"])
    said = err.getvalue()
    if status == 0:
        return json.loads(out.getvalue(), parse_constant=_refuse_constant)
    assert status == 2, f"{arguments} ended with {status}: {said}"
    lines = said.splitlines()
    assert re.fullmatch(r"rumor: \S.*", lines[-1]), said
    assert all(line.startswith("WARNING: ") for line in lines[:-1]), said
    assert "Traceback" not in said
    raise Refused(lines[-1].removeprefix("rumor: "))


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"JSON has no {name}")
