"""The engine that draws bugs: operators, draws, the choice of tests, verdicts and rates."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import coverage
import pytest

from tests.mutants.catalogue import ROOT
from tests.mutants.drawn import (
    choosing,
    drawing,
    javascript_source,
    python_source,
    rates,
    recording,
    untouched,
    v8,
)
from tests.mutants.drawn.change import OPERATORS, Change, Scope, area_of
from tests.mutants.drawn.choosing import Chosen, choose
from tests.mutants.drawn.equivalents import Equivalent, equivalents
from tests.mutants.trees import Ending


def _python(source: str) -> dict[tuple[str, str], Change]:
    """Return the changes of a Python source by operator and changed line."""
    text = source.encode()
    found = python_source.changes("a.py", text)
    assert all(python_source.is_valid(text, one) for one in found)
    return {(one.operator, one.lines(text)[1]): one for one in found}


def _javascript(source: str) -> set[tuple[str, str]]:
    text = source.encode()
    found = javascript_source.changes("a.js", text)
    assert all(javascript_source.is_valid(text, one) for one in found)
    return {(one.operator, one.lines(text)[1]) for one in found}


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a == b", {("comparison", "a != b")}),
        ("a is not b", {("comparison", "a is b")}),
        ("a not in b", {("comparison", "a in b")}),
        ("a < b", {("comparison", "a >= b"), ("boundary", "a <= b")}),
        ("é = (a) >= (b)", {("comparison", "é = (a) < (b)"), ("boundary", "é = (a) > (b)")}),
        ("a * b", {("arithmetic", "a / b")}),
        ("a += b", {("arithmetic", "a -= b")}),
        ("a = -(b)", {("arithmetic", "a = (b)")}),
        ("a = min(b)", {("arithmetic", "a = max(b)")}),
        ("'a' + b", set()),
        ("a = 7", {("constant", "a = 8"), ("constant", "a = 6")}),
        ("a = 0.5", {("constant", "a = 1.0"), ("constant", "a = 0.25")}),
        ("a = True", {("boolean", "a = False")}),
        ("a and b or c", {("boolean", "a or b or c"), ("boolean", "a and b and c")}),
        ("not a", {("boolean", "a")}),
        ("if a: b", {("boolean", "if (not (a)): b")}),
        ("a(b)", {("removed call", "None")}),
        ("c = sorted(a)", {("removed call", "c = (a)")}),
        ("raise A('b')", {("removed raise", "pass")}),
        ("raise NotImplementedError", set()),
        ("c = f(a, b)", {("swapped arguments", "c = f(b, a)")}),
        ("c = isinstance(a, b)", set()),
        ("c = np.maximum(a, b)", set()),
        ("c = math.gcd(a, b)", set()),
        ("c = maximum(a, b, c)", {
            ("swapped arguments", "c = maximum(b, a, c)"),
            ("swapped arguments", "c = maximum(a, c, b)"),
        }),
        ("c = a['key']", {("string key", "c = a['key_']")}),
        ("c = {'key': a}", {("string key", "c = {'key_': a}")}),
        ("a == 'word'", {("comparison", "a != 'word'"), ("string key", "a == 'word_'")}),
        ("c = 'a text'", set()),
        ("c: Literal['a'] | None", set()),
        ("__all__ = ['a']", set()),
        ("if TYPE_CHECKING: a()", set()),
        ("c = zip(a, strict=True)", set()),
    ],
)  # fmt: skip
def test_what_the_operators_make_of_python(source: str, changed: set[tuple[str, str]]) -> None:
    assert set(_python(source)) == changed


def test_defaults_awaits_and_docstrings_of_functions() -> None:
    source = '''async def f(a: int = 3, *, b: str = "x", c: bool = True) -> None:
    """A text of 3 words."""
    await g
'''
    head = 'async def f(a: int = {}, *, b: str = "{}", c: bool = {}) -> None:'
    assert set(_python(source)) == {
        ("changed default", head.format(4, "x", True)),
        ("changed default", head.format(2, "x", True)),
        ("changed default", head.format(3, "x_", True)),
        ("changed default", head.format(3, "x", False)),
        ("removed await", "g"),
    }


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("a === b", {("comparison", "a !== b")}),
        ("a < b", {("comparison", "a >= b"), ("boundary", "a <= b")}),
        ("x = a - b", {("arithmetic", "x = a + b")}),
        ("x = `a` + b", set()),
        ("x += b", {("arithmetic", "x -= b")}),
        ("x = Math.max(a)", {("arithmetic", "x = Math.min(a)")}),
        ("x = 7n", {("constant", "x = 8n"), ("constant", "x = 6n")}),
        ("x = 0x10", {("constant", "x = 17"), ("constant", "x = 15")}),
        ("x = true", {("boolean", "x = false")}),
        ("x = a && b", {("boolean", "x = a || b")}),
        ("x = a ?? b", {("boolean", "x = a && b")}),
        ("x = !a", {("boolean", "x = a")}),
        ("x = a ? b : c", {("boolean", "x = !(a) ? b : c")}),
        ("f(a);", {("removed call", ";")}),
        ("await f(a);", {("removed call", ";"), ("removed await", "f(a);")}),
        ("x = a.sort()", {("removed call", "x = a")}),
        ("throw a;", {("removed raise", ";")}),
        ("x = f(a, b)", {("swapped arguments", "x = f(b, a)")}),
        ("x = Math.max(a, b)", {("arithmetic", "x = Math.min(a, b)")}),
        ("x = { key: a }", {("string key", "x = { key_: a }")}),
        ('x = a["key"]', {("string key", 'x = a["key_"]')}),
        ("x = (a = true) => a", {("changed default", "x = (a = false) => a")}),
        ("x = '语'; !a", {("boolean", "x = '语'; a")}),
    ],
)  # fmt: skip
def test_what_the_operators_make_of_javascript(source: str, changed: set[tuple[str, str]]) -> None:
    assert _javascript(source) == changed


def test_changes_of_the_sources_can_be_read_and_every_operator_has_some() -> None:
    found = Counter[str]()
    for file in drawing.files():
        text = (ROOT / file).read_bytes()
        language = python_source if file.endswith(".py") else javascript_source
        every = drawing.changes(file)
        found.update(one.operator for one in every)
        assert all(language.is_valid(text, one) for one in every[::400]), file
    assert set(found) == set(OPERATORS)


def test_a_draw_is_its_seeds_alone() -> None:
    areas = ["contract", "demo"]
    drawn = drawing.draw(40, "one", areas)
    assert drawn == drawing.draw(40, "one", areas) != drawing.draw(40, "two", areas)
    assert len({(one.file, one.line) for one in drawn}) == 40
    assert drawn[:20] == drawing.draw(20, "one", areas)
    assert {one.area for one in drawn} == set(areas)
    with pytest.raises(ValueError, match="an area must be one of"):
        drawing.draw(1, "one", ["nowhere"])


@pytest.mark.slow
def test_tables_of_words_are_never_drawn() -> None:
    for folder in drawing.TABLES:
        assert list((ROOT / folder).glob("*.js")), folder
    words = "src/rumor/client/js/view/words.js"  # which chooses a table, and is none
    names = drawing.files(["javascript"])
    assert words in names
    assert not [name for name in names if name.startswith(drawing.TABLES)]
    assert {one.file for one in drawing.draw(5000, "one", ["javascript"])} <= set(names)


def test_every_line_is_equally_likely_however_much_stands_in_it(tmp_path: Path) -> None:
    place = tmp_path / "src" / "rumor" / "core"
    place.mkdir(parents=True)
    (place / "a.py").write_text("A = (1, 2, 3, 4, 5, 6, 7, 8, 9) + B\nB = 1\n")
    (place / "b.py").write_text("C = 5 * D\n")
    seen = Counter(
        (one.file[-4:], one.line, one.operator)
        for seed in range(600)
        for one in drawing.draw(1, str(seed), root=tmp_path)
    )
    # Three lines, then the operators of each: 200 and 100 of 600, within four deviations.
    assert abs(seen["a.py", 2, "constant"] - 200) < 4 * (600 * 2 / 9) ** 0.5
    for key in [(f, 1, o) for f in ("a.py", "b.py") for o in ("constant", "arithmetic")]:
        assert abs(seen[key] - 100) < 4 * (600 * 5 / 36) ** 0.5


def test_areas() -> None:
    assert area_of("src/rumor/core/loops/plain/a.py") == "core"
    assert area_of("src/rumor/collector/http/app.py") == "collector"
    assert area_of("src/rumor/collector/store/base.py") == "collector/store"
    assert area_of("src/rumor/client/js/view/dom.js") == "javascript"
    assert area_of("src/rumor/__init__.py") == "top"


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    # 1 - 0.025^(1/10), and the table of Clopper and Pearson (1934) for 5 of 10.
    assert rates.interval(0, 10) == pytest.approx((0.0, 1 - 0.025**0.1))
    assert rates.interval(10, 10) == pytest.approx((0.025**0.1, 1.0))
    assert rates.interval(5, 10) == pytest.approx((0.1871, 0.8129), abs=1e-4)


def _outcomes(file: str, **verdicts: int) -> list[rates.Outcome]:
    change = Change(f"src/rumor/{file}", "constant", 0, 1, "2", 7, Scope((7, 7)))
    return [
        rates.Outcome(change, "a = 1", "a = 2", verdict)
        for verdict, count in verdicts.items()
        for _ in range(count)
    ]


def test_rates_leave_out_equivalents_and_count_what_hung() -> None:
    found = _outcomes("core/a.py", caught=6, hung=1, survived=2, untouched=1, equivalent=2)
    core, total = [line.split() for line in rates.table(found).splitlines()[1:]]
    assert core[:8] == ["core", "12", "2", "7", "1", "3", "1", "70.0%"]
    assert total[0] == "all"
    assert total[-1] == "85%"
    assert rates.survivors(found).count("src/rumor/core/a.py:7") == 3
    assert rates.by_operator(found).split() == ["constant", "7", "of", "10", "70.0%"]


def test_targets_are_missed_overall_by_the_rate_and_in_an_area_by_the_interval() -> None:
    assert rates.shortfalls(_outcomes("core/a.py", caught=85, survived=15)) == []
    [missed] = rates.shortfalls(_outcomes("core/a.py", caught=84, survived=16))
    assert missed == "caught 84.0% of all; the target is 85%"
    [many] = rates.shortfalls(_outcomes("core/a.py", caught=91, equivalent=9))
    assert many == "9.0% are judged equivalent; at most 8% may be"
    core = _outcomes("core/a.py", caught=200)
    assert rates.shortfalls([*core, *_outcomes("privacy/a.py", caught=9, survived=2)]) == []
    [low] = rates.shortfalls([*core, *_outcomes("privacy/a.py", caught=40, survived=12)])
    assert low == "caught 76.9% in privacy, surely below the target of 92%"


@pytest.mark.parametrize("judged", equivalents(), ids=lambda one: f"{one.file}: {one.changed}")
def test_a_judgement_still_has_its_change(judged: Equivalent) -> None:
    source = (ROOT / judged.file).read_bytes()
    assert any(judged.covers(change, source) for change in drawing.changes(judged.file))
    assert len(judged.why) > 10


def test_a_judgement_is_of_one_change_or_of_operators() -> None:
    with pytest.raises(ValueError, match="must have `changed` or `operators`"):
        Equivalent("a.py", "a = 1", "because")
    with pytest.raises(ValueError, match="unknown operators"):
        Equivalent("a.py", "a = 1", "because", operators=("magic",))
    one, two = (change for change in python_source.changes("a.py", b"a = 1\n"))
    assert Equivalent("a.py", "a = 1", "because", changed="a = 2").covers(one, b"a = 1\n") != (
        Equivalent("a.py", "a = 1", "because", changed="a = 2").covers(two, b"a = 1\n")
    )
    judged = Equivalent("a.py", "a = 1", "because", operators=("constant",))
    assert judged.covers(one, b"a = 1\n")
    assert not judged.covers(one, b"b = 1\n")
    twice = b"def f():\n    a = 1\n" + b"\n" * 9 + b"def g():\n    a = 1\n"
    judged = Equivalent("a.py", "a = 1", "because", operators=("constant",), near="def g():")
    covered = [x.line for x in python_source.changes("a.py", twice) if judged.covers(x, twice)]
    assert covered == [13, 13]


def test_names_of_failures_may_hold_what_follows_them() -> None:
    tests = ["t.py::a[x - y]", "t.py::a[x", "t.py::b"]
    said = "FAILED t.py::a[x - y] - assert 1 == 2\nERROR t.py::b\nFAILED t.py::c - no\n"
    assert Ending(1, said).failed(tests) == ["t.py::a[x - y]", "t.py::b"]
    assert Ending(1, said).first_failure.startswith("FAILED t.py::a[x - y]")


def test_quick_tests_are_run_before_the_others_are_loaded() -> None:
    chosen = Chosen(tuple("abcde"), 9, 30.0, 12.0, touch=True, quick=2, quick_seconds=5.0)
    first, second = chosen.rounds()
    assert (first.tests, first.seconds) == (("a", "b"), 5.0)
    assert (second.tests, second.seconds) == (("c", "d", "e"), 25.0)
    for one in (first, replace(chosen, quick=0), replace(chosen, quick=5)):
        assert one.rounds() == [one]


@pytest.mark.parametrize(
    ("file", "operator", "table"),
    [
        ("src/rumor/core/a.py", "changed default", "tests/test_defaults.py"),
        ("src/rumor/core/a.py", "boolean", "tests/results/test_shown.py"),
        ("src/rumor/core/loops/compiled/a.py", "constant", "tests/core/test_loops.py"),
    ],
)
def test_what_runs_no_line_of_a_change_but_holds_it_is_tried_too(
    file: str, operator: str, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Defaults are read off signatures, fields off classes, and compiled loops leave no trace."""
    layer = tmp_path / "layer-000"
    for root in (tmp_path, layer / "sources"):
        (root / file).parent.mkdir(parents=True)
        (root / file).write_text("def f(a=1):\n    return a\n")
    (tmp_path / table).parent.mkdir(parents=True)
    names = ["tests/test_a.py::test_it", f"{table}::test_them", "tests/test_b.py::b"]
    for name in names:
        (tmp_path / name.partition("::")[0]).write_text("")
    tests = [{"name": name, "seconds": 0.1} for name in names]
    files = {name.partition("::")[0]: "0" for name in names}
    about = {"root": "/elsewhere", "files": files, "tests": tests}
    (layer / "about.json").write_text(json.dumps(about))
    data = coverage.CoverageData(str(layer / "lines"))
    data.set_context(names[0])
    data.add_lines({f"/elsewhere/{file}": [2]})
    data.write()
    for module in (recording, choosing):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    kept = recording.Recording([recording.Layer(layer)])
    scope = Scope(statement=(1, 1), at_import=True, names=("f",), body=(2, 2))
    change = Change(file, operator, 8, 9, "2", 1, scope)
    assert sorted(choose(kept, change, 45.0).tests) == sorted(names[:2])
    if operator != "constant":
        inside = Scope(statement=(2, 2), at_import=False, names=("f",), body=None)
        other = replace(change, operator="constant", line=2, scope=inside)
        assert choose(kept, other, 45.0).tests == (names[0],)


