"""The paper: its form, its length, its references, and every figure from what a command writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.mechanisms.registry import ENTRIES

PAPER = Path(__file__).parent.parent / "paper"
TEXT = (PAPER / "paper.md").read_text(encoding="utf-8")
_, HEAD, BODY = TEXT.split("---\n", maxsplit=2)
SAID = re.sub(r"\s+", " ", BODY)


def test_it_has_the_form_of_the_journal() -> None:
    for key in ("title", "tags", "authors", "affiliations", "date", "bibliography"):
        assert re.search(rf"^{key}:", HEAD, re.MULTILINE), key
    assert re.findall(r"^# (.+)$", BODY, re.MULTILINE) == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
        "References",
    ]


def test_it_has_at_most_a_thousand_words() -> None:
    words = re.sub(r"\[@[^\]]+\]", "", BODY).split()
    assert 600 < len(words) <= 1000


def test_every_reference_is_cited_and_there() -> None:
    cited = set(re.findall(r"@([a-z]+\d*)", BODY))
    listed = set(re.findall(r"^@\w+\{(\w+),", (PAPER / "paper.bib").read_text("utf-8"), re.M))
    assert cited == listed


def test_the_ratios_are_those_that_were_measured() -> None:
    bench = json.loads((PAPER / "bench.json").read_text("utf-8"))
    shown = {(r["benchmark"], r["against"]): r["shown"].removesuffix("x") for r in bench["rows"]}
    unary, direct = "unary privatize, D = 1000", "k-RR privatize, D = 1000"
    one, other = "multi-freq-ldpy", "pure-ldp"
    assert f"{shown[unary, one]} times as fast as {one}" in SAID
    assert f"{shown[unary, other]} times as fast as {other}" in SAID
    assert f"{shown[direct, one]} and {shown[direct, other]} times" in SAID


def test_it_says_what_kind_of_run_was_measured() -> None:
    """A reader must not take one run of a shared machine for a measurement."""
    bench = json.loads((PAPER / "bench.json").read_text("utf-8"))
    assert "--quick" in bench["command"]
    cores = bench["machine"]["cores"]
    assert f"In one quick run of `make bench`, on {cores} cores that other work shared" in SAID
    assert "ratios within that run, without repetition: orders of magnitude" in SAID


def test_the_number_of_mechanisms_is_that_of_the_registry() -> None:
    assert f"All {len(ENTRIES)} mechanisms" in SAID


def test_published_numbers_are_those_that_rumor_papers_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["papers", "list"]) == 0
    listed = capsys.readouterr().out
    counted = re.search(
        r"of (\d+) published numbers, (\d+) are reproduced as printed, (\d+) after a stated "
        r"re-reading, and (\d+) are unexplained",
        re.sub(r"\s+", " ", listed),
    )
    assert counted is not None
    every, printed, read, unexplained = counted.groups()
    assert (
        f"Of {every} published numbers {printed} are reproduced as printed, {read} after a stated "
        f"re-reading, and {unexplained} are unexplained"
    ) in SAID


def test_the_published_errors_are_those_of_the_readme() -> None:
    readme = (PAPER.parent / "README.md").read_text("utf-8")
    which = r"\| default on subset selection, which it would choose"
    row = re.search(rf"{which} \| (\d+ of 18) \| ([\d.]+) \|", readme)
    assert row is not None
    assert f"in {row[1]}; the geometric mean of the ratios is {row[2]}." in SAID
