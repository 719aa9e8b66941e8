"""The table of limits says what the code does, and every limit is in it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

from rumor.cli.issue import ListenOptions
from rumor.cli.relay import relay
from rumor.cli.serve import serve
from rumor.collector.http.limits import Limits
from rumor.collector.issuing import IssuerService

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "deploy.md"


def table() -> dict[str, float]:
    """The limits of the page, with their defaults."""
    section = PAGE.read_text("utf-8").partition("\n## Limits\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([\d,.]+) \| .+ \|$", section, re.MULTILINE)
    return {name: float(number.replace(",", "")) for name, number in rows}


def test_every_limit_is_documented_with_its_default() -> None:
    said, known = table(), dataclasses.asdict(Limits())
    assert said == known
    assert list(said) == list(known)  # in the code's order, so that each is found


def test_options_have_the_defaults_of_the_code() -> None:
    limits = Limits()
    for command in (serve, relay):
        given = inspect.signature(command).parameters
        assert given["max_rate"].default == limits.requests_per_second
        assert given["max_connections"].default == limits.connections


def test_an_issuer_has_the_limits_that_the_page_says() -> None:
    (field,) = [one for one in dataclasses.fields(IssuerService) if one.name == "limits"]
    assert field.default_factory is not dataclasses.MISSING
    rate = field.default_factory().requests_per_second
    connections = ListenOptions().max_connections
    sentence = f"An issuer takes {rate:g} requests in a second and {connections:g} connections;"
    assert sentence in PAGE.read_text("utf-8")
