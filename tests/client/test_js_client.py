"""The client for browsers (Node runs it): the same bytes, limits and sentences as Python's."""

from __future__ import annotations

import copy
import functools
import json
import math
import posixpath
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rumor
from deploy.versions import npm_version
from rumor.cli import main
from rumor.contract.collection import Collection
from rumor.core.errors import InputError
from rumor.core.exact import sum_up
from rumor.core.randomness import Keyed
from rumor.mechanisms import REGISTRY, Mechanism, PrivKVM, RandomizedResponse, from_description
from rumor.mechanisms.registry import ENTRIES
from rumor.privacy.audit.findings import external_sampler
from rumor.privacy.loss import series_ceiling
from tests.javascript import CLIENT, SCRIPTS, collection, node, parsed, refusals, steps
from tests.needs import needs
from tests.vectors import make_vectors

ROOT = Path(__file__).parents[2]
VECTORS = Path(__file__).parents[1] / "vectors"
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
SECRET = bytes(range(100, 132))
MOOD = {
    "kind": "choice",
    "labels": ["well", "so so", "unwell", "no answer"],
    "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75},
    "reports_per_person": 30,
}
COLOURS = {
    "kind": "choice",
    "labels": ["red", "grün", "blue"],
    "epsilon": 1.0,
    "mechanism": "randomized-response",
}
APPS = ["Maps", "Mail", "Chat"]

needs("node")


def state(secret: bytes = SECRET) -> dict[str, object]:
    """An empty ledger with this secret, as the client keeps it."""
    lists: dict[str, object] = {"answers": [], "mechanisms": [], "pins": [], "pending": []}
    return {"rumor": 2, "secret": secret.hex(), **lists}


def device(folder: Path, max_epsilon: float | None = None) -> rumor.Respondent:
    """Python's device with the same secret."""
    folder.mkdir()
    (folder / "secret").write_text(f"rumor secret 1\n{SECRET.hex()}\n")
    (folder / "secret").chmod(0o600)
    return rumor.Respondent(folder, max_epsilon=max_epsilon)


# --- The same bytes -------------------------------------------------------------------------


@functools.cache
def computed_vectors() -> dict[str, Any]:
    """Return the vectors that the code computes now, as JSON holds them."""
    return dict(json.loads(json.dumps(make_vectors.vectors())))


def of_mechanism(document: dict[str, Any], name: str) -> list[Any]:
    """Return the vectors in `document` of the mechanism called `name`."""
    return [vector for vector in document["vectors"] if vector["mechanism"]["name"] == name]


@pytest.mark.parametrize("name", [mechanism.name for mechanism in REGISTRY])
def test_the_published_vectors_of_a_mechanism_are_those_of_the_code(name: str) -> None:
    published = json.loads((VECTORS / "client.json").read_text("utf-8"))
    own = of_mechanism(published, name)
    assert own
    for was, now in zip(own, of_mechanism(computed_vectors(), name), strict=True):
        assert {key: now[key] for key in now if now[key] != was.get(key)} == {}
        assert was.keys() == now.keys()


def test_the_file_of_vectors_is_written_as_published() -> None:
    text = (VECTORS / "client.json").read_text("utf-8")
    published = json.loads(text)
    assert make_vectors.text(published) == text
    assert published["secret"] == computed_vectors()["secret"]
    names = [vector["mechanism"]["name"] for vector in published["vectors"]]
    assert names == [vector["mechanism"]["name"] for vector in computed_vectors()["vectors"]]
    assert list(dict.fromkeys(names)) == [mechanism.name for mechanism in REGISTRY]


def test_every_vector_is_drawn_again() -> None:
    """What differs is told by mechanism: test_js_registry.py."""
    found = node("vectors.mjs", str(VECTORS))
    assert found["refused"] == {}
    assert [one for one in found["different"] if one["of"] == "randomness"] == []
    vectors = json.loads((VECTORS / "client.json").read_text("utf-8"))["vectors"]
    published = {name: json.loads((VECTORS / f"{name}.json").read_text("utf-8")) for name in
                 ("randomness", "numeric", "bloom")}  # fmt: skip
    reports = sum(len(vector["reports"]) for vector in vectors)
    settled = [v for v in vectors if "settled" in v]
    permanent = [v for v in vectors if v in settled or "flip" in v["mechanism"]]
    answers = sum(len(vector["reports"]) for vector in permanent)
    mixed = sum(len(vector["mixed"]) for vector in settled)
    tags = sum(len(vector["settled"]) for vector in settled)
    assert found["checked"] == {
        "width": len(vectors),
        "cell": len(vectors) + mixed,
        "epsilon": len(vectors),
        "loss": sum(len(vector["losses"]) for vector in vectors),
        "in all": sum(len(vector["in_all"]) for vector in vectors),
        "mixed": mixed,
        "tag": tags,
        "period": tags,
        "context": answers,
        "report": reports
        + len(published["randomness"]["reports"])
        + len(published["numeric"]["vectors"]),
        "answer": answers,
        "seed": len(published["randomness"]["keyed"]),
        "words": len(published["randomness"]["keyed"]),
        "draws": len(published["randomness"]["draws"]),
        "word": len(published["bloom"]),
        "filter": len(published["bloom"]),
    }
    assert (reports > 1500, mixed > 100, tags > 50) == (True, True, True)


def test_a_further_mechanism_adds_lines_and_changes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Further(RandomizedResponse):
        name = "further"

    computed = computed_vectors()
    monkeypatch.setattr(make_vectors, "REGISTRY", (Further, *REGISTRY))
    found = [
        json.loads(json.dumps(make_vectors.vector(number, mechanism)))
        for own in make_vectors.mechanisms().values()
        for number, mechanism in enumerate(own)
    ]
    before = computed["vectors"]
    assert found[: len(Further.examples())] != before[: len(Further.examples())]
    assert [v for v in found if v["mechanism"]["name"] != "further"] == before
    names = [v["mechanism"]["name"] for v in before]
    assert names == sorted(names, key=list(dict.fromkeys(names)).index)  # grouped


