"""The end of a soak: everything that was done, in numbers."""

from __future__ import annotations

import pytest

from tests.soak.numbers import DONE, SENTENCES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Sentence by sentence, then all together."""
    write = terminalreporter.write_line
    write("")
    for sentence in SENTENCES:
        write(sentence)
    failed = len(terminalreporter.stats.get("failed", [])) + len(
        terminalreporter.stats.get("error", [])
    )
    total = ", ".join(f"{count:,} {what}" for what, count in DONE.items())
    write(f"in all: {total}")
    write(f"{failed} FAILED" if failed else "nothing lost, nothing counted twice")
