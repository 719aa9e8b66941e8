"""The matrix of joins: every kind, verb, history, way, client and place, wherever two of them meet.

`make test` runs cells in which every two values of different axes meet, `make soak` every cell.
What is added to a registry adds its cells; the tests at the end say what is left to write for it.
"""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import typer.main

from rumor.cli.app import app
from rumor.collector.http.limits import Limits
from rumor.collector.http.openapi import openapi
from rumor.kinds import KINDS, NAMES
from tests.joins.axes import (
    COMMANDS,
    NO_VERBS,
    PLACES,
    SLOW_PLACES,
    STORES,
    VERBS,
    Cell,
    World,
    cells,
)
from tests.joins.checking import ROUTES, check
from tests.joins.look import Look
from tests.joins.options import ELSEWHERE, IN_ROWS
from tests.joins.pairs import covering
from tests.joins.people import (
    ASKED,
    BESIDE,
    OTHERS,
    PEOPLE,
    SECRET,
    answers_of,
    contexts,
    contract_of,
    crowd_of,
)
from tests.joins.refusals import REFUSALS, sentences
from tests.joins.worlds import Worlds

# What making a world costs, in pairs: one with a collector takes as long as looking at several.
_FILES_COST, _STORE_COST = 1.0, 9.0


# What ties the functions that oracles are made of to plain estimates: looked at for every kind.
_ANCHORS = (Look("estimate", "weights"), Look("compare"))


def sample() -> list[Cell]:
    """Every pair among the cells that have an answer, and every pair that decides a refusal."""
    quick = [cell for cell in cells() if cell.world.place not in SLOW_PLACES]
    answered = [cell for cell in quick if not sentences(cell)]
    chosen = _covering(answered, [values_of(cell) for cell in answered], [])
    refused = [cell for cell in quick if sentences(cell)]
    chosen += _covering(refused, [_asked(cell) for cell in refused], chosen)
    anchors = [cell for cell in answered if cell.look in _ANCHORS and _is_anchored(cell.world)]
    return list(dict.fromkeys([*chosen, *anchors]))


def _is_anchored(world: World) -> bool:
    return (world.place, world.history) == ("memory", "plain")


def _covering(some: list[Cell], values: list[tuple[str, ...]], before: list[Cell]) -> list[Cell]:
    worlds = [cell.world for cell in some]
    costs = [_STORE_COST if world.place in STORES else _FILES_COST for world in worlds]
    places = covering(values, worlds, costs, {cell.world for cell in before})
    return [some[place] for place in places]


def _asked(cell: Cell) -> tuple[str, ...]:
    look, world = cell.look, cell.world
    return look.verb, look.form, look.span, look.trouble, world.kind, world.place


def values_of(cell: Cell) -> tuple[str, ...]:
    world = cell.world
    return (*_asked(cell), world.history, world.way, world.client)


SAMPLE = sorted(sample(), key=lambda cell: (cell.world, cell.look))


@pytest.mark.parametrize("cell", SAMPLE, ids=str)
def test_a_cell_of_the_sample(cell: Cell, worlds: Worlds, tmp_path: Path) -> None:
    check(cell, worlds, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "place"), list(itertools.product(NAMES, PLACES)))
def test_every_cell(kind: str, place: str, worlds: Worlds, tmp_path: Path) -> None:
    problems = []
    some = [cell for cell in cells() if (cell.world.kind, cell.world.place) == (kind, place)]
    for number, cell in enumerate(sorted(some, key=lambda one: one.world)):
        try:
            check(cell, worlds, tmp_path / str(number))
        except Exception as problem:
            problems.append(f"{cell}: {type(problem).__name__} {str(problem)[:300]}")
    worlds.forget()
    assert not problems, f"{len(problems)} of {len(some)} cells fail:\n" + "\n".join(problems[:40])


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("id", "people"), [(ASKED, PEOPLE), (BESIDE, OTHERS)])
def test_browsers_draw_the_reports_of_the_whole_crowd(
    kind: str, id: str, people: int, worlds: Worlds
) -> None:
    contract = contract_of(KINDS[kind]).canonical().decode()
    typed, _, _ = answers_of(kind, id, 1, people)
    worlds.browser.take("parse", contract=contract)
    drawn = worlds.browser.take(
        "draw",
        question=id,
        typed=typed,
        secret=SECRET.hex(),
        contexts=contexts(kind, id, 1, people),
    )
    assert drawn == [row.tobytes().hex() for row in crowd_of(kind, id, 1, people).reports]


# --- Nothing is left out -------------------------------------------------------------------


def test_every_pair_of_values_meets_in_the_sample() -> None:
    def pairs(some: list[Cell]) -> set[object]:
        return {
            pair for cell in some for pair in itertools.combinations(enumerate(values_of(cell)), 2)
        }

    quick = [cell for cell in cells() if cell.world.place not in SLOW_PLACES]
    answered = [cell for cell in quick if not sentences(cell)]
    assert pairs(answered) <= pairs([cell for cell in SAMPLE if not sentences(cell)])
    assert len(SAMPLE) < len(quick) / 20


def test_every_command_is_a_verb_or_said_not_to_be() -> None:
    assert set(NO_VERBS) <= set(COMMANDS), "a command that is gone"
    assert set(VERBS) == set(COMMANDS) - set(NO_VERBS)
    for verb in VERBS:
        assert any(cell.look.verb == verb and not sentences(cell) for cell in SAMPLE), verb


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_of_a_verb_is_in_the_matrix_or_said_not_to_be(verb: str) -> None:
    group = typer.main.get_command(app)
    command = group.commands[verb]  # type: ignore[attr-defined]
    names = {name for each in command.params for name in each.opts if name.startswith("--")}
    known = {*IN_ROWS.get(verb, ()), *ELSEWHERE.get(verb, ()), *ELSEWHERE["any"]}
    assert names <= known, f"rumor {verb}: say in tests/joins/options.py what to do with these"
    own = {*IN_ROWS.get(verb, ()), *ELSEWHERE.get(verb, ())}
    assert own <= names, f"rumor {verb} has these options no longer"


def test_every_route_of_an_analyst_is_asked() -> None:
    paths = set(openapi(Limits())["paths"])
    analysts = {path for path in paths if re.search(r"\{question\}", path)}
    asked = {f"/v1/{route.split('/')[0]}/{{question}}" for route in ROUTES.values()}
    # Whether reports look crafted is no verb: tests/collector/test_integrity_route.py.
    assert analysts - {"/v1/integrity/{question}"} == asked


def test_every_refusal_is_somebodys() -> None:
    known = {(cell.look, cell.world.place, cell.world.kind) for cell in cells()}
    for refusal in REFUSALS:
        assert any(refusal.covers(*asked) for asked in known), refusal


def test_groups_and_days_are_unequal_in_every_crowd() -> None:
    for kind in NAMES:
        for revision in (1, 2):
            crowd = crowd_of(kind, revision=revision)
            for codes in (crowd.days, crowd.groups):
                sizes = np.bincount(codes)
                assert len(set(sizes.tolist())) == len(sizes)
                assert sizes.min() >= 2