def test_a_wrong_byte_would_be_noticed(tmp_path: Path) -> None:
    shutil.copytree(VECTORS, tmp_path / "vectors")
    file = tmp_path / "vectors" / "client.json"
    document = json.loads(file.read_text("utf-8"))
    one = next(v for v in document["vectors"] if v["mechanism"]["name"] == "rappor")
    one["reports"][0]["report"] = f"{int(one['reports'][0]['report'], 16) ^ 1:0{2 * one['width']}x}"
    one["reports"][1]["answer"] = f"{int(one['reports'][1]['answer'], 16) ^ 8:0{2 * one['width']}x}"
    one["losses"]["7"] = math.nextafter(one["losses"]["7"], 0)
    one["mixed"][-1]["loss"] = math.nextafter(one["mixed"][-1]["loss"], 0)
    one["settled"][0]["tag"] = "00" * 16
    file.write_text(json.dumps(document), "utf-8")
    found = node("vectors.mjs", str(tmp_path / "vectors"))
    what = ["answer", "loss", "mixed", "report", "tag"]
    assert sorted(d["what"] for d in found["different"]) == what
    assert {d["of"] for d in found["different"]} == {"rappor"}


# --- The contract ---------------------------------------------------------------------------


def rounds_of_privkvm() -> list[Collection]:
    """Three contracts, each the child of the one before."""
    question = {
        "kind": "keyvalue",
        "keys": APPS,
        "low": 0,
        "high": 6,
        "epsilon": 2.0,
        "mechanism": {"name": "privkvm", "rounds": 3},
    }
    found = [collection(question)]
    for means in ([1.5, 3.0, 5.5], [0.0, 6.0, 2.25]):
        before = found[-1]
        mechanism = before.question().mechanism
        assert isinstance(mechanism, PrivKVM)
        following = mechanism.next(means, parent=before.digest)
        question_ = replace(before.question(), mechanism=following)
        found.append(revised(before, questions=(question_,), series_epsilon=series_ceiling(before)))
    return found


def revised(before: Collection, **changes: Any) -> Collection:
    """The revision that follows a contract."""
    return replace(before, revision=before.revision + 1, previous=before.digest, **changes)


def unusual() -> list[Collection]:
    """Contracts that say what most leave out."""
    first = collection({**MOOD, "memo": "period", "period_days": 7}, COLOURS)
    return [
        first,
        replace(first, admission="invited"),
        replace(first, series_epsilon=3.0),
        replace(first, series_epsilon=sum_up(q.epsilon for q in first.questions)),
        revised(first),
        revised(revised(first), series_epsilon=12.5),
    ]


def strange() -> Collection:
    """Texts, labels and numbers whose canonical form is easily got wrong."""
    return Collection.resolve(
        {
            "name": 'Zürich "quoted" \\ \u2028 \x7f 🙂',
            "series": "strange",
            "contact": "tab\there@example.org",
            "questions": [
                {
                    "id": "a",
                    "text": "\u0001 控制",
                    **COLOURS,
                    "labels": ["\ufb33", "🙂", "e\u0301"],
                },
                *(
                    {
                        "id": f"n{i}",
                        "kind": "number",
                        "low": low,
                        "high": high,
                        "epsilon": 1e-7 if i else 20,
                        "mechanism": "harmony",
                    }
                    for i, (low, high) in enumerate(
                        [(-0.0, 1e21), (1e-7, 123456789.125), (-1e-5, 5e-324), (-1.5e99, 0.1)]
                    )
                ),
            ],
        }
    )


def test_every_example_has_the_same_digest() -> None:
    assert len(EXAMPLES) >= 5
    contracts = [*map(Collection.load, EXAMPLES), *rounds_of_privkvm(), strange(), *unusual()]
    assert len({contract.digest for contract in contracts}) == len(contracts)
    assert steps(*map(parsed, contracts)) == [contract.digest for contract in contracts]


def test_a_contract_is_the_pinned_one_or_refused() -> None:
    contract = collection(COLOURS)
    wrong = "0" * 64
    good, bad = steps(parsed(contract, digest=contract.digest), parsed(contract, digest=wrong))
    assert good == contract.digest
    assert bad == {
        "error": f"the contract must have the digest '{wrong}'; got '{contract.digest}'",
        "code": "digest",
    }


Contract = dict[str, Any]
Change = Callable[[Contract, Contract, Contract], object]

