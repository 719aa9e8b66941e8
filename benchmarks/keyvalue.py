"""Key-value data: a report from a table of 50 keys, and estimates from the counts.

A table is checked once (every value within the range) and then costs two bytes a cell; from
there a report is one random cell, two random words and two bytes. A table of doubles that
was not checked is read whole, 400 bytes for each person: memory decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

import rumor
from benchmarks.harness import Contender, Row, Scale, ceiling, growth, race, take_turns
from benchmarks.keyvalue_data import KEYS, data_set, draw_counts

EPSILON = 1.0
WORDS = "drawing random words"


def run(scale: Scale) -> Iterable[Row]:
    """Privatizing against drawing words, estimating 50 keys, and how both grow."""
    count = scale.pick(1_000_000, 200_000)
    mechanism = rumor.key_value(keys=KEYS, epsilon=EPSILON)
    random = np.random.default_rng(1)
    table = random.uniform(-1, 1, (count, KEYS))
    table[random.random((count, KEYS)) < 0.5] = np.nan
    people, stream = mechanism.checked(table), rumor.System().stream()
    words = Contender(WORDS, lambda: stream.words(count), count)
    # What any look at all cells costs: no word is drawn and no cell is judged.
    reading = Contender("reading its memory", lambda: table.view(np.int64).max(), count)
    for name, values, rivals, targets in (
        ("a checked table", people, [words], {WORDS: 1 / 20}),
        ("a table of doubles, all cells looked at", table, [words, reading], {}),
    ):
        yield from race(
            f"key-value privatize, {KEYS} keys, {name}",
            "/s",
            Contender("Rumor", lambda values=values: mechanism.privatize(values), count),  # type: ignore[misc]
            rivals,
            scale,
            targets,
        )
    estimate = estimating(KEYS)
    seconds = min(take_turns([estimate], scale.rounds)[0])
    yield ceiling("key-value estimate", f"{KEYS} keys, by default", seconds, "s", below=1.0)
    sizes = [250, 1000, 4000]
    yield growth("growth of key-value estimate", "keys", sizes, estimating, scale, at_most=1.15)


def estimating(keys: int) -> Callable[[], object]:
    """The default estimate of so many keys, from the counts of 2,000 reports each."""
    random = np.random.default_rng(2)
    copies = -(-keys // KEYS)
    f, m = (np.tile(x, copies)[:keys] for x in data_set("linear", random))
    mechanism = rumor.KeyValueBlock(keys=keys, epsilon=EPSILON)
    counts = draw_counts(mechanism, f, m, 2000 * keys, random)
    tally = np.stack(
        [counts.trials - counts.plus - counts.minus, counts.plus, counts.minus], axis=1
    ).reshape(-1)
    summary = rumor.Summary(mechanism, 2000 * keys, tally)
    return lambda: rumor.estimate(mechanism, summary)
