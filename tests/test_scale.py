"""The benchmark of scale: its stages come to the right counts, and its limits bite."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from benchmarks import scale
from benchmarks.harness import Row, Scale

_STAGES = ["privatize", "store", "count", "estimate"]


def _cost(seconds: float, peak: float = 1e8) -> scale.Cost:
    return scale.Cost(seconds, 2 * seconds, peak, {"keystream": seconds / 10})


def _named(rows: list[Row], target: str) -> list[Row]:
    return [row for row in rows if row.target == target]


def test_people_go_from_a_table_to_estimates(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    command = [sys.executable, "-m", "benchmarks.scale", "--people", "1e5", "1e4", f"--out={out}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [Row(**row) for row in json.loads(out.read_text())]
    assert {row.benchmark for row in rows} == {"scale", *(f"scale, {name}" for name in _STAGES)}
    growths, peaks = _named(rows, "<= n^1.10"), _named(rows, "< 1000 MB")
    assert [row.benchmark for row in growths] == [f"scale, {name}" for name in _STAGES]
    assert {row.against for row in growths} == {"people = 10,000 to 100,000"}
    assert len(peaks) == 2 * len(_STAGES)
    # Python with numpy and pyarrow, and less than all reports with their ids as Python's objects.
    assert all(60 < row.figure < 400 for row in peaks)
    assert all(row.passed for row in (*growths, *peaks))


def test_files_and_store_hold_everybody(tmp_path: Path) -> None:
    scale._write_inputs(tmp_path, 3_000, parquet=True)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert sum(truth.values()) == 3_000
    assert truth["page-00"] > 2 * truth["page-19"] > 0
    costs = {stage: scale.run_stage_alone(stage, tmp_path) for stage in _STAGES}
    assert all(cost["seconds"] > 0 and cost["elapsed"] > 0 for cost in costs.values())
    assert rumor.Summary.load(tmp_path / "summary").reports == 3_000
    # One report that the store counts otherwise is found out.
    counted = rumor.Summary.load(tmp_path / "summary")
    tally = counted.tally + np.eye(20, dtype=np.int64)[0] - np.eye(20, dtype=np.int64)[1]
    dataclasses.replace(counted, tally=tally).save(tmp_path / "summary")
    with pytest.raises(scale.StageError, match="different counts"):
        scale.run_stage_alone("estimate", tmp_path)


@pytest.mark.parametrize(
    ("large", "passed"), [(10**1.1 * 0.999, True), (10**1.1 * 1.001, False), (1.0, True)]
)
def test_growth_between_the_two_largest_sizes_is_held(large: float, passed: bool) -> None:
    # The smallest size took longer than all others: it is not looked at.
    costs = {10**6: _cost(99.0), 10**8: _cost(2.0 * large), 10**7: _cost(2.0)}
    (row,) = _named(list(scale.stage_rows("count", costs)), "<= n^1.10")
    assert row.passed is passed
    assert row.against == "people = 10,000,000 to 100,000,000"


def test_one_size_has_no_growth() -> None:
    assert not _named(list(scale.stage_rows("count", {10**6: _cost(1.0)})), "<= n^1.10")


@pytest.mark.parametrize(("peak", "passed"), [(0.999e9, True), (1e9, False)])
def test_memory_is_held(peak: float, passed: bool) -> None:
    costs = {10**6: _cost(1.0), 10**7: _cost(10.0, peak)}
    rows = _named(list(scale.stage_rows("count", costs)), "< 1000 MB")
    assert [row.passed for row in rows] == [True, passed]


def test_the_nearest_limit_is_named() -> None:
    cost = dataclasses.replace(_cost(1.0), limits={"keystream": 0.1, "disk": 1.8})
    row = next(scale.stage_rows("store", {10**6: cost}))
    assert row.figure == pytest.approx(0.9)
    assert "keystream 0.05, disk 0.9, one processor 0.5" in row.other
    assert "one processor 0.5" in next(scale.stage_rows("store", {10**6: _cost(1.0)})).other


def test_a_stage_may_not_have_more_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = """
        from benchmarks import scale
        from pathlib import Path
        scale._STAGES["count"] = lambda place: {{"size": float(len(bytearray({size})))}}
        scale.run_stage({stage!r}, Path({place!r}))
    """
    monkeypatch.setattr(scale, "_SCRIPT", script.replace("{size}", "200_000_000"))
    assert scale.run_stage_alone("count", tmp_path)["size"] == 200_000_000
    monkeypatch.setattr(scale, "_SCRIPT", script.replace("{size}", "1_000_000_000"))
    with pytest.raises(scale.StageError, match="MemoryError"):
        scale.run_stage_alone("count", tmp_path)
    with pytest.raises(SystemExit) as ended:
        scale.main(["--people", "1000"])
    assert ended.value.code == 1
    assert "MemoryError" in capsys.readouterr().out


def _said(truth: Mapping[str, int], deviation: float) -> dict[str, Any]:
    people = sum(truth.values())
    rows = [
        {"value": value, "unbiased": count / people + deviation * 0.01, "stderr": 0.01}
        for value, count in truth.items()
    ]
    return {"reports": people, "estimates": rows}


def test_estimates_are_those_of_the_table() -> None:
    truth = {"a": 30, "b": 70}
    for deviation in (5.9, -5.9):
        scale.check_estimate(_said(truth, deviation), truth)
    for deviation in (6.1, -6.1):
        with pytest.raises(scale.StageError, match=r"^a: share 0\.3000; got "):
            scale.check_estimate(_said(truth, deviation), truth)
    with pytest.raises(scale.StageError, match="100 people must be estimated; got 99"):
        scale.check_estimate({**_said(truth, 0), "reports": 99}, truth)


@pytest.mark.parametrize("size", ["0", "1.5", "-1", "nan", "inf"])
def test_a_size_is_a_whole_number(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        scale.main([f"--people={size}"])
    assert ended.value.code == 2
    assert f"a size is a whole number from 1 on; got '{size}'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        (Scale(quick=True), [10**4, 10**5]),
        (Scale(), [10**5, 10**6]),
        (Scale(full=True), [10**6, 10**7, 10**8]),
    ],
)
def test_sizes(asked: Scale, sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def measure(people: list[int]) -> list[Row]:
        seen.append(people)
        return []

    monkeypatch.setattr(scale, "measure", measure)
    assert list(scale.run(asked)) == []
    assert seen == [sizes]
