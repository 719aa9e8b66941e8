"""Rumor's speed beside its peers, plain numpy and what the machine can do at most.

`make bench` (or `python -m benchmarks`) prints ratios and writes them as JSON. Nothing here
is a test: a shared machine's clock proves nothing, so contenders take turns within one run
and only their ratios count.
"""

import os

# One thread for everybody, said before numpy and its libraries load.
for _variable in (
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
):
    os.environ[_variable] = "1"
