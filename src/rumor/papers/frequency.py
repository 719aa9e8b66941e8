"""Experiments with frequency oracles: errors, plain iterations, limits; and sixteen laws.

Errors are sums over values of squared differences between frequencies. "error" is against the
law that people were drawn from, "realised" against the frequencies of the people drawn.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import rumor
from rumor.core.errors import InputError
from rumor.estimators.frequency.bayes import Stopping, iterate
from rumor.estimators.frequency.likelihood import MatrixLikelihood, oracle_likelihood
from rumor.estimators.frequency.scaling import smallest_probability, smallest_scaled
from rumor.estimators.frequency.solver import single_support
from rumor.mechanisms import FrequencyOracle
from rumor.mechanisms.summary import Summary
from rumor.papers.model import Numbers, Parameters

TRUTHS = (
    "uniform",
    "zipf 0.5",
    "zipf 1",
    "zipf 1.5",
    "zipf 2",
    "geometric 0.8",
    "geometric 0.95",
    "bump",
    "lognormal 2",
    "dirichlet 0.05",
    "tenth",
    "two levels",
    "one 50",
    "one 90",
    "one 99.9",
    "one 100",
)


def truth(name: str, domain: int) -> Vector:
    """Return the frequencies of the law `name` on `domain` values.

    "tenth": a tenth of the values share all equally. "two levels": one value in fifty, and all
    these together hold half. "one 90": one value holds 90 per cent, the rest equally.
    """
    kind, _, number = name.partition(" ")
    rank = np.arange(1.0, domain + 1)
    if kind == "uniform":
        law = np.ones(domain)
    elif kind == "zipf":
        law = rank ** -float(number)
    elif kind == "geometric":
        law = float(number) ** rank
    elif kind == "bump":
        law = 1e-12 + np.exp(-0.5 * ((rank - domain / 2) / (domain / 20)) ** 2)
    elif kind == "lognormal":
        from statistics import NormalDist

        law = np.exp([float(number) * NormalDist().inv_cdf((r - 0.5) / domain) for r in rank])
    elif kind == "dirichlet":
        law = np.random.default_rng(5).gamma(float(number), size=domain) + 1e-300
    elif kind == "tenth":
        law = (rank <= max(1, domain // 10)).astype(np.float64)
    elif kind == "two":
        many = max(1, domain // 50)
        law = np.where(rank <= many, 0.5 / many, 0.5 / (domain - many))
    elif kind == "one":
        share = float(number) / 100
        law = np.where(rank == 1, share, (1 - share) / (domain - 1))
    else:
        raise ValueError(name)
    return np.asarray(law / law.sum())


Vector = NDArray[np.float64]

ORACLES: Mapping[str, Callable[[int, float], FrequencyOracle]] = {
    "subset": lambda domain, epsilon: rumor.SubsetSelection(domain=domain, epsilon=epsilon),
    "response": lambda domain, epsilon: rumor.RandomizedResponse(domain=domain, epsilon=epsilon),
    "optimized": lambda domain, epsilon: rumor.UnaryEncoding(domain=domain, epsilon=epsilon),
    "symmetric": lambda domain, epsilon: rumor.UnaryEncoding(
        domain=domain, epsilon=epsilon, variant="symmetric"
    ),
    "hadamard": lambda domain, epsilon: rumor.HadamardResponse(domain=domain, epsilon=epsilon),
    "hadamard, two blocks": lambda domain, epsilon: rumor.HadamardResponse(
        domain=domain, epsilon=epsilon, blocks=2
    ),
    "hashing": lambda domain, epsilon: rumor.LocalHashing(domain=domain, epsilon=epsilon),
}


@cache
def published_tables(name: str) -> Any:
    """Return the published numbers of a paper."""
    file = Path(__file__).parent / "published" / f"{name}.json"
    return json.loads(file.read_text(encoding="utf-8"))


def draw(oracle: FrequencyOracle, law: Vector, people: int, seed: int) -> NDArray[np.uint8]:
    """Return reports of people drawn from a law."""
    return oracle.privatize(values_of(law, people, seed), random=rumor.Seeded(seed))


def values_of(law: Vector, people: int, seed: int) -> NDArray[np.int64]:
    """Return the values of people drawn from a law."""
    return np.random.default_rng([seed, people]).choice(law.size, people, p=law)


def squared(frequency: Vector, law: Vector) -> float:
    """Return the sum of squared differences (CSS 2020, equation 15)."""
    return float(((frequency - law) ** 2).sum())


def errors(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the errors of one oracle and one method, with new people in each trial."""
    oracle, law, people = _setting(parameters)
    method = str(parameters["method"])
    found: dict[str, list[float]] = {"error": [], "realised": []}
    for trial in range(seed, seed + trials):
        values = values_of(law, people, trial)
        reports = oracle.privatize(values, random=rumor.Seeded(trial))
        frequency = rumor.estimate(oracle, reports, method=method).frequency
        found["error"].append(squared(frequency, law))
        shares = np.bincount(values, minlength=law.size) / people
        found["realised"].append(squared(frequency, shares))
    return found


