"""The loop of graphics cards on any machine: its own text, compiled for threads of a processor.

What a warp does together (products of bits, shuffles, barriers) is done by card_twin.h as the
manuals say; everything else, all indices above all, is the text that cards run.
"""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rumor.analysis.engines.gpu import device
from rumor.analysis.engines.gpu.device import (
    LOG_UNITS,
    WHOLE,
    integers,
    planes,
    slabs_of,
    words_of,
)
from tests.needs import needs

HERE = Path(__file__).parent
FUSED, FORWARD, ADJOINT = range(3)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    library = tmp_path_factory.mktemp("twin") / "twin.so"
    texts = Path(device.__file__).parent
    subprocess.run(
        [str(needs("c++")), "-std=c++17", "-O2", "-fPIC", "-shared", "-pthread", "-w",
         f"-I{HERE}", f"-I{texts}", str(HERE / "card_twin.cpp"), "-o", str(library)],
        check=True,
    )  # fmt: skip
    return ctypes.CDLL(str(library))


def rows_of(bits: NDArray[np.uint8], words: int) -> NDArray[np.uint32]:
    """Bits as rows of so many words, filled up with zeros."""
    out = np.zeros((len(bits), words * 4), dtype=np.uint8)
    packed = np.packbits(bits, axis=1, bitorder="little")
    out[:, : packed.shape[1]] = packed
    return out.view("<u4")


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def update(
    twin: ctypes.CDLL,
    bits: NDArray[np.uint8],
    h: NDArray[np.float64],
    c: float,
    power: int,
    blocks: int,
) -> tuple[NDArray[np.uint64], int, float]:
    """Totals and the sum of weights as integers, and the sum of logarithms."""
    words = words_of(h.size)
    slabs = slabs_of(words)
    rows = rows_of(bits, words)
    table, unit = planes(h, words)
    totals, sums = np.zeros(slabs * 1024, dtype=np.uint64), np.zeros(2, dtype=np.uint64)
    weights = np.zeros(len(bits), dtype=np.uint32)

    def launch(mode: int, across: int, down: int) -> None:
        twin.run(
            mode, across, down, device._SHARED, pointer(rows), ctypes.c_longlong(len(bits)), words,
            slabs, pointer(table), ctypes.c_double(unit), ctypes.c_double(c), power,
            pointer(weights), pointer(totals), pointer(sums),
        )  # fmt: skip

    if slabs == 1:
        launch(FUSED, blocks, 1)
    else:
        launch(FORWARD, blocks, 1)
        launch(ADJOINT, blocks, slabs)
    assert not totals[h.size :].any()
    return totals[: h.size], int(sums[0]), float(sums.view(np.int64)[1]) / LOG_UNITS


@pytest.mark.parametrize(
    ("values", "reports", "power", "blocks"),
    [
        (100, 700, 1, 1),  # one word of four, two tiles by one block
        (1000, 1100, 2, 2),  # a whole slab, three tiles by two blocks
        pytest.param(2500, 520, 1, 1, marks=pytest.mark.slow),  # three slabs, the last not full
        pytest.param(300, 3, 1, 2, marks=pytest.mark.slow),  # a block without a tile
    ],
)
def test_every_integer_is_the_one_that_plain_sums_give(
    twin: ctypes.CDLL, values: int, reports: int, power: int, blocks: int
) -> None:
    source = np.random.default_rng(values)
    bits = (source.random((reports, values)) < 0.3).astype(np.uint8)
    h, c = source.dirichlet(np.full(values, 0.3)), np.expm1(2.0)
    whole, unit = integers(h)
    d = 1 + c * ((bits @ whole).astype(np.float64) * unit)
    weights = np.rint(WHOLE / d**power).astype(np.uint64)
    totals, weight, logs = update(twin, bits, h, c, power, blocks)
    # A quotient may round the other way where it lies between two integers: by one each.
    assert abs(weight - int(weights.sum())) <= reports
    assert np.abs(totals.astype(np.int64) - (weights @ bits).astype(np.int64)).max() <= reports
    exact = 1 + c * (bits @ h)
    np.testing.assert_allclose(totals / WHOLE, (1 / exact**power) @ bits, rtol=1e-7)
    assert logs == pytest.approx(np.log(exact).sum(), rel=1e-7)


def test_every_bit_finds_its_place(twin: ctypes.CDLL) -> None:
    """A report for each value, of that value alone: its total is its own weight."""
    values = 1000
    bits = np.eye(values, dtype=np.uint8)
    h = np.arange(1, values + 1) / (values * (values + 1) / 2)
    totals, _, _ = update(twin, bits, h, 1e3, 1, 1)
    np.testing.assert_allclose(totals / WHOLE, 1 / (1 + 1e3 * h), rtol=1e-8)
    assert len(set(totals.tolist())) == values
