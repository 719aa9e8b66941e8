"""What must hold for every mechanism. Each law is a plain function that raises AssertionError.

test_laws.py runs them over every registered mechanism's `examples()`, so a new mechanism
is covered the moment it is registered; test_laws_bite.py runs them over broken ones and
demands that they fail. Laws of frequency oracles are in oracle_laws.py.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from random import Random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rumor.core import loops
from rumor.core.canonical import Json, canonical_json
from rumor.core.errors import InputError
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports
from rumor.mechanisms import REGISTRY, Mechanism, from_description
from rumor.mechanisms.summary import Summary, merge
from rumor.privacy.audit.enumeration import distribution
from tests.laws.chance import (
    UNLIKELY,
    chi_squared,
    largest_autocorrelation,
    lower_bound,
    normal_tail,
    upper_bound,
)

Law = Callable[[Mechanism], None]
Row = dict[bytes, Fraction]

# Larger domains are looked at through a spread of this many values: fractions are slow.
MAX_ROWS = 40


# --- What the laws look at ---------------------------------------------------------------


def some_inputs(mechanism: Mechanism, most: int) -> list[object]:
    """As many of the inputs in `rows`, evenly spread, first and last included."""
    return _spread(_spread(mechanism.inputs(), MAX_ROWS), most)


def _spread(values: Sequence[object], most: int) -> list[object]:
    if len(values) <= most:
        return list(values)
    return [values[i * (len(values) - 1) // (most - 1)] for i in range(most)]


def rows(mechanism: Mechanism, public: bytes | None = None) -> dict[object, Row]:
    """The channel as {value: {report: probability}}, for up to MAX_ROWS values."""
    # Broken subclasses equal the mechanism that they break, so the type is part of the key.
    return _rows(type(mechanism), mechanism, mechanism.publics()[0] if public is None else public)


@functools.lru_cache(maxsize=64)
def _rows(kind: type[Mechanism], mechanism: Mechanism, public: bytes) -> dict[object, Row]:
    reports = [row.tobytes() for row in mechanism.outputs(public)]
    return {
        value: {report: mechanism.probability(report, value) for report in reports}
        for value in some_inputs(mechanism, MAX_ROWS)
    }


def levels(mechanism: Mechanism, public: bytes) -> tuple[list[Fraction], NDArray[np.int64]]:
    """The distinct probabilities in ascending order, and for each report and value which it is.

    Hashing and comparing thousands of equal fractions is slow; their indices are not.
    """
    table = [list(row.values()) for row in rows(mechanism, public).values()]
    keys = {(p.numerator, p.denominator): p for row in table for p in row}
    ordered = sorted(keys.values())
    index = {(p.numerator, p.denominator): i for i, p in enumerate(ordered)}
    return ordered, np.array([[index[p.numerator, p.denominator] for p in row] for row in table]).T


@contextlib.contextmanager
def forced(path: str) -> Iterator[None]:
    """Run the heavy loops "plain" (numpy) or "compiled" (numba), whatever the size."""
    small, so_far = loops.SMALL_BYTES, loops._plain_bytes
    loops.SMALL_BYTES, loops._plain_bytes = {"plain": 1 << 62, "compiled": -1}[path], 0
    try:
        yield
    finally:
        loops.SMALL_BYTES, loops._plain_bytes = small, so_far


def logarithm(ratio: Fraction) -> Decimal:
    """The natural logarithm to 60 digits, independent of rumor.core.exact."""
    with localcontext(Context(prec=60)):
        return (Decimal(ratio.numerator) / Decimal(ratio.denominator)).ln()


def refused(act: Callable[[], object]) -> str:
    """The sentence with which something was refused; an AssertionError if it was not."""
    try:
        act()
    except InputError as problem:
        return str(problem)
    raise AssertionError("something that breaks a rule was accepted")


# --- The model, the code and the privacy ---------------------------------------------------


def law_rows_sum_to_one(mechanism: Mechanism) -> None:
    """For each value the probabilities of all reports are positive and sum to exactly 1."""
    for public in mechanism.publics():
        outputs = [row.tobytes() for row in mechanism.outputs(public)]
        assert len(outputs) == len(set(outputs)) == mechanism.alphabet, "outputs come once each"
        assert all(report.startswith(public) for report in outputs), "the public part comes first"
        for value, row in rows(mechanism, public).items():
            assert min(row.values()) > 0, f"some report is impossible given {value!r}"
            assert sum(row.values()) == 1, f"probabilities given {value!r} do not sum to 1"
        if len(mechanism.inputs()) * mechanism.alphabet <= 50_000:
            channel = mechanism.channel(public)
            assert [row.tobytes() for row in channel.outputs] == outputs
            written = dict(zip(mechanism.inputs(), channel.probabilities, strict=True))
            for value, row in rows(mechanism, public).items():
                assert written[value] == tuple(row.values())


def law_draw_is_the_channel(mechanism: Mechanism) -> None:
    """The exact distribution of the reference draw, by enumeration, is the channel's."""
    for public in mechanism.publics():
        table = rows(mechanism, public)
        for value in list(table)[:: 1 + len(table) // 12]:
            drawn = distribution(functools.partial(mechanism.draw, value), public)
            assert drawn == table[value], f"the draw of {value!r} has another law"


def law_epsilon_is_exact(mechanism: Mechanism) -> None:
    """The worst log-ratio over all reports and pairs of values is epsilon, and never above."""
    worst = Fraction(1)
    for public in mechanism.publics():
        chances, index = levels(mechanism, public)
        assert chances[0] > 0, "a report that one value cannot give tells values apart"
        pairs = {
            (int(low), int(high)) for low, high in zip(index.min(1), index.max(1), strict=True)
        }
        worst = max([worst, *(chances[high] / chances[low] for low, high in pairs)])
    loss, claim = logarithm(worst), Decimal(mechanism.epsilon)
    assert loss <= claim, f"the loss {loss} exceeds the claim {claim}"
    assert claim - loss < Decimal("1e-12"), f"the claim {claim} is above the loss {loss}"


# --- Sampling ------------------------------------------------------------------------------

BULK = 12_000
SCALAR = 800


def law_bulk_plain_agrees(mechanism: Mechanism) -> None:
    """`privatize` by the plain loops follows the channel (chi-squared, p > 1e-6)."""
    with forced("plain"):
        _privatize_agrees(mechanism, seed=101)


def law_bulk_compiled_agrees(mechanism: Mechanism) -> None:
    """`privatize` by the compiled loops follows the channel (chi-squared, p > 1e-6)."""
    with forced("compiled"):
        _privatize_agrees(mechanism, seed=102)


def law_scalar_agrees(mechanism: Mechanism) -> None:
    """`report` follows the channel (chi-squared, p > 1e-6)."""
    source = Seeded(103)
    for value in some_inputs(mechanism, 2):
        _agrees(mechanism, value, [mechanism.report(value, random=source) for _ in range(SCALAR)])


def _privatize_agrees(mechanism: Mechanism, seed: int) -> None:
    values = some_inputs(mechanism, 3)
    # Interleaved, so that a report drawn for another row's value would show.
    batch = mechanism.privatize(values * BULK, random=Seeded(seed))
    assert batch.shape == (len(values) * BULK, mechanism.width)
    assert batch.dtype == np.uint8
    for index, value in enumerate(values):
        _agrees(mechanism, value, [row.tobytes() for row in batch[index :: len(values)]])


def _agrees(mechanism: Mechanism, value: object, reports: Sequence[bytes]) -> None:
    """Compare how often each report came with the channel."""
    if list(mechanism.publics()) != [b""]:
        _agrees_given_public(mechanism, value, reports)
        return
    row, seen = rows(mechanism)[value], Counter(reports)
    assert seen.keys() <= row.keys(), f"reports that the channel does not know, given {value!r}"
    p = chi_squared([seen[report] for report in row], [float(q) for q in row.values()])
    assert p > UNLIKELY, f"reports of {value!r} do not follow the channel: p = {p:.3g}"


def _agrees_given_public(mechanism: Mechanism, value: object, reports: Sequence[bytes]) -> None:
    """The same where each report has a public part of its own.

    Given its public part, a report has a rank among all reports with that part, most likely
    first. The probabilities by rank are the same for all public parts, so ranks can be
    counted together. The public part itself must be uniform bytes, whatever the value.
    """
    size = len(mechanism.publics()[0])
    ranked = sorted(rows(mechanism)[value].values(), reverse=True)
    ranks: Counter[int] = Counter()
    for report in reports[: max(80, 6_000 // mechanism.alphabet)]:
        outputs = [row.tobytes() for row in mechanism.outputs(report[:size])]
        chances = [mechanism.probability(output, value) for output in outputs]
        assert sorted(chances, reverse=True) == ranked, "the law depends on the public part"
        own, place = mechanism.probability(report, value), outputs.index(report)
        above = sum(chance > own for chance in chances)
        ranks[above + sum(chance == own for chance in chances[:place])] += 1
    p = chi_squared([ranks[i] for i in range(len(ranked))], [float(q) for q in ranked])
    assert p > UNLIKELY, f"reports of {value!r} do not follow the channel: p = {p:.3g}"
    public = np.frombuffer(b"".join(report[:size] for report in reports), dtype=np.uint8)
    p = chi_squared(np.bincount(public, minlength=256).tolist(), [1 / 256] * 256)
    assert p > UNLIKELY, f"the public bytes are not uniform: p = {p:.3g}"


def law_people_are_independent(mechanism: Mechanism) -> None:
    """No two rows of a batch share randomness: no correlation at any distance.

    A buffer used twice, a counter that wraps or a chunk that starts over would leave every
    single report right and still show here.
    """
    people = 40_000  # more than any chunk
    for path in ("plain", "compiled"):
        with forced(path):
            values = [some_inputs(mechanism, 2)[0]] * people
            batch = mechanism.privatize(values, random=Seeded(104)).astype(np.float64)
        # One number for each report: its bytes, in proportions that nothing favours.
        series = batch @ np.sqrt(np.arange(2, batch.shape[1] + 2))
        common = Counter(series.tolist()).most_common(1)[0][1]
        if people - common < 400:
            continue  # almost everybody reports the same (large epsilon): nothing to correlate
        deviation = largest_autocorrelation(series)
        assert normal_tail(deviation) * people / 2 > UNLIKELY, f"rows correlate: {deviation:.1f} sd"


def law_loops_agree(mechanism: Mechanism) -> None:
    """The plain and the compiled loops give the same bytes and counts, at awkward sizes."""
    for people in (1, 7, 64, 257, 20_000):
        values = list(itertools.islice(itertools.cycle(some_inputs(mechanism, 5)), people))
        both = []
        for path in ("plain", "compiled"):
            with forced(path):
                batch = mechanism.privatize(values, random=Seeded(people))
                few = batch[:2_000]
                both.append((batch.tobytes(), mechanism.tally(few).tobytes()))
        assert both[0] == both[1], f"plain and compiled loops differ on {people} people"


def law_audit(mechanism: Mechanism) -> None:
    """An attacker's own measurement stays below epsilon and comes close to it.

    The attacker knows two values and picks the reports that tell them apart best. From
    samples of both, a Clopper-Pearson bound at 99.9 % says how much they differ at least.
    """
    # With a public part every report is another one, and none is looked up twice.
    people = 40_000 if list(mechanism.publics()) == [b""] else 8_000
    value, other, worst = _best_pair(mechanism)
    likelier: dict[bytes, bool] = {}

    def distinguishes(report: bytes) -> bool:
        if report not in likelier:
            chance = mechanism.probability(report, value)
            likelier[report] = chance == worst * mechanism.probability(report, other)
        return likelier[report]

    hits = []
    for seed, held in ((105, value), (106, other)):
        with forced("compiled"):
            batch = mechanism.privatize([held] * people, random=Seeded(seed))
        hits.append(sum(distinguishes(row.tobytes()) for row in batch))
    error = 0.001 / 2
    low, high = lower_bound(hits[0], people, error), upper_bound(hits[1], people, error)
    bound = math.log(low / high) if low > 0 else -math.inf
    epsilon = mechanism.epsilon
    assert bound <= epsilon, f"samples show a loss of {bound:.4f}, above epsilon {epsilon:.4f}"
    # Teeth: the bound reaches epsilon up to what so many samples can show. Events rarer
    # than 10 in the sample cannot be told from rarer ones; 8 standard errors cover the two
    # confidence bounds (3.3 each) and the luck of the draw.
    first, second = max(hits[0], 1), max(hits[1], 10)
    reach = min(epsilon, math.log(first / 10))
    slack = 8 * math.sqrt(1 / first + 1 / second)
    assert bound >= reach - slack, f"samples show only {bound:.4f} of epsilon {epsilon:.4f}"


def _best_pair(mechanism: Mechanism) -> tuple[object, object, Fraction]:
    """Two values and the largest ratio of probabilities between them."""
    best: tuple[Fraction, object, object] | None = None
    for public in mechanism.publics():
        chances, index = levels(mechanism, public)
        values = list(rows(mechanism, public))
        for column in np.unique(index, axis=0):
            ratio = chances[column.max()] / chances[column.min()]
            if best is None or ratio > best[0]:
                best = ratio, values[int(column.argmax())], values[int(column.argmin())]
    assert best is not None
    return best[1], best[2], best[0]


def law_evidence_is_the_models(mechanism: Mechanism) -> None:
    """What an observer concludes from a report is the log-ratio of its probabilities."""
    first, second = some_inputs(mechanism, 2)
    for public in mechanism.publics():
        table = rows(mechanism, public)
        exact = [float(logarithm(p / table[second][y])) for y, p in table[first].items()]
        outputs = mechanism.outputs(public)
        found = mechanism.log_likelihood_ratio(outputs, first, second)
        np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)
        assert (mechanism.log_likelihood_ratio(outputs, first, first) == 0).all()
        assert np.abs(found).max() <= mechanism.epsilon * (1 + 1e-9)


# --- Reports -------------------------------------------------------------------------------


def law_reports_are_recognised(mechanism: Mechanism) -> None:
    """Exactly the outputs are valid: every other pattern of bytes is refused, with a reason."""
    width = mechanism.width
    for public in mechanism.publics():
        outputs = mechanism.outputs(public)
        valid = {row.tobytes() for row in outputs}
        assert mechanism.validate(outputs).all
        patterns = _patterns(outputs, len(public))
        verdict = mechanism.validate(patterns)
        expected = [row.tobytes() in valid for row in patterns]
        assert verdict.valid.tolist() == expected, "the mask is not membership in outputs()"
        good, bad = expected.index(True), [i for i, right in enumerate(expected) if not right]
        assert verdict.explain(good) is None
        if bad:
            assert verdict.explain(bad[0]), "a refusal must say why"
            for batch in (patterns[bad[:1]], patterns[[good, bad[0], good]]):
                refused(functools.partial(Summary.empty(mechanism).update, batch))
    report = outputs[0].tobytes()
    for wrong in (report[:-1], report + b"\0", b""):
        verdict = mechanism.validate([report, wrong, report])
        assert verdict.valid.tolist() == [True, False, True]
        assert verdict.explain(1) == f"a report has {width} bytes"
        refused(functools.partial(Summary.empty(mechanism).update, [report, wrong]))
    for extra in (-1, 1):
        stretched = np.zeros((2, width + extra), dtype=np.uint8)
        assert not mechanism.validate(stretched).valid.any()
        refused(functools.partial(Summary.empty(mechanism).update, stretched))
    assert "uint8" in refused(lambda: mechanism.validate(outputs.astype(np.int64)))
    refused(lambda: mechanism.validate(report))
    refused(lambda: mechanism.validate([report, "text"]))


def _patterns(outputs: Reports, public: int) -> Reports:
    """All byte patterns behind the public part where there are few, else neighbours of outputs."""
    width = outputs.shape[1] - public
    if width <= 2:
        tails = np.arange(1 << 8 * width, dtype="<u2").view(np.uint8).reshape(-1, 2)[:, :width]
        heads = np.tile(outputs[0, :public], (len(tails), 1))
        return np.hstack([heads, tails]).astype(np.uint8)
    some = outputs[:: max(1, len(outputs) // 200)]
    flips = [some]
    for position in range(public, public + width):
        for bit in range(8):
            flipped = some.copy()
            flipped[:, position] ^= np.uint8(1 << bit)
            flips.append(flipped)
        for byte in (0, 255):
            flipped = some.copy()
            flipped[:, position] = byte
            flips.append(flipped)
    return np.vstack(flips)


def law_reports_are_valid(mechanism: Mechanism) -> None:
    """Whatever comes out is valid, as a batch and one at a time, and nothing goes in but values."""
    values = some_inputs(mechanism, 5)
    for path in ("plain", "compiled"):
        with forced(path):
            assert mechanism.validate(mechanism.privatize(values * 100, random=Seeded(107))).all
    one = [mechanism.report(value) for value in values]
    assert mechanism.validate(one).all
    assert "empty" in refused(lambda: mechanism.privatize([], random=Seeded(0)))


def law_description_round_trips(mechanism: Mechanism) -> None:
    """A description, as JSON, gives back an equal mechanism that draws the same bytes."""
    text = canonical_json(mechanism.describe())
    again = from_description(json.loads(text))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again.describe() == mechanism.describe()
    assert (again.epsilon, again.width) == (mechanism.epsilon, mechanism.width)
    assert again.alphabet == mechanism.alphabet
    assert rows(again) == rows(mechanism)
    values = some_inputs(mechanism, 5) * 50
    ours, theirs = (m.privatize(values, random=Seeded(108)) for m in (mechanism, again))
    assert ours.tobytes() == theirs.tobytes()
    assert mechanism.report(values[0], random=Seeded(1)) == again.report(
        values[0], random=Seeded(1)
    )


def law_descriptions_are_checked(mechanism: Mechanism) -> None:
    """A description with a key missing, added or of another type is refused with a sentence."""
    description = mechanism.describe()
    for key in mechanism.parameters():
        less = {k: v for k, v in description.items() if k != key}
        assert key in refused(functools.partial(from_description, less))
        wrongs: tuple[Json, ...] = (None, -1, "", "x", 0.5, [], True)
        for wrong in wrongs:
            refused(functools.partial(from_description, {**description, key: wrong}))
    refused(lambda: from_description({**description, "surprise": 1}))
    numbers = [k for k, v in mechanism.parameters().items() if isinstance(v, str) and v.isdigit()]
    for key in numbers:  # thresholds, as text; one form for each, so that digests agree
        for text in (str((1 << 64) + 1), "01", "+1", "1 ", "1e3", "1.0", "٣", "-1"):
            refused(functools.partial(from_description, {**description, key: text}))


# --- Summaries -----------------------------------------------------------------------------


def law_summaries_merge(mechanism: Mechanism) -> None:
    """Any order and any split of the reports give the same bytes, and the same as at once."""
    pool = np.vstack([mechanism.outputs(public)[:300] for public in mechanism.publics()])
    empty = Summary.empty(mechanism, contract="c", question="q")
    picks = st.lists(st.integers(0, len(pool) - 1), max_size=30)

    @settings(max_examples=25)
    @given(st.lists(picks, min_size=1, max_size=5), st.randoms(use_true_random=False))
    def check(parts: list[list[int]], random: Random) -> None:
        flat = [index for part in parts for index in part]
        whole = empty.update(pool[flat])
        assert whole.reports == len(flat)
        summaries = [empty.update(pool[part]) for part in parts]
        assert merge(summaries).to_bytes() == whole.to_bytes()
        random.shuffle(summaries)
        random.shuffle(flat)
        assert merge(summaries).to_bytes() == whole.to_bytes()
        one_by_one = functools.reduce(lambda s, i: s.update([pool[i].tobytes()]), flat, empty)
        assert one_by_one.to_bytes() == whole.to_bytes()
        assert (whole + empty) == (empty + whole) == whole
        assert Summary.from_bytes(whole.to_bytes()) == whole

    check()


def law_summaries_refuse_others(mechanism: Mechanism) -> None:
    """Only summaries of the same mechanism, contract and question add up."""
    ours = Summary.empty(mechanism, contract="c", question="q")
    assert "contract" in refused(
        lambda: ours + Summary.empty(mechanism, contract="d", question="q")
    )
    assert "question" in refused(
        lambda: ours + Summary.empty(mechanism, contract="c", question="r")
    )
    assert "contract" in refused(lambda: ours + Summary.empty(mechanism, question="q"))
    for kind in REGISTRY:
        for other in kind.examples():
            if other != mechanism:
                theirs = Summary.empty(other, contract="c", question="q")
                assert "mechanism" in refused(functools.partial(ours.__add__, theirs))


LAWS: tuple[Law, ...] = (
    law_rows_sum_to_one,
    law_epsilon_is_exact,
    law_bulk_plain_agrees,
    law_bulk_compiled_agrees,
    law_scalar_agrees,
    law_people_are_independent,
    law_loops_agree,
    law_audit,
    law_evidence_is_the_models,
    law_reports_are_recognised,
    law_reports_are_valid,
    law_description_round_trips,
    law_descriptions_are_checked,
    law_summaries_merge,
    law_summaries_refuse_others,
)
