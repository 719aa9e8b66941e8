"""Candidate words and the bits that they set.

A candidate map is a row for each word and, in it, the bit of every cohort and hash, as small
integers and nothing else (128 bytes a word for 64 cohorts of 128 bits and two hashes). Rows are in
the order of the words' seeds, so results computed from a map do not depend on the order in which
the words were listed. Building a map hashes every word; so a map can be cached on disk, under the
digest of the filter (its key included) and the dictionary.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rumor.core.errors import InputError
from rumor.core.files import PathLike, whole_file
from rumor.core.loops import decode_loops
from rumor.core.randomness import encode_context
from rumor.core.reports import slices
from rumor.core.types import Progress
from rumor.kinds.word_lists import checked_words
from rumor.mechanisms.rappor.bloom import BloomFilter, Seeds

S = TypeVar("S", bound=np.generic)

Map = NDArray[np.unsignedinteger]
_MAGIC = b"rumor candidates 1\n"
_CHUNK = 1 << 14
# Bytes for a word besides its row: a seed while the map is made, and a dozen numbers in the fit.
_BESIDES = 16 + 12 * 8


@dataclass(frozen=True, eq=False)
class Candidates:
    """Words, and the map of their bits: row i of the map belongs to word order[i]."""

    words: Sequence[str]
    bloom: BloomFilter
    order: NDArray[np.int64]
    rows: Map

    def __len__(self) -> int:
        return len(self.words)

    def restore(self, values: NDArray[S]) -> NDArray[S]:
        """Return `values` of the map's rows in the order of the words."""
        out = np.empty_like(values)
        out[self.order] = values
        return out


def candidate_map(
    bloom: BloomFilter,
    words: object,
    *,
    cache: PathLike | None = None,
    on_progress: Progress | None = None,
) -> Candidates:
    """Return the map of a dictionary, read from the directory `cache`, or built and stored there.

    A `Candidates` object of this filter is returned unchanged.
    """
    if isinstance(words, Candidates) and words.bloom == bloom:
        return words
    listed = checked_words(words.words if isinstance(words, Candidates) else words)
    _require_memory(bloom, len(listed))
    if cache is None:
        return _built(bloom, listed, on_progress)
    file = Path(cache) / f"{_digest(bloom, listed)}.map"
    found = _read(file, bloom, listed)
    if found is not None:
        return found
    made = _built(bloom, listed, on_progress)
    # A cache that cannot be written saves no time, but is no reason to fail.
    with contextlib.suppress(OSError):
        _keep(file, made)
    return made


def _built(bloom: BloomFilter, words: Sequence[str], on_progress: Progress | None) -> Candidates:
    seeds = np.empty((len(words), 2), dtype=np.uint64)
    for part in slices(len(words), _CHUNK):
        seeds[part] = bloom.seeds(words[part])
        if on_progress is not None:
            # Hashing takes two thirds of the time, the mixer the rest.
            on_progress(min(part.stop, len(words)) * 2 // 3, len(words))
    order = np.lexsort((seeds[:, 1], seeds[:, 0]))
    return Candidates(words, bloom, order, _mapped(bloom, seeds[order], on_progress))


def _mapped(bloom: BloomFilter, seeds: Seeds, on_progress: Progress | None = None) -> Map:
    rows = np.empty((len(seeds), bloom.cohorts * bloom.hashes), dtype=_dtype(bloom))
    loops = decode_loops()
    for part in slices(len(seeds), _CHUNK):
        loops.pack_map(bloom.map(seeds[part]), bloom.hashes, bloom.bits, rows[part])
        if on_progress is not None:
            done = min(part.stop, len(seeds))
            on_progress(len(seeds) * 2 // 3 + done - done * 2 // 3, len(seeds))
    return rows


def _dtype(bloom: BloomFilter) -> np.dtype[np.unsignedinteger]:
    """Return the smallest integer type that holds every bit and the mark for a repeated one."""
    return np.min_scalar_type(bloom.bits)


def _digest(bloom: BloomFilter, words: Sequence[str]) -> str:
    """Return the digest of the filter, its key included, and of the words in their order."""
    context = encode_context(
        "rumor candidate map", bloom.key, bloom.bits, bloom.hashes, bloom.cohorts, len(words)
    )
    digest = hashlib.sha256(context)
    for start in range(0, len(words), _CHUNK):
        # Every word is preceded by its length, so that no two dictionaries have the same bytes.
        parts = [word.encode("utf-8") for word in words[start : start + _CHUNK]]
        digest.update(np.array([len(part) for part in parts], dtype="<u4").data)
        digest.update(b"".join(parts))
    return digest.hexdigest()


def _read(file: Path, bloom: BloomFilter, words: Sequence[str]) -> Candidates | None:
    """Return the map in `file`, or None where the file is missing or incomplete."""
    count, width, dtype = len(words), bloom.cohorts * bloom.hashes, _dtype(bloom)
    size = len(_MAGIC) + count * (8 + width * dtype.itemsize)
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_size != size or opened.read(len(_MAGIC)) != _MAGIC:
                return None
            order = np.fromfile(opened, dtype="<i8", count=count).astype(np.int64)
            rows = np.fromfile(opened, dtype=dtype, count=count * width)
    except OSError:
        return None
    # A file of the right name and length can hold anything: every index is checked.
    if not np.array_equal(np.sort(order), np.arange(count)) or int(rows.max()) > bloom.bits:
        return None
    return Candidates(words, bloom, order, rows.reshape(count, width))


def _keep(file: Path, made: Candidates) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as aside, aside.open("wb") as out:
        out.write(_MAGIC)
        out.write(made.order.astype("<i8").data)
        out.write(made.rows.data)


def _require_memory(bloom: BloomFilter, count: int) -> None:
    need = count * (bloom.cohorts * bloom.hashes * _dtype(bloom).itemsize + _BESIDES)
    have = _available_memory()
    if have is not None and need > have:
        raise InputError(
            f"candidates must fit in memory: {count:,} words of {bloom.cohorts:,} cohorts and "
            f"{bloom.hashes} hashes need {need / 1e9:,.3g} GB; got {have / 1e9:,.3g} GB free"
        )


def _available_memory() -> int | None:
    """Return the free memory in bytes, swap excluded; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
