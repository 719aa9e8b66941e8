"""What is taken where nothing is said: every default of what is public, in one table.

A default is a promise to whoever leaves it out. The table of defaults.toml is compared with the
signatures of the sources; another calls without the defaults, and with those of the first one.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
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

FOLDERS = (
    *("core", "mechanisms", "estimators", "results", "kinds"),
    *("contract", "privacy", "client", "analysis", "collector"),
)
LONGEST = 200  # a default that takes more to say is said by its type


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
    if len(text) > LONGEST:
        return type(value).__qualname__
    return getattr(value, "__qualname__", text) if " at 0x" in text else text


def defaults(folder: str) -> dict[str, str]:
    """Return the defaults of everything public in `folder` that are not None."""
    found = {}
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


# By folder: what is called, and its defaults.
DEFAULTS = tomllib.loads(Path(__file__).with_name("defaults.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_defaults_are_those_of_the_table(folder: str) -> None:
    assert defaults(folder) == DEFAULTS[folder]


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
    said_so = next(told[name] for told in DEFAULTS.values() if name in told)
    table = ast.parse(f"f({said_so})", mode="eval").body
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
