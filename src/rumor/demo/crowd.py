"""The demonstration: people who do not exist answer a question that nobody likes to answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rumor.contract.collection import Collection, Question
from rumor.core.plain_text import aligned, decimals_for, percent, wrapped
from rumor.core.randomness import RandomSource, Seeded, System
from rumor.core.types import Progress, Vector
from rumor.kinds.estimating import estimate
from rumor.mechanisms import UnaryEncoding
from rumor.mechanisms.summary import Summary
from rumor.privacy.promise import question_promise
from rumor.results.estimate import Estimate

# The distribution of the simulated answers, which a real collector never sees.
SHARES = {
    "nothing": 0.31,
    "back pain": 0.14,
    "high blood pressure": 0.12,
    "migraine": 0.09,
    "anxiety": 0.08,
    "depression": 0.07,
    "diabetes": 0.06,
    "an addiction": 0.05,
    "a sexual disease": 0.02,
    "cancer": 0.02,
    "no answer": 0.04,
}
_OPEN_ABOUT = ("nothing", "no answer")
_CHUNK = 1 << 18
_CROWDS = (1_000, 10_000, 100_000, 1_000_000)


def demo_collection() -> Collection:
    """Return the contract of the demonstration; epsilon ln 3 gives simple numbers."""
    question = {
        "id": "health",
        "kind": "choice",
        "text": "Which of these troubles you most?",
        "labels": list(SHARES),
        "epsilon": math.log(3),
        "mechanism": {"name": "unary", "variant": "optimized"},
    }
    return Collection.resolve(
        {
            "name": "A sensitive question",
            "series": "rumor-demo",
            "contact": "nobody@example.org",
            "questions": [question],
        }
    )


@dataclass(frozen=True)
class Person:
    """One respondent: number, answer, and the bits that were sent."""

    number: int
    answer: int
    bits: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Demo:
    """The outcome of a demonstration: the true shares, one person's report, and the estimate."""

    collection: Collection
    person: Person
    truth: Vector
    estimate: Estimate

    @property
    def question(self) -> Question:
        """The one question."""
        return self.collection.questions[0]

    @property
    def oracle(self) -> UnaryEncoding:
        """How the answers were randomised."""
        oracle = self.question.mechanism
        assert isinstance(oracle, UnaryEncoding)
        return oracle

    @property
    def labels(self) -> tuple[str, ...]:
        """The possible answers."""
        labels = self.question.labels
        assert labels is not None
        return labels

    @property
    def covered(self) -> int:
        """How many of the intervals hold the truth."""
        low, high = self.estimate.interval(of="people")
        return int(((low <= self.truth) & (self.truth <= high)).sum())

    @property
    def coins(self) -> str:
        """The rule by which a device sends a bit."""
        return (
            f"The device sends a bit for each possible answer. The bit of the true answer is 1 "
            f"with probability {percent(self.oracle.p)}, every other bit with probability "
            f"{percent(round(self.oracle.q, 6))}."
        )

    @property
    def luck(self) -> str:
        """How the coins of the person shown fell."""
        own = self.person.bits[self.person.answer]
        others = sum(self.person.bits) - own
        return (
            f"Here the coins made the bit of the true answer a {own}, and {others} of the "
            f"{len(self.person.bits) - 1} others a 1."
        )

    @property
    def privacy(self) -> str:
        """The epsilon in words."""
        return question_promise(self.question).in_words()

    def crowds(self) -> list[tuple[int, float]]:
        """Sizes of crowds, each with the standard error of a rare answer's share."""
        return [(n, math.sqrt(float(self.oracle.variance(0.02, n, "people")))) for n in _CROWDS]

    def to_dict(self) -> dict[str, object]:
        """Return the demonstration as plain data for JSON."""
        data = self.estimate.to_dict(of="people")
        rows = data["estimates"]
        assert isinstance(rows, list)
        return {
            **data,
            "question": self.question.text,
            "collection": self.collection.digest,
            "privacy": self.privacy,
            "person": {
                "number": self.person.number,
                "answer": self.labels[self.person.answer],
                "bits": "".join(map(str, self.person.bits)),
            },
            "covered": self.covered,
            "estimates": [
                {**row, "truth": float(true)} for row, true in zip(rows, self.truth, strict=True)
            ],
        }

    def text(self) -> str:
        """Return the demonstration as a terminal shows it."""
        person, labels = self.person, self.labels
        dots = ("·", "1")
        bits = [
            (
                f"  {label}",
                dots[i == person.answer],
                str(person.bits[i]),
                "<- the truth" if i == person.answer else "",
            )
            for i, label in enumerate(labels)
        ]
        low, high = self.estimate.interval(of="people")
        digits = decimals_for(float(self.estimate.stderr.min()))
        shares = [
            (
                f"  {labels[i]}",
                percent(self.truth[i], digits),
                percent(self.estimate.frequency[i], digits),
                f"{percent(low[i], digits)} to {percent(high[i], digits)}",
                "" if low[i] <= self.truth[i] <= high[i] else "missed",
            )
            for i in np.argsort(-self.truth, kind="stable").tolist()
        ]
        return "\n".join(
            [
                f"{self.estimate.reports:,} people are asked: {self.question.text}",
                "",
                f'Person {person.number:,} would have to say "{labels[person.answer]}". '
                f"Their device sends this instead:",
                "",
                aligned(("", "answer", "sent", ""), bits, left=(0, 3)),
                "",
                wrapped(f"{self.coins} {self.luck}"),
                wrapped(self.privacy),
                "",
                "From all the reports together, the shares of the answers:",
                "",
                aligned(("", "truth", "estimate", "95% interval", ""), shares),
                "",
                wrapped(
                    f"{self.covered} of {len(labels)} intervals hold the truth; in the long run "
                    f"95% do. Each person spent "
                    f"epsilon {self.question.epsilon:.4g}, once, and had to trust nobody."
                ),
            ]
        )


def run(
    people: int,
    *,
    seed: int | None = None,
    on_progress: Progress | None = None,
) -> Demo:
    """Let this many simulated people answer, collect their reports and estimate."""
    collection = demo_collection()
    oracle = collection.questions[0].mechanism
    numbered = oracle.without_labels()
    random: RandomSource = System() if seed is None else Seeded(seed)
    crowd = np.random.default_rng(seed)
    answers = crowd.choice(len(SHARES), size=people, p=list(SHARES.values()))
    summary = Summary.empty(oracle, contract=collection.digest, question="health")
    chosen = _someone(answers, crowd)
    bits: tuple[int, ...] = ()
    for start in range(0, people, _CHUNK):
        reports = numbered.privatize(answers[start : start + _CHUNK], random=random)
        summary = summary.update(reports)
        if start <= chosen < start + len(reports):
            row = np.unpackbits(reports[chosen - start], count=len(SHARES), bitorder="little")
            bits = tuple(row.tolist())
        if on_progress is not None:
            on_progress(start + len(reports), people)
    return Demo(
        collection=collection,
        person=Person(chosen + 1, int(answers[chosen]), bits),
        truth=np.bincount(answers, minlength=len(SHARES)) / people,
        estimate=estimate(oracle, summary),
    )


def _someone(answers: NDArray[np.int64], crowd: np.random.Generator) -> int:
    """Return a respondent with a sensitive answer (any respondent if there is none)."""
    open_about = [list(SHARES).index(label) for label in _OPEN_ABOUT]
    candidates = np.flatnonzero(~np.isin(answers, open_about))
    return int(crowd.choice(candidates if candidates.size else np.arange(answers.size)))
