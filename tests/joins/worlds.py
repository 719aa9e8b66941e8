"""Worlds in which reports come about: files of them, or a collector with its store and clients.

A world with a store is made as it is in life: day after day people and devices send, through a
relay or not, some withdraw, the contract is revised, somebody looks. Then it is held to the books:
the counts of the store, whole and by day, are byte for byte those of the reports that were sent
and not withdrawn. Whatever a verb finds there is then held to those reports (oracles.py).
"""

from __future__ import annotations

import base64
import datetime
import itertools
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rumor.client.client import Client
from rumor.collector import clock, service
from rumor.collector.gateway import Gateway, read_keys
from rumor.collector.http.server import background, free_port, listen
from rumor.collector.relay.service import RelayService
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.envelope import EnvelopeFormat
from rumor.kinds import KINDS
from tests.collector.tools import Answer, call, send
from tests.joins.axes import STORES, World
from tests.joins.browser import Browser
from tests.joins.oracles import estimate_of
from tests.joins.people import (
    ASKED,
    BESIDE,
    DAYS,
    OTHERS,
    Crowd,
    contract_of,
    crowd_of,
    revised,
)
from tests.joins.running import run
from tests.joins.same import assert_same
from tests.joins.sources import Source, Sources, day_of, invalid_report, write, written
from tests.relay.tools import PEM, PUBLIC

_NOON = datetime.time(12, tzinfo=datetime.UTC)
_RELEASES_S = 3600.0
_CROWD = 2
# Who takes a report back: a third of those who sent on the first three days.
_WITHDRAW = 3
# How many devices of a real client answer; the others send what a device would have sent.
_DEVICES = 3


class Held:
    """A world, made: what commands find, and how a collector is asked, where there is one."""

    def __init__(self, sources: Sources, ask: Callable[[str], Answer] | None = None) -> None:
        self.sources, self._ask = sources, ask

    @property
    def has_collector(self) -> bool:
        return self._ask is not None

    def asked(self, route: str) -> Any:
        """What the collector answers to an analyst."""
        assert self._ask is not None
        answer = self._ask(route)
        assert answer.status == 200, answer.body
        return answer.json()


class Worlds:
    """Worlds as they are asked for, each made once."""

    def __init__(self, folder: Path, store_url: Callable[[str], str]) -> None:
        self._folder, self._store_url = folder, store_url
        self._made: dict[World, Held] = {}
        self._stores: dict[tuple[str, str], tuple[Store, str]] = {}
        self._open: list[ExitStack] = []
        self._numbers = itertools.count()
        self.browser = Browser()
        self.token = add_token(folder / "analysts", "alice")

    def __getitem__(self, world: World) -> Held:
        if world not in self._made:
            name = "-".join([world.kind, world.history, world.place, world.way, world.client])
            folder = self._folder / f"{next(self._numbers)}-{name}"
            folder.mkdir()
            if world.place in STORES:
                stack = ExitStack()
                self._open.append(stack)
                made = Collecting(self, world, folder, stack).held()
            else:
                made = _files(world, folder)
            self._made[world] = made
        return self._made[world]

    def store(self, world: World) -> tuple[Store, str]:
        """The store of all worlds of a kind and a place, each with a series of its own."""
        key = world.kind, world.place
        if key not in self._stores:
            url = self._store_url(world.place)
            self._stores[key] = open_store(url), url
        return self._stores[key]

    def forget(self) -> None:
        """End what runs, all at once: each waits for its own threads."""
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(ExitStack.close, self._open))
        for store, _ in self._stores.values():
            store.close()
        self._open.clear()
        self._stores.clear()
        self._made.clear()

    def close(self) -> None:
        self.forget()
        self.browser.close()


