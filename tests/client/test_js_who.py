"""What the answer page says of chance is what the mechanisms do, in exact numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from rumor.mechanisms import REGISTRY, Mechanism
from tests.javascript import node
from tests.needs import needs

needs("node")

CELLS = 3_000
# Whose reports support some answers, all alike, and not the others; words have no such list.
LISTED = {
    "randomized-response",
    "unary",
    "subset-selection",
    "hadamard",
    "projective",
    "local-hashing",
    "basic-rappor",
    "wave",
    "piecewise",
}


def small(kind: type[Mechanism]) -> list[Mechanism]:
    """The examples whose channel is quickly written out."""
    return [one for one in kind.examples() if len(one.inputs()) * one.alphabet <= CELLS]


def described(mechanism: Mechanism) -> dict[str, object]:
    reports = [row.tobytes().hex() for row in mechanism.outputs(mechanism.publics()[0])]
    about = {"name": mechanism.name, **mechanism.parameters()}
    return {"mechanism": about, "values": list(mechanism.inputs()), "reports": list(reports)}


@functools.cache
def told() -> list[tuple[Mechanism, Any]]:
    """What the client says of every small example."""
    examples = [one for kind in REGISTRY for one in small(kind)]
    found = node("who.mjs", given=[described(mechanism) for mechanism in examples])
    return list(zip(examples, found, strict=True))


def test_what_is_said_is_said_of_every_mechanism_that_can() -> None:
    """And of nothing else; an example more is no line more."""
    listed = {one.name for one, found in told() if found["supported"] is not None}
    assert listed == LISTED
    assert {one.name for one, found in told() if found["supported"] is None}.isdisjoint(LISTED)


def test_who_else_could_have_sent_this_is_the_channel() -> None:
    """Of every report: how often each value sends it, against every other value; and the coins."""
    for mechanism, found in told():
        if found["supported"] is None:
            continue
        above, below = (int(text) for text in found["odds"])
        channel = mechanism.channel().probabilities
        own = Fraction(0)
        for place, row in enumerate(found["supported"]):
            chances = [chance[place] for chance in channel]
            weights = [above if supported else below for supported in row]
            first = chances[0] / weights[0]
            assert chances == [first * weight for weight in weights], (mechanism, place)
            own += chances[0] if row[0] else 0
        # Doubles for people to read: rounding alone.
        assert found["coins"][0]["own"] == pytest.approx(float(own), rel=1e-12)


def test_the_coins_of_other_answers_are_the_channels() -> None:
    """Where a report has a bit for each answer, or tells one of them."""
    seen = set()
    for mechanism, found in told():
        if found["supported"] is None or found["coins"][0]["of"] not in {"bit", "set", "answer"}:
            continue
        chances = mechanism.channel().probabilities[0]
        other = sum(p for p, row in zip(chances, found["supported"], strict=True) if row[1])
        assert found["coins"][0]["other"] == pytest.approx(float(other), rel=1e-12)
        seen.add(mechanism.name)
    assert seen == {"unary", "basic-rappor", "subset-selection", "randomized-response"}


def about(mechanism: Mechanism) -> Any:
    return mechanism.parameters()


def examples(name: str) -> list[tuple[Mechanism, Any]]:
    """What the client says of a mechanism's examples; there are some."""
    found = [(mechanism, said) for mechanism, said in told() if mechanism.name == name]
    assert found
    return found


@functools.cache
def channels(mechanism: Mechanism) -> dict[Any, Any]:
    """The chances of all reports, by the answer."""
    return dict(zip(mechanism.inputs(), mechanism.channel().probabilities, strict=True))


def chance(mechanism: Mechanism, said: Any, given: Any, holds: Callable[[Any], bool]) -> Fraction:
    """How often an answer sends a report that says something of the kind."""
    chances = channels(mechanism)[given]
    return sum(
        (p for p, each in zip(chances, said["said"], strict=True) if holds(each)), Fraction()
    )


def signs(mechanism: Mechanism, given: Any) -> dict[str, str] | None:
    """What somebody holds, where each number is an end of the range and its sign so no chance."""
    low, high = about(mechanism)["range"]
    held = {str(key): value for key, value in enumerate(given) if value is not None}
    if not set(held.values()) <= {low, high}:
        return None
    return {key: "plus" if value == high else "minus" for key, value in held.items()}


def test_the_coins_of_a_set_are_the_channels() -> None:
    """For whoever chose something, up to the cap, each option of theirs and each other one."""
    for mechanism, found in examples("select"):
        domain, cap = about(mechanism)["domain"], about(mechanism)["cap"]
        for given in channels(mechanism):
            if not 0 < len(given) <= cap:
                continue
            for option in range(domain):
                shown = chance(mechanism, found, given, lambda said: said[0]["value"][option])  # noqa: B023
                coin = found["coins"][0]["own" if option in given else "other"]
                assert coin == pytest.approx(float(shown), rel=1e-12), (mechanism, given, option)


