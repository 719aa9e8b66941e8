"""The statement of a collection for respondents, in the languages of the answer page.

It says what a collection does with people's answers, for whoever has to decide on it.

One statement, in sections; pages and files only lay it out. Every number is the contract's or
that of the promise; an audit is believed only if it is of this very contract.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rumor import __version__
from rumor.contract.collection import Collection, Question
from rumor.contract.deletion import LEAST_KEPT
from rumor.core.checks import checked_choice
from rumor.core.errors import InputError
from rumor.core.files import PathLike, readable
from rumor.core.plain_text import one_line, wrapped
from rumor.kinds import KINDS
from rumor.privacy.promise import CollectionPromise, QuestionPromise, collection_promise
from rumor.privacy.sentences import consequence, odds_factor, posterior_bound

_WORDS = Path(__file__).with_name("words.json")


@dataclass(frozen=True)
class Consent:
    """A consent text in one language."""

    language: str
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """The language's own name."""
        return words()[self.language]["name"]

    @property
    def title(self) -> str:
        """The heading above the lines."""
        return words()[self.language]["title"]


@functools.cache
def words() -> Mapping[str, Mapping[str, str]]:
    """Return the sentences, language by language."""
    found: Mapping[str, Mapping[str, str]] = json.loads(_WORDS.read_text(encoding="utf-8"))
    return found


def consent(collection: Collection, promise: CollectionPromise, language: str) -> Consent:
    """Return the consent text in `language`, for the largest loss and longest retention."""
    said = words()[language]
    one = max(question.one for question in promise.questions)
    by_hand = _is_by_hand(collection)
    kept = [question.retention_days for question in collection.questions]
    days = None if None in kept else max(each for each in kept if each is not None)
    lines = [
        said["who"].format(contact=collection.contact, name=collection.name),
        said["how_by_hand" if by_hand else "how"],
        said["one"].format(
            factor=f"{odds_factor(one):,.3g}", epsilon=f"{one:.4g}", percent=_even_guess(one)
        )
        if math.isfinite(one)
        else said["unlimited"],
    ]
    if collection.groups is not None:
        lists = (f"{name} ({', '.join(labels)})" for name, labels in collection.groups.columns)
        lines.insert(2, said["groups"].format(groups="; ".join(lists)))
    if promise.most > one:
        lines.append(
            said["all"].format(percent=_even_guess(promise.most), epsilon=_number(promise.most))
        )
    lines += [
        said["kept_open"] if days is None else said["kept"].format(days=f"{days:,}"),
        said["hidden"],
        said["free_by_hand" if by_hand else "free"],
        said["digest"].format(digest=collection.digest),
    ]
    return Consent(language, tuple(lines))


def _even_guess(epsilon: float) -> str:
    """Return the largest probability that an even guess can reach."""
    return f"{100 * posterior_bound(0.5, min(epsilon, 700)):.3g}%"


def _number(epsilon: float) -> str:
    return "∞" if math.isinf(epsilon) else f"{epsilon:,.4g}"


_LABELS_SHOWN = 12


