"""Python and JavaScript, given the same: both take it, or none, and make the same of it."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from rumor.contract.collection import Collection
from rumor.contract.sampling import questions_per_person, sum_of_largest
from rumor.core.errors import InputError
from rumor.core.randomness import Keyed
from rumor.mechanisms import BY_NAME, KeyValueMechanism, Mechanism, PrivKVM, from_description
from rumor.mechanisms.permanent import PermanentAnswers
from rumor.privacy.loss import series_ceiling
from tests.changed_documents import changes, distinct
from tests.everything import every_mechanism
from tests.issuers import blind_collection
from tests.javascript import collection, node
from tests.needs import needs
from tests.vectors.make_device import RELAY
from tests.vectors.make_vectors import mechanisms

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors"
REFUSALS = VECTORS / "refusals.txt"
SECRET = b"what both clients draw"
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
WORDS = ["", "x", "A", "clip", "refuse", "sample", "options", "\ud800"]
COIN = {"kind": "choice", "labels": ["red", "blue"], "epsilon": 1.0}


def descriptions() -> list[tuple[dict[str, Any], None]]:
    """Descriptions of every mechanism, each with one thing changed."""
    vectors = json.loads((VECTORS / "client.json").read_text("utf-8"))["vectors"]
    found = []
    for name in BY_NAME:
        own = [vector["mechanism"] for vector in vectors if vector["mechanism"]["name"] == name]
        first, last = own[0], own[-1]
        every = [first, *changes(first, texts=WORDS)]
        every += changes(last, ends=(), texts=()) if last != first else ()
        found += [each for each in every if isinstance(each, dict) and each.get("name") == name]
    unknown = [{**found[0], "name": name} for name in ("x", "constructor", "../rumor", None, 5)]
    return [(each, None) for each in distinct([*found, *unknown])]


def contracts() -> list[object]:
    """Contracts that say all that one can say, each with one thing changed but its mechanisms."""
    wish = {"name": "A test", "series": "series", "contact": "me@example.org"}
    mood = {"mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}}
    week = {"kind": "choice", "labels": ["a", "b", "c"], **mood, "retention_days": 30}
    period = {"memo": "period", "period_days": 7, "reports_per_person": 9}
    apps = {"kind": "keyvalue", "keys": ["Maps", "Mail"], "low": 0, "high": 6, "epsilon": 2.0}
    first = collection({**apps, "mechanism": {"name": "privkvm", "rounds": 3}})
    mechanism = first.question().mechanism
    assert isinstance(mechanism, PrivKVM)
    following = mechanism.next([1.5, 3.0], parent=first.digest)
    said = {**COIN, "mechanism": "randomized-response"}
    several: list[dict[str, object]] = [{"id": id, **said} for id in "abc"]
    bases = [
        dataclasses.replace(
            collection({**week, **period}),
            admission="invited",
            revision=2,
            previous="0" * 64,
            series_epsilon=99.5,
        ),
        dataclasses.replace(
            first,
            questions=(dataclasses.replace(first.question(), mechanism=following),),
            revision=2,
            previous=first.digest,
            series_epsilon=series_ceiling(first),
        ),
        Collection.resolve({**wish, "questions": several, "linked": ["a", "c"]}),
        Collection.resolve(
            {
                **wish,
                "questions": [{**each, "epsilon": 1.0 + n} for n, each in enumerate(several)],
                "ask": {"questions": 2},
                "series_epsilon": 5.0,
            }
        ),
        Collection.resolve(
            {**wish, "questions": several[:1], "ask": {"days": 9, "starts": "2026-03-01"}}
        ),
        Collection.resolve({**wish, "questions": several[:1], "relay": {**RELAY, "turn_hours": 6}}),
        Collection.resolve(
            {
                **wish,
                "questions": several[:1],
                "groups": {"country": ["DE", "FR", "other"], "os": ["other", "x"]},
            }
        ),
        blind_collection(),
        *(
            dataclasses.replace(every_mechanism(), questions=(question,))
            for question in every_mechanism().questions
            if question.id.startswith("kind-")
        ),
    ]
    seen: set[str] = set()
    found = []
    for base in bases:
        contract = json.loads(base.canonical())
        # Mechanisms have their own changes.
        seen |= {f".questions.{place}.mechanism.*" for place in range(len(base.questions))}
        found += [contract, *changes(contract, seen=seen)]
        if "series_epsilon" in contract:  # the least that it may be, and less
            each = [question.mechanism.epsilon_all_rounds(1) for question in base.questions]
            least = sum_of_largest(each, questions_per_person(base.ask, len(each)))
            found += [{**contract, "series_epsilon": e} for e in (least, math.nextafter(least, 0))]
    return distinct(found)


ODD: list[object] = [
    *(None, True, False, "", " ", "x", "0", "1", "1.0", " 1", "-1", "e\u0301", 0, 1, 2, 5, -1),
    *(2**31, 2**53, 0.5, -0.5, 1e300, *({"number": name} for name in NUMBERS)),
    *([], [0], [0, 0], [1, 0], ["x"], ["0"], [None], [0.5], [99_999_999], {}),
    *({"0": 1}, {"0": "x"}, {"0": None}, {"0": {"number": "NaN"}}, {"0": True}, {"x": 1}),
    *({"99999999": 1}, {"0": 1, "1": -5}, {"0": 0, "1": 1}, {"0": 0, "1": 1, "2": 0}),
]


def odd_answers(mechanism: Mechanism) -> list[object]:
    """Answers of every type, and those that nearly fit."""
    called = mechanism.labels_in_contract
    if not isinstance(called, (list, tuple)) or not isinstance(called[0], str):
        return ODD
    first, last = str(called[0]), str(called[-1])
    nearly = [first.upper(), f" {first}", unicodedata.normalize("NFD", first)]
    lists = [[first], [first, first], [last, first], list(called)]
    return [*ODD, *nearly, *lists, {first: 0.25}, {first: 0.25, last: 1}]


def answers() -> list[tuple[Mechanism, object, list[object]]]:
    """Mechanisms, what people might answer, and what their noise is drawn from."""
    found = []
    for name, own in mechanisms().items():
        for number, mechanism in enumerate(own[:1] + own[1:][-1:]):
            every = [*as_json(mechanism.edge_values()), *odd_answers(mechanism)]
            for place, value in enumerate(every):
                # Python reads a row of a table too.
                if not (isinstance(mechanism, KeyValueMechanism) and isinstance(value, list)):
                    found.append((mechanism, value, [name, number, place]))
    return found


def plain(value: Any) -> Any:
    """A value as it is: JSON has no word for some numbers."""
    if not isinstance(value, dict):
        return value
    if value.get("number") in NUMBERS:
        return NUMBERS[value["number"]]
    return {key: plain(each) for key, each in value.items()}


def as_json(values: Sequence[object]) -> list[object]:
    """Values as JSON holds them: the names of keys are texts."""
    return list(json.loads(json.dumps(values)))


def as_python(mechanism: Mechanism, value: object) -> object:
    """A value as the mechanism takes it: keys without labels are numbers."""
    numbered = isinstance(mechanism, KeyValueMechanism) and mechanism.labels is None
    if isinstance(value, dict) and numbered:
        return {int(key): number for key, number in value.items()}
    return value


def answer_of(given: tuple[Mechanism, object, list[Any]]) -> object:
    """The report of an answer where noise is fresh, and whether a person is told anything."""
    mechanism, value, context = given
    try:
        own = as_python(mechanism, plain(value))
    except ValueError:
        own = plain(value)  # keys that are no numbers
    noise = Keyed(SECRET, *context)
    report = mechanism.permanence.report_memoised(
        own, permanent=Keyed(SECRET, "person"), random=noise
    )
    fresh = not isinstance(mechanism, PermanentAnswers)
    return [report.hex() if fresh else None, len(mechanism.notes(own))]


def made(make: Callable[[Any], object], given: object) -> object:
    """What Python makes of something, or that it refuses."""
    try:
        return make(given)
    except InputError:
        return None


def mechanism_of(given: tuple[dict[str, Any], None]) -> object:
    mechanism = from_description(given[0])
    epsilon = mechanism.epsilon if math.isfinite(mechanism.epsilon) else None  # as JSON has it
    return [mechanism.kind, epsilon, mechanism.width, mechanism.permanence.memo_digest]


def taken(what: str, found: Any) -> object:
    """What JavaScript makes of something, in the same words."""
    if isinstance(found, dict):
        return None
    return [found[0], len(found[1])] if what == "answers" else found


@pytest.fixture(scope="module")
def twins() -> dict[str, Any]:
    """What JavaScript makes of them all."""
    return asked()


def asked() -> dict[str, Any]:
    several = answers()
    given = {"mechanisms": descriptions(), "contracts": contracts()}
    plain_ = [
        [one.describe(), one.labels_in_contract, value, context] for one, value, context in several
    ]
    found = node("twins.mjs", given={**given, "answers": plain_})
    return {"given": {**given, "answers": several}, "found": found}


@pytest.mark.parametrize(
    ("what", "make"),
    [
        ("mechanisms", mechanism_of),
        ("contracts", lambda contract: Collection.from_contract(contract).digest),
        ("answers", answer_of),
    ],
    ids=["mechanisms", "contracts", "answers"],
)
def test_what_python_takes_javascript_takes(
    what: str, make: Callable[[Any], object], twins: dict[str, Any]
) -> None:
    given = twins["given"][what]
    wanted = [made(make, each) for each in given]
    different = [
        (each, want, found)
        for each, want, found in zip(given, wanted, twins["found"][what], strict=True)
        if want != taken(what, found)
    ]
    assert different[:5] == []
    accepted = sum(each is not None for each in wanted)
    assert accepted > 100
    assert len(given) - accepted > 500


def sentences(found: dict[str, Any]) -> str:
    """The sentence of every rule that refuses something, with what it was given first."""
    rules: dict[str, str] = {}
    for one in itertools.chain(*found.values()):
        if isinstance(one, dict):
            rules.setdefault(one["refused"].split("; got ")[0], one["refused"])
    return "\n".join([*(rules[rule] for rule in sorted(rules)), ""])


def test_every_rule_has_its_sentence(twins: dict[str, Any]) -> None:
    written = REFUSALS.read_text("utf-8")
    assert sentences(twins["found"]) == written, "python -m tests.client.test_js_twins writes it"


if __name__ == "__main__":
    REFUSALS.write_text(sentences(asked()["found"]), "utf-8")