def test_a_case_that_is_gone_is_no_failure() -> None:
    gone = "ERROR: not found: /tmp/0/tests/t.py::a\n(no match in any of [<Module t.py>])\n"
    assert Ending(4, gone).lacks_tests
    assert not Ending(4, gone + "ERROR tests/t.py - NameError: b\n").lacks_tests
    assert not Ending(4, "ERROR: found no collectors for /tmp/0/tests/t.py::a\n").lacks_tests
    assert not Ending(1, "FAILED tests/t.py::a\n").lacks_tests


def test_lines_of_javascript_are_those_of_the_innermost_range() -> None:
    text = "const f = () => {\n  a();\n  if (b) {\n    c();\n  }\n};\nf();\n"
    whole, inner = (0, len(text)), (text.index("{\n    c"), text.index("}\n}") + 1)
    functions = [
        {"ranges": [{"startOffset": whole[0], "endOffset": whole[1], "count": 1}]},
        {
            "ranges": [
                {"startOffset": 10, "endOffset": text.index("};") + 1, "count": 1},
                {"startOffset": inner[0], "endOffset": inner[1], "count": 0},
            ]
        },
    ]
    assert v8.lines_of_script(text, functions) == {1, 2, 3, 6, 7}


def test_scripts_are_found_however_they_were_served() -> None:
    sources = ROOT / "src" / "rumor"
    joint = sources / "client" / "js" / "mechanisms" / "rappor.js"
    assert v8.source_of(joint.as_uri(), sources) == joint
    assert v8.source_of("http://127.0.0.1:8/client/mechanisms/rappor.js?v=3", sources) == joint
    view = v8.source_of("file:///tmp/copy/client/js/view/words.js", sources)
    assert view == sources / "client" / "js" / "view" / "words.js"
    assert v8.source_of("file:///tmp/copy/client/js/kinds/words.js", sources) == (
        sources / "client" / "js" / "kinds" / "words.js"
    )
    assert v8.source_of("node:fs", sources) is None


