"""The catalogue of planted bugs stays true: every text stands once, every test exists."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from tests.mutants.catalogue import ROOT, Mutant, catalogue, sources
from tests.mutants.planted import Outcome, enough, table

MUTANTS = catalogue()
TEXTS = sources(ROOT)


@pytest.mark.parametrize("area", sorted({mutant.area for mutant in MUTANTS}))
def test_planted_bugs_of_an_area_still_have_their_places(area: str) -> None:
    problems = []
    for mutant in MUTANTS:
        if mutant.area == area:
            try:
                _check_place(mutant)
            except (AssertionError, ValueError) as problem:
                problems.append(f"{mutant.name}: {problem}")
    assert not problems, "\n".join(problems)


def _check_place(mutant: Mutant) -> None:
    place = mutant.place(ROOT, TEXTS).as_posix()
    if place.startswith(("src/rumor/mechanisms/", "src/rumor/kinds/")):
        assert mutant.file, f'the next one may be written after its model: file = "{place}"'
    assert mutant.find != mutant.replace, "it changes nothing"
    assert mutant.tests or mutant.equivalent, "it names no test"
    for test in mutant.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists(), test
        for part in name.split("::") if name else ():
            function, _, case = part.partition("[")
            assert function in _text(path), test
            assert not case or case.find("]") == len(case) - 1, f"one case of a test: {test}"


@functools.cache
def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_a_text_that_is_gone_or_stands_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("x = 1\nx = 1\n")
    (tmp_path / "src" / "b.py").write_text("y = 1\n")
    with pytest.raises(ValueError, match="stands 2 times"):
        Mutant("area", "twice", "x = 1", "", ()).place(tmp_path)
    with pytest.raises(ValueError, match=r"stands 0 times \(nowhere\)"):
        Mutant("area", "gone", "z = 1", "", ()).place(tmp_path)
    assert Mutant("area", "once", "y = 1", "", ()).place(tmp_path) == Path("src/b.py")


def test_the_verdict_needs_enough_in_every_area() -> None:
    def outcomes(area: str, caught: int, survived: int) -> list[Outcome]:
        mutant = Mutant(area, "one", "a", "b", ("t",))
        return [Outcome(mutant, "caught", 1.0)] * caught + [Outcome(mutant, "survived")] * survived

    assert enough(outcomes("one", 19, 1))
    assert not enough(outcomes("one", 18, 2))  # 90 % overall
    assert enough(outcomes("one", 91, 1) + outcomes("two", 9, 1))
    assert not enough(outcomes("one", 192, 0) + outcomes("two", 8, 2))
    assert "survived: two: one" in table(outcomes("two", 8, 2))
