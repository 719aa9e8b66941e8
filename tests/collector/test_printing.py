"""Invitations on paper: every code leads one person to the page, and nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import segno

from rumor.cli import main
from rumor.collector.printing import printed_invitations
from tests.flow import write_toml

TOML = """
name = "A <survey>"
series = "survey"
contact = "us@example.org"
admission = "invited"
users = 100
[[questions]]
id = "one"
kind = "choice"
labels = ["yes", "no"]
epsilon = 1.0
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_card_for_each_person() -> None:
    write_toml(Path(), TOML, "c.toml")
    url = "https://collect.example.org/answer"
    made = ["invite", "c.toml", "-n", "3", "-o", "codes.txt", "--print", "cards.html"]
    assert main([*made, "--answer-url", url]) == 0
    codes = Path("codes.txt").read_text().split()
    page = Path("cards.html").read_text()
    assert page.count("<section>") == 3
    assert "A &lt;survey&gt;" in page
    assert "<survey>" not in page
    assert re.findall(r"<code>(.*?)</code>", page) == [f"{url}#invitation={code}" for code in codes]
    # What telephones read is the same link: the page holds the very code that stands for it.
    for code in codes:
        link = f"{url}#invitation={code}"
        assert segno.make(link, error="m").svg_inline(scale=3, border=2, omitsize=True) in page
    assert Path("cards.html").stat().st_mode & 0o077 == 0
    assert "http" not in re.sub(rf"{url}|http://www.w3.org/2000/svg", "", page)


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--print", "p.html"], "--print and --answer-url go together; got one of them"),
        (["--print", "p.html", "--answer-url", "collect"], "must be http(s)://HOST/answer"),
        (["--print", "c.toml", "--answer-url", "https://x.org/answer"], "'c.toml' exists"),
    ],
)
def test_what_is_refused(
    more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_toml(Path(), TOML, "c.toml")
    assert main(["invite", "c.toml", "-o", "codes.txt", *more]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("codes.txt").exists()


def test_without_the_package_the_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "segno", None)
    with pytest.raises(ValueError, match="codes for telephones needs segno"):
        printed_invitations("n", "c", "https://x.org/answer", ["a"])
