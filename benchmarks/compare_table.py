"""Does the analyst's desk err as often as it says? Every promise with its figure.

    python -m benchmarks.compare_table [--quick] [--seed N] [--only NAME ...]

Counts are drawn from the exact laws of the mechanisms (a value's support count is binomial; the
outputs of randomised response are multinomial), so that a trial costs next to nothing. Trials
are printed with every figure, and the two standard deviations that their chance is allowed;
`--quick` makes a tenth of them.

The regression that is published with RRreg (Heck and Moshagen 2018) is on data that come with that
package alone. Its design is simulated instead, with the coefficients that it prints: the stochastic
lie detector, two groups with p = 2/12 and 10/12, an age, a political orientation and their
product. 1,600 people and the spread of both columns are made up, and the share of honest answers,
which RRreg estimates as well, is given.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import rumor
from rumor.analysis.compare.quantities import Differences, Sum
from rumor.analysis.regress.fit import FittedModel, Likelihoods, fit
from rumor.analysis.trend.line import find_change, smooth
from rumor.core.errors import InputError
from rumor.core.types import Vector
from rumor.estimators.frequency.linear import project
from rumor.estimators.groups import PooledSamples, Sample, chi_squared, chi_squared_tail
from rumor.estimators.multiple_testing import holm
from rumor.estimators.power import PowerPlan
from rumor.mechanisms import FrequencyOracle

Z = 1.959963984540054


@dataclass(frozen=True)
class Figure:
    """What was measured, of how many trials, and what was wanted."""

    name: str
    trials: str
    low: float
    high: float
    wanted: tuple[float, float]
    slack: float = 0.0
    """What the chance of so few trials is allowed on either side."""
    digits: int = 3

    @property
    def met(self) -> bool:
        """Whether all of it lies where it was wanted."""
        least, most = self.wanted[0] - self.slack, self.wanted[1] + self.slack
        return least <= self.low and self.high <= most


def counted(
    oracle: FrequencyOracle, n: int, share: float, trials: int, rng: np.random.Generator
) -> Sample:
    """One value's share in many trials: its support count is binomial."""
    gain = oracle.hit - oracle.miss
    seen = rng.binomial(n, oracle.miss + gain * share, trials) / n
    mean = (seen - oracle.miss) / gain
    q = oracle.miss
    parts = (q * (1 - q) / gain**2, (1 - 2 * q) / gain, -1.0)
    first, second, third = (np.full(trials, part) for part in parts)
    return Sample(mean, (first, second, third), n, (0.0, 1.0))


def chance(trials: int, deviations: float = 2.0) -> float:
    """So many standard deviations of the rate of a thing that happens in 5 of 100 trials."""
    return deviations * math.sqrt(0.05 * 0.95 / trials)


def inside(bounds: tuple[Vector, Vector], truth: float) -> float:
    return float(np.mean((bounds[0] <= truth) & (truth <= bounds[1])))


def cells() -> Iterator[tuple[FrequencyOracle, tuple[int, int], tuple[float, float]]]:
    """Three domains, four epsilons, five pairs of sizes, three pairs of shares: 180."""
    sizes = ((300, 300), (1000, 1000), (300, 3000), (10_000, 10_000), (1000, 5000))
    shares = ((0.02, 0.02), (0.1, 0.15), (0.5, 0.4))
    for domain, epsilon in itertools.product((4, 20, 200), (0.5, 1.0, 2.0, 4.0)):
        oracle = rumor.SubsetSelection(domain=domain, epsilon=epsilon)
        yield from ((oracle, n, f) for n in sizes for f in shares)


