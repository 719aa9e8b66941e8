"""What the machine can do at most: random bytes and memory, one thread.

Privatizing cannot be faster than its random bytes are made, counting not faster than the
reports are read; a share of these limits says how much is left to gain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from benchmarks.harness import Contender, Row, Scale, engineering, fact, take_turns

# The chunk at which AES-CTR was measured fastest (research/speed.md).
_CHUNK = 1 << 16

# An exact coin takes 8 random bits and, one time in 256, 64 more.
RANDOM_BITS_PER_COIN = 8.25


def keystream(size: float) -> Callable[[], None]:
    """Makes this many bytes of AES-128-CTR keystream, into the same 64 kB over and over."""
    encryptor = Cipher(algorithms.AES(bytes(16)), modes.CTR(bytes(16))).encryptor()
    zeros, out = bytes(_CHUNK), bytearray(_CHUNK)
    chunks, rest = divmod(int(size), _CHUNK)

    def run() -> None:
        for _ in range(chunks):
            encryptor.update_into(zeros, out)
        if rest:
            encryptor.update_into(memoryview(zeros)[:rest], out)

    return run


def aes_bytes(reports: int, bytes_each: float) -> Contender:
    """Only the random bytes that so many reports need."""
    return Contender("limit: AES bytes", keystream(reports * bytes_each), reports)


def memory_read(array: NDArray[np.uint8], items: float) -> Contender:
    """Only reading an array that does not fit the cache, by the fastest reader numpy has."""
    flat = array.reshape(-1)
    words = flat[: flat.size // 8 * 8].view(np.uint64)
    return Contender("limit: memory read", lambda: np.bitwise_or.reduce(words), items)


def run(scale: Scale) -> Iterable[Row]:
    """The limits themselves, in bytes per second."""
    megabytes = scale.pick(512, 256)
    memory = np.random.default_rng(1).integers(0, 256, megabytes << 20, dtype=np.uint8)
    generator = np.random.PCG64(1)
    words = 1 << 17
    contenders = [
        Contender("AES-128-CTR keystream", keystream(64 << 20), 64 << 20),
        Contender("numpy PCG64 words", lambda: generator.random_raw(words), words * 8),
        memory_read(memory, memory.size),
    ]
    seconds = take_turns([contender.run for contender in contenders], scale.rounds)
    for contender, times in zip(contenders, seconds, strict=True):
        rate = contender.items / min(times)
        yield fact("limits", contender.name, rate, f"{engineering(rate)}B/s")
