"""What the tests of files, engines and commands share: small collections and their reports."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from rumor.contract.collection import Collection, Question
from rumor.contract.report_file import write_reports
from rumor.core.randomness import Seeded
from rumor.core.reports import Reports

LABELS = ("blank", "news", "search", "mail", "nothing")

TOML = """
name = "Home pages"
series = "home-pages"
contact = "privacy@example.org"

[[questions]]
id = "homepage"
kind = "choice"
text = "What opens when you start the browser?"
labels = ["blank", "news", "search", "mail", "nothing"]
epsilon = 2.0
mechanism = "randomized-response"

[[questions]]
id = "medicine"
kind = "choice"
domain = 50
epsilon = 3.0
mechanism = "unary"
"""


def home_pages() -> Collection:
    return Collection.from_toml(TOML)


def write_toml(folder: Path, text: str = TOML, name: str = "collection.toml") -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def made_reports(question: Question, count: int, seed: int = 1) -> Reports:
    mechanism = question.mechanism
    values = np.random.default_rng(seed).integers(0, len(mechanism.inputs()), count)
    return mechanism.without_labels().privatize(values, random=Seeded(seed))


def write_days(
    path: Path,
    collection: Collection,
    question: Question,
    days: dict[str, Reports],
    countries: list[str] | None = None,
) -> None:
    """A reports file with these reports of each day, countries in turn."""
    strata = None if countries is None else pa.schema([("country", pa.string())])
    with write_reports(path, collection, question, strata=strata, random=Seeded(5)) as writer:
        for day, reports in days.items():
            kept = None
            if countries is not None:
                names = [countries[i % len(countries)] for i in range(len(reports))]
                kept = {"country": pa.array(names)}
            writer.write(reports, datetime.date.fromisoformat(day), kept)
