"""An estimate as table, CSV, Arrow and JSON: the same numbers everywhere."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

import rumor
from rumor.core.plain_text import (
    aligned,
    bar,
    decimals_for,
    limited_width,
    one_line,
    percent,
    wrapped,
)
from rumor.results.estimate import Estimate


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    oracle = rumor.RandomizedResponse(domain=["a", "b", "c,d", "e"], epsilon=3.0)
    values = np.repeat(["a", "b", "c,d", "e"], [100, 400, 300, 200])
    return rumor.estimate(oracle, oracle.privatize(values, random=rumor.Seeded(1)))


def test_every_export_holds_the_same_numbers(estimate: Estimate) -> None:
    for options in [{}, {"of": "people"}, {"simultaneous": True}]:
        columns = estimate.columns(0.9, **options)  # type: ignore[arg-type]
        low, high = estimate.interval(0.9, **options)  # type: ignore[arg-type]
        assert columns["value"] == ["a", "b", "c,d", "e"]
        assert columns["low"] == low.tolist()
        assert columns["high"] == high.tolist()
        assert estimate.to_arrow(0.9, **options).to_pydict() == columns  # type: ignore[arg-type]
        read = list(csv.reader(io.StringIO(estimate.to_csv(0.9, **options))))  # type: ignore[arg-type]
        assert read[0] == list(columns)
        assert [row[0] for row in read[1:]] == columns["value"]
        assert [[float(cell) for cell in row[1:]] for row in read[1:]] == [
            list(row) for row in zip(*list(columns.values())[1:], strict=True)
        ]
        data = json.loads(json.dumps(estimate.to_dict(0.9, **options)))  # type: ignore[arg-type]
        assert data["reports"] == 1000
        assert [row["frequency"] for row in data["estimates"]] == columns["frequency"]


def test_the_table_is_in_order_and_says_what_it_shows(estimate: Estimate) -> None:
    text = estimate.table(0.9, of="people", rows=3)
    lines = text.splitlines()
    assert lines[0].split() == ["value", "share", "90%", "interval", "std.", "error"]
    assert [line.split()[0] for line in lines[1:4]] == ["b", "c,d", "e"]
    assert lines[1].endswith("█" * 20)
    assert lines[4] == "1 less frequent value not shown"
    assert lines[5:7] == [
        f"1,000 reports, epsilon 3 per report; method {estimate.method}; "
        "confidence intervals for these respondents, valid for one look",
        "intervals adjusted for ranking: on average at least 90% of those shown contain the "
        "true share",
    ]
    assert lines[7].startswith("standard error at share 0: ")
    assert "do not add up rows" in estimate.explain(0.9)
    at_once = (
        "the population, valid for one look\n"
        "simultaneous 95% confidence intervals: all 4 hold together\n"
    )
    assert at_once in estimate.table(simultaneous=True)
    alone = "95% confidence intervals, each for a value chosen before seeing the data"
    assert alone in estimate.table(order="given")
    assert str(estimate) == estimate.table()


def test_ranking_is_by_frequency(estimate: Estimate) -> None:
    assert estimate.ranking() == [1, 2, 3, 0]
    assert estimate.ranking(2) == [1, 2]


def test_percentages_show_two_digits_of_the_error() -> None:
    assert percent(0.95) == "95%"
    assert percent(0.999) == "99.9%"
    assert percent(0.12345, 2) == "12.35%"
    assert [decimals_for(error) for error in (0.1, 0.02, 0.005, 0.0003, 1e-9, 0.0)] == [
        1, 1, 2, 3, 6, 2,
    ]  # fmt: skip


def test_bars_are_in_proportion() -> None:
    assert bar(1, 1) == "█" * 20
    assert bar(0.5, 1) == "█" * 10
    assert bar(0.5 + 1 / 40, 1) == "█" * 10 + "▌"
    assert bar(-0.1, 1) == bar(0, 1) == bar(1, 0) == ""
    assert bar(2, 1) == "█" * 20


def test_labels_cannot_disturb_a_terminal() -> None:
    assert one_line("a\nb\x1b[31mc") == "a�b�[31mc"
    assert len(one_line("x" * 100)) == 40
    assert one_line("家庭") == "家庭"


def test_columns_align_also_wide_characters() -> None:
    text = aligned(("a", "b"), [("家庭", "1"), ("xyz", "22")])
    assert text.splitlines() == ["a      b", "家庭   1", "xyz   22"]


def test_emoji_that_are_joined_are_printed_whole() -> None:
    """A family, a flag and a skin tone; a joiner beside anything else would hide in a word."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    rainbow, tone = "\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f469\U0001f3fd\u200d\U0001f680"
    for emoji in (family, rainbow, tone):
        assert one_line(emoji) == emoji
    for text in (
        "a\u200db",
        "\u200d\U0001f468",
        "\U0001f468\u200d",
        "\U0001f468\u200d\u200d",
        "a\u200d\U0001f468",
    ):
        assert "\u200d" not in one_line(text)
        assert "\ufffd" in one_line(text)


HEAD = ("answer", "share", "95% interval", "std. error", "")
BODY = [
    ("yes", "52.7%", "51.9% to 53.5%", "0.4%", "█" * 20),
    ("no", "47.3%", "47% to 48%", "0.4%", ""),
]


@pytest.mark.parametrize("columns", range(24, 80))
def test_a_table_fits_its_terminal_and_loses_no_number(columns: int) -> None:
    whole = aligned(HEAD, BODY, left=(0, 4))
    with limited_width(columns):
        text = aligned(HEAD, BODY, left=(0, 4))
    assert aligned(HEAD, BODY, left=(0, 4)) == whole
    assert max(map(len, text.splitlines())) <= columns
    for cell in (cell for row in (HEAD, *BODY) for cell in row[:4]):
        assert cell in text
    # As much as fits stands beside each other, under the name in the first column.
    assert (text == whole) == (columns >= len(max(whole.splitlines(), key=len)))
    for block in text.split("\n\n"):
        assert [line.split()[0] for line in block.splitlines()] == ["answer", "yes", "no"]


def test_a_paragraph_is_as_wide_as_its_terminal_at_most() -> None:
    text = "one word after another, " * 12
    assert max(map(len, wrapped(text).splitlines())) <= 88
    with limited_width(30):
        lines = wrapped(text).splitlines()
    assert max(map(len, lines)) <= 30
    assert " ".join(lines) == text.strip()
    with limited_width(200):
        assert max(map(len, wrapped(text).splitlines())) <= 88
