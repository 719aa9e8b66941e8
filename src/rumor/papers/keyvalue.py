"""Experiments with key-value data: the paper's three sets, and errors of every contender.

A report depends on a person's values only through signs, whose chance is linear in the value;
so the counts of a key depend on its share f and mean m alone, and are drawn without drawing
people. Errors of shares are times 1e4, as the paper prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from rumor.core import exact
from rumor.core.types import Vector
from rumor.kinds.keyvalue.fit.linear import most_likely
from rumor.kinds.keyvalue.fit.pooled import MODELS, posterior_means
from rumor.kinds.keyvalue.fit.published import (
    calibrate,
    published_em,
    responsibilities,
)
from rumor.mechanisms import KeyValueBlock, PrivKV, PrivKVM
from rumor.mechanisms.keyvalue import KeyCounts, KeyRates
from rumor.papers.model import Numbers, Parameters

KEYS = 50
SETS = ("gaussian", "power", "linear")
PRODUCTS = 500
APART = ", means apart"
"""After the name of a set: its shares, and means that have nothing to do with them."""
OTHER_SETS = (*(f"{name}{APART}" for name in SETS), "ratings")
"""Sets that the paper does not run: three with unrelated means, and one with many rare keys."""
Random = np.random.Generator
# Estimated shares and means, by contender.
Answers = dict[str, tuple[Vector, Vector]]


def data_set(name: str, random: Random | None = None) -> tuple[Vector, Vector]:
    """Return shares and means of 50 keys, as their moments (Table 1) show them; and other sets.

    In the paper's sets a rare key has a mean near -1, so that a guess by the share alone is
    good. "gaussian, means apart" has the same shares and evenly spread means, dealt out anew by
    `random`. "ratings" are 500 products, of which few are rated often.
    """
    if name.endswith(APART):
        f, _ = data_set(name.removesuffix(APART))
        means = (2 * np.arange(f.size, dtype=np.float64) + 1) / f.size - 1
        return f, (random or np.random.default_rng(0)).permutation(means)
    if name == "ratings":
        rank = np.arange(1.0, PRODUCTS + 1)
        spread = [NormalDist(0.4, 0.3).inv_cdf((r - 0.5) / PRODUCTS) for r in rank]
        return 0.4 * rank**-0.8, np.random.default_rng(7).permutation(np.clip(spread, -1, 1))
    k = np.arange(KEYS, dtype=np.float64)
    if name == "linear":
        return (k + 1) / KEYS, np.linspace(-1.0, 1.0, KEYS).astype(np.float64)
    if name == "gaussian":
        f = np.exp(-((k - 25) ** 2) / 200)
        return f, 2 * f - 1
    assert name == "power"  # the exponent -11/10 in the text is a slip
    f = (1 + 0.01 * k) ** -11.0
    return f, 2 * f - 1


def draw_counts(
    mechanism: KeyValueBlock | PrivKV | PrivKVM, f: Vector, m: Vector, people: int, random: Random
) -> KeyCounts:
    """Return the counts of one collection. Keys of a block are taken as drawn one by one."""
    about = mechanism.block if isinstance(mechanism, KeyValueBlock) else 1
    trials = random.multinomial(people * about, np.full(f.size, 1 / f.size))
    if isinstance(mechanism, PrivKVM):
        chances = _round_chances(mechanism, f, m)
    else:
        chances = _chances(mechanism.rates, f, m)
    outputs = random.multinomial(trials, chances)
    return KeyCounts(outputs[:, 0], outputs[:, 1], trials)


def _chances(rates: KeyRates, f: Vector, m: Vector) -> NDArray[np.float64]:
    seen, tilt = rates.miss + rates.gain * f, rates.sign_gain * f * m
    return _rows((seen + tilt) / 2, (seen - tilt) / 2)


def _round_chances(mechanism: PrivKVM, f: Vector, m: Vector) -> NDArray[np.float64]:
    p1, p2 = mechanism.key_truth / exact.WORD, mechanism.value_truth / exact.WORD
    made_up = np.array(mechanism.fakes) / mechanism.grid.steps - 1
    held, absent = f * p1, (1 - f) * (1 - p1)
    tilt = (2 * p2 - 1) * (held * m + absent * made_up)
    return _rows((held + absent + tilt) / 2, (held + absent - tilt) / 2)


def _rows(plus: Vector, minus: Vector) -> NDArray[np.float64]:
    rows = np.clip(np.stack([plus, minus, 1 - plus - minus], axis=1), 0, 1)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


# --- Contenders -----------------------------------------------------------------------------


def as_published(epsilon: float, people: int, f: Vector, m: Vector, random: Random) -> Answers:
    """Return PrivKV by calibration and by EM on the same reports, and PrivKVM with three rounds."""
    privkv = PrivKV(keys=f.size, epsilon=epsilon)
    counts = draw_counts(privkv, f, m, people, random)
    frequency, mean, _ = published_em(privkv, counts)
    round_, counts_ = PrivKVM(keys=f.size, epsilon=epsilon, rounds=3), counts
    first: Vector | None = None
    while True:
        counts_ = draw_counts(round_, f, m, people, random)
        shares, means = calibrate(round_, counts_)
        first = shares if first is None else first
        if round_.round == round_.rounds:
            break
        round_ = round_.next(np.nan_to_num(means))
    return {
        "PrivKV": calibrate(privkv, counts),
        "EM": (frequency, mean),
        "PrivKVM3": (first, means),
    }


def ours(epsilon: float, people: int, f: Vector, m: Vector, random: Random) -> Answers:
    """Return the default, and the same reports under a flat prior and by maximum likelihood."""
    block = KeyValueBlock(keys=f.size, epsilon=epsilon)
    counts = draw_counts(block, f, m, people, random)
    pooled = posterior_means(counts, block.rates, tuple(MODELS))
    flat = posterior_means(counts, block.rates, ("apart",))
    f_hat, s_hat = most_likely(counts, block.rates)
    return {
        "default": (pooled.frequency, pooled.mean),
        "flat": (flat.frequency, flat.mean),
        "mle": (f_hat, s_hat / np.where(f_hat > 0, f_hat, np.nan)),
    }


def nominal_for(exact_epsilon: float) -> float:
    """Return the nominal budget at which PrivKV's exact epsilon is this one, by bisection."""
    low, high = exact_epsilon, min(32.0, 2 * exact_epsilon + 1)
    for _ in range(60):
        middle = (low + high) / 2
        if PrivKV(keys=1, epsilon=middle).epsilon <= exact_epsilon:
            low = middle
        else:
            high = middle
    return low


