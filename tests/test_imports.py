"""A client stays light: what loads is what one person's report needs."""

from __future__ import annotations

from pathlib import Path

import pytest

import rumor
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


def test_the_check_sees_what_is_loaded() -> None:
    assert loaded_after("import scipy") == {"scipy"}


def test_public_names_exist_and_others_do_not() -> None:
    for name in rumor.__all__:
        assert getattr(rumor, name) is not None
    assert set(dir(rumor)) >= set(rumor.__all__)
    with pytest.raises(AttributeError, match="module 'rumor' has no attribute 'Nothing'"):
        rumor.Nothing  # noqa: B018