# What a collector might get wrong, or try: (contract, question, mechanism) -> None.
CHANGES: dict[str, tuple[dict[str, object], Change]] = {
    "version": (COLOURS, lambda c, q, m: c.update(rumor=2)),
    "a member too many": (COLOURS, lambda c, q, m: c.update(more=1)),
    "a member missing": (COLOURS, lambda c, q, m: c.pop("contact")),
    "no questions": (COLOURS, lambda c, q, m: c.update(questions=[])),
    "series": (COLOURS, lambda c, q, m: c.update(series="Not a slug")),
    "id": (COLOURS, lambda c, q, m: q.update(id="-")),
    "the same id twice": (COLOURS, lambda c, q, m: c["questions"].append(copy.deepcopy(q))),
    "kind": (COLOURS, lambda c, q, m: q.update(kind="constructor")),
    "another kind's mechanism": (COLOURS, lambda c, q, m: q.update(kind="keyvalue", parent=None)),
    "question member": (COLOURS, lambda c, q, m: q.update(more=1)),
    "a number for a text": (COLOURS, lambda c, q, m: q.update(text=5)),
    "labels short": (COLOURS, lambda c, q, m: q["labels"].pop()),
    "labels repeated": (COLOURS, lambda c, q, m: q.update(labels=["red", "red", "blue"])),
    "labels empty": (COLOURS, lambda c, q, m: q.update(labels=["", "red", "blue"])),
    "labels text": (COLOURS, lambda c, q, m: q.update(labels="red")),
    "too small an epsilon": (COLOURS, lambda c, q, m: q.update(epsilon=q["epsilon"] * (1 - 9e-10))),
    "one double less": (COLOURS, lambda c, q, m: q.update(epsilon=math.nextafter(q["epsilon"], 0))),
    "one double more": (MOOD, lambda c, q, m: q.update(epsilon=math.nextafter(q["epsilon"], 9))),
    "epsilon text": (COLOURS, lambda c, q, m: q.update(epsilon="1")),
    "epsilon null": (COLOURS, lambda c, q, m: q.update(epsilon=None)),
    "reports": (COLOURS, lambda c, q, m: q.update(reports_per_person=0)),
    "retention": (COLOURS, lambda c, q, m: q.update(retention_days=0.5)),
    "unknown mechanism": (COLOURS, lambda c, q, m: m.update(name="truth")),
    "mechanism of the language": (COLOURS, lambda c, q, m: m.update(name="constructor")),
    "a list for a mechanism's name": (COLOURS, lambda c, q, m: m.update(name=[m["name"]])),
    "mechanism of a module": (COLOURS, lambda c, q, m: m.update(name="../rumor")),
    "mechanism member": (COLOURS, lambda c, q, m: m.update(more="1")),
    "no mechanism": (COLOURS, lambda c, q, m: q.update(mechanism=None)),
    "threshold as a number": (COLOURS, lambda c, q, m: m.update(truth=2**53)),
    "threshold with a zero in front": (COLOURS, lambda c, q, m: m.update(truth="0" + m["truth"])),
    "threshold zero": (COLOURS, lambda c, q, m: m.update(truth="0")),
    "threshold of certainty": (COLOURS, lambda c, q, m: m.update(truth=str(2**64))),
    "threshold of the truth too high": (COLOURS, lambda c, q, m: m.update(truth=str(2**64 - 1))),
    "a lie likelier than the truth": (COLOURS, lambda c, q, m: m.update(truth=str(2**62))),
    "domain": (COLOURS, lambda c, q, m: m.update(domain=2.5)),
    "flip": (MOOD, lambda c, q, m: m.update(flip=str(2**63))),
    "low above high": (MOOD, lambda c, q, m: m.update(low=m["high"])),
    "no permanent noise": (MOOD, lambda c, q, m: m.update(flip="0")),
    "open, said": (COLOURS, lambda c, q, m: c.update(admission="open")),
    "admission": (COLOURS, lambda c, q, m: c.update(admission="friends")),
    "revision 1, said": (COLOURS, lambda c, q, m: c.update(revision=1)),
    "revision": (COLOURS, lambda c, q, m: c.update(revision=1.5, previous="0" * 64)),
    "revision 0": (COLOURS, lambda c, q, m: c.update(revision=0)),
    "revision too high": (COLOURS, lambda c, q, m: c.update(revision=10**6 + 1, previous="0" * 64)),
    "a revision of nothing": (COLOURS, lambda c, q, m: c.update(revision=2)),
    "previous null": (COLOURS, lambda c, q, m: c.update(revision=2, previous=None)),
    "previous": (COLOURS, lambda c, q, m: c.update(revision=2, previous="0" * 63)),
    "previous of the first": (COLOURS, lambda c, q, m: c.update(previous="0" * 64)),
    "no ceiling, said": (COLOURS, lambda c, q, m: c.update(series_epsilon=None)),
    "ceiling": (COLOURS, lambda c, q, m: c.update(series_epsilon="9")),
    "ceiling true": (COLOURS, lambda c, q, m: c.update(series_epsilon=True)),
    "ceiling zero": (COLOURS, lambda c, q, m: c.update(series_epsilon=0)),
    "ceiling too high": (COLOURS, lambda c, q, m: c.update(series_epsilon=1e10)),
    "ceiling below one answer": (
        COLOURS,
        lambda c, q, m: c.update(series_epsilon=math.nextafter(q["epsilon"], 0)),
    ),
    "memo value, said": (MOOD, lambda c, q, m: q.update(memo="value")),
    "memo": (MOOD, lambda c, q, m: q.update(memo="week", period_days=7)),
    "no period, said": (MOOD, lambda c, q, m: q.update(period_days=None)),
    "days without a period": (MOOD, lambda c, q, m: q.update(period_days=7)),
    "a period without days": (MOOD, lambda c, q, m: q.update(memo="period")),
    "a period of no days": (MOOD, lambda c, q, m: q.update(memo="period", period_days=0)),
    "a period of fresh noise": (COLOURS, lambda c, q, m: q.update(memo="period", period_days=7)),
}  # fmt: skip


def changed(name: str) -> Contract:
    base, change = CHANGES[name]
    contract: Contract = json.loads(collection(base).canonical())
    question = contract["questions"][0]
    change(contract, question, question["mechanism"])
    return contract


