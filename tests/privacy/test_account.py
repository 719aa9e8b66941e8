"""What one person spends, in one table and in words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import rumor
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.privacy.account import account
from rumor.privacy.loss import changing_loss
from rumor.privacy.promise import collection_promise
from rumor.privacy.sentences import consequence

TOML = """
name = "{name}"
series = "{name}"
contact = "nobody"
[[questions]]
id = "once"
kind = "choice"
domain = 4
epsilon = {epsilon}
[[questions]]
id = "daily"
kind = "choice"
domain = 4
mechanism = {{ name = "basic-rappor", f = 0.5, p = 0.5, q = 0.75 }}
reports_per_person = 1000
"""


def collection(name: str = "a", epsilon: float = 1.0) -> Collection:
    return Collection.from_toml(TOML.format(name=name, epsilon=epsilon))


def test_a_row_has_the_exact_losses() -> None:
    found = account([collection()], days=365, changes=2)
    once, daily = found.rows
    kept = collection().questions[1].mechanism
    assert (once.one, once.unchanged, once.changing, once.lifetime) == (1.0, 1.0, 1.0, 1.0)
    assert daily.made == 365
    assert daily.unchanged == kept.epsilon_after(365)
    assert daily.permanent == kept.permanence.epsilon_permanent
    thirds = 2 * kept.epsilon_after(122) + kept.epsilon_after(121)
    assert daily.changing == pytest.approx(thirds, rel=1e-12)
    assert daily.lifetime == pytest.approx(1000 * kept.epsilon)
    assert found.together == pytest.approx(1.0 + thirds)
    assert found.total.epsilon == pytest.approx(1.0 + 1000 * kept.epsilon)


def test_nobody_reports_more_often_than_allowed() -> None:
    once = collection().questions[0]
    assert changing_loss(once, 365, 10).epsilon == 1.0
    assert changing_loss(once, 365).of == "one report on 'once'"
    with pytest.raises(rumor.InputError, match="changes must be an integer from 0"):
        changing_loss(once, 365, -1)


def test_revisions_count_once_and_other_series_add_up() -> None:
    one, revised, other = collection(), collection(epsilon=2.0), collection("b")
    whole = account([one]).together
    assert account([one, revised]).together == pytest.approx(whole + 1.0)
    assert account([one, other]).together == pytest.approx(2 * whole)


def test_the_sentence_of_a_year() -> None:
    found = account([collection()])
    loss = found.rows[1].unchanged
    assert found.sentence(found.rows[1]).startswith(
        "After a year of daily reports on 'daily', someone who knows everything else about you "
        f"can multiply their odds by at most {math.exp(loss):,.3g} (epsilon {loss:.4g})"
    )
    assert found.sentence(found.rows[0]).startswith("After one report, all that 'once' asks, ")
    assert "at most 10^172" in consequence(396.1)
    assert "a certainty" in consequence(800.0)
    assert "no limit" in consequence(math.inf)


def daily_words(folder: Path) -> str:
    """The example of words, its second question asked every day for a year."""
    text = Path("examples/words.toml").read_text(encoding="utf-8")
    for words, instead in (
        ("reports_per_person = 4", "reports_per_person = 365"),
        ('memo = "period"\nperiod_days = 91\n', ""),
    ):
        assert words in text
        text = text.replace(words, instead)
    (folder / "daily.toml").write_text(text, encoding="utf-8")
    return str(folder / "daily.toml")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["account", daily_words(tmp_path), "examples/browser.toml", "--changes", "1"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "After a year of daily reports on 'home' and 1 change of your answer" in text
    assert "after everything in 2 collections" in text
    assert main([*arguments, "--json", "--days", "30"]) == 0
    data = json.loads(capsys.readouterr().out)
    home = next(row for row in data["questions"] if row["question"] == "home")
    assert home["made"] == 30
    assert 0.99 * 2 * home["unchanged"] < home["changing"] < 2 * home["unchanged"]
    assert data["questions"][0]["permanent"] is None  # drawn afresh: no limit
    assert main(["account", "examples/words.toml", "--days", "0"]) == 2
    assert "days must be an integer from 1" in capsys.readouterr().err


def test_a_total_that_protects_nothing_gets_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The advice is true: with as many reports as it names the total is what it says."""
    assert main(["show", daily_words(tmp_path), "--json"]) == 0
    once, daily = json.loads(capsys.readouterr().out)["questions"]
    assert once["advice"] is None
    assert daily["advice"] == (
        "with another answer every time all reports cost epsilon 392.1: reports_per_person = 4 "
        'keeps it at epsilon 4.3; memo = "period" hides when an answer changes'
    )
    assert main(["show", daily_words(tmp_path)]) == 0
    assert "advice    with another answer every time" in capsys.readouterr().out
    assert main(["show", "examples/words.toml", "--json"]) == 0
    home = json.loads(capsys.readouterr().out)["questions"][1]
    assert home["epsilon_most"] == pytest.approx(4.3, abs=0.005)
    assert home["advice"] is None


def test_no_example_promises_nonsense() -> None:
    """Whatever a person answers to an example, an odds factor stays below 10,000."""
    for file in Path("examples").glob("*.toml"):
        assert collection_promise(Collection.load(file)).most < math.log(1e4), file


def test_of_several_collections_the_dearest_questions_of_each_are_added_up() -> None:
    sampled = TOML.replace("[[", "[ask]\nquestions = 1\n[[", 1)
    both = [Collection.from_toml(sampled.format(name=name, epsilon=1.0)) for name in "ab"]
    found = account(both, days=1)
    assert found.together == pytest.approx(2 * max(row.changing for row in found.rows))
    said = (
        f"After as many of these as you are asked, the dearest ones, {consequence(found.together)}"
    )
    assert found.closing()[0] == said
