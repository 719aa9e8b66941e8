"""Moduli that nobody may sign with: what a reader of a public RSA key can see for itself.

Nobody can prove to a stranger that a number is the product of two large primes. What can be seen
in milliseconds is that it has all its bits, is odd, is no power, and has no prime factor below
2^20. A modulus of 2048 bits without such a factor has at most 102 prime factors, all above 2^20,
so that a random message shares one with it at most once in 10,000 times; blinding refuses that
message (rumor.core.blind_rsa).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

SMALLEST_FACTOR_BITS = 20
_CHUNK = 100  # primes in one product: about as many bits as a modulus has


@functools.lru_cache(maxsize=1_024)
def fault_of_modulus(modulus: int, bits: int) -> str | None:
    """Return why `modulus` is no RSA modulus of `bits` bits, or None where nothing is seen."""
    if modulus.bit_length() != bits:
        return f"has {modulus.bit_length()} bits"
    if modulus % 2 == 0:
        return "is even"
    if (factor := _small_factor(modulus)) is not None:
        return f"is divisible by {factor}"
    if (exponent := _power_of(modulus)) is not None:
        return f"is a number to the power of {exponent}"
    return None


def rule_for_moduli(bits: int) -> str:
    """Return the rule that `fault_of_modulus` checks, in words."""
    return (
        f"an odd number of {bits} bits, no power of another number, without a prime factor below "
        f"2^{SMALLEST_FACTOR_BITS}"
    )


def _primes() -> Iterator[int]:
    """The primes below 2^20 (Eratosthenes)."""
    limit = 1 << SMALLEST_FACTOR_BITS
    sieve = bytearray([0, 0]) + bytearray([1]) * (limit - 2)
    for number in range(2, math.isqrt(limit) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, limit, number)))
    return itertools.compress(range(limit), sieve)


@functools.cache
def _products() -> tuple[int, ...]:
    """Products of the primes below 2^20, a hundred in each."""
    primes = _primes()
    chunks = iter(lambda: tuple(itertools.islice(primes, _CHUNK)), ())
    return tuple(math.prod(chunk) for chunk in chunks)


def _small_factor(modulus: int) -> int | None:
    """The smallest prime factor below 2^20, if there is one."""
    product = functools.reduce(lambda one, other: one * other % modulus, _products(), 1)
    common = math.gcd(product, modulus)
    return None if common == 1 else next(prime for prime in _primes() if common % prime == 0)


def _power_of(modulus: int) -> int | None:
    """The prime k for which a modulus without small factors is a k-th power, if there is one."""
    most = modulus.bit_length() // SMALLEST_FACTOR_BITS
    exponents = itertools.takewhile(lambda k: k <= most, _primes())
    return next((k for k in exponents if _root(modulus, k) ** k == modulus), None)


def _root(number: int, k: int) -> int:
    """The k-th root of a number, rounded down (Newton, from an estimate in doubles)."""
    guess = int(2.0 ** min(math.log2(number) / k, 1023))
    # One step leads above the root, from wherever; from there on every step leads down.
    found = _newton(number, k, guess)
    while (lower := _newton(number, k, found)) < found:
        found = lower
    return found


def _newton(number: int, k: int, guess: int) -> int:
    power: int = guess ** (k - 1)
    return ((k - 1) * guess + number // power) // k
