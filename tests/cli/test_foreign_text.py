"""Text of strangers on a terminal: nothing that a command prints makes a terminal do something.

A hostile server plants escapes in every text that it controls: each string of its contract, each
member of its problems, its status line, its headers. Every command that shows such a text is run.
"""

from __future__ import annotations

import contextlib
import fcntl
import http.server
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rumor.cli import main
from rumor.cli.guarded import GuardedStream
from rumor.client import client
from rumor.client.transport import Refused, Transport, Unreachable
from rumor.collector.http.problems import TYPES
from rumor.contract.collection import Collection
from rumor.core.canonical import canonical_json
from rumor.core.canonical import digest as digest_of
from rumor.core.plain_text import visible
from tests.collector.tools import typing
from tests.listening import Quiet, listening

# Clears the screen, renames the window, rings, deletes, colours (C1), turns text round, and is a
# second line of its own.
EVIL = "\x1b[2J\x1b]0;x\x07\x08\x7f\x9b31m\u202e\u2066gpj.exe\u2028\r\nrumor: all is well"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a device try again at once: how long it waits is told by other tests."""
    monkeypatch.setattr(client, "_FIRST_DELAY", 0.01)


WANTED: dict[str, Any] = {
    "name": "A name",
    "series": "series",
    "contact": "x@example.org",
    "questions": [
        {
            "id": "colour",
            "kind": "choice",
            "text": "Which colour?",
            "labels": ["red", "green"],
            "epsilon": 1.0,
        },
        {"id": "word", "kind": "words", "text": "Which word?", "epsilon": 4.0},
    ],
}


def contract() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Collection.resolve(WANTED).canonical())
    return found


def leaves(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the strings of a document are."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from leaves(value, (*path, index))
    elif isinstance(document, str):
        yield path


def planted(path: tuple[Any, ...], *, key: bool = False) -> dict[str, Any]:
    """A contract with escapes in one of its strings, or in a key beside it."""
    document = contract()
    place: Any = document
    for step in path[:-1]:
        place = place[step]
    if key and isinstance(place, dict):
        place[EVIL] = 1
    else:
        place[path[-1]] = f"{place[path[-1]]}{EVIL}"
    return document


# One of each kind of place: the words of a code table are all alike.
_KINDS = {
    tuple("*" if isinstance(step, int) else step for step in path): path
    for path in leaves(contract())
}
PATHS = list(_KINDS.values())
Said = Callable[[http.server.BaseHTTPRequestHandler], None]


def says(document: object, status: int = 200, **headers: str) -> Said:
    body = json.dumps(document).encode()

    def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
        lines = [f"HTTP/1.1 {status} OK", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        handler.wfile.write("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + body)

    return answer


def raw(said: bytes) -> Said:
    return lambda handler: void(handler.wfile.write(said))


def void(_: object) -> None:
    """Nothing."""


@contextlib.contextmanager
def hostile(served: dict[str, Any], posted: Said, got: Said | None = None) -> Iterator[str]:
    """A server with this contract, which answers everything that is posted so."""
    digest = Collection.resolve(WANTED).digest
    with contextlib.suppress(Exception):
        digest = digest_of(served)

    class Handler(Quiet, http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = got or says({"digest": digest, "open": True, "contract": served})
            answer(self)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            posted(self)

    with listening(Handler) as url:
        yield url


def problem(kind: str, detail: object = EVIL) -> Said:
    members = {"type": f"urn:rumor:problem:{kind}", "title": EVIL, "refused": [EVIL, 0]}
    return says({**members, "detail": detail}, TYPES.get(kind, 400), Retry_After="99")


def clean(text: str) -> str:
    assert not OBEYED.search(text), ascii(text)
    return text


def run(capsys: pytest.CaptureFixture[str], *arguments: str, given: str = "") -> str:
    """What a command prints, on both streams; nothing in it may be obeyed."""
    with typing(given):
        status = main(list(arguments))
    told = capsys.readouterr()
    assert status in (0, 1, 2), told
    return clean(told.out + told.err)


def device(
    capsys: pytest.CaptureFixture[str], url: str, folder: Path, as_json: tuple[str, ...] = ()
) -> str:
    """What every command of a device prints about a server."""
    state = ("--state-dir", str(folder), *as_json)
    told = run(capsys, "answer", url, *state, given='{"colour": "red", "word": "x"}')
    told += run(capsys, "answer", url, "colour", *state, given="red\n")
    told += run(capsys, "answer", url, "--digest", "0" * 64, *state, given="colour=red\n")
    told += run(capsys, "answer", url, "nothing", *state, given="red\n")
    told += run(capsys, "withdraw", url, *state)
    return told + run(capsys, "answer", url, *state)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_contracts(
    path: tuple[Any, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, document in enumerate((planted(path), planted(path, key=True))):
        with hostile(document, problem("rate")) as url:
            state = ("--state-dir", str(tmp_path / str(number)))
            run(capsys, "answer", url, *state, given='{"colour": "red", "word": "x"}')
            run(capsys, "answer", url, "colour", *state, given="red\n")
            run(capsys, "withdraw", url, *state)
        file = tmp_path / "contract.json"
        file.write_bytes(canonical_json(document))
        run(capsys, "show", str(file))
        run(capsys, "show", str(file), "--json")


@pytest.mark.parametrize("command", ["account", "audit", "attack", "statement", "privatize"])
def test_contracts_in_files(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands that read what a server served, with every text planted that a contract may have."""
    table = tmp_path / "answers.csv"
    table.write_text("colour\nred\ngreen\n")
    more = () if command != "privatize" else (str(table), "--out", str(tmp_path / "out.parquet"))
    wanted = {**WANTED, "questions": [{**WANTED["questions"][0], "text": f"Which{EVIL}?"}]}
    made = Collection.resolve({**wanted, "name": f"A{EVIL}name", "contact": f"x{EVIL}y"})
    made.save(tmp_path / "contract.json")
    assert "\x1b" in made.name
    run(capsys, command, str(tmp_path / "contract.json"), *more)


