"""What the tests of the relay share: a collection with one, keys, a relay and a collector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rumor.collector import clock
from rumor.collector.gateway import Gateway, add_key, public_of, read_keys
from rumor.collector.http.server import background, free_port, listen
from rumor.collector.relay.service import RelayService
from rumor.collector.relay.store import EnvelopeBatch, RelayStore
from rumor.collector.service import Service
from rumor.collector.store.base import Store, StoredCollection, open_store, today
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.relay import turn_at

SECRET = bytes(range(1, 33))
"""A private key for tests that need no other."""
PRIVATE = ec.derive_private_key(int.from_bytes(SECRET, "big"), ec.SECP256R1())
PUBLIC = public_of(PRIVATE)
PEM = PRIVATE.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def relayed(
    *, crowd: int = 5, days: int = 3, key: str = PUBLIC, url: str = "http://127.0.0.1:9",
    turn_hours: int | None = None, **more: object,
) -> Collection:  # fmt: skip
    """A collection of two questions that is answered through a relay."""
    each = 1000 if turn_hours is not None else min(1000, crowd - 1)
    rules: dict[str, object] = {"kind": "choice", "epsilon": 1.0, "reports_per_person": each}
    turns = {} if turn_hours is None else {"turn_hours": turn_hours}
    colour = {"id": "colour", "labels": ["red", "green", "blue"]}
    return Collection.resolve(
        {
            "name": "Through a relay",
            "series": "series",
            "contact": "nobody@example.org",
            "relay": {"url": url, "key": key, "crowd": crowd, "days": days, **turns},
            "questions": [
                {**rules, **colour, "mechanism": "randomized-response"},
                {**rules, "id": "many", "domain": 30, "mechanism": "unary"},
            ],
            **more,
        }
    )


def kind_of(
    collection: Collection, question: str = "colour", turn: int | None = None
) -> EnvelopeFormat:
    """The envelopes of a question."""
    return EnvelopeFormat.of(collection, collection.question(question), turn)


def envelopes(
    collection: Collection, count: int, question: str = "colour", turn: int | None = None
) -> list[bytes]:
    """Fresh envelopes, as devices make them."""
    mechanism = collection.question(question).mechanism.without_labels()
    reports = mechanism.privatize([i % 3 for i in range(count)])
    kind = kind_of(collection, question, turn)
    return [kind.seal(report_id(new_key()), None, report.tobytes()) for report in reports]


@dataclass(frozen=True)
class Path3:
    """A relay and a collector that run, with the stores of both."""

    collection: Collection
    relay: RelayService
    relay_url: str
    service: Service
    collector_url: str
    entry: StoredCollection

    def batch(self, question: str = "colour", turn: str | None = None) -> EnvelopeBatch:
        """What the relay keeps of a question, and of a turn that it takes now."""
        return self.relay.batch(self.relay.kind(self.collection.digest, question), turn)

    def release(self) -> None:
        """Let a release of the relay's schedule come, whose period must be the long one.

        Where the contract has turns: the two moments of the last turn and of the current one.
        """
        for time in (1.5e9, 2.5e9):  # the relay's own clock stands in the first of two periods
            self.relay.store.release(time, 1e9, today())
        relay = self.collection.relay
        if relay is not None and relay.turn_hours is not None:
            current = turn_at(clock.now(), relay.turn_hours)
            for turn in (current - 1, current):
                for part in (1.5, 1.96):
                    self.relay.store.release_turns((turn + part) * 3600 * relay.turn_hours)

    @property
    def store(self) -> Store:
        """The collector's store."""
        return self.service.store


@contextmanager
def running(
    folder: Path, store_url: str | None = None, *, every: float = 1e9, look: float = 0.02,
    **said: object,
) -> Iterator[Path3]:  # fmt: skip
    """A relay and a collector in threads; nothing is released unless `every` is short."""
    key = add_key(folder / "gateway.pem")
    token = add_token(folder / "relays", "relay")
    # The contract names the relay's address, so that comes first.
    port = free_port()
    contract = relayed(key=key, url=f"http://127.0.0.1:{port}", **said)  # type: ignore[arg-type]
    store = open_store(store_url or f"sqlite:///{folder / 'store.db'}")
    entry = store.register(contract)
    gateway = Gateway(read_keys(folder / "gateway.pem"), Tokens(folder / "relays"))
    service = Service(store, contract.series, summarize_seconds=0.05, gateway=gateway)
    kept = RelayStore(f"sqlite:///{folder / 'relay.db'}")
    kept.register(contract)
    with background(service) as collector_url:
        relay = RelayService(kept, collector_url, lambda: token, every, look)
        with background(relay, listener=listen("127.0.0.1", port)) as relay_url:
            yield Path3(contract, relay, relay_url, service, collector_url, entry)
