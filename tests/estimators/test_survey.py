"""Survey designs: variances against sums written out, raking, and what the output says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rumor import InputError, SurveyDesign
from rumor.core.types import Vector
from rumor.estimators.survey import (
    Scores,
    each_report,
    student_p_value,
    student_quantile,
    weighted_means,
)

WEIGHTS = np.array([1.0, 2.0, 4.0, 1.0, 3.0, 1.0, 2.0, 2.0])
HITS = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0])[:, None]


def _terms(weights: Vector = WEIGHTS) -> Vector:
    share = weights @ HITS[:, 0] / weights.sum()
    return np.asarray(weights * (HITS[:, 0] - share) / weights.sum())


def test_a_weighted_mean_has_the_variance_of_its_linear_terms() -> None:
    survey = SurveyDesign(WEIGHTS).resolve(8)
    found = weighted_means(survey, Scores(HITS))
    u = _terms()
    assert found.sample.mean[0] == pytest.approx(WEIGHTS @ HITS[:, 0] / WEIGHTS.sum())
    share = found.sample.mean[0]
    least = share * (1 - share) * (WEIGHTS**2).sum() / WEIGHTS.sum() ** 2
    linear = 8 / 7 * ((u - u.mean()) ** 2).sum()
    assert found.variance[0] == pytest.approx(max(linear, least), rel=1e-12)
    assert survey.variance(u[:, None] / survey.weights[:, None])[0] == pytest.approx(linear)


def test_strata_and_clusters_are_summed_as_they_were_drawn() -> None:
    strata, clusters = list("aaaabbbb"), [1, 1, 2, 3, 1, 1, 2, 2]
    survey = SurveyDesign(WEIGHTS, strata, clusters).resolve(8)
    u = _terms()
    first = np.array([u[0] + u[1], u[2], u[3]])
    second = np.array([u[4] + u[5], u[6] + u[7]])
    known = 3 / 2 * ((first - first.mean()) ** 2).sum() + 2 * ((second - second.mean()) ** 2).sum()
    found = weighted_means(survey, Scores(HITS, coins=True))
    assert found.variance[0] == pytest.approx(known, rel=1e-12)
    assert found.sample.stderr[0] == pytest.approx(math.sqrt(known), rel=1e-12)


def test_degrees_of_freedom_are_those_of_the_weights() -> None:
    squares = WEIGHTS**2
    plain = SurveyDesign(WEIGHTS).resolve(8)
    assert plain.freedom() == pytest.approx(squares.sum() ** 2 / (squares**2).sum())
    even = SurveyDesign(None, list("aaaabbbb"), [1, 2, 3, 4, 1, 2, 3, 4]).resolve(8)
    assert even.freedom() == pytest.approx(6)  # eight clusters less two strata


def test_clusters_of_one_number_in_two_strata_are_different_ones() -> None:
    apart = SurveyDesign(WEIGHTS, list("aaaabbbb"), [1, 1, 2, 2, 1, 1, 2, 2]).resolve(8)
    named = SurveyDesign(WEIGHTS, list("aaaabbbb"), [1, 1, 2, 2, 3, 3, 4, 4]).resolve(8)
    assert apart.variance(HITS)[0] == pytest.approx(named.variance(HITS)[0], rel=1e-12)


def test_a_stratum_of_one_counts_from_the_common_mean_and_is_named() -> None:
    survey = SurveyDesign(WEIGHTS, list("aaaaaaab")).resolve(8)
    u = _terms()
    rest = 7 / 6 * ((u[:7] - u[:7].mean()) ** 2).sum()
    terms = (u / survey.weights)[:, None]
    assert survey.variance(terms)[0] == pytest.approx(rest + u[7] ** 2, rel=1e-12)
    assert "strata of one report: 'b'" in "\n".join(survey.notes)


def test_raking_meets_all_margins() -> None:
    sex, age = list("ffffmmmm"), list("yyoyoyoy")
    margins = {
        "sex": (sex, {"f": 30.0, "m": 70.0}),
        "age": (age, {"y": 0.4, "o": 0.6}),
    }
    survey = SurveyDesign(WEIGHTS, margins=margins).resolve(8)
    whole = survey.weights.sum()
    assert survey.weights[:4].sum() / whole == pytest.approx(0.3, abs=1e-7)
    young = np.array([each == "y" for each in age])
    assert survey.weights[young].sum() / whole == pytest.approx(0.4, abs=1e-7)
    # Scaling whole margins is all that raking does: odds ratios stay those of the weights.
    cells = [survey.weights[i] / WEIGHTS[i] for i in (0, 2, 5, 4)]
    assert cells[0] * cells[3] == pytest.approx(cells[1] * cells[2], rel=1e-6)


def test_what_margins_explain_has_no_variance() -> None:
    sex = ["f" if hit else "m" for hit in HITS[:, 0]]
    survey = SurveyDesign(WEIGHTS, margins={"sex": (sex, {"f": 3, "m": 5})}).resolve(8)
    found = weighted_means(survey, Scores(HITS))
    assert found.sample.mean[0] == pytest.approx(3 / 8)
    assert found.variance[0] == pytest.approx(0, abs=1e-20)


def test_margins_that_cannot_be_met_are_named() -> None:
    margins = {
        "sex": (list("ffmm"), {"f": 50.0, "m": 50.0}),
        "age": (list("yyoo"), {"y": 90.0, "o": 10.0}),
    }
    with pytest.raises(InputError, match=r"'sex' is still 0\.\d+ off|'sex' is still \d"):
        SurveyDesign(margins=margins).resolve(4)


def test_values_without_a_size_and_sizes_without_a_value_are_named() -> None:
    margins = {"sex": (["f", "m", "x", None], {"f": 40.0, "m": 40.0, "d": 20.0})}
    survey = SurveyDesign(margins=margins).resolve(4)
    assert survey.kept.tolist() == [True, True, False, False]
    told = "\n".join(survey.notes)
    assert "without a size, and left out: 'none', 'x'" in told
    assert "no reports of 'd', 20.0% of the population" in told


def test_few_heavy_weights_are_said() -> None:
    weights = np.append(np.ones(95), np.full(5, 100.0))
    survey = SurveyDesign(weights).resolve(100)
    known = 100 * (weights**2).sum() / weights.sum() ** 2
    told = "\n".join(survey.sentences())
    assert survey.effect() == pytest.approx(known)
    assert f"design effect of the weights {known:.3g}: as precise as {100 / known:,.0f}" in told
    assert "the largest 5% of weights hold 84% of the total" in told


def test_equal_weights_are_a_plain_share() -> None:
    survey = SurveyDesign().resolve(8)
    found = weighted_means(survey, Scores(HITS, None, 0.25, 0.5, coins=True, limits=(0.0, 1.0)))
    assert found.sample.mean[0] == pytest.approx((0.5 - 0.25) / 0.5)
    assert survey.effect() == pytest.approx(1)
    # Wilson's interval of 4 of 8, with the n that an estimated variance stands for, mapped.
    low, high = (end[0] for end in found.sample.bounds(1.96))
    n = 0.25 / (0.25 / 7)
    centre, reach = 0.5, math.sqrt(1.96**2 / n * 0.25 + (1.96**2 / n) ** 2 / 4) / (1 + 1.96**2 / n)
    assert low == pytest.approx((centre - reach - 0.25) / 0.5)
    assert high == pytest.approx((centre + reach - 0.25) / 0.5)


def test_reports_that_all_agree_keep_an_interval() -> None:
    survey = SurveyDesign(WEIGHTS).resolve(8)
    found = weighted_means(survey, Scores(np.zeros((8, 1)), coins=True, limits=(0.0, 1.0)))
    n = WEIGHTS.sum() ** 2 / (WEIGHTS**2).sum()
    assert found.sample.bounds(2.0)[1][0] == pytest.approx(4 / n / (1 + 4 / n))


def test_a_part_of_the_people_is_a_ratio() -> None:
    inside = np.array([True, True, True, False, False, True, True, False])
    survey = SurveyDesign(WEIGHTS).resolve(8)
    found = weighted_means(survey, Scores(HITS), inside)
    part = np.where(inside, WEIGHTS, 0.0)
    share = part @ HITS[:, 0] / part.sum()
    u = part * (HITS[:, 0] - share) / part.sum()
    least = share * (1 - share) * (part**2).sum() / part.sum() ** 2
    assert found.sample.mean[0] == pytest.approx(share)
    assert found.variance[0] == pytest.approx(
        max(8 / 7 * ((u - u.mean()) ** 2).sum(), least), rel=1e-12
    )


def test_students_tails_are_the_normal_ones() -> None:
    assert student_quantile(1.959963984540054, 10) == pytest.approx(2.2281388520)
    assert student_quantile(1.959963984540054, 1e9) == pytest.approx(1.959963984540054)
    p = student_p_value(np.array([0.05]), 10)[0]
    assert p == pytest.approx(0.0784, abs=1e-4)  # 2 P(t10 > 1.96)


def test_equal_reports_are_read_once() -> None:
    reports = np.array([[3], [1], [3], [3]], dtype=np.uint8)
    read = []

    def double(row: object) -> Vector:
        value = float(np.asarray(row)[0, 0])
        read.append(value)
        return np.array([2 * value])

    assert each_report(reports, double).ravel().tolist() == [6.0, 2.0, 6.0, 6.0]
    assert sorted(read) == [1.0, 3.0]


@pytest.mark.parametrize(
    ("design", "rule"),
    [
        (SurveyDesign([1.0, 0.0]), "weights must be numbers above 0; got 0 in row 2"),
        (SurveyDesign([1.0, math.nan]), "weights must be numbers above 0; got nan in row 2"),
        (SurveyDesign(["a", "b"]), "weights must be numbers above 0; got a column of other"),
        (SurveyDesign([1.0]), "weights must have a row for each of the 2 reports; got 1"),
        (SurveyDesign(strata=["a"]), "strata must have a row for each of the 2 reports; got 1"),
        (SurveyDesign(clusters=list("abc")), "clusters must have a row for each of the 2"),
        (SurveyDesign(margins={"x": (["a"], {"a": 1.0})}), "x must have a row for each of the 2"),
        (SurveyDesign(margins={"x": (list("ab"), {"a": -1.0})}), "sizes of a margin must be"),
        (SurveyDesign(margins={"x": (list("ab"), {"c": 1.0})}), "no report has a value of 'x'"),
    ],
)
def test_a_design_that_is_none_is_refused(design: SurveyDesign, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        design.resolve(2)
