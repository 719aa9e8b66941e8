"""The way through a relay, shown: three processes, and nothing before the crowd is there."""

from __future__ import annotations

import json

import pytest

from rumor.cli import main


@pytest.mark.slow
def test_the_way_through_a_relay_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--relay", "--people", "100", "--seed", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["people"] == shown["reports"] == 100
    assert "question 'health' has none yet" in shown["one_too_few"]
    # The report of 11 bits has 2 bytes.
    assert len(bytes.fromhex(shown["envelope"])) == 2 + 97
    assert shown["relay"] != shown["collector"]
