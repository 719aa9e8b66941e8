"""The long version: issuers that cheat by their key and by their answers, in both languages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.client.test_dishonest_issuer import CROWDS, LARGE, SMALL, Crowd, misused
from tests.issuers import SECRETS
from tests.soak.numbers import done

PEOPLE = int(os.environ.get("RUMOR_SOAK_ENROLLED", "400"))
KEYS = {
    "two large primes": [SECRETS[0].first, SECRETS[0].second],
    "primes above 2^20": LARGE,
    "small primes that no reader saw": SMALL,
}


@pytest.mark.parametrize("crowd", CROWDS, ids=["Python", "JavaScript"])
@pytest.mark.parametrize("key", KEYS)
def test_people_enrol_with_an_issuer_that_cheats(tmp_path: Path, key: str, crowd: Crowd) -> None:
    primes: Sequence[int] = KEYS[key]
    whims = misused(tmp_path, primes, crowd, PEOPLE, seed=40)
    spent = whims.done.pop("spent")
    language = "Python" if crowd is CROWDS[0] else "JavaScript"
    did = ", ".join(f"{count:,} x {whim}" for whim, count in sorted(whims.done.items()))
    done(
        f"a dishonest issuer ({key}) and {PEOPLE:,} people in {language}: it answered {did}; "
        f"{spent:,} reports arrived, none linked, none charged that did not",
        enrolments=whims.done.total(),
        acknowledged=spent,
    )
