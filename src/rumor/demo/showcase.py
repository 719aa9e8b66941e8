"""A collector to look at: four questions, one of each kind, and simulated people who answer.

For the demonstration, the pictures of the documentation and the tests of the pages. The people
of past days are put into the store as from an export; those of today send over HTTP.
"""

from __future__ import annotations

import datetime
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rumor.client.transport import Transport
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import (
    QuestionContents,
    Store,
    StoredCollection,
    StoredReports,
    open_store,
    today,
)
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.core.randomness import RandomSource, Seeded, System
from rumor.core.reports import Reports
from rumor.demo.crowd import SHARES, demo_collection
from rumor.mechanisms.summary import Summary

# The distributions of the simulated answers, which a real collector never sees.
WORDS = {
    "calm": 0.24,
    "busy": 0.2,
    "tired": 0.16,
    "hopeful": 0.12,
    "lonely": 0.09,
    "anxious": 0.08,
    "joyful": 0.06,
    "grieving": 0.05,
}
_OTHER_WORDS = (
    "angry bored bright brave broken clear cosy dull empty free full gentle grey happy heavy "
    "loud lost lucky messy numb open proud quiet restless sad safe sick slow soft strange "
    "stuck sunny tender tense warm weary wild"
)
DICTIONARY = sorted([*WORDS, *_OTHER_WORDS.split()])
HABITS = {
    "coffee": (0.62, 2.4),
    "tea": (0.41, 1.9),
    "alcohol": (0.27, 1.6),
    "cigarettes": (0.17, 7.2),
    "painkillers": (0.14, 1.4),
    "sleeping pills": (0.06, 1.1),
}
_SLEEP = (6.7, 1.3)
_BATCH = 5_000
# How the demonstration's people come: some every day of the last two weeks, then steadily.
_PAST = {ago: 300 + 40 * (ago * 5 % 7) for ago in range(13, 0, -1)}
_AT_ONCE, _PAUSE, _MOST = 100, 2.0, 200_000


def showcase_collection() -> Collection:
    """Return the contract: a question of each kind, the first of them the demonstration's own."""
    health = demo_collection().questions[0]
    return Collection.resolve(
        {
            "name": "What people keep to themselves",
            "series": "rumor-showcase",
            "contact": "nobody@example.org",
            "questions": [
                {
                    "id": "health",
                    "kind": "choice",
                    "text": health.text,
                    "labels": list(SHARES),
                    "epsilon": health.epsilon,
                    "mechanism": {"name": "unary", "variant": "optimized"},
                    "retention_days": 90,
                },
                {
                    "id": "sleep",
                    "kind": "number",
                    "text": "How many hours did you sleep last night?",
                    "low": 0,
                    "high": 12,
                    "outside": "clip",
                    "epsilon": 1.0,
                    "retention_days": 90,
                },
                {
                    "id": "word",
                    "kind": "text",
                    "text": "Which one word says how this week felt?",
                    "bits": 64,
                    "cohorts": 8,
                    "epsilon": 2.0,
                    "retention_days": 90,
                },
                {
                    "id": "habits",
                    "kind": "keyvalue",
                    "text": "Which of these did you have yesterday, and how many?",
                    "keys": list(HABITS),
                    "low": 0,
                    "high": 20,
                    "outside": "clip",
                    "epsilon": 2.0,
                    "retention_days": 90,
                },
            ],
        }
    )


def crowd(people: int, chance: np.random.Generator) -> dict[str, Any]:
    """Return the true answers of `people` simulated respondents, by question."""
    held = np.array([share for share, _ in HABITS.values()])
    often = np.array([mean for _, mean in HABITS.values()])
    amounts = 1 + chance.poisson(np.broadcast_to(often - 1, (people, len(HABITS))))
    return {
        "health": chance.choice(list(SHARES), size=people, p=list(SHARES.values())),
        "sleep": np.clip(chance.normal(*_SLEEP, size=people), 0, 12),
        "word": chance.choice(list(WORDS), size=people, p=list(WORDS.values())).tolist(),
        "habits": np.where(chance.random((people, len(HABITS))) < held, amounts, np.nan),
    }


