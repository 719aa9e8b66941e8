"""What strangers can hand to Rumor, as functions of bytes: each refuses with a sentence, or reads.

A target returns for every input; whatever it raises is a finding. What it reads must mean one
thing: it is written and read once more and compared.
"""

from __future__ import annotations

import base64
import functools
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rumor.analysis.sources import ParquetSource
from rumor.collector import backup
from rumor.collector.http.issuing import parse_tokens
from rumor.collector.http.limits import Limits
from rumor.collector.http.problems import Problem
from rumor.collector.http.wire import (
    binary_rows,
    decompressed,
    json_rows,
    parse_json,
    parse_withdrawal,
)
from rumor.collector.issuing import IssuerService
from rumor.collector.store.base import open_store
from rumor.contract.collection import Collection
from rumor.contract.report_file import ReportFile, write_reports
from rumor.core.errors import InputError
from rumor.mechanisms.summary import Summary
from tests.collector.tools import as_json
from tests.machine.contracts import BLIND, KEYS, contracts
from tests.machine.quick import new_folder

Target = Callable[[bytes], None]
_LIMITS = Limits(body_bytes=20_000, json_reports=50, binary_reports=200)


def contract(data: bytes) -> None:
    """A contract, as a device gets it from a collector it does not trust."""
    try:
        found = Collection.from_json(data)
    except InputError as problem:
        _one_sentence(problem)
        return
    again = Collection.from_json(found.canonical())
    assert again == found
    assert again.canonical() == found.canonical()
    for question in found.questions:
        assert question.mechanism.epsilon > 0


def summary(data: bytes) -> None:
    """A summary, as somebody sends it to be merged."""
    try:
        found = Summary.from_bytes(data)
    except InputError as problem:
        _one_sentence(problem)
        return
    assert found.to_bytes() == data
    assert found.reports >= 0
    try:
        double = found + found
    except InputError:
        return  # more reports than a summary may hold
    assert double.reports == 2 * found.reports


def body(data: bytes) -> None:
    """A body of reports, keys or tokens: the first byte says of which question, and how."""
    if not data:
        return
    question = contracts()[0].questions[data[0] & 1]
    encoding = "gzip" if data[0] & 2 else ""
    try:
        plain = decompressed(data[1:], encoding, _LIMITS.body_bytes)
        if data[0] & 8:
            ids = parse_withdrawal(plain, _LIMITS)[1]
            assert 0 < len(ids) <= _LIMITS.json_reports
            return
        if data[0] & 16:
            credential, wanted = parse_tokens(plain)
            _issuing()._check(credential, wanted)
            return
        if data[0] & 4:
            sent = parse_json(plain, _LIMITS)
            if sent.question != question.id:
                return
            rows = json_rows(sent.reports, question)
        else:
            rows = binary_rows(plain, question, _LIMITS)
    except Problem as problem:
        _one_refusal(problem)
        return
    # What is taken is what can be counted, and the other way of sending it says the same.
    assert question.mechanism.validate(np.ascontiguousarray(rows[:, 16:])).all
    question.mechanism.tally(np.ascontiguousarray(rows[:, 16:]))
    if data[0] & 4:
        assert (binary_rows(rows.tobytes(), question, _LIMITS) == rows).all()
    elif len(rows) <= _LIMITS.json_reports:
        document = json.dumps(as_json(question.id, rows)).encode()
        assert (json_rows(parse_json(document, _LIMITS).reports, question) == rows).all()


@functools.cache
def _issuing() -> IssuerService:
    """An issuer that is asked what it would refuse, and never signs."""
    store = open_store(f"sqlite:///{_folder() / 'issuer.db'}")
    store.close()
    return IssuerService(store, contracts()[BLIND], KEYS)


