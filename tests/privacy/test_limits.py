"""Every check of what is promised, one off from its edge: what is taken, and what is refused."""

from __future__ import annotations

import functools
import json
import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.privacy.account import account
from rumor.privacy.attack import attack
from rumor.privacy.audit.findings import external_sampler
from rumor.privacy.integrity import bit_counts, co_support
from rumor.privacy.loss import changing_loss, question_loss
from rumor.privacy.rounds import checked_rounds, require_rounds
from rumor.privacy.shuffle.account import shuffle_account
from rumor.privacy.shuffle.crowd import checked_crowd, checked_delta
from rumor.privacy.statement.assessment import assessment_words, assessments
from rumor.privacy.statement.deployment import ANSWERS, Deployment
from rumor.privacy.statement.sheet import sheet_words, sheets
from rumor.privacy.statement.statement import read_audit, statement, words
from tests import limits
from tests.limits import Rule, whole, word

HEAD = {"name": "Limits", "series": "limits", "contact": "a@example.org"}


def collection(**more: Any) -> Collection:
    """Resolve a collection of one question that may be answered three times."""
    said = {"id": "one", "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0}
    asked = {**said, "mechanism": "randomized-response", "reports_per_person": 3, **more}
    return Collection.resolve({**HEAD, "questions": [asked]})


def rounds() -> list[Collection]:
    """Return the collections of two rounds."""
    said = {"id": "one", "kind": "keyvalue", "keys": ["k", "l"], "low": 0, "high": 1}
    asked = {**said, "epsilon": 2.0, "mechanism": {"name": "privkvm", "rounds": 2}}
    first = Collection.resolve({**HEAD, "questions": [asked]})
    mechanism = require_rounds(first.question().mechanism)
    later = mechanism.next([0.25, 0.75], parent=first.digest)
    follows = replace(first.question(), mechanism=later)
    return [first, replace(first, questions=(follows,), revision=2, previous=first.digest)]


def audit(text: str) -> object:
    """Read the certificate of an audit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "audit.json")
        path.write_text(text, encoding="utf-8")
        return read_audit(path, QUESTION)


def deployment(text: str) -> Deployment:
    """Read the declarations of an operator."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "operator.toml")
        path.write_text(text, encoding="utf-8")
        return Deployment.load(path)


def declared(key: str, value: object) -> Deployment:
    """Declare `value` as `key`."""
    return Deployment.from_spec({key: value})


def written(count: int) -> object:
    """Sample from a program that writes so many bytes."""
    program = f"import sys; sys.stdout.buffer.write(bytes({count}))"
    return external_sampler([sys.executable, "-c", program], ONE.mechanism)("x", 3)


QUESTION = collection()
ON_PAPER = collection(
    labels=["yes", "no"],
    epsilon=None,
    mechanism={"name": "forced-response", "yes": "1/6", "no": "1/6"},
)
ONE = QUESTION.question()
UNARY = rumor.UnaryEncoding(domain=9, epsilon=1.0)
RAPPOR = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0.5, p=0.25, q=0.75, key=b"k")
ONCE = rumor.Rappor(bits=8, hashes=1, cohorts=2, f=0, p=0.25, q=0.75, key=b"k")
BATCH = UNARY.privatize([i % 9 for i in range(1001)], random=rumor.Seeded(1))
ROUNDS = rounds()
small = functools.partial(attack, RAPPOR)
MOST = 10**9
CERTIFICATE = {"passed": True, "version": "1", "day": "2026-01-01", "samples": 1, "findings": []}
RULES = [
    whole("days", 1, MOST, lambda v: account([QUESTION], days=v)),
    whole("changes", 0, MOST, lambda v: account([QUESTION], changes=v)),
    whole("reports", 1, MOST, lambda v: changing_loss(ONE, v)),
    whole("changes", 0, MOST, lambda v: changing_loss(ONE, 3, v)),
    whole("values", 1, MOST, lambda v: question_loss(ONE, values=v), takes=(1, 3)),
    whole("reports", 1, MOST, lambda v: question_loss(ONE, reports=v)),
    Rule(
        "a person makes at most 3 reports of 'one', so they show at most as many values; got ",
        lambda v: question_loss(ONE, values=v),
        (1, 2, 3),
        (4, MOST),
    ),
    whole("words", 2, 100_000, lambda v: small(words=v, people=1, reports=[1]), takes=(2,)),
    whole("people", 1, 1_000_000, lambda v: small(words=2, people=v, reports=[1]), takes=(1,)),
    Rule(
        "reports must be counts from 1; got ",
        lambda v: small(words=2, people=1, reports=v),
        ([1], [2, 1]),
        ([0], [1, 0], [], [-1, 1]),
    ),
    Rule(
        "the attack compares devices with permanent noise; got f = 0",
        lambda v: attack(v, words=2, people=1, reports=[1]),
        (RAPPOR,),
        (ONCE,),
        shows=False,
    ),
    Rule(
        "the co-support test needs at least 1,000 reports; got ",
        lambda v: co_support(UNARY, BATCH[:v]),
        (1_000, 1_001),
        (999,),
    ),
    Rule(
        "bit counts need at least 1,000 reports; got ",
        lambda v: bit_counts(UNARY, BATCH[:v]),
        (1_000, 1_001),
        (999,),
    ),
    Rule(
        "bit counts need reports that are bits; got those of ",
        lambda v: bit_counts(v, v.privatize([0] * 1_000)),
        (UNARY,),
        (ONE.mechanism.without_labels(),),
        shows=False,
    ),
    whole(
        "crowd", 2, MOST, lambda v: shuffle_account([QUESTION], people=v, delta=1e-6), takes=(2,)
    ),
    whole("crowd", 1, MOST, checked_crowd),
    Rule(
        "delta must be a number from 1e-100 to below 1; got ",
        checked_delta,
        (1e-100, 0.5, math.nextafter(1, 0)),
        (0, math.nextafter(1e-100, 0), 1, 1.0, math.nan, math.inf, True, "0.5", None),
    ),
    word("a language", list(words()), lambda v: statement(QUESTION, languages=[v])),
    word("a language", list(sheet_words()), lambda v: sheets(ON_PAPER, [v])),
    Rule(
        "a sheet is for questions that are answered with dice or cards (mechanism 'paper'); got ",
        sheets,
        (ON_PAPER,),
        (QUESTION,),
        shows=False,
    ),
    word("a language", list(assessment_words()), lambda v: assessments(QUESTION, None, [v])),
    Rule(
        'answers = "hand" is for collections whose questions are all answered with dice or cards; ',
        Deployment(answers="hand").where_randomised,
        (ON_PAPER,),
        (QUESTION,),
        shows=False,
    ),
    *(
        Rule(
            f"{key} of a deployment must be a non-empty text; got ",
            functools.partial(declared, key),
            ("", "x"),
            (1, None, ["x"]),
        )
        for key in ("controller", "purpose", "legal_basis", "place")
    ),
    Rule(
        "recipients must be a list of texts; got ",
        lambda v: Deployment.from_spec({"recipients": v}),
        ([], ["x"]),
        ("x", [""], [1], None),
    ),
    *(
        whole(key, 0, 36_525, functools.partial(declared, key))
        for key in ("address_days", "backup_days")
    ),
    word("answers", ANSWERS, lambda v: Deployment.from_spec({"answers": v})),
    Rule(
        "a deployment must be valid TOML; ",
        deployment,
        ("", 'purpose = "x"'),
        ("x", "purpose ="),
        shows=False,
    ),
    Rule(
        "operator.toml: purpose of a deployment must be a non-empty text; got 1",
        deployment,
        (),
        ("purpose = 1",),
        shows=False,
    ),
    Rule(
        "a deployment ",
        lambda v: Deployment.from_spec({v: "x"}),
        ("purpose",),
        ("Purpose", "purposes"),
        shows=False,
    ),
    Rule(
        "an audit must be a certificate as data (rumor audit --certificate audit.json); got ",
        audit,
        (),
        ("", "[]", "{}", '{"digest": 1}'),
        shows=False,
    ),
    Rule(
        "the audit must be of this collection (digest ",
        lambda v: audit(json.dumps({**CERTIFICATE, "digest": v})),
        (QUESTION.digest,),
        (QUESTION.digest[:-1], QUESTION.digest[:16], "0" * 64, 1),
        shows=False,
    ),
    Rule(
        "only PrivKVM has rounds; got 'randomized-response'",
        require_rounds,
        (ROUNDS[0].question().mechanism,),
        (ONE.mechanism,),
        shows=False,
    ),
    Rule(
        "PrivKVM rounds must be given once each, in order from 1; got ",
        checked_rounds,
        (ROUNDS, ROUNDS[:1], []),
        (ROUNDS[1:], ROUNDS[::-1], ROUNDS[:1] * 2, [*ROUNDS, ROUNDS[1]], [QUESTION]),
        shows=False,
    ),
    Rule(
        "round 2 must name the contract of round 1 as its parent (",
        lambda v: checked_rounds([v, ROUNDS[1]]),
        (ROUNDS[0],),
        (replace(ROUNDS[0], name="Another"),),
        shows=False,
    ),
    Rule(
        "the audited command must write 3 bytes (3 reports) and exit with 0; got ",
        written,
        (3,),
        (2, 4),
    ),
    Rule(
        "the audited command must run; ",
        lambda v: external_sampler([v], ONE.mechanism)("x", 3),
        (),
        ("/nowhere/at/all",),
        shows=False,
    ),
]


@pytest.mark.parametrize("rule", limits.cases(RULES))
def test_a_check_holds_at_its_edges(rule: Rule) -> None:
    limits.check(rule)


def test_every_check_has_a_rule() -> None:
    assert limits.untried(RULES, limits.checks("privacy")) == {}
