"""The state machine: people, operators and misfortunes in any order, and books that balance.

What a rule draws never depends on what came out before, so that a run can be played again
exactly; a rule that finds nothing to do does nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from rumor.client.transport import Refused, Unreachable
from rumor.contract.admission import admission_key, read_invitation, token
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from tests.machine.books import Books, Step
from tests.machine.contracts import (
    AGAIN,
    BLIND,
    CROWD,
    INVITED,
    QUESTIONS,
    RELAYED,
    SERIES,
    answer,
    contracts,
    takes_tokens,
)
from tests.machine.nursery import Nursery
from tests.machine.purse import Purse
from tests.machine.quick import new_folder
from tests.machine.world import PERIODS, Backup, Device, Ran, Tally, World, others

DEVICES = 3
_which = st.integers(0, DEVICES - 1)
_contract = st.integers(0, len(contracts()) - 1)
_question = st.sampled_from(QUESTIONS)
_value = st.integers(0, 29)
_place = st.sampled_from([0, 0, 0, 1])
_index = st.integers(0, 7)
# At which transaction a command is stopped; mostly it is not.
_brake = st.sampled_from([0, 0, *range(1, 17)])
_meanwhile = st.sampled_from(
    ["post", "post", "post", "flush", "answer", "withdraw", "expire", "count"]
)
_rarely = st.sampled_from([False, False, False, True])
# What needs a collector and no command; those run today's code, which would migrate the store.
_deeds = st.lists(
    st.tuples(st.sampled_from(["post", "post", "flush", "answer", "withdraw", "count"]), _contract),
    max_size=5,
)


def machine(
    new_store: Callable[[Path], str],
    nursery: Nursery,
    tally: Tally,
    older: Nursery | None = None,
) -> type[Machine]:
    """The machine over stores of one kind; `older` has the code of the release before."""

    class Over(Machine):
        def new_world(self) -> World:
            folder = new_folder("machine")
            return World(folder, new_store(folder), nursery, tally, older)

    return Over


class Machine(RuleBasedStateMachine):
    """The rules; over which stores, `machine` says."""

    def new_world(self) -> World:
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.world, self.books = self.new_world(), Books()
        self.bodies: list[tuple[Collection, str, bytes, str]] = []
        self.codes: list[str] = []
        self.tokens: list[tuple[str, str]] = []
        self.signed: list[tuple[str, bytes, str]] = []
        self.strangers = 0
        self.sealed: list[tuple[str, bytes]] = []
        self.broken = True
        with self.step():
            for _ in range(DEVICES):
                self.world.new_device()
        self._serve(0)
        self.world.start_relay()
        self._revise(RELAYED, 0, False, "post")

    @contextmanager
    def step(self, *, busy: bool = False) -> Iterator[Step]:
        """A step, after which everything is checked; while it is busy, people go on sending."""
        self.broken = True
        done = Step()
        self.world.tally.operations += 1
        if busy:
            turn = len(self.bodies)
            self._post(turn % 2, QUESTIONS[turn // 2 % 2], [turn % 3, turn % 30], certain=False)
        yield done
        self.books.check_issuer(self.world.issuer_front.asked)
        self.world.issuer_front.asked = []
        exchanges, taken_back = self.world.front.drain()
        today = self.world.clock.today()
        self.books.check(self.world.store, exchanges, taken_back, done, today)
        for device in self.world.devices:
            device.check(exchanges, None)
        self.broken = False

    # People

    @rule(which=_which, question=_question, value=_value)
    def answer(self, which: int, question: str, value: int) -> None:
        """A person answers, under the contract that the device knows."""
        with self.step():
            self._answer(self.world.devices[which], question, value)

    def _answer(self, device: Device, question: str, value: int) -> None:
        before = len(self.world.front.minutes)
        receipt = self.world.answer(device, question, answer(question, value))
        device.check(self.world.front.minutes[before:], 0 if receipt is None else 1)

    @rule(seed=st.integers(0, 99))
    def crowd(self, seed: int) -> None:
        """A busy moment: everybody answers, and some send more."""
        with self.step():
            for place, device in enumerate(self.world.devices):
                self._answer(device, QUESTIONS[(seed + place) % 2], seed)
            for which in range(len(contracts())):
                self._post(which, QUESTIONS[seed % 2], [seed % 7, seed % 30], certain=False)
            # Enough of a day or two to be kept when its reports are deleted.
            self._post(0, QUESTIONS[seed % 2], [seed % 30] * 60, certain=False)

    @rule(which=_which)
    def flush(self, which: int) -> None:
        """A device sends what waits."""
        with self.step():
            self.world.devices[which].client.flush()

    @rule(which=_which)
    def withdraw(self, which: int) -> None:
        """A person takes back everything."""
        with self.step():
            self.world.devices[which].withdraw()

    @rule(which=_which)
    def refresh(self, which: int) -> None:
        """A device asks for the newest contract."""
        with self.step(), suppress(InputError, Refused, Unreachable):
            self.world.devices[which].client.refresh()

    @rule(which=_which, code=_index)
    def restart_device(self, which: int, code: int) -> None:
        """A device is switched off and on, perhaps with an invitation (used ones too)."""
        with self.step():
            invitation = self.codes[code % len(self.codes)] if self.codes and code else None
            self.world.reopen(self.world.devices[which], invitation)

    # Senders

    @rule(
        which=_contract, question=_question, values=st.lists(_value, min_size=1, max_size=4),
        fresh=st.booleans(),
    )  # fmt: skip
    def post(self, which: int, question: str, values: list[int], fresh: bool) -> None:
        """Somebody sends a body of reports."""
        with self.step():
            if fresh:
                self.world.clock.pass_seconds(2)
            self._post(which, question, values, certain=fresh)

    def _post(self, which: int, question: str, values: list[int], *, certain: bool) -> None:
        if which == RELAYED:
            self._seal(question, values)
            return
        contract, code = contracts()[which], ""
        if which == INVITED:
            values = values[:1]
            mine = [pair for pair in self.tokens if pair[0] == question]
            if mine:
                self.tokens.remove(mine[0])
                code = mine[0][1]
        blind = takes_tokens(contract)
        rows = self.world.fresh_rows(contract, question, values[: 1 if blind else None])
        if blind:
            ready = [each for each in self.signed if each[0] == question]
            if ready:
                self.signed.remove(ready[0])
                rows, code = ready[0][1] + rows[16:], ready[0][2]
        self.bodies.append((contract, question, rows, code))
        self._send(contract, question, rows, code, certain=certain)

    def _send(
        self, contract: Collection, question: str, rows: bytes, code: str, *, certain: bool
    ) -> None:
        held = self.books.held.get(contract.digest)
        expected = certain and held is not None and held.open and self.world.front.targets
        for _ in range(3):
            try:
                status = self.world.post(contract, question, rows, code).status
            except OSError:
                return  # the front lost it
            if status != 503:
                break
        if expected and contract.admission == "open":
            # Other bytes under these ids may have been quicker; the books know whether they were.
            heard = self.world.front.minutes[-1]
            assert status == 200 or heard.problem == "id-conflict", heard

    @rule(which=_index, fresh=st.booleans())
    def repeat(self, which: int, fresh: bool) -> None:
        """The same bytes once more."""
        with self.step():
            if self.bodies:
                if fresh:
                    self.world.clock.pass_seconds(2)
                contract, question, rows, code = self.bodies[-1 - which % len(self.bodies)]
                self._send(contract, question, rows, code, certain=fresh)

    @rule(which=_index, elsewhere=st.booleans())
    def conflict(self, which: int, elsewhere: bool) -> None:
        """Other bytes under ids that were used; or the same ids for another contract."""
        with self.step():
            if self.bodies:
                contract, question, rows, code = self.bodies[-1 - which % len(self.bodies)]
                if elsewhere:
                    contract = contracts()[(contracts().index(contract) + 1) % 2]
                else:
                    rows = others(rows, question, contract)
                self._send(contract, question, rows, code, certain=False)

    @rule(which=_index, question=_question)
    def spend_again(self, which: int, question: str) -> None:
        """Another report with a token that was shown before, to the other blind contract."""
        mine = [each for each in self.bodies if takes_tokens(each[0]) and each[1] == question]
        with self.step():
            if mine:
                first, _, rows, code = mine[-1 - which % len(mine)]
                other = contracts()[AGAIN if first == contracts()[BLIND] else BLIND]
                fresh = rows[:16] + self.world.fresh_rows(other, question, [which])[16:]
                self.world.clock.pass_seconds(2)
                self._send(other, question, fresh, code, certain=False)

    @rule(requests=st.integers(0, 2), answers=st.integers(0, 2))
    def lose(self, requests: int, answers: int) -> None:
        """Some of what is sent next is lost, on the way there or back."""
        self.world.front.lose_requests, self.world.front.lose_answers = requests, answers

    # The relay

    @rule(question=_question, values=st.lists(_value, min_size=1, max_size=4))
    def seal(self, question: str, values: list[int]) -> None:
        """Somebody hands envelopes to the relay."""
        with self.step():
            self._seal(question, values)

    def _seal(self, question: str, values: list[int]) -> None:
        for envelope in self.world.sealed(question, values):
            self.sealed.append((question, envelope))
            self._hand_in(question, envelope)

    def _hand_in(self, question: str, envelope: bytes) -> None:
        with suppress(OSError):  # the front lost it
            assert self.world.hand_in(question, envelope).status in (202, 502, 503)

    @rule(which=_index)
    def seal_again(self, which: int) -> None:
        """The same envelope once more."""
        with self.step():
            if self.sealed:
                self._hand_in(*self.sealed[-1 - which % len(self.sealed)])

    @rule()
    def release(self) -> None:
        """A release of the relay's schedule: what is a crowd by now goes to the collector."""
        with self.step(busy=True):
            self._release()

    def _release(self) -> None:
        front, held = self.world.front, self.books.held.get(contracts()[RELAYED].digest)
        known = held is not None and held.open and front.targets
        self.world.clock.pass_seconds(2)  # collectors look at their contracts anew
        certain = bool(known) and not (front.lose_requests or front.lose_answers)
        self.world.release(delivered=certain)

    @rule(seconds=st.sampled_from([-100, -2, -1, 3, 100]))
    def move_relay_clock(self, seconds: int) -> None:
        """The relay's clock jumps; releases go on."""
        with self.step(busy=True):
            self.world.move_relay_clock(seconds)
            self._release()

    @rule(every=st.sampled_from(PERIODS))
    def change_period(self, every: float) -> None:
        """The relay is started with another period; releases go on."""
        with self.step(busy=True):
            self.world.change_period(every)
            self._release()

    @rule(question=_question, count=st.integers(1, 6))
    def batch(self, question: str, count: int) -> None:
        """A relay that forgot hands over what it has handed over before."""
        with self.step():
            self._batch(question, count)

    def _batch(self, question: str, count: int) -> None:
        mine = [envelope for each, envelope in self.sealed if each == question][-count:]
        if mine:
            with suppress(OSError):
                answer = self.world.hand_over(question, sorted(mine))
                assert answer.status in (200, 409, 410, 502, 503), answer.body
                assert answer.status != 200 or answer.json() == {"taken": len(mine)}

    @rule(gently=st.booleans(), again=st.sampled_from([True, True, False]))
    def kill_relay(self, gently: bool, again: bool) -> None:
        """The relay ends, and starts again."""
        with self.step(busy=True):
            self.world.kill_relay(gently=gently)
            if again:
                self.world.start_relay()

    @rule(transactions=st.integers(1, 8), question=_question, work=st.booleans())
    def kill_relay_while(self, transactions: int, question: str, work: bool) -> None:
        """Killed as it keeps an envelope, or as it releases and delivers."""
        with self.step(busy=True):
            self.world.start_relay()

            def done() -> None:
                self._seal(question, list(range(CROWD)))
                if work:
                    self.world.release(delivered=False)

            self.world.kill_relay_while(transactions, done)
            self.world.start_relay()

    @rule(place=_place, transactions=st.integers(1, 4), question=_question)
    def kill_while_batching(self, place: int, transactions: int, question: str) -> None:
        """A collector is killed as it takes a batch."""
        with self.step(busy=True):
            self.world.clock.pass_seconds(2)
            self.world.kill_while(place, transactions, lambda: self._batch(question, 6))
        self._serve(place)

    # Time

    @rule(days=st.integers(1, 4), work=st.booleans())
    def days_pass(self, days: int, work: bool) -> None:
        """Days go by, and the housekeeper deletes what is past its day."""
        with self.step():
            self.world.clock.pass_days(days)
            if work:
                self.world.expire()

    @rule()
    def seconds_pass(self) -> None:
        """Long enough for collectors to look at their contracts anew."""
        self.world.clock.pass_seconds(2)

    # Analysts

    @rule(which=_contract, question=_question)
    def count(self, which: int, question: str) -> None:
        """An analyst asks; the answer is of every report there is."""
        with self.step():
            self._count(which, question)

    def _count(self, which: int, question: str) -> None:
        digest = contracts()[which].digest
        path = f"/v1/estimates/{question}?collection={digest}&method=inversion"
        for _ in range(3):
            found = self.world.asked(path)
            if found is None or found.status != 503:
                break
        expected = self.books.reports(digest, question)
        if found is None or self.world.front.minutes:
            return  # nobody there; or more came meanwhile
        if not expected:
            assert found.status in (404, 409, 422), (found.status, found.body)
        else:
            assert found.status == 200, (found.status, found.body)
            assert found.json()["reports"] == expected

    # The operator

    def _during(self, kind: str, which: int) -> Callable[[], None]:
        """What happens while a command is stopped: collectors know what it did so far."""

        def work() -> None:
            self.world.clock.pass_seconds(2)
            if kind == "post":
                for question in QUESTIONS:
                    self._post(which, question, [1, 2], certain=False)
            elif kind == "flush":
                for device in self.world.devices:
                    device.client.flush()
            elif kind == "answer":
                self._answer(self.world.devices[which % DEVICES], "colour", 1)
            elif kind == "withdraw":
                for device in self.world.devices:
                    device.withdraw()
            elif kind == "expire":
                self.world.expire()
            else:
                self.world.asked("/v1/overview")

        return work

    @rule(which=_contract, brake=_brake, kill=_rarely, during=_meanwhile)
    def revise(self, which: int, brake: int, kill: bool, during: str) -> None:
        """A new contract of the series."""
        self._revise(which, brake, kill, during)

    def _revise(self, which: int, brake: int, kill: bool, during: str) -> None:
        with self.step(busy=True) as step:
            step.registered = contracts()[which].digest
            done = self.world.command(
                ["collections", "revise", str(self.world.files[which])],
                brake=brake, meanwhile=self._during(during, which), kill=kill,
            )  # fmt: skip
            step.outcome = done.outcome

    @rule(which=_contract, brake=_brake, kill=_rarely, during=_meanwhile)
    def close(self, which: int, brake: int, kill: bool, during: str) -> None:
        """No more reports of a collection."""
        with self.step(busy=True) as step:
            digest = contracts()[which].digest
            step.opened = (digest, False)
            done = self.world.command(
                ["collections", "close", digest],
                brake=brake, meanwhile=self._during(during, which), kill=kill,
            )  # fmt: skip
            step.outcome = done.outcome

    @rule(which=_contract, brake=_brake, kill=_rarely, during=_meanwhile)
    def delete(self, which: int, brake: int, kill: bool, during: str) -> None:
        """A collection goes, with all that is in it."""
        self._delete(which, brake, kill, during)

    def _delete(self, which: int, brake: int, kill: bool, during: str) -> None:
        with self.step(busy=True) as step:
            step.deleted = contracts()[which].digest
            done = self.world.command(
                ["collections", "delete", step.deleted, "--yes"],
                brake=brake, meanwhile=self._during(during, which), kill=kill,
            )  # fmt: skip
            step.outcome = done.outcome

    @rule(which=_contract, brake=_brake, kill=_rarely, during=_meanwhile, starve=_rarely)
    def export(self, which: int, brake: int, kill: bool, during: str, starve: bool) -> None:
        """A backup, while the collector goes on."""
        self._export(which, brake, kill, during, starve)

    def _export(self, which: int, brake: int, kill: bool, during: str, starve: bool) -> None:
        digest = contracts()[which].digest
        before = self.books.held.get(digest)
        folder = self.world.new_path("backup")
        arguments = ["export", str(folder), "--digest", digest]

        def exported(brake: int, kill: bool, disk: int | None) -> tuple[Ran, Step]:
            with self.step(busy=True) as step:
                done = self.world.command(
                    arguments, brake=brake, meanwhile=self._during(during, which), kill=kill,
                    disk=disk,
                )  # fmt: skip
            return done, step

        done, step = exported(brake, kill, 3_000 if starve else None)
        if done.outcome != "done" and not folder.exists() and before is not None:
            before = self.books.held[digest].copy()
            done, step = exported(0, False, None)  # what was left behind is not in the way
            assert done.outcome == "done", done
        if before is not None:
            assert folder.exists(), done
            self.world.check_backup(folder)
            self.world.backups.append(Backup(digest, folder, before.copy(step.withdrawn)))

    @rule(
        which=_index, replace=st.booleans(), brake=_brake, kill=_rarely, during=_meanwhile,
        starve=_rarely,
    )  # fmt: skip
    def import_(
        self, which: int, replace: bool, brake: int, kill: bool, during: str, starve: bool
    ) -> None:
        """A backup goes back into the store, which collectors are working on."""
        if not self.world.backups:
            self._export(which % 2, 0, False, during, False)
        if not self.world.backups:
            return
        backup = self.world.backups[-1 - which % len(self.world.backups)]
        place = [contract.digest for contract in contracts()].index(backup.digest)
        if replace and backup.digest in self.books.held:
            self._delete(place, 0, False, during)
        with self.step(busy=True) as step:
            step.restored = (backup.digest, backup.held)
            done = self.world.command(
                ["import", str(backup.folder)],
                brake=brake, meanwhile=self._during(during, place), kill=kill,
                disk=3_000 if starve else None,
            )  # fmt: skip
            step.outcome = done.outcome
        if done.outcome == "refused" and not starve:
            assert backup.digest in self.books.held, f"a backup could not be restored: {done.said}"

    @rule(count=st.integers(1, 2))
    def invite(self, count: int) -> None:
        """People are invited: some get the code, some tokens are used at once."""
        with self.step(busy=True) as step:
            out = self.world.new_path("invitations")
            contract = contracts()[INVITED]
            step.registered = None if self.books.held else contract.digest
            done = self.world.command(
                ["invite", str(self.world.files[INVITED]), "--count", str(count), "--out", str(out)]
            )
            step.outcome = done.outcome
            if done.outcome == "done":
                codes = out.read_text().split()
                step.invited = 4 * len(codes)  # two questions, two reports each
                self.codes += codes[:1]
                for code, question, number in itertools.product(codes[1:], QUESTIONS, range(2)):
                    found = token(read_invitation(code), SERIES, question, number)
                    assert admission_key(SERIES, question, found)
                    self.tokens.append((question, found.hex()))

    # The issuer

    @rule(count=st.integers(1, 2), brake=_brake, kill=_rarely)
    def issue_invite(self, count: int, brake: int, kill: bool) -> None:
        """The issuer invites people: some get the code, for some we fetch tokens ourselves."""
        with self.step(busy=True):
            out = self.world.new_path("invitations")
            given = ["issue", "invite", str(self.world.files[BLIND])]
            done = self.world.command(
                [*given, "--count", str(count), "--out", str(out)],
                store=self.world.issuer_store, brake=brake, kill=kill,
            )  # fmt: skip
            assert done.outcome != "refused", done
            if done.outcome == "done":
                codes = out.read_text().split()
                self.codes += codes[:1]
                for code in codes[1:]:
                    self._fetch(code)

    def _fetch(self, code: str) -> None:
        """Somebody's tokens, kept for senders without a device; the issuer may be away."""
        self.strangers += 1
        with Purse(self.world.new_path("stranger"), code) as purse:
            for _ in range(2):
                self.world.serve_issuer()
                with suppress(OSError, Refused, Unreachable):
                    self.signed += purse.fetched()
                    return

    @rule(transactions=st.integers(1, 4), which=_which)
    def kill_issuer_while_enrolling(self, transactions: int, which: int) -> None:
        """Killed as it notes what it is about to sign; whoever asks again gets the same."""
        self.world.serve_issuer()
        with self.step(busy=True):
            device = self.world.devices[which]
            self.world.kill_issuer_while(transactions, lambda: self._enrol(device))
        self.world.serve_issuer()
        with self.step():
            self._enrol(self.world.devices[which])

    def _enrol(self, device: Device) -> None:
        with suppress(InputError, Refused, Unreachable):
            device.client.refresh()
            device.client.enrol()

    @rule(requests=st.integers(0, 1), answers=st.integers(0, 1))
    def lose_tokens(self, requests: int, answers: int) -> None:
        """What goes to the issuer, or comes from it, is lost."""
        front = self.world.issuer_front
        front.lose_requests, front.lose_answers = requests, answers

    # Misfortunes

    @rule(place=_place, gently=st.booleans(), again=st.sampled_from([True, True, False]))
    def kill(self, place: int, gently: bool, again: bool) -> None:
        """A collector ends, and starts again."""
        with self.step(busy=True):
            self.world.kill(place, gently=gently)
        if again:
            self._serve(place)

    @rule(place=_place)
    def serve(self, place: int) -> None:
        """A collector starts; the second one works on the same store."""
        self._serve(place)

    def _serve(self, place: int) -> None:
        if self.world.serving[place] is not None:
            return
        contract, known = self._current()
        with self.step(busy=True) as step:
            step.registered = None if known else contract.digest
            done = self.world.serve(place, self.world.files[contracts().index(contract)])
            step.outcome = done.outcome
            assert done.outcome == "done" or self.world.serving[1 - place] is not None, done

    def _current(self) -> tuple[Collection, bool]:
        """What a collector is started with, and whether the store has any collection."""
        known = self.world.store.collections()
        current = [entry.collection for entry in known if entry.current]
        return (current[0] if current else contracts()[0]), bool(known)

    @rule(place=_place, transactions=st.integers(1, 4), which=_contract, question=_question)
    def kill_while_posting(self, place: int, transactions: int, which: int, question: str) -> None:
        """Killed just before a commit, or after it and before the answer."""
        with self.step(busy=True):
            self.world.clock.pass_seconds(2)
            self.world.kill_while(
                place, transactions, lambda: self._post(which, question, [3, 4], certain=False)
            )
        self._serve(place)

    @rule(place=_place, transactions=st.integers(1, 4), which=_which)
    def kill_while_answering(self, place: int, transactions: int, which: int) -> None:
        """The same to a person's device."""
        with self.step(busy=True):
            device = self.world.devices[which]
            self.world.kill_while(
                place, transactions, lambda: self._answer(device, "colour", transactions)
            )
        self._serve(place)

    @rule(
        which=_contract, question=_question, room=st.sampled_from([0, 4_000, 40_000]),
        posts=st.integers(1, 3),
    )  # fmt: skip
    def full_disk(self, which: int, question: str, room: int, posts: int) -> None:
        """The disk fills up while people send, and is freed again."""
        with self.step(busy=True):
            with self.world.full_disk(room):
                for _ in range(posts):
                    self._post(which, question, [5] * 4, certain=False)
                self._answer(self.world.devices[which % DEVICES], question, 6)
            self.world.close_store()

    @rule(kill=_rarely)
    def migrate(self, kill: bool) -> None:
        """The store is one that an older Rumor left; the next collector brings it up to date."""
        places = [place for place in (0, 1) if self.world.serving[place] is not None]
        with self.step(busy=True):
            for place in places:
                self.world.kill(place, gently=True)
            self.world.age()
            if kill:
                self.world.command(["collections", "list"], brake=2, kill=True)
        for place in places:
            self._serve(place)

    @rule(before=_deeds, beside=_deeds, transactions=st.integers(0, 4), kill=_rarely)
    def upgrade(
        self, before: list[tuple[str, int]], beside: list[tuple[str, int]], transactions: int,
        kill: bool,
    ) -> None:  # fmt: skip
        """Today's collectors take the place of those of the release before, which stay away."""
        older = self.world.older
        if older is None:
            return
        places = [place for place in (0, 1) if self.world.serving[place] is not None]
        contract, known = self._current()
        file = self.world.files[contracts().index(contract)]
        with self.step(busy=True) as step:
            for place in (0, 1):
                self.world.kill(place, gently=True)
            if self.world.age():
                step.registered = None if known else contract.digest
                self._upgrade(file, older, before, beside, transactions, kill)
        for place in places:
            self._serve(place)

    def _upgrade(
        self, file: Path, older: Nursery, before: list[tuple[str, int]],
        beside: list[tuple[str, int]], transactions: int, kill: bool,
    ) -> None:  # fmt: skip
        """Nothing here may look into the store, which would bring it up to date."""

        def served(place: int, nursery: Nursery | None) -> None:
            done = self.world.serve(place, file, nursery)
            assert done.outcome == "done", done

        served(0, older)
        for deed in before:
            self._during(*deed)()
        if transactions:
            self.world.kill_while(0, transactions, self._during("post", 0))
            served(0, older)
        if kill:  # whoever brings the store up to date
            self.world.command(["collections", "list"], brake=2, kill=True)
        served(1, None)
        for deed in beside:
            self._during(*deed)()
        self.world.kill(0)
        late = self.world.serve(0, file, older)
        assert late.outcome == "refused", late
        assert "a store's schema must be at most version 4" in late.said, late
        self.world.tally.upgrades += 1

    # The end

    def teardown(self) -> None:
        try:
            if not self.broken:
                self._deliver_all()
        finally:
            self.world.tally.acknowledged += self.books.acknowledged
            self.world.close()

    def _deliver_all(self) -> None:
        """Whatever waits for a collection that takes reports is delivered in the end."""
        self.world.front.lose_requests = self.world.front.lose_answers = 0
        self._serve(0)
        self.world.start_relay()
        self.world.clock.pass_seconds(2)
        for device in self.world.devices:
            with self.step():
                for _ in range(3):
                    device.client.flush()
            for envelope in device.client.waiting():
                held = self.books.held.get(envelope.contract)
                assert held is None or not held.open or envelope.token is not None, (
                    "a report still waits for a collection that takes reports"
                )
        with self.step():
            for question in QUESTIONS:
                self._seal(question, list(range(CROWD)))  # a crowd for whoever waits for one
        with self.step():
            self._release()
        assert not self.books.at_relay, "a report is lost between relay and collector"
        self.world.close_store()
        for place in (0, 1):
            self.world.kill(place, gently=True)
        self.world.kill_relay(gently=True)
        self.world.intact()
