"""The service, shown: a collector on this machine, devices that answer it, an analyst who asks.

Everything is real but the people: an embedded store, HTTP over the loopback, a client with a
secret and a ledger of its own for each device.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rumor.client.client import Client
from rumor.client.transport import Transport
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.core.plain_text import aligned, percent, wrapped
from rumor.core.randomness import RandomSource, Seeded, System
from rumor.core.types import Progress

_BATCH = 1_000


@dataclass(frozen=True)
class AnalystView:
    """The estimate that the analyst received, with the true shares, which nobody receives."""

    answer: dict[str, Any]
    truth: tuple[float, ...]

    def table(self) -> str:
        """Return true and estimated shares as a table, the most frequent answers first."""
        rows = [
            (f"  {row['value']}", percent(true, 1), percent(row["frequency"], 1), _span(row))
            for row, true in zip(self.answer["estimates"], self.truth, strict=True)
        ]
        rows.sort(key=lambda row: -float(row[1].rstrip("%")))
        return aligned(("", "truth", "estimate", "95% interval"), rows)


@dataclass(frozen=True)
class ServiceDemo:
    """The outcome of a demonstration as a service: devices, collector and analyst."""

    url: str
    digest: str
    devices: int
    reports: int
    duplicates: int
    without_token: str
    """The collector's answer to a request without a token."""
    analyst: AnalystView

    def to_dict(self) -> dict[str, object]:
        """Return the demonstration as plain data for JSON."""
        own = ("url", "devices", "reports", "duplicates", "without_token")
        return {**{name: getattr(self, name) for name in own}, "estimate": self.analyst.answer}

    def text(self) -> str:
        """Return the demonstration as text for a terminal."""
        sentences = [
            f"The same as a service. A collector listened at {self.url} and kept reports in a "
            f"file. {self.devices} devices fetched its contract (digest {self.digest[:12]}...), "
            f"checked it, randomised and sent their reports over HTTP; the reports of the rest of "
            f"the crowd followed in batches of {_BATCH:,}. One device did not hear the answer "
            f"and sent again: the collector said {self.duplicates} duplicate, and counted once.",
            f"Without a token the collector tells nobody anything ({self.without_token}). The "
            f"analyst has one and asks about {self.reports:,} reports:",
        ]
        return "\n".join(
            [
                wrapped(sentences[0]),
                wrapped(sentences[1]),
                "",
                self.analyst.table(),
            ]
        )


def run(
    collection: Collection,
    shares: dict[str, float],
    *,
    devices: int = 50,
    people: int = 20_000,
    seed: int | None = None,
    on_progress: Progress | None = None,
) -> ServiceDemo:
    """Serve a collection of one question to simulated people with these answers, and ask."""
    question = collection.questions[0]
    crowd = np.random.default_rng(seed)
    answers = crowd.choice(len(shares), size=people, p=list(shares.values()))
    labels = list(shares)
    with tempfile.TemporaryDirectory(prefix="rumor-demo-") as place:
        folder = Path(place)
        store = open_store(f"sqlite:///{folder / 'rumor.db'}")
        store.register(collection)
        token = add_token(folder / "tokens", "analyst")
        service = Service(store, collection.series, tokens=Tokens(folder / "tokens"))
        with background(service) as url:
            for number in range(devices):
                with Client(url, folder / f"device-{number}", max_epsilon=2) as client:
                    client.answer({question.id: labels[answers[number]]})
                if on_progress is not None:
                    on_progress(number + 1, people)
            duplicates = _send_twice(url, collection, labels[answers[devices]])
            random: RandomSource = System() if seed is None else Seeded(seed)
            reports = question.mechanism.without_labels().privatize(
                answers[devices + 1 :], random=random
            )
            _send_all(Transport(url), collection, reports, on_progress, devices + 1, people)
            refused = ask(url, question.id, None)
            answer = ask(url, question.id, token)
    return ServiceDemo(
        url,
        collection.digest,
        devices,
        answer["reports"],
        duplicates,
        refused["detail"].partition(";")[0],
        AnalystView(answer, tuple((np.bincount(answers, minlength=len(shares)) / people).tolist())),
    )


def _send_twice(url: str, collection: Collection, answer: str) -> int:
    """Send one respondent's report twice, as a device does that never heard the answer."""
    question = collection.questions[0]
    record = secrets.token_bytes(16) + question.mechanism.report(answer)
    transport = Transport(url)
    sent = [transport.send(collection.digest, question.id, record, 1) for _ in range(2)]
    return 2 - sum(sent)


def _send_all(
    transport: Transport,
    collection: Collection,
    reports: Any,
    on_progress: Progress | None,
    done: int,
    people: int,
) -> None:
    ids = np.frombuffer(secrets.token_bytes(16 * len(reports)), np.uint8).reshape(-1, 16)
    rows = np.concatenate([ids, reports], axis=1)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        transport.send(collection.digest, collection.questions[0].id, batch.tobytes(), len(batch))
        if on_progress is not None:
            on_progress(done + start + len(batch), people)


def ask(url: str, question: str, token: str | None) -> dict[str, Any]:
    """Return the collector's answer to an estimate request with `token`, or without one."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    request = urllib.request.Request(f"{url}/v1/estimates/{question}?of=people", headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as response:
            body = response.read()
    except urllib.error.HTTPError as problem:
        with problem:
            body = problem.read()
    answer: dict[str, Any] = json.loads(body)
    return answer


def _span(row: dict[str, Any]) -> str:
    return f"{percent(row['low'], 1)} to {percent(row['high'], 1)}"
