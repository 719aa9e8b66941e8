"""The real things that the machine works on: a store, collectors, devices, an operator."""

from __future__ import annotations

import contextlib
import json
import resource
import secrets
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import psycopg

from rumor.client.client import Client, Receipt
from rumor.collector.backup import import_collection
from rumor.collector.store.base import Store, open_store
from rumor.collector.tokens import add_token
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.collector.tools import Answer, call, send
from tests.machine.books import Held, look, observe, records
from tests.machine.contracts import BLIND, ISSUER_PORT, KEYS, RELAY_PORT, RELAYED, contracts
from tests.machine.front import Exchange, Front
from tests.machine.nursery import Child, Nursery
from tests.machine.rewind import rewind
from tests.relay.tools import PEM, kind_of

_OPERATOR, _COLLECTORS, _ISSUER, _RELAY = 0, (1, 2), 3, 4
# Of a schedule whose time a test moves by seconds: its period is a fraction of one.
PERIODS = (0.1 / 3600, 0.2 / 3600, 0.5 / 3600)


@dataclass
class Tally:
    """What was done, in numbers."""

    operations: int = 0
    kills: int = 0
    starved: int = 0
    commands: int = 0
    refused: int = 0
    interrupted: int = 0
    acknowledged: int = 0
    upgrades: int = 0


@dataclass
class Serving:
    """A running collector."""

    child: Child
    url: str
    starved: bool = False


@dataclass
class Device:
    """A person's device: the real client, and what it must not lose."""

    folder: Path
    client: Client
    waiting: set[bytes] = field(default_factory=set)

    def check(self, exchanges: Sequence[Exchange], made: int | None) -> None:
        """What left the device was acknowledged, and it heard so; `made` reports are new."""
        heard = {
            id
            for each in exchanges
            if each.status in (200, 202) and each.relayed
            for id, _ in records(each)
        }
        posted = {id for each in exchanges for id, _ in records(each)}
        now = {envelope.id for envelope in self.client.waiting()}
        assert self.waiting - now <= heard, "a device let go of a report that was not acknowledged"
        new = (now | posted) - self.waiting
        assert made is None or len(new) == made, f"{len(new)} reports for {made} answers"
        self.waiting = now

    def withdraw(self) -> None:
        """Take everything back: what waits goes, once the collector had an answer to all of it."""
        before = self.waiting
        taken = self.client.withdraw()
        self.waiting = {envelope.id for envelope in self.client.waiting()}
        assert self.waiting <= before
        assert taken.left or not self.waiting, taken


@dataclass(frozen=True)
class Backup:
    """An exported collection: where, and what must be in it."""

    digest: str
    folder: Path
    held: Held


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    outcome: str
    said: str


