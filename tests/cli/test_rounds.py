"""PrivKVM in three rounds through files: shares of round 1, means of the last, with intervals."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rumor
from rumor.analysis.estimate import analyse
from rumor.cli import main
from rumor.papers.frequency import published_tables
from rumor.papers.keyvalue import data_set

COLLECTION = """\
name = "Apps"
series = "apps"
contact = "us@example.org"

[[questions]]
id = "apps"
kind = "keyvalue"
keys = ["maps", "mail", "chat"]
low = 0
high = 10
epsilon = 6.0
reports_per_person = 1
mechanism = {name = "privkvm", rounds = 3}
"""
# Shares and means of the keys, on the scale of answers.
SHARES, MEANS = (0.2, 0.6, 0.9), (9.0, 2.0, 6.0)
PEOPLE = 12_000


@pytest.fixture(scope="module")
def rounds(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The contract and the reports of each of three rounds, by the command line alone."""
    folder = tmp_path_factory.mktemp("rounds")
    contract = folder / "round-1.toml"
    contract.write_text(COLLECTION, encoding="utf-8")
    random = np.random.default_rng(6)
    held = random.random((PEOPLE, 3)) < SHARES
    table = ["maps,mail,chat,city"]
    for row, place in zip(held, range(PEOPLE), strict=True):
        cells = [f"{m}" if has else "" for has, m in zip(row, MEANS, strict=True)]
        table.append(",".join([*cells, ("north", "south")[place % 2]]))
    people = folder / "people.csv"
    people.write_text("\n".join(table) + "\n", encoding="utf-8")
    found = []
    for number in (1, 2, 3):
        reports = folder / f"reports-{number}.parquet"
        keep = ["--keep", "city", "--seed", str(number)]
        assert main(["privatize", str(contract), str(people), "-o", str(reports), *keep]) == 0
        found.append((str(contract), str(reports)))
        if number < 3:
            following = folder / f"round-{number + 1}.json"
            assert main(["advance", str(contract), str(reports), "-o", str(following)]) == 0
            contract = following
    return found


def earlier(*pairs: tuple[str, str]) -> list[str]:
    return [word for pair in pairs for word in ("--earlier", "=".join(pair))]


