"""Whole documents, word for word: what a person, an authority or an analyst is given to read.

The contract has unequal things where most have equal ones: losses, days of keeping, reports of a
person, lists of groups, a text with two lines and one without. Expected texts are in documents.txt;
a change there is one that people read, and its figures are checked by hand.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.privacy.account import account
from rumor.privacy.attack import Attack, GuessRate
from rumor.privacy.audit.certificate import Certificate
from rumor.privacy.audit.findings import Finding
from rumor.privacy.shuffle.account import ShuffleAccount, ShuffleRow
from rumor.privacy.statement.assessment import assessments, to_markdown
from rumor.privacy.statement.deployment import Deployment
from rumor.privacy.statement.page import assessment_page, page
from rumor.privacy.statement.pdf import (
    Line,
    _broken,
    _pages,
    _pieces,
    _thousandths_of_em,
    lines,
    pdf,
)
from rumor.privacy.statement.registry import registry_entry
from rumor.privacy.statement.statement import Consent, Section, Statement, statement

FILE = Path(__file__).with_name("documents.txt")


@functools.cache
def ways() -> Collection:
    """Return a contract of four unequal questions."""
    asked: list[dict[str, object]] = [
        {"id": "way", "text": "How do you\nget here?", "labels": [f"way {i}" for i in range(14)],
         "epsilon": 1.0, "mechanism": "randomized-response", "retention_days": 30},
        {"id": "ill", "labels": ["yes", "no"], "epsilon": 2.0, "mechanism": "randomized-response",
         "reports_per_person": 3, "retention_days": 1500},
        {"id": "mood", "labels": ["good", "bad"], "reports_per_person": 365, "memo": "period",
         "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}, "period_days": 7},
        {"id": "back", "text": "And back?", "labels": ["by bus", "by car"], "epsilon": 1.0,
         "mechanism": "randomized-response", "retention_days": 30},
    ]  # fmt: skip
    return Collection.resolve(
        {
            "name": "Ways to work",
            "series": "ways",
            "contact": "ways@example.org",
            "admission": "invited",
            "series_epsilon": 40.0,
            "groups": {"country": ["DE", "FR", "other"], "age": ["young", "old", "other"]},
            "questions": [{"kind": "choice", **question} for question in asked],
        }
    )


FINDINGS = (
    ("ill", Finding("exact", True, 2.0, 1.25, "all <branches> were walked")),
    ("way", Finding("black box", False, 1.0, 1.5, "bit 3 of the report is 1")),
)
CERTIFICATE = Certificate(
    "Ways & means", "d1", "0.9", "3.12", "2026-02-03", 12_345, 7, FINDINGS, ("way: never <safe>",)
)
SHORT = Statement(
    "Title", "Lead 日本", (Section("Heading", ("Words.", "More words."), (("name", "value"),)),),
    (Consent("zh", ("一", "b")),), language="ja",
)  # fmt: skip


def certificate() -> dict[str, object]:
    """Return the certificate of the contract as `rumor audit` writes it."""
    return {**CERTIFICATE.to_dict(), "digest": ways().digest, "passed": True}


def guesses() -> Attack:
    """Return the successes of an attacker that were found once."""
    rappor = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75, key=b"k")
    rates = [
        GuessRate(device, reports, 0.125 * place * reports / 10, 0.5, 0.3456 * place * reports)
        for place, device in enumerate(("fresh", "memoised", "full"), 1)
        for reports in (10, 2)
    ]
    return Attack(rappor, 8, 1_234, tuple(rates))


def shuffled() -> ShuffleAccount:
    """Return an account with a promise, a dearer one and a refusal."""
    rows = (
        ShuffleRow("one", 1.0, 1, 1, 0.123456),
        ShuffleRow("two", 1234.5678, 3, 1_000, 2.5),
        ShuffleRow("three", 2.0, 2, 1, None, "Nothing is promised for 'three'."),
    )
    return ShuffleAccount(1_500, 1.2349e-8, rows, 3.00001)


def assessed() -> Statement:
    """Return an assessment of what an operator declares in part."""
    said = Deployment(
        controller="C.", purpose="P", recipients=("X", "Y"), backup_days=0, address_days=1234
    )
    (found,) = assessments(ways(), said)
    return found


def as_json(found: object) -> str:
    return json.dumps(found, indent=1, allow_nan=False)


DOCUMENTS: dict[str, Callable[[], str]] = {
    "statement": lambda: statement(ways(), audit=certificate(), languages=["en"]).to_text(),
    "registry": lambda: as_json(registry_entry(ways(), certificate())),
    "account of a year with two changes": lambda: account([ways()], changes=2).table(),
    "account of four days": lambda: account([ways()], days=4).table(),
    "assessment": lambda: to_markdown(assessed()),
    "certificate": CERTIFICATE.table,
    "certificate as a page": CERTIFICATE.to_html,
    "certificate as data": lambda: as_json(CERTIFICATE.to_dict()),
    "attack": lambda: guesses().table(),
    "attack as data": lambda: as_json(guesses().to_dict()),
    "shuffle account": lambda: shuffled().table(),
    "shuffle account as data": lambda: as_json(shuffled().to_dict()),
    "page": lambda: page(SHORT, "STYLE"),
    "pages of assessments": lambda: assessment_page([SHORT, SHORT], "STYLE"),
    "pdf": lambda: pdf(SHORT).decode("latin-1"),
}


def kept() -> dict[str, str]:
    """Return the documents in the file, by name."""
    parts = FILE.read_text(encoding="utf-8").split("\n%%%% ")[1:]
    named = (part.split("\n", 1) for part in parts)
    return {name: text.rstrip("\n") for name, text in named}


def made(name: str) -> str:
    """Return a document as it is now, with names for what every version changes."""
    text = DOCUMENTS[name]().rstrip("\n")
    return text.replace(ways().digest, "DIGEST").replace(rumor.__version__, "VERSION")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_stays_word_for_word(name: str) -> None:
    assert made(name) == kept()[name]


def test_no_document_is_kept_for_nothing() -> None:
    assert list(kept()) == list(DOCUMENTS)


def test_pages_are_filled_to_the_foot() -> None:
    """Lines of 8.6 points, 1.36 apart, between margins of 46 points and a foot of 24."""
    body = 8.6 * 1.36
    text = Statement("T", "L", (Section("H", ("x",) * 150),))
    first, second, *_ = _pages(lines(text))
    top = 842 - 46
    heights = [top - 16 * 1.36]
    heights.append(heights[-1] - 4 - body)
    heights.append(heights[-1] - 9 - 11 * 1.36)
    while (lower := heights[-1] - 2 - body) >= 46 + 24:
        heights.append(lower)
    assert [height for height, _ in first] == pytest.approx(heights)
    heights = [top - body]
    while (lower := heights[-1] - 2 - body) >= 46 + 24:
        heights.append(lower)
    assert [height for height, _ in second] == pytest.approx(heights)


def asked(*questions: dict[str, object]) -> Collection:
    """Return a contract of some questions."""
    usual = {"kind": "choice", "labels": ["x", "y"], "mechanism": "randomized-response"}
    given = [{"id": f"q{i}", **usual, **one} for i, one in enumerate(questions)]
    return Collection.resolve(
        {"name": "N", "series": "n", "contact": "c@example.org", "questions": given}
    )


@pytest.mark.parametrize(("epsilon", "is_much"), [(4.0, False), (4.001, True)])
def test_much_is_said_to_be_much(epsilon: float, is_much: bool) -> None:
    collection = asked({"epsilon": epsilon})
    told = statement(collection).to_text()
    (declared,) = assessments(collection)
    assert ("in all is much" in " ".join(told.split())) == is_much
    assert ("in all is much" in to_markdown(declared)) == is_much


def test_twelve_labels_are_all_shown() -> None:
    for count, shown in ((12, "a10, a11"), (13, "a10, a11, and 1 more"), (1_012, "1,000 more")):
        collection = asked({"epsilon": 1.0, "labels": [f"a{i}" for i in range(count)]})
        assert f"{shown}; asked once)" in statement(collection).to_text()


def test_lines_are_broken_where_they_may_be() -> None:
    """At spaces, at wide letters, and in words of more than forty letters."""
    words = "ab  cd 日本x " + "y" * 45
    expected = ["ab", " ", " ", "cd", " ", "日", "本", "x", " ", "y" * 40, "y" * 5]
    assert list(_pieces(words)) == expected
    # Letters of 570, spaces of 340 thousandths.
    assert list(_broken("aa bb cc dd", 2 * 570 + 340 + 2 * 570)) == ["aa bb", "cc dd"]
    assert list(_broken("aa bb cc dd", 2 * 570 + 340 + 2 * 570 + 339)) == ["aa bb", "cc dd"]
    assert list(_broken("aa bb", 2 * 570 + 340 + 2 * 570 - 1)) == ["aa", "bb"]
    assert list(_broken(" aa", 10_000)) == ["aa"]
    assert list(_broken("", 10_000)) == [""]
    widths = {
        "日": 1000,
        "Ω": 1000,
        "i": 340,
        " ": 340,
        "W": 950,
        "%": 950,
        "A": 750,
        "a": 570,
        "_": 570,
    }
    assert {letter: _thousandths_of_em(letter) for letter in widths} == widths
    # A fact's line is twelve points shorter than a paragraph's.
    room = (595 - 2 * 46) / 8.6 * 1000
    fits = int(room // 570)
    wide = Statement("T", "L", (Section("H", ("a " * 200,), (("n", "a " * 200),)),))
    by_indent: dict[float, list[str]] = {}
    for line in lines(wide):
        by_indent.setdefault(line.indent, []).append(line.text)
    assert fits > len(by_indent[12.0][0]) / 2
    assert list(_broken("n: " + "a " * 200, (595 - 92 - 12) / 8.6 * 1000)) == by_indent[12.0]
    assert list(_broken("a " * 200, room)) == by_indent[0.0][3:]


def test_a_page_takes_what_just_fits() -> None:
    """A heading and the line after it stay together; the foot is 70 points above the end."""
    body = 8.6 * 1.36
    room = 842 - 46 - 70
    for lead in range(40, 70):
        text = [Line("x", 8.6, False, 0.0, 0.0, "en")] * lead
        text += [Line("H", 11, True, 0.0, 9.0, "en"), Line("y", 8.6, False, 0.0, 2.0, "en")]
        pages = list(_pages(iter(text)))
        fits = lead * body + 9 + 11 * 1.36 + 2 + body <= room
        assert (len(pages[0]) == len(text)) == fits
        if not fits:
            rest = ["x"] * max(0, lead - int(room / body))
            assert [line.text for _, line in pages[-1]] == [*rest, "H", "y"]


if __name__ == "__main__":  # python -m tests.privacy.test_documents writes the file anew: READ it
    FILE.write_text("".join(f"\n%%%% {name}\n{made(name)}\n" for name in DOCUMENTS), "utf-8")