NUMBERS: dict[str, object] = {"kind": "number", "low": 0, "high": 1, "epsilon": 1.0}
WORDS: dict[str, object] = {"kind": "text"}
PAIRS: dict[str, object] = {"kind": "keyvalue", "keys": APPS, "low": 0, "high": 6, "epsilon": 1.0}
CAPPED = {**PAIRS, "cap": 2, "mechanism": "pckv-grr"}
HADAMARD = {"kind": "choice", "domain": 9, "epsilon": 1.0, "mechanism": "hadamard"}
HASHES = {"kind": "choice", "domain": 9, "epsilon": 1.0, "mechanism": "local-hashing"}
SUBSETS = {"kind": "choice", "domain": 9, "epsilon": 1.0, "mechanism": "subset-selection"}
CHANGES.update(
    {
        "range": (NUMBERS, lambda c, q, m: m.update(range=[1, 0])),
        "range of texts": (NUMBERS, lambda c, q, m: m.update(range=["0", "1"])),
        "range of three": (NUMBERS, lambda c, q, m: m.update(range=[0, 1, 2])),
        "steps": (NUMBERS, lambda c, q, m: m.update(steps=2**20 + 1)),
        "outside": (NUMBERS, lambda c, q, m: m.update(outside="ignore")),
        "bits": (WORDS, lambda c, q, m: m.update(bits=1)),
        "cohorts": (WORDS, lambda c, q, m: m.update(cohorts=2**24)),
        "key": (WORDS, lambda c, q, m: m.update(key="xyz")),
        "hashes": (WORDS, lambda c, q, m: m.update(hashes=65)),
        "asked too often": (
            {"kind": "text", "epsilon": 2.0},
            lambda c, q, m: q.update(reports_per_person=2),
        ),
        "block": (PAIRS, lambda c, q, m: m.update(block=6)),
        "keys": (PAIRS, lambda c, q, m: m.update(keys=0)),
        "parent": (PAIRS, lambda c, q, m: q.update(parent="0" * 64)),
        "cap": (CAPPED, lambda c, q, m: m.update(cap=4)),
        "over the cap": (CAPPED, lambda c, q, m: m.update(over_cap="drop")),
        "blocks": (HADAMARD, lambda c, q, m: m.update(blocks=3)),
        "buckets": (HASHES, lambda c, q, m: m.update(buckets=1)),
        "a bar in a label": (
            {"kind": "set", "labels": APPS, "epsilon": 1.0},
            lambda c, q, m: q.update(labels=["a|b", "c", "d"]),
        ),
        "a domain of options": (
            {"kind": "set", "labels": APPS, "epsilon": 1.0},
            lambda c, q, m: m.update(domain=APPS),
        ),
        "a domain of labels": (COLOURS, lambda c, q, m: m.update(domain=["a", "b", "c"])),
        "a true version": (COLOURS, lambda c, q, m: c.update(rumor=True)),
        "a true epsilon": (COLOURS, lambda c, q, m: q.update(epsilon=True)),
        "a text in two parts": (COLOURS, lambda c, q, m: q.update(text="e\u0301")),
        "size": (SUBSETS, lambda c, q, m: m.update(size=9)),
    }
)


def test_contracts_that_break_a_rule_are_refused_in_a_sentence() -> None:
    later = json.loads(rounds_of_privkvm()[1].canonical())
    orphan = copy.deepcopy(later)
    orphan["questions"][0]["parent"] = None
    about_keys = copy.deepcopy(later)
    about_keys["questions"][0]["mechanism"]["round"] = 1
    made_up = copy.deepcopy(later)
    made_up["questions"][0]["mechanism"]["made_up"][0] = -1
    documents = [*map(changed, CHANGES), orphan, about_keys, made_up, [], "x", None]
    for document in documents:  # Python refuses every one of them as well
        with pytest.raises(InputError):
            Collection.from_contract(document)
    results = steps(*({"step": "parse", "contract": d} for d in documents))
    for name, result in zip([*CHANGES, *"123456"], results, strict=True):
        assert isinstance(result, dict), f"{name} was not refused"
        assert result["code"] == "contract", (name, result)
        assert re.fullmatch(r"[^\n]+; got [^\n]+", result["error"]), (name, result)


def test_a_contract_with_outer_spaces_has_one_digest() -> None:
    spaced: Contract = json.loads(collection(COLOURS).canonical())
    spaced.update(name=" A test ", contact="me@example.org\n")
    spaced["questions"][0]["text"] = " "
    (found,) = steps({"step": "parse", "contract": spaced})
    assert found == Collection.from_contract(spaced).digest


# --- Answers --------------------------------------------------------------------------------


def test_answers_that_do_not_fit_are_refused_as_in_python(tmp_path: Path) -> None:
    contract = collection(
        COLOURS,
        {"kind": "choice", "domain": 300, "epsilon": 1.0},
        {"kind": "text"},
        NUMBERS,
        PAIRS,
        {**CAPPED, "cap": 1},
    )
    wrong: list[dict[str, object]] = [
        {"a": "pink"},
        {"a": 3},
        {"a": -1},
        {"b": "red"},
        {"b": 300},
        {"c": 5},
        {"e": {"Radio": 1.0}},
        {"a": True},
        {"a": None},
        {"d": "1"},
        {"d": None},
        {"d": True},
        {"e": [1.0]},
        {"e": {"Maps": "much"}},
        {"z": 1},
        {},
    ]
    person = device(tmp_path / "device")
    sentences = []
    for answers in wrong:
        with pytest.raises(InputError) as refused:
            person.prepare(contract, answers)
        sentences.append(str(refused.value))
    person.close()
    results = steps(
        parsed(contract),
        {"step": "open"},
        *({"step": "prepare", "answers": answers} for answers in wrong),
        {"step": "spending"},
        {"step": "pending"},
    )
    assert refusals(results[2:-2]) == sentences
    assert results[-2:] == [[], []]  # nothing was charged


