"""The client for browsers and real collectors: exactly once, offline, refused, closed."""

from __future__ import annotations

import datetime
import http.server
import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rumor.cli import main
from rumor.collector.http.problems import TYPES
from rumor.collector.store.base import open_store
from rumor.contract.admission import admission_keys, new_invitation
from rumor.contract.collection import Collection
from rumor.contract.deletion import report_id
from tests.collector.chaos import Collector
from tests.collector.tools import call, collection, stored
from tests.javascript import parsed, refusals, steps
from tests.listening import Quiet, listening
from tests.needs import needs

needs("node")
QUICK = {"attempts": 3, "pause": 0.01}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Collector, str, Collection]]:
    """`rumor serve` in a process of its own."""
    folder = tmp_path_factory.mktemp("collector")
    contract, store = collection(), f"sqlite:///{folder / 'store.db'}"
    contract.save(folder / "contract.json")
    running = Collector(folder / "contract.json", store)
    yield running, store, contract
    running.kill(signal.SIGTERM)


def test_reports_arrive_once_however_often_they_are_sent(
    served: tuple[Collector, str, Collection],
) -> None:
    running, store, contract = served
    fetched, _, made, before, sent, after, again = steps(
        {"step": "fetch", "url": f"{running.url}/v1/collection", "digest": contract.digest},
        {"step": "open"},
        {"step": "prepare", "answers": {"colour": "red", "many": 7}},
        {"step": "state"},
        {"step": "send", "url": running.url},
        {"step": "pending"},
        {"step": "send", "url": running.url},
    )
    assert fetched == contract.digest
    none = {"pending": 0, "refused": 0, "dropped": 0}
    nothing = {"duplicates": 0, **none, "problem": None, "refusal": None}
    assert {*sent.pop("arrived")} == {"colour", "many"}
    assert sent == {"accepted": 2, **nothing}
    assert after == []
    assert again == {"accepted": 0, **nothing, "arrived": []}
    # A device that never heard the answer sends the same bytes again.
    twice = steps(
        parsed(contract),
        {"step": "open", "state": before},
        {"step": "send", "url": f"{running.url}/"},
        {"step": "spent"},
    )
    assert {*twice[2].pop("arrived")} == {"colour", "many"}
    assert twice[2] == {"accepted": 0, **nothing, "duplicates": 2}
    assert twice[3] == pytest.approx(sum(q.epsilon for q in contract.questions))
    kept = open_store(store)
    (entry,) = kept.collections()
    for envelope in made:
        found = stored(kept, entry, envelope["question"])
        assert found[bytes.fromhex(envelope["id"])].hex() == envelope["report"]
        assert len(found) == 1
    kept.close()


def test_many_reports_of_one_question_go_together(
    served: tuple[Collector, str, Collection],
) -> None:
    running, _, contract = served
    results = steps(
        parsed(contract),
        {"step": "open"},
        *[{"step": "prepare", "answers": {"colour": "blue"}}] * 30,
        {"step": "send", "url": running.url},
    )
    assert results[-1]["accepted"] == 30


def test_a_closed_collection_is_said_to_be_closed(tmp_path: Path) -> None:
    contract, store = collection(), f"sqlite:///{tmp_path / 'store.db'}"
    contract.save(tmp_path / "contract.json")
    running = Collector(tmp_path / "contract.json", store)
    try:
        assert main(["collections", "close", contract.digest, "--store", store]) == 0
        deadline = time.monotonic() + 30  # a running collector notices within a second or so
        while call(running.url, "/v1/collection").json()["open"]:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        parsing, _, _, sent, fetched = steps(
            parsed(contract),
            {"step": "open"},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "send", "url": running.url, **QUICK},
            {"step": "fetch", "url": f"{running.url}/v1/collection"},
        )
    finally:
        running.kill(signal.SIGTERM)
    assert parsing == contract.digest
    # It stays with the person, who paid for it.
    assert (sent["refused"], sent["pending"], sent["refusal"]) == (1, 1, "closed")
    assert "closed" in sent["problem"]
    assert fetched == {
        "error": "a collection must be open to take answers; 'A test' is closed",
        "code": "closed",
    }


# --- Something else where a collector should be ------------------------------------------------


@contextmanager
def impostor(answers: Callable[[], tuple[int, object]]) -> Iterator[str]:
    """A server that says what it is told to say."""

    class Handler(Quiet, http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, document = answers()
            body = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    with listening(Handler) as url:
        yield url


def problem(status: int, kind: str) -> tuple[int, object]:
    body = {"type": f"urn:rumor:problem:{kind}", "status": status, "detail": f"it is {kind}"}
    return status, body


def sent_to(*answers: tuple[int, object]) -> tuple[dict[str, object], int, int]:
    """What becomes of one report; how many requests were made, and what waits afterwards."""
    left, made = list(answers), 0

    def answering() -> tuple[int, object]:
        nonlocal made
        made += 1
        return left.pop(0) if len(left) > 1 else left[0]

    with impostor(answering) as url:
        results = steps(
            parsed(collection()),
            {"step": "open"},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "send", "url": url, **QUICK},
            {"step": "pending"},
        )
    return results[-2], made, len(results[-1])