@pytest.mark.parametrize("kind", [*TYPES, EVIL])
def test_problems(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with hostile(contract(), problem(kind)) as url:
        told = device(capsys, url, tmp_path / "device")
        device(capsys, url, tmp_path / "other", ("--json",))
    # What a server says is one line of ours, and cannot pass for another.
    assert "\nrumor: all is well" not in told


ANSWERS = {
    "the status": raw(f"HTTP/1.1 {EVIL}\r\n\r\n".encode()),
    "no status at all": raw(EVIL.encode()),
    "the reason": raw(b"HTTP/1.1 500 \x1b[2J\r\nContent-Length: 0\r\n\r\n"),
    "a header": raw(b"HTTP/1.1 429 x\r\n\x1b[2J: \x1b[2J\r\nContent-Length: 0\r\n\r\n"),
    "a header's value": says({}, 429, Retry_After="\x1b[2J"),
    "a digest": says({"digest": EVIL, "open": True, "contract": contract()}),
    "another contract": says({"digest": EVIL, "open": EVIL, "contract": EVIL}),
    "a redirection": says({}, 302, Location="http://x/\x1b[2J"),
    "a list": says([EVIL]),
}


@pytest.mark.parametrize("what", ANSWERS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_answers_of_every_kind(
    what: str, method: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    posted, got = (problem("rate"), ANSWERS[what]) if method == "get" else (ANSWERS[what], None)
    with hostile(contract(), posted, got) as url:
        device(capsys, url, tmp_path / "device")


def test_sentences_are_one_line_for_programs_too() -> None:
    """Whoever logs the exception of a client logs one line, of a length that can be read."""
    with hostile(contract(), problem("closed", EVIL * 1000)) as url:
        with pytest.raises(Refused) as refused:
            Transport(url).send("0" * 64, "colour", bytes(17), 1)
        assert "\n" not in clean(str(refused.value))
        assert len(str(refused.value)) <= 1000
    with hostile(contract(), problem("rate")) as url:
        with pytest.raises(Unreachable) as unreachable:
            Transport(url).send("0" * 64, "colour", bytes(17), 1)
        assert "\n" not in clean(str(unreachable.value))


def test_prompts_on_a_terminal(tmp_path: Path) -> None:
    """The question as it is asked on a real terminal."""
    document = planted(("questions", 0, "text"))
    with hostile(document, problem("rate")) as url:
        ours, theirs = pty.openpty()
        command = ["answer", url, "colour", "--state-dir", str(tmp_path / "device")]
        os.write(ours, b"red\n")
        with subprocess.Popen(
            [sys.executable, "-m", "rumor", *command], stdin=theirs, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            told = b""
            with contextlib.suppress(OSError):  # the other end is closed
                while part := os.read(ours, 10_000):
                    told += part
            process.wait(60)
        os.close(ours)
    text = told.decode().replace("\r\n", "\n")
    assert "Which colour?" in clean(text)


def test_a_contract_for_programs_is_exact(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is digested is not changed on its way into a file."""
    made = Collection.resolve({**WANTED, "name": "a\u202eb"})
    made.save(tmp_path / "contract.json")
    assert main(["show", str(tmp_path / "contract.json"), "--contract"]) == 0
    assert capsys.readouterr().out.encode().rstrip(b"\n") == made.canonical()


def test_what_is_visible_and_what_stays() -> None:
    assert visible("a\tb\nc é 漢 \u200d \u200f") == "a\tb\nc é 漢 \u200d \u200f"
    assert clean(visible("".join(map(chr, range(0x3000)))))
    assert len(visible(EVIL)) == len(EVIL)


def test_bars_are_drawn_where_blocks_cannot_be() -> None:
    """On a terminal of Windows' old code page, and as they are on any other."""
    for encoding, drawn in (("cp1252", "#### 12% caf\xe9 ..."), ("utf-8", "███▌▎ 12% café …")):
        raw = io.BytesIO()
        with io.TextIOWrapper(raw, encoding, errors="replace") as stream:
            print("███▌▎ 12% café …", end="", file=GuardedStream(stream))
            stream.flush()
            assert raw.getvalue().decode(encoding) == drawn


def in_a_terminal(columns: int, *arguments: str) -> str:
    """What a command prints in a terminal of so many columns."""
    ours, theirs = pty.openpty()
    size = struct.pack("HHHH", 40, columns, 0, 0)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    command = [sys.executable, "-m", "rumor", *arguments]
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, stdout=theirs, stdin=theirs, stderr=theirs, env=kept) as running:
        os.close(theirs)
        found = b""
        with contextlib.suppress(OSError):  # the end of a terminal is an error in Linux
            while part := os.read(ours, 65_536):
                found += part
    os.close(ours)
    assert running.returncode == 0, found
    return found.decode().replace("\r\n", "\n")


def test_a_terminal_breaks_no_word_and_json_stays_whole() -> None:
    file = str(Path(__file__).parents[2] / "examples" / "browser.toml")
    wide, narrow = (in_a_terminal(columns, "show", file) for columns in (200, 50))
    assert max(map(len, wide.splitlines())) > 60
    broken = [line for line in narrow.splitlines() if len(line) > 50]
    assert [line for line in broken if " " in line.strip()] == []
    assert narrow.split() == wide.split()
    document = json.loads(in_a_terminal(50, "show", file, "--json"))
    assert document["name"] == "Home pages"
