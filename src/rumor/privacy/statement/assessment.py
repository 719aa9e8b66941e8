"""A data-protection impact assessment: made from the contract and what the operator declares.

Each sentence about a measure is there only where the setting is that makes it true. What no code
can know is declared by the operator, and said to be, or is left open in square brackets.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from rumor import __version__
from rumor.contract.collection import Collection
from rumor.contract.deletion import LEAST_KEPT
from rumor.core.checks import checked_choice
from rumor.core.plain_text import one_line
from rumor.privacy.promise import CollectionPromise, collection_promise
from rumor.privacy.sentences import odds_factor, posterior_bound
from rumor.privacy.statement.deployment import Deployment
from rumor.privacy.statement.statement import Section, Statement

_MUCH = 4.0  # an epsilon above this one hides little
_MARKUP = re.compile(r"[\\`*_\[\]<>|~$#&]")


@functools.cache
def assessment_words() -> Mapping[str, Mapping[str, str]]:
    """Return the sentences of an assessment, by language."""
    found: Mapping[str, Mapping[str, str]]
    found = json.loads((Path(__file__).parent / "assessment.json").read_text(encoding="utf-8"))
    return found


def assessments(
    collection: Collection,
    deployment: Deployment | None = None,
    languages: Sequence[str] | None = None,
) -> tuple[Statement, ...]:
    """Return the assessment of `collection` in each of these `languages` (default: en)."""
    asked = tuple(languages) if languages else ("en",)
    for language in asked:
        checked_choice("a language", language, assessment_words())
    return tuple(
        _Assessment(collection, deployment or Deployment(), language).made() for language in asked
    )


def to_markdown(statement: Statement) -> str:
    """Return an assessment as Markdown; no text of the contract is markup."""
    blocks = [f"# {_escape(statement.title)}", _escape(statement.lead)]
    for section in statement.sections:
        blocks.append(f"## {_escape(section.heading)}")
        blocks += [_escape(paragraph) for paragraph in section.paragraphs]
        if section.facts:
            facts = (f"- **{_escape(name)}**: {_escape(text)}" for name, text in section.facts)
            blocks.append("\n".join(facts))
    return "\n\n".join(blocks)


def _escape(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


class _Assessment:
    """The sections of one assessment in one language."""

    def __init__(self, collection: Collection, deployment: Deployment, language: str) -> None:
        self.collection, self.deployment, self.language = collection, deployment, language
        self.said = assessment_words()[language]
        self.promise: CollectionPromise = collection_promise(collection)
        self.where = deployment.where_randomised(collection)
        self.proved = [p.question for p in self.promise.questions if math.isinf(p.one)]

    def made(self) -> Statement:
        """Return the assessment."""
        sections = {
            "purposes": self.purposes(),
            "data": self.data(),
            "recipients": self.recipients(),
            "retention": self.retention(),
            "rights": self.rights(),
            "risks": (),
            "remains": self.remains(),
            "decision": (self.say("decide"),),
        }
        facts = {"data": tuple(self.questions()), "risks": tuple(self.risks())}
        return Statement(
            self.say("title", name=self.collection.name),
            self.say("lead", version=__version__, digest=self.collection.digest),
            tuple(
                Section(self.say(name), tuple(paragraphs), facts.get(name, ()))
                for name, paragraphs in sections.items()
            ),
            language=self.language,
        )

    def say(self, key: str, **parts: object) -> str:
        """Return the sentence called `key`, with its parts."""
        return self.said[key].format(**parts)

    def declared(self, key: str) -> str:
        """Return what the operator declares of `key`, or the place to fill it in."""
        text = getattr(self.deployment, key)
        return self.say(key, text=text.rstrip(".。")) if text else self.say(f"{key}_open")

    def declared_days(self, key: str, days: int | None) -> str:
        """Return what the operator declares of the `days` for which `key` are kept."""
        if days is None:
            return self.say(f"{key}_open")
        return self.say(key, days=f"{days:,}") if days else self.say(f"no_{key}")

    def joined(self, sentences: Iterable[str]) -> str:
        """Return `sentences` one after the other, as the language writes them."""
        return (" " if self.language == "en" else "").join(sentences)

    def names(self, ids: Sequence[str]) -> str:
        """Return the ids of questions as a list."""
        return self.said["list"].join(ids)

    def purposes(self) -> Iterator[str]:
        """Yield who asks what, and what for."""
        collection, count = self.collection, len(self.collection.questions)
        yield self.say("asked", contact=collection.contact, name=collection.name, count=count)
        if collection.ask is not None and collection.ask.questions is not None:
            yield self.say("ask_some", some=collection.ask.questions, count=count)
        for key in ("controller", "purpose", "legal_basis"):
            yield self.declared(key)

    def data(self) -> Iterator[str]:
        """Yield what is collected, and what stands beside it."""
        collection = self.collection
        yield self.say(self.where)
        has_tokens = collection.issuer is not None
        yield self.joined([self.say("stored"), self.say("id_token" if has_tokens else "id_random")])
        if collection.groups is None:
            yield self.say("no_groups")
        else:
            lists = (f"{name} ({', '.join(labels)})" for name, labels in collection.groups.columns)
            yield self.say("groups", groups=self.said["list"].join(lists))
        if self.promise.linked is not None:
            first, second = self.promise.linked
            yield self.say("linked", first=first, second=second)

    def questions(self) -> Iterator[tuple[str, str]]:
        """Yield each question with its text and its losses."""
        pairs = zip(self.collection.questions, self.promise.questions, strict=True)
        for question, costs in pairs:
            yield (
                question.id,
                self.say(
                    "question",
                    text=one_line(question.text or question.id),
                    one=_number(costs.one),
                    reports=f"{question.reports_in_all:,}",
                    most=_number(costs.most),
                ),
            )

    def recipients(self) -> Iterator[str]:
        """Yield who gets to see what."""
        relay, issuer = self.collection.relay, self.collection.issuer
        yield self.say("analysts")
        if self.where == "device":
            if relay is None:
                yield self.say("no_relay")
            else:
                yield self.say("relay", relay=relay.url, crowd=f"{relay.crowd:,}")
        if issuer is not None:
            yield self.say("issuer", issuer=issuer.url)
        others = self.deployment.recipients
        if others:
            yield self.say("declared_recipients", text=self.said["list"].join(others))
        else:
            yield self.say("recipients_open")
        yield self.declared("place")

    def retention(self) -> Iterator[str]:
        """Yield for how long what is kept."""
        days_of: dict[int | None, list[str]] = {}
        for question in self.collection.questions:
            days_of.setdefault(question.retention_days, []).append(question.id)
        for days, ids in days_of.items():
            if days is None:
                yield self.say("kept_open", names=self.names(ids))
                continue
            key = "kept" if self.where == "device" else "kept_files"
            yield self.say(key, names=self.names(ids), days=f"{days:,}", least=LEAST_KEPT)
        yield self.declared_days("backups", self.deployment.backup_days)
        yield self.declared_days("addresses", self.deployment.address_days)

    def rights(self) -> Iterator[str]:
        """Yield what a person can do about their reports."""
        ways = {"device": "withdraw", "hand": "no_withdraw", "table": "table_rights"}
        yield self.say(ways[self.where])
        yield self.say("access" if self.collection.groups is None else "access_groups")
        yield self.say("voluntary")

    def risks(self) -> Iterator[tuple[str, str]]:
        """Yield each risk with the measures against it."""
        for risk, measures in (
            ("risk_answer", self.measures_of_one()),
            ("risk_all", self.measures_of_all()),
            ("risk_sender", self.measures_of_senders()),
            ("risk_breach", [self.say("no_measure_breach" if self.proved else "measure_breach")]),
            ("risk_fake", [self.measure_of_fakes()]),
            ("risk_change", [self.say(f"{self._unless_device}measure_change")]),
        ):
            yield self.say(risk), self.joined(measures)

    @property
    def _unless_device(self) -> str:
        return "" if self.where == "device" else "no_"

    def measures_of_one(self) -> Iterator[str]:
        """Yield what bounds the loss of one report."""
        bounded = [costs.one for costs in self.promise.questions if math.isfinite(costs.one)]
        if bounded:
            one = max(bounded)
            yield self.say(
                "measure_answer",
                factor=f"{odds_factor(one):,.3g}",
                one=_number(one),
                percent=_even_guess(one),
            )
        if self.proved:
            yield self.say("no_measure_answer", names=self.names(self.proved))

    def measures_of_all(self) -> Iterator[str]:
        """Yield what bounds the loss of all reports of a person."""
        most, ceiling = self.promise.most, self.promise.ceiling
        if math.isinf(most):
            yield self.say("no_measure_all")
        else:
            yield self.say("measure_all", most=_number(most), percent=_even_guess(most))
        if self.where != "device":
            yield self.say("no_measure_series")
        elif math.isfinite(ceiling):
            yield self.say("measure_series", ceiling=_number(ceiling))

    def measures_of_senders(self) -> Iterator[str]:
        """Yield what keeps the sender of a report unknown."""
        collection = self.collection
        if self.where == "device" and collection.relay is not None:
            yield self.say("measure_relay", crowd=f"{collection.relay.crowd:,}")
        yield self.say(f"measure_{collection.admission}")
        if collection.groups is not None:
            yield self.say("measure_groups", strata=f"{collection.groups.strata:,}")

    def measure_of_fakes(self) -> str:
        """Return what limits reports that are made up."""
        if self.where != "device":
            return self.say(f"measure_{self.where}_fake")
        if self.collection.admission == "open":
            return self.say("measure_open_fake")
        reports = max(question.reports_in_all for question in self.collection.questions)
        return self.say("measure_tokens", reports=f"{reports:,}")

    def remains(self) -> Iterator[str]:
        """Yield what no measure covers."""
        most = self.promise.most
        yield self.say("remains_part")
        yield self.say("remains_crowd")
        if self.where == "device" and self.collection.relay is None:
            yield self.say("remains_direct")
        if _MUCH < most < math.inf:
            yield self.say("remains_large", most=_number(most))
        if self.proved:
            yield self.say("remains_proved", names=self.names(self.proved))
        yield self.say(f"remains_{self.where}")


def _number(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:,.4g}"


def _even_guess(epsilon: float) -> str:
    """Return the largest probability that an even guess can reach, rounded up."""
    sure = 100 * posterior_bound(0.5, min(epsilon, 700))
    return f"{math.ceil(sure * 10) / 10:.4g}%"