def em_at_exact(epsilon: float, people: int, f: Vector, m: Vector, random: Random) -> Answers:
    """Return the published EM at the budget whose exact epsilon is the stated one."""
    privkv = PrivKV(keys=f.size, epsilon=nominal_for(epsilon))
    frequency, mean, _ = published_em(privkv, draw_counts(privkv, f, m, people, random))
    return {"EM exact": (frequency, mean)}


CONTENDERS: Mapping[str, Callable[[float, int, Vector, Vector, Random], Answers]] = {
    "published": as_published,
    "ours": ours,
    "equal": em_at_exact,
}


# --- Experiments ----------------------------------------------------------------------------


def squared(answer: tuple[Vector, Vector], f: Vector, m: Vector) -> tuple[float, float]:
    """Return mean squared errors of shares (times 1e4) and means.

    Where an estimator has no answer for a mean, 0 is taken: the middle of the range.
    """
    f_hat, m_hat = answer
    of_means = np.mean((np.nan_to_num(m_hat) - m) ** 2)
    return float(np.mean((f_hat - f) ** 2) * 1e4), float(of_means)


def absolute(answer: tuple[Vector, Vector], m: Vector) -> float:
    """Return the mean absolute error of means: what the captions of Figures 2 to 8 name."""
    return float(np.abs(np.nan_to_num(answer[1]) - m).mean())


