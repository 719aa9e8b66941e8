"""Make a collector's store of one schema version, in both databases, by the code of its time.

    git archive COMMIT src | tar -x -C /tmp/code
    export PYTHONPATH=/tmp/code/src:$PWD
    .venv/bin/python tests/old/stores/make_store.py 2 tests/old/stores/v2

The commits are in tests/old/README.md. Only names that every one of them has are used.
"""

from __future__ import annotations

import contextlib
import datetime
import gzip
import hashlib
import importlib
import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import psutil

from rumor import Collection
from tests.collector.postgres import Postgres


def _module(*names: str) -> Any:
    """The first of these modules that this version has."""
    for name in names:
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise ImportError(names)


def _named(holder: Any, *names: str) -> Any:
    """What this version has under one of these names."""
    return next(getattr(holder, name) for name in names if hasattr(holder, name))


_base = _module("rumor.collector.store.base", "rumor.collector.store")
_ingest = _module("rumor.collector.store.ingest", "rumor.collector.sqlstore")
_random = _module("rumor.core.randomness", "rumor.randomness")


def collection(series: str, **more: object) -> Collection:
    """Two questions, the reports of one kept for thirty days."""
    choice = {"kind": "choice", "text": "", "domain": 3, "epsilon": 1.0}
    simple = {**choice, "mechanism": "randomized-response"}
    questions = [
        {**simple, "id": "colour", "retention_days": 30},
        {**choice, "id": "many", "domain": 30, "mechanism": "unary"},
    ]
    about = {"name": f"Old {series}", "series": series, "contact": "old@example.org"}
    return Collection.resolve({**about, "questions": questions, **more})


def batch(entry: Any, question: str, count: int, seed: int, **more: object) -> Any:
    """Reports with ids in front, the same ones in every run."""
    values = [number % 3 for number in range(count)]
    mechanism = entry.collection.question(question).mechanism
    reports = mechanism.privatize(values, random=_random.Seeded(seed))
    names = [hashlib.sha256(f"{seed} {n}".encode()).digest()[:16] for n in range(count)]
    ids = np.frombuffer(b"".join(names), np.uint8).reshape(-1, 16)
    rows = np.concatenate([ids, reports], axis=1)
    return _named(_base, "Batch", "ReportBatch")(entry.questions[question], rows, **more)


def fill(version: int, store: Any) -> None:
    """Write reports of three days: the first expired, the last not counted yet; and tokens."""
    entry = store.register(collection("survey"))
    for seed, (day, count) in enumerate(((1, 7), (40, 5), (41, 3))):
        date = datetime.date(2026, 10, 1) + datetime.timedelta(days=day)
        with mock.patch.object(_ingest, "today", return_value=date):
            store.write([batch(entry, "colour", count, 2 * seed)])
            store.write([batch(entry, "many", count, 2 * seed + 1)])
        if day == 40:
            store.expire(date)
            store.summarize()
    if version >= 2:
        club = store.register(collection("club", admission="invited"))
        keys = [hashlib.sha256(bytes([n])).digest() for n in range(3)]
        store.admit("club", keys)
        with mock.patch.object(_ingest, "today", return_value=datetime.date(2026, 11, 10)):
            store.write([batch(club, "colour", 1, 90, admission=keys[0])])


def contents(store: Any) -> dict[str, Any]:
    """All that a store says of its collections, with everything counted."""
    store.summarize()
    found: dict[str, Any] = {}
    for entry in _named(store, "registered", "collections")():
        questions = {}
        for question in entry.collection.questions:
            summary = store.summary(entry, question.id)
            questions[question.id] = {
                "counted": summary.reports,
                "tally": np.asarray(summary.tally).tolist(),
                "reports": {
                    bytes(id).hex(): [part.day.isoformat(), bytes(report).hex()]
                    for part in store.reports(entry, question.id)
                    for id, report in zip(part.ids, part.reports, strict=True)
                },
                "spent": sorted(
                    bytes(id).hex() for part in store.spent_ids(entry, question.id) for id in part
                ),
            }
        found[entry.collection.digest] = {"state": entry.state, "questions": questions}
    return found


def main(version: int, folder: Path) -> None:
    """Make the folder, which must not exist."""
    folder.mkdir(parents=True)
    path = folder / "store.db"
    with closing(_base.open_store(f"sqlite:///{path}")) as store:
        fill(version, store)
    path.with_name("store.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    with closing(_base.open_store(f"sqlite:///{path}")) as store:
        told = contents(store)
        admissions = store.admissions("club") if version >= 2 else 0
    path.unlink()
    server = Postgres.shared()
    try:
        url = server.new_database()
        with closing(_base.open_store(url)) as store:
            fill(version, store)
        program = Path(psutil.Process(server.pid).exe()).with_name("pg_dump")
        options = ["--schema=rumor", "--inserts", "--no-owner", "--no-privileges", url]
        dump = subprocess.run([program, *options], capture_output=True, check=True, text=True)
        lines = [line for line in dump.stdout.splitlines() if not line.startswith("\\")]
        (folder / "postgresql.sql").write_text("\n".join(lines) + "\n")
        with closing(_base.open_store(url)) as store:
            assert contents(store) == told
    finally:
        server.release()
    made = {"version": version, "collections": told, "admissions": admissions}
    lines = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in made.items()]
    (folder / "expected.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
