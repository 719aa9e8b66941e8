"""Names of methods in the literature: each means the method that the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.kinds import KINDS
from rumor.kinds.method_aliases import ALIASES
from tests.flow import home_pages, made_reports, write_days, write_toml

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "estimators.md"
EACH = [(kind, typed, ours) for kind, names in ALIASES.items() for typed, ours in names.items()]
ORACLE = rumor.SubsetSelection(domain=6, epsilon=2.0)


def test_the_page_lists_every_alias() -> None:
    text = PAGE.read_text("utf-8").split("## Names of methods in the literature")[1]
    rows = re.findall(r"^\| ([a-z]+) \| (`.*`) \| `(.*)` \|$", text.split("\n## ")[0], re.MULTILINE)
    listed = [
        (kind, one, ours) for kind, typed, ours in rows for one in re.findall("`([^`]+)`", typed)
    ]
    assert sorted(listed) == sorted(EACH)


@pytest.mark.parametrize(("kind", "typed", "ours"), EACH)
def test_an_alias_means_a_method_of_its_kind(kind: str, typed: str, ours: str) -> None:
    assert KINDS[kind].resolve_method(typed) == ours
    assert ours in KINDS[kind].methods()
    assert typed not in KINDS[kind].methods()


@pytest.mark.parametrize(("typed", "ours"), ALIASES["choice"].items())
def test_the_estimate_by_an_alias_is_that_of_our_method(typed: str, ours: str) -> None:
    reports = ORACLE.privatize(np.arange(600) % 6, random=rumor.Seeded(5))
    found, expected = (rumor.estimate(ORACLE, reports, method=one) for one in (typed, ours))
    np.testing.assert_array_equal(found.frequency, expected.frequency)
    assert found.method == expected.method == ours


@pytest.mark.parametrize(("typed", "ours"), [("mle", "bayes"), ("inv", "inversion")])
def test_a_channel_of_ones_own_takes_the_aliases_of_shares(typed: str, ours: str) -> None:
    channel = np.array([[0.7, 0.3], [0.2, 0.8]])
    found = rumor.estimate(channel, np.array([60, 40]), method=typed)
    assert found.method == ours


def test_text_takes_its_aliases() -> None:
    rappor = rumor.Rappor.full(key=b"k", bits=32, cohorts=4)
    reports = rappor.privatize(["tea"] * 400, random=rumor.Seeded(6))
    options = {"candidates": ["tea", "coffee"]}
    found = rumor.estimate(rappor, reports, method="lasso", **options)
    assert found.method == "lasso-ols"


@pytest.mark.parametrize(
    ("typed", "near"), [("byes", "bayes"), ("MLE", "mle"), ("simplx", "simplex")]
)
def test_a_near_miss_is_refused_with_the_nearest_name(typed: str, near: str) -> None:
    with pytest.raises(InputError, match=rf"^method must be one of .*; got '{typed}' .*'{near}'"):
        KINDS["choice"].resolve_method(typed)


def test_the_command_line_takes_an_alias_and_prints_our_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, reports, collection = write_toml(tmp_path), tmp_path / "reports.parquet", home_pages()
    question = collection.questions[0]
    write_days(reports, collection, question, {"2026-01-01": made_reports(question, 400)})
    assert main(["estimate", file, str(reports), "-m", "inv"]) == 0
    assert "inversion" in capsys.readouterr().out
    assert main(["estimate", file, str(reports), "-m", "inversoin"]) == 2
    assert "did you mean 'inversion'" in capsys.readouterr().err


def test_help_lists_the_aliases(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Also accepted: ibu or gibu or iterative-bayes for em; mle for bayes" in shown