def errors(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return MSE of shares (f) and means (m), MAE of means (a) of a group of contenders.

    "PrivKV clipped" has shares in [0, 1], "PrivKVM3 from 0" those below 0 set to 0.
    """
    f, m = data_set(parameters["data"])
    contend = CONTENDERS[parameters["contenders"]]
    random, found = np.random.default_rng(seed), dict[str, list[float]]()
    for _ in range(trials):
        if parameters["data"].endswith(APART):
            f, m = data_set(parameters["data"], random)
        answers = contend(parameters["epsilon"], parameters["people"], f, m, random)
        if "PrivKV" in answers:
            shares, means = answers["PrivKV"]
            answers["PrivKV clipped"] = np.clip(shares, 0, 1), means
            shares, means = answers["PrivKVM3"]
            answers["PrivKVM3 from 0"] = np.maximum(shares, 0), means
        for name, answer in answers.items():
            of_shares, of_means = squared(answer, f, m)
            found.setdefault(f"{name} f", []).append(of_shares)
            found.setdefault(f"{name} m", []).append(of_means)
            found.setdefault(f"{name} a", []).append(absolute(answer, m))
    if "EM f" in found:
        for letter in "fm":
            gain = 1 - np.array(found[f"EM {letter}"]) / np.array(found[f"PrivKV {letter}"])
            found[f"EM over PrivKV {letter}"] = (100 * gain).tolist()
    return found


def together(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the correlation over runs of EM's and PrivKV's log MSE_f, on the same reports."""
    found = errors({**parameters, "contenders": "published"}, int(parameters["runs"]), seed)
    em, privkv = (np.log(found[f"{row} f"]) for row in ("EM", "PrivKV"))
    return {"correlation": [float(np.corrcoef(em, privkv)[0, 1])]}


def by_key(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the estimated mean of every key (Figure 5): as published and ours."""
    f, m = data_set(parameters["data"])
    random, found = np.random.default_rng(seed), dict[str, list[float]]()
    for _ in range(trials):
        arguments = (parameters["epsilon"], parameters["people"], f, m, random)
        answers = {**as_published(*arguments), **ours(*arguments)}
        for name in ("PrivKV", "EM", "default"):
            means = np.nan_to_num(answers[name][1])
            for key in range(KEYS):
                found.setdefault(f"{name}/{key}", []).append(float(means[key]))
            for band, rare in (("below 0.1", f < 0.1), ("0.1 to 0.3", (f >= 0.1) & (f < 0.3))):
                off = float(np.abs(means - m)[rare].mean())
                found.setdefault(f"{name}, share {band}", []).append(off)
            off = float(np.abs(means - m)[f >= 0.3].mean())
            found.setdefault(f"{name}, share 0.3 and more", []).append(off)
    return found


THRESHOLDS = (1e-3, 5e-4, 3e-4, 2e-4, 1e-4, 5e-5, 1e-5)


def thresholds(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return MSE of EM's shares on the same reports, by the threshold at which it stops."""
    f, m = data_set(parameters["data"])
    random, found = np.random.default_rng(seed), dict[str, list[float]]()
    privkv = PrivKV(keys=KEYS, epsilon=parameters["epsilon"])
    for _ in range(trials):
        counts = draw_counts(privkv, f, m, parameters["people"], random)
        for threshold in THRESHOLDS:
            shares, means, _ = published_em(privkv, counts, threshold)
            of_shares = squared((shares, means), f, m)[0]
            found.setdefault(f"{threshold:g}", []).append(of_shares)
    return found


def moments(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return mean and variance of shares and means (Table 1)."""
    f, m = data_set(parameters["data"])
    found = {
        "mean share": f.mean(),
        "variance of shares": f.var(),
        "mean of means": m.mean(),
        "variance of means": m.var(),
    }
    return {name: [round(float(value), 12)] for name, value in found.items()}


def exponent(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the moments of the power set with the exponent -11/10 as printed, and -11 as meant."""
    k = np.arange(KEYS, dtype=np.float64)
    found = {}
    for name, power in (("as printed", -1.1), ("as meant", -11.0)):
        f = (1 + 0.01 * k) ** power
        found[f"mean share {name}"] = [float(f.mean())]
        found[f"variance of shares {name}"] = [float(f.var())]
    return found


def closed_form(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the exact error of PrivKV's unclipped shares by number of people: MSE_f times 1e4.

    Given N reports on a key it is lambda (1 - lambda) / (N (p1 - q1)^2); N is binomial, so the
    mean of 1/N is a hair above keys / people.
    """
    f, _ = data_set(parameters["data"])
    privkv = PrivKV(keys=KEYS, epsilon=parameters["epsilon"])
    rates, reports = privkv.rates, parameters["people"] / KEYS
    seen = rates.miss + rates.gain * f
    spread = float((seen * (1 - seen)).mean()) / rates.gain**2 * (1 / reports + 1 / reports**2)
    return {"MSE_f": [1e4 * spread], "exact epsilon": [privkv.epsilon]}


def first_step(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the worked example: P((1,1) | output (1,1)) after the first step from 1/4 each."""
    channel = PrivKV(keys=1, epsilon=parameters["epsilon"]).state_channel
    return {"first step": [float(responsibilities(channel, np.full(4, 0.25))[0, 0])]}


def unidentified(parameters: Parameters, trials: int, seed: int) -> Numbers:
    """Return the mean that EM finds in exact proportions, from two starts, and the limit of PrivKV.

    No noise and no sampling: what differs is not identified by four states and three outputs.
    """
    f, m = parameters["share"], parameters["mean"]
    privkv = PrivKV(keys=1, epsilon=parameters["epsilon"])
    outputs = _chances(privkv.rates, np.array([f]), np.array([m]))
    channel = privkv.state_channel
    found: dict[str, list[float]] = {"truth": [m]}
    for name, start in (("from 1/4 each", [0.25] * 4), ("from .4 .1 .1 .4", [0.4, 0.1, 0.1, 0.4])):
        theta, before = np.array(start), np.zeros(4)
        while np.abs(theta - before).max() > 1e-14:
            before, theta = theta, outputs[0] @ responsibilities(channel, theta)
        held = float(theta[0] + theta[1])
        found[f"EM {name}"] = [float(theta[0] - theta[1]) / held]
        found[f"share, EM {name}"] = [held]
    plus, minus = (np.rint(1e12 * outputs[:, i]).astype(np.int64) for i in (0, 1))
    counts = KeyCounts(plus, minus, np.array([10**12]))
    found["PrivKV"] = [float(calibrate(privkv, counts)[1][0])]
    f_hat, s_hat = most_likely(counts, privkv.rates)
    found["three states"] = [float(s_hat[0] / f_hat[0])]
    return found