def _files(world: World, folder: Path) -> Held:
    """Reports in files: one, two with some of the people each, and those of an earlier revision."""
    contract, earlier = contract_of(KINDS[world.kind]), None
    crowd = crowd_of(world.kind)
    if world.history == "revision":
        earlier = written(contract, crowd, folder, "earlier")
        contract, crowd = revised(contract), crowd_of(world.kind, revision=2)
    first, second = (
        written(contract, some, folder, name)
        for name, some in zip(("first", "second"), crowd.halves(), strict=True)
    )
    if world.history != "looks":
        return Held(Sources(written(contract, crowd, folder), first, second, earlier))
    whole = Source(contract, first.contract_path, folder / "whole", crowd)
    return Held(Sources(whole, first, second, so_far=[first.crowd, crowd]))


def grow(sources: Sources, look: int) -> Sources:
    """The same where the whole is a folder that holds what had come before a look."""
    folder = sources.whole.path
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.parquet"):
        old.unlink()
    for number, part in enumerate((sources.first, sources.second)[: look + 1]):
        write(folder / f"{number}.parquet", part.contract, part.crowd)
    whole = Source(
        sources.whole.contract, sources.whole.contract_path, folder, sources.so_far[look]
    )
    return Sources(whole, sources.first, sources.second)


class Book:
    """What came under one contract, and what was taken back of it."""

    def __init__(self, entry: StoredCollection, kind: str) -> None:
        contract = entry.collection
        self.entry, self.gone = entry, set[bytes]()
        self.crowd = crowd_of(kind, revision=contract.revision).renamed(contract.digest)
        self.beside = crowd_of(kind, BESIDE, contract.revision, OTHERS).renamed(contract.digest)
        self.sent = self.crowd.where(self.crowd.days < 0)

    @property
    def left(self) -> Crowd:
        """What the store must have of the question that is looked at."""
        return self.sent.where(np.array([key not in self.gone for key in self.sent.keys]))


