"""What is taken where nothing is said: every default of what is public, in one table.

A default is a promise to whoever leaves it out. The first table is compared with the signatures
of the sources; the second calls without the defaults, and with those of the first table.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rumor
from rumor.core.checks import checked_method, exact_text
from rumor.core.errors import AnswerError, InputError, format_value
from rumor.core.number_range import parse_number
from rumor.core.plain_text import aligned
from rumor.core.reports import Validity
from rumor.mechanisms import BY_NAME
from rumor.mechanisms.mean import choose_mean
from rumor.mechanisms.open_words.code import PrefixCode
from rumor.mechanisms.open_words.design import levels_for, open_words
from rumor.mechanisms.poisoning import bound_poisoning, fake_count
from rumor.privacy.account import account
from rumor.privacy.attack import attack
from rumor.privacy.loss import changing_loss, question_loss
from rumor.privacy.sentences import caution
from tests.flow import home_pages
from tests.mechanisms.test_limits import CODE, NEEDED

FOLDERS = ("core", "mechanisms", "contract", "privacy")


def callables(folder: str) -> Iterator[tuple[str, Callable[..., object]]]:
    """Yield the public functions, constructors and methods that a folder defines."""
    package = importlib.import_module(f"rumor.{folder}")
    for found in pkgutil.walk_packages(package.__path__, f"rumor.{folder}."):
        if ".loops." in found.name:  # of arrays alone
            continue
        module = importlib.import_module(found.name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", "") != found.name:
                continue
            if inspect.isclass(thing) and not issubclass(thing, BaseException):
                if "__init__" in vars(thing):
                    yield name, thing
                for method, inner in vars(thing).items():
                    plain = getattr(inner, "__func__", inner)
                    if not method.startswith("_") and inspect.isfunction(plain):
                        yield f"{name}.{method}", plain
            elif inspect.isfunction(inspect.unwrap(thing)):
                yield name, thing


def said(value: object) -> str:
    """Return a default as the table has it: its text, without an address."""
    text = repr(value)
    return getattr(value, "__qualname__", text) if " at 0x" in text else text


def defaults() -> dict[str, str]:
    """Return the defaults of everything public that are not None."""
    found = {}
    for folder in FOLDERS:
        for name, one in callables(folder):
            parameters = inspect.signature(one).parameters.values()
            told = [
                f"{p.name}={said(p.default)}"
                for p in parameters
                if p.default is not p.empty and p.default is not None
            ]
            if told:
                found[name] = ", ".join(told)
    return found


DEFAULTS = {
    "Alias": "options=<factory>",
    "old_name": "stacklevel=3",
    "unknown_mechanism": "auto=True",
    "BitPerValue.outputs": "public=b''",
    "BlockReports.outputs": "public=b''",
    "CappedMechanism": "low=-1.0, high=1.0, outside='refuse', over_cap='refuse', steps=32768",
    "Certificate": "warnings=()",
    "Collection": "admission='open', revision=1",
    "Draft": "note='', groups=<factory>",
    "FrequencyOracle.variance": "of='population'",
    "HadamardResponse.variance": "of='population'",
    "Harmony.variance": "reports=1",
    "IntegerReports.outputs": "public=b''",
    "ItemCounts": "most=1.0",
    "Kept.rule": "verb='were'",
    "KeySet.outputs": "public=b''",
    "KeyValueBlock": "low=-1.0, high=1.0, outside='refuse', steps=32768",
    "LocalHashing.outputs": "public=b''",
    "MeanMechanism": "low=-1.0, high=1.0, outside='refuse', steps=1048576",
    "MeanMechanism.variance": "reports=1",
    "Mechanism.outputs": "public=b''",
    "MissingAnswerRule": "rule='error', affected_rows=0, _dropped=<factory>",
    "MissingAnswerRule.apply": "blank=True",
    "Mixed.outputs": "public=b''",
    "OpenWords": "cohorts=256",
    "Piecewise.variance": "reports=1",
    "PrivKV": "low=-1.0, high=1.0, outside='refuse', split='nominal', steps=32768",
    "PrivKVM": "rounds=3, low=-1.0, high=1.0, outside='refuse', steps=32768",
    "DayColumn": "zone='UTC'",
    "draft_questions": "only=(), users=10000",
    "People": "before=<factory>, made=<factory>, barred=<factory>",
    "PaperDesign.variance": "of='population'",
    "PartsFolder": "run=<factory>, stage='writing', is_charged=False",
    "PersonLedger.charge": "again=False",
    "PersonRule": "each='first', cap=1",
    "TableQuestion.of": "groups=mappingproxy({}), keep=(), randomised=False",
    "PersonTable": "mark='|', missing_rule=<factory>, _starts=<factory>, is_selected=<factory>, "
    "_origins=<factory>",
    "PersonTable.answered_batches": "answers=1, blank=True",
    "Question": "memo='value'",
    "Summary": "some_ids=()",
    "PoisoningTarget": "share=True, bounded=True",
    "Rappor.basic": "f=0.5, p=0.5, q=0.75",
    "Rappor.expected_loss": "reports=1",
    "Rappor.full": "f=0.5, p=0.5, q=0.75",
    "Rappor.outputs": "public=b''",
    "Rappor.pair_epsilon": "reports=1",
    "Section": "paragraphs=(), facts=()",
    "SetBlock": "counted='options'",
    "SetMechanism.variance": "of='population'",
    "SetSelect": "least=1, over_cap='refuse', counted='options'",
    "SetSelect.outputs": "public=b''",
    "ShuffleAccount": "of='question'",
    "FilteredTable": ("mark='|', missing_rule=<factory>, _starts=<factory>, is_selected=<factory>"),
    "SubsetSelection.outputs": "public=b''",
    "AnswerTable": "mark='|', missing_rule=<factory>, _starts=<factory>",
    "AnswerTable.answered_batches": "answers=1, blank=True",
    "AnswerTable.of": "mark='|', missing='error'",
    "AnswerTable.open": "mark='|', missing='error'",
    "AnswerTable.locate_errors": "before=0",
    "Validity.require": "what='reports'",
    "Wave": "round_to=()",
    "Window.variance": "reports=1",
    "Written": "broken=False",
    "account": "days=365, changes=0",
    "aligned": "left=(0,)",
    "attack": "words=100, people=1000, "
    "reports=(1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000), seed=1",
    "audit_over_time": "people=4000",
    "audit_samples": "samples=1000000",
    "blind_sign": "below=randbelow",
    "caution": "what='a report'",
    "certify": "samples=1000000",
    "changing_loss": "changes=0",
    "checked_choice": "of=''",
    "checked_method": "where=''",
    "coin_ends": "ends=success_ends",
    "choose_mean": "low=-1.0, high=1.0, outside='refuse', steps=1048576",
    "co_support": "watched=10",
    "distribution": "public=b'', max_leaves=20000",
    "exact_keys": "unless_usual=mappingproxy({})",
    "exact_text": "empty=False",
    "external_sampler": "seconds=600",
    "bound_poisoning": "share=0.01",
    "fake_count": "share=0.01",
    "finalize": "salt_bytes=48",
    "levels_for": "step=7, fits=()",
    "loops": "floats=False",
    "lower_bound": "confidence=0.99",
    "missing_extra_message": "what='this'",
    "new_invitation": "bound=False",
    "new_key": "bits=2048",
    "parse_number": "what='an answer'",
    "open_words": "cohorts=256, fits=()",
    "privatize": "columns=mappingproxy({}), groups=mappingproxy({}), keep=(), missing='error', "
    "mark='|', replace=False, resume=False, randomised=False",
    "privatize_questions": "columns=mappingproxy({}), groups=mappingproxy({}), keep=(), "
    "randomised=False",
    "privatize_table": "groups=mappingproxy({}), keep=(), randomised=False",
    "question_loss": "values=1",
    "scale_from_contract": "range=()",
    "format_value": "limit=60",
    "support_blanket": "both=Fraction(0, 1)",
    "verify": "salt_bytes=48",
    "held_alone": "patience_s=0.0",
    "whole_file": "mode=420",
    "write_whole": "mode=420",
}


def test_the_defaults_are_those_of_the_table() -> None:
    assert defaults() == DEFAULTS


RAPPOR = rumor.Rappor.full(key=b"k", bits=8, cohorts=2)
COLLECTION = home_pages()
ASKED = COLLECTION.question("homepage")
FEW = np.array([0.25, 0.75, 0.0])
KINDS: dict[str, Any] = dict(BY_NAME)
ORACLES = {name: KINDS[name](domain=3, epsilon=1.0) for name in ("unary", "hadamard")}
MEANS = {name: KINDS[name](epsilon=1.0, steps=4) for name in ("harmony", "piecewise", "window")}


def refusal(act: Callable[[], object]) -> str:
    """Return the sentence by which something is refused."""
    with pytest.raises(InputError) as caught:
        act()
    return str(caught.value)


def made(name: str) -> Callable[..., object]:
    """Return the constructor of a mechanism with what it needs, but for its defaults."""
    kind = KINDS[name]
    needed = {key: value for key, value in NEEDED[name].items() if key != "cohorts"}
    return lambda **said: kind(epsilon=1.0, **{**needed, **said}).describe()


# What is called, the entry of the table, and the arguments that it is called with.
CALLS: list[tuple[str, str, Callable[..., object]]] = [
    *(("CappedMechanism", name, made(name)) for name in ("item-sampling", "pckv-grr", "key-set")),
    *(("MeanMechanism", name, made(name)) for name in MEANS),
    ("KeyValueBlock", "", made("keyvalue-block")),
    ("OpenWords", "", made("open-words")),
    ("PrivKV", "", made("privkv")),
    ("PrivKVM", "", made("privkvm")),
    ("SetBlock", "", made("block")),
    ("SetSelect", "", made("select")),
    ("Wave", "", lambda **said: rumor.Wave(low=0, high=20, epsilon=1.0, **said).spacings),
    ("Rappor.full", "", lambda **said: rumor.Rappor.full(key=b"k", **said)),
    ("Rappor.basic", "", lambda **said: rumor.Rappor.basic(labels=3, **said)),
    ("Rappor.pair_epsilon", "", lambda **said: RAPPOR.pair_epsilon("a", "b", 1, **said)),
    ("Rappor.expected_loss", "", lambda **said: RAPPOR.expected_loss(**said)),
    ("FrequencyOracle.variance", "", lambda **said: ORACLES["unary"].variance(FEW, 5, **said)),
    ("HadamardResponse.variance", "", lambda **said: ORACLES["hadamard"].variance(FEW, 5, **said)),
    (
        "SetMechanism.variance",
        "",
        lambda **said: rumor.SetBlock(domain=3, block=2, epsilon=1.0).variance(FEW, 5, **said),
    ),
    (
        "PaperDesign.variance",
        "",
        lambda **said: BY_NAME["paper"].examples()[0].variance(FEW[:2], 5, **said),  # type: ignore[attr-defined]
    ),
    ("Harmony.variance", "", lambda **said: MEANS["harmony"].variance(0.25, **said)),
    ("Piecewise.variance", "", lambda **said: MEANS["piecewise"].variance(0.25, **said)),
    ("Window.variance", "", lambda **said: MEANS["window"].variance(0.25, **said)),
    ("choose_mean", "", lambda **said: choose_mean(epsilon=1.0, **said)),
    ("levels_for", "", lambda **said: levels_for(PrefixCode.of(CODE), 9, **said)),
    ("open_words", "", lambda **said: open_words(epsilon=1.0, code=CODE, key=b"k", **said)),
    ("fake_count", "", lambda **said: fake_count(12_345, **said)),
    ("bound_poisoning", "", lambda **said: bound_poisoning(ASKED.mechanism, 12_345, **said)),
    ("account", "", lambda **said: account([COLLECTION], **said)),
    ("question_loss", "", lambda **said: question_loss(ASKED, reports=1, **said)),
    ("changing_loss", "", lambda **said: changing_loss(ASKED, 1, **said)),
    ("caution", "", lambda **said: caution(9.0, **said)),
    ("parse_number", "", lambda **said: refusal(lambda: parse_number("x", **said))),
    ("format_value", "", lambda **said: format_value("x" * 99, **said)),
    ("aligned", "", lambda **said: aligned(["a", "b"], [["x", "yyy"], ["xxx", "y"]], **said)),
    (
        "Validity.require",
        "",
        lambda **said: refusal(lambda: Validity(np.array([False]), "a rule").require(**said)),
    ),
    ("exact_text", "", lambda **said: refusal(lambda: exact_text({"a": ""}, "a", "b", **said))),
    (
        "checked_method",
        "",
        lambda **said: refusal(lambda: checked_method("x", {}, {"a": ()}, **said)),
    ),
    (
        "attack",
        "",
        lambda **said: attack(RAPPOR, **{**said, "people": 1, "words": 2, "reports": (1, 2)}),
    ),
]


@pytest.mark.parametrize(("name", "of", "call"), CALLS, ids=[f"{n}-{of}" for n, of, _ in CALLS])
def test_what_is_left_out_is_as_if_it_were_said(
    name: str, of: str, call: Callable[..., Any]
) -> None:
    table = ast.parse(f"f({DEFAULTS[name]})", mode="eval").body
    assert isinstance(table, ast.Call)
    told = {str(one.arg): ast.literal_eval(one.value) for one in table.keywords}
    np.testing.assert_equal(call(), call(**told))


def test_what_errors_say_where_nothing_is_said() -> None:
    assert str(AnswerError("a rule")) == "a rule; got something else"
    assert (
        str(AnswerError("a rule", 0).located_in("a.csv"))
        == "a.csv, row 1: a rule; got something else"
    )
    assert (
        str(AnswerError("a rule", 2, "x").located_in("a.csv", 7)) == "a.csv, row 10: a rule; got x"
    )
