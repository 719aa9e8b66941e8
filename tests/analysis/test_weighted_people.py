"""People with weights of their own: what is estimated of every kind, from files and in Python."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import rumor
from rumor import InputError, SurveyDesign
from rumor.cli import main
from rumor.kinds import kind_of
from rumor.mechanisms.summary import Summary

Outputs = pytest.CaptureFixture[str]
_RNG = np.random.default_rng(7)
_AGES = _RNG.integers(20, 80, 900)
_PEOPLE: dict[str, tuple[Any, Any]] = {
    "choice": (
        rumor.SubsetSelection(domain=["a", "b", "c"], epsilon=2.0),
        _RNG.choice(["a", "b", "c"], 900, p=[0.5, 0.3, 0.2]),
    ),
    "blocks of Hadamard": (
        rumor.HadamardResponse(domain=10, epsilon=3.0),
        _RNG.integers(0, 10, 900),
    ),
    "set": (
        rumor.SetSelect(domain=["x", "y", "z"], cap=3, size=1, epsilon=2.0),
        [["x", "y"] if age > 50 else ["z"] for age in _AGES],
    ),
    "set block": (
        rumor.SetBlock(domain=["x", "y", "z"], block=2, epsilon=2.0),
        [["x", "y"] if age > 50 else ["z"] for age in _AGES],
    ),
    "coins": (rumor.Harmony(low=0, high=100, epsilon=2.0), _AGES),
    "number": (rumor.Window(low=0, high=100, epsilon=2.0), _AGES),
    "ages": (rumor.Wave(low=0, high=100, bins=20, epsilon=4.0), _AGES),
    "labels": (
        rumor.Wave(labels=["never", "seldom", "often", "always"], epsilon=3.0),
        _RNG.choice(["never", "seldom", "often", "always"], 900),
    ),
    "joint": (
        rumor.Mixed(parts=(2, 3), epsilon=3.0),
        _RNG.integers(0, 6, 900),
    ),
}


def _reports(name: str) -> tuple[Any, Any]:
    mechanism, values = _PEOPLE[name]
    return mechanism, mechanism.privatize(values, random=rumor.Seeded(11))


@pytest.mark.parametrize("name", _PEOPLE)
def test_equal_weights_give_the_unbiased_estimate(name: str) -> None:
    mechanism, reports = _reports(name)
    known = kind_of(mechanism).measures(
        mechanism, Summary.empty(mechanism).update(reports), "population", {}
    )
    found = rumor.weigh(mechanism, reports, SurveyDesign(np.full(900, 3.0)))
    assert list(found.values) == list(known.values)
    assert list(found.quantities) == list(known.quantities)
    linear = [i for i, what in enumerate(known.quantities) if what != "quantile"]
    few = 0.03 if name == "labels" else 1e-9  # running shares have weights of their own
    scale = 1.0 if max(np.abs(known.sample.mean)) < 2 else 100.0
    np.testing.assert_allclose(found.unbiased[linear], known.sample.mean[linear], atol=few * scale)
    ratio = found.stderr[linear] / known.sample.stderr[linear]
    np.testing.assert_allclose(ratio, 1, atol=0.12)
    assert found.design is not None
    assert found.design.weights == pytest.approx(1)


@pytest.mark.parametrize("name", _PEOPLE)
def test_a_weight_of_two_counts_a_report_twice(name: str) -> None:
    mechanism, reports = _reports(name)
    heavy = _AGES > 60
    twice = np.concatenate([reports, reports[heavy]])
    one = rumor.weigh(mechanism, reports, SurveyDesign(np.where(heavy, 2.0, 1.0)))
    other = rumor.weigh(mechanism, twice, SurveyDesign())
    linear = [i for i, what in enumerate(one.quantities) if what in ("share", "mean")]
    scale = 100.0 if name in ("ages", "number", "coins") else 1.0
    # What joint reports say of others' components is taken from the reports as they are.
    few = 5e-3 if name == "joint" else 1e-9
    np.testing.assert_allclose(one.unbiased[linear], other.unbiased[linear], atol=few * scale)


def test_groups_far_apart_have_the_quantiles_of_the_population() -> None:
    """60 % are 20 to 30 and 40 % 60 to 80, but as many answered of either."""
    rng = np.random.default_rng(3)
    ages = np.concatenate([rng.uniform(20, 30, 20_000), rng.uniform(60, 80, 20_000)])
    weights = np.repeat([3.0, 2.0], 20_000)
    mechanism = rumor.Wave(low=0, high=100, bins=50, epsilon=4.0)
    reports = mechanism.privatize(ages, random=rumor.Seeded(5))
    found = rumor.weigh(mechanism, reports, SurveyDesign(weights))
    for share, truth in (("50%", 20 + 10 * 0.5 / 0.6), ("90%", 60 + 20 * 0.3 / 0.4)):
        row = found["quantile", share]
        assert row.low <= truth <= row.high
        assert row.high - row.low < 10
    assert found["mean", "mean"].estimate == pytest.approx(0.6 * 25 + 0.4 * 70, abs=0.8)


def test_a_comparison_of_equal_weights_is_the_unweighted_one() -> None:
    mechanism, reports = _reports("choice")
    reports = np.tile(reports, (10, 1))  # too many for exact intervals
    group = np.tile(np.where(_AGES > 50, "old", "young"), 10)
    found = rumor.compare(mechanism, reports, group, design=SurveyDesign())
    plain = rumor.compare(mechanism, {name: reports[group == name] for name in ("old", "young")})
    np.testing.assert_allclose(found.difference, plain.difference, atol=1e-12)
    np.testing.assert_allclose(found.stderr, plain.stderr, rtol=0.01)
    for one, other in zip(found.interval(), plain.interval(), strict=True):
        np.testing.assert_allclose(one, other, atol=0.003)
    np.testing.assert_allclose(found.p_value, plain.p_value, atol=0.01)
    assert found.groups == plain.groups


def test_groups_that_share_clusters_are_no_independent_samples() -> None:
    """A cluster that is high in both groups moves the difference of them by nothing."""
    rng = np.random.default_rng(2)
    clusters, group = np.repeat(np.arange(40), 50), np.tile([0, 1], 1000)
    share = rng.choice([0.1, 0.9], 40)[clusters]
    mechanism = rumor.RandomizedResponse(domain=2, epsilon=8.0)
    reports = mechanism.privatize((rng.random(2000) < share).astype(int), random=rumor.Seeded(1))
    within = rumor.compare(mechanism, reports, group, design=SurveyDesign(clusters=clusters)).stderr
    blind = rumor.compare(mechanism, reports, group, design=SurveyDesign()).stderr
    assert (within < 0.8 * blind).all()
    between = rumor.compare(
        mechanism, reports, clusters % 2, design=SurveyDesign(clusters=clusters)
    ).stderr
    assert (between > 3 * blind).all()


_TOML = """name = "Pensions"
series = "pensions"
contact = "privacy@example.org"
users = 600

