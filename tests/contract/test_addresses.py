"""An origin is written in one way, the browsers' own."""

from __future__ import annotations

import json
import subprocess

import pytest

from rumor.contract.addresses import origin_of
from tests.needs import needs

ORIGINS = {
    "https://city.example": "https://city.example",
    "https://City.Example/a/B?c=D#e": "https://city.example",
    "HTTPS://CITY.example": "https://city.example",
    "https://city.example:443/v1": "https://city.example",
    "https://city.example:0443": "https://city.example",
    "https://city.example:": "https://city.example",
    "https://city.example:80": "https://city.example:80",
    "http://city.example:80": "http://city.example",
    "http://city.example:443": "http://city.example:443",
    "http://city.example:8080/x": "http://city.example:8080",
    "https://city.example.": "https://city.example.",
    "https://me:secret@city.example": "https://city.example",
    "https://me@elsewhere.example@city.example": "https://city.example",
    "https://city.example?x": "https://city.example",
    "https://city.example#x": "https://city.example",
    "https://c%69ty.example": "https://city.example",
    "https://m\u00fcnchen.example": "https://xn--mnchen-3ya.example",
    "https://M\u00dcNCHEN.example": "https://xn--mnchen-3ya.example",
    "https://mu\u0308nchen.example": "https://xn--mnchen-3ya.example",
    "https://xn--mnchen-3ya.example": "https://xn--mnchen-3ya.example",
    "https://stra\u00dfe.example": "https://xn--strae-oqa.example",
    "https://\u039f\u0394\u039f\u03a3.example": "https://xn--pxavbq.example",
    "https://\u6771\u4eac\u3002example": "https://xn--1lqs71d.example",
    "https://\uff23\uff49\uff54\uff59.example": "https://city.example",
    "http://127.0.0.1:8000": "http://127.0.0.1:8000",
    "http://127.1": "http://127.0.0.1",
    "http://0x7f000001": "http://127.0.0.1",
    "http://localhost:8000": "http://localhost:8000",
    "http://[::1]:8000": "http://[::1]:8000",
    "http://[0:0:0:0:0:0:0:1]": "http://[::1]",
    "http://[2001:DB8::0:1]:80": "http://[2001:db8::1]",
    "http://[::ffff:127.0.0.1]": "http://[::ffff:7f00:1]",
}


def test_browsers_and_python_give_one_origin() -> None:
    script = (
        "const urls = JSON.parse(process.argv[1]);"
        "console.log(JSON.stringify(urls.map((url) => new URL(url).origin)))"
    )
    node = [str(needs("node")), "--eval", script, json.dumps(list(ORIGINS))]
    done = subprocess.run(node, capture_output=True, text=True, timeout=60, check=True)
    assert dict(zip(ORIGINS, json.loads(done.stdout), strict=True)) == ORIGINS
    assert {url: origin_of(url) for url in ORIGINS} == ORIGINS


@pytest.mark.parametrize("url", ORIGINS)
def test_an_origin_is_its_own_origin(url: str) -> None:
    assert origin_of(origin_of(url)) == origin_of(url)


@pytest.mark.parametrize(
    "text", ["", "city", "file:///etc/passwd", "https://", "https://a:b", "https://[", "http://[x]"]
)
def test_what_is_no_address_stays_as_it_is(text: str) -> None:
    assert origin_of(text) == "/".join(text.split("/")[:3])