def test_the_coins_of_a_key_set_are_the_channels() -> None:
    """That it holds one of the own signed keys, for whoever has no need of fillers."""
    for mechanism, found in examples("key-set"):
        cap, tried = about(mechanism)["cap"], 0
        for given in channels(mechanism):
            held = signs(mechanism, given)
            if held is None or len(held) != cap:
                continue
            own = chance(
                mechanism,
                found,
                given,
                lambda said: any(held.get(each["name"]) == each["value"] for each in said),  # noqa: B023
            )
            assert found["coins"][0]["own"] == pytest.approx(float(own), rel=1e-12)
            tried += 1
        assert tried


@pytest.mark.parametrize("name", ["item-sampling", "pckv-grr"])
def test_the_coins_of_one_drawn_key_are_the_channels(name: str) -> None:
    """Each of n keys is the one that was drawn with 1/n, and another one otherwise."""
    for mechanism, found in examples(name):
        keys, cap = about(mechanism)["keys"], about(mechanism)["cap"]
        for given in channels(mechanism):
            held = signs(mechanism, given)
            if held is None or len(held) != cap:
                continue
            own, other = found["coins"][0]["own"], found["coins"][0]["other"]
            for key in map(str, range(keys)):
                for sign in ("plus", "minus"):
                    item = {"name": key, "kind": "text", "value": sign}
                    shown = chance(mechanism, found, given, lambda said: said == [item])  # noqa: B023
                    drawn = 1 / cap if held.get(key) == sign else 0
                    expected = drawn * own + (1 - drawn) * other
                    assert float(shown) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ["privkv", "privkvm"])
def test_the_coins_of_a_key_and_its_value_are_the_channels(name: str) -> None:
    """Of the key that chance asked for, one of all alike."""
    for mechanism, found in examples(name):
        keys = about(mechanism)["keys"]
        for given in channels(mechanism):
            held = signs(mechanism, given)
            if held is None:
                continue
            for key in map(str, range(keys)):
                sure = {
                    sign: keys
                    * chance(
                        mechanism,
                        found,
                        given,
                        lambda said: (said[0]["name"], said[0]["value"]) == (key, sign),  # noqa: B023
                    )
                    for sign in ("nothing", "plus", "minus")
                }
                coins = found["coins"][0]
                if key not in held:
                    assert coins["own"] == pytest.approx(float(sure["nothing"]), rel=1e-12)
                    continue
                yes = 1 - sure["nothing"]
                assert coins["own"] == pytest.approx(float(yes), rel=1e-12)
                assert coins["other"] == pytest.approx(float(sure[held[key]] / yes), rel=1e-12)


def test_the_coins_of_several_answers_are_those_of_what_was_asked() -> None:
    for mechanism, found in examples("mixed"):
        for given in list(channels(mechanism))[:3]:
            for asked in {said[0]["value"] for said in found["said"]}:
                about = chance(mechanism, found, given, lambda said: said[0]["value"] == asked)  # noqa: B023
                own = ", ".join(str(given[int(part)]) for part in asked.split(", "))
                (coins,) = {
                    tuple(coin.values())
                    for coin, said in zip(found["coins"], found["said"], strict=True)
                    if said[0]["value"] == asked
                }
                for cell, label in enumerate(labels_of(found, asked)):
                    shown = chance(
                        mechanism,
                        found,
                        given,
                        lambda said: said[0]["value"] == asked and said[1]["value"][cell],  # noqa: B023
                    )
                    expected = coins[1] if label == own else coins[2]
                    assert float(shown / about) == pytest.approx(expected, rel=1e-12)


def labels_of(found: Any, asked: str) -> list[str]:
    """What the cells are called of which a report tells some."""
    labels: list[str] = next(
        said[1]["labels"] for said in found["said"] if said[0]["value"] == asked
    )
    return labels


def test_every_mechanism_says_its_chances() -> None:
    assert {mechanism.name for mechanism, found in told() if found["coins"][0] is None} == set()
    assert {mechanism.name for mechanism, _ in told()} >= set(COINS)


# What the sentence of each is about.
COINS = {
    "select": "chosen",
    "key-set": "held",
    "item-sampling": "pick",
    "pckv-grr": "pick",
    "privkv": "both",
    "privkvm": "both",
    "mixed": "set",
}


@pytest.mark.parametrize("name", COINS)
def test_what_the_sentence_is_about(name: str) -> None:
    assert {coin["of"] for _, found in examples(name) for coin in found["coins"]} == {COINS[name]}