UNTOUCHED = '''"""A module."""

MADE = max(1, 2)


def half(number: int) -> int:
    """Halve."""
    found: int
    if number < 0:
        raise ValueError(
            number
        )
    for _ in range(number):
        try:
            found = 1
        except ValueError:
            found = 2
        else:
            number += 1
    if number:
        def inner():
            return 1
        return inner()
    while True:
        break


async def never():
    await MADE
    return 2
'''
RAN = {
    "": [1, 3, 6],
    "tests/a.py::test_one": [9, 13, 14, 15],
    "tests/a.py": [20, 21],
}


def test_statements_that_no_test_runs_are_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "src/rumor/core/a.py"
    layer = tmp_path / "layer-000"
    for root in (tmp_path, layer / "sources"):
        (root / file).parent.mkdir(parents=True)
    (layer / "sources" / file).write_text(UNTOUCHED)
    (tmp_path / file).write_text(f"# What stands above moved on.\n{UNTOUCHED}")
    about = {"root": "/elsewhere", "files": {"tests/a.py": "0"}, "tests": []}
    (layer / "about.json").write_text(json.dumps(about))
    data = coverage.CoverageData(str(layer / "lines"))
    for context, lines in RAN.items():
        data.set_context(context)
        data.add_lines({f"/elsewhere/{file}": lines})
    data.write()
    monkeypatch.setattr(recording, "ROOT", tmp_path)
    kept = recording.Recording([recording.Layer(layer)])
    found = untouched.untouched(kept, [file, "src/rumor/unknown.py", "src/rumor/a.js"], tmp_path)
    assert [(one.line, one.text) for one in found] == [
        (11, "raise ValueError(number)"),
        (18, "found = 2"),
        (20, "number += 1"),
        (23, "return 1"),
        (24, "return inner()"),
        (25, "while True:"),
        (30, "await MADE"),
        (31, "return 2"),
    ]
    assert untouched.told(found).endswith("\n8 statements that no test runs\n8 in core")


