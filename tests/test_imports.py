"""A client stays light: what loads is what one person's report needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rumor
from rumor.core.extras import EXTRAS
from tests.fresh import modules_after

EXAMPLES = Path(__file__).parent.parent / "examples"
HEAVY = ("numba", "scipy", "pyarrow", "altair", "rich", "typer", "pandas", "polars")


def loaded_after(program: str) -> set[str]:
    """Which of the heavy packages a fresh process has loaded after running a program."""
    return modules_after(program) & set(HEAVY)


def test_importing_rumor_loads_nothing() -> None:
    program = "import rumor, sys\nassert 'numpy' not in sys.modules\nrumor.__version__"
    assert loaded_after(program) == set()


PROGRAMS = {
    "randomized response": "rumor.RandomizedResponse(domain=1000, epsilon=1.0).report(7)",
    "unary encoding": "rumor.UnaryEncoding(domain=1000, epsilon=1.0).report(7)",
    "subset selection": "rumor.SubsetSelection(domain=1000, epsilon=1.0).report(7)",
    "hadamard response": "rumor.HadamardResponse(domain=1000, epsilon=1.0).report(7)",
    "local hashing": "rumor.LocalHashing(domain=1000, epsilon=1.0).report(7)",
    "labels": "rumor.RandomizedResponse(domain=['a', 'b'], epsilon=1.0).report('b')",
    "a keyed report": (
        "rumor.UnaryEncoding(domain=9, epsilon=1.0).report(7, random=rumor.Keyed(bytes(32), 'x'))"
    ),
    "a small batch": "rumor.UnaryEncoding(domain=1000, epsilon=1.0).privatize([1, 2, 3])",
    "a collection": (
        f"rumor.Collection.load({str(EXAMPLES / 'browser.toml')!r})"
        ".question().mechanism.report('news')"
    ),
    "a contract": (
        f"c = rumor.Collection.load({str(EXAMPLES / 'browser.toml')!r})\n"
        "rumor.Collection.from_json(c.canonical()).question().mechanism.report('news')"
    ),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_client_that_sends_one_report_stays_light(program: str) -> None:
    assert loaded_after(f"import rumor\n{program}") == set()


# pandas is not among them: pyarrow loads it wherever it is installed.
COMMANDS = {
    "help": (["plan", "--help"], set()),
    "show": (["show", "browser.toml"], set()),
    "show in JSON": (["show", "survey.toml", "--json"], set()),
    "plan": (["plan", "--domain", "20", "--users", "1e4", "--epsilon", "1"], {"scipy"}),
    "simulate": (["simulate", "browser.toml", "homepages.csv", "-n", "50000"], {"pyarrow"}),
    "account": (["account", "browser.toml"], set()),
    "statement": (["statement", "browser.toml"], set()),
}


@pytest.mark.parametrize(("arguments", "needed"), COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_loads_what_it_uses(arguments: list[str], needed: set[str]) -> None:
    paths = [str(EXAMPLES / one) if one.endswith((".toml", ".csv")) else one for one in arguments]
    loaded = loaded_after(
        "import contextlib, io\nfrom rumor.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()):\n    assert main({paths!r}) in (None, 0)"
    )
    assert loaded - {"rich", "typer", "pandas"} == needed


# --- An install without the heavy packages ---------------------------------------------------

SMALL = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *a: None if name in {absent!r} else found(name, *a)
import rumor
from rumor.core.errors import InputError
"""
EXTRA = sorted({*HEAVY, *EXTRAS})

ON_A_DEVICE = {
    "a large batch": (
        "made = rumor.UnaryEncoding(domain=1000, epsilon=1.0).privatize([1, 2, 3] * 20_000)\n"
        "assert made.shape == (60_000, 125)"
    ),
    "a respondent": (
        "import tempfile\n"
        f"c = rumor.Collection.load({str(EXAMPLES / 'browser.toml')!r})\n"
        "with rumor.Respondent(tempfile.mkdtemp(), max_epsilon=4) as device:\n"
        "    assert len(device.prepare(c, {'homepage': 'news'})) == 1"
    ),
    "a client": "rumor.Client",
    "a summary": (
        "oracle = rumor.RandomizedResponse(domain=3, epsilon=1.0)\n"
        "one = rumor.Summary.empty(oracle).update(oracle.privatize([0, 1, 2]))\n"
        "assert rumor.merge([one, one]).reports == 6"
    ),
    "the default estimate": (
        "oracle = rumor.SubsetSelection(domain=9, epsilon=1.0)\n"
        "row = rumor.estimate(oracle, oracle.privatize([1] * 5000))[1]\n"
        "assert row.low <= row.frequency <= row.high and row.frequency > 0.8"
    ),
    "the promise": (
        "from rumor.privacy.promise import collection_promise\n"
        f"c = rumor.Collection.load({str(EXAMPLES / 'browser.toml')!r})\n"
        "assert collection_promise(c).most == 1"
    ),
}


