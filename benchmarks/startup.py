"""What it costs to begin: importing Rumor, and a client that sends one report.

Each figure is the best of several fresh interpreters, without the interpreter's own start, in
processor time as everywhere here.
A device must not wait for a compiler, so one report loads neither numba, scipy nor pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterable

from benchmarks.harness import Row, Scale, ceiling
from benchmarks.memory import run_script

_HEAVY = ("numba", "scipy", "pyarrow", "pandas", "altair")

_IMPORT = """
    import time
    start = time.process_time()
    import rumor
    print(time.process_time() - start)
"""

_REPORT = """
    import time
    start = time.process_time()
    import rumor
    rumor.UnaryEncoding(domain=100, epsilon=1.0).report(3)
    print(time.process_time() - start)
"""

_LOADED = """
    import sys, rumor
    rumor.UnaryEncoding(domain=100, epsilon=1.0).report(3)
    rumor.RandomizedResponse(domain=100, epsilon=1.0).report(3)
    print(*(name for name in {heavy!r} if name in sys.modules))
"""


def run(scale: Scale) -> Iterable[Row]:
    """Import time, time to a first report, and the heavy modules it loads."""
    turns = range(scale.pick(7, 3))
    bare = min(float(run_script(_IMPORT)) for _ in turns)
    yield ceiling("start", "import rumor", bare, "s", 0.3)
    first = min(float(run_script(_REPORT)) for _ in turns)
    yield ceiling("start", "import and one report", first, "s", 0.3)
    loaded = run_script(_LOADED.format(heavy=_HEAVY)).split()
    yield ceiling("start", f"heavy modules of one report: {loaded}", len(loaded), "modules", 1)