def test_every_test_has_a_limit(request: pytest.FixtureRequest) -> None:
    assert 0 < float(request.config.getini("timeout")) <= 600
    for item in request.session.items:
        limit = item.get_closest_marker("timeout")
        if item.get_closest_marker("slow"):
            assert limit is not None, item.nodeid
            assert 0 < limit.args[0] <= 3600, item.nodeid


DEAF = """import signal, time, pytest

@pytest.mark.timeout(1)
def test_deaf():
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
    time.sleep(60)

@pytest.mark.timeout(1)
def test_sleepy():
    time.sleep(60)
"""


@pytest.mark.slow
def test_a_test_that_heeds_no_signal_ends_too(tmp_path: Path) -> None:
    conftest = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
    (tmp_path / "conftest.py").write_text(
        conftest.replace("LAST_RESORT_S = 60", "LAST_RESORT_S = 1"), encoding="utf-8"
    )
    (tmp_path / "test_hanging.py").write_text(DEAF)
    markers = 'markers = ["slow: a", "one_store: b"]'
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\ntimeout = 9\n{markers}\n")
    for name, said in (("sleepy", "from pytest-timeout"), ("deaf", "Timeout (0:00:02)!")):
        command = [sys.executable, "-m", "pytest", "-q", "-k", name, "-p", "no:cacheprovider"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 1
        assert said in done.stdout + done.stderr


SOURCE = '''"""A small program."""

LIMIT = 3
CASES = (0, 8)


def is_few(count: int) -> bool:
    return count < LIMIT


def down(count: int) -> int:
    while count > 0:
        count -= 1
    return count


def unseen(count: int) -> int:
    return count * 2
'''
TESTS = """import pytest
from rumor.core.a import CASES, down, is_few


class Remote:  # answers to every name, as an object of a Java process does; it is no cache
    def __getattr__(self, name):
        def fail():
            raise RuntimeError(f"{name} was called")

        return fail


REMOTE = Remote()


@pytest.fixture(scope="module")
def ending():
    return down(5)


def test_few():
    assert is_few(1) and not is_few(5)


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    assert is_few(case) == (case < 4)


def test_ending_is_an_integer(ending):
    assert isinstance(ending, int)


def test_ending_is_zero(ending):
    assert ending == 0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project that has the engine, a source and its tests."""
    shutil.copytree(ROOT / "tests" / "mutants", tmp_path / "tests" / "mutants")
    (tmp_path / "tests" / "__init__.py").touch()
    (tmp_path / "src" / "rumor" / "core").mkdir(parents=True)
    (tmp_path / "src" / "rumor" / "__init__.py").touch()
    (tmp_path / "src" / "rumor" / "core" / "__init__.py").touch()
    (tmp_path / "src" / "rumor" / "core" / "a.py").write_text(SOURCE)
    (tmp_path / "tests" / "core").mkdir()
    (tmp_path / "tests" / "core" / "test_loops.py").write_text("def test_nothing():\n    pass\n")
    (tmp_path / "tests" / "core" / "test_a.py").write_text(TESTS)
    options = 'pythonpath = ["."]\naddopts = ["--import-mode=importlib", "-ra"]\n'
    (tmp_path / "pyproject.toml").write_text(f"[tool.pytest.ini_options]\n{options}")
    (tmp_path / ".gitignore").write_text("build/\n__pycache__/\n")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        name = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *name, *command], cwd=tmp_path, check=True)
    return tmp_path


