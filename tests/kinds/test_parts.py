"""The parts of a kind: files of its folder, each loaded when it is asked for."""

from __future__ import annotations

import pytest

from rumor.kinds import KINDS, NAMES
from tests.fresh import modules_after

PARTS = ("read", "estimate", "simulate", "plan")


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_alone_loads_none_of_its_parts(name: str) -> None:
    after = modules_after(f"from rumor.kinds import KINDS\nKINDS[{name!r}].example()")
    assert not after & {f"rumor.kinds.{name}.{part}" for part in PARTS}


def test_a_kind_that_extends_another_has_the_parts_that_its_folder_lacks() -> None:
    # A folder that is there, with a plan.py and no estimate.py.
    class Extending(type(KINDS["choice"])):  # type: ignore[misc]
        name = "planning"

    assert Extending.lineage() == ("planning", "choice")
    assert Extending().methods() == KINDS["choice"].methods()
    assert Extending().mechanisms() == KINDS["choice"].mechanisms()
    assert Extending()._part("plan").__name__ == "rumor.kinds.planning.plan"
