"""Every check of a contract, one off from its edge: what is taken, and the sentence that refuses.

What reads tables and reports files is tried where files are, in test_report_file.py and its
neighbours.
"""

from __future__ import annotations

import datetime
import functools
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rumor.contract import envelope, groups, report_file
from rumor.contract.admission import read_invitation
from rumor.contract.collection import ADMISSIONS, MEMOS, Collection
from rumor.contract.groups import Groups
from rumor.contract.person_weights import rounded_weights
from rumor.contract.sampling import SamplingDesign, check_asked_together
from rumor.contract.sender_anonymity import SenderAnonymity
from rumor.contract.table_question import check_day
from rumor.kinds import KINDS
from tests import limits
from tests.issuers import blind_wish
from tests.limits import Rule, whole, word

FILES = (
    "contract/drafting.py",
    "contract/person_ledger.py",
    "contract/person_rows.py",
    "contract/privatize.py",
    "contract/report_file.py",
    "contract/report_parts.py",
    "contract/table_question.py",
    "contract/table_reports.py",
)
HEAD: dict[str, Any] = {"name": "Limits", "series": "limits", "contact": "a@example.org"}
CHOICE: dict[str, Any] = {
    "id": "one", "kind": "choice", "labels": ["x", "y"], "epsilon": 1.0,
    "mechanism": "randomized-response",
}  # fmt: skip
OTHER = {**CHOICE, "id": "two", "labels": ["x", "y", "z"], "epsilon": 2.0}
THIRD = {**CHOICE, "id": "three", "domain": 9, "labels": None, "mechanism": "unary"}
MEMO = {
    **CHOICE, "id": "memo", "epsilon": None,
    "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75},
}  # fmt: skip
ROUNDS = {
    "id": "rounds", "kind": "keyvalue", "keys": ["k", "l"], "low": 0, "high": 1, "epsilon": 2.0,
    "mechanism": {"name": "privkvm", "rounds": 2},
}  # fmt: skip
# The base point of P-256, uncompressed: its first and its last byte decide what is a point.
POINT = (
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
)
RELAY: dict[str, Any] = {"url": "https://relay.example", "key": POINT, "crowd": 10, "days": 3}
DIGEST = "0123456789abcdef" * 4


def _said(table: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in table.items() if value is not None}


def collection(*questions: dict[str, Any], **more: object) -> Collection:
    """Resolve a collection of these questions, or one of a question alone."""
    asked = [_said(question) for question in questions or (CHOICE,)]
    return Collection.resolve({**HEAD, "questions": asked, **more})


def question(of: dict[str, Any] = CHOICE, /, **more: object) -> Collection:
    """Resolve a collection whose only question says `more`."""
    return collection({**of, **more})


def contract(*path: str | int, value: object, of: Collection | None = None) -> Collection:
    """Read a contract in which the member at `path` has another value."""
    plain: Any = json.loads((of or collection()).canonical())
    inner = plain
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return Collection.from_contract(plain)


def asked(*questions: dict[str, Any], **ask: object) -> Collection:
    """Resolve a collection of these questions, of which `ask` is asked."""
    return collection(*questions or (CHOICE, OTHER, THIRD), ask=ask)


def relayed(of: dict[str, Any] = CHOICE, **more: object) -> Collection:
    return collection(of, relay=_said({**RELAY, **more}))


def issued(url: object = "https://issuer.example", **more: Any) -> Collection:
    wish = blind_wish(**more)
    return Collection.resolve({**wish, "issuer": {**wish["issuer"], "url": url}})  # type: ignore[dict-item]


def keyed(change: Any) -> Collection:
    """Resolve a collection whose issuer's keys were changed."""
    wish: Any = blind_wish()
    return Collection.resolve({**wish, "issuer": {**wish["issuer"], "keys": change(wish)}})


def both(wish: Any) -> dict[str, str]:
    """Return the issuer's keys of the two questions."""
    return dict(wish["issuer"]["keys"])