def _drawn(project: Path, *arguments: str) -> tuple[dict[tuple[str, str], str], str]:
    """Return the verdicts of a draw in a project by its two lines, and what it printed."""
    command = [sys.executable, "-m", "tests.mutants", "--seed", "171", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        command, cwd=project, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    newest = max((project / "build/mutants/results").iterdir(), key=lambda p: p.stat().st_mtime)
    outcomes = json.loads(newest.read_text())["outcomes"]
    return {(one["before"], one["after"]): one["verdict"] for one in outcomes}, done.stdout


@pytest.mark.slow
def test_a_whole_draw_tells_caught_hung_survived_and_untouched(project: Path) -> None:
    found, said = _drawn(project, "--count", "50", "--grace", "4", "--workers", "2")
    assert found == {
        ("LIMIT = 3", "LIMIT = 4"): "survived",  # the tests of its user ask 1 and 5
        ("CASES = (0, 8)", "CASES = (0, 9)"): "untouched",  # a case is gone; that is no failure
        ("return count < LIMIT", "return count >= LIMIT"): "caught",
        # What a fixture does is the whole file's: the second of its tests sees it.
        ("while count > 0:", "while count >= 0:"): "caught",
        ("count -= 1", "count += 1"): "hung",
        ("return count * 2", "return count * 1"): "untouched",
    }
    assert "recorded 6 tests" in said
    assert "src/rumor/core/a.py:18 (constant; no test touches it)" in said
    assert re.search(r"^core +6 +0 +3 +1 +3 +2 +50.0% ", said, re.MULTILINE)

    # With no time for more than one test of a bug, the others are run for those that survive it.
    short, _ = _drawn(project, "--count", "50", "--grace", "4", "--seconds", "0")
    assert short == found

    # An edge is tested: the survivors are tried again, and the file of tests is recorded again.
    tests = project / "tests" / "core" / "test_a.py"
    tests.write_text(TESTS + "\n\ndef test_edge():\n    assert is_few(2) and not is_few(3)\n")
    results = project / "build" / "mutants" / "results" / "171-6.json"
    again, said = _drawn(project, "--again", str(results), "--grace", "4", "--workers", "1")
    assert "recording what 1 files of tests touch" in said
    assert again == {
        ("LIMIT = 3", "LIMIT = 4"): "caught",
        ("CASES = (0, 8)", "CASES = (0, 9)"): "untouched",
        ("return count * 2", "return count * 1"): "untouched",
    }
