"""The answer page as one file: the same bytes every time, and nothing from anywhere else."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rumor.client.modules import FOLDER as CLIENT
from rumor.collector import answer_page
from rumor.collector.answer_page import WEB, answer_file, languages

WRITE = "import sys; from rumor.collector.answer_page import answer_file as made; "
WRITE += "sys.stdout.buffer.write(made())"


def test_two_processes_make_the_same_bytes() -> None:
    """Whatever the order of their sets, their time zone and their language."""
    settings = (
        {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "0"},
    )
    for setting in settings:
        done = subprocess.run(
            [sys.executable, "-c", WRITE], env={**os.environ, **setting}, capture_output=True
        )
        assert (done.stderr, done.stdout == answer_file()) == (b"", True), setting


def test_it_needs_no_other_file_and_allows_only_its_own_code() -> None:
    text = answer_file().decode()
    assert text.startswith('<!doctype html>\n<html lang="en"><head>\n')
    assert text.endswith("\n</body></html>")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)
    for name in ("script", "style"):
        (code,) = re.findall(rf"<{name}[^>]*>(.*?)</{name}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "connect-src https: http://localhost:* http://127.0.0.1:*; " in policy
    closed = ["base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"]
    assert [each for each in closed if each not in policy] == []
    assert "unsafe" not in policy
    assert text.index("Content-Security-Policy") < text.index("<style") < text.index("<script")
    assert 'name="referrer" content="no-referrer"' in text
    markup = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", text, flags=re.DOTALL)
    assert "src=" not in markup
    assert re.findall(r'href="([^"]*)"', markup) == [
        "data:,",
        *(f"?lang={stem}" for stem in languages()),
    ]
    assert "import(" not in text


def test_it_has_everything_that_a_page_may_ask_for() -> None:
    """Every kind, mechanism and language, and the modules of relays, tokens and groups."""
    text = answer_file().decode()
    needed = [
        f"/client/{path.relative_to(CLIENT).as_posix()}"
        for folder in ("kinds", "mechanisms", "view", "view/words")
        for path in (CLIENT / folder).glob("*.js")
    ]
    needed += ["/client/relay.js", "/client/issuing.js", "/client/withdrawal.js"]
    needed += [f"/assets/{name}.js" for name in ("answer", "anywhere", "steps", "trial")]
    assert [name for name in needed if f'$modules["{name}"] = ' not in text] == []
    assert "dashboard" not in text
    for name in ("base.css", "answer.css"):
        assert (WEB / name).read_text("utf-8") in text


@pytest.mark.parametrize("early", ["</script>", "</style>", "<!-- "])
def test_code_that_would_end_its_element_is_refused(
    early: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_page, "whole_script", lambda *_: f"const a = '{early}';")
    with pytest.raises(ValueError, match="the page's code must not end its own element; it has"):
        answer_file.__wrapped__()


def test_markup_that_lacks_a_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page would not be the one that was meant, and its hash would say nothing."""
    for path in WEB.glob("*.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (WEB / "answer.html").read_text("utf-8")
    (tmp_path / "answer.html").write_text(text.replace("<body>", '<body class="new">'))
    monkeypatch.setattr(answer_page, "WEB", tmp_path)
    with pytest.raises(ValueError, match="the page's markup must have '<body>'"):
        answer_file.__wrapped__()
