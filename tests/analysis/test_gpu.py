"""The engine of graphics cards beside the local one; without a card, what it says of that."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.analysis.counting import summarize
from rumor.analysis.engines.gpu import supports
from rumor.analysis.engines.gpu.device import GpuDevice
from rumor.analysis.engines.gpu.engine import GpuEngine
from rumor.analysis.engines.gpu.supports import pack_supports
from rumor.analysis.engines.kept import KeptReports
from rumor.analysis.engines.local import LocalEngine
from rumor.analysis.estimate import analyse, open_engine
from rumor.analysis.sources import MemorySource
from rumor.cli import main
from rumor.core.errors import InputError
from rumor.estimators.data import EstimationData
from rumor.kinds.estimating import estimate
from rumor.mechanisms import FrequencyOracle

EPSILON = 2.0
ORACLES: list[FrequencyOracle] = [
    rumor.UnaryEncoding(domain=100, epsilon=EPSILON),
    rumor.UnaryEncoding(domain=1000, epsilon=EPSILON, variant="symmetric"),
    rumor.UnaryEncoding(domain=2500, epsilon=4.0),
    rumor.SubsetSelection(domain=400, epsilon=1.0),
    rumor.SubsetSelection(domain=1000, epsilon=5.0),
    rumor.LocalHashing(domain=300, epsilon=EPSILON),
    rumor.RandomizedResponse(domain=50, epsilon=EPSILON),
    rumor.HadamardResponse(domain=200, epsilon=EPSILON),
]
PEOPLE = 20_000


@functools.cache
def card() -> GpuDevice:
    """The card of this machine; skipped with one line where there is none."""
    try:
        return GpuDevice()
    except InputError as problem:
        pytest.skip(f"no graphics card: {problem}")


def reports_of(oracle: FrequencyOracle) -> np.ndarray:
    law = 1 / np.arange(1, oracle.domain + 1)
    values = np.random.default_rng(1).choice(oracle.domain, PEOPLE, p=law / law.sum())
    return oracle.privatize(values, random=rumor.Seeded(1))


def found(engine: object, oracle: FrequencyOracle, method: str, **options: object) -> np.ndarray:
    source = MemorySource(reports_of(oracle))
    totals = summarize(source, oracle, engine=engine)  # type: ignore[arg-type]
    summary = totals.summaries[None]
    with KeptReports(engine, source, oracle) as kept:  # type: ignore[arg-type]
        material = EstimationData(summary, kept.passes(None, summary.reports))
        estimated: Any = estimate(oracle, material, method=method, **options)  # type: ignore[call-overload]
    return np.asarray(estimated.frequency)


# Both engines do the same steps; sums differ by rounding to 2^-33 of a weight on the card and
# by the order of additions here.
@pytest.mark.parametrize("oracle", ORACLES, ids=lambda o: f"{o.name}-{o.domain}")
@pytest.mark.parametrize(
    ("method", "options"), [("bayes", {}), ("em", {"max_iterations": 5}), ("auto", {})]
)
def test_the_numbers_are_those_of_the_local_engine(
    oracle: FrequencyOracle, method: str, options: dict[str, object]
) -> None:
    ours = found(GpuEngine(card()), oracle, method, **options)
    theirs = found(LocalEngine(2), oracle, method, **options)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6 * theirs.max())


def test_a_pass_repeats_to_the_last_bit() -> None:
    oracle = ORACLES[1]
    first, second = (found(GpuEngine(card()), oracle, "bayes") for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_what_exceeds_the_card_goes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    oracle = ORACLES[1]
    whole = found(GpuEngine(card()), oracle, "bayes")
    monkeypatch.setattr(supports, "_LEFT", card().free_bytes - PEOPLE * 64)  # room for half of them
    assert found(GpuEngine(card()), oracle, "bayes").tobytes() == whole.tobytes()


def test_strata_are_kept_apart(tmp_path: Path) -> None:
    engine = GpuEngine(card())
    contract = rumor.Collection.resolve(
        {
            "name": "Two",
            "series": "two",
            "contact": "me@example.org",
            "questions": [
                {"id": "a", "kind": "choice", "text": "?", "domain": 60, "epsilon": 2.0,
                 "mechanism": "unary"}
            ],
        }
    )  # fmt: skip
    table = {"a": [str(i % 60) for i in range(4000)], "country": ["x", "y"] * 2000}
    frame = tmp_path / "people.csv"
    frame.write_text(
        "a,country\n" + "\n".join(map(",".join, zip(*table.values(), strict=True))) + "\n"
    )
    contract.save(tmp_path / "c.json")
    reports = str(tmp_path / "r.parquet")
    names = [str(tmp_path / "c.json"), str(frame), "-o", reports]
    assert main(["privatize", *names, "--keep", "country", "--seed", "1"]) == 0
    ours = analyse(contract, reports, by="country", method="bayes", engine=engine)
    theirs = analyse(contract, reports, by="country", method="bayes")
    for stratum, other in theirs.estimates.items():
        np.testing.assert_allclose(
            ours.estimates[stratum].frequency, other.frequency, rtol=1e-6, atol=1e-8
        )


@pytest.mark.parametrize("oracle", ORACLES[:6], ids=lambda o: f"{o.name}-{o.domain}")
def test_rows_are_what_reports_support(oracle: FrequencyOracle) -> None:
    reports = reports_of(oracle)[:50]
    rows = pack_supports(oracle, reports)
    assert rows is not None
    bits = np.unpackbits(rows, axis=1, count=oracle.domain, bitorder="little")
    for value in range(0, oracle.domain, 7):
        one = np.zeros(oracle.domain)
        one[value] = 1.0
        assert oracle.forward(reports, one).tolist() == bits[:, value].tolist()


def test_what_has_no_rows_is_counted_here() -> None:
    oracle = ORACLES[-1]
    assert pack_supports(oracle, reports_of(oracle)[:5]) is None


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with (
        pytest.raises(InputError, match=r"the engine gpu needs .*pip install 'rumor\[gpu\]'"),
        open_engine("gpu"),
    ):
        pass


def test_large_odds_are_for_the_host() -> None:
    """Weights of 32 bits would show: the engine then does what the local one does, to the bit."""
    oracle = rumor.UnaryEncoding(domain=100, epsilon=10.0)
    ours, theirs = (found(e, oracle, "bayes") for e in (GpuEngine(card(), 2), LocalEngine(2)))
    assert ours.tobytes() == theirs.tobytes()


def test_a_master_is_for_spark() -> None:
    with (
        pytest.raises(InputError, match="a master is for the Spark engine; got 'moon' for gpu"),
        open_engine("gpu", "moon"),
    ):
        pass