def response_errors(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the errors of randomised response with plain iterations (equation 5).

    Stopped when an iteration moves less than `step` people, all values together, and at the
    optimum.
    """
    oracle, law, people = _setting(parameters)
    step = float(parameters["step"])
    found: dict[str, list[float]] = {
        name: [] for name in ("error", "realised", "converged", "iterations")
    }
    for trial in range(seed, seed + trials):
        values = values_of(law, people, trial)
        reports = oracle.privatize(values, random=rumor.Seeded(trial))
        tally = Summary.empty(oracle).update(reports).tally
        counts = oracle.support_counts(tally).astype(np.float64)
        stopped, iterations = response_iterations(oracle, counts / people, step / people)
        best = single_support(counts, oracle.hit, oracle.miss)
        found["error"].append(squared(stopped, law))
        found["realised"].append(squared(stopped, np.bincount(values, minlength=law.size) / people))
        found["converged"].append(squared(best, law))
        found["iterations"].append(iterations)
    return found


def response_iterations(
    oracle: FrequencyOracle, observed: Vector, step: float, most: int = 1_000_000
) -> tuple[Vector, int]:
    """Iterate equation 5 of CSS 2020 until a step is below `step`; return shares and iterations."""
    miss, gain, here = oracle.miss, oracle.hit - oracle.miss, observed
    for iteration in range(1, most + 1):
        ratio = observed / (miss + gain * here)
        moved = here * (miss * ratio.sum() + gain * ratio)
        if np.abs(moved - here).sum() < step:
            return moved, iteration
        here = moved
    return here, most


def trajectory(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the error of plain iterations (equation 10) by their number, and at the optimum.

    "step" is the Euclidean length of the last move, in frequencies; "gap" bounds how far the
    mean log-likelihood is from the largest.
    """
    oracle, law, people = _setting(parameters)
    at = [int(n) for n in parameters["at"]]
    found: dict[str, list[float]] = {}
    for trial in range(seed, seed + trials):
        reports = draw(oracle, law, people, trial)
        likelihood = oracle_likelihood(oracle, reports, None)
        here, best = np.full(law.size, 1 / law.size), (math.inf, 0)
        for iteration in range(1, at[-1] + 1):
            now = likelihood.update(here)
            moved = here * now.gradient
            moved /= moved.sum()
            error = squared(moved, law)
            best = min(best, (error, iteration))
            if iteration in at:
                found.setdefault(f"error/{iteration}", []).append(error)
                length = float(np.linalg.norm(moved - here))
                found.setdefault(f"step/{iteration}", []).append(length)
                found.setdefault(f"gap/{iteration}", []).append(now.gap)
            here = moved
        optimum = rumor.estimate(oracle, reports, method="bayes")
        found.setdefault("best error", []).append(best[0])
        found.setdefault("best iteration", []).append(best[1])
        found.setdefault("optimum", []).append(squared(optimum.frequency, law))
        updates = cast("int", optimum.diagnostics["updates"])
        found.setdefault("updates of the solver", []).append(float(updates))
    return found


def limits(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the largest domain whose product of probabilities a double holds, and two products."""
    epsilon, domain = float(parameters["epsilon"]), int(parameters["domain"])

    def symmetric(values: int) -> Any:
        return rumor.UnaryEncoding(domain=values, epsilon=epsilon, variant="symmetric")

    last = domain
    while smallest_probability(symmetric(last)) == 0:
        last -= 1
    while smallest_probability(symmetric(last + 1)) > 0:
        last += 1
    return {
        "largest domain": [float(last)],
        "smallest probability": [smallest_probability(symmetric(domain))],
        "smallest scaled": [smallest_scaled(symmetric(10_000))],
    }


def reach(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the largest domain on which iterations on a form of the likelihood can begin.

    Found by bisection over domains, on the reports of the same number of people who all hold
    value 0.
    """
    epsilon = float(parameters["epsilon"])
    people, most = int(parameters["people"]), int(parameters["most"])

    def works(domain: int) -> bool:
        oracle = rumor.UnaryEncoding(domain=domain, epsilon=epsilon, variant="symmetric")
        reports = oracle.privatize(np.zeros(people, dtype=np.int64), random=rumor.Seeded(seed))
        form = str(parameters["likelihood"])
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                found = rumor.estimate(
                    oracle, reports, method="em", likelihood=form, max_iterations=1
                )
        except InputError:
            return False
        return bool(np.isfinite(found.frequency).all())

    if works(most):
        return {"largest domain": [float(most)], "limited": [0.0]}
    low, high = 2, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return {"largest domain": [float(low)], "limited": [1.0]}


def normaliser(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the sums of shares over the domain under equations 13 and 14 as printed.

    Equation 13 sums 1/n over people where it should sum over values; equation 14 with s = 0.8
    gives the first value four fifths, where the numbers follow the ratio 0.8.
    """
    values, people = int(parameters["domain"]), int(parameters["people"])
    over_values, over_people = _harmonic(values), _harmonic(people)
    s = 0.8
    printed = np.asarray((1 - s) ** np.arange(values) * s, dtype=np.float64)
    meant = truth(f"geometric {s:g}", values)
    return {
        "zipf total as printed": [over_values / over_people],
        "zipf total as meant": [1.0],
        "geometric, error of equal shares as printed": [
            squared(np.full(values, 1 / values), printed)
        ],
        "geometric, error of equal shares as meant": [squared(np.full(values, 1 / values), meant)],
    }


def _harmonic(n: int) -> float:
    return float((1 / np.arange(1, n + 1)).sum())


def sparsity(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the number of occurring columns of the channel (equation 11) and of all, in bits."""
    oracle, law, people = _setting(parameters)
    found = [
        len(np.unique(draw(oracle, law, people, s), axis=0)) for s in range(seed, seed + trials)
    ]
    return {
        "columns that occur": [float(n) for n in found],
        "columns, log2": [float(law.size)] * trials,
    }


def unary_channel(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Compare the channel on three values (Figure 4) with the product of equation 6, by entry."""
    oracle = rumor.UnaryEncoding(
        domain=3, epsilon=float(parameters["epsilon"]), variant="symmetric"
    )
    p, q = oracle.hit, oracle.miss
    entries: dict[str, list[float]] = {}
    worst = 0.0
    for value in range(3):
        total = 0.0
        for bits in outputs_of(3):
            product = math.prod(
                (p if bit else 1 - p) if i == value else (q if bit else 1 - q)
                for i, bit in enumerate(bits)
            )
            packed = np.packbits(np.array(bits, dtype=np.uint8), bitorder="little").tobytes()
            worst = max(worst, abs(product - float(oracle.probability(packed, value))))
            entries[f"{value}/{''.join(map(str, bits))}"] = [product]
            total += product
        entries[f"{value}/total"] = [total]
    return {**entries, "largest difference": [worst], "columns": [2.0**3]}


def outputs_of(domain: int) -> Sequence[tuple[int, ...]]:
    """Return all rows of `domain` bits, in the order of Figure 4."""
    return [
        tuple(number >> (domain - 1 - i) & 1 for i in range(domain))
        for number in range(1 << domain)
    ]


def _setting(parameters: Parameters) -> tuple[FrequencyOracle, Vector, int]:
    domain = int(parameters.get("domain", 1000))
    epsilon = float(parameters["epsilon"])
    oracle = ORACLES[str(parameters["oracle"])](domain, epsilon)
    return oracle, truth(str(parameters["law"]), domain), int(parameters["people"])


_NOTHING, _LEG = 1e-30, 2_000


def stated_rule(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Run the stated rule, eta = D^-4 in counts, to its end; return its cost and result.

    Plain iterations on symmetric unary encoding (equation 11, as matrix products), until the
    Euclidean length of a step is below eta, or `most` were made. "error" is there, "optimum" that
    of our solver on the same reports, "apart" the largest difference between the two. Frequencies
    below 1e-30, which change no sum in doubles, are left out of later products.
    """
    oracle, law, people = _setting(parameters)
    most, eta = int(parameters["most"]), float(law.size) ** -4
    found: dict[str, list[float]] = {}
    for trial in range(seed, seed + trials):
        reports = draw(oracle, law, people, trial)
        bits = np.unpackbits(reports, axis=1, count=law.size, bitorder="little")
        ratios, once = 1 + (oracle.odds - 1) * bits, np.ones(people)
        here, made, ended = np.full(law.size, 1 / law.size), 0, False
        while made < most and not ended:
            held = here > _NOTHING
            rule = Stopping(max_iterations=min(_LEG, most - made), tolerance=eta / people)
            likelihood = MatrixLikelihood(np.ascontiguousarray(ratios[:, held]), once)
            moved, told = iterate(likelihood, here[held] / here[held].sum(), rule)
            here = np.zeros(law.size)
            here[held] = moved
            made += cast("int", told["iterations"])
            ended = bool(told["converged"])
        best = rumor.estimate(oracle, reports, method="bayes")
        for name, value in (
            ("iterations", made),
            ("ended", float(ended)),
            ("gap", MatrixLikelihood(ratios, once).update(here).gap),
            ("error", squared(here, law)),
            ("optimum", squared(best.frequency, law)),
            ("updates of the solver", cast("int", best.diagnostics["updates"])),
            ("apart", float(np.abs(here - best.frequency).max())),
        ):
            found.setdefault(name, []).append(float(value))
    return found