[[questions]]
id = "saves"
kind = "choice"
text = "Do you save?"
labels = ["no", "yes"]
epsilon = 2.0
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    rows = ["saves,w,region,school,sex"]
    for person in range(600):
        saves, sex = rng.choice(["no", "yes"]), rng.choice(["f", "m"])
        weight = 0.3 + 5 * rng.random()
        rows.append(f"{saves},{weight:.6f},r{person % 3},{person % 30},{sex}")
    (tmp_path / "people.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "pension.toml").write_text(_TOML)
    made = ["--weight-column", "w", "-k", "region", "-k", "school", "-k", "sex", "--seed", "1"]
    files = [str(tmp_path / name) for name in ("pension.toml", "people.csv")]
    assert main(["privatize", *files, "-o", str(tmp_path / "r.parquet"), *made]) == 0
    return tmp_path


def _asked(folder: Path, capsys: Outputs, verb: str, *options: str) -> Any:
    capsys.readouterr()
    files = [str(folder / "pension.toml"), str(folder / "r.parquet")]
    assert main([verb, *files, "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_weights_are_rounded_to_powers_of_a_tenth_more(survey: Path) -> None:
    kept = pq.read_table(survey / "r.parquet").column("w").to_pylist()
    steps = np.log(kept) / math.log(1.1)
    np.testing.assert_allclose(steps, np.rint(steps), atol=1e-9)
    assert len(set(kept)) < 32
    lines = (survey / "people.csv").read_text().splitlines()[1:]
    said = np.sort([float(line.split(",")[1]) for line in lines])
    assert np.abs(np.log(np.sort(kept) / said)).max() <= math.log(1.1) / 2 + 1e-9


def test_files_and_arrays_give_one_estimate(survey: Path, capsys: Outputs) -> None:
    table = pq.read_table(survey / "r.parquet")
    mechanism = rumor.Collection.load(survey / "pension.toml").question().mechanism
    reports = np.array([np.frombuffer(r, np.uint8) for r in table.column("report").to_pylist()])
    columns = {name: table.column(name).to_pylist() for name in ("w", "region", "school", "sex")}
    margins = {"sex": (columns["sex"], {"f": 3.0, "m": 7.0})}
    (survey / "sex.csv").write_text("sex,size\nf,3\nm,7\n")
    known = rumor.weigh(
        mechanism,
        reports,
        SurveyDesign(columns["w"], columns["region"], columns["school"], margins),
    )
    options = ["--weight-column", "w", "--strata", "region", "--cluster", "school"]
    found = _asked(survey, capsys, "estimate", *options, "--weights", str(survey / "sex.csv"))
    low, high = known.interval()
    for i, row in enumerate(found["estimates"]):
        assert row["estimate"] == pytest.approx(known.unbiased[i], rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx((low[i], high[i]), rel=1e-9)
    assert known.design is not None
    assert found["design_effect"] == pytest.approx(known.design.weights)
    assert found["effective_reports"] == pytest.approx(600 / known.design.weights)
    assert found["freedom"] == pytest.approx(known.design.freedom)
    assert found["estimates"][0]["design_effect"] == pytest.approx(known.design.rows[0])


def test_the_design_effect_is_printed(survey: Path, capsys: Outputs) -> None:
    files = [str(survey / "pension.toml"), str(survey / "r.parquet")]
    capsys.readouterr()
    assert main(["estimate", *files, "--weight-column", "w", "--cluster", "school"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    effect = _asked(survey, capsys, "estimate", "--weight-column", "w")["design_effect"]
    assert f"design effect of the weights {effect:.3g}" in told
    assert "30 clusters: Student's distribution with" in told


def test_stored_groups_are_compared_with_their_weights(survey: Path, capsys: Outputs) -> None:
    found = _asked(survey, capsys, "compare", "--by", "sex", "--weight-column", "w")
    rows = found["estimates"]
    assert [(row["first"], row["second"]) for row in rows] == [("f", "m")] * 2
    table = pq.read_table(survey / "r.parquet")
    mechanism = rumor.Collection.load(survey / "pension.toml").question().mechanism
    reports = np.array([np.frombuffer(r, np.uint8) for r in table.column("report").to_pylist()])
    known = rumor.compare(
        mechanism,
        reports,
        table.column("sex").to_pylist(),
        design=SurveyDesign(table.column("w").to_pylist()),
    )
    for row, difference in zip(rows, known.difference, strict=True):
        assert row["difference"] == pytest.approx(difference, rel=1e-12)
    assert any("by group: f " in note for note in found["notes"])


def test_one_margin_of_groups_is_as_it_was(survey: Path, capsys: Outputs) -> None:
    (survey / "sex.csv").write_text("sex,size\nf,3\nm,7\n")
    found = _asked(survey, capsys, "estimate", "--weights", str(survey / "sex.csv"))
    assert found["method"] == "post-stratified"
    (survey / "region.csv").write_text("region,size\nr0,1\nr1,2\nr2,1\n")
    both = ["--weights", str(survey / "sex.csv"), "--weights", str(survey / "region.csv")]
    raked = _asked(survey, capsys, "estimate", *both)
    assert raked["method"] == "weighted, unbiased"
    assert raked["parts"] == []


@pytest.mark.parametrize(
    ("verb", "options", "rule"),
    [
        ("estimate", ["--weight-column", "z"], "--weight-column must be a public column"),
        ("estimate", ["--weight-column", "sex"], "weights must be numbers above 0; got a column"),
        (
            "estimate",
            ["--strata", "z"],
            "--strata must be a public column of the reports (region, ",
        ),
        ("estimate", ["--cluster", "z"], "--cluster must be a public column"),
        ("estimate", ["--weight-column", "w", "--by", "z"], "groups must be a public column"),
        ("estimate", ["--weight-column", "w", "--by", "sex", "--looks", "any"], 'be "one" here'),
        ("estimate", ["--weight-column", "w", "--of", "people"], 'for the "population" only'),
        ("estimate", ["--weight-column", "w", "--method", "em"], "weighted estimates are unbiased"),
        ("estimate", ["--weight-column", "w", "--engine", "spark"], "read in this process"),
        ("estimate", ["--weight-column", "w", "--looks", "any"], 'looks must be "one" here'),
        ("compare", ["--weight-column", "w"], "compared by a public column of one file (--by)"),
        ("compare", ["--weight-column", "w", "--by", "z"], "groups must be a public column"),
        ("compare", ["--cluster", "school", "--by", "sex", "--watch"], "are for one look"),
    ],
)
def test_what_weights_cannot_have_is_refused(
    survey: Path, capsys: Outputs, verb: str, options: list[str], rule: str
) -> None:
    capsys.readouterr()
    files = [str(survey / "pension.toml"), str(survey / "r.parquet")]
    assert main([verb, *files, *options]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert rule in said
    assert "Traceback" not in said


@pytest.mark.parametrize("name", ["choice", "ages"])
def test_weights_are_for_one_look_in_python_too(name: str) -> None:
    """Their variances are estimated: no sequence of them is known to hold at every look."""
    mechanism, reports = _reports(name)
    design = SurveyDesign(np.linspace(1, 3, len(reports)))
    groups = np.where(_AGES > 50, "older", "younger")
    compared = rumor.compare(mechanism, reports, groups, design=design)
    for one in (compared, rumor.weigh(mechanism, reports, design)):
        assert one.to_dict()["looks"] == "one"
        for show in (one.to_dict, one.table, one.to_csv, one.explain):
            with pytest.raises(InputError, match=r'looks must be "one" here: .*; got "any"$'):
                show(looks="any")
    with pytest.raises(InputError, match="of people with weights are valid for one look"):
        compared.interval(looks="any")


@pytest.mark.parametrize("cell", ["", "0", "-1", "many", "inf"])
def test_a_weight_that_is_none_is_refused_by_its_row(
    survey: Path, capsys: Outputs, cell: str
) -> None:
    (survey / "bad.csv").write_text(f"saves,w\nno,1\nyes,{cell}\n")
    files = [str(survey / "pension.toml"), str(survey / "bad.csv")]
    out = survey / "bad.parquet"
    assert main(["privatize", *files, "-o", str(out), "--weight-column", "w"]) == 2
    said = capsys.readouterr().err
    assert "a weight must be a number above 0" in said
    assert "row 2" in said or "line 3" in said
    assert not out.exists()


def test_rows_that_are_dropped_need_no_weight(survey: Path, capsys: Outputs) -> None:
    (survey / "blank.csv").write_text("saves,w\nno,1\n,\nyes,2\n")
    files = [str(survey / "pension.toml"), str(survey / "blank.csv")]
    out = survey / "blank.parquet"
    made = ["-o", str(out), "--weight-column", "w", "--missing", "drop", "--seed", "1"]
    assert main(["privatize", *files, *made]) == 0
    kept = sorted(pq.read_table(out).column("w").to_pylist())
    assert kept == pytest.approx([1.0, 1.1**7])


def test_a_weight_is_not_kept_as_it_is(survey: Path) -> None:
    for options in ({"keep": ["w"]}, {"keep": [], "columns": {"saves": "w"}}):
        with pytest.raises(InputError, match=r"kept rounded|hold no answers"):
            rumor.privatize(
                survey / "pension.toml",
                survey / "people.csv",
                survey / "again.parquet",
                weight="w",
                random=rumor.Seeded(1),
                **options,
            )


def test_kinds_without_scores_say_so() -> None:
    mechanism = rumor.PrivKV(keys=2, epsilon=2.0)
    with pytest.raises(InputError, match="people have weights in questions of kind choice, set"):
        kind_of(mechanism).scores(mechanism, mechanism.outputs())
