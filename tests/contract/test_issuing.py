"""What a contract says of an issuer, and what follows from tokens and invitations."""

from __future__ import annotations

from typing import Any

import pytest

from rumor.contract.admission import read_invitation
from rumor.contract.collection import Collection
from rumor.contract.deletion import report_id
from rumor.contract.issuing import (
    bound_credential,
    credential,
    credential_digest,
    key_name,
    token_id,
    token_message,
)
from rumor.core.errors import InputError
from tests.issuers import SECRETS, VECTORS, WISH, blind_collection, blind_wish
from tests.vectors.make_blind import vectors

COLOUR, HOME = (key.public.to_bytes().hex() for key in SECRETS)

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"issuer": None}, "needs an [issuer] with its url and keys; got none"),
    ({"admission": "open"}, "issuer goes with admission = \"blind\"; got it with 'open'"),
    ({"admission": "invited"}, "issuer goes with admission = \"blind\"; got it with 'invited'"),
    ({"issuer": "x"}, "issuer must be a table of url and keys; got 'x'"),
    ({"url": "ftp://x"}, "the url of an issuer must be http(s)://HOST[:PORT][/PATH]"),
    ({"url": 7}, "without a slash at its end; got 7"),
    ({"url": "http://x/"}, "without a slash at its end; got 'http://x/'"),
    ({"url": "http://x?y"}, "without a slash at its end; got 'http://x?y'"),
    ({"url": "http://me@x"}, "without a slash at its end; got 'http://me@x'"),
    ({"url": "http://x; script-src *"}, "without a slash at its end"),
    ({"url": "http://[x"}, "without a slash at its end; got 'http://[x'"),
    ({"url": "http://x/a\n"}, "without a slash at its end; got 'http://x/a\\n'"),
    ({"url": "http://" + "x" * 2_000}, "without a slash at its end; got 'http://xxx"),
    ({"keys": {"colour": COLOUR}}, "must be one for each of colour, home; got ['colour']"),
    ({"keys": {"colour": COLOUR, "home": COLOUR}}, "a key of its own; got one key twice"),
    ({"keys": {"colour": COLOUR, "home": HOME[:-2]}}, "must be 512 hexadecimal digits; got "),
    ({"keys": {"colour": COLOUR, "home": HOME[:-1] + "0"}}, "an odd number of 2048 bits"),
    ({"keys": {"colour": COLOUR, "home": "0" + HOME[1:]}}, "an odd number of 2048 bits"),
    ({"keys": {"colour": COLOUR, "home": HOME.upper()}}, "must be 512 hexadecimal digits; got "),
    ({"more": 1}, "issuer has the keys url, keys; got 'more'"),
]


def wrong_wish(change: dict[str, Any]) -> dict[str, object]:
    """A collection with something wrong about its issuer."""
    wish = blind_wish()
    issuer = wish["issuer"]
    assert isinstance(issuer, dict)
    outer = {key: value for key, value in change.items() if key in ("issuer", "admission")}
    inner = {key: value for key, value in change.items() if key not in outer}
    return {**wish, "issuer": {**issuer, **inner}, **outer}


@pytest.mark.parametrize(("change", "sentence"), WRONG)
def test_what_is_no_issuer_is_refused(change: dict[str, Any], sentence: str) -> None:
    wish = wrong_wish(change)
    with pytest.raises(InputError) as refusal:
        Collection.resolve({key: value for key, value in wish.items() if value is not None})
    assert sentence in str(refusal.value)


def test_the_contract_holds_address_and_keys() -> None:
    contract = blind_collection("https://issue.example.org/a")
    assert contract.contract()["issuer"] == {
        "url": "https://issue.example.org/a",
        "keys": {"colour": COLOUR, "home": HOME},
    }
    assert Collection.from_json(contract.canonical()) == contract
    other = blind_collection("https://issue.example.org/b")
    assert contract.digest != other.digest


def test_a_device_never_fetches_more_tokens_than_it_can() -> None:
    question: dict[str, object] = {"id": "colour", "kind": "choice", "domain": 2, "epsilon": 1.0}
    issuer = {"url": "http://x", "keys": {"colour": COLOUR}}
    for most, good in ((1_000, True), (1_001, False)):
        wish = {
            **WISH,
            "issuer": issuer,
            "questions": [{**question, "reports_per_person": most}],
        }
        if good:
            assert Collection.resolve(wish).question().reports_in_all == most
            continue
        with pytest.raises(InputError, match="at most 1,000 reports of a person in all"):
            Collection.resolve(wish)


def test_the_vectors_that_javascript_has_too() -> None:
    assert vectors(SECRETS) == VECTORS
    for person in VECTORS["people"]:
        secret, series = read_invitation(person["invitation"]), person["series"]
        url = person.get("url")
        shown = credential(secret, series) if url is None else bound_credential(secret, series, url)
        assert (shown.hex(), credential_digest(shown).hex()) == (
            person["credential"],
            person["person"],
        )
    for token in VECTORS["tokens"]:
        opening = bytes.fromhex(token["opening"])
        message = token_message(opening)
        assert (message.hex(), token_id(message).hex()) == (token["message"], token["id"])
        assert token["name"] in {key_name(key.public).hex() for key in SECRETS}
        # The opening takes the report back; what is shown with the report does not.
        assert report_id(opening).hex() == token["id"]
        assert opening[32:] not in message
    people = {person["person"] for person in VECTORS["people"]}
    assert len(people) == len(VECTORS["people"])
