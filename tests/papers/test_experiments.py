"""The experiments behind the papers: each held to something known apart from it."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

import rumor
from rumor.cli import main
from rumor.estimators.frequency.solver import single_support
from rumor.papers import (
    MODULES,
    decoding,
    frequency,
    hadamard_package,
    keyvalue,
    minimax,
    paper,
    rappor_privacy,
)
from rumor.papers.frequency import truth
from rumor.papers.model import Claim, Verdict
from rumor.papers.privkv_em import scatter
from rumor.papers.privkv_em.experiments import FEW_TRIALS
from rumor.papers.render import UNRESOLVED
from rumor.papers.runner import committed, results


def mean_and_error(values: object) -> tuple[float, float]:
    column = np.asarray(values, dtype=np.float64)
    return float(column.mean()), float(column.std(ddof=1) / math.sqrt(column.size))


# --- Frequencies ------------------------------------------------------------------------------


def test_iterations_of_randomised_response_reach_the_closed_form() -> None:
    oracle = rumor.RandomizedResponse(domain=20, epsilon=2.0)
    counts = np.random.default_rng(3).multinomial(5_000, truth("zipf 1", 20) * 0.5 + 0.025)
    observed = counts / counts.sum()
    found, iterations = frequency.response_iterations(oracle, observed, 1e-12)
    best = single_support(counts.astype(np.float64), oracle.hit, oracle.miss)
    assert found == pytest.approx(best, abs=1e-6)
    early, fewer = frequency.response_iterations(oracle, observed, 1e-3)
    assert fewer < iterations
    assert frequency.squared(early, best) > frequency.squared(found, best)


def test_a_path_is_what_the_estimator_gives_after_as_many_iterations() -> None:
    settings = {"oracle": "symmetric", "law": "zipf 1", "epsilon": 2, "people": 300, "domain": 50}
    path = frequency.trajectory({**settings, "at": [3, 40]}, 1, 11)
    oracle, law = frequency.ORACLES["symmetric"](50, 2.0), truth("zipf 1", 50)
    reports = frequency.draw(oracle, law, 300, 11)
    for n in (3, 40):
        found = rumor.estimate(oracle, reports, method="em", max_iterations=n, gap=1e-15)
        assert path[f"error/{n}"][0] == pytest.approx(frequency.squared(found.frequency, law))
    assert path["best error"][0] <= min(path["error/3"][0], path["error/40"][0])


def test_the_normaliser_of_equation_13_is_short_for_more_people_than_values() -> None:
    found = frequency.normaliser({"domain": 1000, "people": 100_000}, 1, 0)
    expected = sum(1 / n for n in range(1, 1001)) / sum(1 / n for n in range(1, 100_001))
    assert found["zipf total as printed"][0] == pytest.approx(expected)
    assert found["zipf total as meant"][0] == pytest.approx(1)


def test_the_naive_product_ends_where_the_paper_says_and_the_odds_do_not() -> None:
    for epsilon, domain in ((1, 764), (4, 350)):
        found = frequency.limits({"epsilon": epsilon, "domain": domain + 5}, 1, 0)
        assert found["largest domain"] == [domain]
    settings = {"epsilon": 4, "people": 20, "most": 4_000}
    naive = frequency.reach({**settings, "likelihood": "probability"}, 1, 1)
    odds = frequency.reach({**settings, "likelihood": "odds"}, 1, 1)
    assert naive["limited"] == [1]
    (largest,) = naive["largest domain"]
    assert 350 <= largest < 4_000
    # A domain that works alone works, and one value more does not.
    for most, limited in ((largest, 0), (largest + 1, 1)):
        again = frequency.reach({**settings, "likelihood": "probability", "most": most}, 1, 1)
        assert again == {"largest domain": [largest], "limited": [limited]}
    assert odds == {"largest domain": [4_000], "limited": [0]}


def test_equation_6_is_the_channel() -> None:
    found = frequency.unary_channel({"epsilon": 1.0}, 1, 0)
    oracle = rumor.UnaryEncoding(domain=3, epsilon=1.0, variant="symmetric")
    p, q = oracle.hit, oracle.miss
    assert found["1/110"][0] == pytest.approx(p * (1 - q) * q)  # the example of section 3.3
    assert found["largest difference"][0] < 1e-15


# --- Key-value data ----------------------------------------------------------------------------


def test_privkv_has_the_error_of_its_closed_form() -> None:
    settings = {"data": "linear", "epsilon": 2, "people": 10_000}
    exact = keyvalue.closed_form(settings, 1, 0)["MSE_f"][0]
    found = keyvalue.errors({**settings, "contenders": "published"}, 60, 5)
    mean, error = mean_and_error(found["PrivKV f"])
    assert abs(mean - exact) < 4 * error
    clipped, _ = mean_and_error(found["PrivKV clipped f"])
    assert clipped < mean


def test_em_finds_means_that_depend_on_the_start_and_three_states_do_not() -> None:
    found = keyvalue.unidentified({"epsilon": 2, "share": 0.2, "mean": -0.6}, 1, 0)
    one, other = found["EM from 1/4 each"][0], found["EM from .4 .1 .1 .4"][0]
    assert abs(one - other) > 0.5
    assert found["share, EM from 1/4 each"][0] == pytest.approx(0.2, abs=1e-6)
    assert found["share, EM from .4 .1 .1 .4"][0] == pytest.approx(0.2, abs=1e-6)
    assert found["three states"][0] == pytest.approx(-0.6, abs=1e-6)


def test_the_exponent_as_printed_is_not_that_of_table_1() -> None:
    found = keyvalue.exponent({}, 1, 0)
    assert found["mean share as meant"][0] == pytest.approx(0.2066, abs=5e-5)
    assert found["mean share as printed"][0] > 0.5


@pytest.mark.parametrize("name", MODULES)
def test_tables_and_figures_hold_what_was_measured(name: str) -> None:
    found = results(*committed(name))
    for table in paper(name).tables(found):
        assert table.rows, table.name
        assert {len(row) for row in table.rows} == {len(table.head)}, table.name
        assert all(cell.strip() for row in table.rows for cell in row[:1]), table.name
    for figure in paper(name).figures(found):
        assert figure.points, figure.name


def test_what_explanations_say_of_the_tables_is_so() -> None:
    tables, found = frequency.published_tables("privkv-em"), results(*committed("privkv-em"))
    for name, fits in (("gaussian", True), ("linear", True), ("power", False)):
        cell = f"shares/{name}/epsilon 0.1/100000/published"
        value = tables["by_epsilon"][name]["PrivKVM3"][0]
        claim = Claim("", "", "", value, cell, "", tables["trials"])
        assert Verdict(claim, found.get(cell, "PrivKVM3 from 0 f"), None).holds == fits


def test_what_is_put_down_to_few_trials_lies_within_the_scatter_of_its_row() -> None:
    found = results(*committed("privkv-em"))
    seen = {row: scatter.trials_seen(found, row) for row in scatter.ROWS}
    assert all(2 < trials < 4 for trials in seen.values()), seen
    verdicts = [v for v in paper("privkv-em").verdicts(found) if not v.holds]
    few = [v.claim for v in verdicts if v.claim.explanation == FEW_TRIALS]
    assert len(few) >= 8
    for claim in few:
        measured = found.get(claim.cell, claim.quantity)
        assert scatter.distance(claim.published, measured, seen[claim.row]) <= 3, claim.name


def test_the_last_column_fits_fewer_people_and_two_trials() -> None:
    found, table = results(*committed("privkv-em")), frequency.published_tables("privkv-em")
    for name in keyvalue.SETS:
        for row in scatter.ROWS:
            cell = f"users/{name}/epsilon 2/{scatter.LAST}/published"
            value, measured = table["by_users"][name][row][-1], found.get(cell, f"{row} f")
            assert scatter.distance(value, measured, scatter.LAST_TRIALS) <= 3, (name, row)


def test_at_most_four_numbers_are_unresolved() -> None:
    unresolved = [
        v.claim.name
        for name in MODULES
        for v in paper(name).verdicts(results(*committed(name)))
        if not v.holds and v.claim.explanation.startswith(UNRESOLVED)
    ]
    assert len(unresolved) <= 4, unresolved


# --- RAPPOR -----------------------------------------------------------------------------------


def test_the_design_matrix_is_sha_256_of_secret_cohort_word_and_hash() -> None:
    matrix = decoding.design_matrix("s", 2, words=3)
    rows = set()
    for i in (1, 2):
        digest = hashlib.sha256(f"s_05_002_{i:02d}".encode()).hexdigest()
        rows.add(5 * 128 + int(digest, 16) % 128)
    column = np.flatnonzero(matrix[:, 1])
    assert rows <= set(column.tolist())
    assert {r for r in column.tolist() if 5 * 128 <= r < 6 * 128} == rows
    own = decoding.design_matrix("s", 2, words=3, bits=100, cohorts=6)
    assert own.shape == (600, 3)
    hashed = int(hashlib.sha256(b"s_05_002_02").hexdigest(), 16)
    assert own[500 + hashed % 100, 1] == 1
    assert 6 <= own[:, 1].sum() <= 12
    made = decoding.candidates_of(matrix, 2)
    back = np.zeros((3, 8, 129))
    for word in range(3):
        for cohort in range(8):
            back[word, cohort, made.rows[word, 2 * cohort : 2 * cohort + 2].astype(int)] = 1
    assert (matrix == back[:, :, :128].reshape(3, -1).T).all()


def test_debiasing_in_the_loop_multiplies_by_four_a_hundred_times() -> None:
    design = decoding.design_matrix("s", 1)
    counts = np.random.default_rng(1).multinomial(2_500, decoding.word_shares(0.7), size=8)
    printed = decoding.response(design, counts, np.random.default_rng(2), printed=True)
    meant = decoding.response(design, counts, np.random.default_rng(2), printed=False)
    assert printed.max() < -(10**60)
    assert abs(meant.sum() / 8 - 2_500) < 6 * 100 * math.sqrt(128)  # one bit a person, and noise
    assert decoding.kept_by_lasso(decoding.candidates_of(design, 1), printed) == 0
    assert decoding.kept_by_lasso(decoding.candidates_of(design, 1), meant) > 20


def test_one_hash_has_the_epsilon_of_many() -> None:
    for hashes in (1, 4, 32):
        found = decoding.loss({"hashes": hashes}, 1, 0)
        assert found["epsilon"][0] == pytest.approx(hashes * math.log(3), rel=1e-9)
        assert found["epsilon of one hash"][0] == pytest.approx(found["epsilon"][0], rel=1e-6)


def test_brute_force_agrees_with_an_independent_count_of_two_bits() -> None:
    """Two bits, one set: filters 01 and 10, the worst output copies one of them."""
    f, p, q = 0.5, 0.5, 0.75
    found = rappor_privacy.brute({"bits": 2, "hashes": 1, "noise": [f, p, q]}, 1, 0)
    a, b = f / 2 * q + (1 - f / 2) * p, (1 - f / 2) * q + f / 2 * p
    assert found["epsilon_1"][0] == pytest.approx(math.log(b * (1 - a) / (a * (1 - b))))
    assert found["epsilon_infinity"][0] == pytest.approx(2 * math.log(3))
    assert found["total probability"][0] == pytest.approx(1)


def test_subset_selection_is_on_the_bound() -> None:
    for epsilon in (0.5, 2.0, 5.0):
        least, size = minimax.bound(100, 1_000, epsilon)
        oracle = rumor.SubsetSelection(domain=100, epsilon=epsilon)
        theory = float(oracle.variance(truth("uniform", 100), 1_000).sum())
        assert theory == pytest.approx(least, rel=1e-3)
        assert abs(size - 100 / (math.exp(epsilon) + 1)) <= 1


# --- Hadamard response as its inventors run it --------------------------------------------------


def test_the_package_keeps_less_than_its_label_where_blocks_are_missing() -> None:
    """D = 1,000: 2 of 2, 4 of 4, but 16 of 32 blocks at epsilon 4."""
    layouts = [hadamard_package.BlockLayout.of(1000, epsilon) for epsilon in (1.0, 2.0, 4.0)]
    assert [(x.asked, x.existing, x.block) for x in layouts] == [
        (2, 2, 512),
        (4, 4, 256),
        (32, 16, 64),
    ]
    assert [round(x.kept_epsilon, 3) for x in layouts] == [1.0, 2.0, 3.325]


@pytest.mark.parametrize(("domain", "epsilon"), [(1000, 2.0), (28, 1.5), (1000, 4.0)])
def test_the_packages_decoder_is_right_where_all_blocks_exist(domain: int, epsilon: float) -> None:
    """By the law of a report instead of draws: nothing is left to chance.

    Everybody holds value 3. Where blocks are missing, all other values get the same too much.
    """
    layout, own = hadamard_package.BlockLayout.of(domain, epsilon), 3
    flat = 2 * layout.asked / (2 * layout.asked - 1 + math.exp(epsilon))
    law = np.full((layout.existing, layout.block), flat / layout.existing / layout.block)
    parity = np.bitwise_count((own + 1) & np.arange(layout.block)) % 2
    law[0] += (1 - flat) * parity / parity.sum()
    law[:, 0] = 0
    law /= law.sum()
    assert math.log(law.max() / law[:, 1:].min()) == pytest.approx(layout.kept_epsilon)
    drawn = hadamard_package.draw(layout, np.full(200_000, own), np.random.default_rng(8))
    # Five standard errors of a share, and none where the law has none.
    assert (np.abs(drawn - law) <= 5 * np.sqrt(law / 200_000)).all()
    found = hadamard_package.decode(layout, law)
    others = np.delete(found, own)
    assert np.ptp(others) < 1e-12
    if layout.asked == layout.existing:
        assert found[own] == pytest.approx(1)
        assert abs(others[0]) < 1e-12
    else:
        assert others[0] == pytest.approx(2.68e-4, abs=1e-6)


# --- The command ------------------------------------------------------------------------------


def test_run_writes_pages_numbers_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow.parquet as pq

    arguments = [
        "papers",
        "run",
        "rappor-privacy",
        "--quick",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    ]
    assert main(arguments) == 0
    assert "32 values of its formulas, at parameters chosen here" in capsys.readouterr().out
    folder = tmp_path / "rappor-privacy"
    table = pq.read_table(folder / "rappor-privacy.parquet")
    assert table.schema.metadata[b"command"] == b"rumor papers run rappor-privacy --quick"
    cells = paper("rappor-privacy").cells
    assert set(table.column("cell").to_pylist()) == {cell.id for cell in cells}
    rows = table.to_pylist()
    claimed = [row for row in rows if row["published"] is not None]
    assert len(claimed) == 32
    page = (folder / "rappor-privacy.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org/", "")  # nothing is fetched
    text = (folder / "rappor-privacy.md").read_text(encoding="utf-8")
    assert "| row | column | published | reproduced | ours |" in text
    assert (folder / "curve.svg").read_text(encoding="utf-8").startswith("<svg")


def test_list_names_every_paper(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    assert main(["papers", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-2]] == list(MODULES)
    assert lines[-1].startswith("In all: of 268 published numbers, ")
    assert main(["papers", "list", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["papers"]
    assert [entry["name"] for entry in told] == list(MODULES)
    assert all(entry["cells"] > 0 and entry["checklist"] > 0 for entry in told)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run"], "run needs the name of a paper"),
        (["run", "nothing"], "a paper must be one of css2020"),
        (["walk"], "an action must be one of list, run, show, cell, checklist; got 'walk'"),
        (["show"], "show needs the name of a paper"),
        (["show", "minimax", "nothing"], "a part of minimax must be one of summary, "),
        (["cell", "minimax", "nothing"], "a cell of minimax must begin as one does; got 'nothing'"),
        (["cell", "minimax"], "a cell of minimax must begin as one does; got None"),
        (["run", "minimax", "x"], "run takes no part; got 'x'"),
        (["checklist", "nothing"], "a paper must be one of css2020"),
        (["list", "css2020"], "list needs nothing after it; got 'css2020'"),
        (["run", "minimax", "--trials", "1"], "--trials"),
    ],
)
def test_bad_input_gets_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["papers", *arguments]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


# --- What was kept ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODULES)
def test_kept_results_are_of_the_cells_that_would_run(name: str) -> None:
    """The same parameters, seeds and trials; what has neither chance nor parameters, once more."""
    kept, _ = committed(name)
    assert list(kept) == [cell.id for cell in paper(name).cells]
    for cell in paper(name).cells:
        was = kept[cell.id]
        parameters = json.loads(json.dumps(dict(cell.parameters)))
        assert (was["parameters"], was["seed"]) == (parameters, cell.seed), cell.id
        assert was["trials"] == cell.trials, cell.id
        if cell.trials == 1 and not cell.parameters:
            found = {key: values[0] for key, values in was["numbers"].items()}
            again = cell.experiment({}, 1, cell.seed)
            assert found == {key: pytest.approx(v[0], rel=1e-9) for key, v in again.items()}
