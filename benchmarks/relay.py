"""The way through a relay: what a report costs the device, the relay and the gateway.

The gateway opens, checks and stores; beside it stands the library's own call on the same
envelopes, which nobody can do without. The relay keeps envelopes durably; beside it stands the
gateway, which must not wait for it. Reports of 32 bytes, 1,000 envelopes a batch, sealed before
the clock starts; processor time of this process. Of blind admission, the gateway checks a
signature for each report as well.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from benchmarks.harness import Row, Scale, as_ratio, ceiling, fact
from rumor.collector.gateway import Gateway, public_of
from rumor.collector.relay.store import ArrivedEnvelope, RelayStore
from rumor.collector.store.base import BatchAccepted, Store, open_store
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.issuing import MESSAGE_BYTES, new_opening, token_message
from rumor.core.blind_rsa import SecretKey, blind, blind_sign, finalize, verify
from rumor.core.blind_rsa import new_key as new_secret

_WIDTH = 32
_MOST_MICROSECONDS = 200


def run(scale: Scale) -> Iterable[Row]:
    """Microseconds a report: device, relay, gateway, and the library's call alone."""
    count = scale.pick(1_000, 300)
    key = ec.generate_private_key(ec.SECP256R1())
    contract = _contract(public_of(key))
    question = contract.questions[0]
    kind, reports = EnvelopeFormat.of(contract, question), question.mechanism.privatize([1] * count)
    suite = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)
    gateway = Gateway({public_of(key): key}, None)  # type: ignore[arg-type]
    with tempfile.TemporaryDirectory(prefix="rumor-bench-") as place:
        store = open_store(f"sqlite:///{Path(place) / 'store.db'}")
        taken = _taken(gateway, store, contract)
        kept = RelayStore(f"sqlite:///{Path(place) / 'relay.db'}")
        kept.register(contract)

        def sealed() -> list[bytes]:
            return [kind.seal(report_id(new_key()), None, each.tobytes()) for each in reports]

        def relayed(envelopes: list[bytes]) -> None:
            assert all(kept.keep([ArrivedEnvelope(1, each) for each in envelopes]))

        def opened(envelopes: list[bytes]) -> None:
            for each in envelopes:
                suite.decrypt(each, key, kind.info)

        times: dict[str, list[float]] = {"seal": [], "relay": [], "open": [], "gateway": []}
        for _ in range(scale.rounds):
            start = time.process_time()
            envelopes = sealed()
            times["seal"].append((time.process_time() - start) / count)
            for name, work in (("relay", relayed), ("open", opened), ("gateway", taken)):
                times[name].append(_seconds(work, envelopes) / count)
        store.close()
        kept.close()
    best = {name: 1e6 * min(each) for name, each in times.items()}
    yield fact("envelope", "sealed on a device (Python)", best["seal"], f"{best['seal']:.3g} us")
    yield fact("envelope", "kept by a relay", best["relay"], f"{best['relay']:.3g} us")
    what = "opened, checked, stored by a gateway"
    yield ceiling("envelope", what, best["gateway"], "us", _MOST_MICROSECONDS)
    yield _beside_library(best["gateway"], best["open"])
    ours, library = _blind(scale, key, count)
    what = "opened, signature checked, stored by a gateway"
    yield ceiling("envelope", what, ours, "us", _MOST_MICROSECONDS)
    yield _beside_library(ours, library)


def _beside_library(ours: float, library: float) -> Row:
    """What a gateway takes, and what the calls to the library alone take of it."""
    ratio = ours / library
    return Row(
        "envelope",
        f"{ours:.3g} us",
        "the library's calls alone",
        f"{library:.3g} us",
        ratio,
        as_ratio(ratio),
        "<= 1.50x",
        ratio <= 1.5,
    )


def _blind(scale: Scale, key: ec.EllipticCurvePrivateKey, count: int) -> tuple[float, float]:
    """Microseconds a report at a gateway, where each has a token of an issuer.

    Then those of opening an envelope and checking a signature, and nothing else.
    """
    secret = new_secret()
    public = secret.public.to_bytes().hex()
    issuer = {"url": "http://127.0.0.1:9", "keys": {"q": public}}
    contract = _contract(public_of(key), admission="blind", issuer=issuer)
    question = contract.questions[0]
    kind, reports = EnvelopeFormat.of(contract, question), question.mechanism.privatize([1] * count)
    gateway = Gateway({public_of(key): key}, None)  # type: ignore[arg-type]
    signed = [_token(secret) for _ in range(count)]
    pairs = zip(signed, reports, strict=True)
    envelopes = [kind.seal(b"", token, report.tobytes()) for token, report in pairs]
    suite = Suite(KEM.P256, KDF.HKDF_SHA256, AEAD.AES_128_GCM)

    def library(envelopes: list[bytes]) -> None:
        for each, token in zip(envelopes, signed, strict=True):
            suite.decrypt(each, key, kind.info)
            assert verify(secret.public, token[:MESSAGE_BYTES], token[MESSAGE_BYTES:])

    times, alone = [], []
    for _ in range(scale.rounds):
        with tempfile.TemporaryDirectory(prefix="rumor-bench-") as place:
            store = open_store(f"sqlite:///{Path(place) / 'store.db'}")
            times.append(_seconds(_taken(gateway, store, contract), envelopes) / count)
            store.close()
        alone.append(_seconds(library, envelopes) / count)
    return 1e6 * min(times), 1e6 * min(alone)


def _token(secret: SecretKey) -> bytes:
    message = token_message(new_opening())
    hidden = blind(secret.public, message)
    answer = blind_sign(secret, hidden.message)
    return message + finalize(secret.public, message, answer, hidden.inverse)


def _taken(gateway: Gateway, store: Store, contract: Collection) -> Callable[[list[bytes]], None]:
    """All that a gateway does with a batch of good envelopes."""
    entry, question = store.register(contract), contract.questions[0]

    def taken(envelopes: list[bytes]) -> None:
        batches, bad = gateway.open_envelopes(entry, question, b"".join(envelopes))
        assert not bad
        assert store.write(batches) == [BatchAccepted(1, 0)] * len(envelopes)

    return taken


def _seconds(work: Callable[[list[bytes]], None], envelopes: list[bytes]) -> float:
    start = time.process_time()
    work(envelopes)
    return time.process_time() - start


def _contract(key: str, **more: object) -> Collection:
    question = {
        "id": "q",
        "kind": "choice",
        "domain": 8 * _WIDTH,
        "epsilon": 1.0,
        "mechanism": "unary",
    }
    return Collection.resolve(
        {
            "name": "Through a relay",
            "series": "bench",
            "contact": "nobody@example.org",
            "relay": {"url": "http://127.0.0.1:9", "key": key, "crowd": 1000, "days": 1},
            "questions": [question],
            **more,
        }
    )
