"""Groups of people with weights: each is estimated as a domain of the whole sample."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import rumor
from rumor import InputError, SurveyDesign
from rumor.analysis.survey import weigh_scores
from rumor.cli import main
from rumor.kinds import kind_of
from tests.analysis.test_weighted_people import _AGES, _PEOPLE, _reports
from tests.analysis.test_weighted_people import survey as survey

Outputs = pytest.CaptureFixture[str]
_COIN = rumor.RandomizedResponse(domain=2, epsilon=math.log(3))  # a true answer with 3/4
_SAID = np.array([[1], [0], [1], [0], [0], [1], [0], [0]], dtype=np.uint8)
_WEIGHTS = np.array([6.0, 1, 3, 1, 2, 4, 1, 2])
_GROUP = np.array(["a", "a", "b", "a", "b", "b", "a", "b"])
_LAYER = np.array(["x", "x", "x", "x", "y", "y", "y", "y"])
_SCHOOL = np.array([0, 0, 1, 2, 3, 3, 4, 4])


def _by_hand(layer: Any, school: Any, inside: Any) -> tuple[float, float]:
    """Return the mean of a group of the eight people, and its linearised variance."""
    total = math.fsum(_WEIGHTS[inside])
    mean = math.fsum(_WEIGHTS[inside] * _SAID[inside, 0]) / total
    sums: dict[tuple[Any, Any], float] = {}
    for i in range(8):
        term = _WEIGHTS[i] * (_SAID[i, 0] - mean) / total if inside[i] else 0.0
        sums[layer[i], school[i]] = sums.get((layer[i], school[i]), 0.0) + term
    variance = 0.0
    for one in set(layer):
        terms = [term for (where, _), term in sums.items() if where == one]
        centre = sum(terms) / len(terms)
        around = sum((term - centre) ** 2 for term in terms)
        variance += len(terms) / (len(terms) - 1) * around
    return mean, variance


@pytest.mark.parametrize("strata", [True, False])
@pytest.mark.parametrize("clusters", [True, False])
def test_a_group_of_eight_people_is_as_by_hand(strata: bool, clusters: bool) -> None:
    design = SurveyDesign(_WEIGHTS, _LAYER if strata else None, _SCHOOL if clusters else None)
    found = rumor.weigh(_COIN, _SAID, design, by=_GROUP)
    assert list(found) == ["a", "b"]
    for name, people in (("a", 4), ("b", 4)):
        inside = name == _GROUP
        layer = _LAYER if strata else ["all"] * 8
        mean, variance = _by_hand(layer, _SCHOOL if clusters else range(8), inside)
        weights = _WEIGHTS[inside]
        plain = mean * (1 - mean)
        if not clusters:  # at least that of reports that are independent of their weights
            variance = max(variance, plain * (weights**2).sum() / weights.sum() ** 2)
        one = found[name]
        assert one.reports == people
        assert one.unbiased[1] == pytest.approx((mean - 1 / 4) / (1 / 2), rel=1e-12)
        assert one.stderr[1] == pytest.approx(math.sqrt(variance) / (1 / 2), rel=1e-12)
        assert one.design.rows[1] == pytest.approx(variance * people / plain, rel=1e-12)
        effect = 4 * (weights**2).sum() / weights.sum() ** 2
        assert one.design.weights == pytest.approx(effect, rel=1e-12)
        told = f"effect of the weights {effect:.3g}: as precise as {4 / effect:,.0f} reports"
        assert told in one.notes[0]


def test_the_variance_is_of_the_whole_sample_not_of_the_group_alone() -> None:
    """Which cluster has anybody of a group is chance too, and a cluster without any says 0."""
    clusters = np.repeat(np.arange(6), 4)
    group = np.where((clusters < 3) & (np.arange(24) % 2 == 0), "few", "others")
    said = np.zeros((24, 1), dtype=np.uint8)
    said[[0, 2, 8]] = 1
    inside = group == "few"
    whole = rumor.weigh(_COIN, said, SurveyDesign(clusters=clusters), by=group)["few"]
    alone = rumor.weigh(_COIN, said[inside], SurveyDesign(clusters=clusters[inside]))
    np.testing.assert_allclose(whole.unbiased, alone.unbiased, rtol=1e-12)
    terms = [sum(said[inside & (clusters == c), 0] - 0.5) / 6 for c in range(6)]
    variance = 6 / 5 * math.fsum(term**2 for term in terms)
    assert whole.stderr[1] == pytest.approx(2 * math.sqrt(variance), rel=1e-12)
    assert alone.stderr[1] == pytest.approx(2 * math.sqrt(variance / (6 / 5) * 3 / 2), rel=1e-12)


@pytest.mark.parametrize("name", _PEOPLE)
def test_a_group_is_the_sample_with_no_weight_elsewhere(name: str) -> None:
    """Of every kind: the others keep their place in strata, clusters and margins, and weigh 0."""
    mechanism, reports = _reports(name)
    people = np.arange(len(reports))
    margins = {"half": (people % 2, {"0": 3.0, "1": 2.0})}
    group = np.where(_AGES > 50, "older", "younger")
    for strata, clusters, known in ((people % 3, people % 45, {}), (None, None, margins)):
        design = SurveyDesign(1 + people % 4, strata, clusters, known)
        found = rumor.weigh(mechanism, reports, design, by=group)
        scores = kind_of(mechanism).scores(mechanism, reports)
        survey = design.resolve(len(reports))
        for which in ("older", "younger"):
            inside = group == which
            # The margins are met by the weights of all.
            none = dataclasses.replace(survey, weights=np.where(inside, survey.weights, 0.0))
            if known:
                object.__setattr__(none, "columns", None)
            other = weigh_scores(none, scores)
            np.testing.assert_allclose(found[which].unbiased, other.combination.mean, atol=1e-9)
            if not known:
                each = found[which].stderr / other.combination.stderr
                np.testing.assert_allclose(each, 1, atol=1e-6)
                assert found[which].design.freedom == pytest.approx(survey.freedom(inside))


def test_groups_add_up_to_the_population() -> None:
    mechanism, reports = _reports("choice")
    weights = 1.0 + np.arange(len(reports)) % 4
    design = SurveyDesign(weights)
    group = np.where(_AGES > 50, "older", "younger")
    found = rumor.weigh(mechanism, reports, design, by=group)
    whole = rumor.weigh(mechanism, reports, design)
    parts = {name: weights[group == name].sum() / weights.sum() for name in found}
    added = sum(parts[name] * found[name].unbiased for name in found)
    np.testing.assert_allclose(added, whole.unbiased, rtol=1e-12)
    compared = rumor.compare(mechanism, reports, group, design=design)
    difference = found["younger"].unbiased - found["older"].unbiased
    np.testing.assert_allclose(difference, compared.difference, rtol=1e-12)
    [one] = rumor.weigh(mechanism, reports, design, by=["all"] * len(reports)).values()
    np.testing.assert_allclose(one.stderr, whole.stderr, rtol=1e-12)
    np.testing.assert_allclose(one.interval(), whole.interval(), rtol=1e-12)


def test_margins_lower_the_variance_of_a_group_by_what_they_explain_in_it() -> None:
    """A margin that is the answer itself leaves no variance; within the group, as by hand."""
    answers = np.tile([0, 0, 1, 1, 1], 40)
    group = np.tile([0, 1], 100)
    margins = {"said": (answers, {"0": 1.0, "1": 1.0})}
    reports = answers.astype(np.uint8)[:, None]
    found = rumor.weigh(_COIN, reports, SurveyDesign(margins=margins), by=group)["1"]
    survey = SurveyDesign(margins=margins).resolve(200)
    inside = group == 1
    w = survey.weights
    mean = (w * inside * answers).sum() / (w * inside).sum()
    away = inside * (answers - mean)
    left = away.astype(float)
    for value in (0, 1):
        rows = answers == value
        left[rows] -= (w * away)[rows].sum() / w[rows].sum()
    linear = 200 / 199 * ((w * left) ** 2).sum() / (w * inside).sum() ** 2
    total = (w * inside).sum()
    part = (w[inside] ** 2).sum() / total**2
    plain = (w * away**2).sum() / total
    floor = plain * part * (w @ left**2) / (w @ away**2)
    assert found.stderr[1] == pytest.approx(2 * math.sqrt(max(linear, floor)), rel=1e-9)
    assert (w @ left**2) / (w @ away**2) < 0.6


def _asked(folder: Path, capsys: Outputs, *options: str) -> str:
    capsys.readouterr()
    files = [str(folder / "pension.toml"), str(folder / "r.parquet")]
    assert main(["estimate", *files, *options]) == 0
    return capsys.readouterr().out


_DESIGN = ("--weight-column", "w", "--strata", "region", "--cluster", "school")


def test_files_arrays_and_the_command_find_the_same_groups(survey: Path, capsys: Outputs) -> None:
    table = pq.read_table(survey / "r.parquet")
    contract = rumor.Collection.load(survey / "pension.toml")
    reports = np.array([np.frombuffer(r, np.uint8) for r in table.column("report").to_pylist()])
    w, region, school, sex = (
        table.column(name).to_pylist() for name in ("w", "region", "school", "sex")
    )
    design = SurveyDesign(w, region, school, {"sex": (sex, {"f": 3.0, "m": 7.0})})
    known = rumor.weigh(contract.question().mechanism, reports, design, by=region)
    files = rumor.estimate(
        contract,
        survey / "r.parquet",
        by="region",
        weight="w",
        strata="region",
        cluster="school",
        margins={"sex": {"f": 3.0, "m": 7.0}},
    )
    (survey / "sex.csv").write_text("sex,size\nf,3\nm,7\n")
    margin = ("--weights", str(survey / "sex.csv"), "--by", "region")
    found = json.loads(_asked(survey, capsys, *_DESIGN, *margin, "--json"))
    assert [one["stratum"] for one in found["strata"]] == ["r0", "r1", "r2"] == list(files)
    assert (found["by"], found["reports"], found["method"]) == (
        "region",
        600,
        "weighted, unbiased",
    )
    assert files.to_dict() == found
    assert isinstance(files, rumor.GroupedEstimates)
    rows = iter(found["estimates"])
    for name, told in zip(files, found["strata"], strict=True):
        one, other = files[name], known[name]
        np.testing.assert_allclose(one.unbiased, other.unbiased, rtol=1e-12)
        np.testing.assert_allclose(one.interval(), other.interval(), rtol=1e-9)
        assert told["reports"] == region.count(name) == one.reports
        assert told["design_effect"] == pytest.approx(other.design.weights)
        assert told["effective_reports"] == pytest.approx(one.reports / other.design.weights)
        assert told["freedom"] == pytest.approx(other.design.freedom)
        assert "10 clusters in 1 strata" in told["notes"][1]
        for low, value in zip(one.interval()[0], ("no", "yes"), strict=True):
            row = next(rows)
            assert (row["stratum"], row["value"]) == (name, value)
            assert row["low"] == pytest.approx(low)
    frame = files.to_pandas()
    assert frame["stratum"].tolist() == ["r0", "r0", "r1", "r1", "r2", "r2"]
    assert frame["estimate"].tolist() == [row["estimate"] for row in found["estimates"]]


def test_each_group_has_a_table_and_all_of_them_their_notes_once(
    survey: Path, capsys: Outputs
) -> None:
    (survey / "region.csv").write_text("region,size\nr0,3\nr1,7\n")
    margin = ("--weight-column", "w", "--weights", str(survey / "region.csv"), "--by", "sex")
    told = _asked(survey, capsys, *margin)
    assert told.startswith("saves: Do you save?\n\nsex = f\n")
    assert told.count("Do you save?") == 1
    assert told.count("sex = m\n") == 1
    assert told.count("design effect of the weights") == 2
    assert told.count("region: without a size, and left out: 'r2'.") == 1
    assert told.rstrip().endswith("left out: 'r2'.")
    text = _asked(survey, capsys, *margin, "--markdown")
    assert text.count("| value | estimate |") == 2
    assert _asked(survey, capsys, *margin, "--latex").count(r"\begin{tabular}") == 2
    found = rumor.estimate(survey / "pension.toml", survey / "r.parquet", weight="w", by="sex")
    summary = found.summary()
    assert summary.count("Method") == 2
    assert "sex = f" in summary
    assert "sex = m" in summary


def test_a_chart_has_a_panel_for_each_value_and_a_line_for_each_group(
    survey: Path, capsys: Outputs
) -> None:
    found = rumor.estimate(survey / "pension.toml", survey / "r.parquet", weight="w", by="region")
    [data] = found.plot(title="Savings").to_dict()["datasets"].values()
    drawn = [(row["panel"], row["name"]) for row in data]
    regions = ("r0", "r1", "r2")
    assert drawn == [(f"share {value}", region) for value in ("no", "yes") for region in regions]
    for row in data:
        one = found[row["name"]]["share", row["panel"].split()[1]]
        assert (row["point"], row["low"], row["high"]) == (one.estimate, one.low, one.high)
    _asked(
        survey, capsys, "--weight-column", "w", "--by", "region", "--plot", str(survey / "c.svg")
    )
    drawing = (survey / "c.svg").read_text()
    assert "r2" in drawing
    assert "share yes" in drawing


def test_the_panel_of_a_mean_has_one_name() -> None:
    mechanism, reports = _reports("ages")
    group = np.where(_AGES > 50, "older", "younger")
    found = rumor.weigh(mechanism, reports, SurveyDesign(), by=group)
    [data] = found.plot().to_dict()["datasets"].values()
    panels = [row["panel"] for row in data]
    assert panels[:4] == ["mean", "mean", "quantile 10%", "quantile 10%"]


def test_groups_of_days_and_unknown_ones_have_names(survey: Path, capsys: Outputs) -> None:
    found = json.loads(_asked(survey, capsys, "--weight-column", "w", "--by", "day", "--json"))
    [day] = [one["stratum"] for one in found["strata"]]
    assert day == pq.read_table(survey / "r.parquet").column("day")[0].as_py().isoformat()
    both = json.loads(_asked(survey, capsys, *_DESIGN, "--by", "sex,region", "--json"))
    assert [one["stratum"] for one in both["strata"]][:2] == ["f, r0", "f, r1"]
    mechanism, reports = _reports("choice")
    column = [None if age > 70 else age // 40 * 40 for age in _AGES.tolist()]
    named = rumor.weigh(mechanism, reports, SurveyDesign(), by=column)
    assert list(named) == ["0", "40", "(not known)"]
    assert named["(not known)"].reports == (_AGES > 70).sum()
    strata = named.to_dict()["strata"]
    assert isinstance(strata, list)
    assert [one["stratum"] for one in strata] == [0, 40, None]


def test_a_group_of_one_person_says_how_little_it_knows() -> None:
    mechanism, reports = _reports("choice")
    column = ["one", *["others"] * (len(reports) - 1)]
    one = rumor.weigh(mechanism, reports, SurveyDesign(), by=column)["one"]
    assert one.reports == 1
    low, high = one.interval()
    assert (high - low > 0.9).all()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"method": "em"}, "got weight with method"),
        ({"engine": "spark"}, "got weight with engine"),
        ({"candidates": ["yes"]}, "got weight with candidates"),
        ({"eta": 1}, "got weight with eta"),
        ({"by": "z"}, r"groups must be a public column of the reports \(region, .*got 'z'"),
    ],
)
def test_what_weighted_files_cannot_have_is_refused(
    survey: Path, options: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InputError, match=rule):
        rumor.estimate(survey / "pension.toml", survey / "r.parquet", weight="w", **options)


def test_groups_in_memory_need_a_design_and_a_row_for_each_report(survey: Path) -> None:
    mechanism, reports = _reports("choice")
    with pytest.raises(InputError, match="a row for each of the 900 reports; got 2"):
        rumor.weigh(mechanism, reports, SurveyDesign(), by=["a", "b"])
    with pytest.raises(InputError, match="people with weights, a SurveyDesign; got weights of"):
        rumor.weigh(mechanism, {"a": reports}, {"a": 1.0}, by=["a"])
    with pytest.raises(InputError, match=r"rumor.weigh takes reports in memory\); got strata"):
        rumor.estimate(survey / "pension.toml", reports, strata="region")
