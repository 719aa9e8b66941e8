"""The registry: a line for each mechanism is true, and loads what was asked for alone."""

from __future__ import annotations

import pytest

import rumor.mechanisms
from rumor.core.errors import InputError
from rumor.kinds import KINDS
from rumor.mechanisms import BY_NAME, REGISTRY, from_description
from rumor.mechanisms.registry import ENTRIES, ByName, RegistryEntry, mechanisms_of_kind
from tests.fresh import modules_after

EACH = [pytest.param(entry, id=entry.name) for entry in ENTRIES]
# What is composed of another mechanism loads that one as well.
COMPOSED = {"mixed": {"rumor.mechanisms.subset_selection"}}
FIRSTS = {entry.kind: entry for entry in reversed(ENTRIES)}


def loaded_after(program: str) -> set[str]:
    """The files of mechanisms that a fresh process has loaded after running a program."""
    return modules_after(program) & {f"rumor.mechanisms.{entry.module}" for entry in ENTRIES}


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    program = "from rumor.mechanisms import BY_NAME, from_description\n"
    assert loaded_after(f"{program}assert 'unary' in BY_NAME and 'x' not in BY_NAME") == set()
    assert loaded_after("from rumor.mechanisms import FrequencyOracle") == set()


@pytest.mark.slow
@pytest.mark.parametrize("entry", FIRSTS.values(), ids=FIRSTS)
def test_a_contract_loads_the_mechanism_that_it_names(entry: RegistryEntry) -> None:
    description = entry.load().examples()[0].describe()
    program = f"import rumor.mechanisms as m\nm.from_description({description!r})"
    own = {f"rumor.mechanisms.{entry.module}"} | COMPOSED.get(entry.name, set())
    assert loaded_after(program) == own
    everything = {f"rumor.mechanisms.{entry.module}" for entry in ENTRIES}
    assert loaded_after(f"{program}\nm.REGISTRY") == everything


@pytest.mark.parametrize("entry", EACH)
def test_a_line_says_what_the_class_says(entry: RegistryEntry) -> None:
    found = entry.load()
    assert found.name == entry.name
    assert found.__module__ == f"rumor.mechanisms.{entry.module}"
    assert getattr(rumor.mechanisms, entry.class_name) is BY_NAME[entry.name] is found


@pytest.mark.parametrize("entry", EACH)
def test_a_mechanism_answers_its_kind_and_those_that_extend_it(
    entry: RegistryEntry,
) -> None:
    mechanism = entry.load().examples()[0]
    takes = []
    for kind in KINDS.values():
        try:
            kind.restore(mechanism, dict.fromkeys(kind.contract_names))
        except InputError:
            continue
        takes.append(kind.lineage()[-1])
    assert set(takes) == {entry.kind}


def test_the_lists_follow_from_the_lines() -> None:
    assert tuple(BY_NAME.values()) == REGISTRY == tuple(entry.load() for entry in ENTRIES)
    assert list(BY_NAME) == [entry.name for entry in ENTRIES]
    assert len(set(BY_NAME)) == len(BY_NAME) == len(ENTRIES)
    assert {m for kind in FIRSTS for m in mechanisms_of_kind(kind)} == set(REGISTRY)
    assert {m.kind for m in mechanisms_of_kind("number")} == {"number"}
    assert {"REGISTRY", "Mechanism", *(m.__name__ for m in REGISTRY)} <= set(dir(rumor.mechanisms))
    with pytest.raises(AttributeError, match=r"module 'rumor.mechanisms' has no attribute 'None'"):
        getattr(rumor.mechanisms, "None")


def test_a_further_line_is_known_by_its_name() -> None:
    entry = RegistryEntry("further", "unary", "UnaryEncoding", "choice")
    assert ByName((*ENTRIES, entry))["further"] is rumor.mechanisms.UnaryEncoding
    assert entry.javascript == "mechanisms/further.js"
    with pytest.raises(KeyError):
        BY_NAME["further"]
    names = ", ".join(entry.name for entry in ENTRIES)
    with pytest.raises(InputError, match=f"^a mechanism must be one of {names}; got 'further'$"):
        from_description({"name": "further"})
