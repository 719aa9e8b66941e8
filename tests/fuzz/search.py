"""The search: `python -m tests.fuzz.search TARGET FOLDER [libFuzzer's options]`.

Coverage of Rumor's own code guides it (atheris). Half of the mutations are libFuzzer's, of
bytes; half change something in the JSON of an input that has some.
"""

from __future__ import annotations

import json
import random
import sys

import atheris

with atheris.instrument_imports(include=["rumor"], enable_loader_override=False):
    from tests.fuzz.targets import TARGETS

from tests.collector.fuzzing import warp


def _mutated(data: bytes, size: int, seed: int) -> bytes:
    chance = random.Random(seed)
    for head, tail in _json_parts(data):
        if chance.random() < 0.5:
            try:
                document = json.loads(data[head:tail])
            except (ValueError, RecursionError):
                break
            changed = json.dumps(warp(document, chance), separators=(",", ":")).encode()
            return (data[:head] + changed + data[tail:])[:size]
    return bytes(atheris.Mutate(data, size))


def _json_parts(data: bytes) -> list[tuple[int, int]]:
    """From where to where an input may have JSON: all of it, but one byte, or its second line."""
    first, second = data.find(b"\n") + 1, data.find(b"\n", data.find(b"\n") + 1)
    return [(0, len(data)), (1, len(data)), (first, len(data) if second < 0 else second)]


def main() -> None:
    name, *rest = sys.argv[1:]
    # To make a corpus smaller, libFuzzer starts itself anew, by these words.
    command = f"{sys.executable} -m tests.fuzz.search {name}"
    atheris.Setup([command, *rest], TARGETS[name], custom_mutator=_mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
