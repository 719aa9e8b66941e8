"""Estimates in other people's tables: pandas, Polars, interchange, notebooks, rows by name."""

from __future__ import annotations

import base64
import html
import re

import numpy as np
import pandas as pd  # type: ignore[import-untyped, unused-ignore]
import polars as pl
import pyarrow as pa
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.core.extras import MissingExtraError, import_optional
from rumor.kinds import KINDS
from rumor.results.rows import Tabular
from tests.results.made import estimated

LABELS = ["blank", "<b>news</b>", "search"]


@pytest.fixture(scope="module")
def result() -> rumor.Estimate:
    oracle = rumor.RandomizedResponse(labels=LABELS, epsilon=2.0)
    values = ["blank"] * 300 + ["search"] * 700
    return rumor.estimate(oracle, oracle.privatize(values, random=rumor.Seeded(1)))


def test_every_table_holds_the_same_rows(result: rumor.Estimate) -> None:
    columns = result.columns()
    assert result.to_pandas().to_dict("list") == columns
    assert result.to_polars().to_dict(as_series=False) == columns
    assert pd.api.interchange.from_dataframe(result).to_dict("list") == columns
    assert pl.DataFrame(result).to_dict(as_series=False) == columns
    assert pa.table(result).to_pydict() == columns
    assert result.to_pandas(rows=1)["value"].tolist() == ["search"]


def test_a_row_is_found_by_its_name(result: rumor.Estimate) -> None:
    row = result["search"]
    low, high = result.interval(0.95)
    assert (row.frequency, row.low, row["high"]) == (result.frequency[2], low[2], high[2])
    assert [each.value for each in result] == LABELS
    with pytest.raises(InputError, match=r"no row of 'serch' \(did you mean 'search'\?\)"):
        result["serch"]
    with pytest.raises(AttributeError, match="the row has no column 'share'; it has value"):
        row.share  # noqa: B018
    numbers = rumor.RandomizedResponse(domain=3, epsilon=2.0)
    assert rumor.estimate(numbers, numbers.privatize([1, 1, 2]))[1].value == 1


def test_a_notebook_shows_the_chart_and_no_markup_of_labels(result: rumor.Estimate) -> None:
    page = result._repr_html_()
    assert "&lt;b&gt;news&lt;/b&gt;" in page
    assert "<b>news" not in page
    picture = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', page)
    assert picture is not None
    assert base64.b64decode(picture[1]).startswith(b"<svg")
    assert page.count("<tr>") == 1 + len(LABELS)
    assert "1,000 reports, epsilon 2 each" in page


def _ordered() -> Tabular:
    wave = rumor.Wave(low=0, high=10, epsilon=1.0)
    return rumor.estimate(wave, wave.privatize([1, 5, 9] * 50, random=rumor.Seeded(1)))


def _mean() -> Tabular:
    harmony = rumor.Harmony(low=0, high=1, epsilon=1.0)
    return rumor.estimate(harmony, harmony.privatize([0.5] * 100, random=rumor.Seeded(1)))


def _joint() -> Tabular:
    mixed = rumor.Mixed(parts=[2, 3], epsilon=2.0)
    values = [(0, 1), (1, 2)] * 50
    return rumor.estimate(mixed, mixed.privatize(values, random=rumor.Seeded(1)))


@pytest.mark.parametrize("make", [_ordered, _mean, _joint])
def test_every_kind_renders_and_finds_its_rows(make: object) -> None:
    found = make()  # type: ignore[operator]
    assert found._repr_html_().count("<img") == 1
    first = next(iter(found))
    named = tuple(first.values())[:1]
    assert found[named] == found[named[0]]
    assert found.to_pandas().shape == pa.table(found).shape


def cells(result: Tabular) -> list[str]:
    """The texts of a notebook's table."""
    return [
        html.unescape(text) for text in re.findall(r"<td[^>]*>([^<]*)</td>", result._repr_html_())
    ]


@pytest.mark.parametrize("name", KINDS)
def test_a_notebook_has_no_words_of_python_and_no_tiny_p_values(name: str) -> None:
    shown = cells(estimated(name))
    assert {"None", "nan", "True", "False"}.isdisjoint(shown)
    assert [text for text in shown if re.fullmatch(r".*e-\d\d+", text)] == []


def test_a_notebook_leaves_empty_what_is_not_known() -> None:
    assert "" in cells(estimated("joint"))
    assert {"yes", "<0.0001"} <= set(cells(estimated("words")))


CONSTRUCTORS = [
    rumor.RandomizedResponse,
    rumor.UnaryEncoding,
    rumor.SubsetSelection,
    rumor.HadamardResponse,
    rumor.LocalHashing,
    rumor.Projective,
]


@pytest.mark.parametrize("kind", CONSTRUCTORS, ids=lambda kind: kind.name)
def test_constructors_take_labels(kind: type[rumor.RandomizedResponse]) -> None:
    want = kind(domain=LABELS, epsilon=1.0)
    for made in (kind(labels=LABELS, epsilon=1.0), kind(domain=3, labels=LABELS, epsilon=1.0)):
        assert (made.describe(), made.labels) == (want.describe(), want.labels)
    for wrong in ({"domain": 2, "labels": LABELS}, {"domain": LABELS, "labels": LABELS}):
        with pytest.raises(InputError, match="got 3 labels and domain"):
            kind(epsilon=1.0, **wrong)
    with pytest.raises(InputError, match=r"needs domain=, .* or labels=; got none"):
        kind(epsilon=1.0)
    with pytest.raises(InputError, match="labels must be a list of texts; got 'abc'"):
        kind(labels="abc", epsilon=1.0)


def test_sets_take_labels() -> None:
    block = rumor.SetBlock(labels=LABELS, epsilon=1.0, block=2)
    chosen = rumor.SetSelect(labels=LABELS, epsilon=1.0, cap=2, size=1)
    assert block.labels == chosen.labels == tuple(LABELS)


def test_a_missing_part_is_named() -> None:
    assert import_optional("numpy", "anything") is np
    with pytest.raises(
        MissingExtraError, match=r"^a thing needs not_there \(pip install not_there\)"
    ):
        import_optional("not_there", "a thing")