TAKEN = (200, {"accepted": 1, "duplicates": 0})


def test_what_passes_is_tried_again() -> None:
    for trouble in (problem(503, "unavailable"), problem(429, "rate"), (502, b"<html>")):
        outcome, requests, waiting = sent_to(trouble, trouble, TAKEN)
        assert (outcome["accepted"], requests, waiting) == (1, 3, 0)
        assert outcome["problem"] is None


def test_what_does_not_pass_waits_on_the_device() -> None:
    outcome, requests, waiting = sent_to(problem(500, "failed"))
    assert (outcome["accepted"], outcome["pending"], requests, waiting) == (0, 1, 3, 1)
    assert outcome["problem"] == "it is failed"


@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>Welcome to our hotel</html>"),
        (200, {"accepted": 2, "duplicates": 0}),
        (200, {}),
        (200, []),
        (204, b""),
        (302, b""),
    ],
)
def test_only_a_collectors_answer_is_an_acknowledgement(answer: tuple[int, object]) -> None:
    outcome, _, waiting = sent_to(answer)
    assert (outcome["accepted"], outcome["pending"], waiting) == (0, 1, 1)


@pytest.mark.parametrize("kind", sorted(TYPES))
def test_no_answer_makes_a_client_throw_away_what_was_not_acknowledged(kind: str) -> None:
    outcome, _, waiting = sent_to(problem(TYPES[kind], kind))
    assert (outcome["accepted"], outcome["pending"], waiting) == (0, 1, 1)
    assert outcome["problem"] == f"it is {kind}"


def test_one_refused_report_does_not_hold_up_the_others(tmp_path: Path) -> None:
    replies = [
        (409, {"type": "urn:rumor:problem:id-conflict", "detail": "no", "refused": [1, 7]}),
        (200, {"accepted": 2, "duplicates": 0}),
    ]
    with impostor(lambda: replies.pop(0)) as url:
        results = steps(
            parsed(collection()),
            {"step": "open"},
            *[{"step": "prepare", "answers": {"colour": "blue"}}] * 3,
            {"step": "send", "url": url},
            {"step": "pending"},
        )
    assert (results[-2]["accepted"], results[-2]["refused"], results[-2]["pending"]) == (2, 1, 1)
    made = sorted(envelope["id"] for step in results[2:5] for envelope in step)
    assert [envelope["id"] for envelope in results[-1]] == [made[1]]


def test_a_contract_comes_from_a_collector_that_tells_the_truth() -> None:
    contract = json.loads(collection().canonical())
    for answer, code in (
        ((200, {"digest": "0" * 64, "open": True, "contract": contract}), "digest"),
        ((200, {"digest": collection().digest, "open": False, "contract": contract}), "closed"),
        ((200, {"digest": collection().digest, "open": True}), "contract"),
        ((200, b"hello"), "unreachable"),
        ((404, b"hello"), "unreachable"),
    ):
        with impostor(lambda answer=answer: answer) as url:  # type: ignore[misc]
            results = steps({"step": "fetch", "url": url})
        assert results[0]["code"] == code, results
        assert refusals(results)[0]
    (gone,) = steps({"step": "fetch", "url": url})
    assert gone["code"] == "unreachable"
    assert "cannot be reached" in gone["error"]


def test_reports_of_an_earlier_contract_of_the_series_go_out_as_well(
    served: tuple[Collector, str, Collection],
) -> None:
    running, _, contract = served
    other = collection(name="Revised")
    results = steps(
        parsed(contract, **{"as": "old"}),
        parsed(other, **{"as": "new"}),
        {"step": "open"},
        {"step": "prepare", "of": "old", "answers": {"colour": "red"}},
        {"step": "pending", "of": "new"},
        {"step": "send", "of": "new", "url": running.url},
    )
    assert results[-2] == []
    assert results[-1]["accepted"] == 1


