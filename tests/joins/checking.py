"""One cell: made, looked at, and held to its oracle or to its refusal."""

from __future__ import annotations

from pathlib import Path

import rumor
from rumor.analysis.estimate import ENGINES
from tests.joins import memory, oracles, refusals
from tests.joins.axes import BEFOREHAND, FILES, Cell
from tests.joins.commands import Commands, NoInvalidReport
from tests.joins.look import Look
from tests.joins.people import ASKED, WINDOW
from tests.joins.running import Refused
from tests.joins.same import assert_same
from tests.joins.sources import Sources
from tests.joins.worlds import Held, Worlds, grow

NO_CARD = "the engine gpu needs "


def check(cell: Cell, worlds: Worlds, folder: Path) -> None:
    """Hold a cell to what it must say; fails where it says anything else."""
    held = worlds[cell.world]
    folder.mkdir(exist_ok=True)
    try:
        if cell.world.place == "memory":
            whole = held.sources.whole
            memory.check(cell.look, whole.contract, whole.crowd)
        else:
            _check_commands(cell, held, folder)
            if held.has_collector:
                _check_routes(cell, held)
    except Refused as refusal:
        said = str(refusal)
        if cell.world.place == "gpu" and said.startswith(NO_CARD):
            return  # where there is a card, the cell is answered
        assert refusals.is_said(cell, said), f"{cell} is refused: {said}"
        return
    except NoInvalidReport:
        return
    assert not refusals.sentences(cell), f"{cell} is answered, and was to be refused"


def _check_commands(cell: Cell, held: Held, folder: Path) -> None:
    sources, looks = held.sources, [held.sources]
    if cell.world.history == "looks":
        looks = [sources] * (1 if cell.look.form == "methods" else 2)
        if sources.so_far:
            _check_first_look(cell, grow(sources, 0), folder)
            looks = [grow(sources, 1)]
    for look in looks:
        _check_once(cell, look, folder)


def _check_first_look(cell: Cell, sources: Sources, folder: Path) -> None:
    """Few reports may be too few: then the command says of them what Python says."""
    too_few = None
    try:
        oracles.expected(cell.look, sources)
    except rumor.InputError as problem:
        too_few = str(problem)
    try:
        _check_once(cell, sources, folder)
    except Refused as refusal:
        if str(refusal) != too_few:
            raise


def _engine(place: str) -> str:
    return dict(zip(FILES, ENGINES, strict=True)).get(place, "local")


def _check_once(cell: Cell, sources: Sources, folder: Path) -> None:
    commands = Commands(sources, folder, _engine(cell.world.place))
    if cell.look.verb in BEFOREHAND:
        _check_beforehand(cell, commands, sources)
        return
    look = cell.look
    if (look.verb, look.form) == ("estimate", "methods"):
        crowd = sources.whole.crowd
        crowd = crowd.within(WINDOW) if look.span == "window" else crowd
        for method in oracles.methods_of(crowd):
            found = commands.found(look, method)
            assert_same(found, oracles.by_group(crowd, sources.whole.column, method))
        return
    found = commands.found(look)
    assert_same(found, oracles.expected(look, sources))
    if look.verb == "estimate" and look.form != "weights" and look.span == "every":
        told = {"repeated": found.get("repeated"), "invalid": found["skipped"]}
        assert told.get(look.trouble, 0) == commands.left_out


def _check_beforehand(cell: Cell, commands: Commands, sources: Sources) -> None:
    """A plan and a dry run say numbers, of the kind and the people that were asked for."""
    crowd = sources.whole.crowd
    methods = oracles.methods_of(crowd) if cell.look.form == "methods" else ["auto"]
    for method in methods:
        found = commands.found(cell.look, method)
        if cell.look.verb == "simulate":
            assert (found["question"], found["reports"]) == (ASKED, 200)
            assert commands.found(cell.look, method) == found
        else:
            assert found["kind"] == cell.world.kind
            assert found["recommended"] in [option["mechanism"] for option in found["options"]]


ROUTES = {
    Look("estimate"): f"estimates/{ASKED}",
    Look("estimate", span="window"): f"estimates/{ASKED}?from={WINDOW[0]}&to={WINDOW[1]}",
    Look("compare", "periods"): "comparisons/{}?first={}&second={}".format(
        ASKED, *oracles.period_names()
    ),
    Look("trend"): f"trends/{ASKED}",
}
"""What a collector can be asked itself, by what is looked at."""


def _check_routes(cell: Cell, held: Held) -> None:
    """Ask the collector itself, where it has a route for the verb and the rows."""
    sources, route = held.sources, ROUTES.get(cell.look)
    if route is None:
        return
    expected = oracles.expected(cell.look, sources)
    found = held.asked(route)
    assert found["collection"] == sources.whole.contract.digest
    assert_same(found, expected)
    if sources.earlier is not None and cell.look.verb == "estimate":
        earlier = sources.earlier
        mark = "&" if "?" in route else "?"
        found = held.asked(f"{route}{mark}collection={earlier.contract.digest}")
        assert found["collection"] == earlier.contract.digest
        crowd = earlier.crowd.within(WINDOW) if cell.look.span == "window" else earlier.crowd
        assert_same(found, oracles.estimate_of(crowd))
