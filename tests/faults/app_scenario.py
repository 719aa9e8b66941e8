"""A piece of the life of an app's device, whose host fails at one of its calls, and what must hold.

The client for apps runs in QuickJS; its collector is a real one, undisturbed. A host fails as
hosts do: its storage is full, or says so though it saved; its randomness is missing or zeros; its
clock goes back; a request or its answer is lost; the program ends before or after the call. A
program that ended starts again, and whoever is told that something failed tries again.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rumor.collector.store.base import Store
from tests.engines import Device, Host, device
from tests.javascript import collection
from tests.machine.books import look, records
from tests.machine.front import Front
from tests.relay.tools import relayed

FAULTS: Mapping[str, Sequence[str]] = {
    "random": ("fails", "zeros", "killed before"),
    "load": ("fails", "killed before"),
    "save": ("full", "full for long", "saved and fails", "killed before", "killed after"),
    "now": ("fails", "back", "killed before"),
    "send": ("offline", "answer lost", "killed before", "killed after"),
}
"""What can happen at a call of each function of a host."""
_DAY = 86_400_000.0
_TRIES = 3
_LONG = 4
"""Calls for which a storage stays full."""
_ENDED = json.dumps({"problem": "the program has ended"})
_TURNS = relayed(turn_hours=24)
_MEMO = collection(
    {
        "kind": "choice",
        "labels": ["red", "blue"],
        "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1},
        "reports_per_person": 99,
        "memo": "period",
        "period_days": 7,
    },
    series="memo",
)
"""The first answer of a week is sent all week, as it is."""


class FailingHost(Host):
    """A host that fails at some of its calls, counted from 0."""

    def __init__(self, faults: Mapping[int, str]) -> None:
        super().__init__(f"host {sorted(faults.items())}")
        self.time = 20_000 * _DAY
        self.faults = faults
        self.names: list[str] = []
        self.dead = False
        self._full_until = 0

    def answer(self, text: str) -> str:
        name, here = json.loads(text)["name"], len(self.names)
        if self.dead:
            return _ENDED
        self.names.append(name)
        fault = self.faults.get(here, "")
        if fault == "full for long":
            self._full_until = here + _LONG
        if name == "save" and here < self._full_until:
            fault = "full"
        # A call after a fault may be another one than it was without.
        return self._struck(fault, text) if fault in FAULTS[name] else super().answer(text)

    def _struck(self, fault: str, text: str) -> str:
        self.dead = fault.startswith("killed")
        if fault == "zeros":
            return json.dumps({"value": [0] * json.loads(text)["given"][0]})
        if fault == "back":
            assert self.time is not None
            self.time -= 30 * _DAY
            return super().answer(text)
        if fault in ("saved and fails", "answer lost", "killed after"):
            super().answer(text)
        return json.dumps({"problem": fault})


class Life:
    """What a program does with its device, and what it was told."""

    def __init__(self, host: FailingHost, url: str) -> None:
        self.host = host
        self.url = url
        self.begun = 0
        """Reports that may have been made."""
        self.made: dict[str, str] = {}
        """Reports that the program was given, by id."""
        self.spent = 0.0
        self.withdrawing = False
        self._app: Device | None = None
        self._ending = contextlib.ExitStack()

    def live(self) -> None:
        """The whole piece of life."""
        self._answer("colour", contract="open")
        self._attempt(lambda app: app.take("send", of="open", url=self.url))
        self._answer("a", contract="memo")
        self._answer("colour", contract="turns")
        self._attempt(lambda app: app.take("reset"))
        self._answer("a", contract="memo")
        self._answer("colour", contract="turns")
        self._answer("many", contract="open", value=7)
        self._restart()
        self._attempt(lambda app: app.take("send", of="open", url=self.url))
        self.withdrawing = True
        self._attempt(lambda app: app.take("withdraw", url=self.url, series="series"))
        self._ending.close()

    def _answer(self, question: str, contract: str, value: object = "red") -> None:
        def work(app: Device) -> Any:
            self.begun += 1
            found = app.take("prepare", of=contract, answers={question: value})
            if isinstance(found, list):
                self.made.update((each["id"], each["report"]) for each in found)
                told = app.take("spent")
                if not self.host.dead and not isinstance(told, dict):
                    self.spent = max(self.spent, told)
            return found

        self._attempt(work)

    def _attempt(self, work: Callable[[Device], Any]) -> None:
        """Try, a few times where it fails; start the program again where it ended."""
        for _ in range(_TRIES):
            app = self._opened()
            found = work(app) if app is not None else {"error": "not opened"}
            if self.host.dead:
                # What a program computed after its end, nobody was told.
                self._restart()
            elif not (isinstance(found, dict) and ("error" in found or found.get("problem"))):
                return

    def _opened(self) -> Device | None:
        if self._app is None:
            app = self._ending.enter_context(device("quickjs", self.host))
            contracts = {"memo": _MEMO, "turns": _TURNS}
            for name, contract in contracts.items():
                app.take("parse", contract=contract.canonical().decode(), **{"as": name})
            if app.take("open") is not None:
                return None
            found = app.take("fetch", url=f"{self.url}/v1/collection", **{"as": "open"})
            if isinstance(found, dict):
                return None
            self._app = app
        return self._app

    def _restart(self) -> None:
        self._app = None
        self.host.dead = False


def every_fault(url: str) -> list[dict[int, str]]:
    """Every fault at every call of the life as it is when nothing fails."""
    host = FailingHost({})
    Life(host, url).live()
    return [{at: fault} for at, name in enumerate(host.names) for fault in FAULTS[name]]


def some_pairs(single: Sequence[Mapping[int, str]], count: int) -> list[dict[int, str]]:
    """Distinct pairs of faults in one life, the same at every run."""
    chance = random.Random("pairs")
    found: dict[tuple[tuple[int, str], ...], dict[int, str]] = {}
    while len(found) < count:
        one, other = chance.sample(single, 2)
        both = {**one, **other}
        if len(both) == 2:  # not two at one call
            found[tuple(sorted(both.items()))] = both
    return list(found.values())


def strike(faults: Mapping[int, str], front: Front, store: Store) -> None:
    """Live with faults; then start again without, send what waits, and compare the books."""
    front.drain()
    host = FailingHost(faults)
    life = Life(host, front.url)
    life.live()
    clean = Host("afterwards")
    clean.kept, clean.time = host.kept, host.time
    with device("quickjs", clean) as app:
        app.take("open")
        app.take("fetch", url=f"{front.url}/v1/collection", **{"as": "open"})
        assert app.take("spent") >= life.spent, "the ledger forgot what was spent"
        assert app.take("send", of="open", url=front.url)["pending"] == 0
        debited = sum(each["reports"] for each in app.take("spending"))
        pending = app.take("pending")
        assert app.take("withdraw", url=front.url, series="series")["left"] == 0
        assert app.take("spent") >= life.spent, "what was taken back was refunded"
    _compare(life, front, store, debited, pending, json.loads(clean.kept or ""))


def _compare(
    life: Life, front: Front, store: Store, debited: int, pending: list[Any], state: Any
) -> None:
    exchanges, _ = front.drain()
    sent = [(id, report) for each in exchanges for id, report in records(each)]
    arrived = dict(sent)
    assert len(set(sent)) == len(arrived), "a report changed between two sendings"
    assert sum(each.accepted for each in exchanges) == len(arrived), "one was counted twice"
    # Every report that was paid for waits or arrived, and no other.
    assert len(life.made) <= debited <= life.begun, (len(life.made), debited, life.begun)
    known = {id.hex() for id in arrived} | {each["id"] for each in pending}
    assert len(known) <= debited, "a report was not paid for"
    assert life.withdrawing
    for each in pending:
        assert life.made.get(each["id"], each["report"]) == each["report"]
    # One report of a week's answer, however often it was given: of each secret.
    rows = [row for row in state["answers"] if row["series"] == "memo"]
    kept = {(row["epoch"], row["period"]): row["settled"] for row in rows}
    assert len(kept) == len(rows), "a week has two answers"
    said = {each["report"] for each in pending if each["contract"] == _MEMO.digest}
    assert said <= set(kept.values())
    # One report a turn.
    turns = Counter(row["turn"] for row in state["pending"] if "turn" in row)
    assert all(count == 1 for count in turns.values()), "a turn has two reports"
    (entry,) = store.collections()
    held = {id for question in entry.questions for id in look(store, entry, question).present}
    assert not held & arrived.keys(), "a report is there that was taken back"