def estimated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    capsys.readouterr()
    assert main(["estimate", *arguments, "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def by_key(told: dict[str, object]) -> dict[str, dict[str, float]]:
    rows = told["estimates"]
    assert isinstance(rows, list)
    return {row["value"]: row for row in rows}


def test_the_last_round_tells_the_documents_pair(
    rounds: list[tuple[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Frequencies of round 1 as round 1 has them, means of round 3 as round 3 has them."""
    how = ("--method", "calibration")
    first = by_key(estimated(capsys, *rounds[0], *how))
    alone = by_key(estimated(capsys, *rounds[2], *how))
    told = estimated(capsys, *rounds[2], *earlier(rounds[1], rounds[0]), *how)
    assert told["method"] == "calibration, means of round 3"
    for (key, row), share, mean in zip(by_key(told).items(), SHARES, MEANS, strict=True):
        assert row["frequency"] == first[key]["frequency"]
        assert row["mean"] == alone[key]["mean"]
        assert alone[key]["frequency"] is None
        assert (alone[key]["mean_low"], alone[key]["mean_high"]) == (0, 10)
        assert row["low"] <= share <= row["high"]
        assert row["mean_low"] <= mean <= row["mean_high"]
        assert row["mean_high"] - row["mean_low"] < 9
    assert main(["estimate", *rounds[2], *earlier(*rounds[:2])]) == 0
    text = capsys.readouterr().out
    assert "none" not in text
    assert "means of round 3" in text
    assert main(["estimate", *rounds[2]]) == 0
    assert "--earlier" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("place", [4, 6])
def test_three_rounds_through_files_have_the_published_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: int
) -> None:
    """Table 2, PrivKVM3 at epsilon 3 and 5: 100,000 people, within trial error."""
    table = published_tables("privkv-em")
    f, m = data_set("gaussian")
    keys = [f"key{number}" for number in range(f.size)]
    collection = COLLECTION.replace('["maps", "mail", "chat"]', json.dumps(keys))
    collection = collection.replace("low = 0\nhigh = 10", "low = -1\nhigh = 1")
    collection = collection.replace("epsilon = 6.0", f"epsilon = {table['epsilons'][place]}")
    random, errors = np.random.default_rng([49, place]), []
    for trial in range(4):
        held = random.random((100_000, f.size)) < f
        people = tmp_path / "people.parquet"
        columns = {
            key: pa.array(np.full(100_000, mean), mask=~has)
            for key, mean, has in zip(keys, m, held.T, strict=True)
        }
        pq.write_table(pa.table(columns), people)
        contract, rounds = tmp_path / "round-1.toml", []
        contract.write_text(collection, encoding="utf-8")
        for number in (1, 2, 3):
            reports = tmp_path / f"reports-{number}.parquet"
            seed = ["--seed", str(10 * trial + number)]
            assert main(["privatize", str(contract), str(people), "-o", str(reports), *seed]) == 0
            rounds.append((str(contract), str(reports)))
            if number < 3:
                following = tmp_path / f"round-{number + 1}.json"
                following.unlink(missing_ok=True)
                assert main(["advance", str(contract), str(reports), "-o", str(following)]) == 0
                contract = following
        how = ("--method", "calibration")
        told = by_key(estimated(capsys, *rounds[2], *earlier(*rounds[:2]), *how))
        found = np.array([told[key]["frequency"] for key in keys])
        errors.append(1e4 * float(np.mean((found - f) ** 2)))
        for _, reports_file in rounds:
            Path(reports_file).unlink()
    published = table["by_epsilon"]["gaussian"]["PrivKVM3"][place]
    # A mean of 50 squares has a spread of sqrt(2/50) of itself.
    error = published * math.sqrt(2 / f.size) * math.sqrt(1 / len(errors) + 1 / table["trials"])
    assert abs(np.mean(errors) - published) < 3 * error, (errors, published, error)


def test_rounds_meet_groups_days_and_summaries(
    rounds: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = earlier(*rounds[:2])
    whole = estimated(capsys, *rounds[2], *before)
    groups = estimated(capsys, *rounds[2], *before, "--by", "city")
    rows = groups["estimates"]
    assert isinstance(rows, list)
    assert [row["stratum"] for row in rows] == ["north"] * 3 + ["south"] * 3
    for row, share in zip(rows, (*SHARES, *SHARES), strict=True):
        assert row["low"] <= share <= row["high"]
    saved = []
    for number, (contract, reports) in enumerate(rounds):
        summary = str(tmp_path / f"{number}.summary")
        estimated(capsys, contract, reports, "--save-summary", summary)
        saved.append((contract, summary))
    again = estimated(capsys, *saved[2], *earlier(*saved[:2]))
    assert again["estimates"] == whole["estimates"]
    # Days are those of the last round: the rounds before it, on other days, count whole.
    days = estimated(capsys, *rounds[2], *before, "--from", "2020-01-01")
    assert days["estimates"] == whole["estimates"]
    result = analyse(rounds[2][0], rounds[2][1], earlier=rounds[:2]).estimates[None]
    assert isinstance(result, rumor.KeyValueEstimate)
    assert result.reports == 3 * PEOPLE


@pytest.mark.parametrize(
    ("chosen", "sentence"),
    [
        (lambda r: earlier(r[0]), "PrivKVM rounds must be given once each, in order from 1"),
        (lambda r: earlier(r[1]), "PrivKVM rounds must be given once each, in order from 1"),
        (lambda r: earlier(r[0], r[0]), "PrivKVM rounds must be given once each, in order from 1"),
        (lambda r: ["--earlier", r[0][0]], "an earlier round must be COLLECTION=REPORTS"),
        (
            lambda r: [*earlier(*r[:2]), "--weights", "w.csv"],
            "rounds are estimated without weights",
        ),
        (lambda r: [*earlier(*r[:2]), "--csv", r[0][1]], "--csv must not replace what is read"),
        (
            lambda r: [*earlier(*r[:2]), "-m", "mle", "--option", "eta=1"],
            'method "mle" has no further keys',
        ),
    ],
)
def test_rounds_that_do_not_fit_get_one_sentence(
    rounds: list[tuple[str, str]],
    chosen: object,
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert callable(chosen)
    assert main(["estimate", *rounds[2], *chosen(rounds)]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert "Traceback" not in error


def test_rounds_of_another_mechanism_are_refused(
    rounds: list[tuple[str, str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(COLLECTION.replace('{name = "privkvm", rounds = 3}', '"privkv"'))
    people = tmp_path / "people.csv"
    people.write_text("maps,mail,chat\n1,2,3\n,4,\n")
    reports = str(tmp_path / "other.parquet")
    assert main(["privatize", str(other), str(people), "-o", reports, "--seed", "1"]) == 0
    assert main(["estimate", str(other), reports, *earlier(rounds[0])]) == 2
    assert "only PrivKVM has rounds; got 'privkv'" in capsys.readouterr().err
