"""What a reader of a public key sees of its modulus, and what it need not see."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from rumor.core.blind_rsa import _primes, _root, fault_of_modulus
from tests.issuers import SECRETS

PRIMES = list(_primes())


def test_the_primes_are_all_of_them() -> None:
    """pi(2^20) is 82,025; each is the next number that none before it divides."""
    assert (len(PRIMES), PRIMES[:5], PRIMES[-1]) == (82_025, [2, 3, 5, 7, 11], 1_048_573)
    few = [n for n in range(2, 2_000) if all(n % d for d in range(2, math.isqrt(n) + 1))]
    assert PRIMES[: len(few)] == few


@pytest.mark.parametrize("place", [0, 1, 99, 100, 101, 41_012, 82_000, -2, -1])
def test_every_small_prime_is_found(place: int) -> None:
    rest = SECRETS[0].first
    number = rest * PRIMES[place]
    fault = "is even" if place == 0 else f"is divisible by {PRIMES[place]}"
    assert fault_of_modulus(number, number.bit_length()) == fault


def test_every_power_is_found_and_no_neighbour() -> None:
    """For every prime exponent that a modulus without small factors can have, and some beside."""
    base = 1_048_583
    for k in [k for k in PRIMES if k <= 102]:
        number = base**k
        assert _root(number, k) == base
        assert _root(number - 1, k) == base - 1
        assert _root(number + 1, k) == base
        fault = fault_of_modulus(number, number.bit_length())
        assert fault == f"is a number to the power of {k}"
    fourth = SECRETS[0].first ** 4
    assert fault_of_modulus(fourth, fourth.bit_length()) == "is a number to the power of 2"


def test_honest_keys_are_taken_by_their_size_alone() -> None:
    for key in SECRETS:
        n = key.public.modulus
        assert fault_of_modulus(n, 2048) is None
        assert fault_of_modulus(n, 2047) == "has 2048 bits"


@pytest.mark.parametrize(("n", "e"), [(7 * 31, 3), (9 * 7, 3), (11 * 31, 5), (5 * 7, 5), (77, 3)])
def test_blinding_hides_everything_whatever_the_key(n: int, e: int) -> None:
    """Of every unit m with a signature, every pair (what was seen, signature) is equally likely.

    The exponent may divide p - 1 and the modulus need not be free of squares: a signer who is
    asked for m r^e returns any e-th root that it likes, and where there is none it cannot sign.
    So nothing but a divisor of n could tie a signature to what was signed, and that is refused.
    """
    units = [x for x in range(n) if math.gcd(x, n) == 1]
    roots: dict[int, list[int]] = {}
    for x in units:
        roots.setdefault(pow(x, e, n), []).append(x)
    views = []
    for m in roots:
        view = Counter[tuple[int, int]]()
        for r in units:
            seen = m * pow(r, e, n) % n
            chosen = roots[seen][seen % len(roots[seen])]  # whichever it likes to return
            view[seen, roots[m].index(chosen * pow(r, -1, n) % n)] += 1
        views.append(view)
    pairs = set(itertools.product(roots, range(len(roots[1]))))
    assert all(set(view) == pairs and set(view.values()) == {1} for view in views)
    # A message without a root stays without one, whatever blinds it: it can only be refused.
    for m in set(units) - set(roots):
        assert all(m * pow(r, e, n) % n not in roots for r in units)