def tokens(reports: int) -> Collection:
    """Resolve a blind collection of two questions that takes so many reports of a person."""
    wish: Any = blind_wish()
    first, second = wish["questions"]
    told = [{**first, "reports_per_person": 1}, {**second, "reports_per_person": reports - 1}]
    return Collection.resolve({**wish, "questions": told})


LIST = ["other", "x"]
LANDS = {"country": ["DE", "FR", "other"]}


def grouped() -> Groups:
    """Return the groups of a collection by country."""
    found = collection(groups=LANDS).groups
    assert found is not None
    return found


def numbered(count: int) -> list[str]:
    """Return so many groups."""
    return ["other", *map(str, range(1, count))]


def address(size: int) -> str:
    """Return an address of so many characters."""
    return "https://a/".ljust(size, "b")


def invitation(change: Any) -> bytes:
    """Read an invitation of sixteen bytes, changed."""
    return read_invitation(change("rumor-invitation-AAECAwQFBgcICQoLDA0OD9_G"))


def loaded(text: str) -> Collection:
    """Read a collection from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.toml")
        path.write_text(text, encoding="utf-8")
        return Collection.load(path)


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


ONE_COSTS = collection().question().epsilon
KINDS_SAY = f"kind must be one of {', '.join(KINDS)}; got "
SLUG = "must be 1 to 64 lower-case letters, digits and inner hyphens; got "
ASK = SamplingDesign(days=10, starts=day("2026-02-20"))
URL = "must be http(s)://HOST[:PORT][/PATH] in plain letters"
KEY = "key of relay must be the public key that rumor key prints: 130 hexadecimal digits"
HIDES = "a revision must not weaken sender anonymity: series 'a' "
WAY = SenderAnonymity(True, "https://r", 10, "https://i", 6)


def follows(way: SenderAnonymity) -> None:
    WAY.check_not_weaker(way, "a")


RULES = [
    # Whole numbers.
    whole("users", 1, 10**12, lambda v: collection(users=v)),
    whole(
        "revision",
        1,
        1_000_000,
        lambda v: collection(revision=v, **_said({"previous": None if v == 1 else DIGEST})),
    ),
    whole("reports_per_person", 1, 1_000_000, lambda v: question(reports_per_person=v)),
    whole("retention_days", 1, 36_525, lambda v: question(retention_days=v)),
    whole("period_days", 1, 36_525, lambda v: question(MEMO, memo="period", period_days=v)),
    whole("days of ask", 2, 36_525, lambda v: asked(days=v)),
    whole("crowd of relay", 2, 10**9, lambda v: relayed(crowd=v)),
    whole("days of relay", 1, 3_650, lambda v: relayed(days=v)),
    whole("turn_hours of relay", 1, 8_760, lambda v: relayed(turn_hours=v)),
    Rule(
        "questions of ask must be from 1 to the 3 that the collection has; got ",
        lambda v: asked(questions=v),
        (1, 2, 3),
        (0, 4, True, 1.0, "1"),
    ),
    Rule(
        "a contract leaves questions of ask out where all are asked; got ",
        lambda v: contract("ask", "questions", value=v, of=asked(questions=1)),
        (1, 2),
        (3,),
    ),
    Rule(
        "linked must be the ids of two questions",
        lambda v: collection(
            CHOICE, OTHER, {**OTHER, "id": "three"}, linked=["one", "two", "three", "one"][:v]
        ),
        (2,),
        (1, 3),
    ),
    Rule(
        "linked questions must be asked once, so that each person has one report of each",
        lambda v: collection(CHOICE, {**OTHER, "reports_per_person": v}, linked=["one", "two"]),
        (1,),
        (2,),
        shows=False,
    ),
    Rule(
        "days of ask cannot go with reports_per_person above 1",
        lambda v: asked({**CHOICE, "reports_per_person": v}, days=2),
        (1,),
        (2,),
    ),
    Rule(
        "reports_per_person must be below the relay's crowd, 10, or the relay must say turn_hours",
        lambda v: relayed({**CHOICE, "reports_per_person": v}),
        (9,),
        (10, 11),
    ),
    Rule(
        'admission = "blind" takes at most 1,000 reports of a person in all',
        tokens,
        (1_000,),
        (1_001,),
    ),
    Rule(
        "ask cannot go with a question in rounds, since each round is a collection of its own",
        lambda v: asked(CHOICE, v, questions=1),
        (OTHER,),
        (ROUNDS,),
        shows=False,
    ),
    Rule(
        "a contract's version must be 1; got ",
        lambda v: contract("rumor", value=v),
        (1,),
        (0, 2, True, "1"),
    ),
    # Days.
    Rule(
        "starts of ask must be a day written YYYY-MM-DD, from 1970-01-01 to 2999-12-31; got ",
        lambda v: asked(days=2, starts=v),
        ("1970-01-01", "2999-12-31", day("2999-12-31"), "2024-02-29"),
        ("1969-12-31", "3000-01-01", "2023-02-29", "20240229", "2024-W09-4", "2024-2-29"),
    ),
    Rule(
        "respondents are asked on the 10 days from 2026-02-20 to 2026-03-01; got ",
        lambda v: check_day(ASK, day(v)),
        ("2026-02-20", "2026-03-01"),
        ("2026-02-19", "2026-03-02"),
        shows=False,
    ),
    # Losses.
    Rule(
        "series_epsilon must be a number above 0 and at most 1e+09; got ",
        lambda v: collection(series_epsilon=v),
        (1e9, 10**9),
        (0, 0.0, -1.0, 1e9 + 1, float("inf"), float("nan"), True, "1"),
    ),
    Rule(
        "series_epsilon must let every question that is asked be answered once, which costs ",
        lambda v: collection({**CHOICE, "reports_per_person": 3}, series_epsilon=v),
        (ONE_COSTS, 3 * ONE_COSTS),
        (ONE_COSTS * (1 - 1e-15), ONE_COSTS / 2),
    ),
    Rule(
        "a contract's epsilon must be its mechanism's, ",
        lambda v: contract("questions", 0, "epsilon", value=v),
        (ONE_COSTS,),
        (ONE_COSTS * (1 + 1e-15), ONE_COSTS * (1 - 1e-15), True, None, str(ONE_COSTS)),
    ),
    # Texts and their lengths.
    Rule(
        f"series of a collection {SLUG}",
        lambda v: collection(series=v),
        ("a", "a" * 64, "a-b"),
        ("", "a" * 65, "-a", "a-", "A", "a b", "\u00e4", 1),
    ),
    Rule(
        f"series of a contract {SLUG}",
        lambda v: contract("series", value=v),
        ("a", "a" * 64),
        ("", "a" * 65, None),
    ),
    Rule(f"id of a question {SLUG}", lambda v: question(id=v), ("a", "a" * 64), ("", "a" * 65, 1)),
    Rule(
        f"id of a question {SLUG}",
        lambda v: contract("questions", 0, "id", value=v),
        ("a", "a" * 64),
        ("", "a" * 65, None),
    ),
    *(
        Rule(
            f"{key} of a collection must be a non-empty text; got ",
            functools.partial(lambda key, v: collection(**{key: v}), key),
            ("x",),
            ("", " ", 1, None),
        )
        for key in ("name", "contact")
    ),
    *(
        Rule(
            f"{key} of a contract must be a {rule}; got ",
            functools.partial(lambda key, v: contract(key, value=v), key),
            ("x", "\u00e9"),
            refused,
        )
        for key in ("name", "contact")
        for rule, refused in (
            ("non-empty text", ("", 1, None)),
            ("text in Unicode normal form C", ("e\u0301",)),
        )
    ),
    Rule(
        "text of a question must be a non-empty text; got ",
        lambda v: question(text=v),
        ("", "x"),
        (1, ["x"]),
    ),
    Rule(
        "text of a question must be a text in Unicode normal form C; got ",
        lambda v: contract("questions", 0, "text", value=v),
        ("", "x"),
        ("e\u0301",),
    ),
    Rule(
        "labels of a contract's question must be written as contracts write it, texts in Unicode "
        "normal form C; got ",
        lambda v: contract("questions", 0, "labels", value=v),
        (["a", "\u00e9"],),
        (["a", "e\u0301"],),
    ),
    Rule(
        "column of a question must be a non-empty text; got ",
        lambda v: question(column=v),
        ("a", " "),
        ("", 1),
    ),
    Rule(
        f"the url of an issuer {URL}",
        issued,
        (address(500), "http://[::1]:80/a"),
        (address(501), "https://a/", "ftp://a", None, "https://A"),
    ),
    Rule(
        f"the url of a relay {URL}",
        lambda v: relayed(url=v),
        (address(500), "http://a:65535"),
        (address(501), "https://a//b", "https://a:123456", 1),
    ),
    Rule(
        KEY,
        lambda v: relayed(key=v),
        (POINT,),
        (POINT[:-2], POINT + "00", "02" + POINT[2:], POINT.upper(), 4),
    ),
    Rule(
        "key of relay must be a point of the curve P-256; got ",
        lambda v: relayed(key=v),
        (POINT,),
        (POINT[:-1] + "4", "04" + "0" * 128),
    ),
    Rule(
        "the key of question 'home' must be 512 hexadecimal digits; got ",
        lambda v: keyed(lambda wish: {**both(wish), "home": v(both(wish)["home"])}),
        (lambda key: key,),
        (lambda key: key[:-2], lambda key: key + "00", str.upper, lambda key: 1),
        shows=False,
    ),
    Rule(
        "the key of question 'home' ",
        lambda v: keyed(lambda wish: {**both(wish), "home": v(both(wish)["home"])}),
        (lambda key: key,),
        (lambda key: "0" * 512, lambda key: key[:-1] + "0"),
        shows=False,
    ),
    Rule(
        "previous must be the digest of the revision before (64 hexadecimal digits) in revision 2",
        lambda v: collection(revision=2, **_said({"previous": v})),
        (DIGEST,),
        (DIGEST[:-1], DIGEST + "0", DIGEST.upper(), None, 64),
    ),
    Rule(
        "revision 1 has no previous one; got ",
        lambda v: collection(**_said({"previous": v})),
        (None,),
        (DIGEST, ""),
    ),
    Rule(
        "an invitation must be 'rumor-invitation-' (or 'rumor-bound-invitation-') and 24 letters",
        invitation,
        (str, lambda code: f" {code}\n"),
        (
            lambda code: code[:-1],
            lambda code: code[:-4],
            lambda code: code + "AAAA",
            lambda code: code[:-1] + "X",
            lambda code: code.replace("AAEC", "AAED"),
            lambda code: code.replace("D9_G", "D9_H"),
            lambda code: code.replace("D9_G", "D97G"),
            lambda code: code.replace("rumor-", "rumor-bound-"),
            lambda code: code.upper(),
        ),
        shows=False,
    ),
    # Words.
    word("admission", ADMISSIONS, lambda v: issued() if v == "blind" else collection(admission=v)),
    word(
        "memo",
        MEMOS,
        lambda v: collection(
            {**_said(MEMO), "memo": v, **({"period_days": 7} if v == "period" else {})}
        ),
    ),
    Rule(KINDS_SAY, lambda v: question(kind=v), ("choice",), ("choices", "", None, 1)),
    # What must be there, and in which form.
    Rule("a collection has the keys ", lambda v: collection(**{v: "x"}), ("name",), ("nam",)),
    Rule("a question has the keys ", lambda v: question(**{v: "x"}), ("text",), ("txt", "text_")),
    Rule(
        "ask has the keys questions, days, starts; got ",
        lambda v: asked(days=2, **{v: 1}),
        ("questions",),
        ("question", "days_"),
    ),
    Rule(
        "issuer has the keys url, keys; got ",
        lambda v: Collection.resolve(
            blind_wish(issuer={"url": "https://i", "keys": both(blind_wish()), v: 1})
        ),
        (),
        ("key",),
    ),
    Rule(
        "relay must have exactly the keys url, key, crowd, days; check ",
        lambda v: collection(relay=v),
        (RELAY,),
        (
            {**RELAY, "more": 1},
            {**RELAY, "turn_hours_": 1},
            *({k: v for k, v in RELAY.items() if k != gone} for gone in RELAY),
        ),
        shows=False,
    ),
    Rule(
        "relay leaves turn_hours None out; got it said",
        lambda v: collection(relay={**RELAY, **v}),
        ({},),
        ({"turn_hours": None},),
        shows=False,
    ),
    Rule(
        "a contract must have exactly the keys ",
        lambda v: contract(v, value=1),
        (),
        ("more",),
        shows=False,
    ),
    Rule(
        "a contract's question must have exactly the keys ",
        lambda v: contract("questions", 0, v, value=1),
        (),
        ("more",),
        shows=False,
    ),
    Rule(
        "a contract must have questions; got ",
        lambda v: contract("questions", value=v),
        (),
        ([], None, {}),
    ),
    Rule(
        "a contract's question must be an object; got ",
        lambda v: contract("questions", 0, value=v),
        (),
        (1, []),
    ),
    Rule(
        "a contract's mechanism must be an object; got ",
        lambda v: contract("questions", 0, "mechanism", value=v),
        (),
        ("unary", None),
    ),
    Rule(
        "a collection must have at least one [[questions]] table; got ",
        lambda v: collection(questions=v),
        ([CHOICE],),
        ([], "one", 1, None),
    ),
    Rule(
        "a question must be a table; got ", lambda v: collection(questions=[v]), (CHOICE,), (1, "x")
    ),
    Rule(
        "question ids must be distinct; got ",
        lambda v: collection(CHOICE, {**OTHER, "id": v}),
        ("two", "on", "onee"),
        ("one",),
    ),
    Rule(
        "ask must be a table such as {questions = 1, days = 30}; got ",
        lambda v: collection(ask=v),
        ({"questions": 1},),
        (1, [1]),
    ),
    Rule(
        "ask must say how many questions, or days, or both; got ",
        lambda v: collection(ask=v),
        (),
        ({},),
    ),
    Rule(
        "starts of ask goes with days, of which it is the first; got ",
        lambda v: asked(questions=1, starts=v),
        (),
        ("2026-01-01",),
    ),
    Rule(
        'days of ask cannot go with memo = "period"',
        lambda v: asked({**MEMO, **v}, days=2),
        ({},),
        ({"memo": "period", "period_days": 7},),
        shows=False,
    ),
    Rule(
        "groups by a question need both answers of each respondent, and each is asked 1 of 2 ",
        lambda v: check_asked_together(SamplingDesign(questions=1), ("one", "two"), v),
        ("three",),
        ("one", "two"),
    ),
    Rule(
        'period_days goes with memo = "period"; got ',
        lambda v: question(MEMO, period_days=v),
        (None,),
        (7,),
    ),
    Rule(
        'memo = "period" needs a mechanism with permanent noise; got ',
        lambda v: question(v, memo="period", period_days=7),
        (MEMO,),
        (CHOICE,),
        shows=False,
    ),
    Rule(
        "column is for questions whose answers are in one column, not of kind 'keyvalue'; got ",
        lambda v: question({**ROUNDS, "column": v}),
        (None,),
        ("x",),
    ),
    Rule(
        "linked must be the ids of two questions",
        lambda v: collection(CHOICE, OTHER, linked=v),
        (["one", "two"], ["two", "one"]),
        ("one", [1, 2], ["one", 2]),
    ),
    Rule(
        "linked must name questions of one, two; got ",
        lambda v: collection(CHOICE, OTHER, linked=["one", v]),
        ("two",),
        ("three", ""),
    ),
    Rule(
        "linked must name two questions; got ",
        lambda v: collection(CHOICE, OTHER, linked=["one", v]),
        ("two",),
        ("one",),
    ),
    Rule(
        "linked cannot go with questions of ask",
        lambda v: collection(CHOICE, OTHER, {**OTHER, "id": "three"}, linked=["one", "two"], ask=v),
        ({"days": 2}, {"questions": 3}),
        ({"questions": 2}, {"questions": 1, "days": 2}),
        shows=False,
    ),
    Rule(
        "linked questions must be of kind choice with mechanism = ",
        lambda v: collection(CHOICE, v, linked=["one", v["id"]]),
        (OTHER,),
        (THIRD, MEMO),
        shows=False,
    ),
    Rule(
        "linked questions make one table: ",
        lambda v: collection(
            *({**CHOICE, "id": id, "labels": None, "domain": v} for id in "ab"), linked=["a", "b"]
        ),
        (10,),
        (11,),
        shows=False,
    ),
    Rule(
        'issuer goes with admission = "blind"; got it with ',
        lambda v: collection(admission=v, issuer={}),
        (),
        ("open", "invited"),
        shows=False,
    ),
    Rule(
        'admission = "blind" needs an [issuer]',
        lambda v: collection(admission="blind"),
        (),
        (0,),
        shows=False,
    ),
    Rule(
        "issuer must be a table of url and keys; got ",
        lambda v: collection(admission="blind", issuer=v),
        (),
        (1, "https://i"),
    ),
    Rule(
        "the keys of an issuer must be one for each of colour, home; got ",
        lambda v: keyed(lambda wish: v(both(wish))),
        (dict,),
        (
            lambda keys: {"home": keys["home"]},
            lambda keys: {**keys, "more": keys["home"]},
            lambda keys: list(keys),
        ),
        shows=False,
    ),
    Rule(
        "every question must have a key of its own; got one key twice",
        lambda v: keyed(lambda wish: {**both(wish), "home": both(wish)[v]}),
        ("home",),
        ("colour",),
        shows=False,
    ),
    # Groups.
    Rule(
        "groups must be lists of groups by name, such as ",
        lambda v: collection(groups=v),
        (LANDS,),
        ({}, [], "DE", 1),
        shows=False,
    ),
    Rule(
        "a name of groups must be 1 to 64 lower-case letters, digits and underscores, a letter "
        "first; got ",
        lambda v: collection(groups={v: LIST}),
        ("a", "a_1", "a" * 64),
        ("", "A", "_a", "1a", "a-b", "é", "a" * 65, 1),
    ),
    Rule(
        "a name of groups must not be id, report, day, contract, question, which are columns",
        lambda v: collection(groups={v: LIST}),
        ("ids", "days"),
        report_file.RESERVED_COLUMNS,
        shows=False,
    ),
    Rule(
        "groups are sent in the clear, so they must hold no answers; got ",
        lambda v: collection({**CHOICE, "id": "a-b", "column": "Typed"}, groups={v: LIST}),
        ("b", "a_b_c"),
        ("a_b", "typed"),
    ),
    Rule(
        "groups of 'a' must be a list of texts; got ",
        lambda v: collection(groups={"a": v}),
        (LIST, tuple(LIST)),
        ("other", {"other": 1}, None, 2),
    ),
    Rule(
        "groups of 'a': ",
        lambda v: collection(groups={"a": ["other", v]}),
        ("__proto__", "a,b", "é", "e\u0301"),
        ("", "other", 1, "\x00", "\ud800"),
        shows=False,
    ),
    Rule(
        "groups of 'a' must be two or more with \"other\" among them",
        lambda v: collection(groups={"a": v}),
        (LIST, ["other", "x"]),
        ([], ["other"], ["x", "y"], ["x", "Other"]),
        shows=False,
    ),
    Rule(
        "groups of 'a' must have at most 200 characters, no spaces around them; got ",
        lambda v: collection(groups={"a": ["other", v]}),
        ("x", "x" * 200, "x y"),
        ("x" * 201, " x", "x "),
        shows=False,
    ),
    Rule(
        "groups must have at most 1,000 combinations; got ",
        lambda v: collection(groups={"a": numbered(v), "b": numbered(10)}),
        (2, 100),
        (101,),
        shows=False,
    ),
    Rule(
        "groups cannot go with a relay",
        lambda v: collection(groups=LANDS, **v),
        ({},),
        ({"relay": RELAY},),
        shows=False,
    ),
    Rule(
        "groups cannot go with blind admission",
        lambda v: Collection.resolve({**blind_wish(), **v}),
        ({},),
        ({"groups": LANDS},),
        shows=False,
    ),
    Rule(
        "groups cannot go with a question in rounds; got question 'rounds' in 2 rounds",
        lambda v: collection(v, groups=LANDS),
        (CHOICE, MEMO),
        (ROUNDS,),
        shows=False,
    ),
    Rule(
        "groups must be named as one of country; got ",
        lambda v: grouped().stratum({v: "DE"}),
        ("country",),
        ("Country", "", "__proto__"),
    ),
    Rule(
        "'Limits' has no groups, so none are sent; got ",
        lambda v: groups.stratum_of(collection(), v),
        ({},),
        ({"country": "DE"},),
        shows=False,
    ),
    Rule(
        "a group must be NAME=GROUP; got ",
        lambda v: groups.read_groups([v]),
        ("a=b", "a=", "a=b=c"),
        ("a", ""),
    ),
    Rule(
        "a group must be said once for each name; got 'a' twice",
        lambda v: groups.read_groups(["a=b", v]),
        ("b=b",),
        ("a=b", "a=c"),
        shows=False,
    ),
    Rule(
        f"{HIDES}tells fewer groups apart in the clear and this revision more",
        lambda v: SenderAnonymity(False, groups=grouped()).check_not_weaker(
            SenderAnonymity(False, groups=collection(groups=v).groups), "a"
        ),
        (LANDS, {"country": ["DE", "other"]}),
        ({"country": ["IT", "other"]}, {"land": ["DE", "other"]}),
        shows=False,
    ),
    Rule(
        "groups must be of a public column (country); got ",
        lambda v: grouped().strata_in({v: "DE"}),
        ("country",),
        ("Country", "homepage"),
    ),
    Rule(
        "a group of 'country' must be one of DE, FR, other; got ",
        lambda v: grouped().strata_in({"country": v}),
        ("DE", "other"),
        ("de", ""),
    ),
    Rule(
        "groups must be written as contracts write it, texts in Unicode normal form C; got ",
        lambda v: contract("groups", value={"a": ["other", v]}, of=collection(groups=LANDS)),
        ("é",),
        ("e\u0301",),
        shows=False,
    ),
    # Revisions.
    Rule(
        "the revision of a contract must say so, or devices refuse it: revision = 2 and previous",
        lambda v: collection(revision=v[0], previous=v[1]).check_revises(collection()),
        ((2, collection().digest),),
        ((3, collection().digest), (2, DIGEST)),
        shows=False,
    ),
    Rule(
        f"{HIDES}releases batches of 10 reports or more and this revision smaller ones",
        lambda v: follows(SenderAnonymity(True, "https://r", v, "https://i", 6)),
        (10, 11),
        (9, None),
        shows=False,
    ),
    Rule(
        f"{HIDES}takes one report per question every 6 hours and this revision more",
        lambda v: follows(SenderAnonymity(True, "https://r", 10, "https://i", v)),
        (6, 7),
        (5, None),
        shows=False,
    ),
    Rule(
        f"{HIDES}uses blind tokens and this revision does not",
        lambda v: follows(SenderAnonymity(v, "https://r", 10, "https://i", 6)),
        (True,),
        (False,),
        shows=False,
    ),
    Rule(
        f"{HIDES}sends reports through https://r and this revision does not",
        lambda v: follows(SenderAnonymity(True, v, 10, "https://i", 6)),
        ("https://r",),
        ("https://s", None),
        shows=False,
    ),
    Rule(
        f"{HIDES}has tokens signed by https://i and this revision does not",
        lambda v: follows(SenderAnonymity(True, "https://r", 10, v, 6)),
        ("https://i",),
        ("https://j", None),
        shows=False,
    ),
    # Envelopes.
    Rule(
        "envelopes need a collection with a relay; 'Limits' has none",
        lambda v: envelope.EnvelopeFormat.of(v, v.question()),
        (relayed(),),
        (collection(),),
        shows=False,
    ),
    Rule(
        "an envelope must name its turn where the contract has turns, and only there; got ",
        lambda v: envelope.EnvelopeFormat.of(relayed(), relayed().question(), v).info,
        (None,),
        (0, 1),
    ),
    Rule(
        "an envelope must name its turn where the contract has turns, and only there; got ",
        lambda v: (
            envelope.EnvelopeFormat.of(
                relayed(turn_hours=1), relayed(turn_hours=1).question(), v
            ).info
        ),
        (0, 1),
        (None,),
    ),
    # Names of questions and of files.
    Rule(
        "a question must be named as one of one, two; got ",
        lambda v: collection(CHOICE, OTHER).question(v),
        ("one", "two"),
        ("three", "", "One"),
    ),
    Rule(
        "'Limits' asks 2 questions (one, two); one must be named",
        lambda v: collection(*v).question(),
        ([CHOICE],),
        ([CHOICE, OTHER],),
        shows=False,
    ),
    Rule(
        "a collection file must end in .toml or .json; got ", Collection.load, (), ("a.tom", "toml")
    ),
    Rule(": a collection must be valid TOML; ", loaded, (), ("a",), shows=False),
    Rule("a contract is saved to a .json file; got ", collection().save, (), ("a.toml", "json")),
    Rule(
        "a collection must be valid TOML; ",
        Collection.from_toml,
        (),
        ("a", "a = 1\na = 2"),
        shows=False,
    ),
    Rule(
        "a weight must be a number above 0",
        lambda cell: rounded_weights(pa.array([cell])),
        (1e-300, "2", 1e300),
        (0.0, -1.0, "", "many", math.inf, math.nan),
        shows=False,
    ),
    Rule(
        "a contract must be valid JSON; ",
        Collection.from_json,
        (),
        ("", "{", "[" * 100_000),
        shows=False,
    ),
]


@pytest.mark.parametrize("rule", limits.cases(RULES))
def test_a_check_holds_at_its_edges(rule: Rule) -> None:
    limits.check(rule)


def test_every_check_has_a_rule() -> None:
    there = limits.checks("contract", leaving=FILES)
    missing = limits.untried(RULES, there)
    # The first needs a cryptography package that is too old, the second a kind that was deleted
    # (tests/laws/test_kinds_deleted.py).
    elsewhere = ("cryptography 47", "no table is made of kind")
    assert [text for text in missing.values() if not any(e in text for e in elsewhere)] == []


@pytest.mark.parametrize("epsilon", [2.0**-60, 2.0**-53, 1e-12, 32.0])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_keeps_the_least_and_the_most_epsilon(name: str, epsilon: float) -> None:
    wish = {**KINDS[name].example().spec, "id": "a", "kind": name, "epsilon": epsilon}
    found = collection(wish).question()
    assert 0 < found.epsilon <= epsilon
    assert Collection.from_json(collection(wish).canonical()).question() == found
