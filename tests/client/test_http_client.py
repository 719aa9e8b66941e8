"""The client of a collector: on the device, exactly once, and never lost."""

from __future__ import annotations

import contextlib
import dataclasses
import http.server
import io
import json
import os
import pty
import stat
import subprocess
import sys
import textwrap
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import rumor
from rumor.cli import main
from rumor.client.client import Receipt
from rumor.collector.http.problems import TYPES
from rumor.collector.http.server import background
from rumor.collector.service import Service
from rumor.collector.store.base import Store, open_store
from rumor.contract.collection import Collection
from rumor.kinds import KINDS
from tests.collector.tools import collection, stored
from tests.listening import Quiet, listening


@contextmanager
def serving(store: Store) -> Iterator[str]:
    with background(Service(store, "series")) as url:
        yield url


@pytest.fixture
def store(tmp_path: Path) -> Store:
    opened = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    opened.register(collection())
    return opened


Answering = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def impostor(answering: Answering) -> Iterator[str]:
    """Something else where a collector should be."""

    class Handler(Quiet, http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answering(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            answering(self)

    with listening(Handler, http.server.HTTPServer) as url:
        yield url


def reply(status: int, body: bytes, **headers: str) -> Answering:
    def answering(handler: http.server.BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body)

    return answering


def problem(status: int, kind: str) -> Answering:
    body = {"type": f"urn:rumor:problem:{kind}", "status": status, "detail": f"it is {kind}"}
    return reply(status, json.dumps(body).encode())


class TestDelivery:
    def test_answers_arrive_as_reports_of_their_questions(
        self, store: Store, tmp_path: Path
    ) -> None:
        with serving(store) as url:
            with rumor.Client(url, tmp_path / "device", max_epsilon=3) as client:
                assert client.answer({"colour": "red", "many": 7}) == Receipt(2, 0, 0)
                assert client.spent == pytest.approx(2.0, abs=1e-9)
                assert client.collection() == collection()
            store_again = open_store(f"sqlite:///{tmp_path / 'store.db'}")
            entry = store_again.collections()[0]
            assert len(stored(store_again, entry, "colour")) == 1
            assert len(stored(store_again, entry, "many")) == 1
            store_again.close()

    def test_offline_answers_wait_on_disk_and_go_out_later(
        self, store: Store, tmp_path: Path
    ) -> None:
        device = tmp_path / "device"
        with serving(store) as url, rumor.Client(url, device) as client:
            client.answer({"colour": "red"})
        # Gone: the contract was seen before, so answers can still be given.
        with rumor.Client(url, device, attempts=1) as client:
            receipt = client.answer({"colour": "blue"})
            assert (receipt.sent, receipt.waiting) == (0, 1)
            assert receipt.problem is not None
            assert "cannot be reached" in receipt.problem
            (waiting,) = client.waiting()
        # Back, and at the same place.
        again = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        with at_the_same_place(again, url), rumor.Client(url, device) as client:
            assert client.flush() == Receipt(1, 0, 0)
            assert client.flush() == Receipt(0, 0, 0)
        kept = open_store(f"sqlite:///{tmp_path / 'store.db'}")
        entry = kept.collections()[0]
        assert stored(kept, entry, "colour")[waiting.id] == waiting.report
        assert len(stored(kept, entry, "colour")) == 2
        kept.close()

    def test_an_answer_that_was_lost_is_asked_for_again_and_counts_once(
        self, store: Store, tmp_path: Path
    ) -> None:
        with serving(store) as url, rumor.Client(url, tmp_path / "device") as client:
            envelopes = client._respondent.prepare(client.collection(), {"colour": "red"})
            records = envelopes[0].id + envelopes[0].report
            client._transport.send(envelopes[0].contract, "colour", records, 1)
            # As far as the device knows, nothing has arrived.
            assert client.flush() == Receipt(1, 0, 0)
            store.summarize()
            assert store.summary(store.collections()[0], "colour").reports == 1

    def test_it_tries_again_with_pauses(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pauses: list[float] = []
        monkeypatch.setattr("rumor.client.client.time.sleep", pauses.append)
        answers = [
            problem(503, "unavailable"),
            reply(429, b"{}", Retry_After="3"),
            reply(200, b'{"accepted": 1, "duplicates": 0}'),
        ]
        with (
            impostor(lambda handler: answers.pop(0)(handler)) as url,
            rumor.Client(url, tmp_path, collection()) as client,
        ):
            assert client.answer({"colour": "red"}) == Receipt(1, 0, 0)
        assert len(pauses) == 2
        # No earlier than the collector asks for, and up to six tenths later.
        assert 0.25 <= pauses[0] <= 0.4
        assert 3 <= pauses[1] <= 4.8

    def test_a_closed_collection_is_not_answered(self, store: Store, tmp_path: Path) -> None:
        store.close_collection(collection().digest)
        with serving(store) as url:
            with (
                rumor.Client(url, tmp_path / "device") as client,
                pytest.raises(rumor.InputError, match="must be open to take answers"),
            ):
                client.answer({"colour": "red"})
            with rumor.Client(url, tmp_path / "device", collection()) as client:
                receipt = client.answer({"colour": "red"})
                # It stays with the person, who paid for it and is told in plain words.
                assert (receipt.sent, receipt.waiting, receipt.refused) == (0, 1, 1)
                assert "closed and takes no more reports; yours stay" in str(receipt.problem)
                assert client.spent == pytest.approx(1.0)

    @pytest.mark.parametrize("kind", sorted(TYPES))
    def test_no_answer_makes_a_client_throw_away_what_was_not_acknowledged(
        self, tmp_path: Path, kind: str
    ) -> None:
        for refused in ([], [0], [0, 1, 2], [7, -1]):
            detail = {"type": f"urn:rumor:problem:{kind}", "detail": "no", "refused": refused}
            with (
                impostor(reply(TYPES[kind], json.dumps(detail).encode())) as url,
                rumor.Client(url, tmp_path / url[-5:], collection(), attempts=1) as client,
            ):
                client.answer({"colour": "red"})
                receipt = client.answer({"colour": "red"})
                assert (receipt.sent, receipt.waiting) == (0, 2)
                assert receipt.problem
                assert len(client.waiting()) == 2

    def test_a_contract_that_is_refused_is_one_sentence(self, tmp_path: Path) -> None:
        with (
            impostor(problem(409, "unknown-collection")) as url,
            rumor.Client(url, tmp_path, attempts=1) as client,
            pytest.raises(rumor.InputError, match="a collector must serve its contract"),
        ):
            client.answer({"colour": "red"})

    def test_one_refused_report_does_not_hold_up_the_others(self, tmp_path: Path) -> None:
        seen: list[int] = []

        def answering(handler: http.server.BaseHTTPRequestHandler) -> None:
            count = int(handler.headers["Content-Length"]) // 17
            seen.append(count)
            if len(seen) == 1:
                detail = {"type": "urn:rumor:problem:id-conflict", "detail": "no", "refused": [1]}
                reply(409, json.dumps(detail).encode())(handler)
            else:
                reply(200, b'{"accepted": %d, "duplicates": 0}' % count)(handler)

        with impostor(answering) as url:
            with rumor.Client("http://127.0.0.1:9", tmp_path, collection(), attempts=1) as away:
                for _ in range(3):
                    away.answer({"colour": "red"})
            (tmp_path / "collectors").rename(tmp_path / "gone")
            with rumor.Client(url, tmp_path, collection()) as client:
                receipt = client.flush()
        assert (receipt.sent, receipt.waiting, receipt.refused) == (2, 1, 1)
        assert seen == [3, 2]


@contextmanager
def at_the_same_place(store: Store, url: str) -> Iterator[None]:
    """A collector at a URL where one was before."""
    from rumor.collector.http.server import Server, listen

    host, _, port = url.removeprefix("http://").partition(":")
    ready = threading.Event()
    listener = listen(host, int(port))
    server = Server(Service(store, "series"), listener, lambda url: ready.set())
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    assert ready.wait(30)
    yield
    server.should_exit = True
    thread.join()
    listener.close()


class TestTrust:
    def test_the_contract_must_have_its_digest(self, tmp_path: Path) -> None:
        served = {"digest": "0" * 64, "open": True, "contract": collection().contract()}
        with (
            impostor(reply(200, json.dumps(served).encode())) as url,
            rumor.Client(url, tmp_path) as client,
            pytest.raises(rumor.InputError, match="must have the digest it says"),
        ):
            client.answer({"colour": "red"})

    def test_the_application_may_pin_the_digest(self, store: Store, tmp_path: Path) -> None:
        with serving(store) as url:
            with rumor.Client(url, tmp_path / "a", digest=collection().digest) as client:
                assert client.answer({"colour": "red"}).sent == 1
            with (
                rumor.Client(url, tmp_path / "b", digest="0" * 64) as client,
                pytest.raises(rumor.InputError, match="must have the digest '0000"),
            ):
                client.answer({"colour": "red"})
        with pytest.raises(rumor.InputError, match="must have the digest '0000"):
            rumor.Client(url, tmp_path / "c", collection(), digest="0" * 64)

    @pytest.mark.parametrize(
        "answering",
        [
            reply(200, b"<html>Welcome to the hotel</html>"),
            reply(200, b'{"accepted": 5, "duplicates": 0}'),
            reply(200, b'{"accepted": true}'),
            reply(204, b""),
            reply(302, b"", Location="http://127.0.0.1:9/"),
            reply(404, b"nothing here"),
            reply(500, b'{"type": "about:blank"}'),
            problem(503, "unavailable"),
        ],
    )
    def test_only_a_collector_acknowledges(self, tmp_path: Path, answering: Answering) -> None:
        with (
            impostor(answering) as url,
            rumor.Client(url, tmp_path, collection(), attempts=1) as client,
        ):
            receipt = client.answer({"colour": "red"})
            assert (receipt.sent, receipt.waiting, receipt.refused) == (0, 1, 0)
            assert receipt.problem

    @pytest.mark.parametrize("status", [200, 500])
    def test_an_endless_answer_is_not_gathered(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
    ) -> None:
        most, piece = 1 << 18, b" " * (1 << 18)
        monkeypatch.setattr("rumor.client.transport._MAX_ANSWER", most)

        def endless(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(status)
            handler.end_headers()
            with contextlib.suppress(ConnectionError):
                for _ in range(100):
                    handler.wfile.write(piece)

        with (
            impostor(endless) as url,
            rumor.Client(url, tmp_path, collection(), attempts=1) as client,
        ):
            tracemalloc.start()
            try:
                assert client.answer({"colour": "red"}).waiting == 1
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
        assert peak < 16 * most

    def test_the_device_keeps_its_own_limit(self, store: Store, tmp_path: Path) -> None:
        with serving(store) as url, rumor.Client(url, tmp_path / "d", max_epsilon=1.5) as client:
            client.answer({"colour": "red"})
            with pytest.raises(rumor.InputError, match=r"at most epsilon 1\.5"):
                client.answer({"colour": "red"})

    def test_reports_go_to_the_collector_they_were_made_for(
        self, store: Store, tmp_path: Path
    ) -> None:
        device = tmp_path / "device"
        other = Collection.resolve(
            {
                "name": "other",
                "series": "other",
                "contact": "x",
                "questions": [{"id": "q", "kind": "choice", "domain": 2, "epsilon": 1.0}],
            }
        )
        with rumor.Client("http://127.0.0.1:9", device, other, attempts=1) as away:
            assert away.answer({"q": 1}).waiting == 1
        with serving(store) as url, rumor.Client(url, device) as client:
            assert client.answer({"colour": "red"}) == Receipt(1, 0, 0)
        with rumor.Client("http://127.0.0.1:9", device, other, attempts=1) as away:
            assert len(away.waiting()) == 1

    @pytest.mark.parametrize("url", ["ftp://x", "collector.example", "http://", "http://x?y=1"])
    def test_other_urls_are_refused(self, tmp_path: Path, url: str) -> None:
        with pytest.raises(rumor.InputError, match="a collector's URL must be"):
            rumor.Client(url, tmp_path)

    def test_without_a_contract_nothing_is_made(self, tmp_path: Path) -> None:
        with (
            rumor.Client("http://127.0.0.1:9", tmp_path) as client,
            pytest.raises(
                rumor.InputError, match="a first answer needs the contract, and nothing was made"
            ),
        ):
            client.answer({"colour": "red"})


def test_a_thin_client_loads_nothing_heavy(store: Store, tmp_path: Path) -> None:
    script = """
        import sys, rumor
        with rumor.Client(sys.argv[1], sys.argv[2]) as client:
            assert client.answer({"colour": "red"}).sent == 1
        heavy = {"numba", "scipy", "pyarrow", "pandas", "altair", "starlette", "msgspec"}
        print(sorted(heavy & set(sys.modules)))
    """
    with serving(store) as url:
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), url, str(tmp_path / "device")],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.strip() == "[]"


Answered = Callable[..., tuple[int, str, str]]


@pytest.fixture
def answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Answered:
    """`rumor answer` with this standard input: its status and what it says."""

    def answered(*arguments: str, given: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        status = main(["answer", *arguments, "--state-dir", str(tmp_path / "device")])
        said = capsys.readouterr()
        return status, said.out, said.err

    return answered


def test_the_command_answers(store: Store, answer: Answered) -> None:
    with serving(store) as url:
        status, out, _ = answer(url, "--json", given='{"colour": "red", "many": 3}')
        assert (status, json.loads(out)["sent"]) == (0, 2)
        assert answer(url, given="colour=red\n\n")[1].startswith("1 report sent, 0 pending")
        assert answer(url, "colour", given="green\n")[1].startswith("1 report sent, 0 pending")
        # Nothing to answer: what waits is sent.
        assert answer(url)[:2] == (0, "0 reports sent, 0 pending; total epsilon spent: 4\n")
        for arguments, given, sentence in (
            (
                [],
                "colour=purple",
                "line 1 of the standard input: a label must be one of",
            ),
            ([], "\nmany=many", "line 2 of the standard input: values must be integers from 0 to"),
            ([], "smell=red", "a question must be named as one of colour, many; got another name"),
            ([], "colour", "an answer must be QUESTION=VALUE; got no '='"),
            ([], "colour=red\ncolour=red", "line 2 of the standard input: a question must be"),
            ([], '{"colour": "red", "colour": "red"}', "one JSON object of questions and answers"),
            ([], '{"colour": "red"', "one JSON object of questions and answers"),
            ([], '{"colour": "purple"}', "question 'colour': a label must be one of the domain"),
            (
                [],
                '{"smell": "red"}',
                "a question must be named as one of colour, many; got another",
            ),
            (["colour"], "purple\n", "question 'colour': a label must be one of the domain"),
            (["colour"], "", "question 'colour': its answer must be a line of the standard input"),
            (["smell"], "red\n", "a question must be named as one of colour, many; got another"),
            (["colour", "colour"], "red\nred\n", "a question must be answered once"),
        ):
            status, out, err = answer(url, *arguments, given=given)
            assert (status, out) == (2, "")
            assert err.startswith("rumor: ")
            assert sentence in err
            assert err.count("\n") == 1
            assert "purple" not in err
    status, out, _ = answer(url, given="colour=red")
    assert status == 1
    assert "0 reports sent, 1 pending" in out
    assert "cannot be reached" in out


def test_answers_are_refused_as_arguments(answer: Answered) -> None:
    status, out, err = answer("http://127.0.0.1:9", "colour=purple")
    assert (status, out) == (2, "")
    assert err.startswith("rumor: answers must not be arguments, which other users of this machine")
    assert "name the question alone and you are asked" in err
    assert "purple" not in err


def test_on_a_terminal_the_command_asks_again_and_skips(store: Store, tmp_path: Path) -> None:
    """A line that is no answer is asked for again; an empty one skips the question."""
    ours, theirs = pty.openpty()
    with serving(store) as url:
        asked = subprocess.Popen(
            [sys.executable, "-m", "rumor", "answer", url, "--state-dir", str(tmp_path / "device")],
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.write(ours, b"purple\nred\n\n")
        out, err = asked.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    assert (asked.returncode, out) == (0, "1 report sent, 0 pending; total epsilon spent: 1\n")
    assert err == (
        "colour (one of red, green, blue)\n"
        "> rumor: a label must be one of the domain's (red, green, blue); got another text\n"
        "> many (an integer from 0 to 29)\n"
        "> "
    )


def test_a_revision_that_costs_more_needs_a_yes(tmp_path: Path, answer: Answered) -> None:
    first = dataclasses.replace(collection(), series_epsilon=2.5)
    dearer = dataclasses.replace(first, revision=2, previous=first.digest, series_epsilon=9.0)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(first)
    with serving(store) as url:
        assert answer(url, given="colour=red")[0] == 0
        assert answer(url, given="colour=red")[0] == 0
        status, _, err = answer(url, given="colour=red")
        assert (status, "consent" in err) == (2, False)  # this contract asks for no more
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    store.register(dearer, revise=True)
    with serving(store) as url:
        status, _, err = answer(url, given="colour=red")
        assert status == 2
        assert "revision 2 asks for up to 9, and that needs your consent" in err
        status, out, _ = answer(url, "--agree", given="colour=red")
        assert (status, out) == (0, "1 report sent, 0 pending; total epsilon spent: 3\n")


@pytest.mark.parametrize("end", ["", "/", "/answer", "/answer/", "/answer?lang=ja", "/answer#x"])
def test_the_address_of_the_answer_page_is_the_collectors(
    store: Store, tmp_path: Path, answer: Answered, end: str
) -> None:
    with serving(store) as url:
        with rumor.Client(url + end, tmp_path / "other") as client:
            assert client.answer({"colour": "red"}).sent == 1
        assert answer(url + end, given="colour=red")[0] == 0


@pytest.mark.parametrize("end", ["/elsewhere", "/v1", "/answer/more", "/?a=b", ":nowhere", "]"])
def test_other_addresses_end_in_a_sentence(store: Store, answer: Answered, end: str) -> None:
    with serving(store) as url:
        status, out, err = answer(url + end, given="colour=red")
    assert (status, out) == (2, "")
    assert err.startswith("rumor: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("maps:0.5", {"maps": 0.5}),
        ("maps:0.5, mail:2", {"maps": 0.5, "mail": 2.0}),
        ("mail:1e999", {"mail": float("inf")}),
        ("", {}),
        ("none", {}),
    ],
)
def test_pairs_are_typed_with_colons(text: str, value: object) -> None:
    contract = numeric_collection()
    mechanism, kind = contract.question("uses").mechanism, KINDS["keyvalue"]
    assert kind.parse_answer(mechanism, text) == value
    for wrong in ("maps=3", "maps:much", "maps:nan"):
        with pytest.raises(rumor.InputError, match="must be KEY:NUMBER"):
            kind.parse_answer(mechanism, wrong)
    with pytest.raises(rumor.InputError, match="each key once"):
        kind.parse_answer(mechanism, "maps:1,maps:2")
    assert kind.hint(mechanism).startswith("KEY:NUMBER, KEY:NUMBER... or none; keys maps, mail;")


def numeric_collection() -> Collection:
    """A number, and pairs of which at most one is drawn from."""
    common: dict[str, object] = {"low": 0, "high": 3, "epsilon": 1.0, "reports_per_person": 99}
    capped = {"name": "item-sampling"}
    return Collection.resolve(
        {
            "name": "x",
            "series": "series",
            "contact": "x",
            "questions": [
                {"id": "hours", "kind": "number", **common},
                {"id": "uses", "kind": "keyvalue", "keys": ["maps", "mail"], "cap": 1,
                 "mechanism": capped, **common},
            ],
        }
    )  # fmt: skip


def test_a_person_is_told_how_an_answer_was_taken(tmp_path: Path, answer: Answered) -> None:
    """A number outside is clipped on a device, whatever `outside` says of tables."""
    store = open_store(f"sqlite:///{tmp_path / 'numbers.db'}")
    store.register(numeric_collection())
    clipped = "question 'hours': the number lies outside 0 to 3 and was taken as the nearest end"
    pairs = "question 'uses': some numbers lie outside 0 to 3 and were taken as the nearest end"
    over = "question 'uses': more than 1 keys are held, and the report draws from all of them"
    with serving(store) as url:
        with rumor.Client(url, tmp_path / "other") as client:
            assert client.answer({"hours": 1, "uses": {"maps": 3}}).notes == ()
            receipt = client.answer({"hours": 10**9999, "uses": {"maps": 1, "mail": -2}})
            assert receipt == Receipt(2, 0, 0, None, (clipped, pairs, over))
        status, out, _ = answer(url, given="hours=77.25")
        assert (status, out.splitlines()[0]) == (0, clipped)
        assert "77" not in out
        long = "9" * 9999
        for given in (f"hours={long}", f'{{"hours": {long}}}', f'{{"hours": -{long}}}'):
            assert answer(url, given=given)[1].splitlines()[0] == clipped
        assert json.loads(answer(url, "--json", given='{"hours": -1}')[1])["told"] == [clipped]


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX systems")
def test_only_the_owner_can_read_what_a_device_keeps(store: Store, tmp_path: Path) -> None:
    """Also in a folder that is there already, under any umask, and of older versions."""
    state = tmp_path / "device"
    state.mkdir(mode=0o755)
    old = os.umask(0o000)
    try:
        with serving(store) as url:
            for _ in range(2):
                with rumor.Client(url, state) as client:
                    client.answer({"colour": "red"})
                    names = {path.name for path in state.iterdir()}
                    assert {"ledger.sqlite3", "ledger.sqlite3-wal", "secret"} <= names
                    # What lies in a folder that is closed is closed.
                    for path in state.iterdir():
                        allowed = stat.S_IMODE(path.stat().st_mode)
                        assert allowed == (0o700 if path.is_dir() else 0o600), path
                (state / "ledger.sqlite3").chmod(0o644)  # as it used to be
            with rumor.Client(url, tmp_path / "made") as client:
                assert stat.S_IMODE((tmp_path / "made").stat().st_mode) == 0o700
    finally:
        os.umask(old)
