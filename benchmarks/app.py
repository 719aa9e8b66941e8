"""The client for apps in QuickJS: its file, its time to a first report, and its memory.

    make device && python -m benchmarks.app

Each time is the best of several fresh interpreters, in processor time of one core and without
Python's own start: reading the file, opening a new device, checking a contract and making a report.
Memory is the least limit of QuickJS's heap, in whole megabytes, under which the same suffices.
Limits: 170 kB and 65 kB compressed, 300 ms, 16 MB. Needs `pip install 'rumor[dev]'`.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

from rumor.contract.collection import Collection

FILE = Path("dist") / "rumor-device.js"
ROUNDS = 5
KILOBYTES, COMPRESSED, MILLISECONDS, MEGABYTES = 170.0, 65.0, 300.0, 16

_SCRIPT = """
import json, os, sys, time
from pathlib import Path
import quickjs
given = json.load(sys.stdin)
kept = []
context = quickjs.Context()
context.set_memory_limit(given["limit"])
context.add_callable("bytes", lambda size: os.urandom(size).hex())
context.add_callable("save", lambda text: kept.append(text))
begun = time.process_time()
context.eval(Path(given["file"]).read_text())
context.eval('''
var host = {
  random: (size) => Uint8Array.from(bytes(size).match(/../g), (two) => parseInt(two, 16)),
  load: () => null, save: (text) => save(text), now: () => Date.now(),
  send: () => { throw new Error("offline"); },
};
var device = rumor.openDevice(host);
''')
contract = json.dumps(given["contract"])
made = f"device.prepare(rumor.parseContract({contract}), {{q: 'b'}})"
width = context.eval(f"{made}[0].report.length")
took = time.process_time() - begun
assert width > 0 and len(kept) == 2, (width, len(kept))
print(json.dumps(took))
"""


def contract() -> str:
    """A collection of one question, as a device gets it."""
    question = {"id": "q", "kind": "choice", "labels": ["a", "b", "c"], "epsilon": 1.0}
    wish = {"name": "A", "series": "a", "contact": "x@example.org", "questions": [question]}
    return Collection.resolve(wish).canonical().decode()


def seconds(text: str, megabytes: int) -> float | None:
    """The processor time of one start, None where the memory does not suffice."""
    given = {"file": str(FILE), "contract": text, "limit": megabytes * 1_000_000}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT], input=json.dumps(given), capture_output=True, text=True
    )
    # Without memory QuickJS of 2021 says null, or crashes.
    if done.returncode:
        return None
    return float(json.loads(done.stdout))


def main() -> int:
    """Print each figure beside its limit; the status is 1 where one is missed."""
    data = FILE.read_bytes()
    text = contract()
    times = [found for _ in range(ROUNDS) if (found := seconds(text, MEGABYTES)) is not None]
    least = next((size for size in range(1, 65) if seconds(text, size) is not None), 65)
    rows = [
        ("the file", len(data) / 1000, "kB", KILOBYTES),
        ("compressed", len(gzip.compress(data, 9)) / 1000, "kB", COMPRESSED),
        ("start and first report", 1000 * min(times, default=float("inf")), "ms", MILLISECONDS),
        ("memory that suffices", float(least), "MB", float(MEGABYTES)),
    ]
    for name, value, unit, most in rows:
        verdict = "" if value <= most else "  MISSED"
        print(f"{name:24}{value:9.1f} {unit:3} of {most:5.0f} {unit}{verdict}")
    return int(any(value > most for _, value, _, most in rows))


if __name__ == "__main__":
    sys.exit(main())
