"""Two samples show how many people do not follow a design on paper."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.mechanisms.summary import Summary


def design(truth: str) -> rumor.PaperDesign:
    return rumor.PaperDesign(domain=["yes", "no"], design="warner", truth=truth)


STRAIGHT, MIRRORED = design("5/6"), design("1/6")
FORCED = rumor.PaperDesign(domain=2, design="forced-response", yes="1/2", no="1/4")


def said(made: rumor.PaperDesign, yes: int, no: int) -> Summary:
    """The summary of so many spoken words."""
    first, second = made.words
    reports = made.spoken().transcribe([first] * yes + [second] * no)
    return Summary.empty(made).update(reports)


def expected(made: rumor.PaperDesign, honest: float, cheats: float) -> float:
    """The share of first words among people of whom some say the second whatever comes."""
    yes, no = made.holders / made.faces, made.others / made.faces
    return honest * yes + (1 - honest - cheats) * no


def test_mirrored_halves_are_the_closed_form() -> None:
    """c = 1 - l1 - l2, and the honest share follows from either half."""
    found = rumor.cheating(said(STRAIGHT, 300, 700), said(MIRRORED, 1200, 800))
    assert found.cheats == pytest.approx(1 - 0.3 - 0.6)
    assert found.stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 1000 + 0.6 * 0.4 / 2000))
    assert found.honest == pytest.approx((0.3 - 0.9 / 6) / (4 / 6))
    assert found.truth == pytest.approx((found.honest, found.honest + found.cheats))
    assert found.reports == (1000, 2000)
    text = str(found)
    assert text.startswith("did not follow the design: 10.0% (95% interval ")
    assert "share of the first answer: 22.5% if none of them has it, 32.5% if all have" in text
    assert found.to_dict()["truth"] == list(found.truth)


@pytest.mark.parametrize("second", [MIRRORED, FORCED], ids=["mirrored", "another design"])
@pytest.mark.parametrize("cheats", [0.0, 0.1, 0.3])
def test_intervals_cover_and_estimates_are_unbiased(
    second: rumor.PaperDesign, cheats: float
) -> None:
    rng, trials, people = np.random.default_rng(11), 1500, (300, 500)
    chances = [expected(made, 0.2, cheats) for made in (STRAIGHT, second)]
    found = []
    for counts in rng.binomial(people, chances, size=(trials, 2)):
        samples = [
            Summary(made, n, np.array([n - k, k] if made.is_reversed else [k, n - k]))
            for made, n, k in zip((STRAIGHT, second), people, counts.tolist(), strict=True)
        ]
        found.append(rumor.cheating(*samples))
    covered = sum(one.low <= cheats <= one.high for one in found)
    # 4 standard errors of a binomial around 95 %; at the edge of 0 only one side can miss.
    slack = 4 * math.sqrt(0.95 * 0.05 * trials)
    assert covered >= 0.95 * trials - slack
    if cheats:
        assert covered <= 0.95 * trials + slack
    mean = float(np.mean([one.cheats for one in found]))
    spread = float(np.mean([one.stderr for one in found]))
    assert abs(mean - cheats) < 4 * spread / math.sqrt(trials)
    honest = float(np.mean([one.honest for one in found]))
    assert abs(honest - 0.2) < 4 * float(np.mean([one.honest_stderr for one in found])) / math.sqrt(
        trials
    )
    small = sum(one.p_value < 0.05 for one in found)
    if not cheats:
        assert small <= 0.05 * trials + slack


def test_cheats_of_a_tenth_are_noticed_by_two_halves_of_a_thousand() -> None:
    """As published: power .94 to .97 of a one-sided test at 5 %."""
    rng, trials = np.random.default_rng(12), 600
    noticed = 0
    for first, second in rng.binomial(
        500, [expected(made, 0.1, 0.1) for made in (STRAIGHT, MIRRORED)], size=(trials, 2)
    ).tolist():
        found = rumor.cheating(said_counts(STRAIGHT, first), said_counts(MIRRORED, second))
        noticed += found.p_value < 0.05
    assert 0.90 < noticed / trials < 0.99


def said_counts(made: rumor.PaperDesign, first: int) -> Summary:
    counts = [500 - first, first] if made.is_reversed else [first, 500 - first]
    return Summary(made, 500, np.array(counts))


def test_samples_that_cannot_show_it_are_refused() -> None:
    with pytest.raises(InputError, match="must be asked with different chances"):
        rumor.cheating(said(STRAIGHT, 3, 7), said(STRAIGHT, 4, 6))
    with pytest.raises(InputError, match="must have reports; got none in one of them"):
        rumor.cheating(said(STRAIGHT, 3, 7), Summary.empty(MIRRORED))
    other = rumor.RandomizedResponse(domain=2, epsilon=1.0)
    plain = Summary.empty(other).update(other.privatize([0, 1]))
    with pytest.raises(InputError, match="cheats are found in designs on paper; got 'randomized"):
        rumor.cheating(said(STRAIGHT, 3, 7), plain)


def test_the_command_reads_two_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, truth, yes in (("one", "5/6", 268), ("two", "1/6", 625)):
        mechanism = {"name": "warner", "truth": truth}
        asked = {"id": "copied", "kind": "choice", "labels": ["yes", "no"], "mechanism": mechanism}
        head = {"name": "Papers", "series": name, "contact": "a@example.org"}
        rumor.Collection.resolve({**head, "questions": [asked]}).save(f"{name}.json")
        Path(f"{name}.csv").write_text("copied\n" + "yes\n" * yes + "no\n" * (1000 - yes))
        privatized = ["privatize", f"{name}.json", f"{name}.csv", "-o", f"{name}.parquet"]
        assert main([*privatized, "--randomised"]) == 0
    capsys.readouterr()
    line = ["compare", "one.json", "one.parquet", "two.parquet", "--other", "two.json"]
    assert main([*line, "--cheating", "--level", "0.9"]) == 0
    found = rumor.cheating(said(STRAIGHT, 268, 732), said(MIRRORED, 625, 375), level=0.9)
    assert capsys.readouterr().out == f"copied\n\n{found}\n"
    assert main([*line, "--cheating", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data.pop("question") == "copied"
    known = rumor.cheating(said(STRAIGHT, 268, 732), said(MIRRORED, 625, 375)).to_dict()
    assert data == json.loads(json.dumps(known))
    assert main([*line[:3], "one.parquet", "--cheating"]) == 2
    assert "groups must be different files" in capsys.readouterr().err
    Path("copy.parquet").write_bytes(Path("one.parquet").read_bytes())
    assert main([*line[:3], "copy.parquet", "--cheating", "--distinct-ids"]) == 2
    assert "different chances to show who cheats" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "got"),
    [
        (["--by", "day"], "--by"),
        (["--watch"], "--watch"),
        (["--cluster", "school"], "--cluster"),
        (["--top", "3"], "--top"),
        (["--of", "people"], "--of"),
        (["--csv", "rows.csv"], "--csv"),
        (["--latex"], "--latex"),
    ],
)
def test_options_of_a_table_are_refused(
    more: list[str], got: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["compare", "one.json", "one.parquet", "two.parquet", "--cheating", *more]
    assert main(line) == 2
    assert f"from two samples, A and B; got {got}" in capsys.readouterr().err
    assert main([*line[:3], "--cheating"]) == 2
    assert "got no B" in capsys.readouterr().err
