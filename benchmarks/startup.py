"""What it costs to begin: importing Rumor, and a client that sends one report.

Each figure is the best of several fresh interpreters, without the interpreter's own start, in
processor time as everywhere here.
A device must not wait for a compiler, so one report loads neither numba, scipy nor pyarrow.
A command is held against its limit, the parser of commands and numpy, which nobody can leave out.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

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

# pydantic is what the parser loads as soon as a command has an argument.
_LIMIT = """
    import time
    start = time.process_time()
    import numpy, typer
    from pydantic import TypeAdapter
    print(time.process_time() - start)
"""

_COMMAND = """
    import contextlib, io, time
    start = time.process_time()
    from rumor.cli import main
    with contextlib.redirect_stdout(io.StringIO()):
        main({arguments!r})
    print(time.process_time() - start)
"""

_COLLECTION = """\
name = "Startup"
contact = "nobody@example.org"

[[questions]]
id = "page"
domain = ["a", "b", "c", "d"]
epsilon = 1
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
    yield from _commands(turns)


def _commands(turns: Iterable[int]) -> Iterable[Row]:
    """Processor time of three commands, over that of what they cannot do without.

    A plan loads scipy too, for the power of a count: three times the limit.
    """
    turns = list(turns)
    limit = min(float(run_script(_LIMIT)) for _ in turns)
    with tempfile.TemporaryDirectory() as folder:
        asked, held = f"{folder}/collection.toml", f"{folder}/held.csv"
        Path(asked).write_text(_COLLECTION)
        Path(held).write_text("value,count\na,4000\nb,3000\nc,2000\nd,1000\n")
        plan = ["plan", "--domain", "100", "--users", "1e5", "--epsilon", "1"]
        commands = {3.0: ["show", asked], 7.0: plan, 4.0: ["simulate", asked, held]}
        for most, arguments in commands.items():
            script = _COMMAND.format(arguments=arguments)
            seconds = min(float(run_script(script)) for _ in turns)
            what = f"rumor {arguments[0]} over parser and numpy ({limit:.2f} s)"
            yield ceiling("start", what, seconds / limit, "times", most)
