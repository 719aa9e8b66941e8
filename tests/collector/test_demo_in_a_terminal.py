"""`rumor demo` in a terminal ends in the browser, and runs until Ctrl-C."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.collector.tools import call

_SECONDS = 120


def test_the_pages_run_until_ctrl_c(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rumor", "demo", "--people", "1000"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    os.close(theirs)
    try:
        text = _read_until(ours, r"intervals shrink\.")
        (answer,) = re.findall(r"http://[\d.:]+/answer", text)
        ((url, token),) = re.findall(r"(http://[\d.:]+)/#token=(\S+)", text)
        assert answer == f"{url}/answer"
        assert b"<title>Answer in private</title>" in call(url, "/answer").body
        headers = {"Authorization": f"Bearer {token}"}
        counts = [_reports(url, headers)]
        deadline = time.monotonic() + _SECONDS
        while counts[-1] <= counts[0] and time.monotonic() < deadline:
            time.sleep(0.5)
            counts.append(_reports(url, headers))
        assert counts[-1] > counts[0], "more people answer all the time"
        process.send_signal(signal.SIGINT)
        assert "has stopped, and its reports are deleted" in _read_until(ours, r"are deleted\.")
        assert process.wait(_SECONDS) == 0
        assert list(tmp_path.glob("rumor-showcase-*")) == []
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)


def _reports(url: str, headers: dict[str, str]) -> int:
    questions = json.loads(call(url, "/v1/overview", headers=headers).body)["questions"]
    return sum(question["reports"] for question in questions)


def _read_until(terminal: int, pattern: str) -> str:
    """What the terminal shows, up to a sentence."""
    shown, deadline = b"", time.monotonic() + _SECONDS
    while not re.search(pattern, shown.decode(errors="replace")):
        left = deadline - time.monotonic()
        assert left > 0, shown.decode(errors="replace")[-2000:]
        if select.select([terminal], [], [], min(left, 1.0))[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # the terminal is closed when the process is gone
                break
    return shown.decode(errors="replace")
