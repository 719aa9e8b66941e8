"""A fixed piece of a device's life, which is struck at one of its writes, and what must hold.

A new device makes its secret and its ledger, answers, is offline for a while, starts again,
is asked some of many questions, has tokens signed, takes a new secret, answers once more, and
takes everything back. Its collector is a real one, undisturbed. Whoever is told that something
failed tries again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rumor.client.client import Client
from rumor.client.respondent import Respondent
from rumor.collector.store.base import Store
from rumor.contract.collection import Collection
from rumor.contract.issuing import key_name
from rumor.core.blind_rsa import blind_sign
from rumor.core.errors import InputError, UnavailableError
from tests.faults import shim
from tests.issuers import SECRETS, blind_collection
from tests.machine.books import look, records
from tests.machine.front import Front

_TRIES = 3
_CODE = "rumor-invitation-AAAAAAAAAAAAAAAAAAAAABn3"
# Of sixteen questions, another secret would hardly draw the same two.
_MANY = Collection.resolve(
    {
        "name": "Many",
        "series": "many",
        "contact": "nobody@example.org",
        "ask": {"questions": 2},
        "questions": [
            {"id": f"q{i}", "kind": "choice", "domain": 2, "epsilon": 1.0} for i in range(16)
        ],
    }
)


def run(folder: str, url: str, at: int, mode: int) -> int:
    """In a child: the scenario, struck at a call. What is printed has happened."""
    shim.arm(folder, at, mode)
    client: Client | None = None

    def opened() -> Client:
        nonlocal client
        if client is None:
            client = _client(url, folder)
        return client

    def close() -> None:
        nonlocal client
        if client is not None:
            client.close()
        client = None

    def attempt(name: str, work: Callable[[], object]) -> None:
        for _ in range(_TRIES):
            print(f"begun {name}", flush=True)
            try:
                found = work()
            except (UnavailableError, InputError, OSError) as problem:
                print(f"failed {name}: {problem}", flush=True)
            else:
                print(f"done {name} {found}", flush=True)
                return

    def answer(question: str, value: object) -> None:
        def work() -> object:
            opened().answer({question: value})
            return opened().spent

        attempt("answer", work)

    answer("colour", "red")  # is lost on its way, and waits
    answer("many", 7)
    close()
    answer("colour", "red")
    attempt("draw", lambda: _drawn(folder))
    attempt("enrol", lambda: _enrolled(folder))
    attempt("reset", lambda: _reset(folder))
    attempt("draw", lambda: _drawn(folder))
    close()
    answer("colour", "red")
    attempt("flush", lambda: opened().flush().waiting)
    attempt("withdraw", lambda: opened().withdraw().left)
    close()
    print(f"calls {shim.calls()}", flush=True)
    return 0


def _client(url: str, folder: str) -> Client:
    return Client(url, Path(folder) / "device", attempts=1, timeout=60)


def _reset(folder: str) -> None:
    with Respondent(Path(folder) / "device") as respondent:
        respondent.reset()


def _drawn(folder: str) -> str:
    """What the device is asked of many questions: kept, or drawn now."""
    with Respondent(Path(folder) / "device") as respondent:
        return "-".join(respondent.assignment(_MANY).questions)


def _enrolled(folder: str) -> int:
    """Tokens are made, shown to an issuer and signed; what was shown is printed."""
    contract = blind_collection()
    with Respondent(Path(folder) / "device") as respondent:
        shown, wanted = respondent.enrolment(contract, _CODE)
        for each in wanted:
            print(f"shown {each.key.hex()}-{each.number} {each.blinded.hex()}", flush=True)
        secrets = {key_name(key.public): key for key in SECRETS}
        answers = [blind_sign(secrets[each.key], each.blinded) for each in wanted]
        respondent.enrol(contract, shown, wanted, answers)
        return len(wanted)


def _check_tokens(folder: str, lines: list[str]) -> None:
    """What was once shown to the issuer is what it is shown again, and signed tokens stay."""
    said = {tuple(line.split()[1:]) for line in lines if line.startswith("shown ")}
    assert len({place for place, _ in said}) == len(said), "another token for the same number"
    with Respondent(Path(folder) / "device") as respondent:
        _, wanted = respondent.enrolment(blind_collection(), _CODE)
        again = {(f"{each.key.hex()}-{each.number}", each.blinded.hex()) for each in wanted}
        assert again <= said or not said, "another token for the same number"
        assert not again or not any(line.startswith("done enrol") for line in lines), "one is lost"


def verify(folder: str, front: Front, store: Store, said: str) -> None:
    """After the process has ended: start again, send what waits, and compare the books."""
    lines = said.splitlines()
    begun = lines.count("begun answer")
    done = [line for line in lines if line.startswith("done answer")]
    with _client(front.url, folder) as client:  # the restart is clean
        spent = [float(line.rpartition(" ")[2]) for line in done]
        assert client.spent >= max(spent, default=0.0), "the ledger forgot what was spent"
        receipt = client.flush()
        assert receipt.waiting == 0, receipt
        debited = sum(each.reports for each in client.spending())
        assert client.withdraw().left == 0
        assert client.spent >= max(spent, default=0.0), "what was taken back was refunded"
    _check_tokens(folder, lines)
    drawn = {line.rpartition(" ")[2] for line in lines if line.startswith("done draw")}
    assert len(drawn | ({_drawn(folder)} if drawn else set())) <= 1, "it was drawn anew"
    exchanges, _ = front.drain()
    arrived = {
        id: report for each in exchanges if each.status == 200 for id, report in records(each)
    }
    assert {each.status for each in exchanges if each.status is not None} <= {200}
    assert len(done) <= debited <= begun, (len(done), debited, begun)
    # Every report that was paid for arrived, and no other; none changed between two sendings.
    # Only what was taken back while it still waited never arrives.
    unsent = debited - len(arrived)
    assert unsent == 0 or (unsent > 0 and "begun withdraw" in lines), (len(arrived), debited)
    sent = {(id, report) for each in exchanges for id, report in records(each)}
    assert len(sent) == len(arrived)
    assert sum(each.accepted for each in exchanges) == len(arrived)
    left = [path.name for path in (Path(folder) / "device").glob(".secret*")]
    assert len(left) <= 1, left
    (entry,) = store.collections()
    held = {id for question in entry.questions for id in look(store, entry, question).present}
    assert not held & arrived.keys(), "a report is there that was taken back"