def test_a_person_is_told_how_an_answer_was_taken() -> None:
    """Numbers outside are clipped and pairs beyond a cap drawn from, whatever tables do."""
    ends = {"low": 0, "high": 6, "outside": "refuse", "epsilon": 1.0, "reports_per_person": 9}
    capped = {"kind": "keyvalue", "keys": ["Maps", "Mail"], "cap": 1, "mechanism": "item-sampling"}
    clipped = {"code": "clipped", "low": 0, "high": 6}
    nearest = "a number outside 0 to 6 was taken as the nearest end"
    over = "more than 1 keys are held, and the report draws from all of them"
    _, _, *told = steps(
        parsed(collection({"kind": "number", **ends}, {**capped, **ends})),
        {"step": "open"},
        {"step": "told", "answers": {"a": 6, "b": {"Maps": 0}}},
        {"step": "told", "answers": {"a": 6.1, "b": {"Maps": -1e300, "Mail": 1}}},
    )
    assert told == [
        [[], []],
        [
            [{**clipped, "message": f"question 'a': {nearest}"}],
            [
                {**clipped, "message": f"question 'b': {nearest}"},
                {"code": "over-cap", "cap": 1, "message": f"question 'b': {over}"},
            ],
        ],
    ]


def test_a_device_gives_the_permanent_answers_that_python_gives(tmp_path: Path) -> None:
    """With p = 0 and q = 1 the permanent bits themselves are sent: no chance is left."""
    contract = collection(
        {"kind": "text", "f": 0.5, "p": 0, "q": 1, "reports_per_person": 9},
        {**MOOD, "mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0, "q": 1}},
    )
    words, moods = ("news", "cafe\u0301", "café", "検索"), ("well", "unwell", "unwell", "no answer")
    answers = [{"a": word, "b": mood} for word, mood in zip(words, moods, strict=True)]
    person = device(tmp_path / "device")
    expected = [[e.report.hex() for e in person.prepare(contract, a)] for a in answers]
    cells = {
        question.id: question.mechanism.permanence.memo_digest for question in contract.questions
    }
    tags = {
        Keyed(SECRET, "rumor value tag 2", "series", id, cells[id], identity).digest()[:16].hex()
        for id, identity in [("a", "news"), ("a", "café"), ("a", "検索"),
                             ("b", "0"), ("b", "2"), ("b", "3")]
    }  # fmt: skip
    lines = [(s.question, s.reports, s.values) for s in person.spending()]
    person.close()
    results = steps(
        parsed(contract),
        {"step": "open", "state": state()},
        *({"step": "prepare", "answers": a} for a in answers),
        {"step": "spending"},
        {"step": "state"},
        {"step": "reset"},
        {"step": "prepare", "answers": answers[0]},
        {"step": "spending"},
    )
    assert [[e["report"] for e in made] for made in results[2:6]] == expected
    assert [(s["question"], s["reports"], s["values"]) for s in results[6]] == lines
    assert {row["tag"] for row in results[7]["answers"]} == tags
    # A new secret draws anew, costs anew and forgets nothing that was spent.
    assert [e["report"] for e in results[9]] != expected[0]
    assert [s["epsilon"] for s in results[10]] > [s["epsilon"] for s in results[6]]


# One character to people, up to eight code points: skin tones, flags, families, keycaps.
SEEN_AS_ONE = (
    "\U0001f600", "\U0001f44d\U0001f3fd", "\U0001f1eb\U0001f1f7", "1\ufe0f\u20e3", "\u2764\ufe0f",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",
    "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "\U0001f468\U0001f3fd\u200d\U0001f469\U0001f3fd\u200d\U0001f467\U0001f3fd",
)  # fmt: skip
FAMILY = SEEN_AS_ONE[6]
LONG = ("a", "e" * 19, "e" * 200, "\U0001f600" * 150, "e\u0301" * 3, "q" * 40, "")


def test_a_word_of_any_length_is_reported_as_python_reports_it(tmp_path: Path) -> None:
    """Emoji and words beyond every length: no client cuts, refuses or counts one otherwise."""
    asked: list[dict[str, object]] = [
        {},
        {"longest": 1},
        {"longest": 3, "code": "utf-8"},
        {"fits": [FAMILY]},
        {"fits": [FAMILY], "code": "url", "longest": 2},
        {"length": 1, "code": "utf-8"},
        {"length": 7},
        {"longest": 256, "typical": 3},
    ]
    many = {"kind": "words", "epsilon": 9.0, "reports_per_person": 1000}
    contract = collection(*({**many, **one} for one in asked))
    answers = [dict.fromkeys("abcdefgh", word) for word in (*SEEN_AS_ONE, *LONG)]
    person = device(tmp_path / "device")
    made = [person.prepare(contract, answer) for answer in answers]
    person.close()
    results = steps(
        parsed(contract),
        {"step": "open", "state": state()},
        *({"step": "prepare", "answers": answer} for answer in answers),
    )
    assert [[e["report"] for e in each] for each in results[2:]] == [
        [e.report.hex() for e in each] for each in made
    ]
    _, _, *told = steps(
        parsed(contract), {"step": "open"}, *({"step": "told", "answers": a} for a in answers)
    )
    said = [[[note["message"] for note in notes] for notes in each] for each in told]
    assert said == [[list(e.notes) for e in each] for each in made]
    # Of a family of four there is room where it was named, and a person is told where not.
    family = made[SEEN_AS_ONE.index(FAMILY)]
    assert [bool(e.notes) for e in family] == [True, True, True, False, False, True, True, False]


# --- The ledger -----------------------------------------------------------------------------


def test_the_ledger_counts_what_pythons_counts(tmp_path: Path) -> None:
    contract = collection(
        MOOD,
        {"kind": "text", "reports_per_person": 5},
        {**COLOURS, "reports_per_person": 4},
        {**NUMBERS, "reports_per_person": 3},
        {**PAIRS, "reports_per_person": 2},
    )
    well: dict[str, object] = {"a": "well"}
    answers: list[dict[str, object]] = [
        {"a": "well", "b": "news", "c": "red", "d": 0.25, "e": {"Maps": 1.0}},
        {"a": "well", "b": "news", "c": "red", "d": 0.25, "e": {}},
        *[well] * 6,
        {"a": "unwell", "b": "mail", "c": "blue"},
        {"c": "grün", "d": 1},
        {"c": "red"},
        {"a": "well", "d": 0.5},
    ]
    person = device(tmp_path / "device", max_epsilon=25)
    sentences: list[str | None] = []
    for given in answers:
        try:
            person.prepare(contract, given)
            sentences.append(None)
        except InputError as refused:
            sentences.append(str(refused))
    expected = [vars(line) for line in person.spending()]
    total = person.spent
    waiting = len(person.pending())
    person.close()
    assert sum(sentence is not None for sentence in sentences) == 2
    results = steps(
        parsed(contract),
        {"step": "open", "maxEpsilon": 25},
        *({"step": "prepare", "answers": given} for given in answers),
        {"step": "spending"},
        {"step": "spent"},
        {"step": "pending", "of": "contract"},
    )
    assert refusals(results[2:-3]) == sentences
    for found, line in zip(results[-3], expected, strict=True):
        assert found == line
    assert results[-2] == total
    assert len(results[-1]) == waiting


def test_what_would_cost_too_much_is_refused_whole(tmp_path: Path) -> None:
    contract = collection({**COLOURS, "reports_per_person": 9}, {**NUMBERS, "epsilon": 2.0})
    person = device(tmp_path / "device", max_epsilon=3.5)
    person.prepare(contract, {"a": "red"})
    person.prepare(contract, {"a": "red"})
    with pytest.raises(InputError) as refused:
        person.prepare(contract, {"a": "red", "b": 0.5})
    person.close()
    results = steps(
        parsed(contract),
        {"step": "open", "maxEpsilon": 3.5},
        {"step": "prepare", "answers": {"a": "red"}},
        {"step": "prepare", "answers": {"a": "red"}},
        {"step": "prepare", "answers": {"a": "red", "b": 0.5}},
        {"step": "pending"},
        {"step": "prepare", "answers": {"a": "blue"}},
        {"step": "open", "as": "other", "maxEpsilon": -1},
    )
    assert results[4] == {"error": str(refused.value), "code": "limit"}
    assert len(results[5]) == 2
    assert len(results[6]) == 1
    assert results[7]["error"] == "maxEpsilon must be a number above 0; got -1"


def test_two_at_once_cannot_both_spend_what_is_left() -> None:
    contract = collection({**COLOURS, "reports_per_person": 3})
    results = steps(
        parsed(contract),
        *({"step": "open", "as": f"p{i}", "store": "shared"} for i in range(8)),
        {"step": "race", "by": [f"p{i}" for i in range(8)], "answers": {"a": "red"}},
        {"step": "spending", "by": "p0"},
    )
    assert sorted(map(str, results[-2])) == ["True"] * 3 + ["limit"] * 5
    assert results[-1][0]["reports"] == 3


def test_rounds_are_answered_once_each_and_in_order(tmp_path: Path) -> None:
    rounds = rounds_of_privkvm()
    order = (1, 0, 2, 0, 1, 2, 2)
    person = device(tmp_path / "device")
    sentences: list[str | None] = []
    for number in order:
        try:
            person.prepare(rounds[number], {"a": {"Maps": 2.0}})
            sentences.append(None)
        except InputError as refused:
            sentences.append(str(refused))
    spent = person.spent
    person.close()
    assert [sentence is None for sentence in sentences] == [False, True, False, False, True, True,
                                                            False]  # fmt: skip
    results = steps(
        *(parsed(contract, **{"as": str(i)}) for i, contract in enumerate(rounds)),
        {"step": "open"},
        *({"step": "prepare", "of": str(n), "answers": {"a": {"Maps": 2.0}}} for n in order),
        {"step": "spent"},
    )
    assert refusals(results[4:-1]) == sentences
    assert results[-1] == spent


@pytest.mark.parametrize(
    "damage",
    [
        {"rumor": 3},
        {"rumor": "toString"},
        {"rumor": "2"},
        {"rumor": 1},
        {"secret": "00"},
        {"answers": {}},
        {"answers": [{"epsilon": 1}]},
        {"pending": [{"id": "00"}]},
        {"pins": [{"series": "a", "revision": 1, "contract": "", "ceiling": -1}]},
        {"mechanisms": [None]},
    ],
)
def test_a_damaged_ledger_is_refused_and_left_alone(damage: dict[str, object]) -> None:
    damaged = {**state(), **damage}
    opened, kept = steps({"step": "open", "state": damaged}, {"step": "state"})
    sentence = (
        "a person's ledger must be intact and of version 1 or 2; the one in this storage is not"
    )
    assert opened == {"error": sentence, "code": "state"}
    assert kept == damaged


def test_no_value_is_ever_written_down() -> None:
    contract = collection({"kind": "text"}, NUMBERS, PAIRS)
    given = {"a": "unmistakable", "b": 0.7182818, "c": {"Chat": 3.14159}}
    kept = steps(
        parsed(contract), {"step": "open"}, {"step": "prepare", "answers": given}, {"step": "state"}
    )[-1]
    written = json.dumps(kept)
    for value in ("unmistakable", "7182818", "14159", "Chat"):
        assert value not in written
        assert value.encode().hex() not in written


def test_outside_a_browser_a_store_must_be_given() -> None:
    (result,) = steps({"step": "openWithoutStore"})
    assert result == {
        "error": "a browser must offer IndexedDB and Web Locks to keep a ledger; this one does not",
        "code": "storage",
    }


# --- What a report says ---------------------------------------------------------------------


DESCRIBED: list[tuple[dict[str, object], bytes, list[dict[str, object]]]] = [
    (COLOURS, b"\x01", [{"name": "answer", "kind": "text", "value": "grün"}]),
    (
        MOOD,
        b"\x06",
        [{"name": "bits", "kind": "bits", "value": [0, 1, 1, 0], "labels": MOOD["labels"]}],
    ),
    (
        {**SUBSETS, "mechanism": {"name": "subset-selection", "size": 1}},
        b"\x02",
        [{"name": "set", "kind": "bits", "value": [0, 0, 1, 0, 0, 0, 0, 0, 0]}],
    ),
    (HADAMARD, b"\x03", [{"name": "number", "kind": "number", "value": 3}]),
    (
        HASHES,
        bytes([1, 0, 0, 0, 2, 0, 0, 128, 3]),
        [
            {"name": "a", "kind": "text", "value": "1"},
            {"name": "b", "kind": "text", "value": str(2 + 2**31)},
            {"name": "box", "kind": "number", "value": 3},
        ],
    ),
    (
        {**NUMBERS, "mechanism": "harmony"},
        b"\x01",
        [{"name": "bit", "kind": "bits", "value": [1]}],
    ),
    (
        {**NUMBERS, "mechanism": {"name": "piecewise", "steps": 300}},
        b"\x2c\x01",
        [{"name": "number", "kind": "number", "value": 300}],
    ),
    (
        {"kind": "text", "bits": 8, "cohorts": 300, "f": 0.5},
        b"\x2b\x01\x81",
        [
            {"name": "group", "kind": "number", "value": 299},
            {"name": "bits", "kind": "bits", "value": [1, 0, 0, 0, 0, 0, 0, 1]},
        ],
    ),
    (
        {**PAIRS, "mechanism": {"name": "keyvalue-block", "block": 2}},
        bytes([0, 2, 1 + 3 * 2]),
        [
            {"name": "Maps", "kind": "text", "value": "plus"},
            {"name": "Chat", "kind": "text", "value": "minus"},
        ],
    ),
    (
        {**PAIRS, "mechanism": "privkv"},
        b"\x02\x00",
        [{"name": "Chat", "kind": "text", "value": "nothing"}],
    ),
    (
        {**CAPPED, "mechanism": "item-sampling"},
        b"\x00",
        [{"name": "any key", "kind": "text", "value": "nothing"}],
    ),
    (CAPPED, b"\x03", [{"name": "Mail", "kind": "text", "value": "minus"}]),
    (CAPPED, b"\x06", [{"name": "a filler", "kind": "text", "value": "nothing"}]),
]


def test_what_a_report_says_is_what_its_bytes_say() -> None:
    todo: list[dict[str, object]] = []
    for question, report, _ in DESCRIBED:
        todo.append(parsed(collection(question)))
        todo.append({"step": "describe", "question": "a", "report": report.hex()})
        todo.append({"step": "describe", "question": "a", "report": "00" * 99})
    found = steps(*todo)
    for number, (_, report, parts) in enumerate(DESCRIBED):
        described, refused = found[3 * number + 1 : 3 * number + 3]
        assert described["parts"] == parts
        assert described["caption"].endswith(".")
        rule = f"a report of this question must have {len(report)} bytes"
        assert refused == {"error": f"{rule}; got 99", "code": "contract"}


# --- Audited as a black box -----------------------------------------------------------------

SAMPLES = 20_000
AUDITED: list[dict[str, object]] = [
    COLOURS,
    {"kind": "choice", "domain": 5, "epsilon": 1.0, "mechanism": "unary"},
    {"kind": "choice", "domain": 7, "epsilon": 1.0, "mechanism": "subset-selection"},
    {"kind": "choice", "domain": 7, "epsilon": 1.0, "mechanism": "hadamard"},
    {"kind": "choice", "domain": 9, "epsilon": 1.0, "mechanism": "local-hashing"},
    {"kind": "text", "bits": 16, "hashes": 1, "cohorts": 2, "f": 0.25, "p": 0.35, "q": 0.65},
    {**NUMBERS, "mechanism": "harmony"},
    PAIRS,
]


def command(contract: Path, *, seeded: bool = True) -> list[str]:
    """The client as a sampler; seeded by its arguments, so that chance spares the tests."""
    seed = ["--import", (SCRIPTS / "seeded.mjs").as_uri()] if seeded else []
    return [str(needs("node")), *seed, str(CLIENT / "cli.mjs"), str(contract), "a"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", AUDITED, ids=lambda question: str(question.get("mechanism", question["kind"]))
)
def test_the_client_passes_an_audit(
    question: dict[str, object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    contract = tmp_path / "contract.json"
    collection(question).save(contract)
    status = main(
        ["audit", str(contract), "--samples", str(SAMPLES), "--json", "--command",
         shlex.join(command(contract))]
    )  # fmt: skip
    (audit,) = json.loads(capsys.readouterr().out)["audits"]
    assert status == 0, audit
    box = next(finding for finding in audit["findings"] if finding["part"] == "black box")
    # The game is worth something: it finds more than half of what there is to find.
    assert box["claimed"] / 2 < box["found"] <= box["claimed"]


def test_a_client_that_reveals_more_than_it_says_fails_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    collection(COLOURS).save(tmp_path / "said.json")
    collection({**COLOURS, "epsilon": 1.5}).save(tmp_path / "done.json")
    status = main(
        ["audit", str(tmp_path / "said.json"), "--samples", str(SAMPLES), "--json", "--command",
         shlex.join(command(tmp_path / "done.json"))]
    )  # fmt: skip
    assert status == 1
    assert not json.loads(capsys.readouterr().out)["audits"][0]["passed"]


@pytest.mark.slow
@pytest.mark.parametrize("name", [mechanism.name for mechanism in REGISTRY])
def test_fresh_reports_follow_the_channel(name: str, tmp_path: Path) -> None:
    """Sampled from the system: each report as often as the model says, within six deviations."""
    vector = next(
        v for v in json.loads((VECTORS / "client.json").read_text("utf-8"))["vectors"]
        if v["mechanism"]["name"] == name
    )  # fmt: skip
    mechanism = from_description(vector["mechanism"])
    contract = tmp_path / "contract.json"
    contract.write_text(json.dumps(_contract_of(mechanism)))
    draw = external_sampler(command(contract), mechanism)
    value = mechanism.inputs()[-1]
    reports = draw(value, SAMPLES)
    mechanism.validate(reports).require()
    if name == "local-hashing":  # a seed of its own in each report: how often it is the bucket
        assert hasattr(mechanism, "bucket")
        hits = [mechanism.bucket(r.tobytes()[:-1], value) == r[-1] for r in reports]
        found, expected = {b"": sum(hits)}, {b"": float(mechanism.hit)}  # type: ignore[attr-defined]
    else:
        rows, counts = np.unique(reports, axis=0, return_counts=True)
        found = {r.tobytes(): int(c) for r, c in zip(rows, counts, strict=True)}
        expected = {
            row.tobytes(): float(mechanism.probability(row.tobytes(), value))
            for row in mechanism.outputs()
        }
        assert set(found) <= set(expected)
    for report, chance in expected.items():
        spread = 6 * (SAMPLES * chance * (1 - chance)) ** 0.5 + 6
        assert abs(found.get(report, 0) - SAMPLES * chance) < spread, (report, chance)


def _contract_of(mechanism: Mechanism) -> dict[str, object]:
    from rumor.kinds import KINDS

    kind = mechanism.kind
    question: dict[str, object] = {
        "id": "a",
        "kind": kind,
        "text": "",
        **KINDS[kind].contract_fields(mechanism),
        "epsilon": mechanism.epsilon,
        "mechanism": mechanism.describe(),
        "reports_per_person": 1,
        "retention_days": None,
    }
    return {"rumor": 1, "name": "x", "series": "x", "contact": "x", "questions": [question]}


def test_without_a_seed_no_two_runs_are_alike(tmp_path: Path) -> None:
    contract = tmp_path / "contract.json"
    collection(HASHES).save(contract)
    mechanism = collection(HASHES).question().mechanism
    fresh = external_sampler(command(contract, seeded=False), mechanism)
    assert not np.array_equal(fresh(0, 16), fresh(0, 16))
    again = external_sampler(command(contract), mechanism)
    assert np.array_equal(again(0, 16), again(0, 16))


def test_the_command_refuses_in_a_sentence(tmp_path: Path) -> None:
    contract = tmp_path / "contract.json"
    collection(COLOURS).save(contract)
    for arguments, sentence in (
        (
            ["pink", "1"],
            "a label must be one of the domain's (red, grün, blue); got another text",
        ),
        (["0", "many"], "the arguments must be: contract.json question value count; got 4 of them"),
        ([], "the arguments must be: contract.json question value count; got 2 of them"),
    ):
        done = subprocess.run([*command(contract), *arguments], capture_output=True, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")


# --- The package ----------------------------------------------------------------------------


def imports(module: str) -> set[str]:
    """A module and everything that it loads at once; mechanisms come later, one by one."""
    text = (CLIENT / module).read_text("utf-8")
    found = {module}
    for name in re.findall(r'from "(\.\.?/[^"]+)"', text):
        found |= imports(posixpath.normpath(f"{posixpath.dirname(module)}/{name}".lstrip("/")))
    return found


def test_the_modules_depend_on_nothing_else_and_weigh_little() -> None:
    modules = {path.relative_to(CLIENT).as_posix() for path in CLIENT.rglob("*.js")}
    for module in modules:
        text = (CLIENT / module).read_text("utf-8")
        sources = re.findall(
            r'^(?:import|export) .*?from "([^"]+)"', text, re.MULTILINE | re.DOTALL
        )
        assert all(source.startswith(("./", "../")) for source in sources), module
        # Thresholds decide coins and whole numbers losses: no double is computed from another,
        # but for people to look at.
        shown = module.startswith("view/")
        assert shown or not re.search(r"Math\.(exp|log|pow|sqrt)", text), module
    first = imports("rumor.js")
    assert first <= modules
    later = ("mechanisms/", "kinds/", "view/")
    assert not [module for module in first if module.startswith(later)]
    for module in modules:  # Node reads typed answers by a kind's file, and has no page
        if module.startswith("kinds/"):
            assert not [each for each in imports(module) if each.startswith("view/")], module
    for entry in ENTRIES:
        loaded = first | imports(entry.javascript)
        assert loaded <= modules
        weight = sum((CLIENT / module).stat().st_size for module in loaded)
        assert weight < 95_000, (entry.name, weight)


def test_types_and_package_say_what_there_is() -> None:
    (exported,) = steps({"step": "exports"})
    types = (CLIENT / "rumor.d.ts").read_text("utf-8")
    assert set(exported) == set(
        re.findall(r"^export (?:class|function) (\w+)", types, re.MULTILINE)
    )
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    assert package["version"] == npm_version(rumor.__version__)
    assert (package["type"], package.get("dependencies")) == ("module", None)
    for target in (package["main"], package["types"], *package["exports"]["."].values()):
        assert (CLIENT / target).is_file()
    packed = {path for pattern in package["files"] for path in CLIENT.glob(pattern)}
    assert packed >= {path for kind in ("*.js", "*.mjs", "*.d.ts") for path in CLIENT.rglob(kind)}