class World:
    """One store with all that works on it; made new for every run of the machine."""

    def __init__(
        self,
        folder: Path,
        store_url: str,
        nursery: Nursery,
        tally: Tally,
        older: Nursery | None = None,
    ) -> None:
        self.folder, self.store_url, self.nursery, self.tally = folder, store_url, nursery, tally
        self.older = older
        self.clock = nursery.clock
        self.clock.start_again()
        self.front = Front()
        self._listening = self.front.listening()
        self._listening.__enter__()
        self._relaying = self.front.listening(RELAY_PORT)
        self._relaying.__enter__()
        self.relay: Serving | None = None
        self.every, self.starts_anew = PERIODS[0], True
        (folder / "gateway.pem").write_bytes(PEM)
        self.relay_token = add_token(folder / "relays", "relay")
        (folder / "relay.token").write_text(self.relay_token)
        self.serving: list[Serving | None] = [None, None]
        self.devices: list[Device] = []
        self.backups: list[Backup] = []
        self.files = [folder / f"contract-{i}.json" for i in range(len(contracts()))]
        for contract, path in zip(contracts(), self.files, strict=True):
            contract.save(path)
        self.analyst = add_token(folder / "tokens", "machine")
        KEYS.save(folder / "keys")
        self.issuer: Serving | None = None
        self.issuer_store = f"sqlite:///{folder / 'issuer.db'}"
        self.issuer_front = Front()
        self._issuing = self.issuer_front.listening(ISSUER_PORT)
        self._issuing.__enter__()
        self._looking: Store | None = None
        self._numbered = 0

    @property
    def store(self) -> Store:
        """The checker's own eyes on the store."""
        if self._looking is None:
            self._looking = open_store(self.store_url)
        return self._looking

    def new_path(self, name: str) -> Path:
        self._numbered += 1
        return self.folder / f"{name}-{self._numbered}"

    # Devices

    def new_device(self) -> Device:
        folder = self.new_path("device")
        device = Device(folder, self._client(folder, None))
        self.devices.append(device)
        return device

    def _client(self, folder: Path, invitation: str | None) -> Client:
        return Client(
            self.front.url, folder, invitation=invitation, attempts=1, timeout=60, delay=0
        )

    def reopen(self, device: Device, invitation: str | None) -> None:
        """The device is switched off and on; what waits must still wait."""
        device.client.close()
        device.client = self._client(device.folder, invitation)

    def answer(self, device: Device, question: str, value: object) -> Receipt | None:
        """An answer by the device; None where the device itself refuses to make it."""
        try:
            return device.client.answer({question: value})
        except InputError:
            return None

    # Collectors

    def serve(self, place: int, contract: Path, nursery: Nursery | None = None) -> Ran:
        """Start a collector, of today's version unless said; it may refuse, with a sentence."""
        assert self.serving[place] is None
        arguments = ["serve", str(contract), "--store", self.store_url, "--port", "0", "--json"]
        arguments += ["--analyst-token-file", str(self.folder / "tokens")]
        arguments += ["--gateway-key", "gateway.pem", "--relay-token-file", "relays"]
        started = self._started(arguments, _COLLECTORS[place], nursery)
        if isinstance(started, Ran):
            return started
        self.serving[place] = started
        self._retarget()
        return Ran("done", "")

    def _started(
        self, arguments: Sequence[str], brake: int, nursery: Nursery | None = None
    ) -> Serving | Ran:
        """A command that serves, once it does; or how it ended."""
        self.clock.set_brake(brake, 0)
        child = (nursery or self.nursery).command(arguments, cwd=self.folder, brake=brake)
        child.wait_until(lambda: "}" in child.out.read_text() if child.out.exists() else False)
        said = child.out.read_text()
        if "}" not in said:
            return self._ended(child.wait(), child)
        return Serving(child, str(json.loads(said)["url"]))

    # The issuer

    def serve_issuer(self) -> None:
        """Start the issuer, unless it runs."""
        if self.issuer is not None:
            return
        arguments = ["issue", "serve", str(self.files[BLIND]), "--store", self.issuer_store]
        arguments += ["--keys", str(self.folder / "keys"), "--port", "0", "--json"]
        started = self._started(arguments, _ISSUER)
        assert isinstance(started, Serving), started
        self.issuer = started
        self.issuer_front.targets = [self.issuer.url]

    def kill_issuer(self) -> None:
        """End the issuer at once."""
        if self.issuer is None:
            return
        ended, self.issuer = self.issuer, None
        self.issuer_front.targets = []
        self.clock.set_brake(_ISSUER, 0)
        self.tally.kills += 1
        ended.child.kill()
        assert "Traceback" not in ended.child.said(), ended.child.said()

    def kill_issuer_while(self, transactions: int, work: Callable[[], None]) -> None:
        """Kill the issuer as it begins or ends a transaction, while something is asked of it."""
        doomed = self.issuer
        if doomed is None:
            work()
            return
        self.clock.set_brake(_ISSUER, transactions)
        self._meanwhile(work, doomed, self.kill_issuer)

    def _retarget(self) -> None:
        self.front.targets = [each.url for each in self.serving if each is not None]

    def kill(self, place: int, *, gently: bool = False) -> None:
        """End a collector, at once or in order."""
        ended = self.serving[place]
        if ended is None:
            return
        self.serving[place] = None
        self._retarget()
        self.clock.set_brake(_COLLECTORS[place], 0)
        if gently:
            ended.child.signal(signal.SIGTERM)
            status = ended.child.wait()
            assert status == 0, ended.child.said()
        else:
            self.tally.kills += 1
            ended.child.kill()
        assert "Traceback" not in ended.child.said(), ended.child.said()

    def kill_while(self, place: int, transactions: int, work: Callable[[], None]) -> None:
        """Kill a collector as it begins or ends a transaction, while something is asked of it."""
        doomed = self.serving[place]
        if doomed is None:
            work()
            return
        self.front.targets = [doomed.url]
        self.clock.set_brake(_COLLECTORS[place], transactions)
        self._meanwhile(work, doomed, lambda: self.kill(place))

    def _meanwhile(
        self, work: Callable[[], None], doomed: Serving, kill: Callable[[], None]
    ) -> None:
        """Work until it is done, or the process has stopped itself; then kill that."""
        problems: list[BaseException] = []

        def worked() -> None:
            try:
                work()
            except BaseException as problem:
                problems.append(problem)

        thread = threading.Thread(target=worked)
        thread.start()
        doomed.child.wait_until(lambda: not thread.is_alive())
        kill()
        thread.join(60)
        assert not thread.is_alive()
        if problems:
            raise problems[0]

    @contextlib.contextmanager
    def full_disk(self, room: int) -> Iterator[None]:
        """Meanwhile collectors have so many bytes of disk left."""
        self.tally.starved += 1
        if self.store_url.startswith("sqlite"):
            store = self.store_url.removeprefix("sqlite:///")
            sizes = [Path(f"{store}{end}") for end in ("", "-wal")]
            size = max(path.stat().st_size if path.exists() else 0 for path in sizes)
            running = [psutil.Process(each.child.pid) for each in self.serving if each is not None]
            no_limit = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            for process in running:
                process.rlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
            try:
                yield
            finally:
                for process in running:
                    process.rlimit(resource.RLIMIT_FSIZE, no_limit)
        else:
            # As managed servers do when their disk is full: nothing can be written any more.
            self._read_only("on")
            try:
                yield
            finally:
                self._read_only("off")

    def _read_only(self, setting: str) -> None:
        with psycopg.connect(self.store_url, autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")
            name = connection.info.dbname
            connection.execute(
                f'ALTER DATABASE "{name}" SET default_transaction_read_only = {setting}'.encode()
            )
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        self.close_store()

    # The relay

    def start_relay(self) -> None:
        """Start the relay, where none runs."""
        if self.relay is not None:
            return
        started = self._started(
            [
                *("relay", str(self.files[RELAYED]), "--gateway", self.front.url, "--port", "0"),
                *("--token-file", "relay.token", "--store", "sqlite:///relay.db", "--json"),
                *("--every", str(self.every)),
            ],
            _RELAY,
        )
        assert isinstance(started, Serving), started
        self.relay = started
        self.front.relay = started.url

    def kill_relay(self, *, gently: bool = False) -> None:
        """End the relay, at once or in order."""
        if self.relay is None:
            return
        ended, self.relay, self.front.relay = self.relay, None, None
        self.clock.set_brake(_RELAY, 0)
        if gently:
            ended.child.signal(signal.SIGTERM)
            assert ended.child.wait() == 0, ended.child.said()
        else:
            self.tally.kills += 1
            ended.child.kill()
        assert "Traceback" not in ended.child.said(), ended.child.said()

    def kill_relay_while(self, transactions: int, work: Callable[[], None]) -> None:
        """Kill the relay as it begins or ends a transaction, while something is asked of it."""
        if self.relay is None:
            work()
            return
        doomed = self.relay
        self.clock.set_brake(_RELAY, transactions)
        self._meanwhile(work, doomed, self.kill_relay)

    def release(self, *, delivered: bool) -> None:
        """Let a release come; wait until it is over, and all of it `delivered`, if so."""
        if self.relay is not None and self.starts_anew:
            # The next look only starts the schedule anew.
            self.starts_anew = not self._on_schedule(20 if delivered else 0.3)
        self.clock.move_releases(1)
        if self.relay is not None:
            done = self._on_schedule(20 if delivered else 0.3, delivered=delivered)
            assert done or not delivered, f"the relay did not deliver: {self.relay.child.said()}"

    def _on_schedule(self, seconds: float, *, delivered: bool = False) -> bool:
        """Whether the last release is of the present period, and `delivered`, within a while."""
        deadline, now = time.monotonic() + seconds, self.clock.releases()
        while time.monotonic() < deadline:
            last, under_way = self._at_relay()
            if last <= now < last + 3600 * self.every and not (delivered and under_way):
                return True
            time.sleep(0.01)
        return False

    def move_relay_clock(self, seconds: int) -> None:
        """The relay's clock jumps."""
        self.clock.move_releases(seconds)
        self.starts_anew = self.starts_anew or seconds < 0

    def change_period(self, every: float) -> None:
        """The relay is started again with another period, in hours."""
        self.kill_relay(gently=True)
        self.starts_anew = self.starts_anew or every != self.every
        self.every = every
        self.start_relay()

    def _at_relay(self) -> tuple[float, int]:
        """When the relay's last release was, and how many envelopes it still has to deliver."""
        database = sqlite3.connect(f"file:{self.folder / 'relay.db'}?mode=ro", uri=True)
        try:
            ((last,),) = database.execute("SELECT COALESCE(MAX(time), -1) FROM release")
            ((under_way,),) = database.execute(
                "SELECT COUNT(*) FROM envelope WHERE released = 1 AND sealed IS NOT NULL"
            )
        except sqlite3.OperationalError:  # it is being written anew
            return -1, 0
        finally:
            database.close()
        return float(last), int(under_way)

    def sealed(self, question: str, values: Sequence[int]) -> list[bytes]:
        """Fresh envelopes."""
        contract = contracts()[RELAYED]
        rows, kind = self.fresh_rows(contract, question, values), kind_of(contract, question)
        size = 16 + kind.width
        each = [rows[at : at + size] for at in range(0, len(rows), size)]
        return [kind.seal(row[:16], None, row[16:]) for row in each]

    def hand_in(self, question: str, envelope: bytes) -> Answer:
        """An envelope to the relay, through the front."""
        contract = contracts()[RELAYED]
        assert contract.relay is not None
        where = f"/v1/relay/{contract.digest}/{question}"
        return call(contract.relay.url, where, envelope)

    def hand_over(self, question: str, envelopes: Sequence[bytes]) -> Answer:
        """A batch to a collector, through the front."""
        headers = {
            "Content-Type": "application/vnd.rumor.envelopes",
            "Rumor-Collection": contracts()[RELAYED].digest,
            "Rumor-Question": question,
            "Authorization": f"Bearer {self.relay_token}",
        }
        return call(self.front.url, "/v1/batches", b"".join(envelopes), headers)

    # Senders without a device

    def post(self, contract: Collection, question: str, rows: bytes, token: str = "") -> Answer:
        """A body through the front."""
        extra = {"Rumor_Token": token} if token else {}
        return send(self.front.url, contract, question, rows, **extra)

    def fresh_rows(self, contract: Collection, question: str, values: Sequence[int]) -> bytes:
        """Reports with new ids, as the wire has them."""
        mechanism = contract.question(question).mechanism.without_labels()
        reports = mechanism.privatize([value % mechanism.domain for value in values])  # type: ignore[attr-defined]
        ids = np.frombuffer(secrets.token_bytes(16 * len(values)), np.uint8).reshape(-1, 16)
        return bytes(np.concatenate([ids, reports], axis=1).tobytes())

    # The operator

    def command(
        self,
        arguments: Sequence[str],
        *,
        store: str | None = None,
        brake: int = 0,
        meanwhile: Callable[[], None] | None = None,
        kill: bool = False,
        disk: int | None = None,
    ) -> Ran:
        """Run `rumor ...`; stop it at a transaction, do something else, go on or kill it."""
        self.tally.commands += 1
        self.clock.set_brake(_OPERATOR, brake)
        given = [*arguments, "--store", store or self.store_url]
        if disk is None:
            child = self.nursery.command(given, cwd=self.folder, brake=_OPERATOR)
        else:
            child = self.nursery.start(
                "tests.machine.commands:starved", [given, disk], cwd=self.folder, brake=_OPERATOR
            )
        halted = brake > 0 and child.stopped()
        self.clock.set_brake(_OPERATOR, 0)
        if halted:
            self.tally.interrupted += 1
            if meanwhile is not None:
                meanwhile()
            if kill:
                self.tally.kills += 1
                child.kill()
                return Ran("killed", child.said())
            child.signal(signal.SIGCONT)
        return self._ended(child.wait(), child)

    def _ended(self, status: int, child: Child) -> Ran:
        said = child.said()
        assert "Traceback" not in said, said
        assert status in (0, 2), (status, said)
        if status == 2:
            self.tally.refused += 1
            assert len(said.strip().splitlines()) == 1, said
        return Ran("done" if status == 0 else "refused", said)

    def expire(self) -> None:
        """What the housekeeper does on a new day."""
        child = self.nursery.start(
            "tests.machine.commands:expire",
            [self.store_url, self.clock.today().isoformat()],
            cwd=self.folder,
            brake=_OPERATOR,
        )
        assert child.wait() == 0, child.said()

    def asked(self, path: str) -> Answer | None:
        """An analyst's question to a collector; None where none answers."""
        answer = call(self.front.url, path, headers={"Authorization": f"Bearer {self.analyst}"})
        return None if answer.status == 502 else answer

    def check_backup(self, folder: Path) -> None:
        """Its counts are those of its reports, day by day, as far as these are there."""
        path = self.new_path("restored")
        with contextlib.closing(open_store(f"sqlite:///{path}")) as store:
            import_collection(store, folder)
            (entry,) = store.collections()
            for question in entry.questions:
                seen = look(store, entry, question)
                assert seen.counted == seen.present.keys()
                assert not seen.spent & seen.present.keys(), "an export has a report and its end"
                mechanism = entry.collection.question(question).mechanism
                for day in {day for _, day in seen.present.values()}:
                    reports = [report for report, each in seen.present.values() if each == day]
                    rows = np.frombuffer(b"".join(reports), np.uint8).reshape(len(reports), -1)
                    assert seen.days[day].reports == len(reports), "an export counts what is gone"
                    assert (seen.days[day].tally == mechanism.tally(rows)).all()
        path.unlink()

    def age(self) -> bool:
        """Make the store one of an older Rumor, if it can be; whoever opens it next migrates it."""
        for shown in observe(self.store).values():
            if any(seen.spans or seen.dropped for seen in shown.questions.values()):
                return False  # an older Rumor has none
        self.close_store()
        rewind(self.store_url)
        return True

    # The end

    def close_store(self) -> None:
        if self._looking is not None:
            self._looking.close()
        self._looking = None

    def intact(self) -> None:
        """The file of the store is whole."""
        if self.store_url.startswith("sqlite"):
            with sqlite3.connect(self.store_url.removeprefix("sqlite:///")) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            database.close()

    def close(self) -> None:
        for device in self.devices:
            device.client.close()
        running = [each for each in (*self.serving, self.issuer, self.relay) if each is not None]
        self.serving, self.issuer, self.relay = [None, None], None, None
        for each in running:
            with contextlib.suppress(ProcessLookupError):
                each.child.kill()
        self.close_store()
        for listening in (self._listening, self._relaying, self._issuing):
            listening.__exit__(None, None, None)
        shutil.rmtree(self.folder, ignore_errors=True)


def others(rows: bytes, question: str, contract: Collection) -> bytes:
    """The same ids with other reports, all valid."""
    mechanism: Any = contract.question(question).mechanism
    size = 16 + mechanism.width
    changed = []
    for at in range(0, len(rows), size):
        id, report = rows[at : at + 16], rows[at + 16 : at + size]
        turned = bytes([(report[0] + 1) % 3]) if question == "colour" else _flipped(report)
        changed.append(id + turned)
    return b"".join(changed)


def _flipped(report: bytes) -> bytes:
    return bytes([report[0] ^ 1]) + report[1:]
