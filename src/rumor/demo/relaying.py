"""The way through a relay, shown: devices, a relay and a collector, each a process of its own.

Everything is real but the people, and that one person runs all three. One envelope too few is
sent first, and the collector gets nothing; the last one makes the crowd.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rumor.client.client import Client
from rumor.client.transport import Transport
from rumor.collector.gateway import add_key
from rumor.collector.http.server import free_port
from rumor.collector.tokens import add_token
from rumor.contract.collection import Collection
from rumor.contract.deletion import new_key, report_id
from rumor.contract.envelope import EnvelopeFormat
from rumor.contract.relay import Relay
from rumor.core.errors import InputError
from rumor.core.plain_text import aligned, wrapped
from rumor.core.randomness import RandomSource, Seeded, System
from rumor.core.types import Progress
from rumor.demo.crowd import SHARES, demo_collection
from rumor.demo.serving import AnalystView, ask

# The number of respondents with a device and disk of their own; the other envelopes are as real.
_DEVICES = 10
_TURN_SECONDS, _PATIENCE = 1.0, 60.0


@dataclass(frozen=True)
class RelayDemo:
    """The outcome of a demonstration with a relay: what relay, collector and analyst saw."""

    relay: str
    collector: str
    people: int
    envelope: bytes
    size: int
    before: str
    """The collector's answer while one envelope was missing."""
    analyst: AnalystView

    def to_dict(self) -> dict[str, object]:
        """Return the demonstration as plain data for JSON."""
        return {
            "relay": self.relay,
            "collector": self.collector,
            "people": self.people,
            "envelope": self.envelope.hex(),
            "one_too_few": self.before,
            "reports": self.analyst.answer["reports"],
            "estimate": self.analyst.answer,
        }

    def text(self) -> str:
        """Return the demonstration as text for a terminal."""
        few = self.people - 1
        sees = [
            ("  the relay", "addresses and times; bytes that it cannot open", "no report"),
            ("  the collector", f"{self.people:,} reports, in one commit", "who sent which"),
            ("  both together", "who sent which report", "one report says epsilon, as ever"),
        ]
        return "\n".join(
            [
                wrapped(
                    f"Three processes: {self.people:,} people's devices (this one), a relay at "
                    f"{self.relay}, a collector at {self.collector}. Each device randomised its "
                    f"answer, sealed the report for the collector and handed it to the relay, "
                    f"{self.size} bytes like everybody else's. One of them:"
                ),
                "",
                *(f"  {line}" for line in _lines(self.envelope.hex(), 78)),
                "",
                wrapped(
                    f"The contract says that the relay passes on no fewer than {self.people:,}. "
                    f"After {few:,} envelopes and a turn of its schedule the collector said: "
                    f'"{self.before}". One more, and all of them came at once, sorted by their '
                    f"bytes, which says nothing about who came first."
                ),
                "",
                aligned(("", "sees", "does not see"), sees, left=(0, 1, 2)),
                "",
                f"What the analyst is told, from {self.analyst.answer['reports']:,} reports:",
                "",
                self.analyst.table(),
                "",
                wrapped(
                    "Here one person runs all three. It helps only where relay and collector are "
                    "run by people who do not work together."
                ),
            ]
        )


def run(people: int, *, seed: int | None = None, on_progress: Progress | None = None) -> RelayDemo:
    """Let `people` simulated respondents answer through a relay, in three processes."""
    crowd = np.random.default_rng(seed)
    answers = crowd.choice(len(SHARES), size=people, p=list(SHARES.values()))
    with tempfile.TemporaryDirectory(prefix="rumor-demo-") as place:
        folder = Path(place)
        port = free_port()
        relay = Relay(
            f"http://127.0.0.1:{port}", add_key(folder / "gateway.pem"), crowd=people, days=1
        )
        contract = replace(demo_collection(), relay=relay)
        contract.save(folder / "contract.json")
        (folder / "relay.token").write_text(add_token(folder / "relays", "relay"))
        analyst = add_token(folder / "analysts", "analyst")
        collecting = [
            *("serve", "contract.json", "--store", "sqlite:///store.db", "--port", "0"),
            *("--gateway-key", "gateway.pem", "--relay-token-file", "relays"),
            *("--analyst-token-file", "analysts"),
        ]
        with _process(folder, collecting) as collector:
            relaying = [
                *("relay", "contract.json", "--gateway", collector, "--port", str(port)),
                *("--token-file", "relay.token", "--every", str(_TURN_SECONDS / 3600)),
            ]
            with _process(folder, relaying):
                random: RandomSource = System() if seed is None else Seeded(seed)
                sealed = _sent(folder, collector, contract, answers[:-1], random, on_progress)
                time.sleep(3 * _TURN_SECONDS)
                before = ask(collector, "health", analyst)["detail"]
                _sent(folder, collector, contract, answers[-1:], random, None)
                answer = _asked_until(collector, people, analyst)
    return RelayDemo(
        relay.url,
        collector,
        people,
        sealed,
        len(sealed),
        before,
        AnalystView(answer, tuple((np.bincount(answers, minlength=len(SHARES)) / people).tolist())),
    )


def _sent(
    folder: Path,
    collector: str,
    contract: Collection,
    answers: NDArray[np.int64],
    random: RandomSource,
    on_progress: Progress | None,
) -> bytes:
    """Let people answer: some by a device, the others as devices would; one of the envelopes."""
    question = contract.questions[0]
    kind, labels = EnvelopeFormat.of(contract, question), list(SHARES)
    devices = min(_DEVICES, len(answers))
    for number in range(devices):
        with Client(collector, folder / f"device-{number}-{len(answers)}", delay=0.1) as client:
            client.answer({question.id: labels[answers[number]]})
    relay, sealed = Transport(kind.relay.url), b""
    if devices == len(answers):
        return sealed
    reports = question.mechanism.without_labels().privatize(answers[devices:], random=random)
    for number, report in enumerate(reports, start=devices + 1):
        sealed = kind.seal(report_id(new_key()), None, report.tobytes())
        relay.pass_on(contract.digest, question.id, sealed)
        if on_progress is not None:
            on_progress(number, len(answers))
    return sealed


def _asked_until(collector: str, reports: int, token: str) -> dict[str, Any]:
    """Ask `collector` for the estimate until it counts `reports` reports, and return it."""
    deadline = time.monotonic() + _PATIENCE
    while (answer := ask(collector, "health", token)).get("reports") != reports:
        if time.monotonic() > deadline:
            raise InputError("a relay should have passed the crowd on by now; it did not")
        time.sleep(0.2)
    return answer


@contextlib.contextmanager
def _process(folder: Path, arguments: Sequence[str]) -> Iterator[str]:
    """Run a serving command of Rumor's in a process of its own; yield its URL."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rumor", *arguments, "--json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = ""
        for line in process.stdout:
            said += line
            if line.startswith("}"):
                break
        else:
            assert process.stderr is not None
            raise InputError(f"a process did not start: {process.stderr.read().strip()}")
        yield str(json.loads(said)["url"])
    finally:
        process.terminate()
        process.communicate(timeout=30)


def _lines(text: str, width: int) -> list[str]:
    return [text[at : at + width] for at in range(0, len(text), width)]