@dataclass(frozen=True)
class Section:
    """A heading, paragraphs, and facts by name."""

    heading: str
    paragraphs: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Statement:
    """The sections and consent texts of a statement, in reading order."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    consents: tuple[Consent, ...] = ()
    language: str = "en"
    """The language of everything but the consents."""

    def to_text(self) -> str:
        """Return the statement as plain text."""
        lines = [self.title, wrapped(self.lead)]
        for section in self.sections:
            lines += ["", section.heading]
            lines += [wrapped(paragraph) for paragraph in section.paragraphs]
            lines += [f"  {name}: {value}" for name, value in section.facts]
        for each in self.consents:
            lines += ["", f"{each.title} ({each.name})", *each.lines]
        return "\n".join(lines)


_BY_DEVICE = (
    "Answers are randomised on each person's own device before anything is sent (local "
    "differential privacy). Neither the collector nor an analyst ever holds an answer."
)
_BY_HAND = (
    "People randomise their answers themselves, with dice, cards or a birthday, before anything is "
    "written down (local differential privacy). Neither an interviewer nor an analyst ever holds "
    "an answer."
)


def _is_by_hand(collection: Collection) -> bool:
    """Return whether people randomise all answers of `collection` themselves."""
    return all(question.mechanism.by_hand for question in collection.questions)


def statement(
    collection: Collection,
    *,
    audit: Mapping[str, Any] | None = None,
    languages: Sequence[str] | None = None,
) -> Statement:
    """Return the statement of a collection, with the findings of an audit and consent texts."""
    promise = collection_promise(collection)
    asked = tuple(languages) if languages else tuple(words())
    for language in asked:
        checked_choice("a language", language, words())
    return Statement(
        f"{collection.name}: a statement of privacy",
        _BY_HAND if _is_by_hand(collection) else _BY_DEVICE,
        (
            _questions_section(collection, promise),
            _storage_section(collection),
            _protection_section(collection, promise),
            _limits_section(collection, promise),
            _audit_section(collection, audit),
        ),
        tuple(consent(collection, promise, language) for language in asked),
    )


def read_audit(path: PathLike, collection: Collection) -> Mapping[str, Any]:
    """Return the certificate of this collection that `rumor audit --certificate` wrote."""
    with readable("an audit's certificate", path):
        text = Path(path).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
        digest = found["digest"]
        _audit_section(collection, found)  # raises if a member is missing
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"an audit must be a certificate as data (rumor audit --certificate audit.json); "
            f"got {str(path)!r}"
        ) from None
    if digest != collection.digest:
        raise InputError(
            f"the audit must be of this collection (digest {collection.digest[:16]}...); "
            f"got {str(digest)[:16]}..."
        )
    certificate: Mapping[str, Any] = found
    return certificate


def _questions_section(collection: Collection, promise: CollectionPromise) -> Section:
    paragraphs = (
        [] if (part := promise.questions_in_words()) is None else [f"Each person is asked {part}."]
    )
    facts = tuple(
        (question.id, _question(question, costs))
        for question, costs in zip(collection.questions, promise.questions, strict=True)
    )
    return Section("What is asked", tuple(paragraphs), facts)


def _question(question: Question, costs: QuestionPromise) -> str:
    labels = question.labels
    if labels is None:
        answers = KINDS[question.kind].hint(question.mechanism)
    else:
        few = ", ".join(one_line(label) for label in labels[:_LABELS_SHOWN])
        answers = f"{few}, and {len(labels) - _LABELS_SHOWN:,} more"
        answers = answers if len(labels) > _LABELS_SHOWN else few
    text = one_line(question.text) or "no text"
    return f"{text} (answers: {answers}; asked {costs.repetition_in_words()})"


def _storage_section(collection: Collection) -> Section:
    named = "that its token gives it" if collection.issuer is not None else "drawn at random"
    paragraphs = [
        f"Of each answer the collector stores the noisy report, an id {named}, so that none is "
        f"counted twice, and the day; besides, counts of the reports. Columns that an operator "
        f"keeps beside reports (a country, a group) are stored as they are.",
        "The contract sets no rule for logs of the network: addresses and times are for the "
        "operator to leave out.",
    ]
    if collection.groups is not None:
        paragraphs.insert(1, f"{collection.groups.in_words()}. A small group hides few people.")
    facts = tuple(
        (
            question.id,
            f"{question.mechanism.width:,} byte{'s' if question.mechanism.width > 1 else ''}, kept "
            + (
                "without a limit of time"
                if question.retention_days is None
                else f"for {question.retention_days:,} days, then in counts of at least "
                f"{LEAST_KEPT} reports together"
            ),
        )
        for question in collection.questions
    )
    return Section("What is stored, and for how long", tuple(paragraphs), _merge_facts(facts))


def _protection_section(collection: Collection, promise: CollectionPromise) -> Section:
    whole = consequence(promise.most)
    paragraphs = [
        f"The whole survey costs {promise.in_words()}. After all of it, {whole}",
        "This holds against everybody who sees the reports, whatever else they know, and does not "
        "depend on keeping anything secret but the device's own.",
    ]
    if (joined := promise.linking_in_words()) is not None:
        paragraphs.append(joined)
    if collection.series_epsilon is not None:
        paragraphs.append(
            f"No revision of the survey may cost a person more than epsilon {promise.ceiling:,.6g} "
            f"without their consent."
        )
    facts = tuple((costs.question, costs.in_words()) for costs in promise.questions)
    return Section(
        "What anybody can learn about one person", tuple(paragraphs), _merge_facts(facts)
    )


def _merge_facts(facts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return the facts with equal values put together under all their names."""
    names: dict[str, list[str]] = {}
    for name, value in facts:
        names.setdefault(value, []).append(name)
    return tuple((", ".join(each), value) for value, each in names.items())


def _limits_section(collection: Collection, promise: CollectionPromise) -> Section:
    def lines() -> Iterator[str]:
        yield "That somebody takes part, and when: the network and the collector see it."
        yield "Anything that the operator keeps beside reports, addresses among them."
        if collection.groups is not None:
            yield (
                f"The groups of each person ({', '.join(collection.groups.names)}): they are sent "
                f"in the clear, and no epsilon covers them."
            )
        yield (
            "What the crowd as a whole answers, and what follows from it for a person who is known "
            "to belong to a group: that is what the survey is for."
        )
        if _is_by_hand(collection):
            yield "Dice, cards or a birthday that somebody sees or knows: they are all the noise."
        else:
            yield "A device, or a page, that was tampered with: noise is added there."
        yield "People who lie, or send made-up reports; estimates say how much those can add."
        if collection.admission == "invited":
            yield (
                "Invitations: whoever knows which one was sent to whom, and runs the collector, "
                "can tell whose report arrives."
            )
        for question in collection.questions:
            if question.mechanism.warning is not None:
                yield f"Question {question.id!r}: {question.mechanism.warning}."
        if 4 < promise.most < math.inf:
            yield (
                f"Epsilon {promise.most:,.4g} in all is much: by itself it keeps nobody's answers "
                f"secret from somebody who tries."
            )

    return Section("What is not protected", tuple(lines()))


def _audit_section(collection: Collection, audit: Mapping[str, Any] | None) -> Section:
    facts = [
        ("contact", collection.contact),
        ("contract", collection.digest),
        ("made with", f"Rumor {__version__}"),
    ]
    if audit is None:
        paragraphs = [
            "No audit is attached. Anybody can make one: rumor audit COLLECTION --certificate."
        ]
    else:
        verdict = "passed" if audit["passed"] is True else "FAILED"
        paragraphs = [
            f"An audit of this contract by Rumor {audit['version']} on {audit['day']} "
            f"{verdict}: the code was walked exactly and played against, with "
            f"{audit['samples']:,} sampled reports of each of two answers."
        ]
        facts += [
            (
                f"{found['question']}, {found['part']}",
                f"claimed {found['claimed']:.6g}, found {found['found']:.6g}, "
                f"{'pass' if found['passed'] else 'FAIL'}",
            )
            for found in audit["findings"]
        ]
    return Section("How to check it", tuple(paragraphs), tuple(facts))
