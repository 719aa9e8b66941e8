"""The pictures of the three stories for newcomers, on the data and the reports of their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from docs.drawing import (
    DARK,
    GREY,
    ORANGE,
    PALE,
    Axis,
    Curve,
    box,
    line,
    number,
    picture,
    plot,
    text,
)
from rumor.core.randomness import Seeded
from rumor.kinds.estimating import estimate
from rumor.mechanisms import RandomizedResponse


@dataclass(frozen=True)
class Bar:
    """One row: what was estimated, from where to where, and what is true."""

    name: str
    value: float
    low: float
    high: float
    truth: float


def intervals(title: str, groups: Sequence[tuple[str, Sequence[Bar]]], most: float) -> str:
    """Rows in groups, each an estimate in its interval beside the truth, up to the share `most`."""
    left, width, step = 150.0, 440.0, 26.0

    def at(share: float) -> float:
        return left + width * min(max(share, 0.0), most) / most

    drawn, y = [text((16, 24), title, size=15, weight="bold")], 56.0
    for name, bars in groups:
        if name:
            drawn.append(text((16, y + 4), name, weight="bold"))
            y += step
        for bar in bars:
            drawn += [
                text((left - 12, y + 4), bar.name, anchor="end"),
                line((at(0), y), (at(most), y), colour=PALE),
                line((at(bar.low), y), (at(bar.high), y), colour=DARK, width=2.4),
                f'<circle cx="{number(at(bar.value))}" cy="{number(y)}" r="4.5" fill="{DARK}"/>',
                box((at(bar.truth) - 1.5, y - 9), (3, 18), fill=ORANGE),
            ]
            y += step
    for mark in np.arange(0, most + 0.01, 0.2).tolist():
        drawn.append(text((at(mark), y + 8), f"{100 * mark:.0f}%", size=12, anchor="middle"))
    note = "Blue: the estimate and its 95% interval. Orange: the truth."
    drawn.append(text((16, y + 34), note, size=12, colour=GREY))
    return picture(left + width + 30, y + 48, title, drawn)


def _bars(estimate: Any, truth: Any, labels: Sequence[str]) -> list[Bar]:
    """A row for each label, its interval that of a share that was named in advance."""
    rows = [(label, estimate.share([label])) for label in labels]
    return [
        Bar(label, share.unbiased, share.low, share.high, float((truth == label).mean()))
        for label, share in rows
    ]


def sky() -> str:
    """What phones saw in each half of the year."""
    from vega_datasets import local_data

    days = local_data.seattle_weather()
    months = days["date"].dt.month
    wet, seen = (months >= 10) | (months <= 3), days["weather"]
    labels = ["drizzle", "fog", "rain", "snow", "sun"]
    mechanism = RandomizedResponse(domain=labels, epsilon=2.0)
    reports = mechanism.privatize(seen, random=Seeded(2026))
    groups = [
        (name, _bars(estimate(mechanism, reports[which.to_numpy()]), seen[which], labels))
        for name, which in (("The dry half", ~wet), ("The wet half", wet))
    ]
    return intervals("What 1,461 phones saw (epsilon 2)", groups, 0.8)


def affairs() -> str:
    """Who says yes, by years of marriage."""
    import statsmodels.api as sm

    women = sm.datasets.fair.load_pandas().data
    years = women["yrs_married"]
    said = (women["affairs"] > 0).map({True: "yes", False: "no"})
    said[women.index % 100 == 99] = "no answer"
    mechanism = RandomizedResponse(domain=["yes", "no", "no answer"], epsilon=1.0)
    reports = mechanism.privatize(said, random=Seeded(1974))
    groups = {
        "under 5 years": years < 5,
        "5 to 12 years": (years >= 5) & (years < 12),
        "over 12 years": years >= 12,
    }
    bars = []
    for name, which in groups.items():
        (bar,) = _bars(estimate(mechanism, reports[which.to_numpy()]), said[which], ["yes"])
        bars.append(Bar(name, bar.value, bar.low, bar.high, bar.truth))
    return intervals("Married that long, and said yes (6,366 women, epsilon 1)", [("", bars)], 0.6)


def penguins() -> str:
    """How often the best guess is right, by epsilon: on average, and of these penguins."""
    from palmerpenguins import load_penguins

    species = load_penguins()["species"]
    labels = sorted(set(species))
    truth = np.searchsorted(labels, species.to_numpy().astype(str))
    known = np.bincount(truth) / len(truth)
    average, measured = [], []
    for epsilon in (0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 3.5, 4):
        joint = known[:, None] * (np.eye(3) * (np.exp(epsilon) - 1) + 1) / (np.exp(epsilon) + 2)
        average.append((epsilon, float(joint.max(axis=0).sum())))
        mechanism = RandomizedResponse(domain=labels, epsilon=epsilon)
        reports = mechanism.privatize(species, random=Seeded(344))[:, 0]
        measured.append((epsilon, float((joint.argmax(axis=0)[reports] == truth).mean())))
    curves = [
        Curve("on average", average, -8),
        Curve("these penguins", measured, 8, dots=True),
        Curve("without reports", [(0.25, known.max()), (4, known.max())]),
    ]
    return plot(
        "How often the best guess of a penguin's species is right",
        Axis("epsilon", 0, 4, (0, 1, 2, 3, 4)),
        Axis("right", 0, 1, (0, 0.25, 0.5, 0.75, 1), show=lambda v: f"{100 * v:g}%"),
        curves,
        room=140,
    )
