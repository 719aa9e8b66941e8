"""Pictures: the numbers in them are the estimate's, and no file asks for a network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.errors import InputError
from rumor.kinds.planning.plan import make_plan
from rumor.papers.charts import specification
from rumor.papers.model import Figure, Point
from rumor.privacy.attack import attack
from rumor.results.chart_parts import LINE, SERIES
from rumor.results.charts import chart_svg, frequency_chart, save_chart, strata_chart
from rumor.results.estimate import Estimate
from rumor.results.view import View
from tests.results.made import RESULTS


def _estimate(count: int = 2000, seed: int = 1) -> Estimate:
    labels = ["nothing", "back <pain>", "a 'quoted' one", "家庭"]
    oracle = rumor.UnaryEncoding(domain=labels, epsilon=2.0)
    values = np.random.default_rng(seed).choice(labels, count, p=[0.5, 0.3, 0.15, 0.05])
    return rumor.estimate(oracle, oracle.privatize(values, random=rumor.Seeded(seed)))


def _data(chart: Any) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    layers = spec.get("layer", [spec])
    data = spec.get("data") or layers[0]["data"]
    if "values" in data:
        return list(data["values"])
    return list(spec["datasets"][data["name"]])


def test_the_chart_holds_the_estimate_in_order() -> None:
    estimate = _estimate()
    truth = np.array([0.5, 0.3, 0.15, 0.05])
    view = View(0.9, of="people", rows=3, order="estimate")
    rows = _data(frequency_chart(estimate, view, truth=truth))
    low, high = estimate.bounds(estimate.ranking(3), view)
    assert [row["value"] for row in rows] == [str(estimate.values[i]) for i in estimate.ranking(3)]
    for k, (row, i) in enumerate(zip(rows, estimate.ranking(3), strict=True)):
        assert row["frequency"] == estimate.frequency[i]
        assert (row["low"], row["high"], row["truth"]) == (low[k], high[k], truth[i])


def test_the_title_says_what_is_shown() -> None:
    view = View(rows=2, simultaneous=True)
    spec = frequency_chart(_estimate(), view, title="Ailments").to_dict()
    assert spec["title"]["text"] == "Ailments"
    first, covers, second = spec["title"]["subtitle"]
    assert first.startswith("2,000 reports, epsilon 2 each; method ")
    assert first.endswith("lines are 95% intervals of the population")
    assert covers == "simultaneous 95% confidence intervals: all 4 hold together"
    assert second == "the 2 least frequent values are not shown"


def test_strata_share_one_order_and_keep_theirs() -> None:
    estimates = {"2026-01": _estimate(500, 1), "2026-02": _estimate(3000, 2)}
    chart = strata_chart(estimates, "month", View(rows=2))
    spec = chart.to_dict()
    assert spec["facet"]["sort"] == ["2026-01 (500 reports)", "2026-02 (3,000 reports)"]
    rows = _data(chart)
    assert [row["value"] for row in rows[:2]] == [row["value"] for row in rows[2:]]
    assert spec["title"]["subtitle"][0].startswith("by month; 3,500 reports")


def test_many_strata_are_cut_to_the_largest() -> None:
    estimate = _estimate(300)
    estimates = {f"s{i}": estimate for i in range(30)}
    spec = strata_chart(estimates, "place").to_dict()
    assert len(spec["facet"]["sort"]) == 24
    assert spec["title"]["subtitle"][2] == "6 smaller groups are not shown"


@pytest.mark.parametrize(
    ("name", "start"), [("c.png", b"\x89PNG"), ("c.svg", b"<svg"), ("c.html", b"<!DOCTYPE html")]
)
def test_files_are_of_their_kind_and_whole(tmp_path: Path, name: str, start: bytes) -> None:
    path = tmp_path / name
    _estimate().plot(path)
    data = path.read_bytes()
    assert data.lstrip().lower().startswith(start.lower())
    assert [p.name for p in tmp_path.iterdir()] == [name]
    if name == "c.svg":
        assert "back &lt;pain&gt;" in data.decode()


def test_no_page_loads_anything(tmp_path: Path) -> None:
    path = tmp_path / "c.html"
    save_chart(frequency_chart(_estimate()), path)
    page = path.read_text(encoding="utf-8")
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)
    assert scripts
    assert not any("src" in attributes for attributes, _ in scripts)
    assert not any(re.search(r"\bimport\s*\(?['\"]https?:", body) for _, body in scripts)
    markup = re.sub(r"<script([^>]*)>(.*?)</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(src|href)\s*=|@import|url\(", markup)


def test_svg_text_is_escaped() -> None:
    svg = chart_svg(frequency_chart(_estimate()))
    assert "back &lt;pain&gt;" in svg
    assert "<script" not in svg


def test_other_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in .html, .png, .svg; got '.*c.gif'"):
        _estimate().plot(tmp_path / "c.gif")
    assert list(tmp_path.iterdir()) == []


def _marks(part: object) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return the type, the look and the encoding of every mark in a specification."""
    found = []
    if isinstance(part, dict):
        if "mark" in part:
            found.append((part["mark"]["type"], part["mark"], part.get("encoding", {})))
        found += [each for value in part.values() for each in _marks(value)]
    elif isinstance(part, list):
        found += [each for value in part for each in _marks(value)]
    return found


@pytest.mark.parametrize("name", RESULTS)
def test_charts_of_all_kinds_have_one_style(name: str) -> None:
    """The same fonts, frame, place of the caption, colours of intervals, and caps at their ends."""
    spec = RESULTS[name]().plot().to_dict()
    assert spec["config"] == frequency_chart(_estimate()).to_dict()["config"]
    assert spec["config"]["title"]["anchor"] == "start"
    assert isinstance(spec["title"]["text"], str)
    assert isinstance(spec["title"]["subtitle"], list)
    marks = _marks(spec)
    fields = [
        {axis.get("field") for axis in each.values() if "field" in axis} for *_, each in marks
    ]
    rules = [i for i, seen in enumerate(fields) if marks[i][0] == "rule" and "low" in seen]
    ends = [i for i, seen in enumerate(fields) if marks[i][0] == "tick" and seen & {"low", "high"}]
    assert len(ends) == 2 * len(rules)
    for i in rules:
        assert marks[i][1]["strokeWidth"] == 1.6
        assert marks[i][1].get("color", LINE) == LINE
    for i in ends:
        assert (marks[i][1]["size"], marks[i][1]["thickness"]) == (9, 1.6)


def test_plans_attacks_and_papers_have_the_style_of_estimates() -> None:
    plan = make_plan(domain=10, epsilon=1.0, users=1_000)
    guessed = attack(rumor.Rappor.full(key=b"key"), words=10, people=20, reports=(1, 5), seed=1)
    drawn = plan.plot().to_dict(), guessed.plot().to_dict()
    curve = Figure(
        "one", "A curve", "x", "y", [Point("ours", 1, 2), Point("ours", 2, 3)], note="A note"
    )
    style = frequency_chart(_estimate()).to_dict()["config"]
    for spec in (*drawn, specification(curve)):
        assert spec["config"] == style
    titles = [(spec["title"]["text"], spec["title"]["subtitle"]) for spec in drawn]
    assert titles == [
        ("Error of each mechanism", ["left: epsilon 1; right: 1,000 people"]),
        ("Guessed words", ["20 simulated people, each with one of 10 words"]),
    ]
    assert specification(curve)["title"] == {"text": "A curve", "subtitle": ["A note"]}
    for spec in drawn:
        for panel in spec["hconcat"]:
            assert set(panel["encoding"]["color"]["scale"]["range"]) <= set(SERIES)
