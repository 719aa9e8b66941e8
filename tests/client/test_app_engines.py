"""The client for apps in real engines: the vectors, lives and refusals of Python and of browsers."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rumor.core.blind_rsa import blind_sign, finalize
from tests.client.test_js_device import lived
from tests.engines import ENGINES, SOURCES, Device, Host, app_steps, built, device, running
from tests.issuers import SECRETS
from tests.issuers import VECTORS as TOKENS
from tests.javascript import SCRIPTS, collection, first_difference, node, parsed
from tests.needs import needs

needs("node")
VECTORS = Path(__file__).parents[1] / "vectors"
COLOUR = {"kind": "choice", "labels": ["red", "blue"], "epsilon": 1.0, "reports_per_person": 9}


def checked(name: str, what: str, given: object) -> Any:
    """What a check of tests/js/device/checks.js finds in an engine."""
    text = json.dumps({"name": what, "given": given})
    scripts = [built(SCRIPTS / "device" / "checks.js")]
    with running(name, scripts, Host().answer) as engine:
        return json.loads(engine.call("rumor.check", text))


@pytest.mark.parametrize("name", ENGINES)
def test_every_vector_is_drawn_again(name: str) -> None:
    names = ("client", "randomness", "numeric", "bloom")
    given = {each: json.loads((VECTORS / f"{each}.json").read_text("utf-8")) for each in names}
    found = checked(name, "compare", given)
    assert (found["different"], found["refused"]) == ([], {})
    assert found["checked"] == node("vectors.mjs", str(VECTORS))["checked"]


@pytest.mark.parametrize("name", ENGINES)
def test_tokens_are_those_of_the_vectors(name: str) -> None:
    found = checked(name, "makeTokens", TOKENS)
    assert found["people"] == [
        {key: person[key] for key in ("credential", "person")} for person in TOKENS["people"]
    ]
    for token, made in zip(TOKENS["tokens"], found["tokens"], strict=True):
        for key in ("message", "id", "name", "blinded", "inverse", "signature"):
            assert made[key] == token[key], key
        assert (made["wrong"], made["verified"]) == (None, [True, False])
        secret = next(key for key in SECRETS if key.public.to_bytes().hex() == token["key"])
        answer = blind_sign(secret, bytes.fromhex(made["random"]["blinded"]))
        message, inverse = bytes.fromhex(token["message"]), int(made["random"]["inverse"], 16)
        assert finalize(secret.public, message, answer, inverse).hex() != token["signature"]


@pytest.mark.parametrize("name", ENGINES)
def test_a_whole_life_gives_the_same_rows_tags_charges_and_permanent_answers(name: str) -> None:
    life = json.loads((VECTORS / "device.json").read_text("utf-8"))
    take = functools.partial(_steps, name)
    assert first_difference(lived(life, take), life) == ""


def _steps(name: str, *given: Any) -> list[Any]:
    return app_steps(name, given)