class SimulatedPeople:
    """Simulated respondents, whose answers and noise repeat under one seed."""

    def __init__(self, seed: int | None) -> None:
        self._chance, self._seeded = np.random.default_rng(seed), seed is not None

    def _noise(self) -> RandomSource:
        return Seeded(int(self._chance.integers(1 << 62))) if self._seeded else System()

    def reports(self, collection: Collection, people: int) -> dict[str, Reports]:
        """Return the reports of `people` simulated respondents, by question."""
        return {
            id: collection.question(id).mechanism.privatize(values, random=self._noise())
            for id, values in crowd(people, self._chance).items()
        }


@dataclass(frozen=True)
class RunningCollector:
    """A running collector: its address, and an analyst's token."""

    url: str
    token: str
    store: Store
    entry: StoredCollection

    @property
    def answer_url(self) -> str:
        """Where people answer."""
        return f"{self.url}/answer"

    @property
    def dashboard_url(self) -> str:
        """Where the analyst looks; what follows the # stays in the browser."""
        return f"{self.url}/#token={self.token}"


@dataclass(frozen=True)
class Showcase(RunningCollector):
    """A running collector with simulated respondents."""

    people: SimulatedPeople

    def more(self, people: int) -> None:
        """Let more simulated people answer every question over HTTP, now."""
        transport, collection = Transport(self.url), self.entry.collection
        for id, reports in self.people.reports(collection, people).items():
            rows = np.concatenate([_ids(len(reports)), reports], axis=1)
            for start in range(0, len(rows), _BATCH):
                batch = rows[start : start + _BATCH]
                transport.send(collection.digest, id, batch.tobytes(), len(batch))


@contextmanager
def showcase(past: Mapping[int, int], *, seed: int | None = None) -> Iterator[Showcase]:
    """Yield a collector on this machine in a folder that is deleted afterwards.

    `past` maps a number of days ago to the number of people who answered then.
    """
    people = SimulatedPeople(seed)
    with tempfile.TemporaryDirectory(prefix="rumor-showcase-") as place:
        store = open_store(f"sqlite:///{Path(place) / 'rumor.db'}")
        entry = _filled(store, showcase_collection(), past, people)
        token = add_token(Path(place) / "tokens", "analyst")
        service = Service(
            store,
            entry.collection.series,
            tokens=Tokens(Path(place) / "tokens"),
            dictionary=DICTIONARY,
        )
        with background(service) as url:
            yield Showcase(url, token, store, entry, people)


def stay() -> None:
    """Print where to look, and let people go on answering until Ctrl-C.

    A window that is closed counts as Ctrl-C, so that nothing is left behind.
    """

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    try:
        with showcase(_PAST) as running:
            print(
                f"\nNow in the browser, until Ctrl-C:\n"
                f"  answer for yourself   {running.answer_url}\n"
                f"  the dashboard         {running.dashboard_url}\n"
                f"{_AT_ONCE} simulated people answer every {_PAUSE:g} seconds; watch the "
                f"intervals shrink.",
                flush=True,
            )
            for _ in range(_MOST // _AT_ONCE):
                running.more(_AT_ONCE)
                time.sleep(_PAUSE)
            while True:
                time.sleep(3600)
    except KeyboardInterrupt:
        print("\nThe collector has stopped, and its reports are deleted.")


def _filled(
    store: Store, collection: Collection, past: Mapping[int, int], people: SimulatedPeople
) -> StoredCollection:
    """Return a collection with a past: the reports of some days."""
    made = {
        today() - datetime.timedelta(days=ago): people.reports(collection, number)
        for ago, number in past.items()
    }
    contents = {}
    for question in collection.questions:
        empty = Summary.empty(question.mechanism, contract=collection.digest, question=question.id)
        rows = {day: reports[question.id] for day, reports in made.items()}
        contents[question.id] = QuestionContents(
            iter([StoredReports(day, _ids(len(each)), each) for day, each in rows.items()]),
            iter(()),
            {day: empty.update(each) for day, each in rows.items()},
        )
    return store.restore(collection, contents, open=True)


def _ids(number: int) -> Reports:
    return np.frombuffer(secrets.token_bytes(16 * number), np.uint8).reshape(-1, 16)
