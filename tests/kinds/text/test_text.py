"""Text questions: what a collection says, and the mechanism it resolves to."""

from __future__ import annotations

import pytest

import rumor
from rumor.mechanisms import Rappor


def resolve(series: str = "words", id: str = "word", **keys: object) -> rumor.Collection:
    question = {"id": id, "kind": "text", **keys}
    wish = {"name": "Words", "series": series, "contact": "x@example.org", "questions": [question]}
    return rumor.Collection.resolve(wish)


def mechanism(**keys: object) -> Rappor:
    found = resolve(**keys).questions[0].mechanism  # type: ignore[arg-type]
    assert isinstance(found, Rappor)
    return found


@pytest.mark.parametrize(("epsilon", "hashes"), [(0.1, 1), (1, 1), (3, 2), (8.5, 4)])
def test_epsilon_is_reached_and_not_passed(epsilon: float, hashes: int) -> None:
    rappor = mechanism(epsilon=epsilon, hashes=hashes)
    assert rappor.epsilon <= epsilon
    assert rappor.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert (rappor.noise.f, rappor.noise.q) == (0, 0.5)


def test_without_epsilon_it_is_the_papers_rappor() -> None:
    rappor = mechanism()
    assert rappor == Rappor.full(key=rappor.bloom.key)
    assert (rappor.noise.f, rappor.noise.p, rappor.noise.q) == (0.5, 0.5, 0.75)
    assert mechanism(cohorts=8, bits=32, hashes=1).cohorts == 8


def test_the_key_follows_from_series_and_id_unless_said() -> None:
    keys = {mechanism().bloom.key, mechanism(series="other").bloom.key, mechanism(id="x").bloom.key}
    assert len(keys) == 3
    assert mechanism(key="a key").bloom.key == b"a key"
    # A revision that changes the noise keeps the filters.
    assert mechanism(epsilon=1).bloom.key == mechanism().bloom.key


def test_the_contract_round_trips() -> None:
    collection = resolve(epsilon=2, text="Which word?")
    again = rumor.Collection.from_json(collection.canonical())
    assert again == collection
    assert again.questions[0].mechanism == collection.questions[0].mechanism


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ({"epsilon": 1, "p": 0.2}, "says either epsilon .* or f, p and q; got epsilon and p"),
        ({"epsilon": -1}, "epsilon must be"),
        ({"bits": 1}, "bits must be an integer from 2 to 65,536; got 1"),
        ({"key": ""}, "key must be a non-empty text; got ''"),
        ({"hashs": 2}, "did you mean 'hashes'"),
        ({"epsilon": 1, "reports_per_person": 2}, "permanent"),
        ({"q": 0.2}, "q must be above p"),
    ],
)
def test_bad_questions_are_refused(keys: dict[str, object], sentence: str) -> None:
    with pytest.raises(rumor.InputError, match=sentence):
        resolve(**keys)  # type: ignore[arg-type]


def test_the_example_resolves() -> None:
    collection = rumor.Collection.load("examples/words.toml")
    once, often = collection.questions
    assert once.epsilon <= 3.0
    assert often.epsilon_total < often.mechanism.permanence.epsilon_permanent + 1e-9
