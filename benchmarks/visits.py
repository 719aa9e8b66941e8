"""A visit of the dashboard to open words: an estimate in five forms, over one search for them.

The limit is one core: a search hashes some hundred thousand prefixes at each level. A first visit
makes one search, and so does the first one after new reports; later visits make none.
"""

from __future__ import annotations

import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

import rumor
from benchmarks.harness import Row, Scale, ceiling
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import ReportBatch, Store, StoredCollection, open_store
from rumor.collector.tokens import Tokens, add_token
from rumor.contract.collection import Collection
from rumor.kinds import KINDS
from rumor.mechanisms import OpenWords

_FORMS = ("", "?looks=one", "?rows=10", "?find=word1", "?format=csv")
_WORDS = 300


def run(scale: Scale) -> Iterable[Row]:
    """The processor time of visits, over that of one search."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _visits(Path(folder), scale.pick(100_000, 20_000))


def _visits(folder: Path, people: int) -> Iterator[Row]:
    asked = {"id": "word", "kind": "text", "words": "open", "epsilon": 4.0}
    contract = {"name": "Visits", "series": "visits", "contact": "nobody@example.org"}
    store = open_store(f"sqlite:///{folder / 'store.db'}")
    entry = store.register(Collection.resolve({**contract, "questions": [asked]}))
    _write(store, entry, people, 1)
    headers = {"Authorization": f"Bearer {add_token(folder / 'tokens', 'analyst')}"}

    def visit() -> float:
        start = time.process_time()
        for form in _FORMS:
            request = urllib.request.Request(f"{url}/v1/estimates/word{form}", headers=headers)
            urllib.request.urlopen(request).read()
        return time.process_time() - start

    with background(Service(store, "visits", tokens=Tokens(folder / "tokens"))) as url:
        visit()  # compilers
        one = _search(store, entry)
        later = min(visit() for _ in range(3))
        _write(store, entry, people // 50, 2)
        fresh = visit()
    what = f"searches ({one:.2f} s)"
    yield ceiling("visits", f"a visit after new reports, in {what}", fresh / one, "times", 2.0)
    yield ceiling("visits", f"a visit without new reports, in {what}", later / one, "times", 0.2)
    store.close()


def _search(store: Store, entry: StoredCollection) -> float:
    """The processor time of one search in the counts that are stored."""
    summary = store.summary(entry, "word")
    start = time.process_time()
    KINDS["words"].estimate(summary.mechanism, summary, "auto", {})
    return time.process_time() - start


def _write(store: Store, entry: StoredCollection, people: int, seed: int) -> None:
    """Store the reports of people whose words fall off as one over their rank."""
    mechanism = entry.collection.question("word").mechanism
    assert isinstance(mechanism, OpenWords)
    rng, shares = np.random.default_rng(seed), 1 / np.arange(1, _WORDS + 1)
    codes = rng.choice(_WORDS, people, p=shares / shares.sum())
    words = [f"word{i}" for i in range(_WORDS)]
    reports = mechanism.privatize_coded(words, codes, random=rumor.Seeded(seed))
    ids = rng.integers(0, 256, (people, 16), dtype=np.uint8)
    for start in range(0, people, 10_000):
        part = slice(start, start + 10_000)
        sent = np.concatenate([ids[part], reports[part]], axis=1)
        store.write([ReportBatch(entry.questions["word"], sent)])
