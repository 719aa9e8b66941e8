"""The peers, called the way their documentation shows: one person at a time.

pure-ldp 1.2.0 and multi-freq-ldpy 0.2.5 offer no batch form, so a Python loop over people
is what their users run. Each loop collects the reports in a list, as their own examples do.
multi-freq-ldpy compiles its clients at the first call; the warm-up before a race pays for
that. A peer that is not installed is left out of the races.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from benchmarks.harness import Contender

PURE, MULTI = "pure-ldp", "multi-freq-ldpy"


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name in (PURE, MULTI) if not _installed(name)]


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name.replace("-", "_")) is not None


def _each(name: str, values: Sequence[int], client: Callable[[int], object]) -> Contender:
    return Contender(name, lambda: [client(value) for value in values], len(values))


def randomized_response(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Clients of k-RR."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client

        yield _each(MULTI, values, lambda value: GRR_Client(value, domain, epsilon))
    if _installed(PURE):
        from pure_ldp.frequency_oracles import DEClient

        client = DEClient(epsilon, domain)
        yield _each(PURE, values, lambda value: client.privatise(value + 1))


def randomized_response_counts(
    values: Sequence[int], domain: int, epsilon: float
) -> Iterator[Contender]:
    """Servers of k-RR."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client

        noisy = [GRR_Client(value, domain, epsilon) for value in values]
        yield Contender(MULTI, lambda: GRR_Aggregator_MI(noisy, domain, epsilon), len(noisy))
    if _installed(PURE):
        from pure_ldp.frequency_oracles import DEClient, DEServer

        client = DEClient(epsilon, domain)
        reports = [client.privatise(value + 1) for value in values]
        server = DEServer(epsilon, domain)
        yield Contender(PURE, lambda: server.aggregate_all(reports), len(reports))


def unary(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Clients of optimized unary encoding."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client

        yield _each(MULTI, values, lambda value: UE_Client(value, domain, epsilon, True))
    if _installed(PURE):
        from pure_ldp.frequency_oracles import UEClient

        client = UEClient(epsilon, domain, use_oue=True)
        few = values[: len(values) // 2]
        yield _each(PURE, few, lambda value: client.privatise(value + 1))


def unary_counts(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Servers of optimized unary encoding."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client

        noisy = [UE_Client(value, domain, epsilon, True) for value in values]
        yield Contender(MULTI, lambda: UE_Aggregator_MI(noisy, epsilon, True), len(noisy))
    if _installed(PURE):
        from pure_ldp.frequency_oracles import UEClient, UEServer

        client = UEClient(epsilon, domain, use_oue=True)
        reports = [client.privatise(value + 1) for value in values]
        server = UEServer(epsilon, domain, use_oue=True)
        yield Contender(PURE, lambda: server.aggregate_all(reports), len(reports))


def subset_selection(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Clients of subset selection."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

        yield _each(MULTI, values, lambda value: SS_Client(value, domain, epsilon))


def hadamard(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Clients of Hadamard response."""
    if _installed(PURE):
        from pure_ldp.frequency_oracles import HadamardResponseClient, HadamardResponseServer

        server = HadamardResponseServer(epsilon, domain)
        client = HadamardResponseClient(epsilon, domain, server.get_hash_funcs())
        yield _each(PURE, values, lambda value: client.privatise(value + 1))


def local_hashing(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Clients of optimized local hashing."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client

        yield _each(MULTI, values, lambda value: LH_Client(value, domain, epsilon, True))
    if _installed(PURE):
        client = _hashing_client(domain, epsilon)
        yield _each(PURE, values, lambda value: client.privatise(value + 1))


def local_hashing_counts(values: Sequence[int], domain: int, epsilon: float) -> Iterator[Contender]:
    """Servers of optimized local hashing: they hash every value for every report."""
    if _installed(MULTI):
        from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Aggregator_MI, LH_Client

        noisy = [LH_Client(value, domain, epsilon, True) for value in values]
        yield Contender(MULTI, lambda: LH_Aggregator_MI(noisy, domain, epsilon, True), len(noisy))
    if _installed(PURE):
        from pure_ldp.frequency_oracles import LHServer

        client = _hashing_client(domain, epsilon)
        reports = [client.privatise(value + 1) for value in values]
        server = LHServer(epsilon, domain, use_olh=True)
        yield Contender(PURE, lambda: server.aggregate_all(reports), len(reports))


def _hashing_client(domain: int, epsilon: float) -> Any:
    from pure_ldp.frequency_oracles import LHClient

    return LHClient(epsilon, domain, use_olh=True)


def rappor(people: int, bits: int, hashes: int) -> Iterator[Contender]:
    """The RAPPOR client of pure-ldp (which never clears a bit, and so is not private)."""
    if _installed(PURE):
        from pure_ldp.frequency_oracles import RAPPORClient, RAPPORServer

        server = RAPPORServer(0.5, bits, hashes, 5000, num_of_cohorts=8)
        client = RAPPORClient(0.5, bits, server.get_hash_funcs(), num_of_cohorts=8)
        yield _each(PURE, range(people), lambda value: client.privatise(value % 5000 + 1))