@pytest.mark.parametrize("program", ON_A_DEVICE.values(), ids=ON_A_DEVICE.keys())
def test_a_small_install_does_what_a_device_needs(program: str) -> None:
    modules_after(SMALL.format(absent=EXTRA) + program)


FOUND = (
    "oracle = rumor.RandomizedResponse(domain=3, epsilon=1.0)\n"
    "found = rumor.estimate(oracle, oracle.privatize([1] * 100))\n"
)
LACKING = {
    "a chart": (
        FOUND + "found.plot('x.svg')",
        "a chart needs altair (pip install 'rumor[charts]')",
    ),
    "a table": (
        FOUND + "str(found)",
        "an interval of counts needs scipy (pip install 'rumor[analysis]')",
    ),
    "an arrow table": (
        FOUND + "found.to_arrow()",
        "an Arrow table needs pyarrow (pip install 'rumor[analysis]')",
    ),
    "a data frame": (
        FOUND + "found.to_pandas()",
        "a pandas DataFrame needs pandas (pip install pandas)",
    ),
    "reports in a file": (
        f"rumor.estimate({str(EXAMPLES / 'browser.toml')!r}, 'r.parquet')",
        "rumor.estimate needs pyarrow (pip install 'rumor[analysis]')",
    ),
}


@pytest.mark.parametrize(("program", "sentence"), LACKING.values(), ids=LACKING.keys())
def test_a_missing_part_says_what_to_install(program: str, sentence: str) -> None:
    body = "\n".join(f"    {line}" for line in program.split("\n"))
    caught = (
        f"try:\n{body}\nexcept InputError as problem:\n    said = str(problem)\n"
        f"assert said == {sentence + '; it is not installed'!r}, said"
    )
    modules_after(SMALL.format(absent=EXTRA) + caught)


@pytest.mark.parametrize(
    ("absent", "extra"), [("typer", "cli"), ("pyarrow", "analysis")], ids=["no typer", "no pyarrow"]
)
def test_commands_say_what_to_install(absent: str, extra: str) -> None:
    arguments = ["privatize", str(EXAMPLES / "browser.toml"), "people.csv", "-o", "r.parquet"]
    told = (
        "import io, contextlib\nfrom rumor.cli import main\nsaid = io.StringIO()\n"
        f"with contextlib.redirect_stderr(said):\n    status = main({arguments!r})\n"
        f'assert (status, said.getvalue()) == (2, "rumor: this command needs {absent} "\n'
        f"    \"(pip install 'rumor[{extra}]'); it is not installed\\n\"), said.getvalue()"
    )
    modules_after(SMALL.format(absent=[absent]) + told)


def test_every_package_of_an_extra_is_known_by_it() -> None:
    project = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text(encoding="utf-8"))
    names = {"vl-convert-python": "vl_convert"}
    extras = project["project"]["optional-dependencies"]
    for extra in ("analysis", "charts", "cli", "server", "web"):
        for line in extras[extra]:
            package = re.split(r"[\[>=;<]", line)[0].strip()
            if package != "rumor":
                told = EXTRAS[names.get(package, package)]
                assert told == extra or (extra, told) == ("web", "server")
    base = {re.split("[>=]", line)[0] for line in project["project"]["dependencies"]}
    assert base == {"numpy", "cryptography"}


def test_importing_rumor_takes_no_time_to_speak_of() -> None:
    # Time is noisy and modules are not: nothing but the package itself and importlib.
    done = subprocess.run(
        [
            sys.executable,
            *("-S", "-c"),
            f"import sys; sys.path.insert(0, {str(Path(rumor.__file__).parent.parent)!r}); "
            "import importlib; before = set(sys.modules); import rumor; "
            "print(sorted(set(sys.modules) - before))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() in ("['__future__', 'rumor']", "['rumor']")


def test_the_check_sees_what_is_loaded() -> None:
    assert loaded_after("import scipy") == {"scipy"}


def test_public_names_exist_and_others_do_not() -> None:
    for name in rumor.__all__:
        assert getattr(rumor, name) is not None
    assert set(dir(rumor)) >= set(rumor.__all__)
    with pytest.raises(AttributeError, match="module 'rumor' has no attribute 'Nothing'"):
        rumor.Nothing  # noqa: B018
