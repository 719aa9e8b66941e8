"""A dishonest relay and clocks that jump: a short version; `make soak` runs the long one."""

from __future__ import annotations

from pathlib import Path

from tests.relay.dishonest import play


def test_a_dishonest_relay_gets_nothing_counted_twice_or_in_a_wrong_turn(
    tmp_path: Path, store_url: str
) -> None:
    done = play(tmp_path, store_url, rounds=25)
    # Nothing was left out by chance.
    for what in (
        "answers refused in the same turn",
        "batches refused for their turn",
        "envelopes handed over again",
        "envelopes lost",
        "envelopes replayed in another turn",
        "full turns through an honest relay",
        "jumps of a clock",
        "reports stored",
    ):
        assert done[what] >= 3, done
