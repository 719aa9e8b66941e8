"""Keystream, keys and reference draws once more, in plain integers, from the specification.

Nothing of Rumor is imported: what is written here is what a client in another language
would write. The published vectors in tests/vectors/randomness.json come from it
(`python -m tests.reference > tests/vectors/randomness.json`), and the tests hold both this
file and Rumor itself to them. AES-128 is the one thing borrowed, one block at a time.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

WORD = 2**64
SECRET = bytes(range(32))


def keystream_words(seed: bytes) -> Iterator[int]:
    """Blocks of AES-128 of a big-endian counter, each read as two little-endian words."""
    key, counter = seed[:16], int.from_bytes(seed[16:], "big")
    # One block at a time on purpose: the counter is ours, not the library's.
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    while True:
        block = encrypt.update((counter % 2**128).to_bytes(16, "big"))
        yield int.from_bytes(block[:8], "little")
        yield int.from_bytes(block[8:], "little")
        counter += 1


def context(*parts: str | bytes | int) -> bytes:
    """Each part with its length in front: four bytes, little-endian."""
    message = b""
    for part in parts:
        raw = part if isinstance(part, bytes) else str(part).encode()
        message += len(raw).to_bytes(4, "little") + raw
    return message


def keyed_seed(secret: bytes, *parts: str | bytes | int) -> bytes:
    return hmac.new(secret, context(*parts), hashlib.sha256).digest()


def seeded_seed(seed: int, call: int) -> bytes:
    return hashlib.sha256(context("rumor seeded stream", seed, call)).digest()


class Draws:
    """Coins and uniform integers from a keystream, counting the words they take."""

    def __init__(self, seed: bytes) -> None:
        self._stream = keystream_words(seed)
        self.taken = 0

    def word(self) -> int:
        self.taken += 1
        return next(self._stream)

    def coin(self, threshold: int) -> bool:
        return self.word() < threshold

    def below(self, bound: int) -> int:
        while True:
            high, low = divmod(self.word() * bound, WORD)
            if low >= WORD % bound:
                return high

    def public(self, count: int) -> bytes:
        words = [self.word() for _ in range(-(-count // 8))]
        return b"".join(word.to_bytes(8, "little") for word in words)[:count]


def randomized_response(draws: Draws, value: int, domain: int, truth: int) -> bytes:
    width = 1 if domain <= 256 else 2 if domain <= 65536 else 3
    if not draws.coin(truth):
        other = draws.below(domain - 1)
        value = other if other < value else other + 1
    return value.to_bytes(width, "little")


def unary(draws: Draws, value: int, domain: int, own: int, other: int) -> bytes:
    bits = 0
    for i in range(domain):
        if draws.coin(own if i == value else other):
            bits += 2**i
    return bits.to_bytes(-(-domain // 8), "little")


def subset_bitmap(draws: Draws, value: int, domain: int, size: int, inclusion: int) -> bytes:
    included = draws.coin(inclusion)
    rest = [v for v in range(domain) if v != value]
    chosen: list[int] = []
    wanted = size - 1 if included else size
    for j in range(len(rest) - wanted, len(rest)):
        pick = draws.below(j + 1)
        chosen.append(j if pick in chosen else pick)
    members = {rest[i] for i in chosen} | ({value} if included else set())
    return sum(1 << member for member in members).to_bytes(-(-domain // 8), "little")


def hadamard(draws: Draws, value: int, block: int, blocks: int, supported: int) -> bytes:
    """The outputs of the value's half block in the order that inserting a bit gives."""
    start, row = value // (block - 1) * block, 1 + value % (block - 1)
    place = (row & -row).bit_length() - 1  # of the lowest set bit
    even = draws.coin(supported)

    def output(u: int) -> int:
        high, low = divmod(u, 1 << place)
        without = (high << place + 1) + low
        odd = bin(without & row).count("1") % 2 == 1
        return start + without + (1 << place if odd == even else 0)

    if even:
        return output(draws.below(block // 2)).to_bytes(1, "little")
    pick = draws.below(blocks * block - block // 2)
    if pick < block // 2:
        return output(pick).to_bytes(1, "little")
    others = [y for y in range(blocks * block) if not start <= y < start + block]
    return others[pick - block // 2].to_bytes(1, "little")


def local_hashing(draws: Draws, value: int, buckets: int, truth: int) -> bytes:
    seed = draws.public(8)
    a, b = int.from_bytes(seed[:4], "little"), int.from_bytes(seed[4:], "little")
    bucket = (a * value + b) % 2**32 * buckets // 2**32
    if not draws.coin(truth):
        other = draws.below(buckets - 1)
        bucket = other if other < bucket else other + 1
    return seed + bucket.to_bytes(1, "little")


# A mechanism as a contract describes it, and the values whose reports are published.
T = {"half": 2**63, "third": 6148914691236517205, "most": 13485650502877570762}
MECHANISMS: list[tuple[dict[str, object], list[int]]] = [
    (
        {"name": "randomized-response", "domain": 7, "truth": str(T["third"])},
        [0, 3, 6],
    ),
    (
        {"name": "randomized-response", "domain": 1000, "truth": str(T["third"])},
        [0, 500, 999],
    ),
    (
        {"name": "unary", "domain": 20, "own": str(T["half"]), "other": str(T["third"])},
        [0, 7, 19],
    ),
    (
        {
            "name": "subset-selection",
            "domain": 12,
            "size": 4,
            "inclusion": str(T["half"]),
        },
        [0, 5, 11],
    ),
    (
        {"name": "hadamard", "domain": 10, "blocks": 4, "supported": str(T["half"])},
        [0, 4, 9],
    ),
    (
        {"name": "local-hashing", "domain": 50, "buckets": 5, "truth": str(T["half"])},
        [0, 17, 49],
    ),
]
REPORTS_PER_VALUE = 6


def reference_report(description: dict[str, object], value: int, draws: Draws) -> bytes:
    def number(key: str) -> int:
        return int(str(description[key]))

    match description["name"]:
        case "randomized-response":
            return randomized_response(draws, value, number("domain"), number("truth"))
        case "unary":
            return unary(draws, value, number("domain"), number("own"), number("other"))
        case "subset-selection":
            size, inclusion = number("size"), number("inclusion")
            return subset_bitmap(draws, value, number("domain"), size, inclusion)
        case "hadamard":
            # Ten values in four blocks: three values to a block of four outputs.
            return hadamard(draws, value, 4, number("blocks"), number("supported"))
        case "local-hashing":
            return local_hashing(draws, value, number("buckets"), number("truth"))
        case name:
            raise ValueError(f"no reference draw is written for {name!r}")


Step = dict[str, int]

# Bounds just above a power of two reject almost every second word.
STEPS: list[Step] = [
    {"coin": 1},
    {"coin": 2**63},
    {"coin": 2**64 - 1},
    {"coin": 6148914691236517205},
    {"below": 1},
    {"below": 2},
    {"below": 1000},
    {"below": 2**32},
    {"below": 2**63 + 1},
    {"below": 2**63 + 1},
    {"below": 2**63 + 1},
    {"below": 2**63 + 1},
    {"public": 1},
    {"public": 8},
    {"public": 17},
    {"coin": 2**63},
    {"below": 3},
]


def answers(draws: Draws, steps: list[Step]) -> list[str]:
    """What each step draws, as text: JSON numbers do not hold 64 bits."""
    found = []
    for step in steps:
        ((kind, argument),) = step.items()
        drawn = getattr(draws, kind)(argument)
        found.append(drawn.hex() if isinstance(drawn, bytes) else str(int(drawn)))
    return found


def vectors() -> dict[str, object]:
    """Everything that is published."""
    contexts: list[list[str | int]] = [
        [],
        [""],
        ["", ""],
        ["ab", "c"],
        ["a", "bc"],
        ["permanent", "home-pages", "homepage", 12345, "été"],
    ]
    keyed, seeded, steps, reports = [], [], [], []
    for parts in contexts:
        seed = keyed_seed(SECRET, *parts)
        keyed.append({"context": parts, "seed": seed.hex(), "words": _first(seed)})
    for number in (0, 7, -1, 2**80):
        for call in (0, 1, 2):
            seed = seeded_seed(number, call)
            seeded.append(
                {"number": str(number), "call": call, "seed": seed.hex(), "words": _first(seed)}
            )
    for number in range(4):
        seed = seeded_seed(number, 0)
        draws = Draws(seed)
        found = answers(draws, STEPS)
        steps.append({"seed": seed.hex(), "answers": found, "words_taken": draws.taken})
    for description, values in MECHANISMS:
        for value in values:
            for turn in range(REPORTS_PER_VALUE):
                parts = ["vectors", str(description["name"]), value, turn]
                draws = Draws(keyed_seed(SECRET, *parts))
                report = reference_report(description, value, draws)
                reports.append(
                    {
                        "mechanism": description,
                        "value": value,
                        "context": parts,
                        "report": report.hex(),
                        "words_taken": draws.taken,
                    }
                )
    return {
        "secret": SECRET.hex(),
        "keyed": keyed,
        "seeded": seeded,
        "steps": [{k: str(v) for k, v in step.items()} for step in STEPS],
        "draws": steps,
        "reports": reports,
    }


def _first(seed: bytes) -> list[str]:
    stream = keystream_words(seed)
    return [str(next(stream)) for _ in range(5)]


if __name__ == "__main__":
    print(json.dumps(vectors(), indent=1, ensure_ascii=False))
