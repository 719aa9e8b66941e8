"""Words out of bits: decoding RAPPOR's counts against a dictionary of candidates.

    rumor.estimate(rappor, reports_or_summary, candidates=words, method="auto", level=0.05)

Everything works from the bit counts of each cohort: a billion reports decode as fast as a
thousand, and the order of the candidates does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rumor.core.checks import checked_method, checked_size
from rumor.core.errors import InputError, format_value
from rumor.core.files import PathLike
from rumor.core.reports import Reports
from rumor.core.types import Progress, Vector
from rumor.estimators.data import Passes, as_summary, reports_in
from rumor.estimators.frequency.bayes import channel_em, start_at
from rumor.kinds.method_aliases import ALIASES, resolve_method
from rumor.kinds.text.fit.auto import TRIM, decode_auto
from rumor.kinds.text.fit.candidates import Candidates, candidate_map
from rumor.kinds.text.fit.iterative import bloom_likelihood
from rumor.kinds.text.fit.lasso import BitShares, bit_shares
from rumor.kinds.text.fit.left_out import PENALTIES, Fit
from rumor.kinds.text.fit.literature import CUT, PENALTY, decode_literature
from rumor.kinds.word_estimate import WordEstimate
from rumor.mechanisms.poisoning import bound_poisoning
from rumor.mechanisms.rappor.rappor import Rappor
from rumor.mechanisms.summary import Summary
from rumor.results.intervals import FoundIntervals, stderr_of_test

LEVEL = 0.05
_MAX_DECOYS = 1 << 31
# Above this the words found leave more noise than the reports' own.
_UNEXPLAINED = 1.3
# Words in the fit to a bit, from which on it is crowded.
_CROWDED = 0.5

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "auto": ("level", "decoys", "penalties", "trim"),
    "lasso-ols": ("level", "penalty", "cut"),
    "em": ("start", "max_iterations", "gap", "tolerance", "eta", "norm"),
}
"""Every method, and its options."""


def estimate(
    mechanism: Rappor, data: object, method: str, options: Mapping[str, Any]
) -> WordEstimate:
    """The words from reports or a summary of them; `candidates` are among the options."""
    rest = dict(options)
    candidates = rest.pop("candidates", None)
    if method == "em":
        checked_method(method, rest, OPTIONS)
        words = candidate_map(mechanism.bloom, candidates)
        return _iterated(as_summary(mechanism, data), words, reports_in(mechanism, data), rest)
    return decode(as_summary(mechanism, data), candidates, method=method, **rest)


def decode(
    summary: Summary,
    candidates: object,
    *,
    method: str = "auto",
    cache: PathLike | None = None,
    on_progress: Progress | None = None,
    **options: Any,
) -> WordEstimate:
    """The frequencies of candidate words, and which of them anyone holds.

    "auto" finds words at a false discovery rate of at most about `level`, whether or not the
    dictionary is complete: a word is tested against made-up words under the fit of all the others,
    at 0.8 of the level, since the penalty and the bits left out were still chosen with it in
    (benchmarks/honest_words.py measures what comes of it). Its further options: `decoys`, how
    many made-up words calibrate the p-values (by default all possible ones); `penalties`, the path
    of the Lasso in standard deviations, strongest first; `trim`, from how many standard deviations
    on an unexplained bit is left out (math.inf: none).

    "em" (of `rumor.estimate` alone, since it needs the reports) is the iterative Bayesian update
    over the candidates, with the stopping rules of a choice; it tests nothing.

    "lasso-ols" is the decode of the literature (Erlingsson, Pihur and Korolova 2014): `penalty`
    of the Lasso, `cut` for its coefficients, `level` of the t-test. It controls no error rate.

    `cache` is a directory in which the map of the dictionary is kept for the next time;
    `on_progress` is called while it is built.
    """
    known = resolve_method(method, OPTIONS, ALIASES["text"])
    chosen = checked_method(known, options, OPTIONS)
    if chosen == "em":
        raise _no_reports()
    level = _number("level", options.get("level", LEVEL), 0.0, 1.0)
    rappor = summary.made_by(Rappor)
    settings = _auto_settings(options) if chosen == "auto" else _literature_settings(options)
    words = candidate_map(rappor.bloom, candidates, cache=cache, on_progress=on_progress)
    decoded = _auto if chosen == "auto" else _literature
    return decoded(summary, words, bit_shares(summary), level, settings)


def _no_reports() -> InputError:
    return InputError(
        'method "em" needs the reports, since summaries of RAPPOR count bits and not whole '
        "reports; got a summary"
    )


def _iterated(
    summary: Summary,
    words: Candidates,
    reports: Reports | Passes | None,
    options: Mapping[str, Any],
) -> WordEstimate:
    """The iterative Bayesian update over the candidates, from whole reports."""
    if reports is None:
        raise _no_reports()
    rappor = summary.made_by(Rappor)
    likelihood = bloom_likelihood(rappor, words, reports)
    settings = dict(options)
    start = settings.get("start", "uniform")
    if not isinstance(start, str):  # of the words as they were listed
        settings["start"] = start_at(start, None, len(words))[words.order]
    frequency, told = channel_em(likelihood, None, **settings)
    unknown = np.full(len(words), np.inf)
    return _estimate(
        summary,
        words,
        frequency=frequency,
        unbiased=frequency,
        stderr=unknown,
        other_stderr=math.inf,
        # At least one person's worth.
        detected=frequency * summary.reports >= 1,
        p_value=np.ones(len(words)),
        method="em",
        level=LEVEL,
        controls="largest likelihood over the candidates: no error rate is controlled",
        alarms=["all people are taken to hold one of the candidates, and nothing is tested"],
        diagnostics=told,
    )


def _auto(
    summary: Summary, words: Candidates, shares: BitShares, level: float, settings: dict[str, Any]
) -> WordEstimate:
    result, decoys = decode_auto(words, shares, level=level, **settings), settings["decoys"]
    found, chosen = result.detected, result.refit
    frequency = np.zeros(len(words))
    frequency[found] = chosen.coefficients
    unbiased, stderr = result.fit.debiased()
    unbiased[found] = chosen.unbiased
    # What else is in the bits adds to the known noise, and never takes from it.
    inflation = math.sqrt(max(1.0, result.noise))
    stderr[found] = inflation * chosen.stderr
    alarms = _of_the_filter(words, result.fit, level)
    if decoys is not None and decoys < len(words) / level:
        alarms.append(
            f"{decoys:,} decoys are fewer than candidates / level, "
            f"{math.ceil(len(words) / level):,}: a lone true word cannot be found"
        )
    if result.noise > _UNEXPLAINED:
        alarms.append(
            f"the words found do not explain the data: its noise is {result.noise:.2f} times "
            f"the reports' own, so words are missing from the dictionary or too rare to tell"
        )
    if result.trimmed:
        alarms.append(
            f"{result.trimmed:,} of {shares.share.size:,} bits are far above what the words found "
            f"explain and were left out: a frequent word is missing from the dictionary"
        )
    return _estimate(
        summary,
        words,
        frequency=frequency,
        unbiased=unbiased,
        stderr=stderr,
        other_stderr=inflation * chosen.total_stderr,
        detected=found,
        p_value=result.p_value,
        least=result.least,
        method="auto",
        level=level,
        controls=f"false discovery rate at most {100 * level:g}%",
        alarms=alarms,
        diagnostics={
            "decoys": "all" if decoys is None else decoys,
            "penalty": result.fit.penalty,
            "fit_support": result.fit.lasso.support,
            "fit_noise": result.fit.tau**2,
            "noise": result.noise,
            "trimmed_bits": result.trimmed,
        },
    )


def _of_the_filter(words: Candidates, fit: Fit, level: float) -> list[str]:
    """What makes a filter too small for so many words."""
    bloom, lasso, alarms = words.bloom, fit.lasso, []
    # The chance that a made-up word has just the bits of a candidate: no p-value is below it.
    if float(bloom.bits) ** -(bloom.hashes * bloom.cohorts) > level / len(words):
        alarms.append(
            f"this filter cannot tell so many words apart: {bloom.bits:,} bits in "
            f"{bloom.cohorts:,} cohorts are too few for {len(words):,} candidates, of which a lone "
            f"true word cannot be found; collect with more cohorts, or list fewer words"
        )
    if lasso.support > _CROWDED * lasso.freedom:
        alarms.append(
            f"the fit is crowded: it took {lasso.support:,} words for {lasso.freedom:,} bits, so "
            f"words stand in for each other and only frequent ones are found; "
            f"collect with more bits or cohorts, or list fewer words"
        )
    return alarms


def _literature(
    summary: Summary, words: Candidates, shares: BitShares, level: float, settings: dict[str, Any]
) -> WordEstimate:
    result = decode_literature(words, shares, level=level, **settings)
    return _estimate(
        summary,
        words,
        frequency=np.where(result.detected, result.frequency, 0.0),
        unbiased=result.frequency,
        stderr=result.stderr,
        other_stderr=result.total_stderr,
        detected=result.detected,
        p_value=result.p_value,
        method="lasso-ols",
        level=level,
        controls=f"uncorrected t-tests at {100 * level:g}%: no error rate is controlled",
        alarms=[],
        diagnostics={**settings, "kept_by_lasso": result.kept},
    )


def _estimate(
    summary: Summary,
    words: Candidates,
    *,
    frequency: Vector,
    unbiased: Vector,
    stderr: Vector,
    other_stderr: float,
    detected: Any,
    p_value: Vector,
    least: float | None = None,
    alarms: Sequence[str],
    diagnostics: Mapping[str, object],
    **facts: Any,
) -> WordEstimate:
    """The estimate in the order of the words, with the sampling of people added.

    Where p-values are of tests that know the noise, `least` is the smallest there is: intervals of
    words found then agree with them.
    """
    liars = bound_poisoning(summary.mechanism, summary.reports).to_dict()
    other = float(np.clip(1.0 - frequency.sum(), 0.0, 1.0))
    noise = _noise(summary)
    share, stderr = np.clip(unbiased, 0.0, 1.0), np.maximum(stderr, noise)
    other_stderr = max(other_stderr, noise)
    population = np.sqrt(stderr**2 + share * (1 - share) / summary.reports)
    center, people = words.restore(unbiased), words.restore(stderr)
    both = words.restore(population)
    tested = np.zeros(len(words))
    if least is not None:
        tested = words.restore(np.where(detected, stderr_of_test(unbiased, p_value, least), 0.0))
    return WordEstimate(
        values=words.words,
        frequency=words.restore(frequency),
        unbiased=center,
        stderr=both,
        reports=summary.reports,
        epsilon=summary.mechanism.epsilon,
        intervals=FoundIntervals(center, both, people, tested=tested),
        detected=words.restore(detected),
        p_value=words.restore(p_value),
        other=other,
        other_stderr=math.sqrt(other_stderr**2 + other * (1 - other) / summary.reports),
        alarms=tuple(alarms),
        diagnostics={**diagnostics, "fake_clients": liars},
        **facts,
    )


def _noise(summary: Summary) -> float:
    """The standard error of a word's share if all else were known: nothing has less.

    Its h bits are coins of one of two chances; where no word is found, this is also how far
    "everything else" may be from everything.
    """
    rappor = summary.made_by(Rappor)
    coins = min(rate * (1 - rate) for rate in (rappor.p_star, rappor.q_star))
    gain = rappor.q_star - rappor.p_star
    return math.sqrt(coins / (summary.reports * rappor.hashes)) / gain


def _auto_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    decoys = options.get("decoys")
    if decoys is not None:
        decoys = checked_size("decoys", decoys, 1, _MAX_DECOYS)
    penalties = options.get("penalties", PENALTIES)
    if not isinstance(penalties, Sequence) or isinstance(penalties, str) or not penalties:
        raise InputError(
            f"penalties must be a list of numbers above 0; got {format_value(penalties)}"
        )
    path = [_number("a penalty", penalty, 0.0, math.inf) for penalty in penalties]
    if path != sorted(path, reverse=True):
        raise InputError(f"penalties must fall from strong to weak; got {format_value(penalties)}")
    trim = options.get("trim", TRIM)
    if trim != math.inf:
        trim = _number("trim", trim, 0.0, math.inf)
    return {"decoys": decoys, "penalties": path, "trim": trim}


def _literature_settings(options: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "penalty": _number("penalty", options.get("penalty", PENALTY), 0.0, math.inf),
        "cut": _number("cut", options.get("cut", CUT), -math.inf, math.inf),
    }


def _number(name: str, value: object, above: float, below: float) -> float:
    bounds = [f"above {above:g}"] if above > -math.inf else []
    bounds += [f"below {below:g}"] if below < math.inf else []
    rule = f"{name} must be a number {' and '.join(bounds) or 'that is finite'}"
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputError(f"{rule}; got {format_value(value)}")
    if not (above < value < below) or not math.isfinite(value):
        raise InputError(f"{rule}; got {float(value):g}")
    return float(value)
