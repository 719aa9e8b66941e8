"""Engines that run the client for apps, each on a host that Python plays.

Node with nothing but the language, QuickJS in this process, the shell of JavaScriptCore, and Deno
where it is found (`npm install deno`; DENO_HOME may name its folder). The scripts ask Python for
everything that they need of a host (tests/js/device/guest.js).
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib
import itertools
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from tests.javascript import SCRIPTS
from tests.needs import found, leave_out, needs

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "src" / "rumor" / "client" / "device"
PACKAGES = ROOT / "build" / "device"
ENGINES = ("node", "quickjs", "jsc", *(("deno",) if found("deno") else ()))
MEMORY = 16_000_000
"""Bytes that QuickJS may have for the client and all that a test does with it."""


class Host:
    """What an app gives to the client: a text that is kept, a clock, randomness and a network."""

    def __init__(self, seed: str = "a host") -> None:
        self.kept: str | None = None
        self.time: float | None = None
        self.calls = 0
        self._seed = seed.encode()
        self._streams = itertools.count()

    def random(self, size: int) -> list[int]:
        """Bytes that follow from the seed: the same at every run."""
        name = self._seed + b" %d" % next(self._streams)
        return list(hashlib.shake_256(name).digest(size))

    def load(self) -> str | None:
        return self.kept

    def save(self, text: str) -> None:
        self.kept = text

    def now(self) -> float:
        return 1000 * time.time() if self.time is None else self.time

    def send(self, url: str, body: str | None, headers: Mapping[str, str]) -> dict[str, object]:
        """A request over the real network."""
        data = None if body is None else bytes.fromhex(body)
        request = Request(url, data, dict(headers))
        try:
            with urlopen(request, timeout=10) as answer:
                return _answer(answer)
        except HTTPError as problem:
            with problem:
                return _answer(problem)

    def answer(self, text: str) -> str:
        """What a script's question comes to, as JSON."""
        asked = json.loads(text)
        try:
            value = getattr(self, asked["name"])(*asked["given"])
        except OSError as problem:
            return json.dumps({"problem": str(problem)})
        return json.dumps({"value": value})


def _answer(answer: Any) -> dict[str, object]:
    body = answer.read().decode("utf-8")
    return {"status": answer.status, "body": body, "retryAfter": answer.headers["Retry-After"]}


class Engine(Protocol):
    """Scripts that are loaded, of which functions can be called."""

    def call(self, name: str, text: str) -> str:
        """What a function of the scripts returns."""

    def close(self) -> None:
        """End it."""


class QuickJs:
    """QuickJS in this process (PyPI package quickjs)."""

    def __init__(self, scripts: Sequence[Path], ask: Callable[[str], str]) -> None:
        self.context = quickjs().Context()
        self.context.set_memory_limit(MEMORY)
        self.context.add_callable("ask", ask)
        for script in scripts:
            self.context.eval(script.read_text("utf-8"))

    def call(self, name: str, text: str) -> str:
        return str(self.context.eval(f"{name}({json.dumps(text)})"))

    def close(self) -> None:
        del self.context


class Talking:
    """An engine in a process of its own, which asks and answers line by line."""

    def __init__(self, command: Sequence[str], ask: Callable[[str], str]) -> None:
        self._ask = ask
        pipe = subprocess.PIPE
        self._child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, bufsize=1)

    def call(self, name: str, text: str) -> str:
        self._say(json.dumps({"name": name, "text": text}))
        assert self._child.stdout is not None
        for line in self._child.stdout:
            verb, _, rest = line.rstrip("\n").partition(" ")
            if verb == "done":
                return rest
            assert verb == "ask", line
            self._say(self._ask(rest))
        raise AssertionError(f"the engine ended with status {self._child.wait()}")

    def close(self) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.stdout.close()
        self._child.wait(timeout=30)

    def _say(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(line + "\n")
        self._child.stdin.flush()


def quickjs() -> Any:
    """The module of QuickJS; tests are left out where it is missing."""
    try:
        return importlib.import_module("quickjs")
    except ImportError:
        return leave_out(
            "quickjs is needed for these tests and was not found (PyPI package quickjs)"
        )


@contextmanager
def running(name: str, scripts: Sequence[Path], ask: Callable[[str], str]) -> Iterator[Engine]:
    """An engine with these scripts, which is ended afterwards."""
    files = [str(script) for script in scripts]
    engine: Engine
    if name == "quickjs":
        engine = QuickJs(scripts, ask)
    elif name == "deno":
        script = str(SCRIPTS / "device" / "node.mjs")
        engine = Talking([str(needs("deno")), "run", "--allow-read", script, *files], ask)
    elif name == "jsc":
        engine = Talking([str(needs("jsc")), *files, str(SCRIPTS / "device" / "jsc.js")], ask)
    else:
        engine = Talking([str(needs("node")), str(SCRIPTS / "device" / "node.mjs"), *files], ask)
    try:
        yield engine
    finally:
        engine.close()


@functools.cache
def built(entry: Path = SOURCES / "device.js", kind: str = "js") -> Path:
    """The file that `make device` builds of an entry."""
    node = str(needs("node"))
    with _alone():
        if not (PACKAGES / ".installed").exists():
            needs("npm")
        installed = subprocess.run(["make", "build/device/.installed"], cwd=ROOT, timeout=300)
        if installed.returncode:
            leave_out("packages of noble and esbuild are needed and could not be installed (npm)")
        out = PACKAGES / f"{entry.stem}.{kind}"
        made = out.with_name(f"{time.monotonic_ns()}-{out.name}")
        command = [node, str(SOURCES / "build.mjs"), str(PACKAGES), str(entry), str(made)]
        subprocess.run(command, check=True, timeout=60)
        return made.rename(out)


@contextmanager
def _alone() -> Iterator[None]:
    """No other worker of a test run builds meanwhile."""
    (ROOT / "build").mkdir(exist_ok=True)
    with (ROOT / "build" / "device.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Device:
    """The client for apps in an engine, and the steps that tests take with it."""

    def __init__(self, engine: Engine, host: Host) -> None:
        self.engine = engine
        self.host = host

    def take(self, step: str, **options: object) -> Any:
        """What comes of one step; a refusal is a result."""
        found = json.loads(self.engine.call("take", json.dumps({"step": step, **options})))
        assert not (isinstance(found, dict) and "crash" in found), found["crash"]
        return found


@contextmanager
def device(name: str, host: Host) -> Iterator[Device]:
    """A client in an engine by its name."""
    with running(name, [built(), SCRIPTS / "device" / "guest.js"], host.answer) as engine:
        yield Device(engine, host)


def app_steps(name: str, given: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The results of the steps of tests/js/steps.mjs that a device can take, in an engine."""
    host = Host()
    found: list[Any] = []
    with device(name, host) as app:
        for number, options in enumerate(given):
            step, rest = options["step"], {k: v for k, v in options.items() if k != "step"}
            if step == "day":
                host.time = 86_400_000.0 * rest["is"]
                found.append(None)
            elif step == "state":
                found.append(json.loads(host.kept or "null"))
            else:
                if "state" in rest:
                    host.kept = json.dumps(rest.pop("state"))
                found.append(app.take(step, **rest))
            assert len(found) == number + 1
    return found