def test_an_invitation_admits_and_only_once(tmp_path: Path) -> None:
    question = {"kind": "choice", "labels": ["red", "green"], "epsilon": 1.0}
    contract = Collection.resolve(
        {
            "name": "Members only",
            "series": "series",
            "contact": "nobody@example.org",
            "admission": "invited",
            "questions": [{"id": id, **question, "reports_per_person": 2} for id in ("a", "b")],
        }
    )
    contract.save(tmp_path / "contract.json")
    url, code, other = f"sqlite:///{tmp_path / 'store.db'}", new_invitation(), new_invitation()
    store = open_store(url)
    store.register(contract)
    for each in (code, other):
        store.admit("series", admission_keys(contract, each))
    running = Collector(tmp_path / "contract.json", url)
    try:
        found = steps(
            {"step": "fetch", "url": f"{running.url}/v1/collection", "digest": contract.digest},
            {"step": "open"},
            {"step": "prepare", "answers": {"a": "red"}},
            {
                "step": "prepare",
                "answers": {"a": "red"},
                "invitation": f"rumor-invitation-{'A' * 24}",
            },
            {"step": "prepare", "answers": {"a": "red", "b": "green"}, "invitation": code},
            {"step": "prepare", "answers": {"a": "red"}, "invitation": code},
            {"step": "send", "url": running.url},
            # Another device with the same invitation comes too late for the first of each.
            {"step": "open", "as": "copy"},
            {"step": "prepare", "by": "copy", "answers": {"a": "red"}, "invitation": code},
            {"step": "send", "by": "copy", "url": running.url},
            {"step": "pending", "by": "copy"},
            {"step": "spent", "by": "copy"},
            {"step": "send", "by": "copy", "url": running.url, "invitation": other},
            {"step": "spent", "by": "copy"},
        )
    finally:
        running.kill(signal.SIGTERM)
    missing, wrong, sent, late = found[2], found[3], found[6], found[9]
    assert (
        missing["error"]
        == "'Members only' is for invited people; give the invitation you were sent"
    )
    assert wrong["code"] == "invitation"
    assert (sent["accepted"], sent["pending"]) == (3, 0)
    assert (late["accepted"], late["refused"], late["pending"]) == (0, 1, 1)
    assert late["refusal"] == "not-admitted"
    assert "not used yet" in late["problem"]
    # With another invitation the same bytes go out, at no further cost.
    waiting, spent, more, spent_after = found[10:]
    assert (more["accepted"], more["pending"], more["refused"], more["problem"]) == (1, 0, 0, None)
    assert spent_after == spent
    (kept,) = waiting
    assert (
        stored(store, store.find(contract.digest), "a")[bytes.fromhex(kept["id"])].hex()
        == (kept["report"])
    )
    assert store.admissions("series") == 1 + 3
    store.close()


def test_what_was_sent_is_taken_back(served: tuple[Collector, str, Collection]) -> None:
    running, url, contract = served
    found = steps(
        parsed(contract),
        {"step": "open"},
        {"step": "prepare", "answers": {"colour": "red", "many": 7}},
        {"step": "send", "url": running.url},
        {"step": "prepare", "answers": {"colour": "red"}},
        {"step": "sent", "series": "series"},
        {"step": "sent", "series": "other"},
        {"step": "state"},
        {"step": "withdraw", "url": f"{running.url}/nowhere"},
        {"step": "withdraw", "url": running.url, "series": "series"},
        {"step": "pending"},
        {"step": "spent"},
        {"step": "withdraw", "url": running.url},
    )
    made, here, elsewhere, state, away, done, pending, spent, again = found[2], *found[5:]
    assert (here, elsewhere) == (3, 0)
    assert (away["left"], away["withdrawn"]) == (3, 0)
    assert "the path must be one of this service" in away["problem"]
    assert done == {"withdrawn": 2, "absent": 1, "left": 0, "problem": None, "refusal": None}
    assert pending == []
    assert spent == pytest.approx(3.0)
    assert again["withdrawn"] == again["absent"] == 0
    store = open_store(url)
    entry = store.find(contract.digest)
    for envelope in made:
        assert bytes.fromhex(envelope["id"]) not in stored(store, entry, envelope["question"])
    store.close()
    # The id is the same hash of the key as everywhere.
    assert all(report_id(bytes.fromhex(row["key"])).hex() == row["id"] for row in state["sent"])


def test_keys_are_forgotten_when_retention_ends() -> None:
    contract = collection(retention=10)
    key = "00" * 16
    names = {"key": key, "series": "series", "contract": contract.digest, "question": "colour"}
    old = {"id": "01" * 16, **names, "number": 0, "retention": 10, "until": 20_000}
    kept = {"id": "02" * 16, **names, "number": 0, "retention": None, "until": None}
    empty = {"rumor": 1, "secret": "00" * 32, "spending": [], "pending": []}
    with impostor(lambda: (200, {"accepted": 1, "duplicates": 0})) as url:
        *_, state = steps(
            parsed(contract),
            {"step": "open", "state": {**empty, "sent": [old, kept]}},
            {"step": "prepare", "answers": {"colour": "red"}},
            {"step": "send", "url": url},
            {"step": "state"},
        )
    rows = {row["id"]: row["until"] for row in state["sent"]}
    assert old["id"] not in rows
    assert rows.pop(str(kept["id"])) is None
    today = (datetime.datetime.now(datetime.UTC).date() - datetime.date(1970, 1, 1)).days
    assert [until - today in (10, 11) for until in rows.values()] == [True]
