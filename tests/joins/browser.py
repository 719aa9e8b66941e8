"""The client for browsers in one long talk: a device answers, sends and withdraws as it is told."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from tests.javascript import SCRIPTS
from tests.needs import needs


class Browser:
    """Node with tests/js/talk.mjs; started when it is first spoken to."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def take(self, step: str, **options: object) -> Any:
        """What comes of a step; it must not be refused."""
        if self._process is None:
            self._process = subprocess.Popen(
                [
                    str(needs("node")),
                    "--import",
                    (SCRIPTS / "seeded.mjs").as_uri(),
                    str(SCRIPTS / "talk.mjs"),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        talk = self._process
        assert talk.stdin is not None
        assert talk.stdout is not None
        talk.stdin.write(json.dumps({"step": step, **options}) + "\n")
        talk.stdin.flush()
        found = json.loads(talk.stdout.readline())
        assert not (isinstance(found, dict) and "error" in found), found
        return found

    def close(self) -> None:
        """End the talk."""
        if self._process is not None:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.close()
            self._process.wait(30)
            self._process.stdout.close()
            self._process = None