def differences(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials = int(20_000 * scale)
    covered, sizes = [], []
    for oracle, n, f in cells():
        one, other = (counted(oracle, n[i], f[i], trials, rng) for i in (0, 1))
        covered.append(inside(Differences.between(one, other).bounds(Z), f[1] - f[0]))
        alike = [counted(oracle, size, f[0], trials, rng) for size in n]
        sizes.append(float(np.mean(Differences.between(*alike).p_value < 0.05)))
    told = f"{len(covered)} cells, {trials:,} each"
    slack = chance(trials)
    yield Figure("coverage of differences", told, min(covered), max(covered), (0.93, 0.97), slack)
    yield Figure("size of the test", told, min(sizes), max(sizes), (0.03, 0.06), slack)
    apart = []
    for domain, share in itertools.product((4, 20, 200), (0.02, 0.1, 0.5)):
        arms = [
            counted(rumor.SubsetSelection(domain=domain, epsilon=e), 1000, share, trials, rng)
            for e in (0.5, 2.0)
        ]
        apart.append(inside(Differences.between(*arms).bounds(Z), 0.0))
    told = f"{len(apart)} cells, {trials:,} each"
    yield Figure("coverage, another epsilon", told, min(apart), max(apart), (0.93, 0.97), slack)


def families(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials = int(2000 * scale)
    for domain, epsilon in ((8, 1.0), (50, 3.0)):
        oracle = rumor.RandomizedResponse(domain=domain, epsilon=epsilon)
        weights = 1 / np.arange(1, domain + 1)
        law = weights / weights.sum()
        outputs = oracle.miss + (oracle.hit - oracle.miss) * law
        wrong = overall = 0
        for _ in range(trials):
            samples = []
            for n in (3000, 3000):
                tally = rng.multinomial(n, outputs / outputs.sum())
                samples.append(Sample.of_score(oracle.score(tally, n), n, "population"))
            found = Differences.between(*samples)
            wrong += int(holm(found.p_value).min() < 0.05)
            common = project(PooledSamples(samples).mean)
            covariance = 2 * oracle.covariance(common, 3000)
            overall += int(chi_squared(found.mean, covariance).p_value < 0.05)
        told = f"{domain} values, {trials:,}"
        rate = wrong / trials
        yield Figure("family error (Holm)", told, rate, rate, (0.0, 0.07), chance(trials))
        rate = overall / trials
        yield Figure("size of the global test", told, rate, rate, (0.03, 0.06), chance(trials))


def power(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials, got = int(100_000 * scale), []
    for epsilon, start, apart in (
        (1.0, 0.1, 0.05),
        (1.0, 0.4, 0.1),
        (3.0, 0.05, 0.02),
        (0.5, 0.2, 0.1),
    ):
        oracle = rumor.SubsetSelection(domain=20, epsilon=epsilon)
        people = PowerPlan(start).people(lambda f, o=oracle: float(o.variance(f, 1)), apart)  # type: ignore[misc]
        n = math.ceil(people)
        arms = [counted(oracle, n, f, trials, rng) for f in (start, start + apart)]
        got.append(float(np.mean(Differences.between(*arms).p_value < 0.05)))
    yield Figure(
        "power, asked .80", f"4 settings, {trials:,} each", min(got), max(got), (0.79, 0.81)
    )


def weights(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials, covered, bias, plain = int(20_000 * scale), [], [], []
    shares, parts = (0.05, 0.2, 0.6), (0.5, 0.3, 0.2)
    truth = sum(w * f for w, f in zip(parts, shares, strict=True))
    for epsilon, n in itertools.product((0.5, 1.0, 3.0), ((300, 600, 3000), (100, 100, 2000))):
        oracle = rumor.SubsetSelection(domain=8, epsilon=epsilon)
        samples = [counted(oracle, size, f, trials, rng) for size, f in zip(n, shares, strict=True)]
        found = Sum(samples, parts)
        covered.append(inside(found.bounds(Z), truth))
        bias.append(abs(float(found.mean.mean()) - truth))
        plain.append(abs(float(np.dot(n, shares)) / sum(n) - truth))
    told = f"6 settings, {trials:,} each"
    wanted, slack = (0.93, 0.97), chance(trials)
    yield Figure("coverage, post-stratified", told, min(covered), max(covered), wanted, slack)
    yield Figure("its bias", told, min(bias), max(bias), (0.0, 0.005), digits=4)
    yield Figure("bias without weights", told, min(plain), max(plain), (0.0, 1.0), digits=4)


def sources(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials = int(20_000 * scale)
    for n in (1000, 100_000):
        ratios, covered = [], []
        for domain, f in itertools.product((4, 50), (0.02, 0.1, 0.4)):
            oracles = [rumor.SubsetSelection(domain=domain, epsilon=e) for e in (0.5, 1.0, 3.0)]
            bound = 1 / sum(1 / float(o.variance(f, n)) for o in oracles)
            pooled = PooledSamples([counted(o, n, f, trials, rng) for o in oracles])
            ratios.append(float(np.mean((pooled.mean - f) ** 2)) / bound)
            covered.append(inside(pooled.bounds(Z), f))
        # A mean of so many squares of normal errors has this standard deviation, twice.
        slack = 2 * math.sqrt(2 / trials)
        told = f"{n:,} a source, 6 settings, {trials:,} each"
        yield Figure("squared error / bound", told, min(ratios), max(ratios), (0.0, 1.03), slack)
        slack = chance(trials)
        yield Figure(
            "coverage of the interval", told, min(covered), max(covered), (0.93, 0.97), slack
        )


def _fits(
    n: int, law: Vector, channel: Vector, draw: Callable[[], Vector], rng: np.random.Generator
) -> tuple[FittedModel, FittedModel] | None:
    """A fit, and one without the last column; None where columns tell answers apart."""
    x = draw()
    scores = np.column_stack([np.zeros(n), x @ law])
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    steps = np.cumsum(shares @ channel, axis=1)
    outputs = (rng.random((n, 1)) > steps).sum(axis=1).clip(max=channel.shape[1] - 1)
    answers = Likelihoods(channel.T[outputs], np.ones(n), channel)
    try:
        return fit(x, answers), fit(x[:, :-1], answers)
    except InputError:
        return None


def regressions(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials = int(600 * scale)
    for name, values, law in (
        ("logistic", 2, np.array([[-0.8], [0.5], [0.0]])),
        ("three answers", 3, np.array([[-0.5, 0.3], [0.5, -0.4], [0.0, 0.0]])),
    ):
        covered, sizes, refused = [], [], 0
        for n, epsilon in ((1000, 2.0), (4000, 1.0), (4000, 3.0)):
            channel = rumor.RandomizedResponse(domain=values, epsilon=epsilon).channel().matrix()

            def draw(n: int = n) -> Vector:
                return np.column_stack([np.ones(n), rng.normal(size=n), rng.integers(0, 2, n)])

            held, rejected, done = np.zeros(law.shape), 0, 0
            for _ in range(trials):
                found = _fits(n, law, channel, draw, rng)
                if found is None:
                    refused += 1
                    continue
                full, less = found
                done += 1
                errors = np.sqrt(np.diag(full.covariance)).reshape(law.T.shape).T
                held += np.abs(full.coefficients - law) < Z * errors
                ratio = 2 * (full.log_likelihood - less.log_likelihood)
                rejected += int(chi_squared_tail(ratio, law.shape[1]) < 0.05)
            covered += [float(held.min()) / done, float(held.max()) / done]
            sizes.append(rejected / done)
        told, slack = f"3 settings, {trials:,} each, {refused} refused", chance(trials)
        yield Figure(f"coverage, {name}", told, min(covered), max(covered), (0.93, 0.97), slack)
        yield Figure(
            f"size of its ratio test, {name}", told, min(sizes), max(sizes), (0.03, 0.06), slack
        )
    yield from _published(trials, rng)


def _published(trials: int, rng: np.random.Generator) -> Iterator[Figure]:
    law, n, honest = np.array([[1.8966], [0.0136], [0.6244], [-0.0204]]), 1600, 0.635806
    held, sums, done = np.zeros(4), np.zeros(4), 0
    for _ in range(trials):
        age, politics = rng.normal(0, 15, n), rng.normal(0, 2, n)
        x = np.column_stack([np.ones(n), age, politics, age * politics])
        truth = rng.random(n) < 1 / (1 + np.exp(-x @ law[:, 0]))
        told = np.where(rng.random(n) < 0.5, 2 / 12, 10 / 12)
        # Who does not hold it says yes with 1 - p, who does with the share that is honest.
        yes = np.column_stack([1 - told, np.full(n, honest)])
        said = rng.random(n) < yes[np.arange(n), truth.astype(int)]
        try:
            found = fit(x, Likelihoods(np.where(said[:, None], yes, 1 - yes), np.ones(n)))
        except InputError:
            continue
        errors = np.sqrt(np.diag(found.covariance))
        held += np.abs(found.coefficients - law)[:, 0] < Z * errors
        sums += (found.coefficients - law)[:, 0] / errors
        done += 1
    label = f"design of RRreg's example, {done:,} of {trials:,}"
    rates, bias = held / done, np.abs(sums / done)
    slack = chance(done)
    yield Figure("coverage, lie detector", label, rates.min(), rates.max(), (0.93, 0.97), slack)
    wanted, slack = (0.0, 0.15), 2 / math.sqrt(done)
    yield Figure("bias / std. error", label, bias.min(), bias.max(), wanted, slack)


def trends(scale: float, rng: np.random.Generator) -> Iterator[Figure]:
    trials, alarms = int(4000 * scale), []
    for days, share in itertools.product((7, 30, 120), (0.02, 0.3)):
        oracle = rumor.SubsetSelection(domain=20, epsilon=1.0)
        sizes = rng.integers(200, 5000, days)
        samples = [counted(oracle, int(n), share, trials, rng) for n in sizes]
        common = PooledSamples(samples).mean
        observed = np.array([s.mean for s in samples])
        # Only proportions of weights matter, and here they are those of the days' sizes.
        middle = np.full(trials, float(np.clip(common, 0, 1).mean()))
        variance = np.array([s.variance(middle) for s in samples])
        alarms.append(float(np.mean(find_change(observed, variance).p_value < 0.05)))
    told = f"6 settings, {trials:,} each"
    yield Figure(
        "false alarms of a change", told, min(alarms), max(alarms), (0.0, 0.06), chance(trials)
    )
    covered, gains = [], []
    for step in (0.0, 0.03, 0.3, 1.0):
        walk = np.cumsum(rng.normal(size=(60, trials)) * math.sqrt(step), axis=0)
        seen = walk + rng.normal(size=walk.shape)
        line = smooth(seen, np.ones(walk.shape), np.ones(59))
        covered.append(float(np.mean(np.abs(line.mean - walk) < Z * line.deviation)))
        gains.append(float(np.mean((line.mean - walk) ** 2)))
    told = f"4 walks of 60 days, {trials:,} each"
    yield Figure("coverage of the band", told, min(covered), max(covered), (0.88, 1.0))
    yield Figure("squared error / a day's own", told, min(gains), max(gains), (0.0, 1.0))


SECTIONS: dict[str, Callable[[float, np.random.Generator], Iterator[Figure]]] = {
    "differences": differences,
    "families": families,
    "power": power,
    "weights": weights,
    "sources": sources,
    "regressions": regressions,
    "trends": trends,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.compare_table")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=24)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    said = parser.parse_args(arguments)
    table = Table("what", "trials", "measured", "wanted", "met", title=f"seed {said.seed}")
    met = True
    for number, (name, section) in enumerate(SECTIONS.items()):
        if name not in said.only:
            continue
        rng = np.random.default_rng([said.seed, number])
        for figure in section(0.1 if said.quick else 1.0, rng):
            met &= figure.met
            low, high = (f"{x:.{figure.digits}f}" for x in (figure.low, figure.high))
            found = low if low == high else f"{low} to {high}"
            wanted = f"{figure.wanted[0]:.3f} to {figure.wanted[1]:.3f}"
            wanted += f" (chance {figure.slack:.3f})" if figure.slack else ""
            verdict = "yes" if figure.met else "NO"
            table.add_row(figure.name, figure.trials, found, wanted, verdict)
            print(
                f"{figure.name} ({figure.trials}): {found}, wanted {wanted}: {verdict}",
                file=sys.stderr,
            )
    Console(width=150).print(table)
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
