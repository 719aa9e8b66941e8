"""A blind token is of the collector's series that it was fetched for, in either language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from rumor.client.respondent import Respondent
from rumor.client.transport import Transport
from rumor.collector.store.base import open_store
from rumor.contract.admission import new_invitation
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.client.test_scopes import HERE, THERE, older, revised
from tests.issuers import invite, issuing
from tests.javascript import parsed, refusals, steps

NONE_LEFT = "is for invited people"


@dataclass(frozen=True)
class Step:
    """An answer, or an enrolment alone, with a contract that was met at an address."""

    contract: Collection
    collector: str
    question: str | None = None
    invitation: str | None = None


Life = Callable[[Path, Sequence[Step], bool], list[str | None]]


def enrol(device: Respondent, step: Step) -> None:
    assert step.invitation is not None
    assert step.contract.issuer is not None
    shown, wanted = device.enrolment(step.contract, step.invitation)
    asked = [(each.key, each.number, each.blinded) for each in wanted]
    answers = Transport(step.contract.issuer.url).tokens(shown, asked) if asked else []
    device.enrol(step.contract, shown, wanted, answers)


def python_life(folder: Path, given: Sequence[Step], aged: bool = False) -> list[str | None]:
    """Why each step was refused, with the client in Python; `aged`: the first was by version 7."""
    said: list[str | None] = []
    for step in given:
        with Respondent(folder, collector=step.collector) as device:
            try:
                if step.invitation is not None:
                    enrol(device, step)
                if step.question is not None:
                    device.prepare(step.contract, answer(step.question))
                said.append(None)
            except InputError as problem:
                said.append(str(problem))
        if aged and len(said) == 1:
            older(folder)
    return said


def javascript_life(folder: Path, given: Sequence[Step], aged: bool = False) -> list[str | None]:
    """The same with the client for browsers, in Node."""
    if not aged:
        return refusals(steps(*(one for step in given for one in browser(step)))[2::3])
    *begun, kept = steps(*browser(given[0]), {"step": "state"})
    for row in (*kept["tokens"], *kept["pins"]):
        for name in ("scope", "collector", "contact"):
            row.pop(name, None)
    kept.pop("answered", None)
    todo = [one for step in given[1:] for one in browser(step)]
    todo[1]["state"] = kept
    return refusals([begun[2], *steps(*todo)[2::3]])


def browser(step: Step) -> list[dict[str, object]]:
    """What a page does in a step."""
    more = {} if step.invitation is None else {"invitation": step.invitation}
    act: dict[str, object] = {"step": "enrol", **more}
    if step.question is not None:
        act = {"step": "prepare", "answers": answer(step.question), **more}
    return [parsed(step.contract, collector=step.collector), {"step": "open"}, act]


def answer(question: str) -> dict[str, object]:
    return {question: {"colour": "red", "home": "news"}[question]}


LIVES = [python_life, javascript_life]


@dataclass(frozen=True)
class Honest:
    """A contract whose issuer works."""

    contract: Collection
    invited: Callable[[], str]
    """Gives a new invitation."""


@pytest.fixture
def honest(tmp_path: Path) -> Iterator[Honest]:
    store = open_store(f"sqlite:///{tmp_path / 'issuer.db'}")
    with issuing(store) as contract:
        assert contract.issuer is not None
        url = contract.issuer.url
        yield Honest(contract, lambda: invite(store, new_invitation(bound=True), url=url)[0])
    store.close()


def strangers(honest: Collection) -> list[Step]:
    """Contracts of others, with the public keys and the address of the honest issuer."""
    namesake = replace(honest, name="A quiz", contact="me@bad")
    return [
        Step(namesake, THERE, "home"),
        Step(namesake, HERE, "home"),
        Step(replace(honest, name="A quiz"), THERE, "home"),
        Step(revised(honest, name="A quiz", contact="me@bad"), THERE, "home"),
        Step(replace(honest, series="another"), HERE, "home"),
        Step(replace(honest, series="another"), THERE, "home"),
    ]


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("place", range(1, 5))
def test_a_stranger_with_copied_keys_is_given_no_token(
    tmp_path: Path, honest: Honest, life: Life, place: int
) -> None:
    """Before the first honest answer and after it: nothing is taken, and nothing is missing."""
    ours = [Step(honest.contract, HERE, invitation=honest.invited())]
    ours += [Step(honest.contract, HERE, question) for question in ("home", "colour", "home")]
    theirs = strangers(honest.contract)
    said = life(tmp_path / "device", [*ours[:place], *theirs, *ours[place:]], False)
    refused = said[place : place + len(theirs)]
    # Whoever says that they revise the pinned contract is also held to its count of reports.
    assert all(NONE_LEFT in str(one) or "takes at most" in str(one) for one in refused), refused
    assert said[:place] + said[place + len(theirs) :] == [None] * 4


@pytest.mark.parametrize("life", LIVES)
@pytest.mark.parametrize("change", ["contact", "address alone"])
def test_tokens_stay_with_a_collector_that_renames_itself_or_moves(
    tmp_path: Path, honest: Honest, life: Life, change: str
) -> None:
    first = honest.contract
    following = {
        "contact": Step(revised(first, contact="new@example.org"), HERE, "home"),
        "address alone": Step(first, THERE, "home"),
    }
    met = [Step(first, HERE, "home", honest.invited()), following[change]]
    assert life(tmp_path / "device", met, False) == [None, None]


@pytest.mark.parametrize("life", LIVES)
def test_a_collector_that_moves_with_a_revision_needs_the_invitation(
    tmp_path: Path, honest: Honest, life: Life
) -> None:
    """Anybody can name the pinned contract: only the person knows that it is the same collector."""
    first, code = honest.contract, honest.invited()
    moved = Step(revised(first), THERE, "home")
    met = [Step(first, HERE, "home", code), moved, replace(moved, invitation=code)]
    said = life(tmp_path / "device", met, False)
    assert (said[0], said[2]) == (None, None)
    assert NONE_LEFT in str(said[1])


@pytest.mark.parametrize("life", LIVES)
def test_an_invitation_given_again_takes_along_what_nobody_was_answered_with(
    tmp_path: Path, honest: Honest, life: Life
) -> None:
    """A collector that moved before the first answer; a stranger after it is given nothing."""
    code = honest.invited()
    fetched, moved = Step(honest.contract, HERE, None, code), Step(honest.contract, THERE, "home")
    said = life(tmp_path / "moved", [fetched, moved, replace(moved, invitation=code)], False)
    assert (said[0], said[2]) == (None, None)
    assert NONE_LEFT in str(said[1])
    code = honest.invited()
    fetched, ours = replace(fetched, invitation=code), Step(honest.contract, HERE, "home")
    namesake = Step(replace(honest.contract, contact="me@bad"), THERE, "home", code)
    said = life(tmp_path / "fooled", [fetched, ours, namesake, ours], False)
    assert (said[:2], said[3]) == ([None, None], None)
    assert NONE_LEFT in str(said[2])


@pytest.mark.parametrize("life", LIVES)
def test_tokens_of_an_older_device_are_of_the_series_that_was_answered(
    tmp_path: Path, honest: Honest, life: Life
) -> None:
    """Where nothing was answered, nobody knows whose they are until the invitation says it."""
    code = honest.invited()
    other = Step(replace(honest.contract, series="another"), HERE, "colour")
    ours = Step(honest.contract, HERE, "colour")
    met = [Step(honest.contract, HERE, "home", code), other, ours]
    said = life(tmp_path / "answered", met, True)
    assert (said[0], said[2]) == (None, None)
    assert NONE_LEFT in str(said[1])
    code = honest.invited()
    met = [Step(honest.contract, HERE, None, code), other, ours, replace(ours, invitation=code)]
    said = life(tmp_path / "fetched", met, True)
    assert (said[0], said[3]) == (None, None)
    assert all(NONE_LEFT in str(one) for one in said[1:3])