def reports(data: bytes) -> None:
    """A reports file, as somebody hands it to an analyst or puts it into a backup."""
    collection = contracts()[0]
    with _file(data) as path:
        try:
            source = ParquetSource(path, collection)
            for part in source.parts():
                for batch in part.batches():
                    mechanism = source.question.mechanism
                    if mechanism.validate(batch.reports).all:
                        mechanism.tally(np.ascontiguousarray(batch.reports))
        except InputError as problem:
            _one_sentence(problem)
        try:
            opened = ReportFile.open(path)
            for question in collection.questions:
                if question.id == opened.question:
                    opened.require(collection, question)
                    for stored in backup.stored_in([opened]):
                        assert stored.ids.shape == (len(stored.reports), 16)
        except InputError as problem:
            _one_sentence(problem)


def _one_refusal(problem: Problem) -> None:
    assert 400 <= problem.status < 500
    assert problem.detail
    assert "\n" not in problem.detail
    assert json.loads(problem.body())["status"] == problem.status


def _one_sentence(problem: InputError) -> None:
    assert str(problem)
    assert "\n" not in str(problem)


@functools.cache
def _folder() -> Path:
    return new_folder("fuzz")


@contextmanager
def _file(data: bytes) -> Iterator[Path]:
    path = _folder() / "reports.parquet"
    path.write_bytes(data)
    yield path


TARGETS: Mapping[str, Target] = {
    "contract": contract,
    "summary": summary,
    "body": body,
    "reports": reports,
}


def seeds(name: str) -> list[bytes]:
    """Inputs that are valid, for a search to begin with."""
    return {"contract": _contracts, "summary": _summaries, "body": _bodies, "reports": _files}[
        name
    ]()


def _examples() -> list[Collection]:
    folder = Path(__file__).parents[2] / "examples"
    return [*contracts(), *(Collection.load(path) for path in sorted(folder.glob("*.toml")))]


def _contracts() -> list[bytes]:
    return [each.canonical() for each in _examples()]


def _summaries() -> list[bytes]:
    found = []
    for each in _examples():
        for question in each.questions:
            empty = Summary.empty(question.mechanism, contract=each.digest, question=question.id)
            if len(empty.to_bytes()) < 3_000:
                found.append(empty.to_bytes())
    for question in contracts()[0].questions:
        mechanism = question.mechanism
        some = Summary.empty(mechanism, contract=contracts()[0].digest, question=question.id)
        found.append(some.update(np.zeros((3, mechanism.width), np.uint8)).to_bytes())
    return found


def _rows(width: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    rows = np.zeros((3, 16 + width), np.uint8)
    rows[:, :16] = np.arange(48, dtype=np.uint8).reshape(3, 16)
    return rows


def _bodies() -> list[bytes]:
    found = []
    for place, question in enumerate(contracts()[0].questions):
        rows = _rows(question.mechanism.width)
        for kind, plain in (
            (0, rows.tobytes()),
            (4, json.dumps(as_json(question.id, rows)).encode()),
        ):
            found.append(bytes([place + kind]) + plain)
            found.append(bytes([place + kind + 2]) + gzip.compress(plain, mtime=0))
        keys = [base64.b64encode(row[:16].tobytes()).decode() for row in rows]
        token = {"key": keys[0], "number": 0, "blinded": base64.b64encode(bytes(256)).decode()}
        asked = {"credential": base64.b64encode(bytes(32)).decode(), "tokens": [token]}
        found.append(b"\x10" + json.dumps(asked).encode())
        found.append(b"\x08" + json.dumps({"question": question.id, "keys": keys}).encode())
    return found


def _files() -> list[bytes]:
    import datetime

    found = []
    for question in contracts()[0].questions:
        rows = _rows(question.mechanism.width)
        path = _folder() / "seed.parquet"
        with write_reports(path, contracts()[0], question) as writer:
            for day in (1, 2):
                reports = np.ascontiguousarray(rows[:, 16:])
                ids = np.ascontiguousarray(rows[:, :16]) + np.uint8(day)
                writer.write(reports, datetime.date(2026, 3, day), ids=ids)
        found.append(path.read_bytes())
    return found
