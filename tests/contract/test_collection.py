"""Collections: what is wanted resolves to a contract, once; every mistake is one sentence."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rumor
from rumor.contract.collection import Collection
from rumor.core import canonical
from rumor.core.errors import InputError
from rumor.core.exact import log_up
from rumor.mechanisms import REGISTRY, FrequencyOracle

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.toml"))

TOML = """
name = "Home pages"
series = "home-pages"
contact = "privacy@example.org"
users = 100_000

[[questions]]
id = "homepage"
kind = "choice"
text = "What opens when you start the browser?"
labels = ["blank", "news", "no answer"]
epsilon = 1.0
mechanism = "randomized-response"
reports_per_person = 2
retention_days = 90
"""


def wish(**changes: object) -> dict[str, Any]:
    """The collection above as plain data, its only question changed (None removes a key)."""
    collection = tomllib.loads(TOML)
    question = {**collection["questions"][0], **changes}
    collection["questions"] = [{k: v for k, v in question.items() if v is not None}]
    return collection


def digest(text: str) -> str:
    return Collection.from_toml(text).digest


# --- Contracts -------------------------------------------------------------------------------


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_loading_saving_and_loading_keeps_the_digest(path: Path, tmp_path: Path) -> None:
    first = Collection.load(path)
    contract = tmp_path / "contract.json"
    first.save(contract)
    second = Collection.load(contract)
    assert second.digest == first.digest
    assert second == first
    assert hash(second) == hash(first)
    assert second.canonical() == first.canonical() == contract.read_bytes()
    second.save(contract)
    assert contract.read_bytes() == first.canonical()
    for ours, theirs in zip(first.questions, second.questions, strict=True):
        assert ours == theirs
        assert hash(ours) == hash(theirs)
        assert ours.labels == theirs.labels
        assert ours.mechanism == theirs.mechanism


def test_what_the_contract_says() -> None:
    collection = Collection.from_toml(TOML)
    question = collection.question()
    assert json.loads(collection.canonical()) == {
        "rumor": 1,
        "name": "Home pages",
        "series": "home-pages",
        "contact": "privacy@example.org",
        "questions": [
            {
                "id": "homepage",
                "kind": "choice",
                "text": "What opens when you start the browser?",
                "labels": ["blank", "news", "no answer"],
                "epsilon": question.mechanism.epsilon,
                "mechanism": {
                    "name": "randomized-response",
                    "domain": 3,
                    "truth": str(rumor.RandomizedResponse(domain=3, epsilon=1.0).truth),
                },
                "reports_per_person": 2,
                "retention_days": 90,
            }
        ],
    }
    assert question.epsilon <= 1.0
    assert question.epsilon_total == 2 * question.epsilon
    assert question.labels == ("blank", "news", "no answer")


SAME = {
    "another order of keys": "\n".join(
        [
            'contact = "privacy@example.org"\nseries = "home-pages"\nname = "Home pages"',
            *TOML.splitlines()[5:],
        ]
    ),
    "comments and spaces": TOML.replace("epsilon = 1.0", "# why\nepsilon   =  1.0   # because"),
    "an integer epsilon": TOML.replace("epsilon = 1.0", "epsilon = 1"),
    "an exponent": TOML.replace("epsilon = 1.0", "epsilon = 10e-1"),
    "other users": TOML.replace("100_000", "5"),
    "no users": TOML.replace("users = 100_000\n", ""),
    "a mechanism as a table": TOML.replace(
        'mechanism = "randomized-response"', 'mechanism = { name = "randomized-response" }'
    ),
    "space around texts": TOML.replace('"Home pages"', '"  Home pages "'),
    "inline questions": TOML[: TOML.index("[[")]
    + 'questions = [{ id = "homepage", kind = "choice", mechanism = "randomized-response", '
    + 'text = "What opens when you start the browser?", epsilon = 1.0, retention_days = 90, '
    + 'labels = ["blank", "news", "no answer"], reports_per_person = 2 }]',
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME.keys())
def test_files_that_mean_the_same_have_the_same_digest(text: str) -> None:
    assert digest(text) == digest(TOML)
    assert Collection.from_toml(text) == Collection.from_toml(TOML)


def test_letters_composed_and_decomposed_are_the_same() -> None:
    composed, decomposed = (TOML.replace("news", text) for text in ("caf\u00e9", "cafe\u0301"))
    assert digest(composed) == digest(decomposed)


def test_defaults_are_part_of_the_contract() -> None:
    spelled = wish(text="", reports_per_person=1, retention_days=None)
    silent = wish(text=None, reports_per_person=None, retention_days=None)
    assert Collection.resolve(spelled).digest == Collection.resolve(silent).digest


DIFFERENT: dict[str, Callable[[str], str]] = {
    "name": lambda t: t.replace("Home pages", "Homepages"),
    "series": lambda t: t.replace("home-pages", "home-page"),
    "contact": lambda t: t.replace("privacy@", "study@"),
    "id": lambda t: t.replace('id = "homepage"', 'id = "home"'),
    "text": lambda t: t.replace("What opens", "What is there"),
    "labels": lambda t: t.replace('"news"', '"News"'),
    "order of labels": lambda t: t.replace('"blank", "news"', '"news", "blank"'),
    "epsilon": lambda t: t.replace("epsilon = 1.0", "epsilon = 1.0000001"),
    "mechanism": lambda t: t.replace("randomized-response", "unary"),
    "reports": lambda t: t.replace("reports_per_person = 2", "reports_per_person = 3"),
    "retention": lambda t: t.replace("retention_days = 90", "retention_days = 91"),
    "no retention": lambda t: t.replace("retention_days = 90", ""),
}


@pytest.mark.parametrize("change", DIFFERENT.values(), ids=DIFFERENT.keys())
def test_what_is_promised_differently_has_another_digest(change: Callable[[str], str]) -> None:
    assert change(TOML) != TOML
    assert digest(change(TOML)) != digest(TOML)
    assert Collection.from_toml(change(TOML)) != Collection.from_toml(TOML)


@pytest.mark.parametrize("kind", [k for k in REGISTRY if issubclass(k, FrequencyOracle)])
def test_every_oracle_can_be_asked_for_by_name(kind: type[FrequencyOracle]) -> None:
    if not kind.FROM_EPSILON:
        return
    question = Collection.resolve(wish(mechanism=kind.name, reports_per_person=None)).question()
    assert type(question.mechanism) is kind
    assert question.epsilon <= 1.0


def test_auto_takes_an_oracle_with_nearly_the_least_noise() -> None:
    """For few values and a large epsilon that is randomised response; nothing has 3 % less."""
    for domain, epsilon in ((2, 1.0), (3, 4.0), (100, 1.0), (3000, 0.5)):
        chosen = (
            Collection.resolve(wish(labels=None, domain=domain, epsilon=epsilon, mechanism="auto"))
            .question()
            .mechanism
        )
        assert isinstance(chosen, FrequencyOracle)
        noise = float(chosen.variance(0.0, 1))
        for kind in REGISTRY:
            if issubclass(kind, FrequencyOracle) and kind.FROM_EPSILON:
                other = kind(domain=domain, epsilon=epsilon)  # type: ignore[call-arg]
                if other.width <= 256:
                    assert noise <= float(other.variance(0.0, 1)) * 1.03
    silent = wish(mechanism=None)
    assert Collection.resolve(silent).digest == Collection.resolve(wish(mechanism="auto")).digest


def test_explicit_probabilities_need_no_epsilon() -> None:
    table = {"name": "unary", "p": 0.75, "q": 0.25}
    question = Collection.resolve(wish(epsilon=None, mechanism=table)).question()
    assert question.epsilon == log_up(rumor.UnaryEncoding(domain=3, p=0.75, q=0.25).exact_odds)
    with pytest.raises(InputError, match=r"keep the loss within epsilon 1\.0; got a loss of 2"):
        Collection.resolve(wish(mechanism=table))


def test_questions_are_found_by_their_id() -> None:
    collection = Collection.load(EXAMPLES[0].parent / "survey.toml")
    assert collection.question("medicine").id == "medicine"
    for wrong, sentence in (
        (None, r"asks 2 questions \(smoking, medicine\); one must be named"),
        ("x", "one of smoking, medicine; got 'x'"),
    ):
        with pytest.raises(InputError, match=sentence):
            collection.question(wrong)
    assert Collection.from_toml(TOML).question().id == "homepage"


# --- Mistakes in what is wanted --------------------------------------------------------------


def without(key: str) -> dict[str, Any]:
    collection = wish()
    del collection[key]
    return collection


def with_key(**changes: object) -> dict[str, Any]:
    return {**wish(), **changes}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    # Keys, known and nearest.
    "an unknown key": (with_key(nam="x"), r"a collection has the keys name, .*did you mean 'name'"),
    "a strange key": (with_key(zzz=1), r"a collection has the keys .*; got 'zzz'$"),
    "an unknown question key": (wish(epsilonn=1), r"'homepage': .*did you mean 'epsilon'\?"),
    "a misspelt limit": (wish(retention=1), r"did you mean 'retention_days'\?"),
    "an unknown mechanism": (wish(mechanism="unari"), r"must be one of auto, .*mean 'unary'\?"),
    "an unknown option": (
        wish(mechanism={"name": "unary", "varient": "symmetric"}),
        r"mechanism 'unary' has the keys variant, p, q; got 'varient' \(did you mean 'variant'\?\)",
    ),
    "epsilon in the mechanism": (
        wish(mechanism={"name": "unary", "epsilon": 1.0}),
        "mechanism 'unary' has the keys variant, p, q; got 'epsilon'",
    ),
    "domain in the mechanism": (
        wish(mechanism={"name": "randomized-response", "domain": 3}),
        "mechanism 'randomized-response' has no further keys; got 'domain'",
    ),
    "an option of auto": (wish(mechanism={"name": "auto", "p": 0.5}), "no further keys; got 'p'"),
    "a guide without auto": (wish(max_report_bytes=8), 'max_report_bytes guides .* "auto" only'),
    # What must be there.
    "no name": (without("name"), "name of a collection must be a non-empty text; got None"),
    "an empty name": (with_key(name="  "), "name of a collection must be a non-empty text"),
    "a name that is none": (with_key(name=5), "name of a collection must be .*; got 5"),
    "no series": (without("series"), "series of a collection must be 1 to 64 lower-case letters"),
    "a bad series": (with_key(series="Home Pages"), "series of .*; got 'Home Pages'"),
    "an edge hyphen": (with_key(series="-a"), "series of .* inner hyphens; got '-a'"),
    "a long series": (with_key(series="a" * 65), "series of .* 1 to 64"),
    "no contact": (without("contact"), "contact of a collection must be a non-empty text"),
    "no questions": (without("questions"), r"at least one \[\[questions\]\] table; got None"),
    "empty questions": (with_key(questions=[]), r"at least one \[\[questions\]\] table; got \[\]"),
    "one question as a table": (with_key(questions={"id": "a"}), r"at least one \[\[questions\]\]"),
    "questions as text": (
        with_key(questions="a"),
        r"at least one \[\[questions\]\] table; got 'a'",
    ),
    "a question as text": (with_key(questions=["a"]), "a question must be a table; got 'a'"),
    "no id": (wish(id=None), "id of a question must be 1 to 64 lower-case letters"),
    "a bad id": (wish(id="Home"), "id of a question must be .*; got 'Home'"),
    "no kind": (wish(kind=None), "kind must be one of choice.*; got None"),
    "an unknown kind": (wish(kind="choise"), "kind must be one of choice.*; got 'choise'"),
    "text that is none": (wish(text=5), "text of a question must be .*; got 5"),
    # The domain.
    "labels and domain": (wish(domain=3), "either labels or a domain size; got both"),
    "neither": (wish(labels=None), "either labels or a domain size; got neither"),
    "labels as text": (wish(labels="ab"), "labels must be a list of strings; got 'ab'"),
    "one label": (wish(labels=["a"]), r"domain \(the number of labels\) .* from 2 to .*; got 1"),
    "no label": (wish(labels=[]), r"domain \(the number of labels\) .*; got 0"),
    "equal labels": (wish(labels=["a", "a"]), "labels must be distinct; got 'a' more than once"),
    "an empty label": (wish(labels=["a", ""]), "non-empty string; got '' at position 1"),
    "a number as label": (wish(labels=["a", 1]), "non-empty string; got 1 at position 1"),
    "domain 1": (wish(labels=None, domain=1), "domain must be an integer from 2 to .*; got 1"),
    "domain 0": (wish(labels=None, domain=0), "domain must be an integer from 2 to .*; got 0"),
    "a huge domain": (wish(labels=None, domain=1_000_001), "2 to 1,000,000; got 1,000,001"),
    "half a domain": (wish(labels=None, domain=2.5), "domain must be an integer .*; got 2.5"),
    "a true domain": (wish(labels=None, domain=True), "domain must be an integer .*; got True"),
    "domain as text": (wish(labels=None, domain="3"), "domain must be an integer .*; got '3'"),
    # Limits.
    "no reports": (wish(reports_per_person=0), "reports_per_person must be an integer from 1 to"),
    "half a report": (wish(reports_per_person=1.5), "reports_per_person must be .*; got 1.5"),
    "no days": (wish(retention_days=0), "retention_days must be an integer from 1 to .*; got 0"),
    "no users": (with_key(users=0), "users must be an integer from 1 to .*; got 0"),
    "users as text": (with_key(users="many"), "users must be an integer from 1 to .*; got 'many'"),
    # Mechanisms.
    "no epsilon": (
        wish(epsilon=None),
        "mechanism 'randomized-response' needs an epsilon; got none",
    ),
    "auto without epsilon": (
        wish(epsilon=None, mechanism="auto"),
        'mechanism "auto" needs an epsilon; got none',
    ),
    "a mechanism that is none": (wish(mechanism=5), "a name or a table with a name; got 5"),
    "a nameless mechanism": (wish(mechanism={"p": 0.5}), "a name or a table with a name"),
    "half of p and q": (
        wish(mechanism={"name": "unary", "p": 0.75}),
        "takes p and q together and without a variant; got p=0.75, q=None, variant=None",
    ),
    "p, q and a variant": (
        wish(mechanism={"name": "unary", "p": 0.75, "q": 0.5, "variant": "symmetric"}),
        "takes p and q together and without a variant",
    ),
    "q above p": (
        wish(epsilon=None, mechanism={"name": "unary", "p": 0.25, "q": 0.5}),
        "q must be below p; got p = 0.25 and q = 0.5",
    ),
    "p of 1": (
        wish(epsilon=None, mechanism={"name": "unary", "p": 1, "q": 0.5}),
        "p must be a number above 0 and below 1; got 1",
    ),
    "an unknown variant": (
        wish(mechanism={"name": "unary", "variant": "optimised"}),
        'variant must be "symmetric" or "optimized"; got \'optimised\'',
    ),
    "an empty variant": (wish(mechanism={"name": "unary", "variant": ""}), "variant must be"),
}


@pytest.mark.parametrize(("mistaken", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence(mistaken: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as problem:
        Collection.resolve(mistaken)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("mechanism", ["auto", "randomized-response", "unary", "hadamard"])
@pytest.mark.parametrize(
    "epsilon", ["0", "-1", "nan", "inf", "-inf", "33", "32.001", "true", '"1"']
)
def test_an_epsilon_out_of_range(epsilon: str, mechanism: str) -> None:
    text = TOML.replace("epsilon = 1.0", f"epsilon = {epsilon}")
    with pytest.raises(
        InputError,
        match=r"^question 'homepage': epsilon must be a number above 0 and at most 32; got ",
    ):
        Collection.from_toml(text.replace("randomized-response", mechanism))


def test_ids_are_distinct() -> None:
    twice = wish()
    twice["questions"] *= 2
    with pytest.raises(InputError, match="ids must be distinct; got 'homepage' more than once"):
        Collection.resolve(twice)


def test_a_mistake_names_its_question() -> None:
    """So that one of twenty is found."""
    with pytest.raises(InputError, match=r"^question 'homepage': "):
        Collection.resolve(wish(labels=["a"]))


# --- Files -----------------------------------------------------------------------------------


def test_files_that_are_not_collections(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in .toml or .json; got '.*data.csv'"):
        Collection.load(tmp_path / "data.csv")
    with pytest.raises(InputError, match=r"must exist; got '.*absent.toml'"):
        Collection.load(tmp_path / "absent.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match="must be readable UTF-8 text"):
        Collection.load(tmp_path / "folder.toml")
    for name, raw, sentence in (
        ("bytes.toml", b"\xff\xfe", "must be readable UTF-8 text"),
        ("broken.toml", b"name = ", "broken.toml: a collection must be valid TOML"),
        ("broken.json", b"{", "broken.json: a contract must be valid JSON"),
        ("deep.json", b"[" * 100_000, "deep.json: a contract must be valid JSON"),
        ("list.json", b"[]", r"list.json: a contract must be an object; got \[\]"),
        ("empty.toml", b"", r"empty.toml: a collection must have at least one \[\[questions\]\]"),
        ("empty.json", b"{}", "empty.json: a contract must have exactly the keys rumor, name"),
    ):
        (tmp_path / name).write_bytes(raw)
        with pytest.raises(InputError, match=sentence) as problem:
            Collection.load(tmp_path / name)
        assert "\n" not in str(problem.value)


def test_a_contract_is_saved_whole_and_as_json(tmp_path: Path) -> None:
    collection = Collection.from_toml(TOML)
    with pytest.raises(InputError, match=r"saved to a .json file; got '.*contract.toml'"):
        collection.save(tmp_path / "contract.toml")
    assert list(tmp_path.iterdir()) == []
    collection.save(tmp_path / "contract.json")
    assert [path.name for path in tmp_path.iterdir()] == ["contract.json"]


# --- Contracts that were tampered with -------------------------------------------------------


def contract(**changes: object) -> dict[str, Any]:
    """The contract as plain data, its only question changed."""
    plain: dict[str, Any] = json.loads(Collection.from_toml(TOML).canonical())
    plain["questions"][0].update(changes)
    return plain


def outer(**changes: object) -> dict[str, Any]:
    return {**contract(), **changes}


def mechanism(**changes: object) -> dict[str, Any]:
    plain = contract()
    plain["questions"][0]["mechanism"].update(changes)
    return plain


LOWER = str(rumor.RandomizedResponse(domain=3, epsilon=0.5).truth)

TAMPERED: dict[str, tuple[dict[str, Any], str]] = {
    "a smaller epsilon": (contract(epsilon=0.5), r"must be its mechanism's, 1\.0; got 0\.5"),
    "epsilon off by one bit": (
        contract(epsilon=math.nextafter(1.0, 0.0)),
        r"must be its mechanism's, 1\.0; got 0\.99",
    ),
    "epsilon as text": (contract(epsilon="1"), "must be its mechanism's, .*; got '1'"),
    "another threshold": (mechanism(truth=LOWER), r"must be its mechanism's, 0\.5; got 1"),
    "a threshold as a number": (mechanism(truth=5), "truth must be a decimal string"),
    "a certain threshold": (mechanism(truth=str(2**64)), "truth must be a decimal string"),
    "a useless threshold": (mechanism(truth="1"), "more often when it is true"),
    "a larger domain": (mechanism(domain=4), "the number of labels must be an integer from 4 to 4"),
    "fewer labels": (contract(labels=["a", "b"]), "the number of labels must be .*; got 2"),
    "equal labels": (contract(labels=["a", "b", "a"]), "labels must be distinct"),
    "labels as text": (contract(labels="abc"), "labels must be a list or null; got 'abc'"),
    "an unknown mechanism": (mechanism(name="x"), "a mechanism must be one of .*; got 'x'"),
    "a mechanism by name": (contract(mechanism="unary"), "must be an object; got 'unary'"),
    "an extra parameter": (mechanism(p=1), "must be exactly domain, truth; got"),
    "an extra key": (contract(note="x"), r"exactly the keys id, .*; check \['note'\]"),
    "a domain of labels": (mechanism(domain=["a", "b", "c"]), "domain must be an integer from 2"),
    "a true epsilon": (contract(epsilon=True), r"must be its mechanism's, 1\.0; got True"),
    "a true version": (outer(rumor=True), "a contract's version must be 1; got True"),
    "an empty name": (outer(name=""), "name of a contract must be a non-empty text"),
    "letters in two parts": (outer(contact="e\u0301"), "must be a text in Unicode normal form C"),
    "a text in two parts": (contract(text="e\u0301"), "must be a text in Unicode normal form C"),
    "a text of numbers": (contract(text=5), "text of a question must be a"),
    "another version": (outer(rumor=2), "a contract's version must be 1; got 2"),
    "an extra outer key": (outer(users=5), r"exactly the keys rumor, .*; check \['users'\]"),
    "no questions": (outer(questions=[]), r"a contract must have questions; got \[\]"),
    "a question as text": (outer(questions=["a"]), "a contract's question must be an object"),
    "half a letter": (outer(name="\ud800"), "a text must be valid Unicode"),
    "a bad series": (outer(series="A"), "series of a contract must be"),
    "no reports": (contract(reports_per_person=0), "reports_per_person must be an integer"),
    "a true limit": (contract(retention_days=True), "retention_days must be an integer"),
}


@pytest.mark.parametrize(("tampered", "sentence"), TAMPERED.values(), ids=TAMPERED.keys())
def test_a_contract_that_was_tampered_with(tampered: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Collection.from_contract(tampered)


def test_a_contract_needs_every_key() -> None:
    for key in contract():
        less = {k: v for k, v in contract().items() if k != key}
        with pytest.raises(InputError, match=f"check \\['{key}'\\]"):
            Collection.from_contract(less)
    for key in contract()["questions"][0]:
        less = contract()
        del less["questions"][0][key]
        with pytest.raises(InputError):
            Collection.from_contract(less)


def test_an_untouched_contract_is_taken() -> None:
    assert Collection.from_contract(contract()).digest == digest(TOML)
    assert Collection.from_json(json.dumps(contract(), indent=2)).digest == digest(TOML)


def test_texts_of_a_contract_are_taken_as_they_are() -> None:
    """Others digest what they see: a contract is the same for all, spaces included."""
    plain = outer(name=" Name ", contact="me\n")
    plain["questions"][0]["text"] = " What? "
    made = Collection.from_contract(plain)
    assert made.digest == canonical.digest(plain)


def test_a_range_whose_squares_overflow_is_refused() -> None:
    question = {"id": "a", "kind": "number", "low": -1.5e300, "high": 0.1, "epsilon": 1.0}
    wish = {"name": "n", "series": "s", "contact": "c", "questions": [question]}
    with pytest.raises(rumor.InputError, match=r"low and high must be from -1e\+100 to 1e\+100"):
        rumor.Collection.resolve(wish)


def test_a_mechanism_without_all_its_noise_is_refused() -> None:
    mechanism = {"name": "basic-rappor", "f": 0.5}
    question = {"id": "a", "kind": "choice", "domain": 4, "epsilon": 2.0, "mechanism": mechanism}
    wish = {"name": "n", "series": "s", "contact": "c", "questions": [question]}
    with pytest.raises(rumor.InputError, match="'basic-rappor' needs f, p, q; got no p and no q"):
        rumor.Collection.resolve(wish)


# --- Revisions, ceilings and memos ---------------------------------------------------------------

MEMO = {"mechanism": {"name": "basic-rappor", "f": 0.5, "p": 0.5, "q": 0.75}, "epsilon": None}


def test_what_is_usual_is_not_written_and_keeps_the_digest() -> None:
    plain = Collection.resolve(wish())
    said = {**wish(memo="value"), "revision": 1, "admission": "open"}
    assert Collection.resolve(said).digest == plain.digest
    # Digests of the examples as they were before any of these keys were known.
    assert Collection.load("examples/browser.toml").digest.startswith("72d716028d5d4507")
    assert Collection.load("examples/survey.toml").digest.startswith("66c698fbf8302a93")


def test_what_is_not_usual_is_part_of_the_contract() -> None:
    wanted = {**wish(**MEMO, memo="period", period_days=7), "series_epsilon": 9}
    revised = {**wanted, "revision": 2, "previous": "0" * 64}
    for table in (wanted, revised):
        made = Collection.resolve(table)
        assert Collection.from_json(made.canonical()) == made
        assert made.digest != Collection.resolve(wish(**MEMO)).digest
    contract = json.loads(Collection.resolve(revised).canonical())
    assert contract["revision"] == 2
    assert contract["series_epsilon"] == 9.0
    assert contract["questions"][0]["memo"] == "period"
    invited = Collection.resolve({**wish(), "admission": "invited"})
    assert json.loads(invited.canonical())["admission"] == "invited"
    assert invited.digest != Collection.resolve(wish()).digest


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"revision": 0}, "revision must be an integer from 1 to 1,000,000; got 0"),
        ({"revision": 2}, r"previous must be the digest .* in revision 2; got None"),
        ({"revision": 2, "previous": "x"}, "previous must be the digest"),
        ({"previous": "0" * 64}, "revision 1 has no previous one"),
        ({"series_epsilon": -1}, "series_epsilon must be a number above 0"),
        ({"series_epsilon": True}, "series_epsilon must be a number above 0"),
        ({"series_epsilon": math.nan}, "series_epsilon must be a number above 0"),
        ({"series_epsilon": 0.5}, "answered once, which costs 1; got 0.5"),
    ],
)
def test_a_collection_that_promises_nonsense_is_refused(
    given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        Collection.resolve({**wish(), **given})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"memo": "week"}, "memo must be one of value, period; got 'week'"),
        ({"memo": "period", "period_days": 7}, "needs a mechanism with permanent noise"),
        ({"period_days": 7}, 'period_days goes with memo = "period"; got 7'),
        ({**MEMO, "memo": "period"}, "period_days must be an integer from 1"),
        ({**MEMO, "memo": "period", "period_days": 0}, "period_days must be an integer from 1"),
    ],
)
def test_a_memo_that_means_nothing_is_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Collection.resolve(wish(**changes))


def test_a_contract_says_nothing_that_is_usual() -> None:
    contract = json.loads(Collection.resolve(wish()).canonical())
    for key, value in (("revision", 1), ("previous", None), ("series_epsilon", None)):
        with pytest.raises(InputError, match=f"a contract leaves {key} .* out"):
            Collection.from_contract({**contract, key: value})
    contract["questions"][0]["memo"] = "value"
    with pytest.raises(InputError, match="leaves memo 'value' out"):
        Collection.from_contract(contract)


def test_a_revision_says_what_it_revises() -> None:
    first = Collection.resolve(wish())
    with pytest.raises(InputError, match=f'revision = 2 and previous = "{first.digest}"; got'):
        Collection.resolve(wish(text="Other")).check_revises(first)
    Collection.resolve({**wish(), "revision": 2, "previous": first.digest}).check_revises(first)
    for revision, previous in ((2, "0" * 64), (3, first.digest)):
        other = Collection.resolve({**wish(), "revision": revision, "previous": previous})
        with pytest.raises(InputError, match="must say so, or devices refuse it"):
            other.check_revises(first)