class Collecting:
    """One world with a collector while it is made."""

    def __init__(self, worlds: Worlds, world: World, folder: Path, stack: ExitStack) -> None:
        self._worlds, self._world, self._folder = worlds, world, folder
        self._stack = stack
        self._store, self._store_url = worlds.store(world)
        self._relay: RelayService | None = None
        self._devices = 0

    def held(self) -> Held:
        """The world, lived through from the first day to the last."""
        with pytest.MonkeyPatch.context() as patch:
            self._clock = patch
            # A collector sees at once that a contract was revised.
            patch.setattr(service, "_FRESH_SECONDS", -1.0)
            self._set_clock(DAYS[0])
            return self._lived()

    def _set_clock(self, day: datetime.date, more: float = 0.0) -> None:
        noon = datetime.datetime.combine(day, _NOON).timestamp()
        self._clock.setattr(clock, "now", lambda: noon + more)

    def _lived(self) -> Held:
        world = self._world
        series = "-".join(["joins", world.history, world.way, world.client])
        port = free_port()
        relay = {"url": f"http://127.0.0.1:{port}", "key": PUBLIC, "crowd": _CROWD, "days": 3}
        more = {"relay": relay} if world.way == "relay" else {}
        contract = contract_of(KINDS[world.kind], series, **more)
        later = revised(contract) if world.history == "revision" else None
        books = [Book(self._store.register(contract), world.kind)]
        self._start(contract, later, port)
        for number, day in enumerate(DAYS):
            self._set_clock(day)
            self._day(books[0], number, is_current=len(books) == 1)
            if later is not None:
                if number == 0:
                    books.append(Book(self._store.register(later, revise=True), world.kind))
                self._day(books[1], number)
            self._release(day)
            self._evening(books[-1], number)
        self._store.summarize()
        for book in books:
            self._look(book.entry, book.left)
            self._check_books(book.entry, book.beside)
        whole, *others = [self._export(book.entry, book.left) for book in reversed(books)]
        first, second = (day_of(whole, day) for day in (DAYS[1], DAYS[3]))
        return Held(Sources(whole, first, second, others[0] if others else None), self._ask)

    def _start(self, contract: Collection, later: Collection | None, port: int) -> None:
        """The collector, and the relay where there is one."""
        secrets = self._folder / "gateway.pem"
        secrets.write_bytes(PEM)
        token = add_token(self._folder / "relays", "relay")
        gateway = Gateway(read_keys(secrets), Tokens(self._folder / "relays"))
        words = KINDS[self._world.kind].example().words
        collector = Service(
            self._store,
            contract.series,
            tokens=Tokens(self._worlds._folder / "analysts"),
            dictionary=words,
            summarize_seconds=1e6,
            gateway=gateway if contract.relay is not None else None,
        )
        self._url = self._stack.enter_context(background(collector))
        if contract.relay is None:
            return
        kept = RelayStore(f"sqlite:///{self._folder / 'relay.db'}")
        for each in (contract, later):
            if each is not None:
                kept.register(each)
        self._relay = RelayService(kept, self._url, lambda: token, _RELEASES_S, 1e6)
        listener = listen("127.0.0.1", port)
        self._stack.callback(kept.close)
        self._stack.enter_context(background(self._relay, listener=listener))

    def _day(self, book: Book, number: int, *, is_current: bool = True) -> None:
        """Reports to both questions on one day, and a device that answers what is asked now."""
        today = book.crowd.where(book.crowd.days == number)
        self._send(book.entry, today)
        self._send(book.entry, book.beside.where(book.beside.days == number))
        if is_current and number < _DEVICES:
            today = today.plus(self._answer(book.entry, number))
        book.sent = book.sent.plus(today)
        if self._world.history == "withdrawal" and number == 1:
            # A relay has them still, and must not bring them after all.
            book.gone |= self._withdraw(book.entry, today.where(np.arange(len(today)) % 7 == 0))

    def _evening(self, book: Book, number: int) -> None:
        """What happens when the reports of a day have arrived."""
        if self._world.history == "withdrawal" and number == 2:
            some = book.sent.where(np.arange(len(book.sent)) % _WITHDRAW == 0)
            book.gone |= self._withdraw(book.entry, some)
            book.gone |= self._withdraw_devices()
        if self._world.history == "looks" and number in (1, 3):
            self._look(book.entry, book.left)

    # What clients do

    def _send(self, entry: StoredCollection, crowd: Crowd) -> None:
        """Reports arrive as devices send them, some of them twice."""
        contract, id = entry.collection, crowd.question.id
        if not len(crowd):
            return
        if self._relay is None:
            for _ in range(2):
                answer = send(self._url, contract, id, crowd.records.tobytes())
                assert answer.status == 200, answer.body
            bad = invalid_report(contract)
            if bad is not None and id == ASKED:
                body = b"?" * 16 + bad.tobytes()
                assert send(self._url, contract, id, body).problem == "invalid-report"
            return
        refused = send(self._url, contract, id, crowd.records.tobytes())
        assert refused.problem == "forbidden"
        kind = EnvelopeFormat.of(contract, contract.question(id))
        of = self._relay.kind(contract.digest, id).number
        self._relay.store.keep(
            [
                ArrivedEnvelope(of, kind.seal(row[:16].tobytes(), None, row[16:].tobytes()))
                for row in crowd.records
            ]
        )

    def _release(self, day: datetime.date) -> None:
        """Let the relay pass on what it has, still on the same day."""
        if self._relay is not None:
            self._set_clock(day, 2 * _RELEASES_S)
            releaser = self._relay._task
            assert releaser is not None
            releaser.run_once(day)

    def _answer(self, entry: StoredCollection, number: int) -> Crowd:
        """A device answers by its own client; its report as a crowd of one."""
        kind, contract = KINDS[self._world.kind], entry.collection
        question = contract.question(ASKED)
        typed = kind.example().typed_answers[number % len(kind.example().typed_answers)]
        self._devices += 1
        name = f"device {self._folder.name} {self._devices}"
        if self._world.client == "javascript":
            take = self._worlds.browser.take
            assert take("fetch", url=f"{self._url}/v1/collection") == contract.digest
            take("open", **{"as": name})
            value = _plain_answer(kind.parse_answer(question.mechanism, typed))
            (made,) = take("prepare", by=name, answers={ASKED: value})
            outcome = take("send", by=name, url=self._url, delay=0)
            assert (outcome["accepted"], outcome["pending"]) == (1, 0), outcome
            (kept,) = take("state", store=name)["sent"]
            key, report = bytes.fromhex(kept["key"]), bytes.fromhex(made["report"])
        else:
            with Client(self._url, self._folder / name, delay=0.0, attempts=1) as client:
                before = client._respondent.prepare
                seen: list[Any] = []

                def prepared(*given: Any, **more: Any) -> Any:
                    seen.extend(before(*given, **more))
                    return seen

                client._respondent.prepare = prepared  # type: ignore[method-assign]
                receipt = client.answer({ASKED: kind.parse_answer(question.mechanism, typed)})
                assert (receipt.sent, receipt.waiting) == (1, 0), receipt
                (made,) = client._respondent.withdrawable()
                key, report = made.key, seen[0].report
        row = np.frombuffer(report, np.uint8).reshape(1, -1)
        return Crowd(question, (key,), row, np.array([number]), np.array([0]))

    def _withdraw(self, entry: StoredCollection, crowd: Crowd) -> set[bytes]:
        """Keys take reports back, also those that wait at a relay."""
        keys = [base64.b64encode(key).decode() for key in crowd.keys]
        body = json.dumps({"question": ASKED, "keys": keys}).encode()
        headers = {"Content-Type": "application/json", "Rumor-Collection": entry.collection.digest}
        answer = call(self._url, "/v1/withdrawals", body, headers)
        assert answer.status == 200, answer.body
        return set(crowd.keys)

    def _withdraw_devices(self) -> set[bytes]:
        """The last device takes back by its own client."""
        name = f"device {self._folder.name} {self._devices}"
        if self._world.client == "javascript":
            (kept,) = self._worlds.browser.take("state", store=name)["sent"]
            outcome = self._worlds.browser.take("withdraw", by=name, url=self._url)
            key, left = bytes.fromhex(kept["key"]), outcome["left"]
        else:
            with Client(self._url, self._folder / name, delay=0.0, attempts=1) as client:
                (made,) = client._respondent.withdrawable()
                key, left = made.key, client.withdraw().left
        assert left == 0
        return {key}

    # What the collector says

    def _ask(self, route: str) -> Answer:
        headers = {"Authorization": f"Bearer {self._worlds.token}"}
        return call(self._url, f"/v1/{route}", headers=headers)

    def _look(self, entry: StoredCollection, crowd: Crowd) -> None:
        """An analyst looks at one contract of the series, perhaps before everything is there."""
        known = estimate_of(crowd)  # first, since loops that are compiled now make nobody wait
        found = self._ask(f"estimates/{ASKED}?collection={entry.collection.digest}")
        assert found.status == 200
        assert_same(found.json(), known)
        self._check_books(entry, crowd)

    def _check_books(self, entry: StoredCollection, crowd: Crowd) -> None:
        """The store has counted the reports of this crowd, each on its day, and nothing else."""
        contract, id = entry.collection, crowd.question.id
        assert self._store.summary(entry, id).to_bytes() == crowd.summary(contract).to_bytes()
        _, days = self._store.day_summaries(entry, id)
        known = {
            datetime.date.fromisoformat(day): some.summary(contract).to_bytes()
            for day, some in crowd.by("day").items()
        }
        assert {day: summary.to_bytes() for day, summary in days.items()} == known
        there = b"".join(
            sorted(row.tobytes() for part in self._store.reports(entry, id) for row in part.ids)
        )
        assert there == b"".join(sorted(row.tobytes() for row in crowd.ids))

    def _export(self, entry: StoredCollection, crowd: Crowd) -> Source:
        contract = entry.collection
        folder = self._folder / f"export-{contract.revision}"
        run("export", folder, "--store", self._store_url, "--digest", contract.digest)
        path = folder / f"question={ASKED}"
        return Source(contract, folder / "contract.json", path, crowd, is_export=True)


def _plain_answer(value: Any) -> Any:
    """An answer as JSON has it."""
    return sorted(value) if isinstance(value, (set, frozenset)) else value
