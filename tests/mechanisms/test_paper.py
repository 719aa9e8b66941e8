"""Designs on paper: their channels and losses as published, and reports made of spoken words."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.kinds.choice.compare import scores
from rumor.mechanisms.summary import Summary

# The chances of the first word given either answer, epsilon, and n Var of a share of 10 %.
PUBLISHED: dict[str, tuple[dict[str, str], tuple[str, str], float, float]] = {
    "warner": ({"truth": "5/6"}, ("5/6", "1/6"), 1.609, 0.40),
    "forced-response": ({"yes": "1/4", "no": "1/12"}, ("11/12", "1/4"), 2.197, 0.49),
    "unrelated-question": ({"ask": "2/3", "yes": "1/6"}, ("13/18", "1/18"), 2.565, 0.24),
    "crosswise": ({"yes": "1/4"}, ("3/4", "1/4"), 1.099, 0.84),
    "kuk": ({"yes": "4/5", "no": "1/5"}, ("4/5", "1/5"), 1.386, 0.53),
    "mangat": ({"truth": "2/3"}, ("1", "1/3"), math.inf, 0.54),
    "triangular": ({"yes": "1/4"}, ("1", "1/4"), math.inf, 0.39),
}
LABELS = ("yes", "no")


def design(name: str, **options: Any) -> rumor.PaperDesign:
    chances = options or PUBLISHED[name][0]
    return rumor.PaperDesign(domain=LABELS, design=name, **chances)


@pytest.mark.parametrize("name", PUBLISHED)
def test_channels_losses_and_variances_are_those_of_the_literature(name: str) -> None:
    options, first, epsilon, variance = PUBLISHED[name]
    made = design(name)
    assert [made.probability(b"\0", label) for label in LABELS] == [Fraction(x) for x in first]
    assert made.options == {key: Fraction(text) for key, text in options.items()}
    assert made.epsilon == pytest.approx(epsilon, abs=5e-4)
    share = np.array([0.1, 0.9])
    assert made.variance(share, 1) == pytest.approx([variance, variance], abs=0.005)
    assert made.variance(0.1, 1) == made.variance(share, 1)[0]
    again = rumor.mechanism(name, domain=LABELS, **options)
    assert again == made


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_design_has_less_noise_than_warner_at_its_loss(name: str) -> None:
    made = design(name)
    if math.isinf(made.epsilon):
        return
    truth = math.exp(made.epsilon) / (1 + math.exp(made.epsilon))
    least = (1 / 4 - (2 * truth - 1) ** 2 * (0.9 - 0.5) ** 2) / (2 * truth - 1) ** 2
    assert made.variance(0.1, 1) >= least * (1 - 1e-12)


def test_decimals_are_taken_as_they_are_written() -> None:
    assert design("kuk", yes=0.3, no="0.1") == design("kuk", yes="3/10", no="1/10")


def test_a_word_speaks_for_the_answer_that_is_likelier_to_say_it() -> None:
    """Warner's card that lies more often than not: "yes" then speaks for "no"."""
    turned, straight = design("warner", truth="1/6"), design("warner", truth="5/6")
    for made, seen in ((turned, (1, 0)), (straight, (0, 1))):
        said = made.spoken()
        assert said.transcribe(["yes", "no"])[:, 0].tolist() == list(seen)
    assert np.array_equal(turned.channel().matrix(), straight.channel().matrix())


@pytest.mark.parametrize("name", PUBLISHED)
def test_words_are_counted_as_what_they_say(name: str) -> None:
    """The share of first words, put through the channel backwards, is the estimate."""
    made = design(name)
    first, second = made.words
    reports = made.spoken().transcribe([first] * 45 + [second] * 55)
    chances = [float(Fraction(x)) for x in PUBLISHED[name][1]]
    expected = (0.45 - chances[1]) / (chances[0] - chances[1])
    found = rumor.estimate(made, reports, method="inversion")
    assert found.unbiased == pytest.approx([expected, 1 - expected])
    assert found.values == LABELS
    for method in ("bayes", "em", "projection", "auto"):
        shown = rumor.estimate(made, reports, method=method).frequency
        assert shown.sum() == pytest.approx(1)
        if method != "auto":
            assert shown[0] == pytest.approx(min(max(expected, 0), 1), abs=1e-5), method


@pytest.mark.parametrize("name", ["forced-response", "unrelated-question", "mangat"])
@pytest.mark.parametrize("people", [30, 400])
def test_intervals_cover_at_every_share(name: str, people: int) -> None:
    """Coverage summed exactly over all counts, of the population."""
    made = design(name)
    counts = np.arange(people + 1)
    ends = [
        rumor.estimate(
            made, Summary(made, people, np.array([k, people - k])), method="inversion"
        ).interval(0.95, simultaneous=False)
        for k in counts
    ]
    low, high = (np.array([end[i][0] for end in ends]) for i in (0, 1))
    own, other = (float(Fraction(x)) for x in PUBLISHED[name][1])
    for share in (0.02, 0.1, 0.3, 0.5, 0.9):
        chance = stats.binom.pmf(counts, people, other + (own - other) * share)
        covered = float(chance[(low <= share) & (share <= high)].sum())
        assert covered >= 0.945, (share, covered)


