"""Missing programs: skipped with one sentence, unless that is forbidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.needs import needs


def test_a_program_that_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "java"
    program.touch(mode=0o755)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert needs("java") == program
    (tmp_path / "home" / "bin").mkdir(parents=True)
    other = tmp_path / "home" / "bin" / "java"
    other.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert needs("java") == other


@pytest.mark.parametrize("name", ["java", "node", "chromium", "firefox", "buildah", "dbt"])
def test_one_that_is_missing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(f"{name.upper()}_HOME", raising=False)
    monkeypatch.delenv("RUMOR_NO_SKIP", raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"{name} is needed .* was not found"):
        needs(name)
    monkeypatch.setenv("RUMOR_NO_SKIP", "1")
    with pytest.raises(pytest.fail.Exception, match="RUMOR_NO_SKIP=1 forbids to skip them"):
        needs(name)