def test_weights_of_one_change_nothing() -> None:
    """A person's score is right for both answers, where these are noisy unequally."""
    made = design("unrelated-question")
    reports = made.spoken().transcribe(["yes"] * 45 + ["no"] * 155)
    found = scores(made, reports).scores
    shares = (found.hits.mean(axis=0) - found.zero) / found.gain
    assert shares == pytest.approx(made.unbiased(made.tally(reports), 200))
    assert found.coins


@pytest.mark.parametrize(
    ("options", "word"),
    [({"yes": "1/2", "no": 0}, "no"), ({"yes": 0, "no": "1/2"}, "yes")],
)
def test_a_die_with_one_face_is_warned_of(options: dict[str, Any], word: str) -> None:
    made = design("forced-response", **options)
    assert math.isinf(made.epsilon)
    assert made.proved == word
    assert made.warning == (
        f"the design 'forced-response' promises nothing: whoever says '{word}' proves the answer, "
        f"so its epsilon is infinite"
    )


def collection(**options: str) -> str:
    said = ", ".join(f'{key} = "{value}"' for key, value in options.items())
    return f"""
name = "Dice"
series = "dice"
contact = "a@b.example"
[[questions]]
id = "copied"
text = "Did you copy?"
kind = "choice"
labels = ["yes", "no"]
mechanism = {{ {said} }}
"""


@pytest.fixture
def interviews(tmp_path: Path) -> Path:
    words = ["different"] * 112 + ["same"] * 198
    rows = "".join(f"{word},{'NS'[i % 2]}\n" for i, word in enumerate(words))
    (tmp_path / "interviews.csv").write_text(f"copied,region\n{rows}")
    (tmp_path / "dice.toml").write_text(collection(name="crosswise", yes="1/4"))
    (tmp_path / "plain.toml").write_text(
        collection(name="rr").replace("mechanism", "epsilon = 1.0\nmechanism")
    )
    (tmp_path / "proof.toml").write_text(collection(name="mangat", truth="2/3"))
    return tmp_path


def test_a_table_of_interviews_becomes_reports(
    interviews: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(interviews)
    line = ["privatize", "dice.toml", "interviews.csv", "-o", "r.parquet", "--keep", "region"]
    assert main([*line, "--replace"]) == 2
    assert "are randomised with dice or cards before they are written" in capsys.readouterr().err
    assert not (interviews / "r.parquet").exists()
    assert main([*line, "--randomised"]) == 0
    assert main(["estimate", "dice.toml", "r.parquet"]) == 0
    assert "yes    22.3%" in capsys.readouterr().out
    (interviews / "counts.csv").write_text("value,count\ndifferent,112\nsame,198\n")
    assert main(["estimate", "dice.toml", "counts.csv", "--counts"]) == 0
    assert "yes    22.3%" in capsys.readouterr().out
    for verb in (
        ["compare", "dice.toml", "r.parquet", "--by", "region"],
        ["regress", "dice.toml", "r.parquet", "copied ~ region"],
        ["estimate", "dice.toml", "r.parquet", "--of", "people", "--by", "region"],
    ):
        assert main(verb) == 0, verb
    capsys.readouterr()


def test_what_is_not_randomised_is_not_taken_for_it(
    interviews: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(interviews)
    line = ["privatize", "plain.toml", "interviews.csv", "-o", "r.parquet", "--randomised"]
    assert main(line) == 2
    assert "are those of the mechanism 'paper'" in capsys.readouterr().err
    # True answers are none of the words of this design.
    (interviews / "true.csv").write_text("copied\nyes\nno\n")
    assert main(["privatize", "dice.toml", "true.csv", "-o", "r.parquet", "--randomised"]) == 2
    assert "true.csv, column 'copied'" in capsys.readouterr().err


def test_what_promises_nothing_is_said_everywhere(
    interviews: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(interviews)
    for line in (
        ["show", "proof.toml"],
        ["show", "proof.toml", "--json"],
        ["audit", "proof.toml", "--samples", "2000"],
        ["statement", "proof.toml"],
    ):
        assert main(line) == 0
        said = " ".join(capsys.readouterr().out.split())
        assert "'mangat' promises nothing: whoever says 'no' proves the answer" in said, line
    person = rumor.Respondent("device")
    with pytest.raises(InputError, match="a device reports only what proves no answer; got quest"):
        person.prepare(rumor.Collection.load("proof.toml"), {"copied": "no"})
    kept = rumor.Collection.load("proof.toml").canonical()
    (interviews / "kept.json").write_bytes(kept)
    assert rumor.Collection.load("kept.json").canonical() == kept


def test_a_device_throws_the_dice_too(tmp_path: Path) -> None:
    asked = rumor.Collection.from_toml(collection(name="crosswise", yes="1/4"))
    person = rumor.Respondent(tmp_path, today=None)
    (pending,) = person.prepare(asked, {"copied": "yes"}, random=Seeded(3))
    assert pending.report in (b"\0", b"\1")
